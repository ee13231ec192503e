package site

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	nethtml "golang.org/x/net/html"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage/fault"
)

// dress is a theme that is ready to render.
type dress struct {
	set    *theme.Set // nil if it is broken
	broken error
	files  map[string]kb.ThemeFile // its assets and templates by path; nil for those of the built-in theme
}

type dressKey struct{ theme, revision int64 }

// dresses caches recently compiled themes: to compile one takes 10 ms, and a page with it 0.8.
type dresses struct {
	mu    sync.Mutex
	byKey map[dressKey]*dress
	order []dressKey
}

// maxDresses is the maximum number of compiled themes cached.
const maxDresses = 64

// builtin compiles the built-in theme.
func builtin() (*dress, error) {
	set, err := theme.Compile(theme.Builtin().Templates())
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "site: the built-in theme", err)
	}
	return &dress{set: set}, nil
}

// dress returns the site's theme: the built-in theme if it has none.
func (v *visit) dress() (*dress, error) {
	if v.preview.theme != 0 || v.front == nil {
		return v.dressIn()
	}
	if v.front.ThemeID == 0 {
		return v.h.builtin()
	}
	if made := v.h.dresses.made(dressKey{v.front.ThemeID, v.front.ThemeRevision}); made != nil {
		return made, nil
	}
	return v.dressIn()
}

// made returns a theme that was compiled before, nil if it was not.
func (d *dresses) made(key dressKey) *dress {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byKey[key]
}

func (v *visit) dressIn() (*dress, error) {
	found, err := v.h.cfg.KB.Dress(v.ctx(), v.site, v.preview.theme)
	if fault.Is(err, fault.NotFound) && v.preview.theme == 0 {
		return v.h.builtin()
	}
	if err != nil {
		return nil, err
	}
	d, key := v.h.dresses, dressKey{found.Theme.ID, found.Theme.Revision}
	if made := d.made(key); made != nil {
		return made, nil
	}
	made := &dress{files: map[string]kb.ThemeFile{}}
	templates := map[string]string{}
	for _, f := range found.Files {
		made.files[f.Path] = f
		if theme.IsTemplate(f.Path) {
			if templates[f.Path], err = v.h.cfg.KB.Template(v.ctx(), f); err != nil {
				return nil, err
			}
		}
	}
	made.set, made.broken = theme.Compile(templates)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey[key] == nil {
		d.byKey[key] = made
		if d.order = append(d.order, key); len(d.order) > maxDresses {
			delete(d.byKey, d.order[0])
			d.order = d.order[1:]
		}
	}
	return made, nil
}

// write renders a page and sends it. If a theme fails, members see the problem and everyone else the built-in theme.
func (v *visit) write(status int, name string, p *theme.Page) error {
	d, err := v.dress()
	if err != nil {
		return err
	}
	body, err := v.render(d, name, p)
	if problem, ok := errors.AsType[*theme.Problem](err); ok && d.files != nil {
		v.h.cfg.Logger.InfoContext(v.ctx(), "a theme is broken", "site", v.site.ID, "problem", problem.Error())
		if v.preview.theme != 0 || v.member() {
			return v.problem(d, problem)
		}
		v.unstable = true // members see another page
		if d, err = v.h.builtin(); err != nil {
			return err
		}
		body, err = v.render(d, name, p)
	}
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", p.Locale)
	h.Set("Content-Security-Policy", v.policy(d))
	if p.NoIndex {
		h.Set("X-Robots-Tag", "noindex")
	}
	return v.send(status, body, status == http.StatusOK && slices.Contains([]string{theme.PageHome, theme.PageCollection, theme.PageCategory, theme.PageArticle}, name))
}

func (v *visit) render(d *dress, name string, p *theme.Page) ([]byte, error) {
	if d.set == nil {
		return nil, d.broken
	}
	if v.styles != "" {
		p.Data += template.HTML("<style>" + v.styles + "</style>") // declarations that were cleaned
		defer func(before template.HTML) { p.Data = before }(p.Data[:len(p.Data)-len("<style></style>")-len(v.styles)])
	}
	return d.set.Render(v.ctx(), name, *p, theme.Env{Asset: func(path string) string { return v.assetURL(d, path) }})
}

// problem shows a member the problem of the theme.
func (v *visit) problem(d *dress, p *theme.Problem) error {
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors "+v.frames())
	h.Set("X-Robots-Tag", "noindex")
	v.unstable = true
	place := p.Path
	if place == "" {
		place = v.site.Name
	} else if p.Line > 0 {
		place += ", line " + strconv.Itoa(p.Line)
	}
	body := "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" +
		"<title>The theme is broken – " + html.EscapeString(v.site.Name) + "</title><link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"" +
		html.EscapeString(v.assetURL(&dress{}, "assets/style.css")) + "\"></head><body class=\"hw-page\"><main class=\"hw-wrap hw-lost\">" +
		"<div class=\"hw-article\"><h1 class=\"hw-title\">The theme is broken</h1>" +
		"<p class=\"hw-lead\">Members see this page. Readers see the built-in theme until it is fixed.</p>" +
		"<div class=\"hw-content\"><div class=\"markdown-alert markdown-alert-caution\">" + string(theme.Icon("caution")) +
		"<p class=\"markdown-alert-title\">" + html.EscapeString(place) + "</p><p>" + html.EscapeString(p.Message) + "</p></div>" +
		v.excerpt(d.files[p.Path], p.Line) + "</div></div></main></body></html>\n"
	return v.send(http.StatusOK, []byte(body), false)
}

// excerpt shows a line of a template with its neighbours.
func (v *visit) excerpt(f kb.ThemeFile, line int) string {
	if f.Path == "" || line < 1 {
		return ""
	}
	text, err := v.read(f)
	lines := strings.Split(string(text), "\n")
	if err != nil || line > len(lines) {
		return ""
	}
	var b strings.Builder
	for n := max(1, line-3); n <= min(len(lines), line+3); n++ {
		shown := []rune(strings.TrimRight(lines[n-1], "\r"))
		row := fmt.Sprintf("%4d  %s\n", n, html.EscapeString(string(shown[:min(len(shown), 200)])))
		if n == line {
			row = "<mark>" + strings.TrimSuffix(row, "\n") + "</mark>\n"
		}
		b.WriteString(row)
	}
	return "<pre tabindex=\"0\"><code>" + b.String() + "</code></pre>"
}

// A stylesheet is the site's palette and the theme's style.css.
func (v *visit) stylesheet(d *dress) ([]byte, error) {
	palette := theme.Colours(v.accent()).CSS()
	f, own := d.files["assets/style.css"]
	if !own {
		return append([]byte(palette), minified(theme.Builtin().Files["assets/style.css"])...), nil
	}
	content, err := v.read(f)
	return append([]byte(palette), content...), err
}

func (v *visit) accent() string {
	if v.site.Look.Accent == "" {
		return kb.DefaultAccent
	}
	return v.site.Look.Accent
}

// builtinHash returns the hashes of the built-in theme's assets by path.
var builtinHash = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for path, content := range theme.Builtin().Files {
		sum := sha256.Sum256(content)
		all[path] = hex.EncodeToString(sum[:])
	}
	return all
})

// assetURL returns the address of an asset, which includes its hash, so the content at an address never changes.
func (v *visit) assetURL(d *dress, name string) string {
	f, own := d.files[name]
	hash := f.Hash
	if !own {
		if hash = builtinHash()[name]; hash == "" {
			return ""
		}
	}
	if name == "assets/style.css" {
		sum := sha256.Sum256([]byte(hash + v.accent()))
		hash = hex.EncodeToString(sum[:])
	}
	parts := strings.Split(strings.TrimPrefix(name, "assets/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return v.prefix + "/-/assets/" + hash[:16] + "/" + strings.Join(parts, "/")
}

// frames returns who may frame a page: the service's own pages may frame previews.
func (v *visit) frames() string {
	if v.preview.signed {
		return "'self' " + v.origin()
	}
	return "'none'"
}

// origin returns the origin of the service itself, which may serve files of sites.
func (v *visit) origin() string { return v.h.base.Scheme + "://" + v.h.base.Host }

// players are the hosts that articles may frame.
const players = "https://www.youtube.com https://www.youtube-nocookie.com https://player.vimeo.com https://www.dailymotion.com https://geo.dailymotion.com " +
	"https://player.twitch.tv https://fast.wistia.net https://fast.wistia.com https://www.loom.com https://play.vidyard.com https://codepen.io " +
	"https://codesandbox.io https://stackblitz.com https://www.figma.com https://embed.figma.com https://docs.google.com https://www.google.com " +
	"https://www.openstreetmap.org https://open.spotify.com https://w.soundcloud.com"

// policy returns the Content-Security-Policy of a page. On the shared host, which the API also uses, only the scripts of the
// built-in theme run: other scripts could act for a user signed in there. What of a head the policy refuses is refused when
// it is saved, see [kb.SiteInput].
func (v *visit) policy(d *dress) string {
	script, style, connect, font := "'self'", "'self'", "'self'", "'self'"
	more := headSources(v.site.HTMLHead)
	if v.site.HostKey == kb.SharedHost {
		script = ""
		for _, name := range []string{"assets/site.js", "assets/contact.js"} {
			if f, own := d.files[name]; !own || f.Hash == builtinHash()[name] {
				script += " " + v.requestOrigin() + v.assetURL(d, name)
			}
		}
		if script = strings.TrimSpace(script); script == "" {
			script = "'none'"
		}
	} else {
		script, connect = script+more.script, connect+more.connect
	}
	if more.style != "" { // a style sheet says only in its text where its fonts are
		style, font = style+more.style, font+" https:"
	}
	if v.styles != "" {
		style += " " + hashSource(v.styles)
	}
	return "default-src 'none'; script-src " + script + "; style-src " + style + "; img-src 'self' data: https: " + v.origin() +
		"; media-src 'self' https: " + v.origin() + "; font-src " + font + "; connect-src " + connect + "; frame-src " + players +
		"; form-action 'self'; base-uri 'none'; frame-ancestors " + v.frames()
}

// requestOrigin returns the origin of the page as the browser sees it.
func (v *visit) requestOrigin() string {
	scheme := "http"
	if v.secure() {
		scheme = "https"
	}
	return scheme + "://" + v.r.Host
}

// secure reports whether the reader uses HTTPS.
func (v *visit) secure() bool { return v.r.TLS != nil || v.h.base.Scheme == "https" }

type sources struct{ script, style, connect string }

// headSources returns the sources that the owner's additions to the head require in the policy: their own scripts and
// styles, and no others.
func headSources(head string) sources {
	var out sources
	z := nethtml.NewTokenizer(strings.NewReader(head))
	inside := ""
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return out
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			t := z.Token()
			inside = t.Data
			for _, a := range t.Attr {
				origin := originOf(a.Val)
				switch {
				case origin == "":
				case t.Data == "script" && a.Key == "src":
					out.script, out.connect, inside = out.script+" "+origin, out.connect+" "+origin, ""
				case t.Data == "link" && a.Key == "href" && kb.IsStyleSheet(t):
					out.style += " " + origin
				}
			}
		case nethtml.TextToken:
			switch text := string(z.Raw()); inside {
			case "script":
				out.script += " " + hashSource(text)
			case "style":
				out.style += " " + hashSource(text)
			}
		case nethtml.EndTagToken:
			inside = ""
		}
	}
}

// originOf returns the origin of an absolute web address.
func originOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"*") {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// read reads an asset that must be in memory.
func (v *visit) read(f kb.ThemeFile) ([]byte, error) {
	text, err := v.h.cfg.KB.Template(v.ctx(), f)
	return []byte(text), err
}

// minified removes comments and indentation from the built-in stylesheet.
func minified(content []byte) []byte {
	var b strings.Builder
	comment := false
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		comment = comment || strings.HasPrefix(line, "/*")
		if !comment && line != "" {
			if selector, rest, ok := strings.Cut(line, " {"); ok { // after it, spaces around a plus belong to calc
				line = strings.ReplaceAll(selector, " + ", "+") + " {" + rest
			}
			b.WriteString(shorter.Replace(line + "\n"))
		}
		if strings.HasSuffix(line, "*/") {
			comment = false
		}
	}
	return []byte(b.String())
}

var shorter = strings.NewReplacer(" {\n", "{", " { ", "{", "; ", ";", ";\n}", "}", ";\n", ";", " }\n", "}", "}\n", "}", " }", "}", "}\n}", "}}", ", ", ",", ",\n", ",", ": ", ":", " > ", ">", " ~ ", "~", " !", "!")

// unindented removes comments and indentation from the built-in scripts.
func unindented(content []byte) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String())
}
