package main

import (
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// fields fills in a field beside a conversation, and sets it for the same one in a list.
func (a *agents) fields() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The scale")
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		tab.Click("#panel .values summary")
		tab.Fill("#panel [name=f_refund]", "12.50")
		pressButton(tab, scripts, "#panel .values .acts .button")
		shows := func(what, text string) {
			a.t.Helper()
			testenv.Eventually(a.t, what, func() bool { return strings.Contains(seen(tab, "#panel .values dl"), text) })
		}
		shows("the refund is beside the conversation", "12.5")
		tab.Open(a.at + "/inbox/unassigned?sort=newest")
		tab.Click(fmt.Sprintf("#row-%d .tick", id))
		tab.Click(".selection details:has(.setting) > summary")
		tab.Click(".setting details:has([name=f_refund]) > summary")
		tab.Fill(".setting [name=f_refund]", "7")
		pressButton(tab, scripts, ".setting [value=field-refund]")
		tab.Wait(".toast")
		a.expect("the toast", tab.Text(".toast"), "Changed a field of 1 conversation")
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		shows("the refund is another", "7")
	})
}
