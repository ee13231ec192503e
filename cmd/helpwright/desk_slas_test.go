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

// TestDeskSLAs makes SLAs as a lead does, and sees what they promise in lists and conversations.
func TestDeskSLAs(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).deskSLAs)
}

// deskSLAs makes an SLA for urgent conversations, puts it first, and keeps what it promises.
func (a *agents) deskSLAs(tab *browser.Tab, scripts bool) {
	name := "Pressing " + strconv.FormatBool(scripts)
	check := newPageChecker(a.t)
	tab.Open(a.at + "/settings/slas")
	a.expect("the demo's SLA", seen(tab, "#main .rules"), "Standard")
	tab.Open(a.at + "/settings/slas/new")
	tab.Fill("[name=name]", name)
	tab.Fill("[name=first_reply-hours]", "1")
	tab.Fill("[name=first_reply-minutes]", "30")
	tab.Fill("[name=resolution-hours]", "48")
	browser.Eval[any](tab, "document.querySelector('[name=calendar]').value = ''") // all hours
	browser.Eval[any](tab, "document.querySelector('[name=add-all]').value = 'priority'")
	tab.Click(`[name=do][value="add all"]`)
	testenv.Eventually(a.t, "there is a condition, and what was typed is kept", func() bool {
		return browser.Eval[bool](tab, `!!document.querySelector('[name="all-0-value"]') && document.querySelector('[name=name]').value != ''`)
	})
	browser.Eval[any](tab, `document.querySelector('[name="all-0-value"][value=urgent]').checked = true`)
	eachView(a.t, tab, check, "sla-new")
	tab.Look(browser.View{})
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the SLA is made", func() bool { return strings.Contains(seen(tab, "#main .rules"), name) })
	a.expect("what it promises", seen(tab, "#main .rules"), "First reply: 1 h 30 min")
	first := func() bool { return strings.Contains(seen(tab, "#main .rules > li:first-child"), name) }
	for range 4 {
		if first() {
			break
		}
		at := browser.Eval[int](tab, fmt.Sprintf(`[...document.querySelectorAll("#main .rules > li")].findIndex((e) => e.textContent.includes(%q))`, name))
		tab.Click(fmt.Sprintf("#main .rules > li:nth-child(%d) [value=up]", at+1))
		testenv.Eventually(a.t, "it moves up", func() bool {
			return strings.Contains(seen(tab, fmt.Sprintf("#main .rules > li:nth-child(%d)", at)), name)
		})
	}
	if !first() {
		a.t.Error("it is not the first one")
	}
	eachView(a.t, tab, check, "slas")
	tab.Look(browser.View{})

	subject := "The boiler hisses " + strconv.FormatBool(scripts)
	id := a.fresh(subject)
	at := fmt.Sprintf("/accounts/1/conversations/%d", id)
	a.ok("PUT", at, url.Values{"subject": {subject}, "priority": {"urgent"}}, nil)
	tab.Open(a.at + "/inbox/due")
	testenv.Eventually(a.t, "the list says what is due", func() bool {
		tab.Open(a.at + "/inbox/due")
		row := browser.Eval[string](tab, fmt.Sprintf(`[...document.querySelectorAll("#list .row")].find((e) => e.textContent.includes(%q))?.innerText || ""`, subject))
		return strings.Contains(row, "First reply due in 1 h")
	})
	eachView(a.t, tab, check, "due")
	tab.Look(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d?in=due", a.at, id))
	a.expect("what is due", seen(tab, "#head"), "First reply due in 1 h")
	a.expect("why", seen(tab, "#panel .targets"), "SLA “"+name+"”")
	a.ok("POST", at+"/interactions", url.Values{"type": {"user"}, "status": {"posted"}, "body": {"<p>Turn it off, please.</p>"}}, nil)
	tab.Open(fmt.Sprintf("%s/c/%d?in=due", a.at, id))
	a.expect("what was promised", seen(tab, "#panel .targets"), "First reply: met")
	a.expect("the history", seen(tab, "#thread"), "First reply was in time")
	eachView(a.t, tab, check, "sla-thread")
	tab.Look(browser.View{})
	check.valid()
}
