package storagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// noun describes a noun for testing its rows: R reads in a scope, X writes in a transaction, T is the row and F the list
// filter.
type noun[R, X, T, F any] struct {
	storage.Noun[T]
	// method is the name of the method of R and X that returns the rows.
	method string
	read   func(r R) storage.RowReader[T, F]
	write  func(tx X) storage.Rows[T, F]
	// held returns the row that every world has.
	held func(w *world) T
	// fresh returns the nth additional row, in the same mailbox.
	fresh func(w *world, n int) T
	// list returns the filter of a list with all of them.
	list func(w *world) F
	// place returns the position of a row in a list; nil: by id.
	place func(T) storage.Position
	// prepare prepares a world for fresh rows; nil: nothing to do.
	prepare func(t *testing.T, w *world)
	// lacks lists the fields that are empty in the row of every world.
	lacks []string
	// refers says that a row refers to other rows of its world, so that it cannot be inserted elsewhere.
	refers bool
	// fixed lists the fields that tests must not fill with made-up values.
	fixed []string
	// variable says that the uniqueness rules depend on more than the fields; a specific test covers them.
	variable bool
	domain[R, X]
}

// domain describes a domain for testing its nouns.
type domain[R, X any] struct {
	// open creates a world with a row of each noun.
	open func(t *testing.T, b Backend) *world
	// begin runs a transaction in a world; in returns its reader.
	begin func(w *world, ctx context.Context, fn func(ctx context.Context, tx X) error) error
	in    func(w *world) R
	// content returns everything in a world.
	content func(w *world, t *testing.T) any
	// move changes the account of a world's scope.
	move func(w *world, account int64)
}

// tester is a noun of any type.
type tester[R, X any] interface {
	test() testCase
	probes() (string, map[string]readProbeOf[R], map[string]writeProbeOf[X])
}

func of[T, F any](method string, n noun[helpdesk.Reader, helpdesk.Tx, T, F]) tester[helpdesk.Reader, helpdesk.Tx] {
	n.method = method
	n.domain = domain[helpdesk.Reader, helpdesk.Tx]{
		open: newWorld,
		begin: func(w *world, ctx context.Context, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
			return w.Store.InTx(ctx, w.scope, fn)
		},
		in:      (*world).in,
		content: func(w *world, t *testing.T) any { return w.content(t) },
		move:    func(w *world, account int64) { w.scope.AccountID = account },
	}
	return n
}

// declaredOf is of for a plain noun.
func declaredOf[T, F any](name string, declared storage.Declared[T, F], n noun[helpdesk.Reader, helpdesk.Tx, T, F]) tester[helpdesk.Reader, helpdesk.Tx] {
	n.Noun = declared.Noun
	n.read = func(r helpdesk.Reader) storage.RowReader[T, F] { return declared.Reader(r) }
	n.write = func(tx helpdesk.Tx) storage.Rows[T, F] { return declared.Rows(tx) }
	return of(name, n)
}

func everything(*world) storage.NoFilter { return storage.NoFilter{} }

// nouns returns the nouns of the help desk.
func nouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	return slices.Concat(saidNouns(), keptNouns(), automaticNouns(), countedNouns(), namedNouns(), ownNouns())
}

// keptNouns returns the nouns of an account other than conversations.
func keptNouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	type (
		reader = helpdesk.Reader
		tx     = helpdesk.Tx
	)
	declared := helpdesk.Nouns()
	return []tester[reader, tx]{
		declaredOf("Domains", declared.Domains, noun[reader, tx, sending.Domain, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) sending.Domain { return w.domain },
			fresh: func(w *world, n int) sending.Domain { return w.newDomain(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Invitations", declared.Invitations, noun[reader, tx, identity.Invitation, identity.InvitationFilter]{
			list:  func(*world) identity.InvitationFilter { return identity.InvitationFilter{} },
			held:  func(w *world) identity.Invitation { return w.invitation },
			fresh: func(w *world, n int) identity.Invitation { return w.newInvitation(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("JoinRules", declared.JoinRules, noun[reader, tx, identity.JoinRule, identity.JoinRuleFilter]{
			list:  func(*world) identity.JoinRuleFilter { return identity.JoinRuleFilter{} },
			held:  func(w *world) identity.JoinRule { return w.joinRule },
			fresh: func(w *world, n int) identity.JoinRule { return w.newJoinRule(fmt.Sprint("fresh", n)) },
		}),
		of("Mailboxes", noun[reader, tx, helpdesk.Mailbox, storage.NoFilter]{
			Noun: declared.Mailboxes, read: reader.Mailboxes, write: tx.Mailboxes, list: everything, lacks: []string{"IsDefault"},
			held:  func(w *world) helpdesk.Mailbox { return w.mailbox },
			fresh: func(w *world, n int) helpdesk.Mailbox { return w.newMailbox(fmt.Sprint("fresh", n)) },
		}),
		of("Memberships", noun[reader, tx, identity.Membership, storage.NoFilter]{
			Noun: declared.Memberships, read: reader.Memberships, write: tx.Memberships, list: everything,
			held:    func(w *world) identity.Membership { return w.member },
			fresh:   func(w *world, n int) identity.Membership { return w.newMember(n) },
			prepare: func(t *testing.T, w *world) { w.hire(t) },
		}),
		declaredOf("PGPKeys", declared.PGPKeys, noun[reader, tx, helpdesk.PGPKey, helpdesk.PGPKeyFilter]{
			refers: true,
			held:   func(w *world) helpdesk.PGPKey { return w.pgpKey },
			fresh:  func(w *world, n int) helpdesk.PGPKey { return w.newPGPKey(fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.PGPKeyFilter {
				return helpdesk.PGPKeyFilter{CustomerEmailIDs: ids(w.customer.Emails, emailID)}
			},
		}),
		declaredOf("PortalKeys", declared.PortalKeys, noun[reader, tx, helpdesk.PortalKey, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.PortalKey { return w.portalKey },
			fresh: func(w *world, n int) helpdesk.PortalKey { return w.newPortalKey() },
		}),
		declaredOf("Roles", declared.Roles, noun[reader, tx, identity.Role, storage.NoFilter]{
			list: everything, lacks: []string{"Key"},
			held:  func(w *world) identity.Role { return w.role },
			fresh: func(w *world, n int) identity.Role { return w.newRole(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Erasures", declared.Erasures, noun[reader, tx, helpdesk.Erasure, helpdesk.ErasureFilter]{

			held:  func(w *world) helpdesk.Erasure { return w.erasure },
			fresh: func(w *world, n int) helpdesk.Erasure { return w.newErasure(fmt.Sprint("fresh", n)) },
			list:  func(*world) helpdesk.ErasureFilter { return helpdesk.ErasureFilter{} },
		}),
		declaredOf("BlockedSenders", declared.BlockedSenders, noun[reader, tx, helpdesk.BlockedSender, helpdesk.BlockedSenderFilter]{

			held:  func(w *world) helpdesk.BlockedSender { return w.blocked },
			fresh: func(w *world, n int) helpdesk.BlockedSender { return w.newBlockedSender(fmt.Sprint("fresh", n)) },
			list:  func(*world) helpdesk.BlockedSenderFilter { return helpdesk.BlockedSenderFilter{} },
		}),
		declaredOf("Suppressions", declared.Suppressions, noun[reader, tx, sending.Suppression, sending.SuppressionFilter]{
			list:  func(*world) sending.SuppressionFilter { return sending.SuppressionFilter{} },
			held:  func(w *world) sending.Suppression { return w.suppression },
			fresh: func(w *world, n int) sending.Suppression { return w.newSuppression(fmt.Sprint("fresh", n)) },
		}),
	}
}

// countedNouns returns the nouns of what reports count.
func countedNouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	type (
		reader = helpdesk.Reader
		tx     = helpdesk.Tx
	)
	declared := helpdesk.Nouns()
	return []tester[reader, tx]{
		declaredOf("ConversationFacts", declared.ConversationFacts, noun[reader, tx, helpdesk.ConversationFact, helpdesk.ConversationFactFilter]{
			refers: true,
			list: func(w *world) helpdesk.ConversationFactFilter {
				return helpdesk.ConversationFactFilter{ConversationIDs: []int64{w.conversation.ID}}
			},
			held:  func(w *world) helpdesk.ConversationFact { return w.folded },
			fresh: func(w *world, n int) helpdesk.ConversationFact { return w.newFolded(n) },
		}),
		declaredOf("FactLogs", declared.FactLogs, noun[reader, tx, helpdesk.FactLog, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.FactLog { return w.factLog },
			fresh: func(w *world, n int) helpdesk.FactLog { return w.newFactLog(int64(n) + 100) },
		}),
		declaredOf("Readings", declared.Readings, noun[reader, tx, helpdesk.SiteReading, helpdesk.ReadingFilter]{
			list: func(w *world) helpdesk.ReadingFilter {
				return helpdesk.ReadingFilter{SiteIDs: []int64{7}, Days: []string{w.reading.Day}, ArticleIDs: []int64{3}}
			},
			held:  func(w *world) helpdesk.SiteReading { return w.reading },
			fresh: func(w *world, n int) helpdesk.SiteReading { return w.newReading(n + 100) },
		}),
	}
}

// automaticNouns returns the nouns of what acts by itself.
func automaticNouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	type (
		reader = helpdesk.Reader
		tx     = helpdesk.Tx
	)
	declared := helpdesk.Nouns()
	return []tester[reader, tx]{
		declaredOf("Calendars", declared.Calendars, noun[reader, tx, helpdesk.Calendar, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.Calendar { return w.calendar },
			fresh: func(w *world, n int) helpdesk.Calendar { return w.newCalendar(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("AutoReplies", declared.AutoReplies, noun[reader, tx, helpdesk.AutoReply, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.AutoReply { return w.autoReply },
			fresh: func(w *world, n int) helpdesk.AutoReply { return w.newAutoReply(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("AutoResponses", declared.AutoResponses, noun[reader, tx, helpdesk.AutoResponse, helpdesk.AutoResponseFilter]{
			refers: true,
			held:   func(w *world) helpdesk.AutoResponse { return w.autoResponse },
			fresh:  func(w *world, n int) helpdesk.AutoResponse { return w.newAutoResponse(fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.AutoResponseFilter {
				return helpdesk.AutoResponseFilter{AutoReplyID: w.autoReply.ID}
			},
		}),
		declaredOf("Rules", declared.Rules, noun[reader, tx, helpdesk.Rule, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.Rule { return w.rule },
			fresh: func(w *world, n int) helpdesk.Rule { return w.newRule(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("RuleSets", declared.RuleSets, noun[reader, tx, helpdesk.RuleSet, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.RuleSet { return w.ruleSet },
			fresh: func(w *world, n int) helpdesk.RuleSet { return w.newRuleSet(int64(n) + 100) },
		}),
		declaredOf("SLAs", declared.SLAs, noun[reader, tx, helpdesk.SLA, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.SLA { return w.sla },
			fresh: func(w *world, n int) helpdesk.SLA { return w.newSLA(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Surveys", declared.Surveys, noun[reader, tx, helpdesk.Survey, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.Survey { return w.survey },
			fresh: func(w *world, n int) helpdesk.Survey { return w.newSurvey(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("RetentionPolicies", declared.RetentionPolicies, noun[reader, tx, helpdesk.RetentionPolicy, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.RetentionPolicy { return w.retention },
			fresh: func(w *world, n int) helpdesk.RetentionPolicy { return w.newRetentionPolicy(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Ratings", declared.Ratings, noun[reader, tx, helpdesk.Rating, helpdesk.RatingFilter]{
			refers: true,
			list: func(w *world) helpdesk.RatingFilter {
				return helpdesk.RatingFilter{ConversationIDs: []int64{w.conversation.ID}, CustomerID: w.customer.ID}
			},
			held:  func(w *world) helpdesk.Rating { return w.rating },
			fresh: func(w *world, n int) helpdesk.Rating { return w.newRating(n%5 + 1) },
		}),
		declaredOf("RuleRuns", declared.RuleRuns, noun[reader, tx, helpdesk.RuleRun, helpdesk.RuleRunFilter]{
			refers: true,
			list:   func(w *world) helpdesk.RuleRunFilter { return helpdesk.RuleRunFilter{RuleID: w.rule.ID} },
			held:   func(w *world) helpdesk.RuleRun { return w.ruleRun },
			fresh:  func(w *world, n int) helpdesk.RuleRun { return w.newRuleRun(int64(n) + 100) },
		}),
		declaredOf("RuleReplays", declared.RuleReplays, noun[reader, tx, helpdesk.RuleReplay, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.RuleReplay { return w.replay },
			fresh: func(w *world, n int) helpdesk.RuleReplay { return w.newReplay(n + 100) },
		}),
		declaredOf("ReplayedConversations", declared.ReplayedConversations, noun[reader, tx, helpdesk.ReplayedConversation, helpdesk.ReplayedFilter]{
			refers: true,
			list:   func(w *world) helpdesk.ReplayedFilter { return helpdesk.ReplayedFilter{ReplayID: w.replay.ID} },
			held:   func(w *world) helpdesk.ReplayedConversation { return w.replayed },
			fresh:  func(w *world, n int) helpdesk.ReplayedConversation { return w.newReplayed(int64(n) + 1000) },
		}),
		declaredOf("RulePasses", declared.RulePasses, noun[reader, tx, helpdesk.RulePass, helpdesk.RulePassFilter]{
			list: func(w *world) helpdesk.RulePassFilter {
				return helpdesk.RulePassFilter{ConversationID: w.conversation.ID}
			},
			held:  func(w *world) helpdesk.RulePass { return w.rulePass },
			fresh: func(w *world, n int) helpdesk.RulePass { return w.newRulePass(int64(n)*10 + 100) },
		}),
	}
}

// namedNouns returns the nouns by which an account arranges its work.
func namedNouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	type (
		reader = helpdesk.Reader
		tx     = helpdesk.Tx
	)
	declared := helpdesk.Nouns()
	return []tester[reader, tx]{
		declaredOf("Teams", declared.Teams, noun[reader, tx, helpdesk.Team, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.Team { return w.team },
			fresh: func(w *world, n int) helpdesk.Team { return w.newTeam(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Companies", declared.Companies, noun[reader, tx, helpdesk.Company, helpdesk.CompanyFilter]{
			list:  func(*world) helpdesk.CompanyFilter { return helpdesk.CompanyFilter{} },
			held:  func(w *world) helpdesk.Company { return w.company },
			fresh: func(w *world, n int) helpdesk.Company { return w.newCompany(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("CompanyKeys", declared.CompanyKeys, noun[reader, tx, helpdesk.CompanyKey, helpdesk.CompanyKeyFilter]{
			refers: true,
			list:   func(*world) helpdesk.CompanyKeyFilter { return helpdesk.CompanyKeyFilter{} },
			held:   func(w *world) helpdesk.CompanyKey { return w.companyKey },
			fresh:  func(w *world, n int) helpdesk.CompanyKey { return w.newCompanyKey(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Tags", declared.Tags, noun[reader, tx, helpdesk.Tag, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) helpdesk.Tag { return w.tag },
			fresh: func(w *world, n int) helpdesk.Tag { return w.newTag(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Fields", declared.Fields, noun[reader, tx, helpdesk.Field, helpdesk.FieldFilter]{
			list: func(*world) helpdesk.FieldFilter {
				return helpdesk.FieldFilter{AppliesTo: []helpdesk.FieldKind{helpdesk.FieldOfConversation}}
			},
			held:  func(w *world) helpdesk.Field { return w.field },
			fresh: func(w *world, n int) helpdesk.Field { return w.newField(fmt.Sprint("fresh", n)) },
		}),
		declaredOf("Views", declared.Views, noun[reader, tx, helpdesk.View, helpdesk.ViewReader]{
			list:  func(*world) helpdesk.ViewReader { return helpdesk.ViewReader{} },
			held:  func(w *world) helpdesk.View { return w.view },
			fresh: func(w *world, n int) helpdesk.View { return w.newView() },
		}),
		of("WebhookDeliveries", noun[reader, tx, subscription.WebhookDelivery, subscription.WebhookDeliveryFilter]{
			Noun: declared.WebhookDeliveries, read: reader.WebhookDeliveries, write: tx.WebhookDeliveries,
			held:  func(w *world) subscription.WebhookDelivery { return w.hooked },
			fresh: func(w *world, _ int) subscription.WebhookDelivery { return w.newWebhookDelivery(w.webhook.ID) },
			list: func(w *world) subscription.WebhookDeliveryFilter {
				return subscription.WebhookDeliveryFilter{WebhookID: w.webhook.ID}
			},
		}),
		declaredOf("Webhooks", declared.Webhooks, noun[reader, tx, subscription.Webhook, storage.NoFilter]{
			list:  everything,
			held:  func(w *world) subscription.Webhook { return w.webhook },
			fresh: func(w *world, n int) subscription.Webhook { return w.newWebhook() },
		}),
	}
}

// ownNouns returns the nouns that belong to members.
func ownNouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	type (
		reader = helpdesk.Reader
		tx     = helpdesk.Tx
	)
	declared := helpdesk.Nouns()
	return []tester[reader, tx]{
		declaredOf("MemberMails", declared.MemberMails, noun[reader, tx, helpdesk.MemberMail, helpdesk.MemberMailFilter]{

			held:  func(w *world) helpdesk.MemberMail { return w.memberMail },
			fresh: func(w *world, n int) helpdesk.MemberMail { return w.newMemberMail(fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.MemberMailFilter {
				return helpdesk.MemberMailFilter{UserID: w.user.ID}
			},
		}),
		declaredOf("SavedReplies", declared.SavedReplies, noun[reader, tx, helpdesk.SavedReply, helpdesk.SavedReplyFilter]{

			held:  func(w *world) helpdesk.SavedReply { return w.savedReply },
			fresh: func(w *world, n int) helpdesk.SavedReply { return w.newSavedReply(fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.SavedReplyFilter {
				return helpdesk.SavedReplyFilter{UserIDs: []int64{w.user.ID}}
			},
		}),
		declaredOf("ReplyFiles", declared.ReplyFiles, noun[reader, tx, helpdesk.ReplyFile, helpdesk.ReplyFileFilter]{
			refers: true,
			held:   func(w *world) helpdesk.ReplyFile { return w.replyFile },
			fresh: func(w *world, n int) helpdesk.ReplyFile {
				return w.newReplyFile(w.savedReply.ID, fmt.Sprint("fresh", n))
			},
			list: func(w *world) helpdesk.ReplyFileFilter {
				return helpdesk.ReplyFileFilter{ReplyIDs: []int64{w.savedReply.ID}}
			},
		}),
		declaredOf("PushDevices", declared.PushDevices, noun[reader, tx, helpdesk.PushDevice, helpdesk.PushDeviceFilter]{

			held:  func(w *world) helpdesk.PushDevice { return w.pushDevice },
			fresh: func(w *world, n int) helpdesk.PushDevice { return w.newPushDevice(fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.PushDeviceFilter {
				return helpdesk.PushDeviceFilter{UserIDs: []int64{w.user.ID}}
			},
		}),
		declaredOf("Signatures", declared.Signatures, noun[reader, tx, helpdesk.Signature, helpdesk.SignatureFilter]{

			held:  func(w *world) helpdesk.Signature { return w.signature },
			fresh: func(w *world, n int) helpdesk.Signature { return w.newSignature(n + 1) },
			list:  func(w *world) helpdesk.SignatureFilter { return w.signers() },
		}),
	}
}

// saidNouns returns conversations and the nouns in them.
func saidNouns() []tester[helpdesk.Reader, helpdesk.Tx] {
	type (
		reader = helpdesk.Reader
		tx     = helpdesk.Tx
	)
	declared := helpdesk.Nouns()
	return []tester[reader, tx]{
		of("Attachments", noun[reader, tx, helpdesk.Attachment, helpdesk.AttachmentFilter]{
			Noun: declared.Attachments, read: reader.Attachments, write: tx.Attachments,
			held:  func(w *world) helpdesk.Attachment { return w.attachment },
			fresh: func(w *world, n int) helpdesk.Attachment { return w.newAttachment(w.question, fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.AttachmentFilter {
				return helpdesk.AttachmentFilter{InteractionIDs: []int64{w.question.ID, w.answer.ID}}
			},
			refers: true,
		}),
		of("Conversations", noun[reader, tx, helpdesk.Conversation, helpdesk.ConversationOrder]{
			Noun: declared.Conversations, read: reader.Conversations, write: tx.Conversations,
			held:  func(w *world) helpdesk.Conversation { return w.conversation },
			fresh: func(w *world, _ int) helpdesk.Conversation { return w.newConversation() },
			list:  func(*world) helpdesk.ConversationOrder { return helpdesk.ConversationOrder{} },
			place: func(c helpdesk.Conversation) storage.Position {
				return storage.Position{Key: c.SortKey(helpdesk.ByCreated), ID: c.ID}
			},
			refers: true,
		}),
		of("Deliveries", noun[reader, tx, sending.Delivery, sending.DeliveryFilter]{
			Noun: declared.Deliveries, read: reader.Deliveries, write: tx.Deliveries,
			held:  func(w *world) sending.Delivery { return w.delivery },
			fresh: func(w *world, _ int) sending.Delivery { return w.newDelivery(w.answer) },
			list: func(w *world) sending.DeliveryFilter {
				return sending.DeliveryFilter{InteractionIDs: []int64{w.question.ID, w.answer.ID}}
			},
			refers: true,
		}),
		of("Interactions", noun[reader, tx, helpdesk.Interaction, helpdesk.InteractionFilter]{
			Noun: declared.Interactions, read: reader.Interactions, write: tx.Interactions,
			held:  func(w *world) helpdesk.Interaction { return w.question },
			lacks: []string{"UserID", "PostedByID", "Bcc", "IsForward", "SendAt", "SendStartedAt", "Ending"},
			fresh: func(w *world, _ int) helpdesk.Interaction { return w.newQuestion(w.conversation) },
			list: func(w *world) helpdesk.InteractionFilter {
				return helpdesk.InteractionFilter{ConversationID: w.conversation.ID}
			},
			place:  func(i helpdesk.Interaction) storage.Position { return storage.Position{Key: i.SortKey(), ID: i.ID} },
			refers: true,
		}),
		of("Notifications", noun[reader, tx, helpdesk.Notification, helpdesk.NotificationFilter]{
			Noun: declared.Notifications, read: reader.Notifications, write: tx.Notifications,
			held:  func(w *world) helpdesk.Notification { return w.notification },
			fresh: func(w *world, n int) helpdesk.Notification { return w.newNotification(fmt.Sprint("fresh", n)) },
			list: func(w *world) helpdesk.NotificationFilter {
				return helpdesk.NotificationFilter{UserID: w.user.ID}
			},
			refers: true,
		}),
	}
}

func rowTests() []testCase { return testsOf(nouns()) }

func testsOf[R, X any](nouns []tester[R, X]) []testCase {
	tests := make([]testCase, len(nouns))
	for i, n := range nouns {
		tests[i] = n.test()
	}
	return tests
}

// probesOf adds the probes for nouns to those for methods, and returns the methods that return rows.
func probesOf[R, X any](nouns []tester[R, X], reads map[string]readProbeOf[R], writes map[string]writeProbeOf[X]) []string {
	var methods []string
	for _, n := range nouns {
		method, r, w := n.probes()
		methods = append(methods, method)
		maps.Copy(reads, r)
		maps.Copy(writes, w)
	}
	return methods
}

func (n noun[R, X, T, F]) probes() (method string, reads map[string]readProbeOf[R], writes map[string]writeProbeOf[X]) {
	at := ofAccount
	switch {
	case n.InMailboxes:
		at = ofMailbox
	case reflect.TypeFor[R]() == reflect.TypeFor[kb.Reader]():
		at = ofSite
	}
	// only the victim's own row counts: the scope may include others of its account
	found := func(v *world, list []T, err error) (any, error) {
		for _, row := range list {
			if *n.ID(&row) == n.id(n.held(v)) {
				return v.mark, err
			}
		}
		return nil, err
	}
	reads = map[string]readProbeOf[R]{
		n.method + ".Get": {at, true, func(ctx context.Context, r R, v *world) (any, error) {
			row, err := n.read(r).Get(ctx, n.id(n.held(v)))
			return found(v, []T{row}, err)
		}},
		n.method + ".List": {at, false, func(ctx context.Context, r R, v *world) (any, error) {
			list, err := n.read(r).List(ctx, n.list(v), all())
			return found(v, list, err)
		}},
		n.method + ".ByIDs": {at, false, func(ctx context.Context, r R, v *world) (any, error) {
			list, err := n.read(r).ByIDs(ctx, []int64{n.id(n.held(v))})
			return found(v, list, err)
		}},
	}
	writes = map[string]writeProbeOf[X]{
		n.method + ".Lock": {level: at, call: func(ctx context.Context, tx X, v *world) error {
			_, err := n.write(tx).Lock(ctx, n.id(n.held(v)))
			return err
		}},
		n.method + ".LockAll": {level: at, call: func(ctx context.Context, tx X, v *world) error {
			list, err := n.write(tx).LockAll(ctx, []int64{n.id(n.held(v))})
			if err == nil && len(list) == 0 {
				return fault.Missing(n.Name, n.id(n.held(v)))
			}
			return err
		}},
		n.method + ".Update": {level: at, call: func(ctx context.Context, tx X, v *world) error {
			row := n.instead(v, 0)
			return n.write(tx).Update(ctx, &row)
		}},
		n.method + ".Trim": {level: at, call: func(ctx context.Context, tx X, v *world) error {
			_, err := n.write(tx).Trim(ctx, n.id(n.held(v)), 1)
			return err
		}},
		n.method + ".Delete": {level: at, call: func(ctx context.Context, tx X, v *world) error {
			return n.write(tx).Delete(ctx, n.id(n.held(v)))
		}},
	}
	if n.refers {
		writes[n.method+".Insert"] = writeProbeOf[X]{level: at, call: func(ctx context.Context, tx X, v *world) error {
			row := n.fresh(v, 0)
			return n.write(tx).Insert(ctx, &row)
		}}
	}
	return n.method, reads, writes
}

func (n noun[R, X, T, F]) test() testCase {
	return testCase{n.method, func(t *testing.T, b Backend) {
		for _, test := range []testCase{
			{"Kept", n.testKept}, {"Removed", n.testRemoved}, {"Pages", n.testPages}, {"Unique", n.testUnique}, {"Account", n.testAccount}, {"AccountDeleted", n.testAccountDeleted},
			{"Text", n.testText}, {"RefusedText", n.testRefusedText}, {"Times", n.testTimes}, {"Nothing", n.testNothing}, {"Copies", n.testCopies},
			{"Many", n.testMany}, {"Transactions", n.testTransactions}, {"Locks", n.testLocks},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				test.run(t, b)
			})
		}
	}}
}

func (n noun[R, X, T, F]) world(t *testing.T, b Backend) *world {
	t.Helper()
	w := n.open(t, b)
	if n.prepare != nil {
		n.prepare(t, w)
	}
	return w
}

func (n noun[R, X, T, F]) id(row T) int64 { return *n.ID(&row) }

// instead returns a fresh row with the id of the held one.
func (n noun[R, X, T, F]) instead(w *world, number int) T {
	row, held := n.fresh(w, number), n.held(w)
	*n.ID(&row) = *n.ID(&held)
	if n.Account != nil {
		*n.Account(&row) = *n.Account(&held)
	}
	if n.Kept != nil {
		n.Kept(&row, &held)
	}
	return row
}

// try runs an operation on the rows in a transaction.
func (n noun[R, X, T, F]) try(t *testing.T, w *world, fn func(ctx context.Context, rows storage.Rows[T, F]) error) error {
	t.Helper()
	return n.begin(w, t.Context(), func(ctx context.Context, tx X) error { return fn(ctx, n.write(tx)) })
}

func (n noun[R, X, T, F]) insert(t *testing.T, w *world, rows ...*T) error {
	t.Helper()
	return n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error { return in.Insert(ctx, rows...) })
}

func (n noun[R, X, T, F]) update(t *testing.T, w *world, rows ...*T) error {
	t.Helper()
	return n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error { return in.Update(ctx, rows...) })
}

func (n noun[R, X, T, F]) delete(t *testing.T, w *world, id int64) error {
	t.Helper()
	return n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error { return in.Delete(ctx, id) })
}

// has checks that exactly these rows exist, with every way of reading.
func (n noun[R, X, T, F]) has(t *testing.T, w *world, what string, want ...T) {
	t.Helper()
	rows := n.read(n.in(w))
	for _, row := range want {
		one(t, what, row, rows.Get, n.id(row))
		several(t, what, []T{row}, rows.ByIDs, n.id(row))
	}
	got, err := rows.List(t.Context(), n.list(w), all())
	ok(t, err)
	same(t, what, n.mine(want), n.mine(got))
}

// mine returns the rows that the test has created or that are held, in id order.
func (n noun[R, X, T, F]) mine(rows []T) []T {
	out := slices.Clone(rows)
	slices.SortFunc(out, func(a, b T) int { return int(n.id(a) - n.id(b)) })
	return out
}

// others returns the rows of a new world except the held one.
func (n noun[R, X, T, F]) others(t *testing.T, w *world) []T {
	t.Helper()
	list, err := n.read(n.in(w)).List(t.Context(), n.list(w), all())
	ok(t, err)
	return slices.DeleteFunc(list, func(row T) bool { return n.id(row) == n.id(n.held(w)) })
}

func (n noun[R, X, T, F]) testKept(t *testing.T, b Backend) {
	w := n.world(t, b)
	filled(t, n.held(w), n.lacks...)
	there := append(n.others(t, w), n.held(w))
	first, second := n.fresh(w, 1), n.fresh(w, 2)
	*n.ID(&first) = nobody // must be ignored
	ok(t, n.insert(t, w, &first, &second))
	if n.id(first) >= n.id(second) || n.id(first) == nobody {
		t.Errorf("ids %d and %d are not new ones in order", n.id(first), n.id(second))
	}
	n.has(t, w, "inserted", append(there, first, second)...)
	changed := n.instead(w, 3)
	ok(t, n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error {
		locked, err := in.Lock(ctx, n.id(changed))
		ok(t, err)
		same(t, "locked", n.held(w), locked)
		all, err := in.LockAll(ctx, []int64{n.id(second), nobody, n.id(changed), n.id(second)})
		ok(t, err)
		byID := []T{n.held(w), second}
		slices.SortFunc(byID, func(a, b T) int { return cmp.Compare(n.id(a), n.id(b)) })
		same(t, "locked together", byID, all)
		none, err := in.LockAll(ctx, nil)
		ok(t, err)
		same(t, "none locked", 0, len(none))
		ok(t, in.Update(ctx, &changed))
		read, err := in.Get(ctx, n.id(changed))
		same(t, "read in its transaction", changed, read)
		return err
	}))
	n.has(t, w, "updated", append(n.others(t, w), changed)...)
	again := n.instead(w, 4)
	ok(t, n.update(t, w, &second, &again, &first))
	n.has(t, w, "updated together", append(n.others(t, w), again)...)
	absent := first
	*n.ID(&absent) = nobody
	fails(t, "updating one that is not there", n.update(t, w, &changed, &absent), fault.NotFound)
	n.has(t, w, "not updated", append(n.others(t, w), again)...)
	ok(t, n.insert(t, w))
	ok(t, n.update(t, w))
}

func (n noun[R, X, T, F]) testRemoved(t *testing.T, b Backend) {
	w := n.world(t, b)
	row, other := n.fresh(w, 1), n.fresh(w, 2)
	ok(t, n.insert(t, w, &row, &other))
	ok(t, n.delete(t, w, n.id(other)))
	n.has(t, w, "left", slices.DeleteFunc(append(n.others(t, w), n.held(w)), func(r T) bool { return n.id(r) == n.id(other) })...)
	elsewhere := *w
	n.move(&elsewhere, nobody)
	homeless := n.fresh(w, 3)
	fails(t, "inserting into no account", n.insert(t, &elsewhere, &homeless), fault.NotFound)
	for _, id := range []int64{n.id(other), nobody, 0, -1} {
		absent := row
		*n.ID(&absent) = id
		fails(t, "deleting what is not there", n.delete(t, w, id), fault.NotFound)
		fails(t, "updating what is not there", n.update(t, w, &absent), fault.NotFound)
		fails(t, "locking what is not there", n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error {
			_, err := in.Lock(ctx, id)
			return err
		}), fault.NotFound)
	}
}

func (n noun[R, X, T, F]) testPages(t *testing.T, b Backend) {
	w := n.world(t, b)
	var given []*T
	for i := range 5 {
		row := n.fresh(w, 5-i)
		given = append(given, &row)
	}
	ok(t, n.insert(t, w, given...))
	place := n.place
	if place == nil {
		place = func(row T) storage.Position { return storage.Position{ID: n.id(row)} }
	}
	want := append(n.others(t, w), n.held(w))
	slices.SortFunc(want, func(a, b T) int {
		p, q := place(a), place(b)
		return cmp.Or(cmp.Compare(p.Key, q.Key), cmp.Compare(p.ID, q.ID))
	})
	list := func(seek storage.Seek) ([]T, error) { return n.read(n.in(w)).List(t.Context(), n.list(w), seek) }
	checkPages(t, want, place, list)
	whole, err := list(storage.Seek{Limit: storage.NoLimit})
	ok(t, err)
	same(t, "all at once", want, whole)
}

func (n noun[R, X, T, F]) testUnique(t *testing.T, b Backend) {
	w, other := n.world(t, b), n.world(t, b)
	held := n.held(w)
	for i, rule := range n.Unique {
		row, twin := n.fresh(w, 10*i), n.fresh(w, 10*i+1)
		ok(t, n.insert(t, w, &row))
		rule.Share(&twin, &held)
		conflicts(t, "inserting what is taken", n.insert(t, w, &twin), rule.Code)
		if !n.refers && !n.variable {
			twin = n.fresh(other, 10*i+1)
			rule.Share(&twin, &held)
			if err := n.insert(t, other, &twin); rule.Everywhere {
				conflicts(t, "what is taken in another account", err, rule.Code)
			} else {
				ok(t, err)
			}
		}
		rule.Share(&row, &held)
		conflicts(t, "updating to what is taken", n.update(t, w, &row), rule.Code)
		ok(t, n.update(t, w, &held)) // no conflict with itself
		if rule.Optional {
			n.testOptional(t, w, rule, 10*i+2)
		}
	}
}

// testOptional inserts two rows with an empty unique field.
func (n noun[R, X, T, F]) testOptional(t *testing.T, w *world, rule storage.Unique[T], number int) {
	t.Helper()
	for i := range 2 {
		row := n.fresh(w, number+i)
		fields := rule.Fields(&row)
		reflect.ValueOf(fields[len(fields)-1]).Elem().SetZero()
		ok(t, n.insert(t, w, &row))
	}
}

// The account and the site of a row come from the scope, whatever the row says.
func (n noun[R, X, T, F]) testAccount(t *testing.T, b Backend) {
	w, other := n.world(t, b), n.world(t, b)
	for place, own := range map[string]struct {
		of           func(*T) *int64
		mine, theirs int64
	}{
		"account": {n.Account, w.account.ID, other.account.ID}, "site": {n.Site, w.shelf.site.ID, other.shelf.site.ID},
	} {
		if own.of == nil {
			continue
		}
		before := n.content(other, t)
		row := n.fresh(w, 1)
		*own.of(&row) = own.theirs
		ok(t, n.insert(t, w, &row))
		same(t, place+" of what was inserted", own.mine, *own.of(&row))
		one(t, "inserted", row, n.read(n.in(w)).Get, n.id(row))
		given := row
		*own.of(&given) = own.theirs
		ok(t, n.update(t, w, &given))
		one(t, "given away", row, n.read(n.in(w)).Get, n.id(row))
		same(t, "the other "+place, before, n.content(other, t))
	}
}

// A row goes with its account.
func (n noun[R, X, T, F]) testAccountDeleted(t *testing.T, b Backend) {
	w := n.world(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	_, err := n.read(n.in(w)).Get(t.Context(), n.id(n.held(w)))
	fails(t, "a row of a deleted account", err, fault.NotFound)
	got, err := n.read(n.in(w)).ByIDs(t.Context(), []int64{n.id(n.held(w))})
	ok(t, err)
	same(t, "rows of a deleted account", []T{}, got)
}

// made sets the values of a type in a row at any depth, except in fields that are fixed or unique.
func made[V, T any](n storage.Noun[T], row *T, fixed []string, to func(V) V) {
	var apart []uintptr
	for _, rule := range n.Unique {
		for _, field := range rule.Fields(row) {
			apart = append(apart, reflect.ValueOf(field).Pointer())
		}
	}
	walk(reflect.ValueOf(row).Elem(), func(field string, v reflect.Value) {
		is := v.Type() == reflect.TypeFor[V]() || v.Kind() == reflect.String && reflect.TypeFor[V]().Kind() == reflect.String
		if is && !slices.Contains(fixed, field) && !slices.Contains(apart, v.Addr().Pointer()) {
			made := reflect.ValueOf(to(v.Convert(reflect.TypeFor[V]()).Interface().(V)))
			v.Set(made.Convert(v.Type()))
		}
	})
}

// walk visits the values in a row with the names of the row's fields that contain them.
func walk(v reflect.Value, visit func(field string, v reflect.Value)) {
	var into func(field string, v reflect.Value)
	into = func(field string, v reflect.Value) {
		visit(field, v)
		switch {
		case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					into(field, v.Field(i))
				}
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
			for i := range v.Len() {
				into(field, v.Index(i))
			}
		}
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			into(v.Type().Field(i).Name, v.Field(i))
		}
	}
}

// Text is returned unchanged, whatever it means elsewhere.
func (n noun[R, X, T, F]) testText(t *testing.T, b Backend) {
	w := n.world(t, b)
	number := 0
	for what, text := range texts() {
		number++
		row := n.fresh(w, number)
		made(n.Noun, &row, n.fixed, func(string) string { return text })
		ok(t, n.insert(t, w, &row))
		one(t, what, row, n.read(n.in(w)).Get, n.id(row))
		again := n.instead(w, 100+number)
		made(n.Noun, &again, n.fixed, func(string) string { return text + text })
		ok(t, n.update(t, w, &again))
		one(t, what, again, n.read(n.in(w)).Get, n.id(again))
	}
}

// NUL and invalid UTF-8 are refused in every field: PostgreSQL cannot store them.
func (n noun[R, X, T, F]) testRefusedText(t *testing.T, b Backend) {
	w := n.world(t, b)
	before := n.content(w, t)
	for what, text := range map[string]string{"NUL": "a\x00b", "invalid UTF-8": "a\xffb"} {
		strings := 0
		sample := n.fresh(w, 1)
		stored := func(field string, v reflect.Value) bool {
			return v.Kind() == reflect.String && !slices.Contains(n.fixed, field)
		}
		walk(reflect.ValueOf(&sample).Elem(), func(field string, v reflect.Value) {
			if stored(field, v) {
				strings++
			}
		})
		for bad := range strings {
			row, at := n.instead(w, 2), 0
			walk(reflect.ValueOf(&row).Elem(), func(field string, v reflect.Value) {
				if stored(field, v) {
					if at == bad {
						v.SetString(text)
					}
					at++
				}
			})
			fails(t, fmt.Sprintf("updating to %s in text %d", what, bad), n.update(t, w, &row), fault.Invalid)
			fails(t, fmt.Sprintf("inserting %s in text %d", what, bad), n.insert(t, w, &row), fault.Invalid)
		}
	}
	same(t, "content", before, n.content(w, t))
}

// Times are returned in UTC, truncated to microseconds; the zero time means none.
func (n noun[R, X, T, F]) testTimes(t *testing.T, b Backend) {
	w := n.world(t, b)
	number := 0
	for what, given := range times() {
		number++
		row, want := n.fresh(w, number), given
		if !given.IsZero() {
			want = given.UTC().Truncate(time.Microsecond)
		}
		made(n.Noun, &row, n.fixed, func(time.Time) time.Time { return given })
		ok(t, n.insert(t, w, &row))
		made(n.Noun, &row, n.fixed, func(time.Time) time.Time { return want })
		got, err := n.read(n.in(w)).Get(t.Context(), n.id(row))
		ok(t, err)
		same(t, what, row, got)
		made(n.Noun, &got, n.fixed, func(v time.Time) time.Time {
			if v.Location() != time.UTC || v.IsZero() != given.IsZero() {
				t.Errorf("%s: %v became %v", what, given, v)
			}
			return v
		})
	}
}

// A row may have empty lists and texts.
func (n noun[R, X, T, F]) testNothing(t *testing.T, b Backend) {
	w := n.world(t, b)
	row := n.fresh(w, 1)
	walk(reflect.ValueOf(&row).Elem(), func(field string, v reflect.Value) {
		if v.Kind() == reflect.Slice && !slices.Contains(n.fixed, field) && !v.Type().AssignableTo(reflect.TypeFor[[]byte]()) {
			v.SetZero()
		}
	})
	made(n.Noun, &row, n.fixed, func(string) string { return "" })
	made(n.Noun, &row, n.fixed, func([]byte) []byte { return nil })
	made(n.Noun, &row, n.fixed, func(time.Time) time.Time { return time.Time{} })
	made(n.Noun, &row, n.fixed, func(bool) bool { return false })
	ok(t, n.insert(t, w, &row))
	one(t, "almost nothing", row, n.read(n.in(w)).Get, n.id(row))
}

// Stored and returned values belong to the caller, who may change them.
func (n noun[R, X, T, F]) testCopies(t *testing.T, b Backend) {
	w := n.world(t, b)
	row := n.fresh(w, 1)
	ok(t, n.insert(t, w, &row))
	want, err := n.read(n.in(w)).Get(t.Context(), n.id(row))
	ok(t, err)
	scribble := func(row T) {
		walk(reflect.ValueOf(&row).Elem(), func(_ string, v reflect.Value) {
			if v.Kind() == reflect.Slice && v.Len() > 0 {
				v.Index(0).SetZero()
			}
		})
	}
	before := translate(want, func(_ string, id int64) int64 { return id })
	scribble(row)
	list, err := n.read(n.in(w)).List(t.Context(), n.list(w), all())
	ok(t, err)
	for _, row := range append(list, want) {
		scribble(row)
	}
	got, err := n.read(n.in(w)).Get(t.Context(), n.id(row))
	ok(t, err)
	same(t, "after a change of what was given and read", before, got)
}

// Very many ids work like a few.
func (n noun[R, X, T, F]) testMany(t *testing.T, b Backend) {
	w := n.world(t, b)
	many := []int64{n.id(n.held(w))}
	for i := range int64(5000) {
		many = append(many, nobody+i)
	}
	got, err := n.read(n.in(w)).ByIDs(t.Context(), many)
	ok(t, err)
	same(t, "among many ids", []T{n.held(w)}, got)
}

// A failed transaction changes nothing and cannot be used afterwards.
func (n noun[R, X, T, F]) testTransactions(t *testing.T, b Backend) {
	w := n.world(t, b)
	before, there := n.content(w, t), append(n.others(t, w), n.held(w))
	undone := errors.New("undone")
	var kept storage.Rows[T, F]
	err := n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error {
		kept = in
		first, second, changed := n.fresh(w, 1), n.fresh(w, 2), n.instead(w, 3)
		ok(t, in.Insert(ctx, &first, &second))
		ok(t, in.Update(ctx, &changed))
		ok(t, in.Delete(ctx, n.id(first)))
		_, err := in.Get(ctx, n.id(first))
		fails(t, "deleted in its transaction", err, fault.NotFound)
		return undone
	})
	if !errors.Is(err, undone) {
		t.Errorf("the transaction's error became %v", err)
	}
	same(t, "content", before, n.content(w, t))
	n.has(t, w, "after the rollback", there...) // the content lacks some nouns
	row := n.fresh(w, 4)
	_, err = kept.Get(t.Context(), n.id(n.held(w)))
	fails(t, "Get after the end", err, fault.Internal)
	_, err = kept.List(t.Context(), n.list(w), all())
	fails(t, "List after the end", err, fault.Internal)
	_, err = kept.Lock(t.Context(), n.id(n.held(w)))
	fails(t, "Lock after the end", err, fault.Internal)
	fails(t, "Insert after the end", kept.Insert(t.Context(), &row), fault.Internal)
	row = n.held(w)
	fails(t, "Update after the end", kept.Update(t.Context(), &row), fault.Internal)
	fails(t, "Delete after the end", kept.Delete(t.Context(), n.id(row)), fault.Internal)
}

// Concurrent changes to locked rows are not lost.
func (n noun[R, X, T, F]) testLocks(t *testing.T, b Backend) {
	w := n.world(t, b)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for range 3 {
				if err := n.try(t, w, func(ctx context.Context, in storage.Rows[T, F]) error {
					row, err := in.Lock(ctx, n.id(n.held(w)))
					if err != nil {
						return err
					}
					made(n.Noun, &row, n.fixed, func(s string) string { return s + "x" })
					return in.Update(ctx, &row)
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	want := n.held(w)
	made(n.Noun, &want, n.fixed, func(s string) string { return s + "xxxxxxxxx" })
	one(t, "after nine changes", want, n.read(n.in(w)).Get, n.id(want))
}
