package helpdesk

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// MaxCount is the limit up to which Drafts, Undelivered and Spam of [Counts] are counted.
const MaxCount = 1000

// Counts are the numbers beside a desk's lists, within the member's mailboxes. Open conversations are posted or pending and
// not snoozed.
type Counts struct {
	Mine        int64 // open and assigned to the caller
	Unassigned  int64 // open and assigned to no user and no team
	Open        int64
	Waiting     int64 // open, and a customer awaits a reply
	Snoozed     int64 // posted or pending, and snoozed
	Drafts      int64 // with a draft of the caller; at most [MaxCount]
	Undelivered int64 // posted or pending, with a reply that failed to reach a recipient; at most [MaxCount]
	Quarantined int64 // messages that could not be filed; at most [MaxCount], and 0 without mailboxes.connection
	Spam        int64 // conversations that are spam; at most [MaxCount]
	Mailboxes   []MailboxCounts
	Teams       []TeamCounts // by id
	Views       []ViewCounts // by id; see [Conversations.Counts] for which
	// Notifications is the number of the caller's unread notifications in the desk; at most [MaxNotificationsCount].
	Notifications int64
}

// ViewCounts are one saved view's numbers.
type ViewCounts struct {
	ViewID        int64
	Conversations int64 // number of conversations that the view shows to the caller
}

// TeamCounts are the numbers of one team that has open conversations.
type TeamCounts struct {
	TeamID     int64
	Open       int64
	Unassigned int64 // without a user
	Waiting    int64
}

// MailboxCounts are the numbers of one mailbox that has open conversations.
type MailboxCounts struct {
	MailboxID  int64
	Open       int64
	Unassigned int64
	Waiting    int64
}

// ConversationCount is the number of conversations that have the same values in all other fields.
type ConversationCount struct {
	TagID     int64 // one of their tags; 0: regardless of tags
	MailboxID int64
	UserID    int64 // 0: none
	TeamID    int64 // 0: none
	Status    Status
	Priority  Priority
	Awaiting  bool // a customer awaits a reply
	Snoozed   bool
	Spam      bool
	N         int64
}

// Compare orders counts by their fields in order, false first.
func (c ConversationCount) Compare(d ConversationCount) int {
	return cmp.Or(cmp.Compare(c.TagID, d.TagID), cmp.Compare(c.MailboxID, d.MailboxID), cmp.Compare(c.UserID, d.UserID), cmp.Compare(c.TeamID, d.TeamID),
		cmp.Compare(c.Status, d.Status), cmp.Compare(c.Priority, d.Priority),
		falseFirst(c.Awaiting, d.Awaiting), falseFirst(c.Snoozed, d.Snoozed), falseFirst(c.Spam, d.Spam))
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// CountReader counts conversations, messages and notifications.
type CountReader interface {
	Count(ctx context.Context, q CountQuery) (Counted, error)
}

// CountQuery selects what [CountReader] counts.
type CountQuery struct {
	// Maintained also returns the counts that are maintained as conversations are written, so their cost does not depend on the
	// number of conversations: those of all, and those of each of TagIDs.
	Maintained    bool
	TagIDs        []int64
	Conversations []ConversationFilter
	Quarantined   bool // also count the messages that could not be filed
	Notifications []NotificationFilter
	Limit         int // maximum of each count that is not maintained
}

// Counted is the result of a [CountQuery].
type Counted struct {
	// Maintained has the counts that are not 0, by the fields of [ConversationCount] in order, false first.
	Maintained    []ConversationCount
	Conversations []int64 // matches of each filter, in order
	Quarantined   int64
	Notifications []int64 // matches of each filter, in order
}

// Open reports whether a status is posted or pending.
func (s Status) Open() bool { return s == StatusPosted || s == StatusPending }

// maxCountedViews limits the saved views that Counts counts.
const maxCountedViews = 100

// Counts returns the numbers beside the desk's lists. It needs conversations.view.
//
// It counts the saved views that the member sees and that filter only by mailbox, user, team, one tag, status, priority,
// spam, awaiting and snoozed. These counts are maintained as conversations change. Counting others would get slower with the
// number of conversations, so they have no number. It counts at most 100 views, the oldest first, and none without
// views.view.
func (d Conversations) Counts(ctx context.Context) (Counts, error) {
	return d.counts(ctx, func(r Reader) ([]View, error) {
		reader, err := d.viewReader(ctx, r)
		if err != nil {
			return nil, err
		}
		return viewNoun().Reader(r).List(ctx, reader, storage.Seek{Limit: maxCountedViews})
	})
}

// CountsOf is [Conversations.Counts] for the given saved views, which are not read again.
func (d Conversations) CountsOf(ctx context.Context, views []View) (Counts, error) {
	return d.counts(ctx, func(Reader) ([]View, error) { return views, nil })
}

func (d *desk) counts(ctx context.Context, read func(Reader) ([]View, error)) (Counts, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return Counts{}, err
	}
	var views []countedView
	if d.guard.Allows(identity.ViewsView) {
		all, err := read(r)
		if err != nil {
			return Counts{}, err
		}
		views = d.countedViews(all)
	}
	q := CountQuery{
		Maintained: true, TagIDs: viewTags(views),
		Conversations: []ConversationFilter{
			{DraftBy: d.userID}, {Undelivered: true, Statuses: []Status{StatusPosted, StatusPending}},
		},
		Quarantined: d.guard.Allows(identity.MailboxesConnection), Notifications: []NotificationFilter{d.unreadNotifications()}, Limit: MaxCount,
	}
	found, err := d.lists(r).Count(ctx, q)
	if err != nil {
		return Counts{}, err
	}
	counts := Counts{
		Drafts: found.Conversations[0], Undelivered: found.Conversations[1], Quarantined: found.Quarantined,
		Notifications: min(found.Notifications[0], MaxNotificationsCount),
	}
	for _, cell := range found.Maintained {
		if cell.TagID == 0 {
			counts.add(cell, d.userID)
			if cell.Spam {
				counts.Spam = min(counts.Spam+cell.N, MaxCount)
			}
		}
		for i, v := range views {
			if v.filter.has(cell) {
				views[i].n += cell.N
			}
		}
	}
	for _, v := range views {
		counts.Views = append(counts.Views, ViewCounts{ViewID: v.id, Conversations: v.n})
	}
	return counts, nil
}

// countedView is a saved view that is counted.
type countedView struct {
	id     int64
	filter ConversationFilter
	n      int64
}

// countedViews returns the views that can be counted.
func (d *desk) countedViews(views []View) []countedView {
	var counted []countedView
	for _, v := range views {
		q, ok := v.Filter.Query(d.userID)
		if f := q.filter(); ok && q.Query == "" && len(q.Fields) == 0 && f.counted() {
			counted = append(counted, countedView{id: v.ID, filter: f})
		}
	}
	return counted
}

// viewTags returns the tags that views filter by.
func viewTags(views []countedView) []int64 {
	var tags []int64
	for _, v := range views {
		tags = append(tags, v.filter.TagIDs...)
	}
	return sortedSet(tags)
}

// counted reports whether a filter uses only the fields that counts are maintained for.
func (f ConversationFilter) counted() bool {
	return f.CustomerID == 0 && f.CompanyID == 0 && f.UpdatedSince.IsZero() && len(f.Terms) == 0 && len(f.TagIDs) <= 1 && len(f.Fields) == 0 && len(f.Audience) == 0 &&
		f.DraftBy == 0 && !f.Undelivered && f.Due == (DueRange{}) && f.CreatedBefore.IsZero() && !f.Attached && len(f.Ratings) == 0 && !f.Held.IsSet() && !f.Unerased && len(f.Also)+len(f.Except) == 0
}

// has reports whether a counted filter matches a cell's conversations.
func (f ConversationFilter) has(c ConversationCount) bool {
	is := func(of storage.Opt[bool], value bool) bool { want, given := of.Get(); return !given || want == value }
	tag := int64(0)
	if len(f.TagIDs) > 0 {
		tag = f.TagIDs[0]
	}
	return tag == c.TagID && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, c.Status)) &&
		(len(f.Priorities) == 0 || slices.Contains(f.Priorities, c.Priority)) && (f.MailboxID == 0 || f.MailboxID == c.MailboxID) &&
		(!f.UserID.IsSet() || f.UserID.Or(0) == c.UserID) && (!f.TeamID.IsSet() || f.TeamID.Or(0) == c.TeamID) &&
		is(f.Awaiting, c.Awaiting) && is(f.Snoozed, c.Snoozed) && is(f.Spam, c.Spam)
}

// add adds a cell to a user's numbers. Cells arrive ordered by mailbox.
func (c *Counts) add(cell ConversationCount, userID int64) {
	if !cell.Status.Open() {
		return
	}
	if cell.Snoozed {
		c.Snoozed += cell.N
		return
	}
	if n := len(c.Mailboxes); n == 0 || c.Mailboxes[n-1].MailboxID != cell.MailboxID {
		c.Mailboxes = append(c.Mailboxes, MailboxCounts{MailboxID: cell.MailboxID})
	}
	mailbox := &c.Mailboxes[len(c.Mailboxes)-1]
	c.Open += cell.N
	mailbox.Open += cell.N
	switch {
	case cell.UserID == userID:
		c.Mine += cell.N
	case cell.UserID == 0 && cell.TeamID == 0:
		c.Unassigned += cell.N
		mailbox.Unassigned += cell.N
	}
	if cell.TeamID != 0 {
		c.addTeam(cell)
	}
	if cell.Awaiting {
		c.Waiting += cell.N
		mailbox.Waiting += cell.N
	}
}

// addTeam adds open conversations to the numbers of their team.
func (c *Counts) addTeam(cell ConversationCount) {
	at, known := slices.BinarySearchFunc(c.Teams, cell.TeamID, func(t TeamCounts, id int64) int { return cmp.Compare(t.TeamID, id) })
	if !known {
		c.Teams = slices.Insert(c.Teams, at, TeamCounts{TeamID: cell.TeamID})
	}
	team := &c.Teams[at]
	team.Open += cell.N
	if cell.UserID == 0 {
		team.Unassigned += cell.N
	}
	if cell.Awaiting {
		team.Waiting += cell.N
	}
}
