package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// shortcuts has no key of the desk do anything while something that has keys of its own is open, or a text is being written.
func (a *agents) shortcuts() {
	id := a.fresh("The shortcut")
	tab := a.member(browser.View{})
	const keys = "rejkzaitunfcx!.?/gmJKz"
	// What a shortcut does is to press a control, to open the help on the keys, or to take the focus.
	const watch = `(() => { window.pressed = []; if (window.watched) return; window.watched = true;
		document.addEventListener("click", (e) => { const c = e.target.closest("[data-key], [data-go], .toast button"); if (c && !e.isTrusted) { window.pressed.push(c.outerHTML.slice(0, 80)); e.preventDefault(); e.stopImmediatePropagation(); } }, true); })()`
	open := func(selector string) string {
		return fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.open = true; e.querySelector("summary").focus(); })()`, selector)
	}
	talk, list := fmt.Sprintf("%s/c/%d", a.at, id), a.at+"/inbox/all"
	for _, test := range []struct{ name, at, cover, still string }{
		{"menu to assign", talk, open("#acts details.menu:has([name=user])"), "#acts details.menu[open]"},
		{"menu to snooze", talk, open("#acts details.menu:has([name=until])"), "#acts details.menu[open]"},
		{"menu of tags", talk, open("#head details.menu"), "#head details.menu[open]"},
		{"more", talk, open("#acts details.menu:last-of-type"), "#acts details.menu[open]"},
		{"priority", talk, open("#panel details.menu"), "#panel details.menu[open]"},
		{"saved replies", talk, open(`details[data-sign="/"]`), `details[data-sign="/"][open]`},
		{"ways to send", talk, open(".split details.menu"), ".split details[open]"},
		{"the member's menu", talk, open(".me details.menu"), ".me details[open]"},
		{"menu, focus elsewhere", talk, `(() => { document.querySelector("#acts details.menu").open = true; document.activeElement.blur(); })()`, "#acts details.menu[open]"},
		{"dialog", talk, `document.querySelector("#keys").showModal()`, "#keys[open]"},
		{"popover", talk, `document.querySelector("#bell-panel").showPopover()`, "#bell-panel:popover-open"},
		{"search", talk, `document.querySelector(".find input").focus()`, ".find input:focus"},
		{"editor", talk, `document.querySelector(".editor").focus()`, ".editor:focus"},
		{"recipient", talk, `document.querySelector(".composer [name=to]").focus()`, "[name=to]:focus"},
		{"inside an editable part", talk, `(() => { const e = document.createElement("div"); e.contentEditable = "plaintext-only"; e.id = "own"; e.innerHTML = "<p tabindex=0>x</p>";
			document.querySelector("#main").append(e); e.firstChild.focus(); })()`, "#own"},
		{"a choice from a list", talk, `(() => { const e = document.createElement("select"); e.id = "own"; e.innerHTML = "<option>x"; document.querySelector("#main").append(e); e.focus(); })()`, "#own:focus"},
		{"filter of a list", list, open("#filters details.menu"), "#filters details[open]"},
		{"menu of a selection", list, `(() => { document.querySelector(".tick input").click(); const e = document.querySelector(".selection details.menu"); e.open = true; e.querySelector("summary").focus(); })()`, ".selection details[open]"},
	} {
		tab.Open(test.at)
		browser.Eval[any](tab, watch)
		browser.Eval[any](tab, test.cover)
		tab.Wait(strings.TrimSuffix(test.still, ":focus"))
		tab.Press(keys)
		tab.Control('z')
		if got := browser.Eval[[]string](tab, "window.pressed"); len(got) > 0 {
			a.t.Errorf("%s: keys press %q", test.name, got)
		}
		if !browser.Eval[bool](tab, fmt.Sprintf("Boolean(document.querySelector(%q))", test.still)) {
			a.t.Errorf("%s: it is open no more", test.name)
		}
		if test.still != "#keys[open]" && browser.Eval[bool](tab, `Boolean(document.querySelector("#keys[open]"))`) {
			a.t.Errorf("%s: a key opens the list of keys", test.name)
		}
		if got := tab.Location(); got != test.at {
			a.t.Errorf("%s: keys lead to %s", test.name, got)
		}
	}

	// What an input method composes comes as keys, too.
	tab.Open(talk)
	browser.Eval[any](tab, watch)
	press := func(more string) int {
		return browser.Eval[int](tab, `(() => { window.pressed.length = 0; for (const key of "reztu") document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true`+more+` })); return window.pressed.length; })()`)
	}
	if got := press(", isComposing: true"); got != 0 {
		a.t.Errorf("%d shortcuts while a text is composed", got)
	}
	if got := press(""); got == 0 {
		a.t.Error("no shortcut on the page itself")
	}
}

// tagsOf returns the names of a conversation's tags.
func (a *agents) tagsOf(id int64) []string {
	a.t.Helper()
	var c object[struct{ Tags []struct{ Tag string } }]
	a.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", id), nil, &c)
	out := []string{}
	for _, tag := range c.Data.Tags {
		out = append(out, tag.Tag)
	}
	slices.Sort(out)
	return out
}

// pickers chooses from the lists of menus by typing.
func (a *agents) pickers() {
	for _, name := range []string{"Réparation", "Repeat order", "Straße"} {
		a.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {name}}, nil)
	}
	id, other := a.fresh("The picker"), a.fresh("The second picker")
	tab := a.member(browser.View{})
	talk := fmt.Sprintf("%s/c/%d", a.at, id)
	tab.Open(talk)
	const active = `document.querySelector("details[open] [role=option].choice-here")?.textContent.trim() || ""`
	is := func(what, script, want string) {
		a.t.Helper()
		testenv.Eventually(a.t, what+": "+want, func() bool { return browser.Eval[string](tab, script) == want })
	}

	tab.Press("t")
	tab.Wait("#head .filter input:focus")
	tab.Press("repar")
	is("accents are no matter", active, "Réparation")
	tab.Press("\r")
	tab.Press("STRASSE")
	is("nor is case", active, "Straße")
	tab.Press("\r")
	tab.Press("Bent axle")
	is("what is not there can be created", active, "Create “Bent axle”")
	tab.Press("\r")
	is("several are chosen", `[...document.querySelectorAll("#head [aria-selected=true]")].map((e) => e.textContent.trim()).join()`, "Réparation,Straße,Bent axle")
	a.looks(tab, "picker-tags")
	tab.Press("\r")
	testenv.Eventually(a.t, "the tags are set", func() bool {
		return cmp.Diff([]string{"Bent axle", "Réparation", "Straße"}, a.tagsOf(id)) == ""
	})
	testenv.Eventually(a.t, "the tags are shown", func() bool { return strings.Contains(seen(tab, "#head"), "Bent axle") })

	tab.Open(talk)
	tab.Press("t")
	tab.Wait("details[open] .filter input:focus")
	tab.Press("repeat")
	is("one is found", active, "Repeat order")
	tab.Press("\r")
	tab.Press(browser.Escape)
	is("Escape closes the menu, and goes back to its button", `document.activeElement.closest("#head summary") ? "summary" : document.activeElement.tagName`, "summary")
	is("and leaves the tags", `String(document.querySelectorAll("#head .ticks input:checked").length)`, "3")

	tab.Press("a")
	tab.Wait("details[open] .filter input:focus")
	tab.Press("zzz")
	is("nothing is found", `document.querySelector("#acts details[open] .none:not([hidden])")?.textContent || ""`, "No results")
	tab.Press("\r")
	tab.Press(browser.Escape)
	tab.Press("a")
	tab.Wait("details[open] .filter input:focus")
	tab.Press("nobod")
	is("a choice", active, "Nobody")
	tab.Press(browser.Escape)
	tab.Press("a")
	tab.Wait("details[open] .filter input:focus")
	is("the filter is empty again", active, "Mei")
	is("a combobox", `document.activeElement.role + " " + document.activeElement.getAttribute("aria-activedescendant")`, browser.Eval[string](tab, `"combobox " + document.querySelector("#acts details[open] .choice-here").id`))
	a.looks(tab, "picker-assign")
	tab.Press("\r")
	testenv.Eventually(a.t, "it is assigned", func() bool {
		var c object[struct {
			User *int64 `json:"user_id"`
		}]
		a.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", id), nil, &c)
		return c.Data.User != nil && *c.Data.User != 0
	})

	tab.Open(a.at + "/inbox/all?sort=newest")
	for _, one := range []int64{id, other} {
		browser.Eval[any](tab, fmt.Sprintf(`document.querySelector("#row-%d .tick input").click()`, one))
	}
	tab.Press("t")
	tab.Wait("details[open] .filter input:focus")
	tab.Press("repeat\r")
	tab.Press("Urgent part\r")
	a.looks(tab, "picker-bulk")
	tab.Press("\r")
	testenv.Eventually(a.t, "both have both tags", func() bool {
		return cmp.Diff([]string{"Repeat order", "Urgent part"}, a.tagsOf(other)) == "" && len(a.tagsOf(id)) == 5
	})

	plain := a.member(browser.View{NoScript: true})
	plain.Open(talk)
	plain.Click("#head details summary")
	plain.Fill("#head [name=name]", "By hand")
	plain.Follow("#head .pop .primary")
	if got := a.tagsOf(id); !slices.Contains(got, "By hand") || len(got) != 6 {
		a.t.Errorf("without scripts the tags are %q", got)
	}
}

// looks takes pictures of what is open: light, dark, on a phone and from right to left.
func (a *agents) looks(tab *browser.Tab, name string) {
	folder := os.Getenv(testenv.EnvScreens)
	if folder == "" {
		return
	}
	for kind, v := range map[string]browser.View{"light": {}, "dark": {Dark: true}, "phone": {Phone: true}} {
		tab.Look(v)
		picture(a.t, tab, folder, name+"-"+kind)
	}
	tab.Look(browser.View{})
	browser.Eval[any](tab, `document.documentElement.dir = "rtl"`)
	picture(a.t, tab, folder, name+"-rtl")
	browser.Eval[any](tab, `document.documentElement.dir = ""`)
}
