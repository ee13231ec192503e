package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv/browser"
)

func (c *helpCentre) expect(what, got, want string) {
	c.t.Helper()
	if !strings.Contains(got, want) {
		c.t.Errorf("%s: %q, want %q in it", what, got, want)
	}
}

// search finds an article: as one types, and with the key alone.
func (c *helpCentre) search() {
	c.eachWay(func(c *helpCentre, tab *browser.Tab, scripts bool) {
		tab.Open(c.site + "/en")
		if scripts {
			c.asOneTypes(tab)
			tab.Open(c.site + "/en")
		}
		tab.Fill(".hw-search input", "water")
		if status := tab.Enter(".hw-search input"); status != http.StatusOK {
			c.t.Errorf("the results: status %d", status)
		}
		c.expect("the results", tab.Text(".hw-results > [role=status]"), "articles match “water”")
		first := tab.Text(".hw-results ol a")
		tab.Follow(".hw-results [rel=next]")
		if next := tab.Text(".hw-results ol a"); next == first {
			c.t.Errorf("more results begin with %q too", next)
		}
		title := tab.Text(".hw-results ol a")
		tab.Follow(".hw-results ol a")
		c.expect("the article", tab.Text("h1"), title)
		tab.Fill(".hw-find input", "zebra")
		tab.Enter(".hw-find input")
		c.expect("without a match", tab.Text(".hw-results"), "Nothing was found for “zebra”")
	})
}

// asOneTypes works with the suggestions as a reader of a screen reader does, with keys alone.
func (c *helpCentre) asOneTypes(tab *browser.Tab) {
	c.t.Helper()
	const field = ".hw-search input"
	attribute := func(name string) string {
		return browser.Eval[string](tab, fmt.Sprintf("document.querySelector(%q).getAttribute(%q) || ''", field, name))
	}
	tab.Fill(field, "d")
	tab.Fill(field, "descal")
	tab.Wait(".hw-options")
	c.expect("the first suggestion", tab.Text(".hw-options li"), "Descale the machine")
	c.expect("its collection", tab.Text(".hw-options li .hw-note"), "Cleaning and care")
	c.expect("the live region", browser.Eval[string](tab, "document.querySelector('.hw-search [role=status]').textContent"), "results")
	c.expect("all of them", tab.Text(".hw-options-foot a"), "See all")
	if attribute("aria-expanded") != "true" || attribute("aria-activedescendant") != "" {
		c.t.Errorf("expanded %q, active %q", attribute("aria-expanded"), attribute("aria-activedescendant"))
	}
	tab.Press(browser.Down)
	if attribute("aria-activedescendant") == "" {
		c.t.Error("the arrow chose nothing")
	}
	tab.Press(browser.Escape)
	tab.Gone(".hw-options")
	if attribute("aria-expanded") != "false" {
		c.t.Error("Escape did not close the suggestions")
	}
	tab.Fill(field, "descale")
	tab.Wait(".hw-options")
	tab.Press(browser.Down)
	tab.Enter(field)
	c.expect("the article", tab.Text("h1"), "Descale the machine")
}

// languages changes the language, also to one that an article is not in.
func (c *helpCentre) languages() {
	c.eachWay(func(c *helpCentre, tab *browser.Tab, _ bool) {
		change := func(to string) {
			tab.Click(".hw-languages summary")
			tab.Follow(".hw-languages a[lang=" + to + "]")
		}
		tab.Open(c.in("en", "Descale the machine"))
		change("de")
		c.expect("in German", tab.Text("h1"), "entkalken")
		change("ar")
		if dir := browser.Eval[string](tab, "document.documentElement.dir + getComputedStyle(document.body).direction"); dir != "rtlrtl" {
			c.t.Errorf("Arabic is written %s", dir)
		}
		tab.Open(c.in("de", "Home Assistant"))
		c.expect("what is not translated", tab.Text(".hw-callout"), "Dieser Artikel ist noch nicht auf Deutsch")
		if got := browser.Eval[string](tab, "document.querySelector('.hw-content').lang + document.documentElement.lang"); got != "ende" {
			c.t.Errorf("the languages of the content and the page: %s", got)
		}
		if offered := browser.Eval[[]string](tab, "[...document.querySelectorAll('.hw-languages a')].map((a) => a.lang)"); cmp.Diff([]string{"en"}, offered) != "" {
			c.t.Errorf("offered are %v", offered)
		}
		change("en")
		c.expect("in English", tab.Location(), "/en/articles/")
	})
	c.run("Browser", func(c *helpCentre) {
		tab := c.Tab(c.t, browser.View{Language: "ar-EG,ar,en"})
		tab.Open(c.site)
		c.expect("without a language", tab.Location(), "/ar")
	})
}

// contact writes to the help desk, and finds the conversation there.
func (c *helpCentre) contact() {
	file := filepath.Join(c.t.TempDir(), "puck.txt")
	if err := os.WriteFile(file, []byte("It looks like mud."), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.eachWay(func(c *helpCentre, tab *browser.Tab, scripts bool) {
		const form = "[data-hw-contact] "
		about := fmt.Sprintf("Descale, scripts %t", scripts)
		tab.Open(c.site + "/en/contact")
		opened := time.Now()
		tab.Fill("#hw-about", about)
		tab.Fill("#hw-message", "It stops in the middle.\n\nWhat now? <b>Help!</b>")
		tab.Fill("#hw-name", "Ada Lovelace")
		tab.Fill("#hw-email", "ada")
		tab.Fill("#hw-f_q_text", "H1-123456")
		tab.Fill("#hw-f_q_number", "12,5")
		browser.Eval[any](tab, `for (const [name, value] of Object.entries({ boolean: "true", date: "2026-01-31", datetime: "2026-01-31T10:30", select: "halden_duo", url: "https://example.com/x" })) {
			document.querySelector("#hw-f_q_" + name).value = value;
		}
		document.querySelectorAll("[name=f_q_multiselect]").forEach((box, i) => { box.checked = i < 2; })`)
		if scripts {
			tab.Wait(".hw-suggested a")
		}
		if status := tab.Follow(form + ".hw-main-button"); status != http.StatusUnprocessableEntity {
			c.t.Errorf("a wrong address: status %d", status)
		}
		c.expect("the problem", tab.Text(".hw-problems"), "Enter an email address such as name@example.com")
		c.expect("the problem of the answer", tab.Text("#hw-f_q_number-problem"), "Enter a number such as 12.5")
		tab.Fill("#hw-f_q_number", "12.5")
		tab.Fill("#hw-email", fmt.Sprintf("ada-%t@example.org", scripts))
		tab.Choose("#hw-files", file)
		tab.Follow(form + ".hw-main-button")
		if !scripts {
			c.expect("the suggestions", tab.Text(".hw-suggested"), "Descale the machine")
			c.expect("the button", tab.Text(form+".hw-main-button"), "Send anyway")
			tab.Choose("#hw-files", file) // no browser fills in files again
			time.Sleep(time.Until(opened.Add(3 * time.Second)))
			tab.Follow(form + ".hw-main-button")
		}
		for try := 0; try < 3 && strings.Contains(tab.Text("main"), "That was very quick"); try++ {
			tab.Choose("#hw-files", file)
			time.Sleep(2100 * time.Millisecond) // faster submissions are considered automated
			tab.Follow(form + ".hw-main-button")
		}
		c.expect("the thanks", tab.Text("main"), fmt.Sprintf("Thank you. We will reply to ada-%t@example.org.", scripts))
		c.arrived(about, fmt.Sprintf("ada-%t@example.org", scripts))
	})
}

// arrived looks for a message in the help desk.
func (c *helpCentre) arrived(subject, from string) {
	c.t.Helper()
	type conversation struct {
		ID            int64
		Subject       string
		Status        string
		CustomerEmail struct{ Email string } `json:"customer_email"`
		MailboxID     int64                  `json:"mailbox_id"`
		Fields        struct {
			Text        string   `json:"q_text"`
			Number      float64  `json:"q_number"`
			Boolean     bool     `json:"q_boolean"`
			Date        string   `json:"q_date"`
			Datetime    string   `json:"q_datetime"`
			Select      string   `json:"q_select"`
			Multiselect []string `json:"q_multiselect"`
			URL         string   `json:"q_url"`
		}
	}
	var found object[conversation]
	for _, o := range c.conversations() {
		if o.Subject == subject {
			if found.Data.ID != 0 {
				c.t.Errorf("%s: there are two conversations", subject)
			}
			c.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", o.ID), nil, &found)
		}
	}
	want := conversation{found.Data.ID, subject, "posted", struct{ Email string }{from}, 1, found.Data.Fields}
	want.Fields.Text, want.Fields.Number, want.Fields.Boolean, want.Fields.Date = "H1-123456", 12.5, true, "2026-01-31"
	want.Fields.Datetime, want.Fields.Select, want.Fields.Multiselect, want.Fields.URL = "2026-01-31T10:30:00Z", "halden_duo", []string{"halden_one", "halden_duo"}, "https://example.com/x"
	if diff := cmp.Diff(want, found.Data); diff != "" || found.Data.ID == 0 {
		c.t.Fatalf("the conversation: %s", diff)
	}
	messages := c.interactions(found.Data.ID)
	if len(messages) != 1 || messages[0].attachments(&c.process, found.Data.ID) != 1 {
		c.t.Fatalf("%d messages, or not one file", len(messages))
	}
	c.expect("the message", messages[0].Body, "What now? &lt;b&gt;Help!&lt;/b&gt;")
}

// feedback leaves a comment on an article.
func (c *helpCentre) feedback() {
	c.eachWay(func(c *helpCentre, tab *browser.Tab, scripts bool) {
		press := tab.Click
		if !scripts {
			press = func(selector string) { tab.Follow(selector) }
		}
		tab.Open(c.in("en", "Water under the machine"))
		press(".hw-helpful [value=negative]")
		tab.Wait("#hw-feedback")
		said := fmt.Sprintf("A picture, scripts %t.", scripts)
		tab.Fill("#hw-feedback", said)
		press(".hw-missing button")
		tab.Wait(".hw-helpful [role=status]")
		c.expect("the thanks", tab.Text(".hw-helpful"), "Thank you.")
		c.expect("the page", tab.Text("h1"), "Water under the machine")
		tab.Open(c.in("en", "Error codes"))
		press(".hw-helpful [value=positive]")
		tab.Wait(".hw-helpful [role=status]")
		n := 0
		for _, f := range all[struct{ Feedback string }](&c.process, "/sites/1/article-feedbacks") {
			if f.Feedback == said {
				n++
			}
		}
		if n != 1 {
			c.t.Errorf("%q is there %d times", said, n)
		}
	})
}

// privateSite is read by members alone.
func (c *helpCentre) privateSite() {
	c.eachWay(func(c *helpCentre, tab *browser.Tab, _ bool) {
		if status := tab.Open(c.team + "/en/search?query=boots"); status != http.StatusForbidden {
			c.t.Errorf("a stranger: status %d", status)
		}
		for _, pair := range [][2]string{{c.email, "wrong"}, {"nobody@example.org", c.password}} {
			tab.Fill("#hw-email", pair[0])
			tab.Fill("#hw-password", pair[1])
			tab.Follow(".hw-door button")
			c.expect("a wrong pair", tab.Text(".hw-problems"), "The email address or password is incorrect.")
		}
		tab.Fill("#hw-email", c.email)
		tab.Fill("#hw-password", c.password)
		if status := tab.Follow(".hw-door button"); status != http.StatusOK {
			c.t.Errorf("a member: status %d", status)
		}
		c.expect("what was asked for", tab.Location(), "/team/en/search")
		tab.Open(c.team + "/en")
		c.expect("the home page", tab.Text("h1"), "How can we help?")
		tab.Follow(".hw-footer [data-hw-sign-out] button")
		if status := tab.Open(c.team + "/en"); status != http.StatusForbidden {
			c.t.Errorf("who has signed out: status %d", status)
		}
	})
}

// brokenTheme is shown to members; readers see the built-in theme.
func (c *helpCentre) brokenTheme() {
	tab := c.Tab(c.t, browser.View{})
	if status := tab.Open(c.broken + "/en"); status != http.StatusOK {
		c.t.Errorf("a reader: status %d", status)
	}
	c.expect("what readers see", tab.Text("h1"), "How can we help?")
	c.signIn(tab, c.broken)
	c.expect("what members see", tab.Text("h1"), "The theme is broken")
	for _, want := range []string{"templates/home.html", "line 2", "index out of range: 99"} {
		c.expect("what members see", tab.Text("main"), want)
	}
	c.Tab(c.t, browser.View{}).Open(c.broken + "/en") // of others still
	if got := c.call("GET", c.broken+"/en?"+url.Values{"x": {"1"}}.Encode(), nil, nil); got != http.StatusOK {
		c.t.Errorf("status %d", got)
	}
}
