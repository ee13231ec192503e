package site

import (
	"net/http"
	"strings"
	"sync"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/kb/theme"
)

// Guide serves the guide to writing themes, as a page for a browser. The first request builds it.
func Guide() http.Handler {
	page := sync.OnceValues(guide)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		page, policy := page()
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, no-cache")
		_, _ = w.Write(page) // the client may have disconnected
	})
}

// guide renders the page, and the policy that allows its style.
func guide() (page []byte, policy string) {
	style := theme.Colours(kb.DefaultAccent).CSS() + string(minified(theme.Builtin().Files["assets/style.css"]))
	var d dresser
	if body, err := contenthtml.FromMarkdown(theme.Guide); err == nil {
		d.run(body)
	}
	page = []byte("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Themes</title>" +
		"<style>" + style + "</style></head><body class=\"hw-page\"><main class=\"hw-wrap hw-top\"><article class=\"hw-article hw-content\">" +
		strings.Replace(d.out.String(), "<h1", "<h1 class=\"hw-title\"", 1) + "</article></main></body></html>\n")
	policy = "default-src 'none'; style-src " + hashSource(style) + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return page, policy
}
