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
	figures "github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
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
	field        helpdesk.Field
	team         helpdesk.Team
	company      helpdesk.Company
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
	calendar     helpdesk.Calendar
	sla          helpdesk.SLA
	autoReply    helpdesk.AutoReply
	survey       helpdesk.Survey
	retention    helpdesk.RetentionPolicy
	rule         helpdesk.Rule
	replay       helpdesk.RuleReplay
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

// another is a company that is there to be removed.
func (w *beyond) another() int64 {
	w.t.Helper()
	return must(w.desk.Companies().Create(w.ctx, helpdesk.CompanyInput{Name: "Another"}))(w.t).ID
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
	w.box = must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some(secret), Email: storage.Some("two@example.org")}))(t)
	b.mailbox = w.box
	from := mailaddr.Address{Name: "Grace", Email: "ada@example.com"}
	row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "far@example.com", From: []mailaddr.Address{from}, Subject: secret, Text: secret, Attachments: []message.Part{
		{Filename: secret + ".txt", ContentType: "text/plain", Body: []byte(secret)},
	}}})
	w.conversation = b.conversation(row.ConversationID)
	w.question = b.interactions(row.ConversationID)[0]
	w.answer = b.answer(row.ConversationID, helpdesk.InteractionInput{Body: secret})
	w.file = must(b.desk.Attachments().List(b.ctx, w.conversation.ID, w.question.ID))(t)[0]
	w.mail = b.receive(ledger.Incoming{Message: message.Message{MessageID: "far@example.com", From: []mailaddr.Address{from}, Subject: secret, Text: secret}, Identity: slices.Clone(row.Identity)})
	w.grace = must(b.desk.Customers().Get(b.ctx, w.conversation.CustomerID))(t)
	b.mailbox = first
	w.near = b.conversation(b.receive(ledger.Incoming{Message: message.Message{MessageID: "near@example.com", From: []mailaddr.Address{from}, Subject: "near", Text: "near"}}).ConversationID)
	w.merged = b.conversation(b.receive(ledger.Incoming{Message: message.Message{MessageID: "merged@example.com", From: []mailaddr.Address{from}, Subject: "merged", Text: "merged"}}).ConversationID).ID
	must(b.desk.Conversations().Merge(b.ctx, w.merged, w.conversation.ID))(t)
	w.conversation = b.conversation(w.conversation.ID)
	w.tag = b.tag("urgent")
	w.field = must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Label: "Plan", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText}))(t)
	must(b.desk.Conversations().Update(b.ctx, w.conversation.ID, helpdesk.ConversationUpdate{Fields: helpdesk.FieldTexts{"plan": {secret}}}))(t)
	w.team = must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "Sales", MemberIDs: storage.Some([]int64{b.owner.ID})}))(t)
	w.company = must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "Acme"}))(t)
	w.view = must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "All", Filter: helpdesk.ViewFilter{MailboxID: w.box.ID}}))(t)
	w.hook = b.hook()
	w.calendar, w.autoReply = b.office(), b.autoReply(helpdesk.AutoReplyInput{})
	w.sla = b.promise()
	w.survey = b.survey()
	w.retention = b.retention(helpdesk.RetentionPolicyInput{})
	must(b.desk.Ratings().Record(b.ctx, w.conversation.ID, helpdesk.RatingInput{Score: 1, Comment: storage.Some(secret)}))(t)
	w.rule = b.rule(ruleInput("Rule", atMail, do(rules.Move, fmt.Sprint(w.box.ID))))
	w.replay = must(b.desk.Rules().Replay(b.ctx, helpdesk.ReplayInput{RuleID: w.rule.ID}))(b.t)
	w.role = must(b.desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Readers", Permissions: storage.Some([]identity.Permission{identity.ConversationsView})}))(t)
	w.domain = must(b.desk.Domains().Create(b.ctx, "mail.example.org"))(t)
	w.portalKey, _, _ = b.desk.PortalKeys().Create(b.ctx, helpdesk.PortalKeyInput{Name: "App", Algorithm: helpdesk.PortalHS256})
	w.reply = must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Ours", Body: "x", Shared: storage.Some(true)}))(t)
	w.replyFile = must(b.desk.SavedReplies().CreateFile(b.ctx, w.reply.ID, helpdesk.Upload{Filename: "ours.txt", Content: strings.NewReader("ours")}))(t)
	w.blocked = must(b.desk.BlockedSenders().Block(b.ctx, "spam.example"))(t)
	w.suppression = must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: "gone@example.com"}))(t)
	w.pgpKey = must(b.desk.PGPKeys().Create(b.ctx, w.grace.ID, w.key(t)))(t)
	w.boss = membershipOf(t, b.ctx, b.desk)
	w.joinRule = must(b.desk.JoinRules().Create(b.ctx, identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: w.boss.RoleIDs}))(b.t)
	w.invitation, _, _ = b.desk.Members().Invite(b.ctx, identity.InvitationInput{Email: "new@example.org", RoleIDs: w.boss.RoleIDs})
	w.some = b.member(identity.RoleOwner)
	w.member = membershipOf(t, b.ctx, w.some)
	w.member = must(b.desk.Members().Update(b.ctx, w.member.ID, identity.MembershipUpdate{RoleIDs: w.boss.RoleIDs, MailboxIDs: storage.Some([]int64{first.ID})}))(t)
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
		"AccountID": {own, nil}, "UserID": {own, nil}, "Scope": {own, nil}, "Holds": {own, nil}, "HoldsAll": {own, nil}, "Permissions": {own, nil},
		"Members.Online": {own, nil}, "Views.CanChange": {own, nil}, "Views.CanDelete": {own, nil}, "Mailboxes.InternalAddress": {own, nil}, "Rehearsal": {own, nil}, "Lagging": {own, nil},
		"Mailboxes.TaggedAddress": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Mailboxes().TaggedAddress(c, w.box.ID))
		}},
		"Mailboxes.BeginSignIn": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Mailboxes().BeginSignIn(c, helpdesk.MailSignIn{Provider: "post", MailboxID: w.box.ID}))
		}},
		"Mailboxes.Test":         {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailboxes().Test(c, w.box.ID)) }},
		"Mailboxes.TestOutbound": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailboxes().TestOutbound(c, w.box.ID)) }},
		"Mailboxes.Reconcile":    {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailboxes().Reconcile(c, w.box.ID)) }},
		"Mailboxes.Backfill": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Mailboxes().Backfill(c, w.box.ID, w.clock.Now().Add(-time.Hour)))
		}},
		"Events.Follow": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Events().Follow(c, helpdesk.FollowInput{ConversationID: w.conversation.ID}))
		}},
		"Events.Last": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Events().Last(c)) }},

		"Account.Get": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Account().Get(c)) }},
		"Account.Update": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Account().Update(c, identity.AccountUpdate{Name: "x"}))
		}},
		"Account.Delete":        {refused, func(c context.Context, d desk, _ w) (any, error) { return done(d.Account().Delete(c)) }},
		"Mailboxes.StartImport": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Mailboxes().StartImport(c, w.box.ID)) }},
		"Customers.StartImport": {own, func(c context.Context, d desk, _ w) (any, error) { return done(d.Customers().StartImport(c)) }},
		"Customers.ImportRows": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Customers().ImportRows(c, []helpdesk.CustomerRow{{Emails: []string{"row@example.com"}}}, true))
		}},
		"Customers.ExportRows": {own, func(c context.Context, d desk, _ w) (any, error) {
			return done(d.Customers().ExportRows(c, func(helpdesk.Customer) error { return nil }))
		}},
		"Account.StartExport": {refused, func(c context.Context, d desk, _ w) (any, error) { return done(d.Account().StartExport(c)) }},
		"Account.AuditLog": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Account().AuditLog(c, helpdesk.AuditFilter{}, page))
		}},

		"Account.Erasures": {refused, func(c context.Context, d desk, _ w) (any, error) { return say(d.Account().Erasures(c, "", page)) }},
		"Account.FailedJobs": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Account().FailedJobs(c, helpdesk.FailedJobFilter{}, page))
		}},
		"Account.RetryJob": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Account().RetryJob(c, w.givenUp())) }},
		"Account.DropJob":  {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Account().DropJob(c, w.givenUp())) }},

		"Attachments.Copy": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().Copy(c, w.conversation.ID, w.answer.ID, w.answer.ID))
		}},
		"Attachments.Create": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().Create(c, w.conversation.ID, w.answer.ID, helpdesk.Upload{Filename: "a.txt", Content: strings.NewReader("a")}))
		}},
		"Attachments.List": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().List(c, w.conversation.ID, w.question.ID))
		}},
		"Attachments.Of": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().Of(c, []int64{w.question.ID}))
		}},
		"Attachments.Get": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().Get(c, w.conversation.ID, w.question.ID, w.file.ID))
		}},
		"Interactions.OpenSource": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().OpenSource(c, w.conversation.ID, w.question.ID, 0))
		}},
		"Interactions.Source": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Source(c, w.conversation.ID, w.question.ID))
		}},
		"Attachments.Open": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Attachments().Open(c, w.file, 0, -1)) }},
		"Attachments.Link": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().Link(c, w.file, storage.BlobDownload{}))
		}},
		"Attachments.Delete": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Attachments().Delete(c, w.conversation.ID, w.question.ID, w.file.ID))
		}},

		"Members.Availability": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Members().Availability(c, w.boss.ID)) }},
		"Members.SetAvailability": {refused, func(c context.Context, d desk, w w) (any, error) {
			no := storage.Some(false)
			return say(d.Members().SetAvailability(c, w.boss.ID, identity.AvailabilityInput{ForceOffline: no, WhileInApp: no, UseSchedule: no}))
		}},
		"Interactions.Show": {hidden, func(c context.Context, d desk, w w) (any, error) {
			if d == w.desk {
				return say(d.Interactions().Show(c, []helpdesk.Interaction{w.question}, helpdesk.BodyView{}))
			}
			found, err := d.Interactions().Get(c, w.conversation.ID, w.question.ID) // the result was read before
			return found, err
		}},

		"Conversations.UpdateAll": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().UpdateAll(c, []int64{w.conversation.ID}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))
		}},
		"Conversations.Create": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Create(c, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", MailboxID: w.box.ID}))
		}},
		"Conversations.Get": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Get(c, w.conversation.ID))
		}},
		"Conversations.List": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Conversations().List(c, helpdesk.ConversationQuery{}, page))
		}},
		"Conversations.Search": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Conversations().Search(c, helpdesk.ConversationQuery{}, page))
		}},
		"Conversations.GetMarked": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().GetMarked(c, w.conversation.ID))
		}},
		"Conversations.ListMarked": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Conversations().ListMarked(c, helpdesk.ConversationQuery{}, page))
		}},
		"Conversations.ByID": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().ByID(c, []int64{w.conversation.ID, w.near.ID}))
		}},
		"Conversations.Counts":   {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Conversations().Counts(c)) }},
		"Conversations.CountsOf": {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Conversations().CountsOf(c, nil)) }},
		"Conversations.History": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().History(c, w.conversation.ID, helpdesk.HistoryQuery{}, page))
		}},
		"Conversations.Update": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Update(c, w.near.ID, helpdesk.ConversationUpdate{MailboxID: storage.Some(w.box.ID)}))
		}},
		"Conversations.Delete": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Conversations().Delete(c, w.conversation.ID))
		}},
		"Conversations.DeleteAll": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Conversations().DeleteAll(c, []int64{w.conversation.ID}))
		}},
		"Conversations.MergedInto": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().MergedInto(c, w.merged))
		}},
		"Conversations.Merge": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Merge(c, w.near.ID, w.conversation.ID))
		}},
		"Conversations.Split": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Split(c, w.conversation.ID, helpdesk.SplitInput{InteractionID: w.answer.ID}))
		}},
		"Interactions.Move": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Move(c, w.conversation.ID, w.answer.ID, w.near.ID))
		}},
		"Interactions.Rethread": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Rethread(c, w.conversation.ID, w.question.ID))
		}},
		"Interactions.ExplainThreading": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().ExplainThreading(c, w.conversation.ID, w.question.ID))
		}},
		"Conversations.Unread": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Unread(c, []int64{w.near.ID}))
		}},
		"Conversations.Reached": {hidden, func(c context.Context, d desk, w w) (any, error) {
			found, err := d.Conversations().Reached(c, []int64{w.conversation.ID})
			if err == nil && !found[w.conversation.ID] {
				err = helpdesk.ErrNotFound
			}
			return found, err
		}},
		"Conversations.MarkRead": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().MarkRead(c, w.conversation.ID))
		}},
		"Conversations.MarkUnread": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().MarkUnread(c, w.conversation.ID))
		}},

		// Customers are the account's. Their addresses open conversations to the portal, and keys decide how mail leaves.
		"Customers.Create": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Customers().Create(c, helpdesk.CustomerInput{FirstName: storage.Some("x")}))
		}},
		"Customers.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			emails := []helpdesk.Item{{ID: w.grace.Emails[0].ID, Value: w.grace.Emails[0].Email}, {Value: "me@evil.example"}}
			return say(d.Customers().Update(c, w.grace.ID, helpdesk.CustomerInput{FirstName: storage.Some("x"), Emails: storage.Some(emails)}))
		}},
		"Customers.SetFields": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Customers().SetFields(c, w.grace.ID, nil))
		}},
		"Customers.Fields": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Customers().Fields(c, []int64{w.grace.ID}))
		}},
		"Customers.SetNote": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Customers().SetNote(c, w.grace.ID, "x"))
		}},
		"Customers.Get":   {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Customers().Get(c, w.grace.ID)) }},
		"Customers.Stats": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.Customers().Stats(c, w.grace.ID)) }},
		"Customers.ByID": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Customers().ByID(c, []int64{w.grace.ID}))
		}},
		"Customers.List": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Customers().List(c, helpdesk.CustomerQuery{}, page))
		}},
		"Customers.Delete": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Customers().Delete(c, w.grace.ID, true))
		}},
		"Customers.Erase":  {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Customers().Erase(c, w.grace.ID)) }},
		"Customers.Export": {cut, func(c context.Context, d desk, w w) (any, error) { return say(d.Customers().Export(c, w.grace.ID)) }},
		"Customers.Merge": {refused, func(c context.Context, d desk, w w) (any, error) {
			other, err := w.desk.Customers().Create(c, helpdesk.CustomerInput{FirstName: storage.Some("Other")})
			if err != nil {
				return nil, err
			}
			return say(d.Customers().Merge(c, w.grace.ID, other.ID))
		}},
		"PGPKeys.Create": {refused, func(c context.Context, d desk, w w) (any, error) {
			if err := w.desk.PGPKeys().Delete(c, w.grace.ID, w.pgpKey.ID); err != nil && !errors.Is(err, helpdesk.ErrNotFound) {
				return nil, err
			}
			return say(d.PGPKeys().Create(c, w.grace.ID, w.key(w.t)))
		}},
		"PGPKeys.Get": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.PGPKeys().Get(c, w.grace.ID, w.pgpKey.ID))
		}},
		"PGPKeys.List": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.PGPKeys().List(c, w.grace.ID, page)) }},
		"PGPKeys.Update": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.PGPKeys().Update(c, w.grace.ID, w.pgpKey.ID, "its name"))
		}},
		"PGPKeys.Delete": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.PGPKeys().Delete(c, w.grace.ID, w.pgpKey.ID))
		}},
		"Conversations.Present": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Present(c, w.conversation.ID, helpdesk.Reading))
		}},
		"Conversations.PresenceOf": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().PresenceOf(c, []int64{w.conversation.ID}))
		}},
		"Notifications.List":       {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().List(c, false, page)) }},
		"Notifications.Unread":     {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().Unread(c)) }},
		"Notifications.ForBrowser": {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().ForBrowser(c, 0)) }},
		"Notifications.MarkRead": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Notifications().MarkRead(c, w.told[d.UserID()]))
		}},
		"Notifications.MarkAllRead": {own, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Notifications().MarkAllRead(c, w.conversation.ID, 0))
		}},
		"Signatures.Get":        {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Signatures().Get(c)) }},
		"Signatures.Set":        {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Signatures().Set(c, "x")) }},
		"Signatures.In":         {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Signatures().In(c, w.box.ID)) }},
		"Notifications.Choices": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().Choices(c)) }},
		"Notifications.Choose":  {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().Choose(c, nil)) }},
		"Conversations.Followers": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Followers(c, []int64{w.conversation.ID}))
		}},
		"Conversations.Follow": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Follow(c, w.conversation.ID, true))
		}},
		"Conversations.Mentionable": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Mentionable(c, w.conversation.ID))
		}},
		"SavedReplies.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.SavedReplies().Get(c, w.reply.ID)) }},
		"SavedReplies.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.SavedReplies().List(c, "", page)) }},
		"Notifications.Get": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Notifications().Get(c, w.told[d.UserID()]))
		}},
		"Notifications.PushKey": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().PushKey(c)) }},
		"Notifications.Devices": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Notifications().Devices(c)) }},
		"Notifications.AddDevice": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Notifications().AddDevice(c, phone("reach")))
		}},
		"Notifications.RemoveDevice": {own, func(c context.Context, d desk, _ w) (any, error) {
			return done(d.Notifications().RemoveDevice(c, "https://push.example.org/none"))
		}},
		"Notifications.TestDevice": {own, func(c context.Context, d desk, _ w) (any, error) {
			if _, err := d.Notifications().AddDevice(c, phone("reach")); err != nil {
				return nil, err
			}
			return done(d.Notifications().TestDevice(c, phone("reach").Endpoint))
		}},
		"Conversations.Recipients": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Recipients(c, w.conversation.ID))
		}},
		"SavedReplies.Create": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.SavedReplies().Create(c, helpdesk.SavedReplyInput{Name: "x", Body: "x", Shared: storage.Some(true)}))
		}},
		"SavedReplies.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SavedReplies().Update(c, w.reply.ID, helpdesk.SavedReplyInput{Name: "x", Body: "x", Shared: storage.Some(true)}))
		}},
		"SavedReplies.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.SavedReplies().Delete(c, w.reply.ID)) }},
		"Conversations.ApplyMacro": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().ApplyMacro(c, w.conversation.ID, w.reply.ID))
		}},
		"Conversations.ApplyMacroToAll": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().ApplyMacroToAll(c, []int64{w.conversation.ID}, w.reply.ID))
		}},
		"SavedReplies.Fill": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SavedReplies().Fill(c, w.conversation.ID, w.reply.ID))
		}},
		"SavedReplies.Files": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.SavedReplies().Files(c, w.reply.ID)) }},
		"SavedReplies.FilesOf": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SavedReplies().FilesOf(c, []int64{w.reply.ID}))
		}},
		"SavedReplies.File": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SavedReplies().File(c, w.reply.ID, w.replyFile.ID))
		}},
		"SavedReplies.OpenFile": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SavedReplies().OpenFile(c, w.replyFile, 0, -1))
		}},
		"SavedReplies.CreateFile": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SavedReplies().CreateFile(c, w.reply.ID, helpdesk.Upload{Filename: "a.txt", Content: strings.NewReader("a")}))
		}},
		"SavedReplies.DeleteFile": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.SavedReplies().DeleteFile(c, w.reply.ID, w.replyFile.ID))
		}},
		"Attachments.AddReplyFiles": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Attachments().AddReplyFiles(c, w.conversation.ID, w.answer.ID, w.reply.ID))
		}},
		"Suppressions.Get": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Suppressions().Get(c, w.suppression.ID))
		}},
		"Suppressions.List":   {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Suppressions().List(c, page)) }},
		"BlockedSenders.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.BlockedSenders().Get(c, w.blocked.ID)) }},
		"BlockedSenders.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.BlockedSenders().List(c, "", page)) }},
		"BlockedSenders.Block": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.BlockedSenders().Block(c, "eve@example.net"))
		}},
		"BlockedSenders.Unblock": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.BlockedSenders().Unblock(c, w.blocked.ID))
		}},
		"Suppressions.Add": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Suppressions().Add(c, sending.SuppressionInput{Email: "grace@example.com"}))
		}},
		"Suppressions.Lift": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Suppressions().Lift(c, w.suppression.ID))
		}},

		"Interactions.Create": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Create(c, w.conversation.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x"}))
		}},
		"Interactions.Get": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Get(c, w.conversation.ID, w.question.ID))
		}},
		"Interactions.List": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().List(c, w.conversation.ID, page))
		}},
		"Interactions.Deliveries": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Deliveries(c, []int64{w.answer.ID}))
		}},
		"Interactions.Update": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Update(c, w.conversation.ID, w.answer.ID, helpdesk.InteractionUpdate{Body: name("x")}))
		}},
		"Interactions.Delete": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Interactions().Delete(c, w.conversation.ID, w.question.ID))
		}},
		"Interactions.Discard": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().Discard(c, w.conversation.ID, w.question.ID))
		}},
		"Interactions.ForwardHead": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().ForwardHead(c, w.conversation, w.question))
		}},
		"Interactions.Restore": {hidden, func(c context.Context, d desk, w w) (any, error) {
			draft := w.question
			draft.UserID, draft.Status, draft.Type = d.UserID(), helpdesk.StatusDraft, helpdesk.TypeNote
			return say(d.Interactions().Restore(c, helpdesk.Discarded{Draft: draft}))
		}},
		"Interactions.RetryDeliveries": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().RetryDeliveries(c, w.conversation.ID, w.answer.ID))
		}},
		"Interactions.CancelSending": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Interactions().CancelSending(c, w.conversation.ID, w.answer.ID))
		}},

		"Domains.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Domains().Create(c, "other.example.org"))
		}},
		"Domains.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Domains().Update(c, w.domain.ID, "other.example.org"))
		}},
		"Domains.Verify": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Domains().Verify(c, w.domain.ID)) }}, // only reads the state
		"Domains.Get":    {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Domains().Get(c, w.domain.ID)) }},
		"Domains.List":   {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Domains().List(c, page)) }},
		"Domains.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Domains().Delete(c, w.domain.ID)) }},

		"Events.List": {cut, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Events().List(c, subscription.EventQuery{Types: []string{"mailbox.created", "conversation.created"}}, page))
		}},

		"Mailboxes.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Mailboxes().Create(c, helpdesk.MailboxInput{Name: name("x"), Email: name("x@example.org")}))
		}},
		"Mailboxes.Update": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Mailboxes().Update(c, w.box.ID, helpdesk.MailboxInput{Name: name("x")}))
		}},
		"Mailboxes.Get":  {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailboxes().Get(c, w.box.ID)) }},
		"Mailboxes.List": {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Mailboxes().List(c, page)) }},
		"Members.ByID":   {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Members().ByID(c, []int64{w.boss.ID})) }},
		"Members.Picture": {own, func(c context.Context, d desk, _ w) (any, error) {
			_, err := d.Members().Picture(c, d.UserID())
			if fault.Is(err, fault.NotFound) { // they have none
				err = nil
			}
			return done(err)
		}},
		"Mailboxes.FormFields": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailboxes().FormFields(c, w.box.ID)) }},
		"Mailboxes.ByID": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Mailboxes().ByID(c, []int64{w.box.ID}))
		}},
		"Mailboxes.Delete": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Mailboxes().Delete(c, w.box.ID, true))
		}},
		"Mailboxes.Health":      {cut, func(c context.Context, d desk, _ w) (any, error) { return say(d.Mailboxes().Health(c, time.Hour)) }},
		"Mailboxes.FetchStatus": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Mailboxes().FetchStatus(c, w.box.ID)) }},
		"InboundMails.List": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.InboundMails().List(c, ledger.Filter{MailboxID: w.box.ID}, page))
		}},
		"InboundMails.Get": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.InboundMails().Get(c, w.box.ID, w.mail.ID))
		}},
		"InboundMails.Open": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.InboundMails().Open(c, w.box.ID, w.mail.ID))
		}},
		"InboundMails.Counts": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.InboundMails().Counts(c, w.box.ID)) }},
		"InboundMails.Replay": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.InboundMails().Replay(c, w.box.ID, w.mail.ID))
		}},
		"InboundMails.Ignore": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.InboundMails().Ignore(c, w.box.ID, w.mail.ID, "x"))
		}},
		"InboundMails.ReplayAll": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.InboundMails().ReplayAll(c, w.box.ID)) }},

		"Members.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Members().List(c, page)) }},
		"Members.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Members().Get(c, w.boss.ID)) }},
		"Membership":   {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Membership(c)) }},
		"Touch":        {own, func(c context.Context, d desk, _ w) (any, error) { return done(d.Touch(c)) }},
		"Roles.All":    {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Roles().All(c)) }},
		"Members.Users": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Members().Users(c, []int64{w.boss.UserID}))
		}},
		"Members.Active": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Members().Active(c)) }},
		"Members.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Members().Update(c, w.member.ID, identity.MembershipUpdate{RoleIDs: w.boss.RoleIDs, MailboxIDs: storage.Null[[]int64]()}))
		}},
		"Members.Disable": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Members().Disable(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"Members.Enable": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Members().Enable(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"Members.ResetSecondFactor": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Members().ResetSecondFactor(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"Members.Remove": {refused, func(c context.Context, d desk, w w) (any, error) {
			third := w.member
			return done(d.Members().Remove(c, map[bool]int64{true: third.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"JoinRules.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.JoinRules().List(c, page)) }},
		"JoinRules.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.JoinRules().Get(c, w.joinRule.ID)) }},
		"JoinRules.Apply": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.JoinRules().Apply(c, []identity.JoinRule{w.joinRule}))
		}},
		"JoinRules.Create": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.JoinRules().Create(c, identity.JoinRuleInput{Provider: "work", Domain: "elsewhere.example", RoleIDs: w.boss.RoleIDs}))
		}},
		"JoinRules.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.JoinRules().Update(c, w.joinRule.ID, identity.JoinRuleInput{Provider: "work", Domain: "elsewhere.example", RoleIDs: w.boss.RoleIDs}))
		}},
		"JoinRules.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.JoinRules().Delete(c, w.joinRule.ID)) }},
		"Members.Unlink": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Members().Unlink(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"Members.RemovePasskeys": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Members().RemovePasskeys(c, map[bool]int64{true: w.member.ID, false: w.boss.ID}[d == w.desk]))
		}},
		"Members.Invitations": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Members().Invitations(c, page)) }},
		"Members.Invite": {refused, func(c context.Context, d desk, w w) (any, error) {
			return two(d.Members().Invite(c, identity.InvitationInput{Email: "x@example.org", RoleIDs: w.boss.RoleIDs}))
		}},
		"Members.DeleteInvitation": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.Members().DeleteInvitation(c, w.invitation.ID))
		}},
		"Roles.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Roles().List(c, page)) }},
		"Roles.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Roles().Get(c, w.role.ID)) }},
		"Roles.Create": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Roles().Create(c, identity.RoleInput{Name: "x"}))
		}},
		"Roles.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Roles().Update(c, w.role.ID, identity.RoleInput{Name: "x"}))
		}},
		"Roles.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Roles().Delete(c, w.role.ID)) }},
		"PortalKeys.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return two(d.PortalKeys().Create(c, helpdesk.PortalKeyInput{Name: "x", Algorithm: helpdesk.PortalHS256}))
		}},
		"PortalKeys.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.PortalKeys().List(c, page)) }},
		"PortalKeys.Delete": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.PortalKeys().Delete(c, w.portalKey.ID))
		}},

		"Companies.Get": {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Companies().Get(c, w.company.ID)) }},
		"Companies.List": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Companies().List(c, helpdesk.CompanyQuery{}, page))
		}},
		"Companies.ByID": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Companies().ByID(c, []int64{w.company.ID}))
		}},
		"Companies.Create": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Companies().Create(c, helpdesk.CompanyInput{Name: "x"}))
		}},
		"Companies.SetFields": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Companies().SetFields(c, w.company.ID, nil))
		}},
		"Companies.Fields": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Companies().Fields(c, []int64{w.company.ID}))
		}},
		"Companies.Update": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Companies().Update(c, w.company.ID, helpdesk.CompanyInput{Name: "x"}))
		}},
		"Companies.Merge": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Companies().Merge(c, w.another(), w.company.ID))
		}},
		"Companies.Delete": {own, func(c context.Context, d desk, w w) (any, error) { return done(d.Companies().Delete(c, w.another())) }},
		"Teams.Get":        {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Teams().Get(c, w.team.ID)) }},
		"Teams.Members":    {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Teams().Members(c, w.team.ID)) }},
		"Teams.Queue":      {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Teams().Queue(c, w.team.ID, page)) }},
		"Teams.List":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Teams().List(c, page)) }},
		"Teams.ByID":       {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Teams().ByID(c, []int64{w.team.ID})) }},
		"Teams.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Teams().Create(c, helpdesk.TeamInput{Name: "x"}))
		}},
		"Teams.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Teams().Update(c, w.team.ID, helpdesk.TeamInput{Name: "x"}))
		}},
		"Teams.AddMembers": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Teams().AddMembers(c, w.team.ID, []int64{w.some.UserID()}))
		}},
		"Teams.RemoveMembers": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Teams().RemoveMembers(c, w.team.ID, w.team.MemberIDs))
		}},
		"Teams.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Teams().Delete(c, w.team.ID)) }},
		"Tags.Get":     {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Tags().Get(c, w.tag)) }},
		"Tags.List":    {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Tags().List(c, page)) }},
		"Fields.Get":   {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Fields().Get(c, w.field.ID)) }},
		"Fields.List":  {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Fields().List(c, nil, page)) }},
		"Fields.Create": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Fields().Create(c, helpdesk.FieldInput{Label: "x", AppliesTo: helpdesk.FieldOfCustomer, Type: helpdesk.FieldText}))
		}},
		"Fields.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Fields().Update(c, w.field.ID, helpdesk.FieldInput{Label: "x"}))
		}},
		"Fields.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Fields().Delete(c, w.field.ID)) }},
		"Conversations.Fields": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Fields(c, []int64{w.near.ID, w.conversation.ID}))
		}},
		"SavedReplies.Placeholders": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.SavedReplies().Placeholders(c)) }},
		"Tags.Create": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Tags().Create(c, helpdesk.TagInput{Name: "x"}))
		}},
		"Tags.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Tags().Update(c, w.tag, helpdesk.TagInput{Name: "x"}))
		}},
		"Tags.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Tags().Delete(c, w.tag)) }},
		"Conversations.Marks": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Marks(c, []int64{w.near.ID}))
		}},
		"Conversations.TagsAndUnread": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().TagsAndUnread(c, []int64{w.near.ID}))
		}},
		"Conversations.SetTags": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().SetTags(c, w.conversation.ID, []int64{w.tag}))
		}},
		"Conversations.AddTags": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().AddTags(c, w.conversation.ID, []int64{w.tag}))
		}},
		"Conversations.RemoveTags": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().RemoveTags(c, w.conversation.ID, []int64{w.tag}))
		}},
		"Views.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Views().Get(c, w.view.ID)) }},
		"Views.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Views().List(c, page)) }},
		"Views.Create": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Views().Create(c, helpdesk.ViewInput{Name: "x", Filter: helpdesk.ViewFilter{MailboxID: w.box.ID}}))
		}},
		"Views.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Views().Update(c, w.view.ID, helpdesk.ViewInput{Name: "x"}))
		}},
		"Views.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Views().Delete(c, w.view.ID)) }},

		"Calendars.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Calendars().Get(c, w.calendar.ID)) }},
		"Calendars.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Calendars().List(c, page)) }},
		"Calendars.Create": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Calendars().Create(c, helpdesk.CalendarInput{Name: name("x"), Timezone: name("UTC"), Week: storage.Some(w.calendar.Week)}))
		}},
		"Calendars.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Calendars().Update(c, w.calendar.ID, helpdesk.CalendarInput{Name: name("x")}))
		}},
		"SLAs.Get":        {own, func(c context.Context, d desk, w w) (any, error) { return say(d.SLAs().Get(c, w.sla.ID)) }},
		"SLAs.List":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.SLAs().List(c, page)) }},
		"SLAs.Vocabulary": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.SLAs().Vocabulary(c)) }},
		"SLAs.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.SLAs().Create(c, helpdesk.SLAInput{Name: name("x"), FirstReply: storage.Some(60)}))
		}},
		"SLAs.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.SLAs().Update(c, w.sla.ID, helpdesk.SLAInput{Name: name("x")}))
		}},
		"SLAs.Order":       {refused, func(c context.Context, d desk, w w) (any, error) { return say(d.SLAs().Order(c, []int64{w.sla.ID})) }},
		"SLAs.Delete":      {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.SLAs().Delete(c, w.sla.ID)) }},
		"Calendars.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Calendars().Delete(c, w.calendar.ID)) }},
		"Rules.Get":        {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Rules().Get(c, w.rule.ID)) }},
		"Rules.List": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Rules().List(c, storage.PageRequest{}))
		}},
		"Rules.Vocabulary": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Rules().Vocabulary(c)) }},
		"Rules.Runs": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Rules().Runs(c, w.rule.ID, storage.PageRequest{}))
		}},
		"Rules.Test": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Rules().Test(c, w.rule.ID, w.conversation.ID, ""))
		}},
		"Rules.Replay": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Rules().Replay(c, helpdesk.ReplayInput{Rule: ruleInput("x", atMail, do(rules.SetPriority, "high"))}))
		}},
		"Rules.ReplayOf": {hidden, func(c context.Context, d desk, w w) (any, error) { return say(d.Rules().ReplayOf(c, w.replay.ID)) }},
		"Rules.Replayed": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Rules().Replayed(c, w.replay.ID, storage.PageRequest{}))
		}},
		"Rules.CancelReplay": {hidden, func(c context.Context, d desk, w w) (any, error) { return done(d.Rules().CancelReplay(c, w.replay.ID)) }},
		"Rules.Create": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Rules().Create(c, ruleInput("x", atMail, do(rules.Move, fmt.Sprint(w.box.ID)))))
		}},
		"Rules.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Rules().Update(c, w.rule.ID, helpdesk.RuleInput{State: storage.Some(helpdesk.RuleOff)}))
		}},
		"Rules.Order":      {refused, func(c context.Context, d desk, w w) (any, error) { return say(d.Rules().Order(c, []int64{w.rule.ID})) }},
		"Rules.Delete":     {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Rules().Delete(c, w.rule.ID)) }},
		"AutoReplies.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.AutoReplies().Get(c, w.autoReply.ID)) }},
		"AutoReplies.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.AutoReplies().List(c, page)) }},
		"AutoReplies.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.AutoReplies().Create(c, helpdesk.AutoReplyInput{Name: name("x"), Translations: storage.Some(map[string]helpdesk.AutoText{"en": {Body: "x"}})}))
		}},
		"AutoReplies.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.AutoReplies().Update(c, w.autoReply.ID, helpdesk.AutoReplyInput{MailboxIDs: storage.Some([]int64{w.mailbox.ID})}))
		}},
		"AutoReplies.Delete": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.AutoReplies().Delete(c, w.autoReply.ID))
		}},
		"AutoReplies.Preview": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.AutoReplies().Preview(c, map[string]helpdesk.AutoText{"en": {Subject: "{{conversation.subject}}", Body: "x"}}))
		}},
		"Surveys.Get":        {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Surveys().Get(c, w.survey.ID)) }},
		"Surveys.List":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Surveys().List(c, page)) }},
		"Surveys.Vocabulary": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Surveys().Vocabulary(c)) }},
		"Surveys.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Surveys().Create(c, helpdesk.SurveyInput{Name: name("x"), Translations: storage.Some(map[string]helpdesk.SurveyText{"en": {Body: "x"}})}))
		}},
		"Surveys.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Surveys().Update(c, w.survey.ID, helpdesk.SurveyInput{MailboxIDs: storage.Some([]int64{w.mailbox.ID})}))
		}},
		"Surveys.Delete": {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Surveys().Delete(c, w.survey.ID)) }},
		"Surveys.Preview": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Surveys().Preview(c, map[string]helpdesk.SurveyText{"en": {Subject: "{{conversation.subject}}", Body: "x"}}))
		}},
		"Conversations.Hold": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Conversations().Hold(c, w.conversation.ID, helpdesk.HoldInput{Held: true}))
		}},
		"RetentionPolicies.Get": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.RetentionPolicies().Get(c, w.retention.ID))
		}},
		"RetentionPolicies.List":       {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.RetentionPolicies().List(c, page)) }},
		"RetentionPolicies.Vocabulary": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.RetentionPolicies().Vocabulary(c)) }},
		"RetentionPolicies.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.RetentionPolicies().Create(c, helpdesk.RetentionPolicyInput{Name: name("x"), AfterDays: storage.Some(9), Action: storage.Some(helpdesk.RetainNoCustomer)}))
		}},
		"RetentionPolicies.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.RetentionPolicies().Update(c, w.retention.ID, helpdesk.RetentionPolicyInput{AfterDays: storage.Some(9)}))
		}},
		"RetentionPolicies.Delete": {refused, func(c context.Context, d desk, w w) (any, error) {
			return done(d.RetentionPolicies().Delete(c, w.retention.ID))
		}},
		"RetentionPolicies.Preview": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.RetentionPolicies().Preview(c, w.retention.ID, helpdesk.RetentionPolicyInput{AfterDays: storage.Some(1)}))
		}},
		"Ratings.Of": {own, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Ratings().Of(c, []int64{w.conversation.ID, w.near.ID}))
		}},
		"Ratings.List": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Ratings().List(c, w.conversation.ID, page))
		}},
		"Ratings.Record": {hidden, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Ratings().Record(c, w.conversation.ID, helpdesk.RatingInput{Score: 1}))
		}},
		"Reports.Get": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Reports().Get(c, figures.Volume, everReported()))
		}},
		"Reports.Check": {own, func(c context.Context, d desk, _ w) (any, error) {
			return done(d.Reports().Check(c, figures.Volume, everReported()))
		}},
		"Reports.Rows": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Reports().Rows(c, figures.Volume, everReported(), "created", "", page))
		}},
		"Reports.Searches": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Reports().Searches(c, helpdesk.SearchQuery{SiteID: 1}))
		}},
		"Reports.ContactsAfter": {own, func(c context.Context, d desk, _ w) (any, error) {
			return say(d.Reports().ContactsAfter(c, 1, []int64{1}))
		}},
		"Reports.Each": {own, func(c context.Context, d desk, _ w) (any, error) {
			var all []figures.Fact
			err := d.Reports().Each(c, everReported(), func(f figures.Fact) error {
				all = append(all, f)
				return nil
			})
			return all, err
		}},
		"Interactions.AutoResponses": {own, func(c context.Context, d desk, w w) (any, error) {
			sent := w.answer
			sent.AutoSubmitted = true
			return say(d.Interactions().AutoResponses(c, []helpdesk.Interaction{sent}))
		}},
		"Webhooks.Get":  {own, func(c context.Context, d desk, w w) (any, error) { return say(d.Webhooks().Get(c, w.hook.ID)) }},
		"Webhooks.List": {own, func(c context.Context, d desk, _ w) (any, error) { return say(d.Webhooks().List(c, page)) }},
		"Webhooks.Create": {refused, func(c context.Context, d desk, _ w) (any, error) {
			return two(d.Webhooks().Create(c, subscription.WebhookInput{URL: name("https://evil.example"), Events: storage.Some([]string{"*"})}))
		}},
		"Webhooks.Update": {refused, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Webhooks().Update(c, w.hook.ID, subscription.WebhookInput{URL: name("https://evil.example"), MailboxIDs: storage.Some([]int64{w.mailbox.ID})}))
		}},
		"Webhooks.RotateSecret": {refused, func(c context.Context, d desk, w w) (any, error) { return two(d.Webhooks().RotateSecret(c, w.hook.ID)) }},
		"Webhooks.Delete":       {refused, func(c context.Context, d desk, w w) (any, error) { return done(d.Webhooks().Delete(c, w.hook.ID)) }},
		"Webhooks.Deliveries": {cut, func(c context.Context, d desk, w w) (any, error) {
			return say(d.Webhooks().Deliveries(c, subscription.WebhookDeliveryFilter{WebhookID: w.hook.ID}, page))
		}},
		"Webhooks.Redeliver": {refused, func(c context.Context, d desk, w w) (any, error) {
			w.distribute()
			return say(d.Webhooks().Redeliver(c, w.hook.ID, w.hooked(w.hook)[0].ID))
		}},
	}
}

// A member limited to mailboxes neither sees nor creates anything with a larger scope, by any method.
func TestEveryMethodWithinReach(t *testing.T) {
	t.Parallel()
	all := reachOf()
	for _, name := range methodsOfHandles() {
		one, known := all[name]
		if !known {
			t.Errorf("%s: say in reachOf what it does for a member of some mailboxes", name)
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
		t.Errorf("there is no method %s", name)
	}
}

// methodsOfHandles lists the methods of a desk's handles as "Tags.Create", and what the desk itself does by name alone.
func methodsOfHandles() (names []string) {
	desk := reflect.TypeFor[*helpdesk.Desk]()
	for method := range desk.Methods() {
		handle := method.Type.Out(0)
		if method.Type.NumIn() != 1 || handle.Name() != method.Name || handle.NumMethod() == 0 {
			names = append(names, method.Name)
			continue
		}
		for one := range handle.Methods() {
			names = append(names, handle.Name()+"."+one.Name)
		}
	}
	return names
}

// everReported is a query about all conversations.
func everReported() figures.Query {
	return figures.Query{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
}
