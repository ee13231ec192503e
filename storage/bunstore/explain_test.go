package bunstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// recorder records the statements that bun runs.
type recorder struct {
	mu      sync.Mutex
	queries []string
}

func (*recorder) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (r *recorder) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if event.Query == "BEGIN" || event.Query == "COMMIT" { // which have no plan
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Query != "BEGIN" && event.Query != "COMMIT" { // which have no plan
		r.queries = append(r.queries, event.Query)
	}
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	queries := r.queries
	r.queries = nil
	return queries
}

// explained is a method whose plans are checked.
type explained struct {
	name string
	sort bool // it may sort the few rows of the result
	run  func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error
}

func lists() []explained {
	var all []explained
	add := func(name string, sort bool, run func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error) {
		all = append(all, explained{name, sort, run})
	}
	for _, sort := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue} {
		add("Conversations/"+string(sort), false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: sort}, seek)
			return err
		})
	}
	for name, filter := range map[string]helpdesk.ConversationFilter{
		"mailbox":    {MailboxID: 1},
		"status":     {Statuses: []helpdesk.Status{helpdesk.StatusPosted}},
		"user":       {UserID: storage.Some[int64](1)},
		"unassigned": {UserID: storage.Null[int64]()},
		"team":       {TeamID: storage.Some[int64](1)},
		"since":      {UpdatedSince: time.Unix(1_700_000_500, 0)},
	} {
		add("Conversations/"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByUpdated}, seek)
			return err
		})
	}
	open := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}
	for name, filter := range map[string]helpdesk.ConversationFilter{
		"open": {Statuses: open}, "open of a user": {Statuses: open, UserID: storage.Some[int64](1)},
		"open of a team": {Statuses: open, TeamID: storage.Some[int64](1)}, "open, nobody's": {Statuses: open, UserID: storage.Null[int64](), TeamID: storage.Null[int64]()},
		"open of a team, unassigned": {Statuses: open, UserID: storage.Null[int64](), TeamID: storage.Some[int64](1)},
		"open, unassigned":           {Statuses: open, UserID: storage.Null[int64]()}, "open of a mailbox": {Statuses: open, MailboxID: 1},
	} {
		add("Conversations/"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByUpdated}, seek)
			return err
		})
	}
	for name, filter := range map[string]helpdesk.ConversationFilter{
		"waiting": {Awaiting: storage.Some(true)}, "open, waiting": {Statuses: open, Awaiting: storage.Some(true)},
	} {
		add("Conversations/"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByAwaiting}, seek)
			return err
		})
	}
	for name, order := range map[string]helpdesk.ConversationOrder{
		"due": {ConversationFilter: helpdesk.ConversationFilter{Due: helpdesk.DueRange{Before: time.Unix(1_700_000_500, 0)}}, Sort: helpdesk.ByDue},
		"due today": {
			ConversationFilter: helpdesk.ConversationFilter{Due: helpdesk.DueRange{From: time.Unix(1_700_000_000, 0), Before: time.Unix(1_700_000_500, 0)}}, Sort: helpdesk.ByDue,
		},
	} {
		add("Conversations/"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, order, seek)
			return err
		})
	}
	pressing := []helpdesk.Priority{helpdesk.PriorityHigh, helpdesk.PriorityUrgent}
	for name, order := range map[string]helpdesk.ConversationOrder{
		"spam":     {ConversationFilter: helpdesk.ConversationFilter{Spam: storage.Some(true)}, Sort: helpdesk.ByUpdated},
		"pressing": {ConversationFilter: helpdesk.ConversationFilter{Priorities: pressing}, Sort: helpdesk.ByUpdated},
		"pressing, waiting": {
			ConversationFilter: helpdesk.ConversationFilter{Priorities: pressing, Statuses: open, Awaiting: storage.Some(true)}, Sort: helpdesk.ByAwaiting,
		},
	} {
		add("Conversations/"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, order, seek)
			return err
		})
	}
	for name, filter := range map[string]helpdesk.ConversationFilter{
		"drafts": {DraftBy: 1}, "undelivered": {Undelivered: true}, "asleep": {Snoozed: storage.Some(true)},
	} {
		add("Conversations/"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByCreated}, seek)
			return err
		})
	}
	for name, q := range map[string]helpdesk.MarksQuery{
		"all":    {UnreadBy: 1, Tags: true, PresentAfter: time.Unix(1, 0), Scheduled: true},
		"unread": {UnreadBy: 1}, "tags": {Tags: true}, "presence": {PresentAfter: time.Unix(1, 0)}, "scheduled": {Scheduled: true},
	} {
		q.ConversationIDs = []int64{1, 2, 3}
		add("Marks/"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.Marks(ctx, q)
			return err
		})
	}
	add("Companies", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Companies.Reader(r).List(ctx, helpdesk.CompanyFilter{}, seek)
		return err
	})
	add("Companies/of a name", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Companies.Reader(r).List(ctx, helpdesk.CompanyFilter{Key: "7"}, seek)
		return err
	})
	add("Customers/company", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Customers(ctx, helpdesk.CustomerFilter{CompanyID: 7}, seek)
		return err
	})
	add("Customers/domain", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Customers(ctx, helpdesk.CustomerFilter{Domain: "7"}, seek)
		return err
	})
	for sort := range map[helpdesk.ConversationSort]bool{helpdesk.ByCreated: true, helpdesk.ByUpdated: true, helpdesk.ByNumber: true, helpdesk.ByAwaiting: true} {
		add("Conversations/company/"+string(sort), true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{CompanyID: 7}, Sort: sort}, seek)
			return err
		})
	}
	for name, m := range map[string]helpdesk.FieldMatch{
		"a value": {FieldID: 1, Keys: []string{"7"}}, "any of two values": {FieldID: 1, Keys: []string{"7", "8"}}, "a range": {FieldID: 1, From: new(7.0), To: new(9.0)},
		"any value": {FieldID: 1}, "no value": {FieldID: 1, Empty: true},
	} {
		add("Customers/"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Customers(ctx, helpdesk.CustomerFilter{Fields: []helpdesk.FieldMatch{m}}, seek)
			return err
		})
		add("Conversations/"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			filter := helpdesk.ConversationFilter{Fields: []helpdesk.FieldMatch{m}}
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByUpdated}, seek)
			return err
		})
	}
	add("CompanyKeys", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().CompanyKeys.Reader(r).List(ctx, helpdesk.CompanyKeyFilter{Kind: helpdesk.CompanyDomain, Values: []string{"7", "8"}}, seek)
		return err
	})
	add("CompanyKeys/of a company", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().CompanyKeys.Reader(r).List(ctx, helpdesk.CompanyKeyFilter{CompanyID: 7}, seek)
		return err
	})
	add("Teams", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Teams.Reader(r).List(ctx, storage.NoFilter{}, seek)
		return err
	})
	add("JoinRules", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().JoinRules.Reader(r).List(ctx, identity.JoinRuleFilter{}, seek)
		return err
	})
	add("JoinRulesFor", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := helpdesk.Nouns().JoinRules.Find(ctx, db, identity.JoinRuleFilter{Issuer: "https://id.example", Domain: "example.org"})
		return err
	})
	add("IdentityBySubject", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.IdentityBySubject(ctx, "https://id.example", "1")
		return err
	})
	add("IdentitiesOf", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.IdentitiesOf(ctx, 1)
		return err
	})
	add("Erasures", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Erasures.Reader(r).List(ctx, helpdesk.ErasureFilter{}, seek)
		return err
	})
	add("Erasures/digests", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Erasures.Reader(r).List(ctx, helpdesk.ErasureFilter{Digests: [][]byte{[]byte("x"), []byte("y")}}, seek)
		return err
	})
	add("Involving", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Involving(ctx, 1, []string{"1@example.org", "2@example.org"}, seek)
		return err
	})
	add("BlockedSenders", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().BlockedSenders.Reader(r).List(ctx, helpdesk.BlockedSenderFilter{}, seek)
		return err
	})
	add("BlockedSenders/keys", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().BlockedSenders.Reader(r).List(ctx, helpdesk.BlockedSenderFilter{Keys: []string{"a@example.org", "@example.org"}}, seek)
		return err
	})
	add("Followers", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Followers(ctx, []int64{1, 2})
		return err
	})
	add("NotifyChoices", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.NotifyChoices(ctx, []int64{1})
		return err
	})
	for name, filter := range map[string]helpdesk.NotificationFilter{
		"shown": {UserID: 1, Shown: true}, "unread": {UserID: 1, Shown: true, Unread: true}, "of a conversation": {UserID: 1, ConversationID: 1},
		"of a browser": {UserID: 1, Browser: true, Unread: true},
	} {
		add("Notifications/"+name, name == "of a conversation", func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Notifications().List(ctx, filter, seek)
			return err
		})
		add("Count/notifications/"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.Count(ctx, helpdesk.CountQuery{Notifications: []helpdesk.NotificationFilter{filter}, Limit: 100})
			return err
		})
	}
	add("MemberMails", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().MemberMails.Reader(r).List(ctx, helpdesk.MemberMailFilter{UserID: 1}, seek)
		return err
	})
	add("MemberMails/one", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().MemberMails.Reader(r).List(ctx, helpdesk.MemberMailFilter{UserID: 1, Key: "<a@b>"}, seek)
		return err
	})
	for name, filter := range map[string]helpdesk.AutoResponseFilter{
		"": {AutoReplyID: 1}, "/customer": {AutoReplyID: 1, CustomerID: 1}, "/mail": {AutoReplyID: 1, MailKey: "<a@b>"}, "/answers": {InteractionIDs: []int64{1, 2}},
	} {
		add("AutoResponses"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := helpdesk.Nouns().AutoResponses.Reader(r).List(ctx, filter, seek)
			return err
		})
	}
	for name, filter := range map[string]helpdesk.RatingFilter{"": {ConversationIDs: []int64{1, 2}}, "/customer": {CustomerID: 1}} {
		add("Ratings"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := helpdesk.Nouns().Ratings.Reader(r).List(ctx, filter, seek)
			return err
		})
	}
	add("ConversationFacts", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().ConversationFacts.Reader(r).List(ctx, helpdesk.ConversationFactFilter{ConversationIDs: []int64{1, 2}}, seek)
		return err
	})
	for name, filter := range map[string]helpdesk.ReadingFilter{
		"/day":      {SiteIDs: []int64{1}, Days: []string{"2026-11-29"}, Queries: []string{"", "a"}, ArticleIDs: []int64{0, 1}},
		"/searches": {SiteIDs: []int64{1}, Days: []string{"2026-11-28", "2026-11-29"}},
		"/totals":   {Days: []string{"2026-11-28", "2026-11-29"}, Queries: []string{""}, ArticleIDs: []int64{0}},
	} {
		add("Readings"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := helpdesk.Nouns().Readings.Reader(r).List(ctx, filter, seek)
			return err
		})
	}
	for _, clock := range []report.Clock{report.Created, report.Resolved, report.Rated, report.Replied, report.Open} {
		add("Facts/"+string(clock), true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.Facts(ctx, report.Read{
				Clock: clock, From: time.Unix(1_700_000_500, 0), To: time.Unix(1_700_000_600, 0), Before: time.Unix(1_700_000_600, 0),
				Columns: []report.Column{report.ColumnConversation, report.ColumnTags},
			})
			return err
		})
	}
	add("Contributions", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Contributions(ctx, []int64{1, 2})
		return err
	})
	add("RuleRuns", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().RuleRuns.Reader(r).List(ctx, helpdesk.RuleRunFilter{RuleID: 1}, seek)
		return err
	})
	add("RuleRuns/event", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().RuleRuns.Reader(r).List(ctx, helpdesk.RuleRunFilter{RuleID: 1, EventID: 1}, seek)
		return err
	})
	add("RuleRuns/conversations", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().RuleRuns.Reader(r).List(ctx, helpdesk.RuleRunFilter{ConversationIDs: []int64{7, 8}}, seek)
		return err
	})
	add("ReplayedConversations", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().ReplayedConversations.Reader(r).List(ctx, helpdesk.ReplayedFilter{ReplayID: 1}, seek)
		return err
	})
	add("RulePasses", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().RulePasses.Reader(r).List(ctx, helpdesk.RulePassFilter{ConversationID: 1}, seek)
		return err
	})
	add("SavedReplies", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().SavedReplies.Reader(r).List(ctx, helpdesk.SavedReplyFilter{UserIDs: []int64{0, 1}, Prefix: "a"}, seek)
		return err
	})
	add("ReplyFiles", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().ReplyFiles.Reader(r).List(ctx, helpdesk.ReplyFileFilter{ReplyIDs: []int64{1, 2}}, seek)
		return err
	})
	add("PushDevices", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().PushDevices.Reader(r).List(ctx, helpdesk.PushDeviceFilter{UserIDs: []int64{1}}, seek)
		return err
	})
	add("Signatures", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Signatures.Reader(r).List(ctx, helpdesk.SignatureFilter{UserIDs: []int64{1}}, seek)
		return err
	})
	add("Count/maintained", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Count(ctx, helpdesk.CountQuery{Maintained: true, TagIDs: []int64{1, 2}})
		return err
	})
	add("Count", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Count(ctx, helpdesk.CountQuery{Maintained: true, Quarantined: true, Notifications: []helpdesk.NotificationFilter{{UserID: 1, Shown: true, Unread: true}}, Limit: 1000, Conversations: []helpdesk.ConversationFilter{
			{DraftBy: 1}, {Spam: storage.Some(true)}, {Undelivered: true, Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}},
		}})
		return err
	})
	add("MailTraffic", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.MailTraffic(ctx, time.Unix(1, 0))
		return err
	})
	add("MailQueues", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.MailQueues(ctx)
		return err
	})
	add("Conversations/customer", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{CustomerID: 1}, Sort: helpdesk.ByCreated}, seek)
		return err
	})
	for name, word := range map[string]string{"rare": "rare", "common": "common"} {
		terms := []helpdesk.SearchTerm{{Text: word}, {Text: "co", Prefix: true}}
		few := word == "rare"
		add("Conversations/"+name, few, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{Terms: terms}, Sort: helpdesk.ByCreated}, seek)
			return err
		})
		add("Customers/"+name, true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Customers(ctx, helpdesk.CustomerFilter{Terms: terms}, seek)
			return err
		})
	}
	add("Memberships", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Memberships().List(ctx, storage.NoFilter{}, seek)
		return err
	})
	add("Mailboxes", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Mailboxes().List(ctx, storage.NoFilter{}, seek)
		return err
	})
	add("MailboxesToFetch", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
		_, err := db.MailboxesToFetch(ctx, seek)
		return err
	})
	add("Customers", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Customers(ctx, helpdesk.CustomerFilter{}, seek)
		return err
	})
	add("CustomerByEmail", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.CustomerByEmail(ctx, "1@example.org")
		return err
	})
	add("CustomerStats", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.CustomerStats(ctx, 1)
		return err
	})
	add("CustomerBeyond", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.CustomerBeyond(ctx, 1)
		return err
	})
	add("Interactions", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Interactions().List(ctx, helpdesk.InteractionFilter{ConversationID: 1}, seek)
		return err
	})
	add("Interactions of a customer", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Interactions().List(ctx, helpdesk.InteractionFilter{ConversationID: 1, WrittenBy: 1}, seek)
		return err
	})
	add("NewestFrom", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.NewestFrom(ctx, 1, 2)
		return err
	})
	add("Scheduled", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Scheduled(ctx, []int64{1, 2})
		return err
	})
	add("KnownTerms", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.KnownTerms(ctx, []string{"rare", "rarely"})
		return err
	})
	add("PassagesByID", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.PassagesByID(ctx, []int64{1, 2, 3}, 5)
		return err
	})
	add("LastArrived", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.LastArrived(ctx, 1)
		return err
	})
	add("Messages", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Messages(ctx, 1, []string{"1@example.org", "2@example.org"})
		return err
	})
	add("Thread", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Thread(ctx, 1, 10)
		return err
	})
	add("Attachments", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Attachments().List(ctx, helpdesk.AttachmentFilter{InteractionIDs: []int64{1, 2}}, storage.Seek{Limit: storage.NoLimit})
		return err
	})
	add("Deliveries", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{1, 2}}, storage.Seek{Limit: storage.NoLimit})
		return err
	})
	add("BlobKeys", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.BlobKeys(ctx, []int64{1, 2})
		return err
	})
	add("Participant", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Participant(ctx, 1, []string{"a", "b"})
		return err
	})
	add("InboundMails", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.InboundMails(ctx, ledger.Filter{}, seek)
		return err
	})
	add("InboundMails/mailbox", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1}, seek)
		return err
	})
	add("InboundMails/state", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.InboundMails(ctx, ledger.Filter{States: []ledger.State{ledger.Quarantined}}, seek)
		return err
	})
	add("Moves", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Moves(ctx, []int64{1, 2})
		return err
	})
	add("InboundCounts", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.InboundCounts(ctx, 1)
		return err
	})
	add("InboundPositions", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.InboundPositions(ctx, 1, "imap", []string{"a", "b"})
		return err
	})
	add("Participants", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Participants(ctx, 1, 100)
		return err
	})
	add("InboundOf", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.InboundOf(ctx, 1)
		return err
	})
	add("InboundByIdentity", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.InboundByIdentity(ctx, [][]byte{[]byte("x"), []byte("y")})
		return err
	})
	add("Conversations/tag", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{TagIDs: []int64{1, 2}}, Sort: helpdesk.ByUpdated}, seek)
		return err
	})
	add("Tags", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Tags.Reader(r).List(ctx, storage.NoFilter{}, seek)
		return err
	})
	add("Views", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Views.Reader(r).List(ctx, helpdesk.ViewReader{UserID: 1, TeamIDs: []int64{1, 2}}, seek)
		return err
	})
	add("MergedInto", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.MergedInto(ctx, 2000)
		return err
	})
	add("Events", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
		_, err := db.Events(ctx, 1, 500, seek.Limit)
		return err
	})
	for name, filter := range map[string]subscription.EventFilter{
		"": {}, "/type": {Types: []string{"a.b"}}, "/conversation": {ConversationIDs: []int64{7}}, "/areas": {Areas: []string{"a"}},
	} {
		add("Events"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Events(ctx, filter, seek)
			return err
		})
	}
	add("Events/conversations", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Events(ctx, subscription.EventFilter{Types: []string{"a.b"}, ConversationIDs: []int64{7, 8}}, seek)
		return err
	})
	add("Events/types", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Events(ctx, subscription.EventFilter{Types: []string{"a.b", "a.c"}}, seek)
		return err
	})
	add("FailedJobs", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
		_, err := db.FailedJobs(ctx, seek)
		return err
	})
	for name, filter := range map[string]helpdesk.FailedJobFilter{"": {}, "/kind": {Kind: "a"}} {
		add("FailedJobs"+name, false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.FailedJobs(ctx, filter, seek)
			return err
		})
	}
	add("Grant", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.Grant(ctx, 1, 1)
		return err
	})
	add("AccountsOf", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
		_, err := db.AccountsOf(ctx, 1, seek)
		return err
	})
	add("TokensOf", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
		_, err := db.TokensOf(ctx, 1, false, seek)
		return err
	})
	add("Invitations", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Invitations.Reader(r).List(ctx, identity.InvitationFilter{}, seek)
		return err
	})
	add("InvitationByHash", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := helpdesk.Nouns().Invitations.Find(ctx, db, identity.InvitationFilter{Hash: []byte("x")})
		return err
	})
	add("UserByEmail", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.UserByEmail(ctx, "x")
		return err
	})
	add("Domains", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Domains.Reader(r).List(ctx, storage.NoFilter{}, seek)
		return err
	})
	add("PGPKeys", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().PGPKeys.Reader(r).List(ctx, helpdesk.PGPKeyFilter{CustomerEmailIDs: []int64{1, 2}}, seek)
		return err
	})
	add("EmailsByKey", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.EmailsByKey(ctx, []string{"1", "2"})
		return err
	})
	add("Suppressions", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().Suppressions.Reader(r).List(ctx, sending.SuppressionFilter{}, seek)
		return err
	})
	add("SuppressionsByKey", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := helpdesk.Nouns().Suppressions.Reader(r).List(ctx, sending.SuppressionFilter{Keys: []string{"1", "2"}}, storage.Seek{Limit: 10})
		return err
	})
	add("Received", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.Received(ctx, 1, time.Unix(0, 0), 10)
		return err
	})
	add("SentTo", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.SentTo(ctx, []string{"1", "2"}, time.Unix(0, 0))
		return err
	})
	add("Conversations/audience", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		filter := helpdesk.ConversationFilter{CustomerID: 1, Audience: []string{"1@example.org"}}
		_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByCreated}, seek)
		return err
	})
	add("Correspondence", false, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := r.Correspondence(ctx, 1, []string{"1@example.org", "x"}, seek)
		return err
	})
	add("LastCorrespondence", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
		_, err := r.LastCorrespondence(ctx, []int64{1, 2, 3}, []string{"1@example.org"})
		return err
	})
	for name, filter := range map[string]helpdesk.AuditFilter{
		"all": {}, "user": {UserID: storage.Some[int64](1)}, "action": {Action: "role.updated"}, "since": {Since: time.Unix(1_700_000_500, 0)},
	} {
		add("AuditLog/"+name, name == "since", func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.AuditLog(ctx, filter, seek)
			return err
		})
	}
	add("PortalKeys", true, func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
		_, err := helpdesk.Nouns().PortalKeys.Reader(r).List(ctx, storage.NoFilter{}, seek)
		return err
	})
	for name, run := range webhookLists() {
		add(name, strings.HasPrefix(name, "Accounts") || strings.HasPrefix(name, "Held"), run)
	}
	for name, run := range retentionLists() {
		add(name, false, run)
	}
	add("Claim", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.Claim(ctx, map[string]int{"a": 10, "b": 10}, time.Unix(0, 0), time.Unix(1, 0))
		return err
	})
	add("Sweep", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.Sweep(ctx, time.Unix(0, 0), 10)
		return err
	})
	for name, run := range siteFileLists() {
		add(name, false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
			return run(ctx, db.KB().Within(kb.Scope{AccountID: 1, SiteID: 1}), seek)
		})
	}
	add("Sites", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
		_, err := db.KB().Within(kb.Scope{AccountID: 1}).Sites().List(ctx, storage.NoFilter{}, seek)
		return err
	})
	in := kb.Scope{AccountID: 1, SiteID: 1}
	addKB := func(name string, sort bool, run func(ctx context.Context, r kb.Reader, seek storage.Seek) error) {
		add(name, sort, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
			return run(ctx, db.KB().Within(in), seek)
		})
	}
	addKB("Collections", false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
		_, err := r.Collections().List(ctx, storage.NoFilter{}, seek)
		return err
	})
	for name, filter := range map[string]kb.CategoryFilter{"all": {}, "collection": {CollectionID: 1}} {
		addKB("Categories/"+name, false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.Categories().List(ctx, filter, seek)
			return err
		})
	}
	for name, filter := range map[string]kb.ArticleFilter{
		"all": {}, "collection": {CollectionID: 1}, "category": {CategoryID: 1}, "ids": {IDs: []int64{1, 2, 3}},
	} {
		few := name == "category" || name == "ids"
		addKB("Articles/"+name, few, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.Articles().List(ctx, filter, seek)
			return err
		})
		addKB("LiveArticles/"+name, few, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.LiveArticles(ctx, filter, seek)
			return err
		})
		addKB("PublishedArticles/"+name, few, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.PublishedArticles(ctx, filter, seek)
			return err
		})
	}
	addKB("PublishedArticles/views", false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
		_, err := r.PublishedArticles(ctx, kb.ArticleFilter{ByViews: true}, seek)
		return err
	})
	addKB("Revisions", false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
		_, err := r.Revisions(ctx, 1, seek)
		return err
	})
	for name, filter := range map[string]kb.FeedbackFilter{
		"all": {}, "article": {ArticleID: 1}, "open": {Done: storage.Some(false)}, "done": {Done: storage.Some(true)},
	} {
		addKB("Feedbacks/"+name, false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.Feedback().List(ctx, filter, seek)
			return err
		})
	}
	addKB("RevisionsByKey", true, func(ctx context.Context, r kb.Reader, _ storage.Seek) error {
		_, err := r.RevisionsByKey(ctx, []kb.RevisionKey{{ArticleID: 1, Number: 1}, {ArticleID: 2, Number: 1}})
		return err
	})
	addKB("Spellings", true, func(ctx context.Context, r kb.Reader, _ storage.Seek) error {
		_, err := r.Spellings(ctx, []string{"pasword", "password"})
		return err
	})
	for name, filter := range map[string]kb.ArticleFilter{
		"all": {}, "collection": {CollectionID: 1}, "category": {CategoryID: 1}, "ids": {IDs: []int64{1, 2, 3}},
	} {
		q := kb.PostingQuery{Terms: []kb.SearchTerm{{Text: "pay"}, {Text: "car", Prefix: true}}, Last: kb.InContent, Filter: filter}
		addKB("Postings/"+name, false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			q.Limit = seek.Limit
			_, err := r.Postings(ctx, q)
			return err
		})
		addKB("PublishedPostings/"+name, false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			q.Limit = seek.Limit
			_, err := r.PublishedPostings(ctx, q)
			return err
		})
	}
	addKB("PostingsAmong", true, func(ctx context.Context, r kb.Reader, _ storage.Seek) error {
		_, err := r.PostingsAmong(ctx, []int64{1, 2, 3}, []kb.SearchTerm{{Text: "pay"}, {Text: "car", Prefix: true}})
		return err
	})
	addKB("Frequencies", false, func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
		_, _, err := r.Frequencies(ctx, []string{"pay", "card"}, seek.Limit)
		return err
	})
	for name, q := range map[string]kb.DocumentQuery{"documents": {IDs: []int64{1, 2, 3}}, "articles": {Articles: []int64{1, 2, 3}}} {
		q.Locales = []kb.LocaleChoice{{Locale: "en"}, {Language: "en"}}
		addKB("FindDocuments/"+name, true, func(ctx context.Context, r kb.Reader, _ storage.Seek) error {
			_, err := r.FindDocuments(ctx, q)
			return err
		})
	}
	add("SiteByAddress", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.KB().SiteByAddress(ctx, kb.SharedHost, "5", "")
		return err
	})
	add("PublicSites", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.KB().PublicSites(ctx, "help.example.org", 100)
		return err
	})
	add("HasHost", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.KB().HasHost(ctx, "help.example.org")
		return err
	})
	add("Items", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.Items(ctx, "certificates")
		return err
	})
	add("Noted", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.Noted(ctx, []byte("key"), time.Unix(1, 0))
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		return err
	})
	add("NamedBlobs", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.NamedBlobs(ctx, []string{"accounts/1/a", "accounts/1/b"})
		return err
	})
	add("ListNamedBlobs", true, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		_, err := db.ListNamedBlobs(ctx, "accounts/1/a", 500)
		return err
	})
	add("Note", false, func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
		note := storage.Note{Key: []byte("key"), Request: []byte("request"), Holder: "holder", Until: time.Unix(1000, 0)}
		return db.Note(ctx, note, time.Unix(1, 0))
	})
	return all
}

// Every list reads an index in its order: its cost does not depend on rows that it does not return.
func TestPlans(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, own *bunstore.DB) {
		if _, postgres := bunstore.Plain(own); postgres {
			if err := bunstore.MakePartitions(t.Context(), own, time.Now(), 24); err != nil {
				t.Fatal(err)
			}
		}
		stock(t, app)
		ask, seen := newPlanner(t, app), &recorder{}
		db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
		all, some := helpdesk.Scope{AccountID: 1}, helpdesk.Scope{AccountID: 1, Mailboxes: []int64{1, 2}}
		for i, list := range append(lists(), lists()...) {
			reader := db.Within(all)
			if i >= len(lists()) {
				reader, list.sort = db.Within(some), true // with few mailboxes the database may read all and sort
			}
			if strings.HasPrefix(list.name, "Conversations/") {
				list.sort = true // the next rows of a few ranges: TestCommonLists counts what is read
			}
			for _, from := range []*storage.Position{nil, {Key: 1_700_000_500_000_000, ID: 500}} {
				for _, desc := range []bool{false, true} {
					seen.take()
					err := list.run(t.Context(), db, reader, storage.Seek{Desc: desc, From: from, Limit: 25})
					queries := seen.take()
					if err != nil && !strings.Contains(err.Error(), "no such") {
						t.Fatalf("%s: %v", list.name, err)
					}
					if len(queries) == 0 {
						t.Errorf("%s ran nothing", list.name)
					}
					for _, query := range queries {
						ask.check(list, query)
					}
				}
			}
		}
	})
}

var (
	scanned = regexp.MustCompile(`Seq Scan on hw_|SCAN (hw_|[a-z] |[a-z]$)`)
	// full scans that are fine: a WITH clause, and an index of exactly the requested rows
	whole  = regexp.MustCompile(`SCAN (c|m|asked)\s|hw_mailboxes_fetch|hw_jobs_buried|VIRTUAL TABLE`)
	sorted = regexp.MustCompile(`Sort  \(|TEMP B-TREE FOR ORDER BY`)
)

// planner explains queries of a database.
type planner struct {
	t        *testing.T
	conn     *sql.Conn
	postgres bool
	asked    map[string]bool // queries checked so far, with whether they may sort
}

func newPlanner(t *testing.T, app *bun.DB) *planner {
	t.Helper()
	conn, err := app.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := &planner{t: t, conn: conn, postgres: strings.Contains(app.String(), "pg"), asked: map[string]bool{}}
	if p.postgres {
		// The tables are small enough that a full scan would be right; these settings make it the last resort.
		for _, setting := range []string{"enable_seqscan", "enable_sort", "enable_incremental_sort", "enable_bitmapscan"} {
			if _, err := conn.ExecContext(t.Context(), "SET "+setting+" = off"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// check checks the plan of a query, once.
func (p *planner) check(list explained, query string) {
	t := p.t
	t.Helper()
	key := fmt.Sprint(list.sort, query)
	if p.asked[key] {
		return
	}
	p.asked[key] = true
	plan := p.plan(query)
	for line := range strings.Lines(plan) {
		if scanned.MatchString(line) && !whole.MatchString(line) {
			t.Errorf("%s reads a whole table:\n%s\n%s", list.name, query, plan)
		}
	}
	if sorted.MatchString(plan) && !list.sort {
		t.Errorf("%s sorts:\n%s\n%s", list.name, query, plan)
	}
}

// plan returns how the database would run a query. It is planned for its values, which stand in its text.
func (p *planner) plan(query string) string {
	p.t.Helper()
	explain := "EXPLAIN QUERY PLAN "
	if p.postgres {
		explain = "EXPLAIN "
	}
	rows, err := p.conn.QueryContext(p.t.Context(), explain+query)
	if err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	return read(p.t, rows)
}

// read returns the last column of all rows.
func read(t *testing.T, rows *sql.Rows) string {
	t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, *values[len(values)-1].(*any))
	}
	return b.String()
}

// stock fills the tables with a thousand rows each.
func stock(t *testing.T, app *bun.DB) {
	t.Helper()
	statements := []string{
		`INSERT INTO hw_users (name, email, email_key, email_verified_at, password_hash, created_at, updated_at)
			SELECT 'u', 'e', n.n, 0, '', 0, 0 FROM n`,
		`INSERT INTO hw_accounts (name, next_number, default_locale, languages, created_at, updated_at)
			SELECT 'a', 1, 'en', '[]', 0, 0 FROM n`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			SELECT 1 + n.i / 200, 'm', n.n, n.n, '', n.n, CASE WHEN n.i % 2 = 0 THEN 'FWD' ELSE 'IMAP' END, '', 0, '', '', TRUE, '[]', 0, 0 FROM n`,
		`INSERT INTO hw_memberships (account_id, user_id, last_activity, created_at, updated_at) SELECT 1 + n.i % 10, n.i, 0, 0, 0 FROM n`,
		`INSERT INTO hw_customers (account_id, first_name, last_name, company, company_id, created_at, updated_at)
			SELECT 1, 'a', 'b', 'c', n.i % 20, 0, 0 FROM n`,
		`INSERT INTO hw_customer_emails (account_id, customer_id, email, email_key) SELECT 1, n.i, n.n, n.n FROM n`,
		`INSERT INTO hw_customer_phones (account_id, customer_id, phone) SELECT 1, n.i, n.n FROM n`,
		`INSERT INTO hw_customer_websites (account_id, customer_id, website) SELECT 1, n.i, n.n FROM n`,
		`INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id, customer_email, user_id, status,
			subject, preview, awaiting_since, created_at, updated_at)
			SELECT 1, n.i, 'email', 1 + n.i % 100, n.i, '', n.i % 20, CASE WHEN n.i % 10 = 0 THEN 'posted' ELSE 'closed' END,
			'', '', 1700000000000000 + n.i * 1000000, 1700000000000000 + n.i * 1000000, 1700000000000000 + n.i * 1000000 FROM n`,
		`INSERT INTO hw_participants SELECT 1, n.i, n.n FROM n`,
		`INSERT INTO hw_interactions (account_id, conversation_id, type, status, body, subject, user_id, posted_by_id,
			customer_email, to_addresses, cc_addresses, bcc_addresses, source, is_starter, is_forward, auto_submitted, seen_at,
			posted_at, send_started_at, message_id, message_refs, threading, at, created_at, updated_at)
			SELECT 1, 1 + n.i % 100, 'user', 'posted', '', '', 1, 1, '', '[]', '[]', '[]', '', FALSE, FALSE, FALSE, 0, 0, 0, n.n,
			'[]', '{}', n.i, 0, 0 FROM n`,
		`INSERT INTO hw_attachments (account_id, interaction_id, conversation_id, filename, content_type, content_id, size,
			is_inline, blob_key, created_at) SELECT 1, n.i, 1 + n.i % 100, '', '', '', 1, FALSE, n.n, 0 FROM n`,
		`INSERT INTO hw_deliveries (account_id, interaction_id, address, field, state, attempts, code, enhanced_code, response,
			next_attempt_at, created_at, updated_at) SELECT 1, n.i, '', 'to', 'sent', 1, 250, '', '', 0, 0, 0 FROM n`,
		`INSERT INTO hw_inbound_mails (account_id, mailbox_id, source, position, state, reason, raw_key, size, message_id,
			received_at, updated_at) SELECT 1, 1 + n.i % 100, 'imap', n.n, CASE WHEN n.i % 50 = 0 THEN 'quarantined' ELSE 'filed' END,
			'', n.n, 1, '', 0, 0 FROM n`,
		`INSERT INTO hw_tags (account_id, name, name_key, color, created_at, updated_at) SELECT 1 + n.i / 200, n.n, n.n, '', 0, 0 FROM n`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id) SELECT 1, n.i, 1 + n.i % 100 FROM n`,
		`INSERT INTO hw_fields (account_id, applies_to, field_key, label, type, options, required_to_close, customer_visible, sort_order, created_at, updated_at)
			SELECT 1, 'customer', n.n, '', 'text', '[]', FALSE, FALSE, 0, 0, 0 FROM n WHERE n.i <= 2`,
		`INSERT INTO hw_customer_values (account_id, subject_id, field_id, value_key, value, number) SELECT 1, n.i, 1 + n.i % 2, n.i % 50, '', n.i % 50 FROM n`,
		`INSERT INTO hw_conversation_values (account_id, subject_id, field_id, value_key, value, number) SELECT 1, n.i, 1 + n.i % 2, n.i % 50, '', n.i % 50 FROM n`,
		`INSERT INTO hw_views (account_id, user_id, name, filter, visibility, team_id, columns, created_at, updated_at) SELECT 1 + n.i / 200, 1, n.n, '{}', 'shared', 0, '[]', 0, 0 FROM n`,
		`INSERT INTO hw_companies (account_id, name, name_key, domains, note, external_id, created_at, updated_at)
			SELECT 1 + n.i % 10, n.n, n.n, '[]', '', '', 0, 0 FROM n`,
		`INSERT INTO hw_company_keys (account_id, company_id, kind, value) SELECT 1 + n.i % 10, n.i, 'domain', n.n FROM n`,
		`INSERT INTO hw_saved_replies (account_id, user_id, name, name_key, body, actions, created_at, updated_at)
			SELECT 1 + n.i % 10, n.i % 20, n.n, n.n, '', '', 0, 0 FROM n`,
		`INSERT INTO hw_reply_files (account_id, reply_id, filename, content_type, size, blob_key, created_at)
			SELECT account_id, id, '', '', 1, name, 0 FROM hw_saved_replies`,
		`INSERT INTO hw_notifications (account_id, user_id, kind, conversation_id, interaction_id, mailbox_id, actor_id, source, shown, browser, mail_at, read_at, created_at)
			SELECT 1, n.i % 20, 'replied', n.i, 0, 0, 0, n.n, TRUE, TRUE, -1, CASE WHEN n.i % 10 = 0 THEN -1 ELSE 1 END, n.i FROM n`,
		`INSERT INTO hw_followers SELECT 1, n.i, 1, TRUE, 0 FROM n`,
		`INSERT INTO hw_notify_choices SELECT 1, n.i, '[]' FROM n`,
		`INSERT INTO hw_read_marks SELECT 1, n.i, 1, n.i FROM n`,
		`INSERT INTO hw_conversation_redirects SELECT 1, 1000 + n.i, 1, n.i FROM n`,
		`INSERT INTO hw_moves (account_id, interaction_id, rule, from_id, into_id, mailbox_id, user_id, created_at)
			SELECT 1, n.i, 'split', n.i, n.i, 1 + n.i % 100, 1, 0 FROM n`,
		`INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, time) SELECT 1, n.i, '', 0, 0, 0, ` + throughMonths() + ` FROM n`,
		`INSERT INTO hw_audit (account_id, action, subject, mailbox_id, user_id, token_id, address, created_at)
			SELECT 1 + n.i % 2, '', 0, n.i % 3, n.i % 20, 0, '', ` + throughMonths() + ` FROM n`,
		`INSERT INTO hw_jobs (kind, account_id, subject, unique_key, run_at, due_at, buried)
			SELECT CASE WHEN n.i % 3 = 0 THEN 'a' ELSE 'b' END, 1, n.i, '', n.i, n.i, n.i % 100 = 0 FROM n`,
		`INSERT INTO hw_domains (account_id, name, selector, sealed_key, records, created_at, updated_at) SELECT 1 + n.i % 10, n.n, '', CAST('' AS BLOB), '[]', 0, 0 FROM n`,
		`INSERT INTO hw_pgp_keys (account_id, customer_email_id, name, fingerprint, content, expires_at, created_at, updated_at)
			SELECT 1, n.i, '', n.n, CAST('' AS BLOB), 0, 0, 0 FROM n`,
		`INSERT INTO hw_suppressions (account_id, email, email_key, reason, detail, user_id, interaction_id, created_at)
			SELECT 1 + n.i % 10, n.n, n.n, 'manual', '', 0, 0, 0 FROM n`,
		`INSERT INTO hw_webhooks (account_id, url, events, mailbox_ids, is_active, reason, failing_since, failures, last_success_at, after_seq,
			sealed_secret, sealed_former, former_until, user_id, created_at, updated_at)
			SELECT 1 + n.i % 100, '', '[]', '[]', TRUE, '', 0, 0, 0, 0, CAST('' AS BLOB), CAST('' AS BLOB), 0, 0, 0, 0 FROM n`,
		`INSERT INTO hw_webhook_deliveries (account_id, webhook_id, seq, type, mailbox_id, state, attempts, status, problem, response,
			next_attempt_at, held_by, held_until, due_at, created_at, updated_at)
			SELECT 1 + n.i % 10, n.i % 10 + 100 * (n.i % 3), n.i, '', n.i % 5, CASE WHEN n.i % 7 < 3 THEN 'pending' ELSE 'failed' END, 0, 0, '', '', 0, 0, 0, n.i, n.i, 0
			FROM n WHERE n.i % 10 + 100 * (n.i % 3) > 0`,
		`INSERT INTO hw_webhook_cursors (account_id, seq) SELECT n.i, 0 FROM n WHERE n.i <= 100`,
		`INSERT INTO hw_customer_search (rowid, account, terms) SELECT n.i, '_1', 'common' FROM n`,
		`INSERT INTO hw_conversation_search (rowid, account, customer, own) SELECT n.i, '_1', '', 'common' FROM n`,
		`INSERT INTO hw_sites (account_id, name, path, subdomain, custom_domain, host_key, html_head, visibility, created_at, updated_at)
			SELECT 1 + n.i / 200, '', n.n, '', '', '.', '', 'public', 0, 0 FROM n`,
		`INSERT INTO hw_collections (account_id, site_id, sort_order, source_locale, translations, created_at, updated_at)
			SELECT 1, 1 + n.i % 2, n.i, 'en', '[]', 0, 0 FROM n`,
		`INSERT INTO hw_categories (account_id, site_id, collection_id, sort_order, source_locale, translations, created_at, updated_at)
			SELECT 1, 1, 2 * (1 + n.i % 20), n.i, 'en', '[]', 0, 0 FROM n`,
		`INSERT INTO hw_articles (account_id, site_id, live, draft, last_revision, published, collection_id, category_ids, sort_order, created_at, updated_at)
			SELECT 1, 1, 1, 0, 1, n.i % 2 = 0, 2 * (1 + n.i % 20), '[]', n.i, 0, 0 FROM n`,
		`INSERT INTO hw_article_revisions (account_id, site_id, article_id, number, status, collection_id, category_ids, sort_order, source_locale,
			translations, created_at, updated_at) SELECT 1, 1, n.i, 1, 'published', 1, '[]', 0, 'en', '[]', 0, 0 FROM n`,
		`INSERT INTO hw_article_categories SELECT 1, 1, n.i, 1 + n.i % 100 FROM n`,
		`INSERT INTO hw_site_files (account_id, site_id, filename, content_type, size, url_key, blob_key, created_at, updated_at)
			SELECT 1, 1 + n.i / 200, '', '', 0, '', '', 0, 0 FROM n`,
		`INSERT INTO hw_themes (account_id, site_id, name, is_active, source, version, revision, created_at, updated_at)
			SELECT 1, 1 + n.i % 100, '', n.i <= 100, '', '', 0, 0, 0 FROM n`,
		`INSERT INTO hw_theme_files (account_id, site_id, theme_id, path, size, hash, blob_key, created_at, updated_at)
			SELECT 1, 1 + (1 + n.i % 100) % 100, 1 + n.i % 100, n.n, 0, '', '', 0, 0 FROM n`,
		`INSERT INTO hw_article_documents (account_id, site_id, article_id, locale, language, source, published)
			SELECT 1, 1, n.i, 'en', 'en', TRUE, TRUE FROM n`,
		`INSERT INTO hw_article_postings (account_id, site_id, published, rank, term, weight, document_id)
			SELECT 1, 1, TRUE, n.i % 3, 'pay', n.i, n.i FROM n`,
		`ANALYZE`,
	}
	if strings.Contains(app.String(), "pg") {
		for i := range statements {
			statements[i] = strings.ReplaceAll(statements[i], "AS BLOB", "AS BYTEA")
		}
		statements[len(statements)-14] = `INSERT INTO hw_customer_search SELECT 1, n.i, 'common' FROM n`
		statements[len(statements)-13] = `INSERT INTO hw_conversation_search SELECT 1, n.i, '', 'common' FROM n`
	}
	for _, statement := range statements {
		if statement != "ANALYZE" {
			statement = `WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 999),
				n AS (SELECT i, CAST(i AS TEXT) AS n FROM s) ` + statement
		}
		if _, err := app.DB.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// throughMonths is a time in the 24 months from now on, which grows with n.i.
func throughMonths() string {
	return fmt.Sprintf("%d + n.i * %d", time.Now().UnixMicro(), (23 * 30 * 24 * time.Hour / 999).Microseconds())
}

// webhookLists returns the reads of webhooks and their deliveries.
func webhookLists() map[string]func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
	filtered := func(f subscription.WebhookDeliveryFilter) func(context.Context, *bunstore.DB, helpdesk.Reader, storage.Seek) error {
		return func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.WebhookDeliveries().List(ctx, f, seek)
			return err
		}
	}
	return map[string]func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error{
		"WebhookDeliveries":        filtered(subscription.WebhookDeliveryFilter{WebhookID: 100}),
		"WebhookDeliveries/failed": filtered(subscription.WebhookDeliveryFilter{WebhookID: 100, State: subscription.WebhookFailed}),
		"Webhooks": func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := helpdesk.Nouns().Webhooks.Reader(r).List(ctx, storage.NoFilter{}, seek)
			return err
		},
		"DueWebhookDeliveries": func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.WebhookDeliveries().List(ctx, subscription.WebhookDeliveryFilter{WebhookID: 100, DueBy: time.Unix(1, 0)}, storage.Seek{Limit: 4})
			return err
		},
		"HeldWebhookDeliveries": func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.WebhookDeliveries().List(ctx, subscription.WebhookDeliveryFilter{WebhookID: 100, HeldAfter: time.Unix(1, 0)}, storage.Seek{Limit: storage.NoLimit})
			return err
		},
		"EventsBySeq": func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.EventsBySeq(ctx, []int64{1, 2, 3})
			return err
		},
		"WebhookBacklog": func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
			_, err := db.WebhookBacklog(ctx, seek)
			return err
		},
		"AccountsWithWebhooks": func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
			_, err := db.AccountsWithWebhooks(ctx, seek)
			return err
		},
		"PruneWebhookDeliveries": func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
			return db.InTx(ctx, helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
				_, err := tx.PruneWebhookDeliveries(ctx, 100, time.Unix(0, 0), 10, 100)
				return err
			})
		},
	}
}

// retentionLists returns the statements that find old rows.
func retentionLists() map[string]func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
	type list = func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error
	system := func(prune func(tx helpdesk.SystemTx) func(context.Context, time.Time, int) (int, error)) list {
		return func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
			return db.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
				_, err := prune(tx)(ctx, time.Unix(0, 0), 100)
				return err
			})
		}
	}
	type prune = func(context.Context, time.Time, int) (int, error)
	own := helpdesk.Scope{AccountID: 1}
	return map[string]list{
		"Accounts": func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, seek storage.Seek) error {
			seek.From = &storage.Position{ID: 1} // the first page is the table itself, in key order
			_, err := db.Accounts(ctx, seek)
			return err
		},
		"PruneAudit":  system(func(tx helpdesk.SystemTx) prune { return tx.Within(own).PruneAudit }),
		"PruneEvents": system(func(tx helpdesk.SystemTx) prune { return tx.Within(own).PruneEvents }),
		"PruneRawMails": system(func(tx helpdesk.SystemTx) prune {
			return func(ctx context.Context, before time.Time, n int) (int, error) {
				keys, err := tx.Within(own).PruneRawMails(ctx, before, n)
				return len(keys), err
			}
		}),
		"PruneSessions":   system(func(tx helpdesk.SystemTx) prune { return tx.PruneSessions }),
		"PruneFailedJobs": system(func(tx helpdesk.SystemTx) prune { return tx.PruneFailedJobs }),
	}
}

// siteFileLists returns the reads of a site's files and themes.
func siteFileLists() map[string]func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
	return map[string]func(ctx context.Context, r kb.Reader, seek storage.Seek) error{
		"Files": func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.Files().List(ctx, storage.NoFilter{}, seek)
			return err
		},
		"Themes": func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.Themes().List(ctx, storage.NoFilter{}, seek)
			return err
		},
		"ActiveTheme": func(ctx context.Context, r kb.Reader, _ storage.Seek) error {
			_, err := r.ActiveTheme(ctx)
			return err
		},
		"ThemeFile": func(ctx context.Context, r kb.Reader, _ storage.Seek) error {
			_, err := r.ThemeFileByPath(ctx, 99, "98")
			return err
		},
		"ThemeFiles": func(ctx context.Context, r kb.Reader, seek storage.Seek) error {
			_, err := r.ThemeFiles().List(ctx, kb.ThemeFileFilter{ThemeID: 99}, seek)
			return err
		},
	}
}
