package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// pageChecker looks for violations on pages with the tools of .ci/web.
type pageChecker struct {
	t     *testing.T
	tools string // folder of the tools
	axe   string // axe-core's script
	dir   string // of the collected pages
}

func newPageChecker(t *testing.T) *pageChecker {
	t.Helper()
	c := &pageChecker{t: t, tools: testenv.NPM(t, ".ci/web"), dir: t.TempDir()}
	axe, err := os.ReadFile(filepath.Join(c.tools, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	c.axe = string(axe)
	return c
}

// axeRules are those of axe-core that a look at a page may change.
type axeRules string

const (
	allRules    axeRules = `rules: {"target-size": {enabled: true}}`
	colourRules axeRules = `runOnly: ["color-contrast"]`
	sizeRules   axeRules = `runOnly: ["target-size", "scrollable-region-focusable"]`
)

// rulesOf returns the rules that a view of a page already rendered may break.
func rulesOf(v browser.View) axeRules {
	if v.Dark {
		return colourRules
	}
	return allRules
}

// accessible runs axe-core on the page shown.
func (c *pageChecker) accessible(tab *browser.Tab, name string, which axeRules) {
	c.t.Helper()
	for _, v := range c.violations(tab, which) {
		for _, n := range v.Nodes {
			if v.ID == "target-size" && strings.Contains(n.FailureSummary, "partially obscured") && c.largeInView(tab, n.Target) {
				continue
			}
			c.t.Errorf("%s: %s: %s\n%s\n%s", name, v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
}

type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML, FailureSummary string
		Target               []string
	}
}

// largeInView reports whether a target is large enough once it is scrolled to the middle: a bar that stays in view covers a part of
// what happens to be at the edge.
func (c *pageChecker) largeInView(tab *browser.Tab, target []string) bool {
	c.t.Helper()
	if len(target) != 1 {
		return false
	}
	script := fmt.Sprintf(`(async () => {
		const target = document.querySelector(%q);
		if (!target) return false;
		target.scrollIntoView({block: "center"});
		const r = await axe.run(target, {resultTypes: ["violations"], runOnly: ["target-size"]});
		return r.violations.length === 0;
	})()`, target[0])
	return browser.Eval[bool](tab, script)
}

func (c *pageChecker) violations(tab *browser.Tab, which axeRules) []violation {
	c.t.Helper()
	if !browser.Eval[bool](tab, "!!window.axe") {
		browser.Eval[any](tab, c.axe+";0")
	}
	return browser.Eval[[]violation](tab, "axe.run({resultTypes: ['violations'], "+string(which)+"}).then((r) => r.violations)")
}

// collect keeps the page as the server sent it, for valid.
func (c *pageChecker) collect(tab *browser.Tab, name string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name+".html"), tab.Source(), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// valid runs html-validate over the collected pages.
func (c *pageChecker) valid() {
	c.t.Helper()
	if out, err := c.validate(); err != nil {
		c.t.Errorf("html-validate: %v\n%s", err, strings.ReplaceAll(out, c.dir+"/", ""))
	}
}

func (c *pageChecker) validate() (string, error) {
	c.t.Helper()
	config := filepath.Join(c.dir, "config.json")
	if err := os.WriteFile(config, []byte(`{"root": true, "extends": ["html-validate:standard"]}`), 0o600); err != nil {
		c.t.Fatal(err)
	}
	validate := exec.CommandContext(c.t.Context(), "node", filepath.Join(c.tools, "node_modules", "html-validate", "bin", "html-validate.mjs"),
		"--formatter", "text", "--config", config, filepath.Join(c.dir, "*.html"))
	out, err := validate.CombinedOutput()
	return string(out), err
}

// A checker that is blind would find every page right.
func (c *helpCentre) checks() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><head><title>x</title><link rel="icon" href="data:,"></head>
<body><main><h1>x</h1><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><p style="color:#888;background:#999">Some words<div></p></main></body></html>`)
	}))
	defer server.Close()
	tab, check := c.Tab(c.t, browser.View{}), newPageChecker(c.t)
	tab.Open(server.URL)
	var ids []string
	for _, v := range check.violations(tab, allRules) {
		ids = append(ids, v.ID)
	}
	if diff := cmp.Diff([]string{"color-contrast", "image-alt"}, ids); diff != "" {
		c.t.Error(diff)
	}
	check.collect(tab, "bad")
	out, err := check.validate()
	if err == nil || !strings.Contains(out, "parser-error") && !strings.Contains(out, "close-order") {
		c.t.Errorf("html-validate: %v %s", err, out)
	}
}
