package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskRetention makes a retention policy as a lead does, and puts a conversation on hold as an agent does.
func TestDeskRetention(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).deskRetention)
}

// deskRetention previews a policy, switches it on, and puts a conversation on hold and releases it.
func (a *agents) deskRetention(tab *browser.Tab, scripts bool) {
	name := "Old mail " + strconv.FormatBool(scripts)
	check := newPageChecker(a.t)
	tab.Open(a.at + "/settings/retention/new")
	tab.Fill("[name=name]", name)
	tab.Fill("[name=days]", "1")
	tab.Click(`[name=do][value=preview]`)
	testenv.Eventually(a.t, "the preview has conversations", func() bool { return strings.Contains(seen(tab, "#preview"), "whose content it would erase now") })
	eachView(a.t, tab, check, "retention-preview")
	tab.Look(browser.View{})
	browser.Eval[any](tab, "document.querySelector('[name=active]').checked = true")
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "it asks", func() bool { return strings.Contains(seen(tab, ".retention-ask"), "cannot be undone") })
	eachView(a.t, tab, check, "retention-ask")
	tab.Look(browser.View{})
	tab.Click(".retention-ask .danger")
	testenv.Eventually(a.t, "the policy is made", func() bool { return strings.Contains(seen(tab, "#main .lines"), name) })
	a.expect("what it does", seen(tab, "#main .lines"), "Erase the content · after 1 days")
	eachView(a.t, tab, check, "retention")
	tab.Look(browser.View{})

	id := a.fresh("The contract " + strconv.FormatBool(scripts))
	tab.Open(fmt.Sprintf("%s/c/%d/do/hold", a.at, id))
	tab.Fill("[name=reason]", "Case 7")
	tab.Click(".acts .primary")
	testenv.Eventually(a.t, "it is on hold", func() bool { return strings.Contains(seen(tab, "#head"), "On hold: Case 7") })
	eachView(a.t, tab, check, "held-thread")
	tab.Look(browser.View{})
	var c object[struct{ Hold *struct{ Reason string } }]
	a.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", id), nil, &c)
	if c.Data.Hold == nil || c.Data.Hold.Reason != "Case 7" {
		a.t.Errorf("the hold is %+v", c.Data.Hold)
	}
	a.ok("PUT", fmt.Sprintf("/accounts/1/conversations/%d/hold", id), url.Values{"held": {"0"}}, nil)
	check.valid()
}
