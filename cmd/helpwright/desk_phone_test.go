package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
	"github.com/helpwright/helpwright/storage/storagetest/testenv/browser"
)

// visible is a script that tells whether an element is seen and can be touched at its middle.
const visible = `((s) => { const e = document.querySelector(s); if (!e) return "missing: " + s; e.scrollIntoView({ block: "center" });
	const at = e.getBoundingClientRect(), hit = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2);
	if (!at.width || !hit || !(e.contains(hit) || hit.contains(e))) return "covered: " + s + " by " + hit?.outerHTML.slice(0, 80);
	return at.width < 44 || at.height < 44 ? "small: " + s + " " + at.width + " x " + at.height : ""; })`

// touch taps on what a thumb can reach.
func (a *agents) touch(tab *browser.Tab, selector string) {
	a.t.Helper()
	tab.Wait(selector)
	if fault := browser.Eval[string](tab, fmt.Sprintf("%s(%q)", visible, selector)); fault != "" {
		a.t.Errorf("%s: %s", tab.Location(), fault)
	}
	tab.Use(browser.Finger, selector)
}

// links returns the addresses of the account's pages that an open sidebar leads to.
func (a *agents) links(tab *browser.Tab) []string {
	a.t.Helper()
	return browser.Eval[[]string](tab, `[...document.querySelectorAll("#sidebar nav a")].filter((e) => e.checkVisibility() && e.pathname.includes("/a/1/")).map((e) => e.getAttribute("href"))`)
}

// thumb reaches every page of the navigation on a phone, by tapping.
func (a *agents) thumb() {
	const more, shown = `.tabs a[href="#sidebar"]`, `(() => { const e = document.querySelector("#sidebar"); return e?.checkVisibility() ? "open" : "shut"; })()`
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		tab.Look(browser.View{Phone: true, NoScript: !scripts})
		is := func(want string) {
			a.t.Helper()
			testenv.Eventually(a.t, "the sidebar is "+want, func() bool { return browser.Eval[string](tab, shown) == want })
		}
		walk := func(home string) (routes []string) {
			a.t.Helper()
			tab.Open(home)
			a.touch(tab, more)
			is("open")
			picture(a.t, tab, os.Getenv(testenv.EnvScreens), "more-"+home[strings.LastIndexByte(home, '/')+1:])
			routes = a.links(tab)
			for _, route := range routes {
				is("open")
				a.touch(tab, fmt.Sprintf("#sidebar nav a[href=%q]", route))
				testenv.Eventually(a.t, route+" is shown", func() bool {
					at := browser.Eval[string](tab, "location.pathname + location.hash")
					return at == route || route == "/desk/a/1/settings" && strings.HasPrefix(at, route+"/") || strings.HasPrefix(at, route+"/")
				})
				is("shut")
				tab.Open(home)
				a.touch(tab, more)
			}
			return routes
		}
		if routes := walk(a.at + "/inbox/all"); len(routes) < 12 {
			a.t.Errorf("the sidebar leads to %q only", routes)
		}
		a.touch(tab, "#sidebar .bell")
		testenv.Eventually(a.t, "the notifications are shown", func() bool { return strings.HasSuffix(tab.Location(), "/notifications") })
		if routes := walk(a.at + "/settings/profile"); len(routes) < 12 {
			a.t.Errorf("the settings lead to %q only", routes)
		}
		tab.Open(a.at + "/inbox/all")
		for _, fragment := range []string{"#sidebar", "#main"} { // a fragment is a place on the page, and no other page
			browser.Eval[any](tab, `document.querySelector("#main").dataset.same = "1"`)
			a.touch(tab, map[string]string{"#sidebar": more, "#main": "#sidebar .close"}[fragment])
			is(map[string]string{"#sidebar": "open", "#main": "shut"}[fragment])
			if browser.Eval[string](tab, `document.querySelector("#main").dataset.same || ""`) != "1" {
				a.t.Errorf("%s loads the page", fragment)
			}
		}
		if !scripts {
			return
		}
		a.touch(tab, more)
		is("open")
		a.fresh("The spoke")
		testenv.Eventually(a.t, "the sidebar is refreshed, and stays", func() bool {
			return strings.Contains(seen(tab, "#sidebar"), "Unassigned") && browser.Eval[string](tab, shown) == "open"
		})
		browser.Eval[any](tab, `history.back()`)
		is("shut")
		browser.Eval[any](tab, `history.forward()`)
		is("open")
		tab.Press(browser.Escape)
		is("shut")
		a.touch(tab, more)
		is("open")
		a.touch(tab, `#sidebar nav a[href*="/inbox/mine"]`)
		is("shut")
		browser.Eval[any](tab, `history.back()`)
		testenv.Eventually(a.t, "back at the list", func() bool { return strings.HasSuffix(tab.Location(), "/inbox/all") })
		is("shut")
	})
}
