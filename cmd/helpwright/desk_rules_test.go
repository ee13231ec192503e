package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskRules makes rules as a lead does, and finds them in the conversations that they change.
func TestDeskRules(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).deskRules)
}

// deskRules makes a rule from a template, with one more condition and action, and sees what it does.
func (a *agents) deskRules(tab *browser.Tab, scripts bool) {
	way, word := "Urgent "+strconv.FormatBool(scripts), "zebra"+strconv.FormatBool(scripts)
	before := a.fresh("The " + word + " of before")
	check := newPageChecker(a.t)
	tab.Open(a.at + "/settings/rules")
	eachView(a.t, tab, check, "rules")
	tab.Open(a.at + "/settings/rules")
	tab.Click(`.rule-kinds [href$="template=urgent"]`)
	testenv.Eventually(a.t, "the template is filled in", func() bool { return strings.Contains(seen(tab, ".rule-whole"), "set the priority to Urgent") })
	tab.Fill("[name=name]", way)
	tab.Fill("[name=any-0-value]", word)
	choose := func(control, value string) {
		browser.Eval[any](tab, fmt.Sprintf("document.querySelector(%q).value = %q", control, value))
	}
	choose("[name=add-all]", "awaiting")
	tab.Click(`[name=do][value="add all"]`)
	testenv.Eventually(a.t, "there is one more condition, and what was typed is kept", func() bool {
		return seen(tab, "[name=all-1-value]") != "" && strings.Contains(seen(tab, "[name=any-0-value]"), word) && browser.Eval[string](tab, "document.querySelector('[name=name]').value") == way
	})
	choose("[name=add-then]", "add_note")
	tab.Click(`[name=do][value="add then"]`)
	testenv.Eventually(a.t, "there is one more action", func() bool { return browser.Eval[bool](tab, "!!document.querySelector('[name=then-1-value]')") })
	tab.Fill("[name=then-1-value]", "Call them.")
	a.deskReplay(tab, scripts, "The "+word+" of before")
	eachView(a.t, tab, check, "rule-new")
	tab.Look(browser.View{})
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the rule is made", func() bool { return strings.Contains(seen(tab, "#main .rules"), way) })

	id := a.fresh("The " + word + " is loose")
	testenv.Eventually(a.t, "the rule acts", func() bool { return strings.Contains(strings.Join(a.bodies(id), "\n"), "Call them.") })
	tab.Open(fmt.Sprintf("%s/c/%d?in=all", a.at, id))
	if said := seen(tab, "#thread .event"); !strings.Contains(said, "Rule “"+way+"” changed the priority from Normal to Urgent") {
		a.t.Errorf("the history says %q", said)
	}
	if said := seen(tab, "#thread .note header"); !strings.Contains(said, way) {
		a.t.Errorf("the note is of %q", said)
	}
	eachView(a.t, tab, check, "rule-thread")
	tab.Look(browser.View{})
	tab.Click("#thread .event a")
	testenv.Eventually(a.t, "the link leads to the rule", func() bool { return strings.Contains(seen(tab, "#main .top h1"), way) })
	if runs := seen(tab, "#runs"); !strings.Contains(runs, word) || !strings.Contains(runs, "Priority: Normal → Urgent") {
		a.t.Errorf("its runs are %q", runs)
	}
	var made object[struct{ Number int64 }]
	a.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", before), nil, &made)
	tab.Fill("#test [name=number]", strconv.FormatInt(made.Data.Number, 10))
	tab.Click("#test button")
	testenv.Eventually(a.t, "the test says what would happen", func() bool { return strings.Contains(seen(tab, ".rule-trial"), "The rule would do this:") })
	eachView(a.t, tab, check, "rule-saved")
	a.deskTimeRule(tab, scripts, check)
	a.deskMachines(tab, scripts)
	check.valid()
}

// deskReplay tries the rule of the form on what happened before, which has a conversation with the subject.
func (a *agents) deskReplay(tab *browser.Tab, scripts bool, subject string) {
	note := func() string { return browser.Eval[string](tab, "document.querySelector('[name=then-1-value]').value") }
	typed := note()
	if said := a.replayed(tab, scripts); !strings.HasPrefix(said, "Last 30 days: 1 of ") {
		a.t.Errorf("the replay says %q", said)
	}
	if found := seen(tab, "#replayed"); !strings.Contains(found, subject) || !strings.Contains(found, "Priority: Normal → Urgent") {
		a.t.Errorf("the replay found %q", found)
	}
	check := newPageChecker(a.t)
	browser.Eval[any](tab, "document.querySelector('#replayed').scrollIntoView()")
	eachView(a.t, tab, check, "rule-replayed")
	tab.Look(browser.View{})
	if now := note(); now != typed || typed == "" {
		a.t.Errorf("after the replay, the form has %q in place of %q", now, typed)
	}
}

// replayed replays the rule of the form, and returns what is said beside the button. Without scripts, the page is loaded again to
// see how far that is.
func (a *agents) replayed(tab *browser.Tab, scripts bool) (said string) {
	tab.Click("[name=do][value=replay]")
	at := ""
	testenv.Eventually(a.t, "the replay has begun", func() bool {
		at = browser.Eval[string](tab, "location.href")
		return strings.Contains(at, "replay=")
	})
	testenv.Eventually(a.t, "the replay is done", func() bool {
		if !scripts {
			tab.Open(at)
		}
		said = seen(tab, ".top #errand [role=status]")
		return strings.HasPrefix(said, "Last 30 days: ")
	})
	return said
}

// deskTimeRule makes a rule that acts when time has passed.
func (a *agents) deskTimeRule(tab *browser.Tab, scripts bool, check *pageChecker) {
	name := "Silence " + strconv.FormatBool(scripts)
	tab.Open(a.at + "/settings/rules/new?template=silence")
	testenv.Eventually(a.t, "the template says when it acts", func() bool {
		return strings.Contains(seen(tab, ".rule-whole"), "168 hours after somebody on the team replied")
	})
	tab.Fill("[name=name]", name)
	tab.Fill("[name=hours]", "48")
	eachView(a.t, tab, check, "rule-time")
	tab.Look(browser.View{})
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the rule is made", func() bool {
		return strings.Contains(seen(tab, "#main .rules"), name) && strings.Contains(seen(tab, "#main .rules"), "48 hours after somebody on the team replied")
	})
}

// deskMachines makes a rule from a template as it is, after a replay.
func (a *agents) deskMachines(tab *browser.Tab, scripts bool) {
	name := "Machines " + strconv.FormatBool(scripts)
	tab.Open(a.at + "/settings/rules/new?template=machines")
	tab.Fill("[name=name]", name)
	a.replayed(tab, scripts)
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the rule is made", func() bool { return strings.Contains(seen(tab, "#main .rules"), name) })
}
