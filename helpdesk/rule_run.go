package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// RuleOutcome is what came of a run of a rule.
type RuleOutcome string

// The outcomes of a run.
const (
	RunChanged RuleOutcome = "changed"
	RunNothing RuleOutcome = "nothing" // everything was as the rule wants it already
	RunFailed  RuleOutcome = "failed"
	RunSkipped RuleOutcome = "skipped" // it had run on the same chain already, or may not act in this mailbox
)

// RuleRun is one run of a rule: its conditions held at an event. It is kept for 90 days.
type RuleRun struct {
	ID             int64
	RuleID         int64
	Version        int    // of the rule
	EventID        int64  // Seq of the event
	Event          string // its type; [RuleTime]: some time after it
	ConversationID int64
	Outcome        RuleOutcome
	Dry            bool    // it would have
	Reason         string  // why it failed or was skipped, for people
	Chain          []int64 // rules whose changes led to the event, the first one first
	Conditions     []rules.Held
	Changes        []RuleChange
	Actions        []string // types of those done besides changes, such as a reply
	CreatedAt      time.Time
}

// RuleChange is a change of a field by a rule. Of tags, From has what was removed and To what was added. Texts are not told.
type RuleChange struct {
	Field string   `json:"field"`
	From  []string `json:"from,omitempty"`
	To    []string `json:"to,omitempty"`
}

// RuleTrial is what a rule would do. Outcome is empty if its conditions do not hold.
type RuleTrial struct {
	Outcome    RuleOutcome
	Reason     string // why it would fail or be skipped
	Conditions []rules.Held
	Changes    []RuleChange
	Actions    []string
}

// UniqueRuleRun is the code of a store's Conflict fault for a duplicate (account, RuleID, EventID, Event).
const UniqueRuleRun = "rule_run"

// RuleRunFilter narrows a list of runs.
type RuleRunFilter struct {
	RuleID  int64 // 0: of all rules
	EventID int64 // 0: at all events

	ConversationIDs []int64 // nil: in all conversations
}

// ruleRunNoun declares the rows of runs.
func ruleRunNoun() storage.Declared[RuleRun, RuleRunFilter] {
	return storage.Declared[RuleRun, RuleRunFilter]{
		Noun: storage.Noun[RuleRun]{
			Name: "rule run",
			ID:   func(t *RuleRun) *int64 { return &t.ID },
			Unique: []storage.Unique[RuleRun]{
				{Code: UniqueRuleRun, Index: "key", Fields: func(t *RuleRun) []any { return []any{&t.RuleID, &t.EventID, &t.Event} }},
			},
		},
		Key: "rule_run", Plural: "rule_runs",
		Columns: []storage.Column[RuleRun]{
			{Name: "rule_id", Field: func(t *RuleRun) any { return &t.RuleID }, Refers: "rule", Owner: "hw_rules"},
			{Name: "version", Field: func(t *RuleRun) any { return &t.Version }},
			{Name: "event_id", Field: func(t *RuleRun) any { return &t.EventID }},
			{Name: "event", Field: func(t *RuleRun) any { return &t.Event }},
			{Name: "conversation_id", Field: func(t *RuleRun) any { return &t.ConversationID }, Refers: "conversation", Loose: true},
			{Name: "outcome", Field: func(t *RuleRun) any { return (*string)(&t.Outcome) }},
			{Name: "dry", Field: func(t *RuleRun) any { return &t.Dry }},
			{Name: "reason", Field: func(t *RuleRun) any { return &t.Reason }},
			{Name: "chain", Field: func(t *RuleRun) any { return storage.IDs(&t.Chain) }, Refers: "rule", Loose: true},
			{Name: "conditions", Field: func(t *RuleRun) any {
				return storage.Objects(&t.Conditions, func(h rules.Held) []string { return conditionTexts(h.Condition) })
			}},
			{Name: "changes", Field: func(t *RuleRun) any {
				return storage.Objects(&t.Changes, RuleChange.texts)
			}},
			{Name: "actions", Field: func(t *RuleRun) any { return storage.Texts(&t.Actions) }},
			{Name: "created_at", Field: func(t *RuleRun) any { return &t.CreatedAt }},
		},
		Where: func(f RuleRunFilter) []storage.Condition {
			var all []storage.Condition
			if f.RuleID != 0 {
				all = append(all, storage.InOrder("rule_id", f.RuleID))
			}
			if f.EventID != 0 {
				all = append(all, storage.OneOf("event_id", []int64{f.EventID}))
			}
			if f.ConversationIDs != nil {
				all = append(all, storage.OneOf("conversation_id", f.ConversationIDs))
			}
			return all
		},
	}
}

// RulePass records that the rules have run at an event, so that they do so once, whether any of them acted or not.
type RulePass struct {
	ID             int64
	EventID        int64 // Seq of the first event of the operation; unique in the account
	LastID         int64 // of the last one
	ConversationID int64
	CreatedAt      time.Time
}

// UniqueRulePass is the code of a store's Conflict fault for a duplicate (account, EventID).
const UniqueRulePass = "rule_pass"

// RulePassFilter narrows a list of passes.
type RulePassFilter struct {
	ConversationID int64 // 0: of all conversations
}

// rulePassNoun declares the rows of passes.
func rulePassNoun() storage.Declared[RulePass, RulePassFilter] {
	return storage.Declared[RulePass, RulePassFilter]{
		Noun: storage.Noun[RulePass]{
			Name: "rule pass",
			ID:   func(t *RulePass) *int64 { return &t.ID },
			Unique: []storage.Unique[RulePass]{
				{Code: UniqueRulePass, Index: "key", Fields: func(t *RulePass) []any { return []any{&t.EventID} }},
			},
		},
		Key: "rule_pass", Plural: "rule_passes",
		Columns: []storage.Column[RulePass]{
			{Name: "event_id", Field: func(t *RulePass) any { return &t.EventID }},
			{Name: "last_id", Field: func(t *RulePass) any { return &t.LastID }},
			{Name: "conversation_id", Field: func(t *RulePass) any { return &t.ConversationID }, Refers: "conversation", Loose: true},
			{Name: "created_at", Field: func(t *RulePass) any { return &t.CreatedAt }},
		},
		Where: func(f RulePassFilter) []storage.Condition {
			if f.ConversationID == 0 {
				return nil
			}
			return []storage.Condition{storage.OneOf("conversation_id", []int64{f.ConversationID})}
		},
	}
}

// Runs lists the runs of a rule, newest first. Of runs in conversations that the member does not reach, only the rule, the
// outcome and the time are told. It needs rules.view.
func (d Rules) Runs(ctx context.Context, ruleID int64, req storage.PageRequest) (storage.Page[RuleRun], error) {
	var none storage.Page[RuleRun]
	r, err := d.guard.Read(identity.RulesView)
	if err != nil {
		return none, err
	}
	if _, err := ruleNoun().Reader(r).Get(ctx, ruleID); err != nil {
		return none, err
	}
	position := func(r RuleRun) storage.Position { return storage.Position{ID: r.ID} }
	return storage.List(req, true, position, func(seek storage.Seek) ([]RuleRun, error) {
		found, err := ruleRunNoun().Reader(r).List(ctx, RuleRunFilter{RuleID: ruleID}, seek)
		if err != nil {
			return nil, err
		}
		return found, d.hideRuns(ctx, r, found)
	})
}

// hideRuns takes from runs what the member does not see.
func (d *desk) hideRuns(ctx context.Context, r Reader, runs []RuleRun) error {
	var ids []int64
	for _, run := range runs {
		ids = append(ids, run.ConversationID)
	}
	seen := map[int64]bool{}
	if d.guard.Allows(identity.ConversationsView) {
		found, err := r.Conversations().ByIDs(ctx, sortedSet(ids))
		if err != nil {
			return err
		}
		for _, c := range found {
			seen[c.ID] = true
		}
	}
	for i, run := range runs {
		if !seen[run.ConversationID] {
			runs[i] = RuleRun{ID: run.ID, RuleID: run.RuleID, Version: run.Version, Outcome: run.Outcome, Dry: run.Dry, CreatedAt: run.CreatedAt}
		}
	}
	return nil
}

// keepRuleRuns is how long runs and passes are kept.
const keepRuleRuns = 90 * 24 * time.Hour

// pruneRuns removes old runs and passes.
func pruneRuns(tx Tx) prune {
	return func(ctx context.Context, before time.Time, n int) (int, error) {
		runs, err := pruneRows(ctx, ruleRunNoun().Rows(tx), RuleRunFilter{}, func(r RuleRun) (int64, time.Time) { return r.ID, r.CreatedAt }, before, n)
		if err != nil {
			return runs, err
		}
		passes, err := pruneRows(ctx, rulePassNoun().Rows(tx), RulePassFilter{}, func(p RulePass) (int64, time.Time) { return p.ID, p.CreatedAt }, before, n)
		return max(runs, passes), err
	}
}

// pruneRows removes at most n rows, the oldest first, that were made before a time, and returns their number.
func pruneRows[T, F any](ctx context.Context, rows storage.Rows[T, F], filter F, of func(T) (id int64, at time.Time), before time.Time, n int) (int, error) {
	found, err := rows.List(ctx, filter, storage.Seek{Limit: n})
	if err != nil {
		return 0, err
	}
	for i, row := range found {
		id, at := of(row)
		if !at.Before(before) {
			return i, nil
		}
		if err := rows.Delete(ctx, id); err != nil {
			return i, err
		}
	}
	return len(found), nil
}
