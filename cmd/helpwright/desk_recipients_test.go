package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// eachPicture saves pictures of what is shown in every view and direction, if pictures are wanted.
func eachPicture(t *testing.T, tab *browser.Tab, name string) {
	folder := os.Getenv(testenv.EnvScreens)
	if folder == "" {
		return
	}
	for _, v := range views {
		tab.Look(v.View)
		picture(t, tab, folder, name+"-"+v.name)
	}
	tab.Look(browser.View{})
	browser.Eval[any](tab, "document.documentElement.dir = 'rtl'")
	picture(t, tab, folder, name+"-rtl")
	browser.Eval[any](tab, "document.documentElement.dir = 'ltr'")
}

// copied returns a conversation whose customer's mails have somebody in copy.
func (a *agents) copied() int64 {
	a.t.Helper()
	for _, c := range all[struct {
		ID      int64
		Subject string
	}](&a.process, "/accounts/1/conversations?query=change+of+address") {
		if strings.HasPrefix(c.Subject, "Change of address") {
			return c.ID
		}
	}
	a.t.Fatal("the demo has no mail with Cc")
	return 0
}

// fieldValue is what a field of the composer holds.
func fieldValue(tab *browser.Tab, name string) string {
	return browser.Eval[string](tab, fmt.Sprintf("document.querySelector('.composer [name=%s]').value", name))
}

// replyAll answers the customer alone, and with everybody who is on the last mail.
func (a *agents) replyAll() {
	id := a.copied()
	at := fmt.Sprintf("%s/c/%d", a.at, id)
	const other = "reception@office.example"
	tab := a.member(browser.View{})
	tab.Open(at)
	a.expect("the thread", tab.Text("#thread"), "Cc: "+other)
	copies := func(want string) {
		a.t.Helper()
		got := fieldValue(tab, "cc") + " " + browser.Eval[string](tab, "document.querySelector('.composer [name=kind]:checked').value")
		if got != want {
			a.t.Errorf("Cc and kind are %q, want %q", got, want)
		}
	}
	copies(other + " reply-all") // nobody is left out unless the member says so
	eachPicture(a.t, tab, "reply-all")
	browser.Eval[any](tab, "document.activeElement.blur()")
	tab.Press("r")
	copies(" reply")
	browser.Eval[any](tab, "document.activeElement.blur()")
	tab.Press("R")
	copies(other + " reply-all")
	tab.Click(".kinds [data-key=n]")
	tab.Click(".kinds [data-key=r]")
	copies(" reply")
	tab.Press("Only to you.")
	testenv.Eventually(a.t, "the draft is saved", func() bool { return strings.Contains(seen(tab, ".saved"), "Draft saved") })
	tab.Open(at)
	copies(" reply")
	a.expect("the draft", tab.Text(".editor"), "Only to you.")
	tab.Click(".discard")
	testenv.Eventually(a.t, "the draft is gone", func() bool { return strings.Contains(seen(tab, ".toast"), "Draft discarded") })
	tab.Problems()

	plain := a.member(browser.View{NoScript: true})
	plain.Open(at)
	plain.Click(".kinds [data-key=r]")
	plain.Fill(".composer textarea", "Only to you, without scripts.")
	plain.Follow(".composer .draft")
	if cc := fieldValue(plain, "cc"); cc != "" {
		a.t.Errorf("without scripts a reply to the customer alone copies %q", cc)
	}
	plain.Follow(".composer .discard")
}

// suggest completes an address while it is typed.
func (a *agents) suggest() {
	tab := a.member(browser.View{})
	tab.Open(a.at + "/new")
	tab.Click(".composer [name=to]")
	tab.Press("fairw")
	tab.Wait(".suggestions:not([hidden]) [aria-selected=true]")
	a.expect("the suggestion", seen(tab, ".suggestions:not([hidden])"), "ada.fairweather@example.com")
	newPageChecker(a.t).accessible(tab, "suggestions", allRules)
	eachPicture(a.t, tab, "suggestions")
	tab.Press("\r")
	if to := fieldValue(tab, "to"); to != "ada.fairweather@example.com, " {
		a.t.Errorf("the recipient is %q", to)
	}
	tab.Press("nobody@exam")
	testenv.Eventually(a.t, "nobody is suggested", func() bool { return browser.Eval[bool](tab, "!document.querySelector('.suggestions:not([hidden])')") })
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, a.copied()))
	tab.Click(".kinds [data-key=f]")
	tab.Press("recep")
	tab.Wait(".suggestions:not([hidden]) [aria-selected=true]")
	a.expect("who is in the conversation", seen(tab, ".suggestions:not([hidden])"), "reception@office.example")
	tab.Problems()
}

// newDraft leaves a new conversation, and finds it as it was.
func (a *agents) newDraft() {
	tab := a.member(browser.View{})
	tab.Open(a.at + "/new")
	tab.Fill(".composer [name=to]", "nora@example.com")
	tab.Fill(".composer [name=subject]", "The hinge")
	a.write(tab, true, "It squeaks.")
	tab.Open(a.at + "/inbox/all")
	tab.Open(a.at + "/new?to=jo@example.com")
	if got := fieldValue(tab, "to") + seen(tab, ".editor"); got != "jo@example.com" {
		a.t.Errorf("a mail to somebody else begins with %q", got)
	}
	tab.Open(a.at + "/new")
	if got := fieldValue(tab, "to") + " " + fieldValue(tab, "subject") + " " + seen(tab, ".editor"); got != "nora@example.com The hinge It squeaks." {
		a.t.Errorf("the draft returns as %q", got)
	}
	tab.Click("[data-forget]")
	testenv.Eventually(a.t, "the form is empty", func() bool { return fieldValue(tab, "subject")+seen(tab, ".editor") == "" })
	tab.Open(a.at + "/new")
	if got := fieldValue(tab, "to") + fieldValue(tab, "subject"); got != "" {
		a.t.Errorf("what was discarded returns: %q", got)
	}
}
