package helpdesk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// An operation that members are notified of leaves an occurrence in a job, in the same transaction. The job determines the
// recipients with a fixed number of queries and one insert, so the cost of filing mail does not depend on the number of
// members. A notification contains its occurrence's unique source, so running a job again notifies nobody twice.

// occurrence is an event that members are notified of.
type occurrence struct {
	Kind           NotificationKind `json:"kind"`
	ConversationID int64            `json:"conversation,omitempty"`
	InteractionID  int64            `json:"interaction,omitempty"`
	MailboxID      int64            `json:"mailbox,omitempty"`
	ActorID        int64            `json:"actor,omitempty"`
	UserIDs        []int64          `json:"users,omitempty"` // explicit recipients
	TeamID         int64            `json:"team,omitempty"`  // team whose members are recipients
}

// told is the payload of JobNotify.
type told struct {
	Source      string       `json:"source"`
	At          time.Time    `json:"at"`
	Occurrences []occurrence `json:"occurrences"`
}

// occurrencesPerJob keeps a payload far below the size limit of a job.
const occurrencesPerJob = 200

// notifyAfterCommit notifies members of occurrences after the transaction commits.
func (s *Service) notifyAfterCommit(ctx context.Context, tx Tx, accountID int64, all ...occurrence) error {
	var jobs []storage.Job
	for piece := range slices.Chunk(all, occurrencesPerJob) {
		payload, err := json.Marshal(told{Source: strings.ToLower(rand.Text()), At: s.now(), Occurrences: piece})
		if err != nil {
			return fault.Wrap(fault.Internal, "encoding a job", err)
		}
		jobs = append(jobs, storage.Job{Kind: JobNotify, AccountID: accountID, Payload: payload})
	}
	if len(jobs) == 0 {
		return nil
	}
	return tx.Enqueue(ctx, jobs...)
}

// assigned returns the occurrence of a conversation's new user or team, none if unchanged.
func (d *desk) assigned(old, c Conversation) []occurrence {
	var all []occurrence
	if c.UserID != 0 && c.UserID != old.UserID && c.UserID != d.userID {
		all = append(all, occurrence{Kind: NotifyAssigned, ConversationID: c.ID, ActorID: d.userID, UserIDs: []int64{c.UserID}})
	}
	if c.TeamID != 0 && c.TeamID != old.TeamID {
		all = append(all, occurrence{Kind: NotifyAssigned, ConversationID: c.ID, ActorID: d.userID, TeamID: c.TeamID})
	}
	return all
}

// said returns the occurrences of a new interaction in a conversation, which may itself be new.
func said(c Conversation, i Interaction, isNew bool, actor int64) []occurrence {
	switch {
	case i.Type != TypeCustomer || i.AutoSubmitted || !c.Status.Open():
		return nil
	case !isNew:
		return []occurrence{{Kind: NotifyReplied, ConversationID: c.ID, InteractionID: i.ID, ActorID: actor}}
	case c.unassigned():
		return []occurrence{{Kind: NotifyUnassigned, ConversationID: c.ID, InteractionID: i.ID, ActorID: actor}}
	}
	return nil
}

// eventNotified is the event of notifying members. Its data contains their ids.
const eventNotified = "notification.created"

// Notify runs a [JobNotify] job: it notifies the members who may now see what happened. Running it again notifies nobody
// twice.
func (j Jobs) Notify(ctx context.Context, job storage.ClaimedJob) error {
	var what told
	if err := json.Unmarshal(job.Payload, &what); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
		return j.svc.notify(ctx, tx, job.AccountID, what)
	})
	if fault.Is(err, fault.NotFound) || isUnique(err, UniqueNotification) {
		return nil // the account was deleted, or the job ran before
	}
	return err
}

func (s *Service) notify(ctx context.Context, tx Tx, accountID int64, what told) error {
	to, err := s.recipientsOf(ctx, tx.Reader(), what.Occurrences)
	if err != nil || len(to.members) == 0 {
		return err
	}
	var rows []Notification
	var events []storage.Event
	now := s.now()
	for n, o := range what.Occurrences {
		before := len(rows)
		for _, m := range to.of(o) {
			row := Notification{
				UserID: m.userID, Kind: o.Kind, ConversationID: o.ConversationID, InteractionID: o.InteractionID, ActorID: o.ActorID,
				Source: fmt.Sprintf("%s-%d", what.Source, n), CreatedAt: what.At,
				Shown: m.choices.Tells(o.Kind, ChannelDesk), Browser: m.choices.Tells(o.Kind, ChannelBrowser),
			}
			if o.ConversationID == 0 {
				row.MailboxID = o.MailboxID
			}
			if m.choices.Tells(o.Kind, ChannelMail) {
				row.MailAt = now.Add(s.cfg.NotifyAfter)
			}
			if row.Shown || row.Browser || !row.MailAt.IsZero() {
				rows = append(rows, row)
			}
		}
		if len(rows) > before {
			events = append(events, s.notified(to.mailboxOf(o), o, rows[before:], now))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	for piece := range slices.Chunk(rows, 500) {
		if err := tx.Notifications().Insert(ctx, storage.Pointers(piece)...); err != nil {
			return err
		}
	}
	if err := s.pushSoon(ctx, tx, accountID, rows); err != nil {
		return err
	}
	jobs := append(mailSoon(accountID, rows), storage.Job{
		Kind: JobPruneNotifications, AccountID: accountID, UniqueKey: fmt.Sprintf("notifications.prune/%d", accountID), RunAt: now.Add(24 * time.Hour),
	})
	if err := tx.Enqueue(ctx, jobs...); err != nil {
		return err
	}
	return tx.Emit(ctx, events...)
}

// notified returns the event for notifications of one occurrence. It belongs to the mailbox, so that nobody else sees it,
// and contains only ids.
func (s *Service) notified(mailboxID int64, o occurrence, rows []Notification, now time.Time) storage.Event {
	users := make([]int64, len(rows))
	for i, row := range rows {
		users[i] = row.UserID
	}
	subject := o.ConversationID
	if subject == 0 {
		subject = mailboxID
	}
	data, _ := json.Marshal(map[string]any{"id": subject, "conversation_id": o.ConversationID, "user_ids": users}) // integers always encode
	return storage.Event{Type: eventNotified, Subject: subject, MailboxID: mailboxID, ActorID: o.ActorID, Data: data, Time: now}
}

// reached is a member with the permissions that determine notifications.
type reached struct {
	userID    int64
	mailboxes []int64 // empty: all
	may       identity.Set
	choices   NotifyChoices
}

func (m reached) sees(mailboxID int64) bool {
	return len(m.mailboxes) == 0 || slices.Contains(m.mailboxes, mailboxID)
}

// toldOf are an account's members, and the subjects of some occurrences.
type toldOf struct {
	members       map[int64]reached
	conversations map[int64]Conversation
	followers     map[int64][]int64 // by conversation
	teams         map[int64]Team
}

// recipientsOf reads everything that determines the recipients, with a fixed number of queries for any number of members and
// occurrences.
func (s *Service) recipientsOf(ctx context.Context, r Reader, all []occurrence) (toldOf, error) {
	to := toldOf{members: map[int64]reached{}, conversations: map[int64]Conversation{}, followers: map[int64][]int64{}, teams: map[int64]Team{}}
	var ids []int64
	for _, o := range all {
		if o.ConversationID != 0 {
			ids = append(ids, o.ConversationID)
		}
	}
	if ids = sortedSet(ids); len(ids) > 0 {
		found, err := r.Conversations().ByIDs(ctx, ids)
		if err != nil {
			return to, err
		}
		for _, c := range found {
			to.conversations[c.ID] = c
		}
		who, err := r.Followers(ctx, ids)
		if err != nil {
			return to, err
		}
		for _, f := range who {
			if f.Follows {
				to.followers[f.ConversationID] = append(to.followers[f.ConversationID], f.UserID)
			}
		}
		if err := to.findTeams(ctx, r, found); err != nil {
			return to, err
		}
	}
	roles, err := roleNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return to, err
	}
	byID := map[int64]identity.Role{}
	for _, role := range roles {
		byID[role.ID] = role
	}
	chosen, err := r.NotifyChoices(ctx, nil)
	if err != nil {
		return to, err
	}
	choices := map[int64]NotifyChoices{}
	for _, c := range chosen {
		choices[c.UserID] = c
	}
	members, err := r.Memberships().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	for _, m := range members {
		grant := identity.Grant{Membership: m}
		for _, id := range m.RoleIDs {
			if role, known := byID[id]; known {
				grant.Roles = append(grant.Roles, role)
			}
		}
		to.members[m.UserID] = reached{userID: m.UserID, mailboxes: m.MailboxIDs, may: s.held(grant, nil), choices: choices[m.UserID]}
	}
	return to, err
}

// findTeams reads the teams of conversations.
func (t toldOf) findTeams(ctx context.Context, r Reader, all []Conversation) error {
	var ids []int64
	for _, c := range all {
		if c.TeamID != 0 {
			ids = append(ids, c.TeamID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := teamNoun().Reader(r).ByIDs(ctx, sortedSet(ids))
	for _, team := range found {
		t.teams[team.ID] = team
	}
	return err
}

// assignedTeam returns the members of the team that a conversation was assigned to. An assigned user is an explicit
// recipient.
func (t toldOf) assignedTeam(o occurrence, c Conversation) []int64 {
	if c.TeamID != o.TeamID {
		return nil // assigned to another team in the meantime
	}
	if c.UserID != 0 && t.teams[c.TeamID].Assignment.On() {
		return nil // the team has handed it out, which its new user is told
	}
	return slices.DeleteFunc(slices.Clone(t.teams[c.TeamID].MemberIDs), func(id int64) bool { return id == c.UserID })
}

func (t toldOf) mailboxOf(o occurrence) int64 {
	if o.ConversationID != 0 {
		return t.conversations[o.ConversationID].MailboxID
	}
	return o.MailboxID
}

// of returns the recipients of an occurrence, by id: those concerned who may now see it and did not cause it.
func (t toldOf) of(o occurrence) []reached {
	c, there := t.conversations[o.ConversationID]
	if o.ConversationID != 0 && !there {
		return nil // deleted, or merged into another
	}
	var users []int64
	switch o.Kind {
	case NotifyReplied:
		users = append(slices.Clone(t.followers[c.ID]), c.UserID)
		if c.UserID == 0 {
			users = append(users, t.teams[c.TeamID].MemberIDs...)
		}
	case NotifyFailed:
		users = append(slices.Clone(o.UserIDs), c.UserID)
	case NotifyAssigned:
		if o.TeamID != 0 {
			users = t.assignedTeam(o, c)
			break
		}
		if c.UserID == 0 || !slices.Contains(o.UserIDs, c.UserID) {
			return nil // assigned to another user in the meantime
		}
		users = o.UserIDs
	case NotifyUnassigned:
		if !c.unassigned() {
			return nil // assigned in the meantime
		}
		users = slices.Collect(maps.Keys(t.members))
	case NotifyMailbox:
		users = slices.Collect(maps.Keys(t.members))
	default:
		users = o.UserIDs
	}
	var all []reached
	for _, id := range sortedSet(users) {
		m, member := t.members[id]
		if member && id != o.ActorID && m.sees(t.mailboxOf(o)) && m.isFor(o.Kind) {
			all = append(all, m)
		}
	}
	return all
}

// isFor reports whether a member has the permissions to see the subjects of a kind.
func (m reached) isFor(k NotificationKind) bool {
	if k == NotifyMailbox {
		return m.may.Has(identity.MailboxesUpdate)
	}
	return m.may.Has(identity.ConversationsView) && m.may.Has(identity.InteractionsView)
}

// PruneNotifications runs a [JobPruneNotifications] job: it removes notifications beyond the limits of age and number.
func (j Jobs) PruneNotifications(ctx context.Context, job storage.ClaimedJob) error {
	const batch = 1000
	for removed := batch; removed == batch; {
		err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) (err error) {
			removed, err = tx.PruneNotifications(ctx, j.svc.now().Add(-notificationLifetime), keepNotifications, batch)
			return err
		})
		if fault.Is(err, fault.NotFound) {
			return nil // the account was deleted
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// needsAttention reports whether a mailbox needs a member's attention.
func needsAttention(s ledger.FetchStatus) bool {
	switch {
	case !s.ParkedAt.IsZero() || s.NeedsReauth:
		return true
	case s.Connected || s.LastErrorAt.IsZero() || s.LastSuccessAt.IsZero():
		return false
	}
	return s.LastErrorAt.Sub(s.LastSuccessAt) >= ledger.FailingLong
}

// tellBegun notifies members of a conversation that a caller starts with some interactions: of its assignment, of mentions,
// and of a waiting customer without assignee.
func (d *desk) tellBegun(ctx context.Context, tx Tx, c Conversation, said []Interaction) error {
	all := d.assigned(Conversation{}, c)
	waits := slices.IndexFunc(said, func(i Interaction) bool { return i.Type == TypeCustomer })
	if c.unassigned() && waits >= 0 && c.Status.Open() {
		all = append(all, occurrence{Kind: NotifyUnassigned, ConversationID: c.ID, InteractionID: said[waits].ID, ActorID: d.userID})
	}
	for _, i := range said {
		mentioned, err := d.mentioned(ctx, tx, c, i, nil)
		if err != nil {
			return err
		}
		all = append(all, mentioned...)
	}
	return d.svc.notifyAfterCommit(ctx, tx, d.scope.AccountID, all...)
}

// tellSaid notifies members of an interaction that a caller added or changed. Members mentioned in the previous body are not
// notified again.
func (d *desk) tellSaid(ctx context.Context, tx Tx, c Conversation, i Interaction, before []int64) error {
	all, err := d.mentioned(ctx, tx, c, i, before)
	if err != nil {
		return err
	}
	return d.svc.notifyAfterCommit(ctx, tx, d.scope.AccountID, append(all, said(c, i, false, d.userID)...)...)
}
