package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// profile: a member reaches their profile from the menu with their name, on a phone too, sets a picture, a time zone and a
// language, and a second browser has them.
func (a *agents) profile() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		tab.Look(browser.View{Phone: true, NoScript: !scripts})
		tab.Open(a.at + "/inbox/all")
		tab.Click(`.tabs [href="#sidebar"]`)
		tab.Click("#sidebar .me summary")
		if scripts {
			a.looks(tab, "account-menu-phone")
			tab.Look(browser.View{Phone: true})
		}
		tab.Click(`#sidebar .me [href$="/settings/profile"]`)
		testenv.Eventually(a.t, "the profile is shown", func() bool { return strings.HasSuffix(tab.Place(), "/settings/profile") })
		tab.Look(browser.View{NoScript: !scripts})

		tab.Open(a.at + "/settings/profile")
		tab.Choose("[name=picture]", a.face())
		pressButton(tab, scripts, ".portrait .button:not(.quiet)")
		testenv.Eventually(a.t, "the picture is shown", func() bool {
			return browser.Eval[bool](tab, `(() => { const e = document.querySelector(".portrait .avatar img"); return Boolean(e && e.naturalWidth === 256); })()`)
		})
		if scripts {
			a.looks(tab, "profile-picture")
		}
		browser.Eval[any](tab, `document.querySelector("[name=language]").value = "de"; document.querySelector("[name=zone]").value = "Pacific/Auckland";
			document.querySelector("[name=after][value=next]").checked = true; document.querySelector("[name=assign]").checked = false`)
		tab.Follow("[name=replies] ~ .acts .primary")
		testenv.Eventually(a.t, "the page is German", func() bool {
			return strings.Contains(seen(tab, "#main h1"), "Profil") && strings.Contains(seen(tab, "#toast"), "Gespeichert")
		})
		elsewhere := a.member(browser.View{NoScript: !scripts})
		elsewhere.Open(a.at + "/settings/profile")
		if got := browser.Eval[string](elsewhere, `[document.documentElement.lang, document.querySelector("[name=zone]").value, document.querySelector("[name=after]:checked").value, document.querySelector("[name=assign]").checked].join()`); got != "de,Pacific/Auckland,next,false" {
			a.t.Errorf("in another browser: %s", got)
		}
		browser.Eval[any](elsewhere, `document.querySelector("[name=language]").value = ""; document.querySelector("[name=zone]").value = "";
			document.querySelector("[name=after][value=stay]").checked = true; document.querySelector("[name=assign]").checked = true`)
		elsewhere.Follow("[name=replies] ~ .acts .primary")
		elsewhere.Open(a.at + "/settings/profile")
		pressButton(elsewhere, scripts, ".portrait .quiet")
		testenv.Eventually(a.t, "the picture is gone", func() bool { return browser.Eval[bool](elsewhere, `!document.querySelector(".portrait .avatar img")`) })
	})
}

// face is a file with a picture.
func (a *agents) face() string {
	a.t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for y := range 300 {
		for x := range 400 {
			m.Set(x, y, color.RGBA{R: uint8(x * 255 / 400), G: 120, B: uint8(y * 255 / 300), A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		a.t.Fatal(err)
	}
	file := filepath.Join(a.t.TempDir(), "face.png")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// placeholders are chosen from a list and stand where the caret was.
func (a *agents) placeholders() {
	tab := a.member(browser.View{})
	tab.Open(a.at + "/settings/mailboxes/1")
	tab.Fill("[name=from]", "Team")
	browser.Eval[any](tab, `document.querySelector("[name=from]").setSelectionRange(0, 0)`)
	tab.Click(`[data-into=from] summary`)
	a.looks(tab, "placeholders-from")
	tab.Click(`[data-into=from] [data-place="{{agent.name}}"]`)
	if got := browser.Eval[string](tab, `document.querySelector("[name=from]").value`); got != "{{agent.name}}Team" {
		a.t.Errorf("the name is %q", got)
	}
	tab.Open(a.at + "/settings/replies/new")
	tab.Click(".editor")
	tab.Press("Hello , thanks")
	browser.Eval[any](tab, `(() => { const e = document.querySelector(".editor"), w = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), t = w.nextNode(); getSelection().collapse(t, 6); })()`)
	tab.Click(`[data-into=body] summary`)
	a.looks(tab, "placeholders-reply")
	tab.Click(`[data-into=body] [data-place="{{customer.first_name}}"]`)
	if got := seen(tab, ".editor"); got != "Hello {{customer.first_name}}, thanks" {
		a.t.Errorf("the reply is %q", got)
	}
}

// conditions of a view are added, changed and removed, with scripts and without.
func (a *agents) conditions() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		tab.Open(a.at + "/settings/views/1")
		said := seen(tab, ".said")
		browser.Eval[any](tab, `document.querySelector("[name=add]").value = "words"`)
		pressButton(tab, scripts, `[name=do][value=add]`)
		testenv.Eventually(a.t, "the condition is there", func() bool { return browser.Eval[bool](tab, `Boolean(document.querySelector("[name=c_words]"))`) })
		tab.Fill("[name=c_words]", "zzzz")
		pressButton(tab, scripts, `[name=do][value=count]`)
		testenv.Eventually(a.t, "none is found", func() bool { return strings.Contains(seen(tab, "#conditions [role=status]"), "0 conversations") })
		if scripts {
			a.looks(tab, "view-conditions")
		}
		pressButton(tab, scripts, `button.primary[value=save]`)
		testenv.Eventually(a.t, "it is saved", func() bool { return strings.HasSuffix(tab.Place(), "/settings/views") })
		tab.Open(a.at + "/settings/views/1")
		if got := seen(tab, ".said"); got != said+" · Contains: zzzz" {
			a.t.Errorf("it says %q, and said %q", got, said)
		}
		pressButton(tab, scripts, `[value=drop-words]`)
		testenv.Eventually(a.t, "the condition is gone", func() bool { return seen(tab, ".said") == said })
		pressButton(tab, scripts, `button.primary[value=save]`)
		testenv.Eventually(a.t, "it is as before", func() bool { return strings.HasSuffix(tab.Place(), "/settings/views") })
	})
}
