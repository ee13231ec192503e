package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskRatings makes a survey as a lead does, and rates an answer as a customer does.
func TestDeskRatings(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).deskRatings)
}

// deskRatings makes a survey, sends the links of it under a reply, follows one of them, and finds the rating in the desk.
func (a *agents) deskRatings(tab *browser.Tab, scripts bool) {
	name := "Faces " + strconv.FormatBool(scripts)
	check := newPageChecker(a.t)
	tab.Open(a.at + "/settings/surveys/new")
	tab.Fill("[name=name]", name)
	browser.Eval[any](tab, "document.querySelector('[name=scale][value=\"5\"]').checked = true")
	browser.Eval[any](tab, "document.querySelector('[name=delay]').value = '-1'")
	tab.Click(`[name=do][value^="preview"]`)
	testenv.Eventually(a.t, "the preview has five faces", func() bool { return strings.Contains(seen(tab, ".mail-shown"), "Very good") })
	eachView(a.t, tab, check, "survey-new")
	tab.Look(browser.View{})
	tab.Click(".page .top .primary")
	testenv.Eventually(a.t, "the survey is made", func() bool { return strings.Contains(seen(tab, "#main .lines"), name) })
	a.expect("when it asks", seen(tab, "#main .lines"), "Only under replies")
	eachView(a.t, tab, check, "surveys")
	tab.Look(browser.View{})

	subject := "The tap drips " + strconv.FormatBool(scripts)
	id := a.fresh(subject)
	at := fmt.Sprintf("/accounts/1/conversations/%d", id)
	a.ok("POST", at+"/interactions", url.Values{"type": {"user"}, "status": {"posted"}, "body": {"<p>Close the valve, please.</p><p>{{rating}}</p>"}}, nil)
	link := a.ratingLink(subject)
	tab.Open(link)
	a.expect("the question", seen(tab, "main"), "How was our answer?")
	a.expect("what it is about", seen(tab, "main"), subject)
	eachView(a.t, tab, check, "rating")
	tab.Look(browser.View{})
	var ratings object[[]struct{ State, Verdict, Comment string }]
	a.ok("GET", at+"/ratings", nil, &ratings)
	if len(ratings.Data) != 1 || ratings.Data[0].State != "asked" {
		a.t.Fatalf("the link recorded %+v", ratings.Data)
	}
	browser.Eval[any](tab, "document.querySelector('[name=score][value=\"4\"]').checked = true")
	tab.Fill("[name=comment]", "That was quick.")
	tab.Click("main button")
	testenv.Eventually(a.t, "thanks", func() bool { return strings.Contains(seen(tab, "main"), "You chose “Good”.") })
	eachView(a.t, tab, check, "rating-thanks")
	tab.Look(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.expect("the rating", seen(tab, "#panel .ratings"), "Good (4 of 5)")
	a.expect("the comment", seen(tab, "#panel .ratings"), "That was quick.")
	eachView(a.t, tab, check, "rating-thread")
	tab.Look(browser.View{})
	check.valid()
}

// ratingLink waits for a mail with a subject and returns one of its links to a rating.
func (a *agents) ratingLink(subject string) string {
	a.t.Helper()
	link := regexp.MustCompile(`https?://[^"<>\s]+/rate/[a-z2-7]+`)
	var found string
	testenv.Eventually(a.t, "the mail has links", func() bool {
		mails, _ := filepath.Glob(filepath.Join(a.temp, "helpwright-demo-*", "outbox", "*.eml"))
		for _, name := range mails {
			raw, err := os.ReadFile(name)
			if err != nil {
				a.t.Fatal(err)
			}
			m, err := mail.Parse(raw, mail.Limits{})
			if err == nil && strings.Contains(m.Subject, subject) && found == "" {
				found = link.FindString(m.Text)
			}
		}
		return found != ""
	})
	return found
}
