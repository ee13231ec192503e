package helpdesk_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// secret is in everything that a member of the first mailbox does not reach.
const secret = "zanzibar"

// beyond is a desk with a member who owns all but is limited to the first mailbox, and objects in the second.
type beyond struct {
	*bundle
	some         *helpdesk.Desk
	member       identity.Membership // of some
	box          helpdesk.Mailbox
	conversation helpdesk.Conversation
	merged       int64 // a conversation that was merged into it
	question     helpdesk.Interaction
	answer       helpdesk.Interaction
	file         helpdesk.Attachment
	mail         ledger.Mail       // that was ignored
	grace        helpdesk.Customer // has written to both mailboxes
	near         helpdesk.Conversation
	tag          int64
	team         helpdesk.Team
	view         helpdesk.View
	hook         subscription.Webhook
	role         identity.Role
	domain       sending.Domain
	portalKey    helpdesk.PortalKey
	pgpKey       helpdesk.AddressedKey
	suppression  sending.Suppression
	blocked      helpdesk.BlockedSender
	reply        helpdesk.SavedReply
	replyFile    helpdesk.ReplyFile
	invitation   identity.Invitation
	joinRule     identity.JoinRule
	told         map[int64]int64     // a notification by user
	boss         identity.Membership // the owner
}

// givenUp is a job of the account that was given up.
func (w *beyond) givenUp() int64 {
	w.t.Helper()
	return must(bury(w.ctx, w.store, storage.Job{Kind: "test.reach", AccountID: w.account.ID}))(w.t)
}

func newBeyond(t *testing.T) *beyond {
	t.Helper()
	b := newBundle(t, withProviders).with(func(cfg *helpdesk.Config) {
		cfg.MailProviders = []mailserver.Provider{mailProvider(mailserver.Grant{})}
		withProviders(cfg)
		cfg.ParseKey, cfg.MailServers, cfg.Feed = parseKey, &answering{}, noFeed{}
		cfg.DNS = func(_ context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
			return make([]sending.DNSResult, len(records)), nil
		}
	})
	w := &beyond{bundle: b}
	first := b.mailbox
	w.box = must(b.desk.CreateMailbox(b.ctx, helpdesk.MailboxInput{Name: storage.Some(secret), Email: storage.Some("two@example.org")}))(t)
	b.mailbox = w.box
	from := mailaddr.Address{Name: "Grace", Email: "ada@example.com"}
	row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "far@example.com", From: []mailaddr.Address{from}, Subject: secret, Text: secret, Attachments: []message.Part{
		{Filename: secret + ".txt", ContentType: "text/plain", Body: []byte(secret)},
	}}})
	w.conversation = b.conversation(row.ConversationID)
	w.question = b.interactions(row.ConversationID)[0]
	w.answer = b.answer(row.ConversationID, helpdesk.InteractionInput{Body: secret})
	w.file = must(b.desk.Attachments(b.ctx, w.conversation.ID, w.question.ID))(t)[0]
	w.mail = b.receive(ledger.Incoming{Message: message.Message{MessageID: "far@example.com", From: []mailaddr.Address{from}, Subject: secret, Text: secret}, Identity: slices.Clone(row.Identity)})
	w.grace = must(b.desk.Customer(b.ctx, w.conversation.CustomerID))(t)
	b.mailbox = first
	w.near = b.conversation(b.receive(ledger.Incoming{Message: message.Message{MessageID: "near@example.com", From: []mailaddr.Address{from}, Subject: "near", Text: "near"}}).ConversationID)
	w.merged = b.conversation(b.receive(ledger.Incoming{Message: message.Message{MessageID: "merged@example.com", From: []mailaddr.Address{from}, Subject: "merged", Text: "merged"}}).ConversationID).ID
	must(b.desk.MergeConversation(b.ctx, w.merged, w.conversation.ID))(t)
	w.conversation = b.conversation(w.conversation.ID)
	w.tag = b.tag("urgent")
	w.team = must(b.desk.CreateTeam(b.ctx, helpdesk.TeamInput{Name: "Sales", MemberIDs: storage.Some([]int64{b.owner.ID})}))(t)
	w.view = must(b.desk.CreateView(b.ctx, helpdesk.ViewInput{Name: "All", Filter: helpdesk.ViewFilter{MailboxID: w.box.ID}}))(t)
	w.hook = b.hook()
	w.role = must(b.desk.CreateRole(b.ctx, identity.RoleInput{Name: "Readers", Permissions: storage.Some([]identity.Permission{identity.ConversationsView})}))(t)
	w.domain = must(b.desk.CreateDomain(b.ctx, "mail.example.org"))(t)
	w.portalKey, _, _ = b.desk.CreatePortalKey(b.ctx, helpdesk.PortalKeyInput{Name: "App", Algorithm: helpdesk.PortalHS256})
	w.reply = must(b.desk.CreateSavedReply(b.ctx, helpdesk.SavedReplyInput{Name: "Ours", Body: "x", Shared: storage.Some(true)}))(t)
	w.replyFile = must(b.desk.CreateReplyFile(b.ctx, w.reply.ID, helpdesk.Upload{Filename: "ours.txt", Content: strings.NewReader("ours")}))(t)
	w.blocked = must(b.desk.BlockSender(b.ctx, "spam.example"))(t)
	w.suppression = must(b.desk.Suppress(b.ctx, sending.SuppressionInput{Email: "gone@example.com"}))(t)
	w.pgpKey = must(b.desk.CreatePGPKey(b.ctx, w.grace.ID, w.key(t)))(t)
	w.boss = membershipOf(t, b.ctx, b.desk)
	w.joinRule = must(b.desk.CreateJoinRule(b.ctx, identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: w.boss.RoleIDs}))(b.t)
	w.invitation, _, _ = b.desk.Invite(b.ctx, identity.InvitationInput{Email: "new@example.org", RoleIDs: w.boss.RoleIDs})
	w.some = b.member(identity.RoleOwner)
	w.member = membershipOf(t, b.ctx, w.some)
	w.member = must(b.desk.UpdateMember(b.ctx, w.member.ID, identity.MembershipUpdate{RoleIDs: w.boss.RoleIDs, MailboxIDs: storage.Some([]int64{first.ID})}))(t)
	w.some = must(b.svc.Desk(b.ctx, b.svc.As(w.some.UserID()), b.account.ID))(t)
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		w.told = map[int64]int64{}
		for _, user := range []int64{w.some.UserID(), b.desk.UserID()} {
			n := helpdesk.Notification{UserID: user, Kind: helpdesk.NotifyReplied, ConversationID: w.conversation.ID, Source: secret, Shown: true, Browser: true, CreatedAt: b.clock.Now()}
			if err := tx.Notifications().Insert(ctx, &n); err != nil {
				return err
			}
			w.told[user] = n.ID
		}
		return tx.SaveFollowers(ctx, []helpdesk.Follower{{ConversationID: w.conversation.ID, UserID: w.some.UserID(), Follows: true}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *beyond) key(t *testing.T) helpdesk.PGPKeyInput {
	t.Helper()
	armored := must(os.ReadFile("pgp/testdata/ada.asc"))(t)
	return helpdesk.PGPKeyInput{CustomerEmailID: w.grace.Emails[0].ID, Content: base64.StdEncoding.EncodeToString(armored)}
}

// noFeed is a feed of events without readers.
type noFeed struct{}

func (noFeed) Follow(int64, int64) storage.EventStream { return nil }

// The result of a call by a member limited to mailboxes.
type reach int

const (
	refused reach = iota // Forbidden: it concerns objects out of reach
	hidden               // NotFound: the object is out of sight
	cut                  // it works, and shows nothing of other mailboxes
	own                  // it works, and is of no mailbox, or about the member itself
)

// reachOf has the expected result of every method of a Desk, called with objects out of reach if there are any. A new method
// must be added here with its result for a member limited to mailboxes.
func reachOf() map[string]struct {
	want reach
	call func(ctx context.Context, d *helpdesk.Desk, w *beyond) (any, error)
} {
	type entry = struct {
		want reach
		call func(ctx context.Context, d *helpdesk.Desk, w *beyond) (any, error)
	}
	type (
		desk = *helpdesk.Desk
		w    = *beyond
	)
	done := func(err error) (any, error) { return nil, err }
	two := func(v any, _ string, err error) (any, error) { return v, err }
	page := storage.PageRequest{Limit: 100}
	say := func(v any, err error) (any, error) { return v, err }
	name := func(text string) storage.Opt[string] { return storage.Some(text) }
	return map[string]entry{
		"AccountID": {own, nil}, "UserID": {own, nil}, "Scope": {own, nil}, "Holds": {own, nil}, "Permissions": {own, nil},
		"Online": {own, nil}, "InternalAddress": {own, nil}, "Rehearsal": {own, nil}, "Lagging": {own, nil},
		"TaggedAddress": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.TaggedAddress(c, w.box.ID)) }},
		"BeginMailSignIn": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.BeginMailSignIn(c, helpdesk.MailSignIn{Provider: "post", MailboxID: w.box.ID}))
		}},
		"TestMailbox":      {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.TestMailbox(c, w.box.ID)) }},
		"TestOutbound":     {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.TestOutbound(c, w.box.ID)) }},
		"ReconcileMailbox": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.ReconcileMailbox(c, w.box.ID)) }},
		"Backfill": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Backfill(c, w.box.ID, w.clock.Now().Add(-time.Hour)))
		}},
		"Follow": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Follow(c, helpdesk.FollowInput{ConversationID: w.conversation.ID}))
		}},
		"LastEvent": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.LastEvent(c)) }},

		"Account": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Account(c)) }},
		"UpdateAccount": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.UpdateAccount(c, identity.AccountUpdate{Name: "x"}))
		}},
		"DeleteAccount": {refused, func(c context.Context, d desk, _ w) (any, error) { return done(d.DeleteAccount(c)) }},
		"AuditLog": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.AuditLog(c, helpdesk.AuditFilter{}, page))
		}},

		"Erasures": {refused, func(c context.Context, d desk, _ w) (any, error) { return say(d.Erasures(c, "", page)) }},
		"BuriedJobs": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.BuriedJobs(c, helpdesk.BuriedJobFilter{}, page))
		}},
		"RetryJob": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.RetryJob(c, w.givenUp())) }},
		"DropJob":  {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DropJob(c, w.givenUp())) }},

		"CopyAttachments": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CopyAttachments(c, w.conversation.ID, w.answer.ID, w.answer.ID))
		}},
		"CreateAttachment": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CreateAttachment(c, w.conversation.ID, w.answer.ID, helpdesk.Upload{Filename: "a.txt", Content: strings.NewReader("a")}))
		}},
		"Attachments": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments(c, w.conversation.ID, w.question.ID))
		}},
		"AttachmentsOf": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.AttachmentsOf(c, []int64{w.question.ID}))
		}},
		"Attachment": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachment(c, w.conversation.ID, w.question.ID, w.file.ID))
		}},
		"OpenSource": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.OpenSource(c, w.conversation.ID, w.question.ID, 0))
		}},
		"Source": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Source(c, w.conversation.ID, w.question.ID))
		}},
		"OpenAttachment": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.OpenAttachment(c, w.file, 0, -1)) }},
		"LinkAttachment": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.LinkAttachment(c, w.file, storage.BlobDownload{}))
		}},
		"DeleteAttachment": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DeleteAttachment(c, w.conversation.ID, w.question.ID, w.file.ID))
		}},

		"Availability": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Availability(c, w.boss.ID)) }},
		"SetAvailability": {refused, func(c context.Context, d desk, w w) (any, error) {
			no := storage.Some(false)
			return say(d.SetAvailability(c, w.boss.ID, identity.AvailabilityInput{ForceOffline: no, WhileInApp: no, UseSchedule: no}))
		}},
		"ShowBodies": {hidden, func(c context.Context, d desk, w w) (any, error) {
			if d == w.desk {
				return say(d.ShowBodies(c, []helpdesk.Interaction{w.question}, helpdesk.BodyView{}))
			}
			found, err := d.Interaction(c, w.conversation.ID, w.question.ID) // the result was read before
			return found, err
		}},

		"UpdateConversations": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateConversations(c, []int64{w.conversation.ID}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))
		}},
		"CreateConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CreateConversation(c, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", MailboxID: w.box.ID}))
		}},
		"Conversation": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Conversation(c, w.conversation.ID)) }},
		"Conversations": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Conversations(c, helpdesk.ConversationQuery{}, page))
		}},
		"MarkedConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.MarkedConversation(c, w.conversation.ID))
		}},
		"MarkedConversations": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.MarkedConversations(c, helpdesk.ConversationQuery{}, page))
		}},
		"ConversationsByID": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.ConversationsByID(c, []int64{w.conversation.ID, w.near.ID}))
		}},
		"Counts":   {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Counts(c)) }},
		"CountsOf": {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.CountsOf(c, nil)) }},
		"UpdateConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateConversation(c, w.near.ID, helpdesk.ConversationUpdate{MailboxID: storage.Some(w.box.ID)}))
		}},
		"DeleteConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DeleteConversation(c, w.conversation.ID))
		}},
		"DeleteConversations": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DeleteConversations(c, []int64{w.conversation.ID}))
		}},
		"MergedInto": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.MergedInto(c, w.merged)) }},
		"MergeConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.MergeConversation(c, w.near.ID, w.conversation.ID))
		}},
		"SplitConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SplitConversation(c, w.conversation.ID, helpdesk.SplitInput{InteractionID: w.answer.ID}))
		}},
		"MoveInteraction": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.MoveInteraction(c, w.conversation.ID, w.answer.ID, w.near.ID))
		}},
		"Rethread": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Rethread(c, w.conversation.ID, w.question.ID))
		}},
		"ExplainThreading": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.ExplainThreading(c, w.conversation.ID, w.question.ID))
		}},
		"Unread": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.Unread(c, []int64{w.near.ID})) }},
		"Reached": {hidden, func(c context.Context, d desk, w w) (any, error) {
			found, err := d.Reached(c, []int64{w.conversation.ID})
			if err == nil && !found[w.conversation.ID] {
				err = helpdesk.ErrNotFound
			}
			return found, err
		}},
		"MarkRead":   {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.MarkRead(c, w.conversation.ID)) }},
		"MarkUnread": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.MarkUnread(c, w.conversation.ID)) }},

		// Customers are the account's. Their addresses open conversations to the portal, and keys decide how mail leaves.
		"CreateCustomer": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.CreateCustomer(c, helpdesk.CustomerInput{FirstName: "x"}))
		}},
		"UpdateCustomer": {refused, func(c context.Context, d desk, w w) (any, error) {
			emails := []helpdesk.Item{{ID: w.grace.Emails[0].ID, Value: w.grace.Emails[0].Email}, {Value: "me@evil.example"}}
			return say(d.UpdateCustomer(c, w.grace.ID, helpdesk.CustomerInput{FirstName: "x", Emails: storage.Some(emails)}))
		}},
		"SetCustomerNote": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.SetCustomerNote(c, w.grace.ID, "x")) }},
		"Customer":        {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Customer(c, w.grace.ID)) }},
		"CustomerStats":   {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.CustomerStats(c, w.grace.ID)) }},
		"CustomersByID":   {own, func(c context.Context, d desk, w w) (any, error) { return say(d.CustomersByID(c, []int64{w.grace.ID})) }},
		"Customers": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Customers(c, helpdesk.CustomerQuery{}, page))
		}},
		"DeleteCustomer": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteCustomer(c, w.grace.ID, true)) }},
		"EraseCustomer":  {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.EraseCustomer(c, w.grace.ID)) }},
		"ExportCustomer": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.ExportCustomer(c, w.grace.ID)) }},
		"MergeCustomers": {refused, func(c context.Context, d desk, w w) (any, error) {
			other, err := w.desk.CreateCustomer(c, helpdesk.CustomerInput{FirstName: "Other"})
			if err != nil {
				return nil, err
			}
			return say(d.MergeCustomers(c, w.grace.ID, other.ID))
		}},
		"CreatePGPKey": {refused, func(c context.Context, d desk, w w) (any, error) {
			if err := w.desk.DeletePGPKey(c, w.grace.ID, w.pgpKey.ID); err != nil && !errors.Is(err, helpdesk.ErrNotFound) {
				return nil, err
			}
			return say(d.CreatePGPKey(c, w.grace.ID, w.key(w.t)))
		}},
		"PGPKey":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.PGPKey(c, w.grace.ID, w.pgpKey.ID)) }},
		"PGPKeys": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.PGPKeys(c, w.grace.ID, page)) }},
		"UpdatePGPKey": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdatePGPKey(c, w.grace.ID, w.pgpKey.ID, "its name"))
		}},
		"DeletePGPKey": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DeletePGPKey(c, w.grace.ID, w.pgpKey.ID))
		}},
		"Present": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Present(c, w.conversation.ID, helpdesk.Reading))
		}},
		"PresenceOf": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.PresenceOf(c, []int64{w.conversation.ID}))
		}},
		"Notifications":        {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications(c, false, page)) }},
		"UnreadNotifications":  {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.UnreadNotifications(c)) }},
		"BrowserNotifications": {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.BrowserNotifications(c, 0)) }},
		"ReadNotification": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.ReadNotification(c, w.told[d.UserID()]))
		}},
		"ReadNotifications": {own, func(c context.Context, d desk, w w) (any, error) {
			return done(d.ReadNotifications(c, w.conversation.ID, 0))
		}},
		"Signature":           {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Signature(c)) }},
		"SetSignature":        {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.SetSignature(c, "x")) }},
		"SignatureIn":         {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.SignatureIn(c, w.box.ID)) }},
		"NotifyChoices":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.NotifyChoices(c)) }},
		"ChooseNotifications": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.ChooseNotifications(c, nil)) }},
		"Followers": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Followers(c, []int64{w.conversation.ID}))
		}},
		"FollowConversation": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.FollowConversation(c, w.conversation.ID, true))
		}},
		"Mentionable":   {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mentionable(c, w.conversation.ID)) }},
		"SavedReply":    {own, func(c context.Context, d desk, w w) (any, error) { return say(d.SavedReply(c, w.reply.ID)) }},
		"SavedReplies":  {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.SavedReplies(c, "", page)) }},
		"Notification":  {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Notification(c, w.told[d.UserID()])) }},
		"PushKey":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.PushKey(c)) }},
		"PushDevices":   {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.PushDevices(c)) }},
		"AddPushDevice": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.AddPushDevice(c, phone("reach"))) }},
		"RemovePushDevice": {own, func(c context.Context, d desk, _ w) (any, error) {
			return done(d.RemovePushDevice(c, "https://push.example.org/none"))
		}},
		"TestPush": {own, func(c context.Context, d desk, _ w) (any, error) {
			if _, err := d.AddPushDevice(c, phone("reach")); err != nil {
				return nil, err
			}
			return done(d.TestPush(c, phone("reach").Endpoint))
		}},
		"AnswerRecipients": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.AnswerRecipients(c, w.conversation.ID))
		}},
		"CreateSavedReply": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.CreateSavedReply(c, helpdesk.SavedReplyInput{Name: "x", Body: "x", Shared: storage.Some(true)}))
		}},
		"UpdateSavedReply": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateSavedReply(c, w.reply.ID, helpdesk.SavedReplyInput{Name: "x", Body: "x", Shared: storage.Some(true)}))
		}},
		"DeleteSavedReply": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteSavedReply(c, w.reply.ID)) }},
		"FillReply": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.FillReply(c, w.conversation.ID, w.reply.ID))
		}},
		"ReplyFiles":   {own, func(c context.Context, d desk, w w) (any, error) { return say(d.ReplyFiles(c, w.reply.ID)) }},
		"ReplyFilesOf": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.ReplyFilesOf(c, []int64{w.reply.ID})) }},
		"ReplyFile": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.ReplyFile(c, w.reply.ID, w.replyFile.ID))
		}},
		"OpenReplyFile": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.OpenReplyFile(c, w.replyFile, 0, -1)) }},
		"CreateReplyFile": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CreateReplyFile(c, w.reply.ID, helpdesk.Upload{Filename: "a.txt", Content: strings.NewReader("a")}))
		}},
		"DeleteReplyFile": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DeleteReplyFile(c, w.reply.ID, w.replyFile.ID))
		}},
		"AttachReplyFiles": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.AttachReplyFiles(c, w.conversation.ID, w.answer.ID, w.reply.ID))
		}},
		"Suppression":    {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Suppression(c, w.suppression.ID)) }},
		"Suppressions":   {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Suppressions(c, page)) }},
		"BlockedSender":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.BlockedSender(c, w.blocked.ID)) }},
		"BlockedSenders": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.BlockedSenders(c, "", page)) }},
		"BlockSender":    {refused, func(c context.Context, d desk, _ w) (any, error) { return say(d.BlockSender(c, "eve@example.net")) }},
		"UnblockSender":  {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.UnblockSender(c, w.blocked.ID)) }},
		"Suppress": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Suppress(c, sending.SuppressionInput{Email: "grace@example.com"}))
		}},
		"LiftSuppression": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.LiftSuppression(c, w.suppression.ID)) }},

		"CreateInteraction": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CreateInteraction(c, w.conversation.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x"}))
		}},
		"Interaction": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interaction(c, w.conversation.ID, w.question.ID))
		}},
		"Interactions": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions(c, w.conversation.ID, page))
		}},
		"Deliveries": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.Deliveries(c, []int64{w.answer.ID})) }},
		"UpdateInteraction": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateInteraction(c, w.conversation.ID, w.answer.ID, helpdesk.InteractionUpdate{Body: name("x")}))
		}},
		"DeleteInteraction": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DeleteInteraction(c, w.conversation.ID, w.question.ID))
		}},
		"RetryDeliveries": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.RetryDeliveries(c, w.conversation.ID, w.answer.ID))
		}},
		"CancelSending": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CancelSending(c, w.conversation.ID, w.answer.ID))
		}},

		"CreateDomain": {refused, func(c context.Context, d desk, _ w) (any, error) { return say(d.CreateDomain(c, "other.example.org")) }},
		"UpdateDomain": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateDomain(c, w.domain.ID, "other.example.org"))
		}},
		"VerifyDomain": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.VerifyDomain(c, w.domain.ID)) }}, // only reads the state
		"Domain":       {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Domain(c, w.domain.ID)) }},
		"Domains":      {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Domains(c, page)) }},
		"DeleteDomain": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteDomain(c, w.domain.ID)) }},

		"Events": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Events(c, subscription.EventQuery{Types: []string{"mailbox.created", "conversation.created"}}, page))
		}},

		"CreateMailbox": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.CreateMailbox(c, helpdesk.MailboxInput{Name: name("x"), Email: name("x@example.org")}))
		}},
		"UpdateMailbox": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateMailbox(c, w.box.ID, helpdesk.MailboxInput{Name: name("x")}))
		}},
		"Mailbox":       {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailbox(c, w.box.ID)) }},
		"Mailboxes":     {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Mailboxes(c, page)) }},
		"MailboxesByID": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.MailboxesByID(c, []int64{w.box.ID})) }},
		"DeleteMailbox": {hidden, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteMailbox(c, w.box.ID, true)) }},
		"MailHealth":    {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.MailHealth(c, time.Hour)) }},
		"FetchStatus":   {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.FetchStatus(c, w.box.ID)) }},
		"InboundMails": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.InboundMails(c, ledger.Filter{MailboxID: w.box.ID}, page))
		}},
		"InboundMail":   {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.InboundMail(c, w.box.ID, w.mail.ID)) }},
		"OpenRaw":       {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.OpenRaw(c, w.box.ID, w.mail.ID)) }},
		"InboundCounts": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.InboundCounts(c, w.box.ID)) }},
		"ReplayInbound": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.ReplayInbound(c, w.box.ID, w.mail.ID)) }},
		"IgnoreInbound": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.IgnoreInbound(c, w.box.ID, w.mail.ID, "x"))
		}},
		"ReplayMailbox": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.ReplayMailbox(c, w.box.ID)) }},

		"Members":    {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Members(c, page)) }},
		"Member":     {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Member(c, w.boss.ID)) }},
		"Membership": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Membership(c)) }},
		"Touch":      {own, func(c context.Context, d desk, _ w) (any, error) { return done(d.Touch(c)) }},
		"Roles":      {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Roles(c)) }},
		"UsersByID":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.UsersByID(c, []int64{w.boss.UserID})) }},
		"Context":    {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Context(c)) }},
		"UpdateMember": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateMember(c, w.member.ID, identity.MembershipUpdate{RoleIDs: w.boss.RoleIDs, MailboxIDs: storage.Null[[]int64]()}))
		}},
		"DisableMember": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.DisableMember(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"EnableMember": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.EnableMember(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"ResetMemberSecondFactor": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.ResetMemberSecondFactor(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"RemoveMember": {refused, func(c context.Context, d desk, w w) (any, error) {
			third := w.member
			return done(d.RemoveMember(c, map[bool]int64{true: third.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"JoinRules": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.JoinRules(c, page)) }},
		"JoinRule":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.JoinRule(c, w.joinRule.ID)) }},
		"JoinRulesApply": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.JoinRulesApply(c, []identity.JoinRule{w.joinRule}))
		}},
		"CreateJoinRule": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CreateJoinRule(c, identity.JoinRuleInput{Provider: "work", Domain: "elsewhere.example", RoleIDs: w.boss.RoleIDs}))
		}},
		"UpdateJoinRule": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateJoinRule(c, w.joinRule.ID, identity.JoinRuleInput{Provider: "work", Domain: "elsewhere.example", RoleIDs: w.boss.RoleIDs}))
		}},
		"DeleteJoinRule": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteJoinRule(c, w.joinRule.ID)) }},
		"UnlinkMember": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.UnlinkMember(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"RemoveMemberPasskeys": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.RemoveMemberPasskeys(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"Invitations": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Invitations(c, page)) }},
		"Invite": {refused, func(c context.Context, d desk, w w) (any, error) {
			return two(d.Invite(c, identity.InvitationInput{Email: "x@example.org", RoleIDs: w.boss.RoleIDs}))
		}},
		"DeleteInvitation": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteInvitation(c, w.invitation.ID)) }},
		"ListRoles":        {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.ListRoles(c, page)) }},
		"Role":             {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Role(c, w.role.ID)) }},
		"CreateRole": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.CreateRole(c, identity.RoleInput{Name: "x"}))
		}},
		"UpdateRole": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateRole(c, w.role.ID, identity.RoleInput{Name: "x"}))
		}},
		"DeleteRole": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteRole(c, w.role.ID)) }},
		"CreatePortalKey": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return two(d.CreatePortalKey(c, helpdesk.PortalKeyInput{Name: "x", Algorithm: helpdesk.PortalHS256}))
		}},
		"PortalKeys":      {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.PortalKeys(c, page)) }},
		"DeletePortalKey": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeletePortalKey(c, w.portalKey.ID)) }},

		"Team":      {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Team(c, w.team.ID)) }},
		"Teams":     {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Teams(c, page)) }},
		"TeamsByID": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.TeamsByID(c, []int64{w.team.ID})) }},
		"CreateTeam": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.CreateTeam(c, helpdesk.TeamInput{Name: "x"}))
		}},
		"UpdateTeam": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateTeam(c, w.team.ID, helpdesk.TeamInput{Name: "x"}))
		}},
		"AddTeamMembers": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.AddTeamMembers(c, w.team.ID, []int64{w.some.UserID()}))
		}},
		"RemoveTeamMembers": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.RemoveTeamMembers(c, w.team.ID, w.team.MemberIDs))
		}},
		"DeleteTeam": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteTeam(c, w.team.ID)) }},
		"Tag":        {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Tag(c, w.tag)) }},
		"Tags":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Tags(c, page)) }},
		"CreateTag": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.CreateTag(c, helpdesk.TagInput{Name: "x"}))
		}},
		"UpdateTag": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateTag(c, w.tag, helpdesk.TagInput{Name: "x"}))
		}},
		"DeleteTag":     {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteTag(c, w.tag)) }},
		"Marks":         {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.Marks(c, []int64{w.near.ID})) }},
		"TagsAndUnread": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.TagsAndUnread(c, []int64{w.near.ID})) }},
		"SetTags": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SetTags(c, w.conversation.ID, []int64{w.tag}))
		}},
		"AddTags": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.AddTags(c, w.conversation.ID, []int64{w.tag}))
		}},
		"RemoveTags": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.RemoveTags(c, w.conversation.ID, []int64{w.tag}))
		}},
		"View":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.View(c, w.view.ID)) }},
		"Views": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Views(c, page)) }},
		"CreateView": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.CreateView(c, helpdesk.ViewInput{Name: "x", Filter: helpdesk.ViewFilter{MailboxID: w.box.ID}}))
		}},
		"UpdateView": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateView(c, w.view.ID, helpdesk.ViewInput{Name: "x"}))
		}},
		"DeleteView": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteView(c, w.view.ID)) }},

		"Webhook":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Webhook(c, w.hook.ID)) }},
		"Webhooks": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Webhooks(c, page)) }},
		"CreateWebhook": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return two(d.CreateWebhook(c, subscription.WebhookInput{URL: name("https://evil.example"), Events: storage.Some([]string{"*"})}))
		}},
		"UpdateWebhook": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.UpdateWebhook(c, w.hook.ID, subscription.WebhookInput{URL: name("https://evil.example"), MailboxIDs: storage.Some([]int64{w.mailbox.ID})}))
		}},
		"RotateWebhookSecret": {refused, func(c context.Context, d desk, w w) (any, error) { return two(d.RotateWebhookSecret(c, w.hook.ID)) }},
		"DeleteWebhook":       {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.DeleteWebhook(c, w.hook.ID)) }},
		"WebhookDeliveries": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.WebhookDeliveries(c, subscription.WebhookDeliveryFilter{WebhookID: w.hook.ID}, page))
		}},
		"RedeliverWebhook": {refused, func(c context.Context, d desk, w w) (any, error) {
			w.distribute()
			return say(d.RedeliverWebhook(c, w.hook.ID, w.hooked(w.hook)[0].ID))
		}},
	}
}

// A member limited to mailboxes neither sees nor creates anything with a larger scope, by any method.
func TestEveryMethodWithinReach(t *testing.T) {
	t.Parallel()
	all := reachOf()
	desk := reflect.TypeFor[*helpdesk.Desk]()
	for i := range desk.NumMethod() {
		name := desk.Method(i).Name
		one, known := all[name]
		if !known {
			t.Errorf("Desk.%s: say in reachOf what it does for a member of some mailboxes", name)
			continue
		}
		delete(all, name)
		if one.call == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBeyond(t)
			shown, err := one.call(t.Context(), w.some, w)
			want := map[reach]error{refused: helpdesk.ErrForbidden, hidden: helpdesk.ErrNotFound}[one.want]
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("a member of another mailbox: %v, want %v", err, want)
			}
			if text := fmt.Sprintf("%+v", shown); err == nil && strings.Contains(text, secret) {
				t.Errorf("a member of another mailbox is shown %s", text)
			}
			// A refusal is due to the mailbox only.
			if _, err := one.call(t.Context(), w.desk, w); errors.Is(err, helpdesk.ErrForbidden) || errors.Is(err, helpdesk.ErrNotFound) {
				t.Errorf("the owner: %v", err)
			}
		})
	}
	for name := range all {
		t.Errorf("Desk has no method %s", name)
	}
}
