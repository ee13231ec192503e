package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// NotificationKind is the kind of event that a member is notified of.
type NotificationKind string

// The kinds of notifications. More may be added.
const (
	NotifyAssigned   NotificationKind = "assigned"   // a conversation was assigned to the member
	NotifyUnassigned NotificationKind = "unassigned" // a new conversation without an assignee
	NotifyReplied    NotificationKind = "replied"    // a customer wrote in a conversation that is the member's, or that the member follows
	NotifyMentioned  NotificationKind = "mentioned"  // somebody mentioned the member in a note
	NotifyFailed     NotificationKind = "failed"     // a reply by the member, or in their conversation, was not delivered
	NotifyMailbox    NotificationKind = "mailbox"    // a mailbox is no longer fetched
	NotifyRule       NotificationKind = "rule"       // a rule tells the member about a conversation
)

// NotificationKinds lists all kinds, in the order in which settings show them.
func NotificationKinds() []NotificationKind {
	return []NotificationKind{NotifyAssigned, NotifyUnassigned, NotifyReplied, NotifyMentioned, NotifyFailed, NotifyMailbox, NotifyRule}
}

// NotificationChannel is a way of notifying a member.
type NotificationChannel string

// The channels.
const (
	ChannelDesk    NotificationChannel = "desk"    // in the list of notifications
	ChannelBrowser NotificationChannel = "browser" // by the browser, while the desk is open in it, and on every PushDevice
	ChannelMail    NotificationChannel = "mail"    // by mail, unless read before
)

// NotificationChannels lists all channels, in the order in which settings show them.
func NotificationChannels() []NotificationChannel {
	return []NotificationChannel{ChannelDesk, ChannelBrowser, ChannelMail}
}

// Notification notifies a user of another's action. It is kept for 90 days, within the newest 500 of its user.
type Notification struct {
	ID             int64
	UserID         int64 // the recipient
	Kind           NotificationKind
	ConversationID int64     // its conversation; 0: none
	InteractionID  int64     // in the conversation; 0: none. It may no longer exist
	MailboxID      int64     // its mailbox, if it has no conversation
	ActorID        int64     // the actor; 0: a customer or the system
	Source         string    // identifies the event, so that a user is notified of each only once
	Shown          bool      // in the desk's list
	Browser        bool      // also shown by the browser
	MailAt         time.Time // when it is due by mail; zero: not due, or sent
	ReadAt         time.Time // zero: unread
	CreatedAt      time.Time
}

// UniqueNotification is the code of a store's Conflict fault for a duplicate (account, UserID, Source).
const UniqueNotification = "notification"

// NotificationFilter narrows a list of notifications.
type NotificationFilter struct {
	UserID         int64   // the recipient; required
	ConversationID int64   // 0: all
	MailboxID      int64   // only of those without a conversation; 0: all
	Shown          bool    // only those in the desk's list
	Browser        bool    // only those shown by the browser
	Unread         bool    // only unread ones
	ToMail         bool    // only those with a MailAt
	UpTo           int64   // IDs up to this one; 0: all
	IDs            []int64 // these; nil: all
}

// NotificationMark is what [NotificationWriter.MarkNotifications] sets.
type NotificationMark string

// The marks.
const (
	MarkedRead   NotificationMark = "read"   // ReadAt
	MarkedMailed NotificationMark = "mailed" // MailAt becomes zero
)

// NotifyChoice is a member's choice of channels for a kind.
type NotifyChoice struct {
	Kind     NotificationKind      `json:"kind"`
	Channels []NotificationChannel `json:"channels"`
}

// NotifyChoices are a member's choices. Kinds without one have their defaults.
type NotifyChoices struct {
	UserID  int64
	Choices []NotifyChoice
}

// Follower records that a user follows a conversation, or explicitly does not.
type Follower struct {
	ConversationID int64
	UserID         int64
	Follows        bool
	CreatedAt      time.Time // time of that decision
}

// NotificationReader reads followers and choices.
type NotificationReader interface {
	// Followers lists the followers of conversations, including those who stopped following, by conversation and user.
	Followers(ctx context.Context, conversationIDs []int64) ([]Follower, error)
	// NotifyChoices lists users' choices, by user; without ids, of all users.
	NotifyChoices(ctx context.Context, userIDs []int64) ([]NotifyChoices, error)
}

// NotificationWriter changes followers, choices and notifications.
type NotificationWriter interface {
	// SaveFollowers writes followers and replaces the previous row of the same user.
	SaveFollowers(ctx context.Context, all []Follower) error
	// SaveNotifyChoices writes a user's choices.
	SaveNotifyChoices(ctx context.Context, c NotifyChoices) error
	// MarkNotifications marks the matches of a filter and returns their number. A read notification keeps its time.
	MarkNotifications(ctx context.Context, filter NotificationFilter, mark NotificationMark, at time.Time) (int, error)
	// PruneNotifications removes at most n of the account's notifications, even outside the scope, that were made before a time
	// or are not among the newest keep of their user. It returns the number removed.
	PruneNotifications(ctx context.Context, before time.Time, keep, n int) (int, error)
}

// Limits of keeping, counting and showing notifications.
const (
	keepNotifications     = 500
	notificationLifetime  = 90 * 24 * time.Hour
	MaxNotificationsCount = 100 // limit of counting unread ones
	browserNotifications  = 5   // shown by a browser at a time
	browserLifetime       = 5 * time.Minute
)

// onByDefault reports the default for a kind in a channel.
func onByDefault(k NotificationKind, c NotificationChannel) bool {
	return c != ChannelMail || k != NotifyUnassigned
}

// Tells reports whether a channel is chosen for a kind.
func (c NotifyChoices) Tells(k NotificationKind, in NotificationChannel) bool {
	for _, choice := range c.Choices {
		if choice.Kind == k {
			return slices.Contains(choice.Channels, in)
		}
	}
	return onByDefault(k, in)
}

// all adds the defaults to the choices, in the order of NotificationKinds.
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

// checkChoices adds problems for invalid choices, on fields named by kind.
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
	problems.Check(len(all) <= len(NotificationKinds()), "choices", "lists a kind twice")
}

// Notifications are the member's own notifications and the browsers that show them.
type Notifications struct{ *desk }

// Notifications returns the handle of the member's notifications.
func (d *Desk) Notifications() Notifications { return Notifications{&d.desk} }

// Choices returns the caller's channels for each kind, with defaults where nothing was chosen.
func (d Notifications) Choices(ctx context.Context) (NotifyChoices, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return NotifyChoices{}, err
	}
	if err := d.ownRow(ctx, r.Memberships()); err != nil {
		return NotifyChoices{}, err
	}
	return d.notifyChoices(ctx, r)
}

// ownRow reads the caller's membership before rows that may not exist yet, because a conditional change needs an existing
// row to lock.
func (d *desk) ownRow(ctx context.Context, rows storage.RowReader[identity.Membership, storage.NoFilter]) error {
	_, err := rows.Get(ctx, d.membershipID)
	return err
}

func (d *desk) notifyChoices(ctx context.Context, r interface {
	NotifyChoices(ctx context.Context, userIDs []int64) ([]NotifyChoices, error)
}) (NotifyChoices, error) {
	own := NotifyChoices{UserID: d.userID}
	found, err := r.NotifyChoices(ctx, []int64{d.userID})
	if len(found) > 0 {
		own = found[0]
	}
	return own.all(), err
}

// Choose sets the caller's channels for some kinds and leaves others unchanged. It returns all choices.
func (d Notifications) Choose(ctx context.Context, choices []NotifyChoice) (NotifyChoices, error) {
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

// List lists the caller's notifications in the desk, newest first, optionally only unread ones. It omits those
// about conversations or mailboxes that the caller no longer reaches. It needs conversations.view.
func (d Notifications) List(ctx context.Context, unread bool, req storage.PageRequest) (storage.Page[Notification], error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return storage.Page[Notification]{}, err
	}
	filter := NotificationFilter{UserID: d.userID, Shown: true, Unread: unread}
	return storage.List(req, true, func(n Notification) storage.Position { return storage.Position{ID: n.ID} },
		func(seek storage.Seek) ([]Notification, error) { return r.Notifications().List(ctx, filter, seek) })
}

// Unread counts the caller's unread notifications in the desk, up to [MaxNotificationsCount]. It needs
// conversations.view.
func (d Notifications) Unread(ctx context.Context) (int, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return 0, err
	}
	found, err := r.Count(ctx, CountQuery{Notifications: []NotificationFilter{d.unreadNotifications()}, Limit: MaxNotificationsCount})
	if err != nil {
		return 0, err
	}
	return int(found.Notifications[0]), nil
}

// unreadNotifications are the caller's unread notifications in the desk.
func (d *desk) unreadNotifications() NotificationFilter {
	return NotificationFilter{UserID: d.userID, Shown: true, Unread: true}
}

// ForBrowser returns the notifications that the caller's browser shows now, newest first: at most 5 unread ones
// from the last 5 minutes, with an ID above after. It needs conversations.view.
func (d Notifications) ForBrowser(ctx context.Context, after int64) ([]Notification, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	found, err := r.Notifications().List(ctx, NotificationFilter{UserID: d.userID, Browser: true, Unread: true}, storage.Seek{Limit: browserNotifications, Desc: true})
	since := d.svc.now().Add(-browserLifetime)
	return slices.DeleteFunc(found, func(n Notification) bool { return n.ID <= after || n.CreatedAt.Before(since) }), err
}

// Get returns one of the caller's notifications. Another user's is a NotFound fault. It needs conversations.view.
func (d Notifications) Get(ctx context.Context, id int64) (Notification, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return Notification{}, err
	}
	n, err := r.Notifications().Get(ctx, id)
	if err == nil && n.UserID != d.userID {
		err = fault.Missing("notification", id)
	}
	if err != nil {
		return Notification{}, err
	}
	return n, nil
}

// MarkRead marks one of the caller's notifications as read. Another user's is a NotFound fault. It needs
// conversations.view.
func (d Notifications) MarkRead(ctx context.Context, id int64) (Notification, error) {
	begin, err := d.guard.Write(identity.ConversationsView)
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

// MarkAllRead marks the caller's notifications as read: those of a conversation, or all (0), with an ID up to upTo (0:
// all). Reading a conversation also does so, see [Conversations.MarkRead]. It needs conversations.view.
func (d Notifications) MarkAllRead(ctx context.Context, conversationID, upTo int64) error {
	begin, err := d.guard.Write(identity.ConversationsView)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		filter := NotificationFilter{UserID: d.userID, ConversationID: conversationID, Unread: true, UpTo: upTo}
		_, err := tx.MarkNotifications(ctx, filter, MarkedRead, d.svc.now())
		return err
	})
}

// readNotifications marks the caller's notifications of a conversation as read.
func (d *desk) readNotifications(ctx context.Context, tx Tx, conversationID int64) error {
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
