package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// forward shows what is forwarded, and has files of it stay behind; the draft keeps the choice.
func (a *agents) forward() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The gate")
		said := all[struct{ ID int64 }](&a.process, fmt.Sprintf("/accounts/1/conversations/%d/interactions", id))
		for _, size := range []int{100, 3000} {
			if status := a.process.upload(fmt.Sprintf("/accounts/1/conversations/%d/interactions/%d/attachments", id, said[0].ID), size); status != http.StatusCreated {
				a.t.Fatalf("status %d", status)
			}
		}
		at := fmt.Sprintf("%s/c/%d", a.at, id)
		tab.Open(at + "?write=reply")
		if browser.Eval[bool](tab, `document.querySelector(".forwarding").checkVisibility()`) {
			a.t.Error("a reply shows what would be forwarded")
		}
		if scripts {
			tab.Click(".kinds [data-key=f]")
		} else {
			tab.Open(at + "?write=forward")
		}
		tab.Fill(".composer [name=to]", "smith@example.com")
		shown := tab.Text(".forwarding")
		for _, want := range []string{"From: nora@example.com", "Subject: The gate", "Date: ", "Is it broken?", "100 B", "2.9 KB"} {
			a.expect("what is forwarded", shown, want)
		}
		on := func() string {
			return browser.Eval[string](tab, `[...document.querySelectorAll(".along input")].map((e) => e.checked).join()`)
		}
		if got := on(); got != "true,true" {
			a.t.Errorf("ticked are %s", got)
		}
		if scripts {
			a.looks(tab, "forward")
			newPageChecker(a.t).accessible(tab, "forward", allRules)
			tab.Look(browser.View{})
		}
		tab.Click(".along li:first-child label")
		if scripts {
			testenv.Eventually(a.t, "the draft is saved", func() bool { return len(a.bodies(id)) == 2 })
		} else {
			tab.Follow(".composer .draft")
		}
		tab.Open(at)
		if got := on(); got != "false,true" {
			a.t.Errorf("of the draft %s are ticked", got)
		}
		pressButton(tab, scripts, "[data-send]")
		testenv.Eventually(a.t, "it is forwarded", func() bool {
			return slices.ContainsFunc(a.bodies(id), func(s string) bool { return strings.HasPrefix(s, "user posted:") })
		})
		testenv.Eventually(a.t, "the thread shows it with its file", func() bool { return strings.Contains(seen(tab, "#thread .agent"), "2.9 KB") })
		if got := seen(tab, "#thread .agent"); strings.Contains(got, "100 B") {
			a.t.Errorf("the other file went along: %q", got)
		}
	})
}

// undiscard brings a draft back that was discarded, with its file: by the toast, or later by the page.
func (a *agents) undiscard() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		for name, leave := range map[string]bool{"at once": false, "after a change of the page": true} {
			id := a.fresh("The latch")
			at := fmt.Sprintf("%s/c/%d", a.at, id)
			tab.Open(at)
			a.write(tab, scripts, "Oil it.")
			if !scripts {
				tab.Follow(".composer .draft")
			}
			testenv.Eventually(a.t, "the draft is saved", func() bool { return len(a.bodies(id)) == 2 })
			said := all[struct{ ID int64 }](&a.process, fmt.Sprintf("/accounts/1/conversations/%d/interactions", id))
			if status := a.process.upload(fmt.Sprintf("/accounts/1/conversations/%d/interactions/%d/attachments", id, said[1].ID), 100); status != http.StatusCreated {
				a.t.Fatalf("status %d", status)
			}
			tab.Open(at)
			pressButton(tab, scripts, ".composer .discard")
			testenv.Eventually(a.t, "the toast says so", func() bool { return strings.Contains(seen(tab, ".toast"), "Draft discarded") })
			if said := a.bodies(id); len(said) != 1 {
				a.t.Errorf("others see it still: %q", said)
			}
			if scripts && leave {
				a.looks(tab, "undiscard")
				tab.Look(browser.View{})
			}
			undo := ".toast form button"
			if leave {
				tab.Open(a.at + "/inbox/all")
				tab.Open(at)
				undo = ".dropped button"
			}
			pressButton(tab, scripts, undo)
			testenv.Eventually(a.t, name+": the draft is back", func() bool {
				said := a.bodies(id)
				return len(said) == 2 && strings.HasPrefix(said[1], "user draft:") && strings.Contains(said[1], "Oil it.") && strings.Contains(seen(tab, "[data-list]"), "100 B")
			})
		}
	})
}

// beside saves the tags that were ticked when the member goes on beside the menu, and shows what failed over a dialog.
func (a *agents) beside() {
	a.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {"Beside"}}, nil)
	id := a.fresh("The ladder")
	tab := a.member(browser.View{})
	talk := fmt.Sprintf("%s/c/%d", a.at, id)
	tab.Open(talk)
	tab.Press("t")
	tab.Wait("#head .filter input:focus")
	tab.Press("beside\r")
	tab.Click("#head h1")
	testenv.Eventually(a.t, "the tag is set", func() bool { return slices.Contains(a.tagsOf(id), "Beside") })
	testenv.Eventually(a.t, "the tag is shown", func() bool { return strings.Contains(seen(tab, "#head .facts > .tag:not(.add)"), "Beside") })
	tab.Press("t")
	tab.Wait("#head .filter input:focus")
	tab.Press("Made beside\r")
	tab.Click("#head h1")
	testenv.Eventually(a.t, "the new tag is set", func() bool { return slices.Contains(a.tagsOf(id), "Made beside") })

	tab.Open(talk)
	tab.Click("#acts .commands > summary")
	tab.Click(`#acts a[href*="/do/subject"]`)
	tab.Wait(".command-dialog [name=subject]:focus")
	tab.Fill(".command-dialog [name=subject]", "The long ladder")
	browser.Eval[any](tab, `window.there = window.fetch; window.fetch = (u, h) => h?.method === "POST" ? Promise.resolve(new Response("", { status: 503 })) : there(u, h)`)
	tab.Click(".command-dialog .button.primary")
	tab.Wait(".toast.bad button")
	a.looks(tab, "dialog-refused")
	tab.Look(browser.View{})
	if !browser.Eval[bool](tab, `(() => { const r = document.querySelector(".toast.bad button").getBoundingClientRect(); return Boolean(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)?.closest(".toast")); })()`) {
		a.t.Error("the notice lies behind the dialog")
	}
	browser.Eval[any](tab, `window.fetch = there`)
	tab.Click(".toast.bad button")
	testenv.Eventually(a.t, "the subject is changed", func() bool { return strings.Contains(seen(tab, "#head h1"), "The long ladder") })
}

// merging finds the other conversation by words, shows both, and leads from the old address to the new one.
func (a *agents) merging() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		from, into := a.fresh("The left pedal"), a.fresh("The right pedal creaks")
		talk := fmt.Sprintf("%s/c/%d", a.at, from)
		tab.Open(talk)
		tab.Click("#acts .commands > summary")
		pressButton(tab, scripts, fmt.Sprintf(`#acts a[href*="/c/%d/merge"]`, from))
		tab.Wait(".page.command [name=q]")
		tab.Fill(".page.command [name=q]", "right pedal")
		if !scripts {
			tab.Follow(".page.command .searchbar button")
		}
		row := fmt.Sprintf(`.merge-rows a[href*="into=%d"]`, into)
		tab.Wait(row)
		pressButton(tab, scripts, row)
		tab.Wait(".merge-both")
		preview := tab.Text(".merge-both")
		for _, want := range []string{"The left pedal", "The right pedal creaks", "Is it broken?"} {
			a.expect("the preview", preview, want)
		}
		if said := a.bodies(into); len(said) != 1 {
			a.t.Errorf("the preview has merged them: %q", said)
		}
		pressButton(tab, scripts, ".page.command .button.primary")
		testenv.Eventually(a.t, "the other is shown", func() bool { return strings.Contains(seen(tab, "#head h1"), "The right pedal creaks") })
		testenv.Eventually(a.t, "its history tells", func() bool { return strings.Contains(seen(tab, "#thread"), "into this conversation") })
		if said := a.bodies(into); len(said) != 2 {
			a.t.Errorf("it has %q", said)
		}
		tab.Open(talk)
		if want := fmt.Sprintf("/c/%d", into); !strings.Contains(tab.Location(), want) {
			a.t.Errorf("the old address leads to %s, want %s", tab.Location(), want)
		}
		a.expect("the toast", seen(tab, ".toast"), "This conversation was merged into #")
	})
}

// after goes where the member wants to after sending, remembers it, and comes back to the same list with undo. The member is
// another one than in other tests, as the choice is kept for all browsers.
func (a *agents) after() {
	a.eachWay(func(a *agents, _ *browser.Tab, scripts bool) {
		tab := a.colleague(map[bool]string{true: "theo", false: "layla"}[scripts], browser.View{NoScript: !scripts})
		for range 3 {
			a.fresh("The axle")
		}
		const in = "?in=all%3Fsort%3Dnewest"
		first := fmt.Sprintf("%s/c/%d%s", a.at, a.fresh("The rim"), in)
		place := func() string { return seen(tab, ".back small") }
		tab.Open(first)
		count := place()
		a.expect("the place", count, "1 of ")
		a.write(tab, scripts, "It is true.")
		tab.Click(".split summary")
		if scripts {
			a.looks(tab, "after-sending")
			tab.Look(browser.View{})
		}
		tab.Click(".after [value=next]")
		pressButton(tab, scripts, ".split .pop [name=then][value='']")
		testenv.Eventually(a.t, "the next is shown", func() bool { return strings.Contains(seen(tab, "#head h1"), "The axle") })
		a.expect("its place", place(), "2 of ")
		pressButton(tab, scripts, ".toast form button")
		testenv.Eventually(a.t, "undo leads back", func() bool { return strings.Contains(seen(tab, "#head h1"), "The rim") })
		if got := place(); got != count {
			a.t.Errorf("after undo the place is %q, was %q", got, count)
		}
		tab.Open(first)
		if got := browser.Eval[string](tab, `document.querySelector("[name=after]:checked").value`); got != "next" {
			a.t.Errorf("remembered is %q", got)
		}
		tab.Click(".split summary")
		tab.Click(".after [value=list]")
		pressButton(tab, scripts, ".split .pop [name=then][value='']")
		testenv.Eventually(a.t, "the list is shown", func() bool { return strings.HasSuffix(tab.Location(), "/inbox/all?sort=newest") })
		if !scripts {
			return
		}
		tab.Open(first)
		before := place()
		a.fresh("The nipple")
		testenv.Eventually(a.t, "the place is counted anew", func() bool { now := place(); return now != before && strings.HasPrefix(now, "2 of ") })
	})
}
