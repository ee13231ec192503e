package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// NotificationKind says what a member is told of.
type NotificationKind string

// The kinds of notifications. More may be added.
const (
	NotifyAssigned   NotificationKind = "assigned"   // a conversation was assigned to the member
	NotifyUnassigned NotificationKind = "unassigned" // a new conversation that nobody has yet
	NotifyReplied    NotificationKind = "replied"    // a customer wrote in a conversation that is the member's, or that they follow
	NotifyMentioned  NotificationKind = "mentioned"  // somebody mentioned the member in a note
	NotifyFailed     NotificationKind = "failed"     // an answer of the member's, or in their conversation, was not delivered
	NotifyMailbox    NotificationKind = "mailbox"    // mail of a mailbox is not fetched any more
)

// NotificationKinds lists all kinds, in the order in which settings show them.
func NotificationKinds() []NotificationKind {
	return []NotificationKind{NotifyAssigned, NotifyUnassigned, NotifyReplied, NotifyMentioned, NotifyFailed, NotifyMailbox}
}

// NotificationChannel is a way to tell a member something.
type NotificationChannel string

// The channels.
const (
	ChannelDesk    NotificationChannel = "desk"    // in the list of notifications
	ChannelBrowser NotificationChannel = "browser" // by the browser, while the desk is open in it
	ChannelMail    NotificationChannel = "mail"    // by mail, unless it was read before
)

// NotificationChannels lists all channels, in the order in which settings show them.
func NotificationChannels() []NotificationChannel {
	return []NotificationChannel{ChannelDesk, ChannelBrowser, ChannelMail}
}

// Notification tells a user of something that somebody else did. It is kept for 90 days,
// and of each user the newest 500.
type Notification struct {
	ID             int64
	UserID         int64 // whom it tells
	Kind           NotificationKind
	ConversationID int64     // that it is about; 0: none
	InteractionID  int64     // in the conversation; 0: none, and it may be gone
	MailboxID      int64     // that it is about, of one without a conversation
	ActorID        int64     // who did it; 0: a customer or the system
	Source         string    // of which act it tells: a user is told once of each
	Shown          bool      // it stands in the desk's list
	Browser        bool      // the browser tells it, too
	MailAt         time.Time // when it is due by mail; zero: it is not, or was sent
	ReadAt         time.Time // zero: it is unread
	CreatedAt      time.Time
}

// UniqueNotification is the code of the Conflict fault of a store for a second
// notification with the same (account, UserID, Source).
const UniqueNotification = "notification"

// NotificationFilter narrows a list of notifications.
type NotificationFilter struct {
	UserID         int64   // whose; required
	ConversationID int64   // 0: of all
	MailboxID      int64   // 0: of all; those without a conversation only
	Shown          bool    // those that stand in the desk's list
	Browser        bool    // those that the browser tells
	Unread         bool    // those that are not read
	ToMail         bool    // those with a MailAt
	UpTo           int64   // ids up to this one; 0: all
	IDs            []int64 // these; nil: all
}

// NotificationMark is what [NotificationWriter.MarkNotifications] sets.
type NotificationMark string

// The marks.
const (
	MarkedRead   NotificationMark = "read"   // ReadAt
	MarkedMailed NotificationMark = "mailed" // MailAt becomes zero
)

// NotifyChoice is in which channels a member wants to be told of a kind.
type NotifyChoice struct {
	Kind     NotificationKind      `json:"kind"`
	Channels []NotificationChannel `json:"channels"`
}

// NotifyChoices are what a member has chosen. Kinds that are not there have their
// defaults.
type NotifyChoices struct {
	UserID  int64
	Choices []NotifyChoice
}

// Follower is that a user follows a conversation, or has said that they do not.
type Follower struct {
	ConversationID int64
	UserID         int64
	Follows        bool
	CreatedAt      time.Time // when that was said
}

// NotificationReader reads followers, choices and how many notifications there are.
type NotificationReader interface {
	// Followers are the followers of conversations, also those who do not follow any
	// more, by conversation and user.
	Followers(ctx context.Context, conversationIDs []int64) ([]Follower, error)
	// NotifyChoices are what users have chosen, by user; of all users without ids.
	NotifyChoices(ctx context.Context, userIDs []int64) ([]NotifyChoices, error)
	// CountNotifications counts those that match a filter, no further than limit.
	CountNotifications(ctx context.Context, filter NotificationFilter, limit int) (int, error)
}

// NotificationWriter changes followers, choices and notifications.
type NotificationWriter interface {
	// SaveFollowers writes followers, each instead of what there was of the same user.
	SaveFollowers(ctx context.Context, all []Follower) error
	// SaveNotifyChoices writes what a user has chosen.
	SaveNotifyChoices(ctx context.Context, c NotifyChoices) error
	// MarkNotifications marks those that match a filter, and returns how many did. What is
	// read stays read at its time.
	MarkNotifications(ctx context.Context, filter NotificationFilter, mark NotificationMark, at time.Time) (int, error)
	// PruneNotifications removes at most n of the account's, in the scope or not, that were
	// made before a time or are not among the newest keep of their user, and returns how
	// many there were.
	PruneNotifications(ctx context.Context, before time.Time, keep, n int) (int, error)
}

// What is kept of notifications, and how many are counted.
const (
	keepNotifications     = 500
	notificationLifetime  = 90 * 24 * time.Hour
	MaxNotificationsCount = 100 // so far unread ones are counted
	browserNotifications  = 5   // are told by a browser at a time
	browserLifetime       = 5 * time.Minute
)

// onByDefault is whether a kind is told in a channel to who has chosen nothing.
func onByDefault(k NotificationKind, c NotificationChannel) bool {
	return c != ChannelMail || k != NotifyUnassigned
}

// Tells reports whether a kind is told in a channel.
func (c NotifyChoices) Tells(k NotificationKind, in NotificationChannel) bool {
	for _, choice := range c.Choices {
		if choice.Kind == k {
			return slices.Contains(choice.Channels, in)
		}
	}
	return onByDefault(k, in)
}

// all completes the choices by the defaults, in the order of NotificationKinds.
func (c NotifyChoices) all() NotifyChoices {
	full := NotifyChoices{UserID: c.UserID}
	for _, k := range NotificationKinds() {
		choice := NotifyChoice{Kind: k}
		for _, in := range NotificationChannels() {
			if c.Tells(k, in) {
				choice.Channels = append(choice.Channels, in)
			}
		}
		full.Choices = append(full.Choices, choice)
	}
	return full
}

// check notes what no choice can be, with problems on fields named by kind.
func checkChoices(problems *fault.Collector, all []NotifyChoice) {
	for i, choice := range all {
		known := slices.Contains(NotificationKinds(), choice.Kind)
		problems.Check(known, fmt.Sprintf("choices[%d][kind]", i), "must be assigned, unassigned, replied, mentioned, failed or mailbox")
		for n, in := range choice.Channels {
			if known {
				problems.Check(slices.Contains(NotificationChannels(), in), fmt.Sprintf("%s[%d]", choice.Kind, n), "must be desk, browser or mail")
			}
		}
	}
	problems.Check(len(all) <= len(NotificationKinds()), "choices", "has a kind twice")
}

// NotifyChoices returns in which channels the caller is told of each kind, with the
// defaults where nothing was chosen.
func (d *Desk) NotifyChoices(ctx context.Context) (NotifyChoices, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return NotifyChoices{}, err
	}
	if err := d.ownRow(ctx, r.Memberships()); err != nil {
		return NotifyChoices{}, err
	}
	return d.notifyChoices(ctx, r)
}

// ownRow reads the caller's membership before what they may have none of yet: a
// conditional change locks what it reads, and there has to be something.
func (d *Desk) ownRow(ctx context.Context, rows storage.RowReader[Membership, storage.NoFilter]) error {
	_, err := rows.Get(ctx, d.membershipID)
	return err
}

func (d *Desk) notifyChoices(ctx context.Context, r interface {
	NotifyChoices(ctx context.Context, userIDs []int64) ([]NotifyChoices, error)
}) (NotifyChoices, error) {
	own := NotifyChoices{UserID: d.userID}
	found, err := r.NotifyChoices(ctx, []int64{d.userID})
	if len(found) > 0 {
		own = found[0]
	}
	return own.all(), err
}

// ChooseNotifications sets in which channels the caller is told of some kinds; others
// stay as they are. It returns all.
func (d *Desk) ChooseNotifications(ctx context.Context, choices []NotifyChoice) (NotifyChoices, error) {
	begin, err := d.guard.Write(anyMember)
	if err != nil {
		return NotifyChoices{}, err
	}
	var problems fault.Collector
	checkChoices(&problems, choices)
	if err := problems.Err(); err != nil {
		return NotifyChoices{}, err
	}
	var chosen NotifyChoices
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Memberships().Lock(ctx, d.membershipID); err != nil {
			return err
		}
		if chosen, err = d.notifyChoices(ctx, tx); err != nil {
			return err
		}
		for _, choice := range choices {
			at := slices.Index(NotificationKinds(), choice.Kind)
			chosen.Choices[at].Channels = slices.Clone(choice.Channels)
		}
		chosen = chosen.all() // in one order
		return tx.SaveNotifyChoices(ctx, chosen)
	})
	return chosen, err
}

// Notifications lists what the caller was told in the desk, newest first; unread ones
// alone if asked for. What is about conversations or mailboxes that the caller does not
// reach any more is left out. It needs conversations.view.
func (d *Desk) Notifications(ctx context.Context, unread bool, req storage.PageRequest) (storage.Page[Notification], error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return storage.Page[Notification]{}, err
	}
	filter := NotificationFilter{UserID: d.userID, Shown: true, Unread: unread}
	return storage.List(req, true, func(n Notification) storage.Position { return storage.Position{ID: n.ID} },
		func(seek storage.Seek) ([]Notification, error) { return r.Notifications().List(ctx, filter, seek) })
}

// UnreadNotifications counts what the caller was told in the desk and has not read, up
// to [MaxNotificationsCount]. It needs conversations.view.
func (d *Desk) UnreadNotifications(ctx context.Context) (int, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return 0, err
	}
	return r.CountNotifications(ctx, NotificationFilter{UserID: d.userID, Shown: true, Unread: true}, MaxNotificationsCount)
}

// BrowserNotifications are what the caller's browser tells now, newest first: at most 5 of
// the last 5 minutes that are unread, and newer than the one with the id after. It needs
// conversations.view.
func (d *Desk) BrowserNotifications(ctx context.Context, after int64) ([]Notification, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return nil, err
	}
	found, err := r.Notifications().List(ctx, NotificationFilter{UserID: d.userID, Browser: true, Unread: true}, storage.Seek{Limit: browserNotifications, Desc: true})
	since := d.svc.now().Add(-browserLifetime)
	return slices.DeleteFunc(found, func(n Notification) bool { return n.ID <= after || n.CreatedAt.Before(since) }), err
}

// ReadNotification marks one of the caller's notifications read. Another's is a NotFound
// fault. It needs conversations.view.
func (d *Desk) ReadNotification(ctx context.Context, id int64) (Notification, error) {
	begin, err := d.guard.Write(ConversationsView)
	if err != nil {
		return Notification{}, err
	}
	var n Notification
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		n, err = tx.Notifications().Lock(ctx, id)
		if err == nil && n.UserID != d.userID {
			err = fault.Missing("notification", id)
		}
		if err != nil || !n.ReadAt.IsZero() {
			return err
		}
		n.ReadAt = d.svc.now()
		return tx.Notifications().Update(ctx, &n)
	})
	if err != nil {
		return Notification{}, err
	}
	return n, nil
}

// ReadNotifications marks the caller's notifications read, those of a conversation or
// all of them (0), as far as the one with the id upTo (0: the last one). Reading a
// conversation does so too, see [Desk.MarkRead]. It needs conversations.view.
func (d *Desk) ReadNotifications(ctx context.Context, conversationID, upTo int64) error {
	begin, err := d.guard.Write(ConversationsView)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		filter := NotificationFilter{UserID: d.userID, ConversationID: conversationID, Unread: true, UpTo: upTo}
		_, err := tx.MarkNotifications(ctx, filter, MarkedRead, d.svc.now())
		return err
	})
}

// readNotifications marks read what the caller was told of a conversation that they read.
func (d *Desk) readNotifications(ctx context.Context, tx Tx, conversationID int64) error {
	_, err := tx.MarkNotifications(ctx, NotificationFilter{UserID: d.userID, ConversationID: conversationID, Unread: true}, MarkedRead, d.svc.now())
	return err
}

// notificationNoun declares the rows of notifications.
func notificationNoun() storage.Noun[Notification] {
	return storage.Noun[Notification]{
		Name:        "notification",
		ID:          func(n *Notification) *int64 { return &n.ID },
		InMailboxes: true,
		Unique: []storage.Unique[Notification]{
			{Code: UniqueNotification, Fields: func(n *Notification) []any { return []any{&n.UserID, &n.Source} }},
		},
	}
}
