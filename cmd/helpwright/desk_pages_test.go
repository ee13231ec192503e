package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
	"github.com/helpwright/helpwright/storage/storagetest/testenv/browser"
)

// agents are those of the demo, at work in a browser.
type agents struct {
	*demoProcess
	*browser.Browser
	at string // address of the account's pages
}

// TestDesk works in the desk as agents do. One server and one browser do for all.
func TestDesk(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "HELPWRIGHT_PUBLIC_RATE_LIMIT=0")
	a := &agents{demoProcess: d, Browser: browser.Start(t), at: "http://" + d.http + "/desk/a/1"}
	a.run("Pages", (*agents).eachPage)
	a.run("Answer", (*agents).answer)
	a.run("Draft", (*agents).draft)
	a.run("Reply", (*agents).reply)
	a.run("Crossing", (*agents).crossing)
	a.run("Bulk", (*agents).bulk)
	a.run("Keys", (*agents).keys)
	a.run("Live", (*agents).live)
	a.run("Search", (*agents).search)
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

// member is a window of the owner, who is signed in.
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
		{"conversation", fmt.Sprintf("/c/%d?in=all", waiting)}, {"conversation-closed", "/c/300?in=closed"}, {"conversation-note", fmt.Sprintf("/c/%d?in=all&write=note", waiting)},
		{"conversation-mail", fmt.Sprintf("/c/%d/i/%d", waiting, a.interactions(waiting)[0].ID)}, {"new", "/new"}, {"search", "/search?q=grinder"},
		{"customers", "/customers"}, {"customer", "/customers/3"}, {"missing", "/c/999999"}, {"snoozed", "/inbox/snoozed"}, {"failed", "/inbox/failed"},
		{"settings-mailboxes", "/settings/mailboxes"}, {"settings-mailbox", "/settings/mailboxes/1"}, {"settings-members", "/settings/members"},
		{"settings-roles", "/settings/roles"}, {"settings-tags", "/settings/tags"}, {"settings-replies", "/settings/replies"},
		{"settings-reply", "/settings/replies/new"}, {"settings-views", "/settings/views"}, {"settings-portal", "/settings/portal"}, {"settings-tokens", "/settings/tokens"}, {"settings-webhooks", "/settings/webhooks"},
		{"settings-profile", "/settings/profile"}, {"settings-audit", "/settings/audit"}, {"health", "/health"},
	}
}

// waiting is a conversation whose customer waits, the one who has waited longest.
func (a *agents) waiting() int64 {
	a.t.Helper()
	var page object[[]struct{ ID int64 }]
	a.ok("GET", "/accounts/1/conversations?awaiting=true&sort_by=customer_awaiting_reply_since&sort_order=asc&limit=1", nil, &page)
	if len(page.Data) == 0 {
		a.t.Fatal("nobody waits")
	}
	return page.Data[0].ID
}

// eachPage looks at every kind of page in every way. With HELPWRIGHT_TEST_SCREENS pictures of all are kept in the
// folder that it names.
func (a *agents) eachPage() {
	folder := os.Getenv(testenv.EnvScreens)
	check := newPageChecker(a.t)
	tab := a.Tab(a.t, browser.View{})
	tab.Open("http://" + a.http + "/desk/sign-in")
	check.accessible(tab, "sign-in", true)
	check.collect(tab, "sign-in")
	a.picture(tab, folder, "sign-in-light")
	a.signIn(tab)
	for i, v := range append(views, struct {
		name string
		browser.View
	}{"rtl", browser.View{}}) {
		tab.Look(v.View)
		for _, p := range a.pages() {
			tab.Open(a.at + p.path)
			if v.name == "rtl" {
				browser.Eval[any](tab, "document.documentElement.dir = 'rtl'")
			}
			check.accessible(tab, p.name+", "+v.name, v.Dark == v.Phone)
			if wide := browser.Eval[int](tab, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				a.t.Errorf("%s, %s: wider than the window by %d px", p.name, v.name, wide)
			}
			if i == 0 {
				check.collect(tab, p.name)
			}
			a.picture(tab, folder, p.name+"-"+v.name)
		}
	}
	check.valid()
	if folder != "" {
		tab.Look(browser.View{})
		tab.Open(a.at + "/c/300?in=closed")
		tab.Picture(filepath.Join(folder, "desk.png"), false) // the README's
	}
}

func (a *agents) picture(tab *browser.Tab, folder, name string) {
	if folder != "" {
		tab.Picture(filepath.Join(folder, "desk-"+name+".png"), false)
	}
}
