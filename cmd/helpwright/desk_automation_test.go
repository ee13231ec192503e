package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskAutomation sets business hours and a reply in three languages, as a lead does.
func TestDeskAutomation(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).automation)
}

// automation makes hours, and a reply for when they are over, with forms that are nearly filled in.
func (a *agents) automation(tab *browser.Tab, scripts bool) {
	way := "hours " + strconv.FormatBool(scripts)
	check := newPageChecker(a.t)
	tab.Open(a.at + "/settings/hours/new")
	eachView(a.t, tab, check, "hours-new")
	tab.Open(a.at + "/settings/hours/new")
	tab.Fill("[name=name]", way)
	tab.Fill("[name=mon]", "9-12, 13-17:30")
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the hours are made", func() bool { return strings.Contains(seen(tab, "#main .top h1"), way) })
	if now := seen(tab, "#main .top .state"); !strings.Contains(now, "now · ") {
		a.t.Errorf("the hours say %q", now)
	}
	tab.Open(a.at + "/settings/auto-replies/new")
	tab.Fill("[name=name]", way)
	for _, lang := range []string{"de", "fr"} {
		browser.Eval[any](tab, fmt.Sprintf("document.querySelector('[name=add]').value = %q", lang))
		tab.Click("[name=do][value=add]")
		testenv.Eventually(a.t, "there is a text in "+lang, func() bool { return strings.Contains(seen(tab, `[name="body-`+lang+`"]`), "{{customer.first_name}}") })
	}
	if shown := seen(tab, ".auto-lang[open] .mail-shown"); !strings.Contains(shown, "Bonjour") || strings.Contains(shown, "{{") {
		a.t.Errorf("the preview is %q", shown)
	}
	eachView(a.t, tab, check, "auto-reply-languages")
	tab.Look(browser.View{})
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the reply is made", func() bool { return strings.Contains(seen(tab, "#main .lines"), way) })
	check.valid()
}
