package desk

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type conversationView struct {
	marks helpdesk.Marks
	all   []helpdesk.Interaction

	ID, Number      int64
	Subject         string
	Mailbox         string
	Status          helpdesk.Status
	StatusName      string
	Closed, Pending bool
	Wait, Level     string
	Asleep          string
	Naps            []nap
	Spam            *spamView // nil if it is not spam
	CanBlock        bool
	Priority        urgency
	Unusual         *urgency // the priority if it is not normal
	Priorities      []urgency
	Tags            []tagView
	AllTags         []tagView
	Assignee        *person
	Team            []person
	TeamName        string // its team, in addition to the assignee
	Teams           []Link
	Boxes           []Link

	Entries  []entry
	Hidden   int // number of earlier entries that are folded
	Whole    string
	Composer *composer
	Dropped  string      // how to undo that the member has discarded a draft here; "" if nothing was
	UndoURL  string      // where
	Others   []companion // others present at the conversation

	Followers []person
	Follows   bool // the member follows it
	Unread    bool // it has messages that the member has not read

	Customer *customerPanel
	Panel    *Panel

	In           string // name of the list from which the member came
	List         string // address of it
	ListTitle    string
	Place, Of    int // position in the list; 0 if not known
	Before, Next string
	Here, Self   string // addresses of this page, with and without the list
	Fields       *fieldsCard
	Due          *dueState // what is due next; nil: nothing
	Targets      []dueState
	SLA          Link // whose they are
	Ratings      []ratingShown

	Held, CanRelease     bool   // it is on hold, and the member may release it
	HoldReason, HoldFull string // why, and since when

	Me                                                int64
	CanUpdate, CanAssign, CanTag, CanDelete, CanMerge bool
	Seen                                              helpdesk.Seen // what the page shows
}

// conversation shows a conversation.
func (v *visit) conversation() error {
	c, err := v.Conversations().Get(v.ctx(), v.number("id"))
	var view *conversationView
	if err == nil {
		view, err = v.viewOf(c)
	}
	if fault.Is(err, fault.NotFound) { // it may be merged while its page is filled
		return v.mergedElsewhere(v.number("id"), err)
	}
	if err != nil {
		return err
	}
	return v.showConversation(view, 0)
}

func (v *visit) showConversation(view *conversationView, status int) error {
	kind, _, _ := strings.Cut(view.In, "?")
	return v.show(screen{
		template: "conversation", title: fmt.Sprintf("%s · #%d", view.Subject, view.Number), data: view, nav: "inbox/" + kind, status: status,
		parts: map[string]string{"head": "conversation-head", "acts": "conversation-acts", "thread": "thread", "composer": "composer", "panel": "customer-panel", "presence": "presence"},
	})
}

func (v *visit) viewOf(c helpdesk.Conversation) (*conversationView, error) {
	view := &conversationView{
		ID: c.ID, Number: c.Number, Subject: cmp.Or(c.Subject, v.words.T("(no subject)")), Status: c.Status, StatusName: statusName(v.words, c.Status),
		Closed: c.Status == helpdesk.StatusClosed, Pending: c.Status == helpdesk.StatusPending, Me: v.UserID(),
		Priority: urgencyOf(v.words, c.Priority), Unusual: unusual(v.words, c.Priority), Priorities: urgencies(v.words),
		Asleep: v.asleep(c), Naps: v.naps(), Self: v.at("/c/" + itoa(c.ID)), Here: v.h.url(v.r.URL.RequestURI()), In: v.r.URL.Query().Get("in"),
		CanUpdate: v.may(identity.ConversationsUpdate), CanAssign: v.may(identity.ConversationsAssign), CanDelete: v.may(identity.ConversationsDelete),
	}
	view.CanTag = view.CanUpdate && v.may(identity.TagsView)
	if !c.AwaitingSince.IsZero() && !view.Closed {
		waits := v.now.Sub(c.AwaitingSince)
		view.Wait, view.Level = v.words.waiting(waits), cmp.Or(level(waits), "warn")
	}
	marks, err := v.Conversations().Marks(v.ctx(), []int64{c.ID})
	if err != nil {
		return nil, err
	}
	view.marks = marks[c.ID]
	view.Unread = view.marks.Unread > 0
	view.Dropped, view.UndoURL = v.droppedHere(c.ID), v.at("/undo")
	for _, fill := range []func(helpdesk.Conversation, *conversationView) error{
		v.fillHead, v.fillThread, v.fillPlace, v.fillComposer, v.fillCustomer, v.fillFields, v.fillSpam, v.fillFollowers, v.fillDue, v.fillRatings, v.fillHold,
	} {
		if err := fill(c, view); err != nil {
			return nil, err
		}
	}
	return view, nil
}

func (v *visit) fillHead(c helpdesk.Conversation, view *conversationView) error {
	if v.may(identity.MailboxesView) {
		boxes, err := v.mailboxes()
		if err != nil {
			return err
		}
		for _, m := range boxes {
			view.Boxes = append(view.Boxes, Link{Text: m.Name, URL: itoa(m.ID)})
			if m.ID == c.MailboxID {
				view.Mailbox = m.Name
			}
		}
	}
	var err error
	if view.Team, err = v.team(); err != nil {
		return err
	}
	names, err := v.teamNames([]int64{c.TeamID})
	if err != nil {
		return err
	}
	if view.TeamName = names[c.TeamID]; view.CanAssign {
		if view.Teams, err = v.teamLinks(); err != nil {
			return err
		}
	}
	if c.UserID != 0 {
		people, err := v.people([]int64{c.UserID})
		if err != nil {
			return err
		}
		p, ok := people[c.UserID]
		if !ok {
			p = newPerson(c.UserID, v.words.T("Former member"), "")
		}
		view.Assignee = &p
	}
	if !v.may(identity.TagsView) {
		return nil
	}
	for _, t := range view.marks.Tags {
		view.Tags = append(view.Tags, showTag(t))
	}
	view.AllTags, err = v.allTags()
	return err
}

// customerPanel is the panel about the customer.
type customerPanel struct {
	ID      int64
	Person  person
	URL     string
	Since   string
	Company string

	CompanyURL    string // of its page; "": it has none
	CompanyChoice string // where it is chosen; "" if the member may not
	CompanyNames  []string

	Emails   []string
	Phones   []string
	Sites    []string
	External string // id in another system
	Earlier  []earlier
	Total    int
	Note     string
	NoteURL  string // where it is edited; "" if the member may not
	Fields   *fieldsCard
	Here     string // the page to come back to
}

type earlier struct{ Subject, URL, When string }

func (v *visit) fillCustomer(c helpdesk.Conversation, view *conversationView) error {
	if !v.may(identity.CustomersView) || c.CustomerID == 0 {
		return nil
	}
	customer, err := v.Desk.Customers().Get(v.ctx(), c.CustomerID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p := v.customerPanel(customer)
	if p.CompanyChoice != "" {
		if p.CompanyNames, err = v.companyNames(); err != nil {
			return err
		}
	}
	page, err := v.Conversations().List(v.ctx(), helpdesk.ConversationQuery{CustomerID: customer.ID, Spam: storage.Some(false)}, storage.PageRequest{Limit: 6})
	if err != nil {
		return err
	}
	for _, other := range page.Items {
		if other.ID != c.ID && len(p.Earlier) < 5 {
			p.Earlier = append(p.Earlier, earlier{cmp.Or(other.Subject, v.words.T("(no subject)")), v.at("/c/" + itoa(other.ID)), v.month(other.CreatedAt)})
		}
	}
	if p.Fields, err = v.customerFields(customer.ID); err != nil {
		return err
	}
	view.Customer = &p
	view.Panel = v.panelOf(customer, c)
	return nil
}

// customerFields shows the fields of a customer; nil if there are none.
func (v *visit) customerFields(id int64) (*fieldsCard, error) {
	if fields, err := v.customersFields(); err != nil || len(fields) == 0 {
		return nil, err
	}
	set, err := v.Customers().Fields(v.ctx(), []int64{id})
	if err != nil {
		return nil, err
	}
	action := ""
	if v.may(identity.CustomersUpdate) {
		action = v.at("/customers/" + itoa(id) + "/fields")
	}
	return v.fieldsCard(v.words.T("Customer fields"), set, id, action), nil
}

// fillFields shows the fields of a conversation.
func (v *visit) fillFields(c helpdesk.Conversation, view *conversationView) error {
	if fields, err := v.conversationFields(); err != nil || len(fields) == 0 {
		return err
	}
	set, err := v.Conversations().Fields(v.ctx(), []int64{c.ID})
	if err != nil {
		return err
	}
	action := ""
	if view.CanUpdate {
		action = view.Self + "/fields"
	}
	view.Fields = v.fieldsCard(v.words.T("Fields"), set, c.ID, action)
	return nil
}

func (v *visit) customerPanel(c helpdesk.Customer) customerPanel {
	p := customerPanel{ID: c.ID, Person: customerPerson(c), URL: v.at("/customers/" + itoa(c.ID)), Company: c.Company, Since: v.words.T("Customer since %s", v.month(c.CreatedAt))}
	p.Note, p.External, p.Here = c.Note, c.ExternalID, v.h.url(v.r.URL.RequestURI())
	if v.may(identity.CustomersUpdate) {
		p.NoteURL, p.CompanyChoice = v.at("/customers/"+itoa(c.ID)+"/note"), v.at("/customers/"+itoa(c.ID)+"/company")
	}
	if c.CompanyID != 0 && v.may(identity.CompaniesView) {
		p.CompanyURL = v.at("/companies/" + itoa(c.CompanyID))
	}
	for _, e := range c.Emails {
		p.Emails = append(p.Emails, e.Email)
	}
	for _, one := range c.Phones {
		p.Phones = append(p.Phones, one.Phone)
	}
	for _, one := range c.Websites {
		p.Sites = append(p.Sites, one.Website)
	}
	return p
}

// panelTime is how long the application may take for its panel.
const panelTime = 2 * time.Second

// panelOf calls the application for its panel about a customer.
func (v *visit) panelOf(c helpdesk.Customer, in helpdesk.Conversation) *Panel {
	if v.h.cfg.Panel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(v.ctx(), panelTime)
	defer cancel()
	p, err := v.h.cfg.Panel(ctx, v.Desk, c, in)
	if err != nil {
		v.h.cfg.Logger.WarnContext(v.ctx(), "the panel about a customer failed", "request_id", v.id, "customer", c.ID, "error", err)
		return nil
	}
	if p.Title == "" && p.HTML == "" {
		return nil
	}
	return &p
}

// fillPlace finds the neighbours in the list from which the member came.
func (v *visit) fillPlace(c helpdesk.Conversation, view *conversationView) error {
	name := cmp.Or(view.In, "all")
	kind, query, _ := strings.Cut(name, "?")
	in := *v
	in.r = v.r.Clone(v.ctx())
	in.r.URL = &url.URL{Path: "/", RawQuery: query}
	l := in.listing(kind)
	l.after = ""
	title, _, err := in.titles(l)
	v.numbers = in.numbers
	if err == nil {
		l, err = in.resolveOrder(l)
	}
	if err != nil { // a deleted view, or an invented name
		l = in.listing("all")
		title = v.words.T("All open")
	}
	view.List, view.ListTitle = in.listURL(l), title
	page, err := in.find(l, storage.MaxLimit)
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		return err
	}
	i := slices.IndexFunc(page.items, func(one helpdesk.Conversation) bool { return one.ID == c.ID })
	at := func(i int) string {
		return v.at("/c/"+itoa(page.items[i].ID)) + "?in=" + url.QueryEscape(name)
	}
	if i < 0 {
		if len(page.items) > 0 {
			view.Next = at(0)
		}
		return nil
	}
	view.Place = i + 1
	if page.next == "" {
		view.Of = len(page.items)
	}
	if i > 0 {
		view.Before = at(i - 1)
	}
	if i+1 < len(page.items) {
		view.Next = at(i + 1)
	}
	return nil
}

// setStatus closes, reopens or parks a conversation.
func (v *visit) setStatus() error {
	return v.changeOne(v.r.PostFormValue("act"), "")
}

func (v *visit) assign() error {
	if team := v.r.PostFormValue("team"); team != "" {
		return v.changeOne("team", team)
	}
	return v.changeOne("assign", v.r.PostFormValue("user"))
}

func (v *visit) move() error {
	return v.changeOne("move", v.r.PostFormValue("mailbox"))
}

// changeOne performs an action on the conversation in the address. After closing it, the next one of the list is shown.
func (v *visit) changeOne(act, value string) error {
	id := v.number("id")
	back := v.back(v.at("/c/" + itoa(id)))
	if err := v.change([]int64{id}, act, value); err != nil {
		return v.unlessFields(err, back)
	}
	if act == "close" || act == "spam" || act == "snooze" && !v.napUntil(value).IsNull() {
		back = v.safe(v.r.PostFormValue("next"), back)
	}
	return v.see(back)
}

func (v *visit) setTags() error {
	if err := v.r.ParseForm(); err != nil {
		return fault.New(fault.Malformed, "The form could not be read.")
	}
	var ids []int64
	for _, text := range v.r.PostForm["tag"] {
		ids = append(ids, number(text))
	}
	ids = without(ids, 0)
	created, err := v.tagsNamed(v.r.PostForm["name"])
	if err != nil {
		return err
	}
	ids = without(append(ids, created...), 0)
	if _, err := v.Conversations().SetTags(v.ctx(), v.number("id"), ids); err != nil {
		return err
	}
	return v.see(v.back(v.at("/c/" + v.r.PathValue("id"))))
}

// tagsNamed finds tags by their names, and creates those that there are not.
func (v *visit) tagsNamed(names []string) ([]int64, error) {
	var ids []int64
	for _, name := range names[:min(len(names), helpdesk.MaxTags)] {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		id, err := v.tagNamed(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// tagNamed finds a tag by name, or creates it.
func (v *visit) tagNamed(name string) (int64, error) {
	tags, err := v.allTags()
	if err != nil {
		return 0, err
	}
	for _, t := range tags {
		if strings.EqualFold(t.Name, name) {
			return t.ID, nil
		}
	}
	t, err := v.Tags().Create(v.ctx(), helpdesk.TagInput{Name: name})
	return t.ID, err
}

func (v *visit) markRead() error {
	if _, err := v.Conversations().MarkRead(v.ctx(), v.number("id")); err != nil && !fault.Is(err, fault.NotFound) { // its page says where a merged one is
		return err
	}
	return v.see(v.back(v.at("/c/" + v.r.PathValue("id"))))
}

func (v *visit) markUnread() error {
	if _, err := v.Conversations().MarkUnread(v.ctx(), v.number("id")); err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Marked as unread")})
	return v.see(v.back(v.at("/inbox/unassigned")))
}

func (v *visit) rename() error {
	id := v.number("id")
	if _, err := v.Conversations().Update(v.ctx(), id, helpdesk.ConversationUpdate{Subject: storage.Some(v.r.PostFormValue("subject"))}); err != nil {
		return err
	}
	return v.see(v.back(v.at("/c/" + itoa(id))))
}

// merge merges the conversation into another, given by its number.
func (v *visit) merge() error {
	number := conversationNumber(v.r.PostFormValue("into"))
	into, err := v.numbered(number)
	if err == nil {
		_, err = v.Conversations().Merge(v.ctx(), v.number("id"), into)
	}
	if err != nil {
		return v.instead(err, v.at("/c/"+v.r.PathValue("id")))
	}
	v.say(toast{Text: v.words.T("Merged into #%s", number)})
	return v.see(v.at("/c/" + itoa(into)))
}

// numbered finds a conversation by its number: the first one, in a list by descending number, that is not above it.
func (v *visit) numbered(n int64) (int64, error) {
	cursor := storage.CursorAt(storage.Position{Key: n + 1}, true)
	page, err := v.Conversations().List(v.ctx(), helpdesk.ConversationQuery{Sort: helpdesk.ByNumber}, storage.PageRequest{Limit: 1, Cursor: cursor})
	if err != nil {
		return 0, err
	}
	if n == 0 || len(page.Items) == 0 || page.Items[0].Number != n {
		return 0, fault.New(fault.Invalid, v.words.T("There is no conversation #%s.", n))
	}
	return page.Items[0].ID, nil
}

func (v *visit) deleteConversation() error {
	if err := v.Conversations().Delete(v.ctx(), v.number("id")); err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Deleted permanently")})
	return v.see(v.back(v.at("/inbox/unassigned")))
}

// safeHTML is HTML that helpdesk has cleaned.
func safeHTML(s string) template.HTML { return template.HTML(s) } // helpdesk has cleaned it
