package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// ConversationFact is a [report.Fact] as it is stored. Spam and drafts have none. All of it follows from other rows and from the
// log of events, but for the steps of events that were deleted.
type ConversationFact struct {
	ID int64
	report.Fact
	EndedAt   time.Time // ResolvedAt, or [report.NeverClosed]: what was open at a time ended later
	RepliedAt time.Time // the last reply of a member; zero: none
}

// storedFact returns a fact as it is stored.
func storedFact(f report.Fact) ConversationFact {
	s := ConversationFact{Fact: f, EndedAt: f.ResolvedAt}
	if s.EndedAt.IsZero() {
		s.EndedAt = report.NeverClosed()
	}
	if n := len(f.Said); n > 0 {
		s.RepliedAt = f.Said[n-1].At
	}
	return s
}

// ConversationFactFilter narrows a list of facts. The zero value selects all.
type ConversationFactFilter struct {
	ConversationIDs []int64 // nil: of all conversations
}

func conversationFactNoun() storage.Declared[ConversationFact, ConversationFactFilter] {
	return storage.Declared[ConversationFact, ConversationFactFilter]{
		Noun: storage.Noun[ConversationFact]{
			Name: "fact of a conversation",
			ID:   func(t *ConversationFact) *int64 { return &t.ID },
		},
		Key: "conversation_fact", Plural: "conversation_facts",
		Columns: []storage.Column[ConversationFact]{
			{Name: "conversation_id", Field: func(t *ConversationFact) any { return &t.ConversationID }, Refers: "conversation", Owner: "hw_conversations"},
			{Name: "number", Field: func(t *ConversationFact) any { return &t.Number }},
			{Name: "created_at", Field: func(t *ConversationFact) any { return &t.CreatedAt }},
			{Name: "mailbox_id", Field: func(t *ConversationFact) any { return &t.MailboxID }},
			{Name: "team_id", Field: func(t *ConversationFact) any { return &t.TeamID }},
			{Name: "user_id", Field: func(t *ConversationFact) any { return &t.UserID }},
			{Name: "sla_id", Field: func(t *ConversationFact) any { return &t.SLAID }},
			{Name: "channel", Field: func(t *ConversationFact) any { return &t.Channel }},
			{Name: "tags", Field: func(t *ConversationFact) any { return storage.IDs(&t.Tags) }},
			{Name: "asked_at", Field: func(t *ConversationFact) any { return &t.AskedAt }},
			{Name: "first_reply_at", Field: func(t *ConversationFact) any { return &t.FirstReplyAt }},
			{Name: "first_reply_by", Field: func(t *ConversationFact) any { return &t.FirstReplyBy }},
			{Name: "business_reply", Field: func(t *ConversationFact) any { return &t.BusinessReply }},
			{Name: "replies", Field: func(t *ConversationFact) any { return &t.Replies }},
			{Name: "touches", Field: func(t *ConversationFact) any { return &t.Touches }},
			{Name: "received", Field: func(t *ConversationFact) any { return &t.Received }},
			{Name: "reopened", Field: func(t *ConversationFact) any { return &t.Reopened }},
			{Name: "wait", Field: func(t *ConversationFact) any { return &t.Wait }},
			{Name: "resolved_at", Field: func(t *ConversationFact) any { return &t.ResolvedAt }},
			{Name: "ended_at", Field: func(t *ConversationFact) any { return &t.EndedAt }},
			{Name: "replied_at", Field: func(t *ConversationFact) any { return &t.RepliedAt }},
			{Name: "verdict", Field: func(t *ConversationFact) any { return &t.Verdict }},
			{Name: "rated_at", Field: func(t *ConversationFact) any { return &t.RatedAt }},
			{Name: "rated_by", Field: func(t *ConversationFact) any { return &t.RatedID }},
			{Name: "first_reply_sla", Field: func(t *ConversationFact) any { return (*string)(&t.FirstReplySLA) }},
			{Name: "next_reply_sla", Field: func(t *ConversationFact) any { return (*string)(&t.NextReplySLA) }},
			{Name: "resolution_sla", Field: func(t *ConversationFact) any { return (*string)(&t.ResolutionSLA) }},
			{Name: "said", Field: func(t *ConversationFact) any {
				return storedReplies(&t.Said)
			}},
			{Name: "closed", Field: func(t *ConversationFact) any {
				return storedGaps(&t.Closed)
			}},
			{Name: "steps", Field: func(t *ConversationFact) any {
				return storedSteps(&t.Steps)
			}},
		},
		Where: func(f ConversationFactFilter) []storage.Condition {
			if f.ConversationIDs == nil {
				return nil
			}
			return []storage.Condition{storage.OneOf("conversation_id", f.ConversationIDs)}
		},
	}
}

// FactLog is up to where the log of an account was folded into facts. It is the only row of an account.
type FactLog struct {
	ID       int64
	Seq      int64     // of the last event that was folded
	FoldedAt time.Time // when that happened
	// Again says that all conversations are folded again, in the order of [ByCreated]: AgainAt and AgainID are the last one's.
	Again   bool
	AgainAt time.Time
	AgainID int64
}

func factLogNoun() storage.Declared[FactLog, storage.NoFilter] {
	return storage.Declared[FactLog, storage.NoFilter]{
		Noun: storage.Noun[FactLog]{
			Name: "log of facts",
			ID:   func(t *FactLog) *int64 { return &t.ID },
		},
		Key: "fact_log", Plural: "fact_logs",
		Columns: []storage.Column[FactLog]{
			{Name: "seq", Field: func(t *FactLog) any { return &t.Seq }},
			{Name: "folded_at", Field: func(t *FactLog) any { return &t.FoldedAt }},
			{Name: "again", Field: func(t *FactLog) any { return &t.Again }},
			{Name: "again_at", Field: func(t *FactLog) any { return &t.AgainAt }},
			{Name: "again_id", Field: func(t *FactLog) any { return &t.AgainID }},
		},
	}
}

// factLogOf reads the row, the zero value if there is none.
func factLogOf(ctx context.Context, r storage.RecordReader) (FactLog, error) {
	all, err := factLogNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
	if err != nil || len(all) == 0 {
		return FactLog{}, err
	}
	return all[0], nil
}

// FactReader reads what reports know of conversations, and what that follows from.
type FactReader interface {
	// Contributions returns what was said in conversations, in any order: posted interactions that do not wait for their time.
	Contributions(ctx context.Context, conversationIDs []int64) ([]report.Message, error)
	// Facts returns the facts that are to be read, also outside the mailboxes of the scope, in any order. Only the columns that
	// are to be read are set.
	Facts(ctx context.Context, read report.Read) ([]report.Fact, error)
}

// FactWriter writes what reports know of conversations.
type FactWriter interface {
	// DeleteFacts deletes the facts of conversations. Absent ids are ignored.
	DeleteFacts(ctx context.Context, conversationIDs []int64) error
}

// Contribution returns an interaction as reports see it; false: it does not count. For stores.
func (i Interaction) Contribution() (report.Message, bool) {
	m := report.Message{ID: i.ID, ConversationID: i.ConversationID, At: i.At, UserID: i.PostedByID}
	if i.Status != StatusPosted || i.Scheduled() {
		return m, false
	}
	switch {
	case i.Type == TypeNote:
		m.Kind = report.Noted
	case i.Type == TypeCustomer && i.AutoSubmitted:
		m.Kind = report.FromMachine
	case i.Type == TypeCustomer:
		m.Kind = report.FromCustomer
	case i.AutoSubmitted || i.Source == SourceAuto:
		m.Kind = report.Automatic
	case i.IsForward:
		m.Kind = report.Forwarded
	default:
		m.Kind = report.ByMember
	}
	if i.Type == TypeUser && !i.PostedAt.IsZero() {
		m.At = i.PostedAt
	}
	return m, true
}
