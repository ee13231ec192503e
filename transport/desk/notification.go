package desk

import (
	"cmp"
	"net/url"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// bell links to the member's notifications.
type bell struct {
	URL, Browser string // address of the list, and of browser notifications
	Label        string // with the number of unread ones
	Unread       string // that number; "" if all are read
	Active       bool
	Push         string // address for devices; "" if they are not told
}

// bell counts the unread notifications. A member who sees no conversations has none.
func (v *visit) bell(nav string) (*bell, error) {
	if !v.may(identity.ConversationsView) {
		return nil, nil //nolint:nilnil // it is not shown
	}
	n, err := v.unread()
	b := &bell{URL: v.at("/notifications"), Browser: v.at("/notifications/browser"), Label: v.words.T("Notifications"), Active: nav == "bell", Push: v.pushURL()}
	if n > 0 {
		b.Unread = itoa(int64(n))
		if n >= helpdesk.MaxNotificationsCount {
			b.Unread = itoa(helpdesk.MaxNotificationsCount-1) + "+"
		}
		b.Label = v.words.T("Notifications, %s unread", b.Unread)
	}
	return b, err
}

// notice is a notification as the list shows it.
type notice struct {
	ID       int64
	Icon     string
	Bad      bool
	Person   *person // who caused it; nil for a customer or the system
	What     string
	Subject  string
	Customer string
	When     string
	Full     string
	Unread   bool
	Open     string // marks it as read and opens its subject
	About    string // address of the conversation; "" for none
	Team     bool   // the conversation is assigned to the team, not to the member
}

type noticesView struct {
	Rows          []notice
	Brief         []notice // the first ones, for the panel of the bell
	Next          string
	OnlyUnread    bool
	AnyUnread     bool
	UpTo          int64 // the newest one shown
	All, Unread   string
	First, Read   string
	Here, Choices string
}

// briefNotices is the number of notifications in the panel of the bell.
const briefNotices = 8

// notifications lists the member's notifications.
func (v *visit) notifications() error {
	q := v.r.URL.Query()
	at := v.at("/notifications")
	view := noticesView{
		OnlyUnread: q.Get("unread") != "", All: at, Unread: at + "?unread=1", Read: v.at("/notifications/read"), Choices: v.at("/settings/notifications"),
		Here: v.h.url(v.r.URL.RequestURI()),
	}
	view.First = view.All
	if view.OnlyUnread {
		view.First = view.Unread
	}
	page, err := v.Notifications().List(v.ctx(), view.OnlyUnread, storage.PageRequest{Limit: pageSize, Cursor: q.Get("after")})
	if err != nil {
		return err
	}
	if view.Rows, err = v.notices(page.Items); err != nil {
		return err
	}
	for _, n := range view.Rows {
		view.AnyUnread = view.AnyUnread || n.Unread
		view.UpTo = max(view.UpTo, n.ID)
	}
	view.Brief = view.Rows[:min(briefNotices, len(view.Rows))]
	if page.Next != "" {
		more := url.Values{"after": {page.Next}}
		if view.OnlyUnread {
			more.Set("unread", "1")
		}
		view.Next = at + "?" + more.Encode()
	}
	return v.show(screen{
		template: "notifications", title: v.words.T("Notifications"), data: view, nav: "bell",
		parts: map[string]string{"list": "notice-list", "more": "notice-rows", "notices": "notices"},
	})
}

// notices converts notifications, with a fixed number of queries for all.
func (v *visit) notices(list []helpdesk.Notification) ([]notice, error) {
	var ids, actors, boxes []int64
	for _, n := range list {
		ids, actors, boxes = append(ids, n.ConversationID), append(actors, n.ActorID), append(boxes, n.MailboxID)
	}
	conversations, err := v.conversationsOf(ids)
	if err != nil {
		return nil, err
	}
	var customers []int64
	for _, c := range conversations {
		customers = append(customers, c.CustomerID)
	}
	customerNames, err := v.customerNames(customers)
	if err != nil {
		return nil, err
	}
	people, err := v.people(actors)
	if err != nil {
		return nil, err
	}
	boxNames, err := v.boxNames(boxes)
	rows := make([]notice, len(list))
	for i, n := range list {
		row := notice{ID: n.ID, When: v.when(n.CreatedAt), Full: v.full(n.CreatedAt), Unread: n.ReadAt.IsZero(), Open: v.at("/notifications/" + itoa(n.ID) + "/open")}
		if n.InteractionID != 0 {
			row.Open += "#m" + itoa(n.InteractionID)
		}
		if p, known := people[n.ActorID]; known {
			row.Person = &p
		}
		if c, known := conversations[n.ConversationID]; known {
			row.About, row.Team = v.at("/c/"+itoa(c.ID)), c.TeamID != 0 && c.UserID != v.UserID()
			row.Subject, row.Customer = cmp.Or(c.Subject, v.words.T("(no subject)")), cmp.Or(customerNames[c.CustomerID], c.CustomerEmail)
		}
		v.saysWhat(&row, n.Kind, boxNames[n.MailboxID])
		rows[i] = row
	}
	return rows, err
}

// saysWhat describes a notification.
func (v *visit) saysWhat(row *notice, kind helpdesk.NotificationKind, mailbox string) {
	w, who := v.words, ""
	if row.Person != nil {
		who = row.Person.Name
	}
	switch kind {
	case helpdesk.NotifyAssigned:
		row.Icon = "user"
		switch {
		case row.Team && who != "":
			row.What = w.T("%s assigned this to your team", who)
		case row.Team:
			row.What = w.T("This was assigned to your team")
		case who != "":
			row.What = w.T("%s assigned this to you", who)
		default:
			row.What = w.T("This was assigned to you")
		}
	case helpdesk.NotifyUnassigned:
		row.Icon, row.What = "inbox", w.T("New and unassigned")
	case helpdesk.NotifyReplied:
		row.Icon, row.What = "mail", w.T("Customer replied")
	case helpdesk.NotifyMentioned:
		row.Icon, row.What = "at", w.T("You were mentioned in a note")
		if who != "" {
			row.What = w.T("%s mentioned you in a note", who)
		}
	case helpdesk.NotifyRule:
		row.Icon, row.What = "bolt", w.T("A rule pointed this out to you")
		if who != "" { // with a macro
			row.What = w.T("%s pointed this out to you", who)
		}
	case helpdesk.NotifyFailed:
		row.Icon, row.Bad, row.What = "alert", true, w.T("A reply was not delivered")
	case helpdesk.NotifyMailbox:
		row.Icon, row.Bad, row.What = "alert", true, w.T("Mail for a mailbox is no longer being fetched")
		if mailbox != "" {
			row.What = w.T("Mail for %s is no longer being fetched", mailbox)
		}
	default:
		row.Icon, row.What = "bell", w.T("Something happened")
	}
}

func (v *visit) conversationsOf(ids []int64) (map[int64]helpdesk.Conversation, error) {
	all := map[int64]helpdesk.Conversation{}
	if ids = without(ids, 0); len(ids) == 0 {
		return all, nil
	}
	found, err := v.Conversations().ByID(v.ctx(), ids)
	for _, c := range found {
		all[c.ID] = c
	}
	return all, err
}

// boxNames returns the names of mailboxes that the member may see.
func (v *visit) boxNames(ids []int64) (map[int64]string, error) {
	names := map[int64]string{}
	if ids = without(ids, 0); len(ids) == 0 || !v.may(identity.MailboxesView) {
		return names, nil
	}
	found, err := v.Mailboxes().ByID(v.ctx(), ids)
	for _, m := range found {
		names[m.ID] = m.Name
	}
	return names, err
}

// openNotification marks a notification as read and redirects to its subject.
func (v *visit) openNotification() error {
	n, err := v.Notifications().MarkRead(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	switch {
	case n.ConversationID != 0 && n.InteractionID != 0:
		id := itoa(n.InteractionID)
		return v.see(v.at("/c/"+itoa(n.ConversationID)) + "?m=" + id + "#m" + id)
	case n.ConversationID != 0:
		return v.see(v.at("/c/" + itoa(n.ConversationID)))
	case n.MailboxID != 0 && v.may(identity.MailboxesView):
		return v.see(v.at("/settings/mailboxes/" + itoa(n.MailboxID)))
	}
	return v.see(v.at("/notifications"))
}

// readNotifications marks notifications as read, up to the newest one shown.
func (v *visit) readNotifications() error {
	upTo := v.field("up_to")
	if upTo != 0 {
		if err := v.Notifications().MarkAllRead(v.ctx(), 0, upTo); err != nil {
			return err
		}
	}
	return v.see(v.back(v.at("/notifications")))
}

// browserNotice is the content of a browser notification: the event and the subject, nothing of the mail's body.
type browserNotice struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
	Open  string `json:"open"`
	About string `json:"about"`
}

// browserNotifications sends the script the browser notifications to show.
func (v *visit) browserNotifications() error {
	found, err := v.Notifications().ForBrowser(v.ctx(), number(v.r.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	rows, err := v.notices(found)
	if err != nil {
		return err
	}
	list := make([]browserNotice, len(rows))
	for i, n := range rows {
		list[i] = browserNotice{ID: n.ID, Title: n.What, Text: n.Subject, Open: n.Open, About: n.About}
	}
	return v.json(list)
}
