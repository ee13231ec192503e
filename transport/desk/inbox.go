package desk

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// pageSize is the number of conversations on a page of a list.
const pageSize = 50

// listing is a list of conversations, as given by its address.
type listing struct {
	view   string // unassigned, mine, drafts, all, closed, failed, mailbox-1, team-1, view-1 or search
	sort   string // waiting, newest or oldest
	status string // open, pending, closed or all
	user   string // "" for the view's default; me, none or an id
	tag    int64
	team   int64
	// priority is "", one of [helpdesk.Priorities], or pressing.
	priority string
	words    string
	fields   string // see [fieldFilter]
	after    string // cursor
}

// listing parses the address.
func (v *visit) listing(view string) listing {
	q := v.r.URL.Query()
	l := listing{view: view, sort: q.Get("sort"), status: q.Get("status"), user: q.Get("user"), tag: number(q.Get("tag")), team: number(q.Get("team")),
		words: strings.TrimSpace(q.Get("q")), after: q.Get("after"), priority: q.Get("priority"), fields: q.Get("fields")}
	return l.filled()
}

// filled returns the listing with the defaults filled in. A saved view has its own defaults.
func (l listing) filled() listing {
	if l.status == "" {
		l.status = "open"
		switch {
		case l.view == "closed":
			l.status = "closed"
		case l.view == "search", l.view == "drafts", l.view == "spam", l.view == "due": // what is due is open
			l.status = "all"
		case strings.HasPrefix(l.view, "view-"):
			l.status = "saved"
		}
	}
	if l.sort == "" {
		l.sort = "waiting"
		switch {
		case l.status == "saved":
			l.sort = "saved"
		case l.view == "due":
			l.sort = "due"
		case l.status != "open" || l.view == "snoozed":
			l.sort = "newest"
		}
	}
	return l
}

// resolveOrder looks up the order of a saved view, if the address has none.
func (v *visit) resolveOrder(l listing) (listing, error) {
	if l.sort != "saved" {
		return l, nil
	}
	_, id, _ := strings.Cut(l.view, "-")
	one, err := v.Views().Get(v.ctx(), number(id))
	f := one.Filter
	closed := len(f.Statuses) > 0 && !slices.ContainsFunc(f.Statuses, helpdesk.Status.Open)
	if f.Sort == "" && !f.Ascending && f.Awaiting == nil && !closed {
		l.sort = "waiting"
	}
	return l, err
}

// listURL is the address of the listing with other values; after is left out.
func (v *visit) listURL(l listing, pairs ...string) string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("q", l.words)
	set("sort", v.r.URL.Query().Get("sort"))
	set("status", v.r.URL.Query().Get("status"))
	set("user", l.user)
	set("priority", l.priority)
	set("fields", l.fields)
	if l.tag != 0 {
		set("tag", itoa(l.tag))
	}
	if l.team != 0 {
		q.Set("team", itoa(l.team))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Del(pairs[i])
		set(pairs[i], pairs[i+1])
	}
	path := v.at("/inbox/" + l.view)
	if l.view == "search" {
		path = v.at("/search")
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

var anyStatus = []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed, helpdesk.StatusDraft}

var openStatuses = []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}

// query returns the query for the desk.
func (v *visit) query(l listing) (helpdesk.ConversationQuery, error) {
	q := helpdesk.ConversationQuery{Query: l.words, Zone: v.zone, Sort: helpdesk.ByUpdated, Ascending: l.sort == "oldest"}
	kind, id, _ := strings.Cut(l.view, "-")
	switch kind {
	case "unassigned":
		q.UserID = storage.Null[int64]()
	case "mine":
		q.UserID = storage.Some(v.UserID())
	case "drafts":
		q.DraftBy = v.UserID()
	case "failed":
		q.Undelivered = true
	case "snoozed":
	case "due":
		q.Due = helpdesk.DueAny
	case "all", "closed", "search", "spam":
	case "mailbox":
		q.MailboxID = number(id)
	case "team":
		l.team = number(id)
	case "view":
		q.ViewID = number(id)
	default:
		return q, v.missing()
	}
	if l.team != 0 {
		q.TeamID = storage.Some(l.team)
	}
	if q.MailboxID == 0 && kind == "mailbox" || l.team == 0 && kind == "team" || q.ViewID == 0 && kind == "view" {
		return q, v.missing()
	}
	if !l.narrowStatus(&q) {
		return q, v.missing()
	}
	switch l.sort {
	case "saved":
		q.Sort = ""
	case "due":
		q.Sort, q.Ascending = helpdesk.ByDue, true
	}
	v.narrowUser(l, &q)
	if err := v.narrowSpam(l, &q); err != nil {
		return q, err
	}
	q.Priorities = l.priorities()
	if l.tag != 0 {
		q.TagIDs = []int64{l.tag}
	}
	return q, v.narrowFields(l, &q)
}

// narrowUser restricts the query to conversations of a member, or of nobody.
func (v *visit) narrowUser(l listing, q *helpdesk.ConversationQuery) {
	switch l.user {
	case "":
	case "me":
		q.UserID = storage.Some(v.UserID())
	case "none":
		q.UserID = storage.Null[int64]()
	default:
		q.UserID = storage.Some(number(l.user))
	}
}

// narrowStatus restricts the query to the statuses of a listing; false if there is no such listing.
func (l listing) narrowStatus(q *helpdesk.ConversationQuery) bool {
	switch l.status {
	case "open":
		q.Statuses, q.Snoozed = openStatuses, storage.Some(l.view == "snoozed")
	case "pending":
		q.Statuses = []helpdesk.Status{helpdesk.StatusPending}
	case "closed":
		q.Statuses = []helpdesk.Status{helpdesk.StatusClosed}
	case "all":
		if q.ViewID != 0 { // overriding the view
			q.Statuses = anyStatus
		}
	case "saved":
	default:
		return false
	}
	return true
}

// found is a page of a listing.
type found struct {
	items   []helpdesk.Conversation
	next    string                  // cursor; "" at the end
	results *helpdesk.SearchResults // of a search for words
}

// find reads a page. Conversations that have waited longest come first; those in which no customer waits come after all
// others, newest first.
func (v *visit) find(l listing, limit int) (found, error) {
	q, err := v.query(l)
	if err != nil {
		return found{}, err
	}
	if l.seeks() {
		results, err := v.Conversations().Search(v.ctx(), q, storage.PageRequest{Limit: limit, Cursor: l.after})
		out := found{next: results.Next, results: &results}
		for _, hit := range results.Items {
			out.items = append(out.items, hit.Conversation)
		}
		return out, err
	}
	if l.sort != "waiting" {
		page, err := v.Conversations().List(v.ctx(), q, storage.PageRequest{Limit: limit, Cursor: l.after})
		return found{items: page.Items, next: page.Next}, err
	}
	var out found
	resting := strings.HasPrefix(l.after, restingCursor)
	if !resting {
		q.Awaiting, q.Sort, q.Ascending = storage.Some(true), helpdesk.ByAwaiting, true
		page, err := v.Conversations().List(v.ctx(), q, storage.PageRequest{Limit: limit, Cursor: l.after})
		if err != nil || page.Next != "" {
			return found{items: page.Items, next: page.Next}, err
		}
		out.items = page.Items
	}
	if limit -= len(out.items); limit == 0 {
		out.next = restingCursor
		return out, nil
	}
	q.Awaiting, q.Sort, q.Ascending = storage.Some(false), helpdesk.ByUpdated, false
	page, err := v.Conversations().List(v.ctx(), q, storage.PageRequest{Limit: limit, Cursor: strings.TrimPrefix(l.after, restingCursor)})
	out.items = append(out.items, page.Items...)
	if page.Next != "" {
		out.next = restingCursor + page.Next
	}
	return out, err
}

// restingCursor is the prefix of cursors for conversations in which no customer waits.
const restingCursor = "rest."

// row is a conversation in a list.
type row struct {
	ID        int64
	URL       string
	Customer  string
	Unread    int
	Subject   string
	Preview   string
	Tags      []tagView
	MoreTags  int
	Assignee  *person
	Team      string // "" if there is none, or if the list is the team's
	Wait      string // how long the customer has waited, or the time of the last change
	WaitSince string // RFC 3339
	Level     string // "", warn or bad
	Due       *dueState
	Label     string // for screen readers
	Status    string // "" for an open one
	Priority  *urgency
	Writer    string // member who is writing an answer
	Group     string // heading, if the row begins a group
	GroupBad  bool
	GroupSize int // 0 if not known
	Hit       *hitView
	Cells     []fieldRow // columns of a view
}

type tagView struct {
	ID          int64
	Name, Color string
}

func showTag(t helpdesk.Tag) tagView { return tagView{ID: t.ID, Name: t.Name, Color: t.Color} }

// rows shows conversations.
func (v *visit) rows(l listing, list []helpdesk.Conversation, more bool) ([]row, error) {
	ids, customers, users, teams := make([]int64, len(list)), make([]int64, len(list)), make([]int64, len(list)), make([]int64, len(list))
	for i, c := range list {
		ids[i], customers[i], users[i], teams[i] = c.ID, c.CustomerID, c.UserID, c.TeamID
	}
	people, err := v.people(users)
	if err != nil {
		return nil, err
	}
	names, err := v.customerNames(customers)
	if err != nil {
		return nil, err
	}
	teamNames, err := v.teamNames(teams)
	if err != nil {
		return nil, err
	}
	marks, err := v.Conversations().Marks(v.ctx(), ids)
	if err != nil {
		return nil, err
	}
	writers, err := v.writers(marks)
	if err != nil {
		return nil, err
	}
	rows, in := make([]row, len(list)), "?in="+url.QueryEscape(v.listName(l))
	for i, c := range list {
		rows[i] = v.row(l, in, c, names[c.CustomerID], marks[c.ID])
		if p, ok := people[c.UserID]; ok && l.view != "mine" {
			rows[i].Assignee = &p
		}
		if name := teamNames[c.TeamID]; name != "" && l.view != "team-"+itoa(c.TeamID) {
			rows[i].Team = name
			rows[i].Label += ", " + v.words.T("team %s", name)
		}
		if at := marks[c.ID].SendAt; !at.IsZero() {
			rows[i].Status = v.words.T("Sends %s", v.moment(at))
			rows[i].Label += ", " + rows[i].Status
		}
		rows[i].Writer = writers[c.ID]
	}
	if l.sort == "waiting" {
		v.group(rows, list, l.after != "", more)
	}
	columns, err := v.columns(l)
	if err != nil {
		return nil, err
	}
	return rows, v.fillCells(rows, columns)
}

// customerNames returns the names of customers that the member may see.
func (v *visit) customerNames(ids []int64) (map[int64]string, error) {
	if ids = without(ids, 0); len(ids) == 0 || !v.may(identity.CustomersView) {
		return map[int64]string{}, nil
	}
	names, unknown := v.memo.customersNames(ids)
	if len(unknown) == 0 {
		return names, nil
	}
	found, err := v.Customers().ByID(v.ctx(), unknown)
	read := map[int64]string{}
	for _, c := range found {
		names[c.ID] = customerName(c)
		read[c.ID] = names[c.ID]
	}
	v.memo.keepNames(read)
	return names, err
}

func (v *visit) row(l listing, in string, c helpdesk.Conversation, customer string, marks helpdesk.Marks) row {
	r := row{
		ID: c.ID, URL: v.at("/c/"+itoa(c.ID)) + in, Customer: cmp.Or(customer, c.CustomerEmail),
		Unread: int(marks.Unread), Subject: cmp.Or(c.Subject, v.words.T("(no subject)")), Preview: c.Preview,
	}
	for i, t := range marks.Tags {
		if !v.may(identity.TagsView) {
			break
		}
		if i == 2 {
			r.MoreTags = len(marks.Tags) - i
			break
		}
		r.Tags = append(r.Tags, showTag(t))
	}
	label := []string{r.Customer, r.Subject}
	if r.Unread > 0 {
		label = append([]string{v.words.T("Unread")}, label...)
	}
	if !c.AwaitingSince.IsZero() && c.Status != helpdesk.StatusClosed {
		waits := v.now.Sub(c.AwaitingSince)
		r.Wait, r.WaitSince, r.Level = v.words.lasted(waits), c.AwaitingSince.Format(time.RFC3339), level(waits)
		label = append(label, v.words.T("waiting %s", r.Wait))
	} else {
		r.Wait, r.WaitSince = v.when(c.UpdatedAt), c.UpdatedAt.Format(time.RFC3339)
	}
	if r.Due = v.dueOf(c); r.Due != nil {
		label = append(label, r.Due.Text)
	}
	if r.Priority = unusual(v.words, c.Priority); r.Priority != nil {
		label = append(label, v.words.T("priority %s", r.Priority.Text))
	}
	if c.Status != helpdesk.StatusPosted {
		r.Status = statusName(v.words, c.Status)
		label = append(label, r.Status)
	}
	if l.status == "closed" || l.view == "spam" {
		r.Status = ""
	}
	if until := v.asleep(c); until != "" {
		r.Status = until
		label = append(label, until)
	}
	r.Label = v.words.list(label)
	return r
}

// level classifies a waiting time: amber from 4 hours, red from a day.
func level(waits time.Duration) string {
	switch {
	case waits >= 24*time.Hour:
		return "bad"
	case waits >= 4*time.Hour:
		return "warn"
	}
	return ""
}

func statusName(w words, s helpdesk.Status) string {
	switch s {
	case helpdesk.StatusClosed:
		return w.T("Closed")
	case helpdesk.StatusPending:
		return w.T("Pending")
	case helpdesk.StatusDraft:
		return w.T("Draft")
	case helpdesk.StatusPosted:
	}
	return w.T("Open")
}

// group adds headings by waiting time to the rows of a list.
func (v *visit) group(rows []row, list []helpdesk.Conversation, later, more bool) {
	kind := func(c helpdesk.Conversation) int {
		switch {
		case c.AwaitingSince.IsZero():
			return 2
		case v.now.Sub(c.AwaitingSince) >= 24*time.Hour:
			return 0
		}
		return 1
	}
	names := []string{v.words.T("More than a day"), v.words.T("Today"), v.words.T("No one is waiting")}
	for begin := 0; begin < len(list); {
		end, k := begin, kind(list[begin])
		for end < len(list) && kind(list[end]) == k {
			end++
		}
		rows[begin].Group, rows[begin].GroupBad = names[k], k == 0
		if (end < len(list) || !more) && !later {
			rows[begin].GroupSize = end - begin
		}
		begin = end
	}
}

// listName names a list in the address of a conversation, for the links back and to the next one.
func (v *visit) listName(l listing) string {
	_, query, _ := strings.Cut(v.listURL(l), "?")
	if query == "" {
		return l.view
	}
	return l.view + "?" + query
}

// emptyList says why a list is empty, and what appears there.
func (v *visit) emptyList(view string) (title, more string) {
	w := v.words
	switch kind, _, _ := strings.Cut(view, "-"); kind {
	case "mine":
		return w.T("Nothing is assigned to you"), w.T("Take over a conversation from Unassigned, and it shows up here.")
	case "drafts":
		return w.T("No drafts"), w.T("What you begin to write is kept here until you send it.")
	case "closed":
		return w.T("Nothing is closed yet"), w.T("Close a conversation when it is done. It opens again when the customer writes.")
	case "snoozed":
		return w.T("Nothing is snoozed"), w.T("Snooze a conversation that can wait. It comes back at the time you choose, or when the customer writes.")
	case "due":
		return w.T("Nothing is due"), w.T("Conversations under an SLA show up here, the most pressing first.")
	case "failed":
		return w.T("No undelivered replies"), w.T("Replies that could not be delivered show up here, with the reason.")
	case "spam":
		return w.T("No spam"), w.T("Conversations you mark as spam and mail from blocked senders appear here.")
	case "team":
		return w.T("Nothing waits for this team"), w.T("Conversations that are assigned to the team show up here.")
	case "view":
		return w.T("Nothing fits this view"), w.T("Conversations that meet its conditions show up here by themselves.")
	}
	return w.T("No one is waiting"), w.T("New mail appears here automatically.")
}

type inboxView struct {
	Title       string
	Summary     string
	Rows        []row
	Next        string
	Tools       toolsView
	Bulk        string
	Here        string
	New         string
	Words       string
	Search      bool
	Found       *foundView
	Kept        [][2]string // the parameters that another search keeps
	Tips        []tip
	Empty       string
	EmptyMore   string
	Steps       []check // of setting up a team that has no mail yet
	CanSaveView bool    // filters were chosen
	SaveView    string
	Asked       [][2]string // the parameters of the filters
	Columns     []fieldRow  // the headings of a view's columns
}

func (v *visit) inbox() error {
	l, err := v.resolveOrder(v.listing(v.r.PathValue("view")))
	if err != nil {
		return err
	}
	return v.list(l)
}

func (v *visit) search() error { return v.list(v.listing("search")) }

func (v *visit) list(l listing) error {
	defer v.readAhead()()
	page, err := v.find(l, pageSize)
	if err != nil {
		return err
	}
	view := inboxView{Bulk: v.at("/bulk"), Here: v.h.url(v.r.URL.RequestURI()), Words: l.words, Search: l.view == "search"}
	if page.results != nil && page.results.Corrected != "" {
		l.words = page.results.Corrected // which the links go on with
	}
	if view.Rows, err = v.rows(l, page.items, page.next != ""); err != nil {
		return err
	}
	if len(view.Rows) > 0 {
		view.Columns = view.Rows[0].Cells
	}
	if page.results != nil {
		v.showFound(&view, *page.results, l.after == "")
	}
	if view.Title, view.Summary, err = v.titles(l); err != nil {
		return err
	}
	if page.next != "" {
		view.Next = v.listURL(l, "after", page.next)
	}
	if v.may(identity.ConversationsCreate) {
		view.New = v.at("/new")
	}
	if view.Asked = v.asked(l); len(view.Asked) > 1 && v.may(identity.ViewsCreate) {
		view.CanSaveView, view.SaveView = true, v.at("/views")
	}
	for _, one := range view.Asked[1:] {
		if one[0] != "q" {
			view.Kept = append(view.Kept, one)
		}
	}
	if err := v.sayEmpty(&view, l); err != nil {
		return err
	}
	if view.Search {
		view.Tips = v.searchTips()
	}
	if view.Tools, err = v.tools(l, view.CanSaveView); err != nil {
		return err
	}
	return v.show(screen{
		template: "inbox", title: view.Title, data: view, nav: "inbox/" + l.view,
		parts: map[string]string{"list": "list", "more": "rows", "filters": "filters", "view-form": "view-form"},
	})
}

// sayEmpty says why a list is empty, and what to do first where there is nothing yet.
func (v *visit) sayEmpty(view *inboxView, l listing) (err error) {
	view.Empty, view.EmptyMore = v.emptyList(l.view)
	if l.view == "search" || l.tag != 0 || l.team != 0 || l.words != "" || l.user != "" || l.priority != "" || l.fields != "" {
		view.Empty, view.EmptyMore = v.words.T("No results"), v.words.T("Try other words, or fewer filters.")
	} else if len(view.Rows) == 0 && l.view != "spam" {
		view.Steps, err = v.firstSteps()
	}
	return err
}

// asked returns the parameters in a list's address, except the cursor, and the list's name.
func (v *visit) asked(l listing) [][2]string {
	out := [][2]string{{"list", l.view}}
	for _, name := range []string{"status", "user", "team", "tag", "priority", "fields", "q", "sort"} {
		if value := v.r.URL.Query().Get(name); value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	return out
}

// titles returns the heading of a list and its subtitle.
func (v *visit) titles(l listing) (title, summary string, err error) {
	counts, err := v.counts()
	if err != nil {
		return "", "", err
	}
	kind, id, _ := strings.Cut(l.view, "-")
	switch kind {
	case "unassigned":
		return v.words.T("Unassigned"), v.words.N(int(counts.Unassigned), "%s open"), nil
	case "mine":
		return v.words.T("Mine"), v.words.N(int(counts.Mine), "%s open"), nil
	case "closed":
		return v.words.T("Closed"), "", nil
	case "drafts":
		return v.words.T("Drafts"), "", nil
	case "failed":
		return v.words.T("Undelivered"), "", nil
	case "spam":
		return v.words.T("Spam"), "", nil
	case "snoozed":
		return v.words.T("Snoozed"), "", nil
	case "due":
		return v.words.T("Due"), "", nil
	case "search":
		return v.words.T("Search"), "", nil
	case "mailbox":
		m, err := v.Mailboxes().Get(v.ctx(), number(id))
		n := ofMailbox(counts, m.ID)
		return m.Name, v.words.waitingAndOpen(n.Waiting, n.Open), err
	case "team":
		return v.teamTitle(counts, number(id))
	case "view":
		one, err := v.Views().Get(v.ctx(), number(id))
		if err != nil {
			return "", "", err
		}
		conditions, err := v.conditions(one.Filter)
		if err != nil {
			return "", "", err
		}
		return one.Name, conditions[0], nil
	}
	return v.words.T("All open"), v.words.waitingAndOpen(counts.Waiting, counts.Open), nil
}

// maxTags is the maximum number of tags in a choice.
const maxTags = 500

func (v *visit) allTags() ([]tagView, error) { return memoize(v.memo, &v.memo.tags, v.readTags) }

func (v *visit) readTags() ([]tagView, error) {
	var tags []tagView
	for cursor := ""; ; {
		page, err := v.Tags().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Items {
			tags = append(tags, showTag(t))
		}
		if cursor = page.Next; cursor == "" || len(tags) >= maxTags {
			return tags, nil
		}
	}
}

// bulk changes the ticked conversations.
func (v *visit) bulk() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 64<<10)
	if err := v.r.ParseForm(); err != nil {
		return fault.New(fault.Malformed, "The form could not be read.")
	}
	var ids []int64
	for _, text := range v.r.PostForm["id"] {
		ids = append(ids, number(text))
	}
	back := v.back(v.at("/inbox/unassigned"))
	ids = without(ids, 0)
	if len(ids) == 0 {
		v.say(toast{Text: v.words.T("Select conversations first"), Bad: true})
		return v.see(back)
	}
	act, value, _ := strings.Cut(v.r.PostFormValue("act"), "-")
	if act == "more" { // a select of the form without scripts
		act, value, _ = strings.Cut(v.r.PostFormValue("more"), "-")
	}
	change := func() error { return v.change(ids, act, value) }
	if act == "macro" {
		if value == "" {
			return v.see(v.macroPageURL(ids, back))
		}
		change = func() error { return v.macroAll(ids, number(value)) }
	}
	if act == "tags" {
		change = func() error { return v.tagAll(ids) }
	}
	if act == "field" {
		change = func() error { return v.setFieldOfAll(ids, value) }
	}
	if err := change(); err != nil {
		return v.unlessFields(err, back)
	}
	return v.see(back)
}

// setFieldOfAll sets a field of conversations.
func (v *visit) setFieldOfAll(ids []int64, key string) error {
	fields, err := v.conversationFields()
	if err != nil {
		return err
	}
	texts, err := v.formFields(fields, key)
	if err != nil {
		return err
	}
	changed, err := v.Conversations().UpdateAll(v.ctx(), ids, helpdesk.BulkUpdate{Fields: texts})
	if err == nil {
		v.say(toast{Text: v.words.N(len(changed), acts["field"])})
	}
	return err
}

// tagAll adds the tags of the form to conversations, and creates those that there are not.
func (v *visit) tagAll(ids []int64) error {
	tags, err := v.tagsNamed(v.r.PostForm["new_tag"])
	if err != nil {
		return err
	}
	for _, text := range v.r.PostForm["tag"] {
		tags = append(tags, number(text))
	}
	if tags = without(tags, 0); len(tags) == 0 {
		v.say(toast{Text: v.words.T("Choose tags first"), Bad: true})
		return nil
	}
	old, err := v.Conversations().ByID(v.ctx(), ids)
	if err != nil {
		return err
	}
	for _, c := range old {
		if _, err := v.Conversations().AddTags(v.ctx(), c.ID, tags); err != nil {
			return err
		}
	}
	v.say(toast{Text: v.words.N(len(old), acts["tags"])})
	return nil
}

// change performs an action on conversations, with a notice.
func (v *visit) change(ids []int64, act, value string) error {
	in, said, err := v.act(act, value)
	if err != nil {
		return err
	}
	old, err := v.Conversations().ByID(v.ctx(), ids)
	if err != nil {
		return err
	}
	changed, err := v.Conversations().UpdateAll(v.ctx(), ids, in)
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.N(len(changed), said), Undo: pack(before(old, changed))})
	return nil
}

// acts are the notices about the actions of the form.
var acts = map[string]string{
	"close":    "Closed %s conversation|Closed %s conversations",
	"open":     "Reopened %s conversation|Reopened %s conversations",
	"pending":  "%s conversation marked as pending|%s conversations marked as pending",
	"assign":   "Assigned %s conversation|Assigned %s conversations",
	"unassign": "Unassigned %s conversation|Unassigned %s conversations",
	"team":     "Assigned %s conversation|Assigned %s conversations",
	"noteam":   "Removed %s conversation from its team|Removed %s conversations from their teams",
	"move":     "Moved %s conversation|Moved %s conversations",
	"snooze":   "Snoozed %s conversation|Snoozed %s conversations",
	"wake":     "Unsnoozed %s conversation|Unsnoozed %s conversations",
	"spam":     "%s conversation marked as spam|%s conversations marked as spam",
	"notspam":  "%s conversation marked as not spam|%s conversations marked as not spam",
	"priority": "Changed priority of %s conversation|Changed priority of %s conversations",
	"field":    "Changed a field of %s conversation|Changed a field of %s conversations",
	"tags":     "Tagged %s conversation|Tagged %s conversations",
	"macro":    "Applied the macro to %s conversation|Applied the macro to %s conversations",
}

// act is the result of an action and its notice.
func (v *visit) act(act, value string) (in helpdesk.BulkUpdate, said string, err error) {
	switch act {
	case "close":
		in.Status = storage.Some(helpdesk.StatusClosed)
	case "open":
		in.Status = storage.Some(helpdesk.StatusPosted)
	case "pending":
		in.Status = storage.Some(helpdesk.StatusPending)
	case "assign":
		user := number(value)
		if value == "me" {
			user = v.UserID()
		}
		if in.UserID = userOf(user); user == 0 {
			act = "unassign"
		}
	case "team":
		if in.TeamID = userOf(number(value)); in.TeamID.IsNull() {
			act = "noteam"
		}
	case "move":
		in.MailboxID = storage.Some(number(value))
	case "snooze":
		if in.SnoozedUntil = v.napUntil(value); in.SnoozedUntil.IsNull() {
			act = "wake"
		}
		if act == "wake" && value == "" {
			return in, "", fault.New(fault.Invalid, v.words.T("Choose a time first."))
		}
	case "spam":
		in.Spam = storage.Some(true)
	case "notspam":
		in.Spam = storage.Some(false)
	case "priority":
		in.Priority = storage.Some(helpdesk.Priority(value))
	default:
		return in, "", fault.New(fault.Malformed, fmt.Sprintf("There is no action %q.", act))
	}
	return in, acts[act], nil
}

// waitingAndOpen says how many conversations of a list wait for an answer, and how many are open.
func (w words) waitingAndOpen(waiting, open int64) string {
	return w.list([]string{w.N(int(waiting), "%s waiting"), w.N(int(open), "%s open")})
}
