package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskLanguages reads the desk as members with other languages do: in Arabic every page, from right to left, and in
// languages with long words or another script those that hold most. None is wider than the window.
func TestDeskLanguages(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.makeTeam(a.member(browser.View{}))
	most := map[string]bool{"inbox": true, "conversation": true, "settings-mailbox": true, "settings-profile": true, "settings-members": true, "health": true, "help-article": true}
	for _, lang := range []string{"ar", "de", "ja", "pl"} {
		a.run(lang, func(a *agents) {
			tab := a.Tab(a.t, browser.View{Language: lang})
			tab.Open("http://" + a.http + "/desk/sign-in")
			a.inLanguage(tab, "sign-in", lang)
			a.signIn(tab)
			for _, p := range a.pages() {
				if lang == "ar" || most[p.name] {
					tab.Open(a.at + p.path)
					a.inLanguage(tab, p.name, lang)
				}
			}
		})
	}
}

// inLanguage checks the shown page on a desk and on a phone.
func (a *agents) inLanguage(tab *browser.Tab, name, lang string) {
	a.t.Helper()
	direction := "ltr"
	if lang == "ar" {
		direction = "rtl"
	}
	if got, want := browser.Eval[string](tab, `document.documentElement.lang + " " + getComputedStyle(document.body).direction`), lang+" "+direction; got != want {
		a.t.Errorf("%s is %s, want %s", name, got, want)
	}
	for kind, v := range map[string]browser.View{"wide": {}, "phone": {Phone: true}} {
		tab.Look(v)
		if wide := browser.Eval[int](tab, wider); wide > 0 {
			a.t.Errorf("%s in %s, %s: wider than the window by %d px: %s", name, lang, kind, wide, browser.Eval[string](tab, widest))
		}
		picture(a.t, tab, os.Getenv(testenv.EnvScreens), fmt.Sprintf("%s-%s-%s", name, lang, kind))
	}
	tab.Look(browser.View{})
}

const (
	wider = `document.documentElement.scrollWidth - innerWidth`
	// widest names an element that sticks out of the window.
	widest = `[...document.querySelectorAll("body *")].filter((e) => { const at = e.getBoundingClientRect(); return at.width && (at.left < -1 || at.right > innerWidth + 1); }).map((e) => e.tagName + "." + e.className).slice(-3).join(" ")`
)
