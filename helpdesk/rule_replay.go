package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
)

// ReplayState is how far a replay is.
type ReplayState string

// The states of a replay.
const (
	ReplayRunning ReplayState = "running"
	ReplayDone    ReplayState = "done"
	ReplayFailed  ReplayState = "failed"
)

// RuleReplay is what a rule would have done in some time, see [Rules.Replay].
type RuleReplay struct {
	ID       int64
	UserID   int64  // whose it is; 0: an embedding application's
	RuleID   int64  // the stored rule; 0: it is not stored
	Name     string // of the rule; "": it has none yet
	Position int64  // of the rule; 0: it would run last
	On       []string
	After    RuleAfter
	All, Any []rules.Condition
	Actions  []rules.Action
	Stop     bool
	From, To time.Time
	State    ReplayState
	Reason   string // why it failed
	Percent  int    // of the time that it has looked at
	// Examined counts the conversations in which something happened that the rule listens to, and Changed those among them that
	// it would have changed. Unknown counts those of which that cannot be told any more, as Lost had other values at the time
	// that are not in the log: texts, and what is known of customers. Gone counts conversations that were deleted or merged
	// since. The latter two are not in Changed.
	Examined, Changed, Unknown, Gone int
	Lost                             []string // names of fields, sorted
	CreatedAt                        time.Time
	FinishedAt                       time.Time // zero: it is running
}

// Rule returns the rule that is replayed: what it does when.
func (r RuleReplay) Rule() Rule {
	return Rule{ID: r.RuleID, Name: r.Name, Position: r.Position, On: r.On, After: r.After, All: r.All, Any: r.Any, Actions: r.Actions, Stop: r.Stop}
}

// ReplayedConversation is a conversation that a rule would have changed, with the first time that it would have.
type ReplayedConversation struct {
	ID             int64
	ReplayID       int64
	ConversationID int64
	EventID        int64  // Seq of the event
	Event          string // its type; [RuleTime]: some time after it
	At             time.Time
	Changes        []RuleChange
	Actions        []string // types of those besides changes, such as a reply
	Others         []int64  // rules that did change the conversation at the event
	CreatedAt      time.Time
}

// UniqueReplayed is the code of a store's Conflict fault for a duplicate (account, ReplayID, ConversationID).
const UniqueReplayed = "replayed_conversation"

// Limits of replays.
const (
	MaxReplayed = 90 * day // how far back a replay may begin
	maxReplays  = 5        // that run at a time in an account
	ownReplays  = 20       // that are kept of a member
	keepReplays = 7 * day
)

// ReplayedFilter narrows a list of [ReplayedConversation].
type ReplayedFilter struct {
	ReplayID int64 // 0: of all replays
}

// replayNoun declares the rows of replays.
func replayNoun() storage.Declared[RuleReplay, storage.NoFilter] {
	on, does := ruleColumns(func(t *RuleReplay) ruleParts {
		return ruleParts{&t.On, &t.After, &t.All, &t.Any, &t.Actions, &t.Stop}
	})
	return storage.Declared[RuleReplay, storage.NoFilter]{
		Noun: storage.Noun[RuleReplay]{Name: "replay", ID: func(t *RuleReplay) *int64 { return &t.ID }},
		Key:  "rule_replay", Plural: "rule_replays",
		Columns: slices.Concat(
			[]storage.Column[RuleReplay]{
				{Name: "user_id", Field: func(t *RuleReplay) any { return &t.UserID }, Refers: "user"},
				{Name: "rule_id", Field: func(t *RuleReplay) any { return &t.RuleID }, Refers: "rule", Loose: true},
				{Name: "name", Field: func(t *RuleReplay) any { return &t.Name }},
				{Name: "position", Field: func(t *RuleReplay) any { return &t.Position }},
			},
			on, does,
			[]storage.Column[RuleReplay]{
				{Name: "begins", Field: func(t *RuleReplay) any { return &t.From }},
				{Name: "ends", Field: func(t *RuleReplay) any { return &t.To }},
				{Name: "state", Field: func(t *RuleReplay) any { return (*string)(&t.State) }},
				{Name: "reason", Field: func(t *RuleReplay) any { return &t.Reason }},
				{Name: "percent", Field: func(t *RuleReplay) any { return &t.Percent }},
				{Name: "examined", Field: func(t *RuleReplay) any { return &t.Examined }},
				{Name: "changed", Field: func(t *RuleReplay) any { return &t.Changed }},
				{Name: "unknown", Field: func(t *RuleReplay) any { return &t.Unknown }},
				{Name: "gone", Field: func(t *RuleReplay) any { return &t.Gone }},
				{Name: "lost", Field: func(t *RuleReplay) any { return storage.Texts(&t.Lost) }},
				{Name: "created_at", Field: func(t *RuleReplay) any { return &t.CreatedAt }},
				{Name: "finished_at", Field: func(t *RuleReplay) any { return &t.FinishedAt }},
			},
		),
		Parts: []storage.Part{{Table: "hw_replayed_conversations", Of: "replay_id"}},
	}
}

// replayedNoun declares the rows of the conversations of replays.
func replayedNoun() storage.Declared[ReplayedConversation, ReplayedFilter] {
	return storage.Declared[ReplayedConversation, ReplayedFilter]{
		Noun: storage.Noun[ReplayedConversation]{
			Name: "replayed conversation",
			ID:   func(t *ReplayedConversation) *int64 { return &t.ID },
			Unique: []storage.Unique[ReplayedConversation]{
				{Code: UniqueReplayed, Index: "key", Fields: func(t *ReplayedConversation) []any { return []any{&t.ReplayID, &t.ConversationID} }},
			},
		},
		Key: "replayed_conversation", Plural: "replayed_conversations",
		Columns: []storage.Column[ReplayedConversation]{
			{Name: "replay_id", Field: func(t *ReplayedConversation) any { return &t.ReplayID }, Refers: "rule_replay", Owner: "hw_rule_replays"},
			{Name: "conversation_id", Field: func(t *ReplayedConversation) any { return &t.ConversationID }, Refers: "conversation", Loose: true},
			{Name: "event_id", Field: func(t *ReplayedConversation) any { return &t.EventID }},
			{Name: "event", Field: func(t *ReplayedConversation) any { return &t.Event }},
			{Name: "at", Field: func(t *ReplayedConversation) any { return &t.At }},
			{Name: "changes", Field: func(t *ReplayedConversation) any { return storage.Objects(&t.Changes, RuleChange.texts) }},
			{Name: "actions", Field: func(t *ReplayedConversation) any { return storage.Texts(&t.Actions) }},
			{Name: "others", Field: func(t *ReplayedConversation) any { return storage.IDs(&t.Others) }, Refers: "rule", Loose: true},
			{Name: "created_at", Field: func(t *ReplayedConversation) any { return &t.CreatedAt }},
		},
		Where: func(f ReplayedFilter) []storage.Condition {
			if f.ReplayID == 0 {
				return nil
			}
			return []storage.Condition{storage.InOrder("replay_id", f.ReplayID)}
		},
	}
}

// ReplayInput says what to replay.
type ReplayInput struct {
	RuleID int64     // a stored rule, which Rule changes; 0: Rule is all of it
	Rule   RuleInput // as for [Rules.Create]; Name is optional, and State is ignored
	From   time.Time // at most [MaxReplayed] ago, nor before the log of events begins; zero: 30 days before To
	To     time.Time // after From, at most now; zero: now
}

// Replay begins to find out which conversations a rule would have changed in some time, and changes nothing: a [JobReplay] job
// goes through what happened in that time, takes each conversation as it was then, and asks the rule. It looks at the first time
// that the rule would have changed a conversation, with calendars, saved replies and fields as they are today. Whether an
// action that only tells somebody something, such as a reply, would have been possible is not looked at. The caller can read the
// replay for seven days, unless they begin twenty others, see [Rules.ReplayOf]. It needs rules.view, conversations.view, and what the rule needs to be
// created, except rules.create. More than five at a time in an account are a Conflict fault.
func (d Rules) Replay(ctx context.Context, in ReplayInput) (RuleReplay, error) {
	begin, err := d.guard.Write(identity.RulesView)
	if err != nil {
		return RuleReplay{}, err
	}
	p := RuleReplay{UserID: d.userID, State: ReplayRunning, CreatedAt: d.svc.now()}
	if err := p.setTime(in, d.svc.cfg.Retention.Events); err != nil {
		return RuleReplay{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		running, err := replayNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		running = slices.DeleteFunc(running, func(r RuleReplay) bool { // one that does not end blocks none for ever
			return r.State != ReplayRunning || r.CreatedAt.Before(p.CreatedAt.Add(-day))
		})
		if len(running) >= maxReplays {
			return fault.Newf(fault.Conflict, "%d replays are running. Wait until one of them is done.", len(running))
		}
		if err := d.setRuleToReplay(ctx, tx, &p, in); err != nil {
			return err
		}
		if err := replayNoun().Rows(tx).Insert(ctx, &p); err != nil {
			return err
		}
		return tx.Enqueue(ctx, storage.Job{Kind: JobReplay, AccountID: d.scope.AccountID, Subject: p.ID})
	})
	return p, err
}

// setTime sets the time that is replayed, of which the log of events is kept for some time; not above zero: for ever.
func (p *RuleReplay) setTime(in ReplayInput, kept time.Duration) error {
	now, longest := p.CreatedAt, MaxReplayed
	if kept > 0 {
		longest = min(longest, kept)
	}
	if p.To = in.To.UTC().Truncate(time.Microsecond); in.To.IsZero() {
		p.To = now
	}
	if p.From = in.From.UTC().Truncate(time.Microsecond); in.From.IsZero() {
		if p.From = p.To.Add(-30 * day); p.From.Before(now.Add(-longest)) {
			p.From = now.Add(-longest)
		}
	}
	var problems fault.Collector
	problems.Check(!p.To.After(now), "to", "must not be in the future")
	problems.Check(p.From.Before(p.To), "from", "must be before to")
	problems.Check(!p.From.Before(now.Add(-longest)), "from", fmt.Sprintf("must be within the last %d days", longest/day))
	return problems.Err()
}

// setRuleToReplay sets a stored rule with changes, or a new one, that the member could have.
func (d *desk) setRuleToReplay(ctx context.Context, tx Tx, p *RuleReplay, in ReplayInput) error {
	const unnamed = "-" // passes the checks
	r := Rule{Name: unnamed}
	if in.RuleID != 0 {
		var err error
		if r, err = ruleNoun().Rows(tx).Get(ctx, in.RuleID); err != nil {
			return err
		}
	}
	change, old := in.Rule, r
	if change.State = storage.Some(RuleActive); change.Name.Or("") == "" {
		change.Name = storage.Opt[string]{}
	}
	if err := d.settleRule(ctx, tx, &r, old, change); err != nil {
		return err
	}
	p.RuleID, p.Position = r.ID, in.Rule.Position.Or(r.Position)
	if p.Name = r.Name; p.Name == unnamed {
		p.Name = ""
	}
	p.On, p.After, p.All, p.Any, p.Actions, p.Stop = r.On, r.After, r.All, r.Any, r.Actions, r.Stop
	return nil
}

// ReplayOf returns a replay that the caller began. It needs rules.view.
func (d Rules) ReplayOf(ctx context.Context, id int64) (RuleReplay, error) {
	r, err := d.guard.Read(identity.RulesView)
	if err != nil {
		return RuleReplay{}, err
	}
	p, err := replayNoun().Reader(r).Get(ctx, id)
	if err == nil && p.UserID != d.userID {
		err = fault.Missing("replay", id)
	}
	if err != nil {
		return RuleReplay{}, err
	}
	return p, nil
}

// Replayed lists the conversations that a rule would have changed, by id, of a replay that the caller began. Those that the
// caller does not reach are left out. It needs rules.view and conversations.view.
func (d Rules) Replayed(ctx context.Context, id int64, req storage.PageRequest) (storage.Page[ReplayedConversation], error) {
	var none storage.Page[ReplayedConversation]
	if _, err := d.ReplayOf(ctx, id); err != nil {
		return none, err
	}
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return none, err
	}
	position := func(c ReplayedConversation) storage.Position { return storage.Position{ID: c.ID} }
	page, err := storage.List(req, false, position, func(seek storage.Seek) ([]ReplayedConversation, error) {
		return replayedNoun().Reader(r).List(ctx, ReplayedFilter{ReplayID: id}, seek)
	})
	if err != nil {
		return none, err
	}
	var ids []int64
	for _, c := range page.Items {
		ids = append(ids, c.ConversationID)
	}
	found, err := r.Conversations().ByIDs(ctx, sortedSet(ids))
	page.Items = slices.DeleteFunc(page.Items, func(c ReplayedConversation) bool {
		return !slices.ContainsFunc(found, func(f Conversation) bool { return f.ID == c.ConversationID })
	})
	return page, err
}

// CancelReplay removes a replay that the caller began, and ends it if it is running. It needs rules.view.
func (d Rules) CancelReplay(ctx context.Context, id int64) error {
	if _, err := d.ReplayOf(ctx, id); err != nil {
		return err
	}
	begin, err := d.guard.Write(identity.RulesView)
	if err != nil {
		return err
	}
	return removeReplay(ctx, begin, id)
}

// removeReplay removes a replay with its conversations, in small transactions.
func removeReplay(ctx context.Context, begin guard.Begin[Tx], id int64) error {
	err := guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		return replayNoun().Rows(tx).Trim(ctx, id, pieceRows)
	})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error { return replayNoun().Rows(tx).Delete(ctx, id) })
}

// pruneReplays removes old replays of an account, and all but the newest of each member.
func (s *Service) pruneReplays(ctx context.Context, scope Scope) error {
	all, err := replayNoun().Reader(s.cfg.Store.Within(scope)).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	begin := func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		return s.cfg.Store.InTx(ctx, scope, fn)
	}
	own := map[int64]int{} // newer ones, by member
	for _, p := range slices.Backward(all) {
		if own[p.UserID]++; own[p.UserID] <= ownReplays && p.CreatedAt.After(s.now().Add(-keepReplays)) {
			continue
		}
		if err := removeReplay(ctx, begin, p.ID); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// texts returns the texts of a change.
func (c RuleChange) texts() []string { return slices.Concat([]string{c.Field}, c.From, c.To) }

// ruleParts are the fields of a row that say what a rule does when.
type ruleParts struct {
	on       *[]string
	after    *RuleAfter
	all, any *[]rules.Condition
	actions  *[]rules.Action
	stop     *bool
}

// ruleColumns declares the columns that say when a rule acts, and what it does.
func ruleColumns[T any](of func(*T) ruleParts) (on, does []storage.Column[T]) {
	on = []storage.Column[T]{
		{Name: "listens", Field: func(t *T) any { return storage.Texts(of(t).on) }},
		{Name: "since", Field: func(t *T) any { return (*string)(&of(t).after.Since) }},
		{Name: "hours", Field: func(t *T) any { return &of(t).after.Hours }},
		{Name: "calendar_id", Field: func(t *T) any { return &of(t).after.CalendarID }}, // see Rule.EachID
	}
	does = []storage.Column[T]{
		{Name: "match_all", Field: func(t *T) any { return storage.Objects(of(t).all, conditionTexts) }},
		{Name: "match_any", Field: func(t *T) any { return storage.Objects(of(t).any, conditionTexts) }},
		{Name: "actions", Field: func(t *T) any { return storage.Objects(of(t).actions, actionParts) }},
		{Name: "stop", Field: func(t *T) any { return of(t).stop }},
	}
	return on, does
}

// conditionFields returns the names of the fields that the conditions of a rule are about.
func conditionFields(r Rule) map[string]bool {
	fields := map[string]bool{}
	for _, list := range [][]rules.Condition{r.All, r.Any} {
		for _, c := range list {
			fields[c.Field] = true
		}
	}
	return fields
}
