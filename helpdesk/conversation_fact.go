package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// ConversationFact is what reports know of a conversation, as it is stored: see [report.Fact]. Spam and drafts have none. All of it
// follows from other rows and from the log of events, but for the steps of events that were deleted.
type ConversationFact struct {
	ID             int64
	ConversationID int64
	CreatedAt      time.Time
	EndedAt        time.Time // when it was closed the last time, or [report.NeverClosed]
	RatedAt        time.Time // zero: not rated
	RepliedAt      time.Time // the last reply of a member; zero: none
	Figures        string    // see [report.Fact.Figures]
	Said           string    // see [report.SaidText]
	Steps          string    // see [report.StepsText]
}

// storedFact returns a fact as it is stored.
func storedFact(f report.Fact) ConversationFact {
	s := ConversationFact{
		ConversationID: f.ConversationID, CreatedAt: f.CreatedAt, EndedAt: f.ResolvedAt, RatedAt: f.RatedAt,
		Figures: f.Figures(), Said: report.SaidText(f.Said), Steps: report.StepsText(f.Steps),
	}
	if s.EndedAt.IsZero() {
		s.EndedAt = report.NeverClosed()
	}
	if n := len(f.Said); n > 0 {
		s.RepliedAt = f.Said[n-1].At
	}
	return s
}

// Fact returns the fact.
func (s ConversationFact) Fact() (report.Fact, error) {
	var f report.Fact
	if err := report.ParseFigures(s.Figures, &f); err != nil {
		return f, err
	}
	var err error
	if f.Said, err = report.ParseSaid(s.Said, nil); err != nil {
		return f, err
	}
	f.Steps, err = report.ParseSteps(s.Steps)
	return f, err
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
			{Name: "created_at", Field: func(t *ConversationFact) any { return &t.CreatedAt }},
			{Name: "ended_at", Field: func(t *ConversationFact) any { return &t.EndedAt }},
			{Name: "rated_at", Field: func(t *ConversationFact) any { return &t.RatedAt }},
			{Name: "replied_at", Field: func(t *ConversationFact) any { return &t.RepliedAt }},
			{Name: "figures", Field: func(t *ConversationFact) any { return &t.Figures }},
			{Name: "said", Field: func(t *ConversationFact) any { return &t.Said }},
			{Name: "steps", Field: func(t *ConversationFact) any { return &t.Steps }},
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
	// FactFigures returns the figures of the facts that are to be read, also outside the mailboxes of the scope: a line for each,
	// in any order. For [report.Replied], the line has a bar and what was said after the figures.
	FactFigures(ctx context.Context, read report.Read) (string, error)
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
