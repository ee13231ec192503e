package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// agents are those of the demo, at work in a browser.
type agents struct {
	*demoProcess
	*browser.Browser
	at string // address of the account's pages
}

// newAgents starts a demo and a browser. One of each does for all parts of a test.
func newAgents(t *testing.T) *agents {
	t.Helper()
	d := startDemo(t, "HELPWRIGHT_PUBLIC_RATE_LIMIT=0")
	return &agents{demoProcess: d, Browser: browser.Start(t), at: "http://" + d.http + "/desk/a/1"}
}

// TestDesk checks the pages of the desk.
func TestDesk(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.run("Pages", (*agents).eachPage)
	a.run("Doors", (*agents).doors)
	a.run("SecondFactor", (*agents).secondFactor)
}

// TestDeskWork works in the desk as agents do.
func TestDeskWork(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.run("Answer", (*agents).answer)
	a.run("Draft", (*agents).draft)
	a.run("Kinds", (*agents).kinds)
	a.run("Forward", (*agents).forward)
	a.run("Undiscard", (*agents).undiscard)
	a.run("Beside", (*agents).beside)
	a.run("Merging", (*agents).merging)
	a.run("After", (*agents).after)
	a.run("Reply", (*agents).reply)
	a.run("ReplyAll", (*agents).replyAll)
	a.run("Suggest", (*agents).suggest)
	a.run("NewDraft", (*agents).newDraft)
	a.run("Crossing", (*agents).crossing)
	a.run("Bulk", (*agents).bulk)
	a.run("Fields", (*agents).fields)
	a.run("Profile", (*agents).profile)
	a.run("Placeholders", (*agents).placeholders)
	a.run("Conditions", (*agents).conditions)
	a.run("Keys", (*agents).keys)
	a.run("Shortcuts", (*agents).shortcuts)
	a.run("Pickers", (*agents).pickers)
	a.run("Live", (*agents).live)
	a.run("Behind", (*agents).behind)
	a.run("Bell", (*agents).bell)
	a.run("Search", (*agents).search)
	a.run("Outage", (*agents).outage)
	a.run("Late", (*agents).late)
	a.run("Upload", (*agents).upload)
	a.run("Progress", (*agents).progress)
	a.run("Refused", (*agents).refused)
	a.run("RefusedElsewhere", (*agents).refusedElsewhere)
	a.run("Panel", (*agents).panel)
	a.run("Thumb", (*agents).thumb)
	a.run("Reasons", (*agents).reasons)
	a.run("Drawer", (*agents).drawer)
	a.run("Press", (*agents).press)
	a.run("Icons", (*agents).icons)
	a.run("Enter", (*agents).enter)
	a.run("Quick", (*agents).quick)
	a.run("Notes", (*agents).notes) // Jonas may write nothing else from then on
}

// run runs a part of the test as one of its own.
func (a *agents) run(name string, part func(a *agents)) {
	a.t.Helper()
	a.t.Run(name, func(t *testing.T) {
		own, process := *a, *a.demoProcess
		own.demoProcess, process.t = &process, t
		part(&own)
	})
}

// eachWay runs a part with scripts and without: everything works in both ways.
func (a *agents) eachWay(part func(a *agents, tab *browser.Tab, scripts bool)) {
	a.t.Helper()
	a.run("Scripts", func(a *agents) { part(a, a.member(browser.View{}), true) })
	a.run("NoScripts", func(a *agents) { part(a, a.member(browser.View{NoScript: true}), false) })
}

// member returns a window in which the owner is signed in.
func (a *agents) member(v browser.View) *browser.Tab {
	a.t.Helper()
	tab := a.Tab(a.t, v)
	a.signIn(tab)
	return tab
}

func (a *agents) signIn(tab *browser.Tab) {
	a.t.Helper()
	tab.Open(a.at + "/inbox/all")
	if at := tab.Location(); !strings.Contains(at, "/desk/sign-in") {
		a.t.Errorf("who has not signed in is at %s", at)
	}
	tab.Fill("[name=email]", a.email)
	tab.Fill("[name=password]", a.password)
	if status := tab.Follow(".door .primary"); status != http.StatusOK {
		a.t.Errorf("signed in, with status %d", status)
	}
	if at := tab.Location(); !strings.HasSuffix(at, "/inbox/all") {
		a.t.Errorf("signed in, at %s", at)
	}
}

// deskPage is a kind of page, and how to get there.
type deskPage struct{ name, path string }

func (a *agents) pages() []deskPage {
	waiting := a.waiting()
	return []deskPage{
		{"inbox", "/inbox/all"}, {"inbox-unassigned", "/inbox/unassigned"}, {"inbox-closed", "/inbox/closed"}, {"inbox-empty", "/inbox/all?tag=1&status=pending&user=none"},
		{"conversation", fmt.Sprintf("/c/%d?in=all", waiting)}, {"conversation-closed", "/c/300?in=closed"}, {"conversation-history", fmt.Sprintf("/c/%d", withHistory)}, {"conversation-note", fmt.Sprintf("/c/%d?in=all&write=note", waiting)},
		{"conversation-mail", fmt.Sprintf("/c/%d/i/%d", waiting, a.interactions(waiting)[0].ID)}, {"new", "/new"}, {"search", "/search?q=grinder"}, {"search-corrected", "/search?q=grindr+after%3A365d"}, {"search-none", "/search?q=zebra+is%3Aopen"},
		{"customers", "/customers"}, {"customer", "/customers/3"}, {"missing", "/c/999999"}, {"snoozed", "/inbox/snoozed"}, {"failed", "/inbox/failed"}, {"spam", "/inbox/spam"}, {"settings-blocked", "/settings/blocked"},
		{"settings-mailboxes", "/settings/mailboxes"}, {"settings-mailbox", "/settings/mailboxes/1"}, {"settings-members", "/settings/members"}, {"settings-teams", "/settings/teams"}, {"settings-team", "/settings/teams/1"}, {"inbox-team", "/inbox/team-1"},
		{"settings-hours", "/settings/hours"}, {"settings-calendar", "/settings/hours/1"}, {"settings-auto-replies", "/settings/auto-replies"}, {"settings-auto-reply", "/settings/auto-replies/1"},
		{"settings-slas", "/settings/slas"}, {"settings-sla", "/settings/slas/1"}, {"settings-sla-new", "/settings/slas/new"},
		{"settings-retention", "/settings/retention"}, {"settings-retention-policy", "/settings/retention/1"}, {"settings-retention-new", "/settings/retention/new"},
		{"settings-surveys", "/settings/surveys"}, {"settings-survey", "/settings/surveys/1"}, {"settings-survey-new", "/settings/surveys/new"},
		{"settings-rules", "/settings/rules"}, {"settings-rule", "/settings/rules/2"}, {"settings-rule-new", "/settings/rules/new?template=urgent"},
		{"settings-roles", "/settings/roles"}, {"settings-tags", "/settings/tags"}, {"settings-fields", "/settings/fields"}, {"settings-field", "/settings/fields/1"}, {"settings-field-new", "/settings/fields/new"}, {"inbox-columns", "/inbox/view-2"}, {"settings-replies", "/settings/replies"},
		{"settings-reply", "/settings/replies/new"}, {"settings-views", "/settings/views"}, {"settings-view", "/settings/views/1"}, {"settings-portal", "/settings/portal"}, {"settings-tokens", "/settings/tokens"}, {"settings-webhooks", "/settings/webhooks"},
		{"settings-profile", "/settings/profile"}, {"settings-suppressions", "/settings/suppressions"}, {"settings-audit", "/settings/audit"},
		{"settings-import-run", "/settings/import"}, {"settings-export", "/settings/export"},
		{"settings-domains", "/settings/domains"}, {"settings-ledger", "/settings/ledger"}, {"settings-member", "/settings/members/1"}, {"settings-role", "/settings/roles/3"},
		{"conversation-source", fmt.Sprintf("/c/%d/i/%d/source", waiting, a.interactions(waiting)[0].ID)}, {"customer-merge", "/customers/3/merge"}, {"customer-erase", "/customers/3/erase"}, {"help-collection", "/help/1/collections/1"}, {"help-new", "/help/1/new"},
		{"health", "/health"},
		{"notifications", "/notifications"}, {"notifications-unread", "/notifications?unread=1"}, {"settings-notifications", "/settings/notifications"},
		{"help", "/help/1"}, {"help-article", "/help/1/a/1"}, {"help-translation", "/help/1/a/1?to=de"}, {"help-translation-rtl", "/help/1/a/1?to=ar"}, {"help-plain", "/help/1/a/1?to=de&plain=1"},
		{"forgot", "/../../forgot"}, {"setup-team", "/setup/team"}, {"setup-mailbox", "/setup/mailbox"}, {"setup-colleagues", "/setup/colleagues"},
		{"help-history", "/help/1/a/1/history"}, {"help-revision", "/help/1/a/1/history/1"}, {"help-files", "/help/1/files"}, {"help-look", "/help/1/look"}, {"help-search", "/help/1/search"},
		{"help-searches", "/help/1/feedback/searches"}, {"help-searches-all", "/help/1/feedback/searches?show=all"}, {"help-readers", "/help/1/feedback/articles"}, {"reports-help-centre", "/reports/help-centre"},
	}
}

// waiting returns the conversation that has waited longest.
func (a *agents) waiting() int64 {
	a.t.Helper()
	var page object[[]struct{ ID int64 }]
	a.ok("GET", "/accounts/1/conversations?awaiting=true&sort_by=customer_awaiting_reply_since&sort_order=asc&limit=1", nil, &page)
	if len(page.Data) == 0 {
		a.t.Fatal("nobody waits")
	}
	return page.Data[0].ID
}

// makeTeam makes a team, with whom has signed in, and assigns to it the conversation that the pages show.
func (a *agents) makeTeam(tab *browser.Tab) {
	a.t.Helper()
	tab.Open(a.at + "/settings/teams")
	tab.Fill("[name=name]", "Repairs & returns")
	tab.Click(".part .primary")
	testenv.Eventually(a.t, "the team is made", func() bool { return strings.Contains(seen(tab, "#main .top h1"), "Repairs") })
	tab.Open(fmt.Sprintf("%s/c/%d?in=all", a.at, a.waiting()))
	tab.Click("#acts [data-key=a]")
	tab.Click("#acts [name=team]")
	testenv.Eventually(a.t, "the conversation is the team's", func() bool { return strings.Contains(seen(tab, "#acts"), "Repairs") })
}

// withHistory is a conversation to which much happens.
const withHistory = 200

// makeHistory changes a conversation often.
func (a *agents) makeHistory() {
	a.t.Helper()
	at := fmt.Sprintf("/accounts/1/conversations/%d", withHistory)
	for _, form := range []url.Values{
		{"subject": {"The pump hums"}, "user_id": {"1"}}, {"subject": {"The pump hums"}, "priority": {"urgent"}, "status": {"posted"}},
		{"subject": {"The pump of my machine hums"}, "user_id": {""}}, {"subject": {"The pump of my machine hums"}, "status": {"closed"}},
	} {
		a.ok("PUT", at, form, nil)
	}
	a.ok("POST", at+"/interactions", url.Values{"type": {"note"}, "body": {"It stopped."}}, nil)
	a.ok("PUT", at, url.Values{"subject": {"The pump of my machine hums"}, "status": {"pending"}}, nil)
}

// makeImport has an export of Zendesk checked, with which the page of imports leads to that import.
func (a *agents) makeImport(tab *browser.Tab) {
	a.t.Helper()
	tab.Open(a.at + "/settings/import")
	tab.Choose("[name=file]", zipFolder(a.t, "../../helpdesk/movein/zendesk/testdata/export"))
	tab.Click(".page .primary")
	testenv.Eventually(a.t, "the import is checked", func() bool { return strings.Contains(seen(tab, "#errand"), "Check finished") })
	if at := tab.Location(); !strings.Contains(at, "/settings/import/") {
		a.t.Errorf("the import is at %s", at)
	}
}

// eachPage checks every kind of page in every view. With HELPWRIGHT_TEST_SCREENS it saves pictures of all in that folder.
func (a *agents) eachPage() {
	folder := os.Getenv(testenv.EnvScreens)
	check := newPageChecker(a.t)
	tab := a.Tab(a.t, browser.View{})
	tab.Open("http://" + a.http + "/desk/sign-in")
	check.accessible(tab, "sign-in", allRules)
	check.collect(tab, "sign-in")
	picture(a.t, tab, folder, "sign-in-light")
	a.signIn(tab)
	a.makeTeam(tab)
	a.makeImport(tab)
	a.makeHistory()
	for _, p := range a.pages() {
		for i, v := range views {
			tab.Look(v.View)
			if i == 0 || v.Phone != views[i-1].Phone {
				tab.Open(a.at + p.path)
			}
			if i == 0 {
				check.collect(tab, p.name)
			}
			look(a.t, tab, check, p.name+"-"+v.name, rulesOf(v.View))
			if v.Dark && !v.Phone {
				tab.Look(browser.View{})
				browser.Eval[any](tab, "document.documentElement.dir = 'rtl'")
				look(a.t, tab, check, p.name+"-rtl", sizeRules)
			}
		}
	}
	check.valid()
	if folder != "" {
		tab.Look(browser.View{})
		tab.Open(a.at + "/c/300?in=closed")
		tab.Picture(filepath.Join(folder, "desk.png"), false) // the README's
	}
}

// doors visits the pages before sign-in: an invitation, a forgotten password, the mailed link, and an expired one.
func (a *agents) doors() {
	check := newPageChecker(a.t)
	tab := a.Tab(a.t, browser.View{})
	home := "http://" + a.http + "/desk"
	tab.Open(home + "/forgot")
	tab.Fill("[name=email]", a.email)
	if status := tab.Follow(".door .primary"); status != http.StatusOK {
		a.t.Errorf("asked for a link, with status %d", status)
	}
	eachView(a.t, tab, check, "forgot-sent")
	link := ""
	testenv.Eventually(a.t, "the link is mailed", func() bool {
		mails, _ := filepath.Glob(filepath.Join(a.temp, "helpwright-demo-*", "outbox", "*.eml"))
		for _, name := range mails {
			raw, _ := os.ReadFile(name)
			if token := regexp.MustCompile(`hwr_[A-Z2-7]+`).Find(bytes.ReplaceAll(raw, []byte("=\r\n"), nil)); token != nil {
				link = "/reset?token=" + string(token)
			}
		}
		return link != ""
	})
	var made object[struct{ Token string }]
	a.ok("POST", "/accounts/1/invitations", url.Values{"email": {"lise@example.org"}, "name": {"Lise"}, "roles[]": {"3"}}, &made)
	for name, path := range map[string]string{
		"reset": link, "reset-over": "/reset?token=x", "invitation": "/invitations/" + made.Data.Token,
	} {
		tab.Open(home + path)
		eachView(a.t, tab, check, name)
	}
	check.valid()
}

// secondFactor has a new member set up a second factor, and sign in with it.
func (a *agents) secondFactor() {
	const password = "correct horse battery"
	var invited object[struct{ Token string }]
	a.ok("POST", "/accounts/1/invitations", url.Values{"email": {"factor@example.org"}, "name": {"Lise Meitner"}, "roles[]": {"3"}}, &invited)
	check := newPageChecker(a.t)
	tab := a.Tab(a.t, browser.View{})
	home := "http://" + a.http + "/desk"
	tab.Open(home + "/invitations/" + invited.Data.Token)
	tab.Fill("[name=password]", password)
	tab.Follow(".door .primary")
	tab = a.Tab(a.t, browser.View{})
	signIn := func() {
		tab.Open(home + "/sign-in?next=/desk/second-factor")
		tab.Fill("[name=email]", "factor@example.org")
		tab.Fill("[name=password]", password)
		tab.Follow(".door .primary")
	}
	signIn()
	eachView(a.t, tab, check, "factor-none")
	tab.Fill("[name=current_password]", password)
	tab.Follow(".door .primary")
	eachView(a.t, tab, check, "factor-begun")
	secret := strings.ReplaceAll(tab.Text(".key code"), " ", "")
	tab.Fill("[name=code]", "123")
	if status := tab.Follow(".door .primary"); status != http.StatusUnprocessableEntity {
		a.t.Errorf("a wrong code, with status %d", status)
	}
	eachView(a.t, tab, check, "factor-wrong")
	tab.Fill("[name=code]", testenv.AppCode(secret, time.Now()))
	tab.Follow(".door .primary")
	eachView(a.t, tab, check, "factor-codes")
	recovery, another := tab.Text(".codes li:first-child code"), tab.Text(".codes li:last-child code")
	tab.Open(home + "/second-factor")
	eachView(a.t, tab, check, "factor-on")
	tab = a.Tab(a.t, browser.View{}) // not signed in
	signIn()
	eachView(a.t, tab, check, "sign-in-code")
	tab.Fill("[name=code]", recovery)
	tab.Follow(".door .primary")
	if at := tab.Location(); !strings.HasSuffix(at, "/desk/second-factor") {
		a.t.Errorf("signed in with a code for recovery, at %s", at)
	}
	var members object[[]struct{ ID int64 }]
	a.ok("GET", "/accounts/1/memberships?limit=100", nil, &members)
	owner := a.member(browser.View{})
	owner.Open(fmt.Sprintf("%s/settings/members/%d", a.at, members.Data[len(members.Data)-1].ID))
	eachView(a.t, owner, check, "settings-member-factor")
	a.readPrivately(check, "factor@example.org", password, another)
	check.valid()
}

// readPrivately has a member with a second factor sign in to a private help centre, with a wrong code first.
func (a *agents) readPrivately(check *pageChecker, email, password, code string) {
	var made object[struct{ URL string }]
	a.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Roastery"}, "visibility": {"private"}, "path": {"team"}}, &made)
	site := made.Data.URL
	tab := a.Tab(a.t, browser.View{})
	tab.Open(site + "/en")
	tab.Fill("[name=email]", email)
	tab.Fill("[name=password]", password)
	tab.Follow(".hw-door button")
	eachView(a.t, tab, check, "reader-code")
	tab.Fill("[name=code]", "000000")
	tab.Follow(".hw-door button")
	eachView(a.t, tab, check, "reader-code-wrong")
	tab.Fill("[name=code]", code)
	if status := tab.Follow(".hw-door button"); status != http.StatusOK || tab.Location() != site+"/en" {
		a.t.Errorf("signed in to read, with status %d, at %s", status, tab.Location())
	}
}

// eachView checks the current page in every view.
func eachView(t *testing.T, tab *browser.Tab, check *pageChecker, name string) {
	t.Helper()
	check.collect(tab, name)
	for _, v := range views {
		tab.Look(v.View)
		look(t, tab, check, name+"-"+v.name, rulesOf(v.View))
	}
	tab.Look(browser.View{})
	browser.Eval[any](tab, "document.documentElement.dir = 'rtl'")
	look(t, tab, check, name+"-rtl", sizeRules)
}

// look checks a page that is shown.
func look(t *testing.T, tab *browser.Tab, check *pageChecker, name string, which axeRules) {
	t.Helper()
	check.accessible(tab, name, which)
	if wide := browser.Eval[int](tab, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("%s: wider than the window by %d px", name, wide)
	}
	const tall = "document.body.dataset.prefix && !document.body.matches('.bare') ? document.documentElement.scrollHeight - innerHeight : 0"
	if beyond := browser.Eval[int](tab, tall); beyond > 0 { // a page of the desk scrolls within itself
		t.Errorf("%s: taller than the window by %d px", name, beyond)
	}
	picture(t, tab, os.Getenv(testenv.EnvScreens), name)
}

func picture(t *testing.T, tab *browser.Tab, folder, name string) {
	if folder != "" {
		tab.Picture(filepath.Join(folder, "desk-"+name+".png"), false)
	}
}
