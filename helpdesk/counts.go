package helpdesk

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage"
)

// MaxCount is how far Drafts, Undelivered and Spam of [Counts] are counted.
const MaxCount = 1000

// Counts are the numbers that a desk shows beside its lists, within the member's
// mailboxes. Open are conversations that are posted or pending and do not sleep.
type Counts struct {
	Mine        int64 // open and assigned to the caller
	Unassigned  int64 // open and assigned to no user and no team
	Open        int64
	Waiting     int64 // open, and a customer waits for an answer
	Snoozed     int64 // posted or pending, and asleep
	Drafts      int64 // with a draft of the caller; at most [MaxCount]
	Undelivered int64 // posted or pending, with an answer that did not reach somebody; at most [MaxCount]
	Quarantined int64 // mails that could not be filed; at most [MaxCount], and 0 without mailboxes.connection
	Spam        int64 // conversations that are spam; at most [MaxCount]
	Mailboxes   []MailboxCounts
	Teams       []TeamCounts // by id
	Views       []ViewCounts // by id; see [Desk.Counts] for which
}

// ViewCounts are the numbers of one saved view.
type ViewCounts struct {
	ViewID        int64
	Conversations int64 // that the view shows to the caller
}

// TeamCounts are the numbers of one team that has open conversations.
type TeamCounts struct {
	TeamID     int64
	Open       int64
	Unassigned int64 // to no user
	Waiting    int64
}

// MailboxCounts are the numbers of one mailbox that has open conversations.
type MailboxCounts struct {
	MailboxID  int64
	Open       int64
	Unassigned int64
	Waiting    int64
}

// ConversationCount is how many conversations there are that have all the rest in common.
type ConversationCount struct {
	TagID     int64 // one of their tags; 0: with whatever tags
	MailboxID int64
	UserID    int64 // 0: none
	TeamID    int64 // 0: none
	Status    Status
	Priority  Priority
	Awaiting  bool // customers wait for an answer
	Snoozed   bool
	Spam      bool
	N         int64
}

// CountReader counts conversations.
type CountReader interface {
	// ConversationCounts returns the counts that are not 0 of all conversations, and once more of those with each of
	// some tags. They come in the order of the fields of [ConversationCount], false first. They are kept while
	// conversations are written, and cost the same however many there are.
	ConversationCounts(ctx context.Context, tagIDs ...int64) ([]ConversationCount, error)
	// Count counts several things at once: what each filter finds, in their order, and last the mails that could not be
	// filed, if they are asked for.
	Count(ctx context.Context, q CountQuery) ([]int64, error)
}

// CountQuery is what [CountReader] is to count.
type CountQuery struct {
	Conversations []ConversationFilter
	Quarantined   bool // count the mails that could not be filed, too
	Limit         int  // of each number: it is counted no further
}

// Open reports whether a conversation of the status is at work: posted or pending.
func (s Status) Open() bool { return s == StatusPosted || s == StatusPending }

// maxCountedViews bounds of how many saved views Counts tells the numbers.
const maxCountedViews = 100

// Counts returns the numbers beside the lists of the desk. It needs conversations.view.
//
// Of saved views it tells those whose filter asks for nothing but mailbox, user, team, one
// tag, status, priority, spam, and who waits or sleeps: what conversations are counted by
// while they change. To count what others find would take the longer the more conversations
// there are, so these have no number. There are at most 100, the oldest first, and none
// without views.view.
func (d *Desk) Counts(ctx context.Context) (Counts, error) {
	return d.counts(ctx, func(r Reader) ([]View, error) {
		return r.Views().List(ctx, storage.NoFilter{}, storage.Seek{Limit: maxCountedViews})
	})
}

// CountsOf is [Desk.Counts] of the saved views that are given, which are not read again.
func (d *Desk) CountsOf(ctx context.Context, views []View) (Counts, error) {
	return d.counts(ctx, func(Reader) ([]View, error) { return views, nil })
}

func (d *Desk) counts(ctx context.Context, read func(Reader) ([]View, error)) (Counts, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return Counts{}, err
	}
	var views []countedView
	if d.guard.Allows(ViewsView) {
		all, err := read(r)
		if err != nil {
			return Counts{}, err
		}
		views = d.countedViews(all)
	}
	cells, err := r.ConversationCounts(ctx, viewTags(views)...)
	if err != nil {
		return Counts{}, err
	}
	var counts Counts
	for _, cell := range cells {
		if cell.TagID == 0 {
			counts.add(cell, d.userID)
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
	q := CountQuery{
		Conversations: []ConversationFilter{
			{DraftBy: d.userID}, {Spam: storage.Some(true)}, {Undelivered: true, Statuses: []Status{StatusPosted, StatusPending}},
		},
		Quarantined: d.guard.Allows(MailboxesConnection), Limit: MaxCount,
	}
	found, err := r.Count(ctx, q)
	if err != nil {
		return Counts{}, err
	}
	counts.Drafts, counts.Spam, counts.Undelivered = found[0], found[1], found[2]
	if q.Quarantined {
		counts.Quarantined = found[3]
	}
	return counts, nil
}

// countedView is a saved view that is counted.
type countedView struct {
	id     int64
	filter ConversationFilter
	n      int64
}

// countedViews are those of views that are counted.
func (d *Desk) countedViews(views []View) []countedView {
	var counted []countedView
	for _, v := range views {
		q, ok := v.Filter.Query(d.userID)
		if f := q.filter(); ok && q.Query == "" && f.counted() {
			counted = append(counted, countedView{id: v.ID, filter: f})
		}
	}
	return counted
}

// viewTags are the tags that views ask for.
func viewTags(views []countedView) []int64 {
	var tags []int64
	for _, v := range views {
		tags = append(tags, v.filter.TagIDs...)
	}
	return sortedSet(tags)
}

// counted reports whether a filter narrows by nothing but what conversations are counted by.
func (f ConversationFilter) counted() bool {
	return f.CustomerID == 0 && f.UpdatedSince.IsZero() && len(f.Terms) == 0 && len(f.TagIDs) <= 1 && len(f.Audience) == 0 &&
		f.DraftBy == 0 && !f.Undelivered
}

// has reports whether a filter that is counted finds the conversations of a cell.
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

// add adds conversations to the numbers of a user. They come by their mailboxes.
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
