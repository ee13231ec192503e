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

// TestDeskMacros makes macros as a member does, and uses them with answers and alone.
func TestDeskMacros(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).deskMacros)
}

// deskMacros makes a macro, sends it with an answer once without and once with its actions, and applies one without text.
func (a *agents) deskMacros(tab *browser.Tab, scripts bool) {
	name := "Rinse " + strconv.FormatBool(scripts)
	check := newPageChecker(a.t)
	tab.Open(a.at + "/settings/replies/new")
	tab.Fill("[name=name]", name)
	browser.Eval[any](tab, "document.querySelector('[name=add-then]').value = 'set_status'")
	tab.Click(`[name=do][value="add then"]`)
	testenv.Eventually(a.t, "there is an action, and what was typed is kept", func() bool {
		return browser.Eval[bool](tab, "!!document.querySelector('[name=then-0-value]') && document.querySelector('[name=name]').value != ''")
	})
	browser.Eval[any](tab, "document.querySelector('[name=then-0-value]').value = 'closed'")
	a.write(tab, scripts, "Rinse it, please.")
	eachView(a.t, tab, check, "macro-new")
	tab.Look(browser.View{})
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the macro is made", func() bool { return strings.Contains(seen(tab, "#main .lines"), name) })
	a.expect("the list", seen(tab, "#main .lines"), "set the status to Closed")
	eachView(a.t, tab, check, "macros")

	for _, with := range []bool{false, true} {
		id := a.fresh(fmt.Sprintf("The %s valve %t", name, with))
		tab.Look(browser.View{})
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		tab.Click(`details[data-sign="/"] summary`)
		pick := fmt.Sprintf("#pick-replies li:nth-child(%d) button", 1+browser.Eval[int](tab, fmt.Sprintf("[...document.querySelectorAll('#pick-replies li')].findIndex((e) => e.textContent.includes(%q))", name)))
		a.expect("the choice", seen(tab, pick), "set the status to Closed")
		if with {
			eachView(a.t, tab, check, "macro-palette")
			tab.Look(browser.View{})
		}
		tab.Click(pick)
		shown := func() bool {
			return browser.Eval[bool](tab, "!!document.querySelector('.with-macro') && !document.querySelector('.with-macro').hidden")
		}
		testenv.Eventually(a.t, "the line says what goes with the answer", func() bool { return shown() && strings.Contains(seen(tab, ".with-macro"), "set the status to Closed") })
		if scripts {
			testenv.Eventually(a.t, "what is written is kept", func() bool {
				return browser.Eval[bool](tab, "document.querySelector('.composer .saved')?.textContent != ''")
			})
			tab.Open(tab.Location())
			testenv.Eventually(a.t, "the line is there after a reload", func() bool { return shown() && strings.Contains(seen(tab, ".with-macro"), "set the status to Closed") })
		}
		if with {
			eachView(a.t, tab, check, "macro-with")
			tab.Look(browser.View{})
		} else {
			tab.Click("[data-drop-macro]")
			gone := func() bool { return browser.Eval[bool](tab, "!!document.querySelector('.with-macro')") && !shown() }
			testenv.Eventually(a.t, "the line is gone", gone)
			if scripts {
				tab.Open(tab.Location())
				testenv.Eventually(a.t, "the line stays away", gone)
			}
		}
		tab.Click("[data-send]")
		testenv.Eventually(a.t, "the answer is posted", func() bool { return strings.Contains(strings.Join(a.bodies(id), "\n"), "user posted: Rinse it") })
		testenv.Eventually(a.t, "the composer is empty", func() bool {
			return !strings.Contains(browser.Eval[string](tab, "document.querySelector('.composer')?.innerText + document.querySelector('.composer textarea')?.value"), "Rinse it, please.")
		})
		if got := a.status(id); (got == "closed") != with {
			a.t.Errorf("with the actions %t, the conversation is %s", with, got)
		}
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		if said := seen(tab, "#thread"); strings.Contains(said, "closed this, by macro “"+name+"”") != with {
			a.t.Errorf("with the actions %t, the history says %q", with, said)
		}
		if with {
			eachView(a.t, tab, check, "macro-history")
		}
	}
	a.macroAlone(tab, name)
	check.valid()
}

// macroAlone applies a macro without text from the menu of a conversation.
func (a *agents) macroAlone(tab *browser.Tab, name string) {
	alone := "Only " + name
	a.ok("POST", "/accounts/1/saved-replies", url.Values{"name": {alone}, "is_shared": {"1"}, "actions[0][type]": {"set_priority"}, "actions[0][value]": {"low"}}, nil)
	id := a.fresh("The " + name + " lid")
	tab.Look(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d/do/macro", a.at, id))
	testenv.Eventually(a.t, "the macros are there", func() bool { return strings.Contains(seen(tab, ".macro-list"), alone) })
	eachView(a.t, tab, newPageChecker(a.t), "macro-apply")
	tab.Look(browser.View{})
	pick := fmt.Sprintf(".macro-list li:nth-child(%d) button", 1+browser.Eval[int](tab, fmt.Sprintf("[...document.querySelectorAll('.macro-list li')].findIndex((e) => e.textContent.includes(%q))", alone)))
	tab.Click(pick)
	testenv.Eventually(a.t, "the macro is applied", func() bool {
		var c object[struct{ Priority string }]
		a.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", id), nil, &c)
		return c.Data.Priority == "low"
	})
	if n := len(a.bodies(id)); n != 1 {
		a.t.Errorf("%d messages", n)
	}
}
