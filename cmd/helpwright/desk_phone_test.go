package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
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
					at := tab.Place()
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

// reasons has the server refuse what the composer asks: the member reads its reason, and "You are offline" only without an answer.
func (a *agents) reasons() {
	id := a.fresh("The clutch")
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(tab, true, "As attached.")
	testenv.Eventually(a.t, "the draft is saved", func() bool { return len(a.bodies(id)) == 2 })
	says := func(what, want string) {
		a.t.Helper()
		testenv.Eventually(a.t, what+" says "+want, func() bool {
			got := seen(tab, ".toast.bad span")
			if !strings.Contains(got, want) {
				a.t.Logf("%s: %q", what, got)
			}
			return strings.Contains(got, want)
		})
		browser.Eval[any](tab, `document.querySelector(".toast.bad")?.remove()`)
		tab.Problems() // the statuses
	}
	drop := func(name, size string) {
		browser.Eval[any](tab, fmt.Sprintf(`{ const d = new DataTransfer(); d.items.add(new File([%s], %q));
			document.querySelector(".editor").dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true })); }`, size, name))
	}
	drop("report.exe", `"MZ"`)
	says("a program", "report.exe: this type is not allowed")
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "refused")
	browser.Eval[any](tab, `document.body.dataset.upload = ""; document.querySelector(".composer").dataset.max = "1048576"; window.there = window.fetch; window.asked = 0; window.fetch = (u, h) => { if (String(u).endsWith("/files")) asked++; return there(u, h); }`)
	drop("film.txt", `"x".repeat(1048577)`)
	says("a large file", "film.txt: Largest file: 1 MB")
	if asked := browser.Eval[int](tab, "asked"); asked != 0 {
		a.t.Errorf("a file that is too large was sent %d times", asked)
	}
	for answer, want := range map[string]string{
		`Promise.resolve(new Response("<h1>413</h1>", { status: 413 }))`:                                            "Largest file: 1 MB",
		`Promise.resolve(new Response("", { status: 429 }))`:                                                        "Too many requests",
		`Promise.resolve(new Response("", { status: 502 }))`:                                                        "responded with 502",
		`Promise.resolve(new Response("<p>Welcome to the hotel</p>", { status: 200 }))`:                             "responded with 200",
		`Promise.resolve(new Response(JSON.stringify({ error: "This is closed." }), { status: 409 }))`:              "This is closed.",
		`Promise.resolve(new Response(JSON.stringify({ error: "Ask an admin for permission." }), { status: 403 }))`: "Ask an admin",
		`Promise.reject(new TypeError("no network"))`:                                                               "You are offline",
	} {
		browser.Eval[any](tab, `window.fetch = (u, h) => String(u).endsWith("/files") ? `+answer+` : there(u, h)`)
		drop("note.txt", `"x"`)
		says(answer, want)
	}
	browser.Eval[any](tab, `window.fetch = there`)
	tab.Click(".composer details:has([name=cc]) > summary")
	tab.Fill(".composer [name=cc]", "kar")
	testenv.Eventually(a.t, "the draft says what is wrong", func() bool { return strings.Contains(seen(tab, ".saved"), "kar is not an email address") })
	tab.Problems()
	tab.Click("[data-send]")
	testenv.Eventually(a.t, "the form says what is wrong", func() bool { return strings.Contains(seen(tab, ".composer .wrong"), "kar is not an email address") })
	tab.Problems()
}

// drawer opens the customer's panel where the window has no room for it beside the conversation.
func (a *agents) drawer() {
	const shown = `(() => { const e = document.querySelector("#panel"), at = e?.getBoundingClientRect(); return !!e?.checkVisibility() && at.left >= 0 && at.right <= innerWidth; })()`
	id := a.fresh("The saddle")
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		tab.Look(browser.View{Phone: true, NoScript: !scripts})
		is := func(want bool) {
			a.t.Helper()
			testenv.Eventually(a.t, fmt.Sprintf("the panel is shown: %t", want), func() bool { return browser.Eval[bool](tab, shown) == want })
		}
		for _, direction := range []string{"ltr", "rtl"} {
			tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
			before := 0
			if scripts {
				before = browser.Eval[int](tab, "history.length")
			}
			browser.Eval[any](tab, fmt.Sprintf("document.documentElement.dir = %q", direction))
			is(false)
			a.touch(tab, `#acts a[href="#panel"]`)
			is(true)
			picture(a.t, tab, os.Getenv(testenv.EnvScreens), "drawer-"+direction)
			a.touch(tab, "#panel .shut")
			is(false)
			a.touch(tab, `#acts a[href="#panel"]`)
			is(true)
			if !scripts {
				continue
			}
			browser.Eval[any](tab, `document.querySelector(".scrim").click()`)
			is(false)
			a.touch(tab, `#acts a[href="#panel"]`)
			is(true)
			tab.Press(browser.Escape)
			is(false)
			if steps := browser.Eval[int](tab, "history.length"); steps > before+1 {
				a.t.Errorf("opening the panel three times leaves %d steps to go forward or back", steps-before)
			}
			if at := tab.Place(); strings.Contains(at, "#") {
				a.t.Errorf("closed, the panel leaves a step at %s", at)
			}
		}
	})
}

// press selects a row with a long press; a short one opens it.
func (a *agents) press() {
	id := a.fresh("The pedal")
	tab := a.member(browser.View{Phone: true})
	tab.Open(a.at + "/inbox/unassigned?sort=newest")
	row := fmt.Sprintf("#row-%d", id)
	finger := func(script string) {
		browser.Eval[any](tab, fmt.Sprintf(`(async () => { const line = document.querySelector("%s .line"), at = { pointerType: "touch", isPrimary: true, bubbles: true, cancelable: true, clientX: 100, clientY: 300 };
			const does = (type, more) => line.dispatchEvent(new PointerEvent(type, { ...at, ...more })), wait = (ms) => new Promise((f) => setTimeout(f, ms)); %s })()`, row, script))
	}
	ticked := func() bool {
		return browser.Eval[bool](tab, fmt.Sprintf(`document.querySelector("%s .tick input").checked`, row))
	}
	finger(`does("pointerdown"); await wait(100); does("pointermove", { clientY: 340 }); await wait(700); does("pointercancel")`)
	if ticked() {
		a.t.Error("scrolling selects")
	}
	finger(`does("pointerdown"); await wait(700); does("pointerup"); does("click")`)
	if !ticked() {
		a.t.Error("a long press does not select")
	}
	a.expect("the bar", tab.Text("#picked"), "Selected: 1")
	finger(`does("pointerdown"); await wait(200); does("contextmenu"); does("pointerup"); does("click")`)
	if ticked() {
		a.t.Error("another long press does not undo it")
	}
	if at := tab.Location(); !strings.Contains(at, "/inbox/unassigned") {
		a.t.Errorf("a long press went to %s", at)
	}
	finger(`does("pointerdown"); does("pointerup"); does("click")`)
	tab.Wait(".talk")
}

// icons shows the sidebar as icons, which keep their names.
func (a *agents) icons() {
	tab := a.member(browser.View{})
	tab.Look(browser.View{Tablet: true})
	check := newPageChecker(a.t)
	for name, path := range map[string]string{"inbox": "/inbox/all", "settings": "/settings/mailboxes"} {
		tab.Open(a.at + path)
		check.accessible(tab, name+" with icons", allRules)
		picture(a.t, tab, os.Getenv(testenv.EnvScreens), "icons-"+name)
		const nameless = `[...document.querySelectorAll("#sidebar :is(a, summary, button)")].filter((e) => e.checkVisibility() && !e.ariaLabel && !e.innerText.trim()).map((e) => e.outerHTML.slice(0, 120))`
		if without := browser.Eval[[]string](tab, nameless); len(without) > 0 {
			a.t.Errorf("%s: without a name: %q", name, without)
		}
	}
}
