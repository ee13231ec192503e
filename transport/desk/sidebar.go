package desk

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// sidebar is the navigation of an account.
type sidebar struct {
	Account  string
	Accounts []Link // others of the member
	Search   string // address of the search
	Query    string
	Groups   []navGroup
	Foot     []navItem
	User     person
	SignOut  string // "" if the application signs users out
	New      string // where a conversation is started; "" if not allowed
	Inbox    string
	Waiting  int
	Profile  string
	Bell     *bell  // nil if there is none
	Settings bool   // of the settings
	Back     string // from the settings to the inbox

	Away         bool   // the member
	Availability string // action of its change
	Here         string // the page to return to from it; "" for the first one
}

type navGroup struct {
	Title string
	Items []navItem
}

type navItem struct {
	ID, Text, URL, Icon, Key string
	Count                    int
	Strong, Bad, Active      bool
}

func sortByName(list []person) {
	slices.SortFunc(list, func(a, b person) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
}

// sidebar makes the navigation; nav is the item of the page shown.
func (v *visit) sidebar(nav string) (*sidebar, error) {
	counts, err := v.counts()
	if err != nil {
		return nil, err
	}
	s := &sidebar{Account: v.account.Name, User: v.person(v.user), Profile: v.at("/settings/profile"), Search: v.at("/search"), Inbox: v.at("/inbox/unassigned"), Waiting: int(counts.Unassigned)}
	if nav == "inbox/search" { // other pages search something else
		s.Query = v.r.URL.Query().Get("q")
	}
	own, err := v.ownAvailability()
	if err != nil {
		return nil, err
	}
	s.Away, s.Availability = own.Availability.ForceOffline, v.at("/availability")
	if v.r.Method == http.MethodGet {
		s.Here = v.h.url(v.r.URL.RequestURI())
	}
	s.User.Online = !s.Away
	if v.h.cfg.Authenticate == nil {
		s.SignOut = v.h.url("/sign-out")
	}
	if v.may(identity.ConversationsCreate) {
		s.New = v.at("/new")
	}
	if v.may(identity.ConversationsView) {
		work, err := v.workNav(counts)
		if err != nil {
			return nil, err
		}
		s.Groups = append(s.Groups, work)
		mailboxes, err := v.mailboxNav(counts)
		if err != nil {
			return nil, err
		}
		teams, err := v.teamNav(counts)
		if err != nil {
			return nil, err
		}
		views, err := v.viewNav(counts)
		if err != nil {
			return nil, err
		}
		s.Groups = append(s.Groups, teams, mailboxes, views, v.troubleNav(counts))
	}
	if v.may(identity.CustomersView) {
		s.Foot = append(s.Foot, navItem{ID: "customers", Text: v.words.T("Customers"), Icon: "users", URL: v.at("/customers"), Key: "u"})
	}
	if v.may(identity.CompaniesView) {
		s.Foot = append(s.Foot, navItem{ID: "companies", Text: v.words.T("Companies"), Icon: "building", URL: v.at("/companies")})
	}
	if v.seesHelp() {
		s.Foot = append(s.Foot, navItem{ID: "help", Text: v.words.T("Help centre"), Icon: "book", URL: v.at("/help"), Key: "k"})
	}
	if v.may(identity.ReportsView) {
		s.Foot = append(s.Foot, navItem{ID: "reports", Text: v.words.T("Reports"), Icon: "chart", URL: v.at("/reports"), Key: "r"})
	}
	if v.seesHealth() {
		s.Foot = append(s.Foot, navItem{ID: "health", Text: v.words.T("Health"), Icon: "activity", URL: v.at("/health"), Key: "h"})
	}
	s.Foot = append(s.Foot, navItem{ID: "settings", Text: v.words.T("Settings"), Icon: "settings", URL: v.at("/settings"), Key: "s"})
	for _, l := range v.h.cfg.Links {
		if icons[l.Icon] == "" {
			l.Icon = "link"
		}
		s.Foot = append(s.Foot, navItem{Text: l.Text, Icon: l.Icon, URL: l.URL})
	}
	if v.h.cfg.HelpCentre != "" && !v.seesHelp() {
		s.Foot = append(s.Foot, navItem{Text: v.words.T("Help centre"), Icon: "book", URL: v.h.cfg.HelpCentre})
	}
	s.mark(nav)
	if s.Bell, err = v.bell(nav); err != nil {
		return nil, err
	}
	s.Accounts, err = v.otherAccounts()
	return s, err
}

// mark marks the item of a page, and drops groups without items.
func (s *sidebar) mark(nav string) {
	s.Groups = slices.DeleteFunc(s.Groups, func(g navGroup) bool { return len(g.Items) == 0 })
	for _, g := range s.Groups {
		for i := range g.Items {
			g.Items[i].Active = nav != "" && g.Items[i].ID == nav
		}
	}
	for i := range s.Foot {
		s.Foot[i].Active = nav != "" && s.Foot[i].ID == nav
	}
}

func (v *visit) inboxItem(view, text, icon string, n int) navItem {
	return navItem{ID: "inbox/" + view, Text: text, URL: v.at("/inbox/" + view), Icon: icon, Count: n}
}

// workNav returns the lists that every member has.
func (v *visit) workNav(counts helpdesk.Counts) (navGroup, error) {
	unassigned := v.inboxItem("unassigned", v.words.T("Unassigned"), "inbox", int(counts.Unassigned))
	unassigned.Strong, unassigned.Key = counts.Unassigned > 0, "i"
	mine := v.inboxItem("mine", v.words.T("Mine"), "user", int(counts.Mine))
	mine.Key = "m"
	all := v.inboxItem("all", v.words.T("All open"), "list", int(counts.Open))
	all.Key = "a"
	drafts := v.inboxItem("drafts", v.words.T("Drafts"), "pencil", int(counts.Drafts))
	snoozed := v.inboxItem("snoozed", v.words.T("Snoozed"), "snooze", int(counts.Snoozed))
	closed := v.inboxItem("closed", v.words.T("Closed"), "check", 0)
	spam := v.inboxItem("spam", v.words.T("Spam"), "ban", int(counts.Spam))
	g := navGroup{Items: []navItem{unassigned, mine, drafts, snoozed, all, closed, spam}}
	if !v.may(identity.SLAsView) {
		return g, nil
	}
	slas, err := v.allSLAs()
	if len(slas) > 0 {
		g.Items = slices.Insert(g.Items, 2, v.inboxItem("due", v.words.T("Due"), "clock", 0))
	}
	return g, err
}

func (v *visit) mailboxNav(counts helpdesk.Counts) (navGroup, error) {
	g := navGroup{Title: v.words.T("Mailboxes")}
	if !v.may(identity.MailboxesView) {
		return g, nil
	}
	boxes, err := v.mailboxes()
	for _, m := range boxes {
		g.Items = append(g.Items, v.inboxItem(fmt.Sprintf("mailbox-%d", m.ID), m.Name, "mail", int(ofMailbox(counts, m.ID).Open)))
	}
	return g, err
}

// mailboxes returns the mailboxes that the member sees, at most 100, without the state of fetching, whose changes are not
// events.
func (v *visit) mailboxes() ([]helpdesk.Mailbox, error) {
	if !v.may(identity.MailboxesView) {
		return nil, nil
	}
	return memoize(v.memo, &v.memo.boxes, v.readMailboxes)
}

func (v *visit) readMailboxes() ([]helpdesk.Mailbox, error) {
	page, err := v.Mailboxes().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	return page.Items, err
}

// viewNav returns the saved views, with the counts of those that are counted.
func (v *visit) viewNav(counts helpdesk.Counts) (navGroup, error) {
	g := navGroup{Title: v.words.T("Views")}
	if !v.may(identity.ViewsView) {
		return g, nil
	}
	views, err := v.views()
	numbers := map[int64]int64{}
	for _, c := range counts.Views {
		numbers[c.ViewID] = c.Conversations
	}
	for _, one := range views {
		g.Items = append(g.Items, v.inboxItem(fmt.Sprintf("view-%d", one.ID), one.Name, "star", int(numbers[one.ID])))
	}
	return g, err
}

// troubleNav returns items that need attention; usually none.
func (v *visit) troubleNav(counts helpdesk.Counts) navGroup {
	g := navGroup{Title: v.words.T("Needs attention")}
	if counts.Undelivered > 0 {
		failed := v.inboxItem("failed", v.words.T("Undelivered"), "alert", int(counts.Undelivered))
		failed.Bad = true
		g.Items = append(g.Items, failed)
	}
	if counts.Quarantined > 0 {
		g.Items = append(g.Items, navItem{ID: "quarantine", Text: v.words.T("Unreadable mail"), URL: v.at("/settings/ledger"), Icon: "shield", Count: int(counts.Quarantined)})
	}
	return g
}

// maxNav is the maximum number of mailboxes and views in the sidebar.
const maxNav = 50

func (v *visit) otherAccounts() ([]Link, error) {
	return memoize(v.memo, &v.memo.links, v.readAccounts)
}

func (v *visit) readAccounts() ([]Link, error) {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	page, err := admin.Accounts(v.ctx(), storage.PageRequest{Limit: maxNav})
	var links []Link
	for _, a := range page.Items {
		if a.ID != v.AccountID() {
			links = append(links, Link{Text: a.Name, URL: v.h.url(fmt.Sprintf("/a/%d/", a.ID))})
		}
	}
	return links, err
}

// views returns the saved views that the sidebar shows.
func (v *visit) views() ([]helpdesk.View, error) {
	if !v.may(identity.ViewsView) {
		return nil, nil
	}
	return memoize(v.memo, &v.memo.views, func() ([]helpdesk.View, error) {
		page, err := v.Views().List(v.ctx(), storage.PageRequest{Limit: maxNav})
		return page.Items, err
	})
}

// ofMailbox returns the counts of one mailbox.
func ofMailbox(c helpdesk.Counts, id int64) helpdesk.MailboxCounts {
	for _, m := range c.Mailboxes {
		if m.MailboxID == id {
			return m
		}
	}
	return helpdesk.MailboxCounts{}
}
