package helpdesk

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// replayer asks a rule what it would have done.
type replayer struct {
	svc        *Service
	accountID  int64
	replay     RuleReplay
	rule       Rule
	mailboxes  []int64 // of the member who asks; nil: all
	vocabulary rules.Vocabulary
	ready      compiledRules // the rule alone
	asks       map[string]bool
	earlier    map[int64]Rule // that run before it
	calendars  []Calendar
	hours      *hours.Calendar // of a rule that listens to time
	first      int64           // Seq of the last event before those of the time
	last       int64           // Seq of the last one of them

	rewritten map[int64]map[string]int64 // Seq of the last event that changed what conditions know of a customer, by customer and field
	seen      map[int64]bool             // conversations
	stored    map[int64]bool             // conversations of a former attempt
	lost      map[string]bool
}

// ReplayRule runs a [JobReplay] job: it goes through the events of the time, and looks at each conversation in which one of them
// happened. It is idempotent: after a crash it begins anew.
func (j Jobs) ReplayRule(ctx context.Context, job storage.ClaimedJob) error {
	p := &replayer{svc: j.svc, accountID: job.AccountID, seen: map[int64]bool{}, stored: map[int64]bool{}, lost: map[string]bool{}}
	var err error
	if p.replay, err = replayNoun().Reader(p.reader()).Get(ctx, job.Subject); err != nil || p.replay.State != ReplayRunning {
		return ignoreMissing(err)
	}
	p.replay.Percent, p.replay.Examined, p.replay.Changed, p.replay.Unknown, p.replay.Gone = 0, 0, 0, 0, 0
	if err = p.prepare(ctx); err == nil {
		err = p.walk(ctx)
	}
	if isUnique(err, UniqueReplayed) {
		return err // another attempt is at it, and this one begins anew
	}
	p.replay.State, p.replay.Percent, p.replay.FinishedAt = ReplayDone, 100, p.svc.now()
	if reason, is := refused(err); is && !fault.Is(err, fault.NotFound) {
		p.replay.State, p.replay.Reason, err = ReplayFailed, reason, nil
	}
	if err == nil {
		err = p.save(ctx)
	}
	if err == nil {
		err = j.svc.pruneReplays(ctx, Scope{AccountID: job.AccountID})
	}
	return ignoreMissing(err) // the replay or the account is gone
}

func (p *replayer) reader() Reader { return p.svc.cfg.Store.Within(Scope{AccountID: p.accountID}) }

// prepare reads what the rule may ask about, and where the time begins and ends in the log.
func (p *replayer) prepare(ctx context.Context) error {
	if err := p.findMailboxes(ctx); err != nil {
		return err
	}
	p.rule = p.replay.Rule()
	r, rule := p.reader(), p.rule
	fields, err := allFields(ctx, r)
	if err != nil {
		return err
	}
	p.vocabulary = ruleVocabulary(fields)
	p.ready = compiledRules{set: rules.Compile(p.vocabulary, []rules.Rule{rule.plain()}), rules: map[int64]Rule{rule.ID: rule}, fields: fields}
	p.asks = conditionFields(rule)
	all, err := allRules(ctx, r)
	if err != nil {
		return err
	}
	p.earlier = map[int64]Rule{}
	for _, other := range all {
		if other.ID != rule.ID && (rule.Position == 0 || other.Position < rule.Position) {
			p.earlier[other.ID] = other
		}
	}
	if p.calendars, err = calendarNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit}); err != nil {
		return err
	}
	if p.hours, err = rule.After.hoursOf(ctx, r); err != nil {
		return err
	}
	if err := p.findTime(ctx, r); err != nil {
		return err
	}
	if err := p.readRewritten(ctx, r); err != nil {
		return err
	}
	return p.readStored(ctx, r)
}

// findMailboxes finds the mailboxes in which the member may let rules act now.
func (p *replayer) findMailboxes(ctx context.Context) error {
	if p.replay.UserID == 0 {
		return nil
	}
	d, err := p.svc.Desk(ctx, p.svc.As(p.replay.UserID), p.accountID)
	if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
		return fault.New(fault.Forbidden, "The member who asked has left the account.")
	}
	if err != nil {
		return err
	}
	if !d.guard.Allows(identity.RulesView) {
		return fault.New(fault.Forbidden, "The member who asked may no longer view rules.")
	}
	p.mailboxes = d.scope.Mailboxes
	return nil
}

// findTime finds the events that may make the rule act in the time.
func (p *replayer) findTime(ctx context.Context, r Reader) (err error) {
	happened := func(at time.Time) (time.Time, bool) { return at, true }
	if rule := p.rule; rule.timed() {
		happened = func(at time.Time) (time.Time, bool) { return rule.After.Due(at, p.hours) }
	}
	p.first, err = lastEvent(ctx, r, func(at time.Time) bool { acts, ever := happened(at); return ever && acts.Before(p.replay.From) })
	if err != nil {
		return err
	}
	p.last, err = lastEvent(ctx, r, func(at time.Time) bool { acts, ever := happened(at); return ever && !acts.After(p.replay.To) })
	return err
}

// replayPage is how many events are read at a time.
const replayPage = 1000

// changedFacts returns what an event of a customer changed that rules know, as lose takes it.
func changedFacts(e storage.Event) []string {
	if e.Type != "customer.updated" { // merged or erased: conversations had another customer, or one of whom more was known
		return []string{rules.FieldCustomer, "customer.", "company."}
	}
	known := map[string][]string{
		"emails": {rules.FieldCustomerEmail}, "note": {rules.FieldCustomerNote}, "company": {rules.FieldCustomerCompany, "company."},
		"first_name": {rules.FieldCustomerName, rules.FieldCustomerFirstName},
		"last_name":  {rules.FieldCustomerName, rules.FieldCustomerLastName},
	}
	var names []string
	for field := range subscription.ChangedBy(e).Changes {
		if names = append(names, known[field]...); strings.HasPrefix(field, rules.PrefixField) {
			names = append(names, "customer."+field)
		}
	}
	return names
}

// readRewritten finds what has changed since about customers, as far as the rule asks about it: events say only that it has.
func (p *replayer) readRewritten(ctx context.Context, r Reader) error {
	p.rewritten = map[int64]map[string]int64{}
	if !p.asksAbout(aboutCustomer) {
		return nil
	}
	filter := subscription.EventFilter{Types: []string{"customer.updated", "customer.merged", "customer.erased"}}
	list := func(seek storage.Seek) ([]storage.Event, error) {
		if seek.From == nil {
			seek.From = &storage.Position{ID: p.first}
		}
		return r.Events(ctx, filter, seek)
	}
	return each(list, func(e storage.Event) int64 { return e.Seq }, func(e storage.Event) error {
		for _, name := range changedFacts(e) {
			if !p.asksAbout(func(field string) bool { return means(name, field) }) {
				continue
			}
			if p.rewritten[e.Subject] == nil {
				p.rewritten[e.Subject] = map[string]int64{}
			}
			p.rewritten[e.Subject][name] = e.Seq
		}
		return nil
	})
}

// aboutCustomer reports whether a field of conditions is about the customer or the company.
func aboutCustomer(field string) bool {
	return field == rules.FieldCustomer || strings.HasPrefix(field, "customer.") || strings.HasPrefix(field, "company.")
}

// readStored finds what a former attempt has stored.
func (p *replayer) readStored(ctx context.Context, r Reader) error {
	list := func(seek storage.Seek) ([]ReplayedConversation, error) {
		return replayedNoun().Reader(r).List(ctx, ReplayedFilter{ReplayID: p.replay.ID}, seek)
	}
	return each(list, func(c ReplayedConversation) int64 { return c.ID }, func(c ReplayedConversation) error {
		p.stored[c.ConversationID] = true
		return nil
	})
}

// rulesReplayBatch is how many conversations are read together.
const rulesReplayBatch = 100

// walk looks at the conversations in the order in which something happened in them that the rule listens to.
func (p *replayer) walk(ctx context.Context) error {
	types := p.rule.On
	if p.rule.timed() {
		types = p.rule.After.Since.types()
	}
	for at := p.first; at < p.last; {
		events, err := p.reader().Events(ctx, subscription.EventFilter{Types: types}, storage.Seek{From: &storage.Position{ID: at}, Limit: replayPage})
		if err != nil {
			return err
		}
		var ids []int64
		for _, e := range events {
			if at = e.Seq; e.Seq <= p.last && e.ConversationID != 0 && !p.seen[e.ConversationID] {
				p.seen[e.ConversationID] = true
				ids = append(ids, e.ConversationID)
			}
		}
		if len(events) < replayPage {
			at = p.last
		}
		p.replay.Percent = int(min(99, 100*(at-p.first)/max(1, p.last-p.first)))
		for batch := range slices.Chunk(ids, rulesReplayBatch) {
			if err := p.lookAt(ctx, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAt looks at some conversations, and stores those that the rule would have changed. Too many events are halved.
func (p *replayer) lookAt(ctx context.Context, ids []int64) error {
	var found []*ReplayedConversation
	small := true
	err := p.svc.cfg.Store.InSnapshot(ctx, Scope{AccountID: p.accountID}, func(ctx context.Context, r Reader) (err error) {
		reader := &pastReader{
			r: r, fields: p.ready.fields, from: p.readFrom(),
			messages: p.readsMessages(), bodies: p.asks[rules.FieldInteractionBody], customers: p.asksAbout(aboutCustomer),
		}
		var all []conversationPast
		var gone int
		if all, gone, small, err = reader.read(ctx, ids); err != nil || !small {
			return err
		}
		p.replay.Gone += gone
		for _, one := range all {
			if c := p.ask(reader, one); c != nil && !p.stored[c.ConversationID] {
				found = append(found, c)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !small && len(ids) == 1 {
		p.replay.Examined++
		p.replay.Unknown++
		return nil
	}
	if !small {
		half := len(ids) / 2
		if err := p.lookAt(ctx, ids[:half]); err != nil {
			return err
		}
		return p.lookAt(ctx, ids[half:])
	}
	return p.save(ctx, found...)
}

// readFrom returns the Seq of the last event before those that are read: whether the customer waits may depend on all of them.
func (p *replayer) readFrom() int64 {
	if p.asks[rules.FieldAwaiting] {
		return 0
	}
	return p.first
}

func (p *replayer) asksAbout(kind func(field string) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(p.asks)), kind)
}

// readsMessages reports whether interactions are to be read.
func (p *replayer) readsMessages() bool {
	since := p.rule.After.Since
	return since == SinceCustomerWrote || since == SinceWeWrote ||
		p.asksAbout(func(field string) bool {
			return field == rules.FieldAwaiting || strings.HasPrefix(field, "interaction.")
		})
}

// save stores what was found, and how far the replay is, unless it was removed.
func (p *replayer) save(ctx context.Context, found ...*ReplayedConversation) error {
	p.replay.Lost = slices.Sorted(maps.Keys(p.lost))
	return p.svc.cfg.Store.InTx(ctx, Scope{AccountID: p.accountID}, func(ctx context.Context, tx Tx) error {
		if _, err := replayNoun().Rows(tx).Lock(ctx, p.replay.ID); err != nil {
			return err
		}
		if len(found) > 0 {
			if err := replayedNoun().Rows(tx).Insert(ctx, found...); err != nil {
				return err
			}
		}
		return replayNoun().Rows(tx).Update(ctx, &p.replay)
	})
}

// answer is what a rule would have done at an occasion. The zero value: nothing.
type answer struct {
	would bool
	plan  rules.Plan
	lost  []string // fields on which it depends
}

// ask returns what the rule would have done first in a conversation, nil for nothing.
func (p *replayer) ask(reader *pastReader, c conversationPast) *ReplayedConversation {
	each := c.occasions
	if p.rule.timed() {
		each = c.dueTimes
	}
	examined := false
	lost := map[string]bool{}
	for o := range each(p, reader) {
		examined = true
		a := p.answerAt(reader, c, o)
		for _, field := range a.lost {
			lost[field] = true
		}
		if a.would {
			p.replay.Examined++
			p.replay.Changed++
			return &ReplayedConversation{
				ReplayID: p.replay.ID, ConversationID: c.id, EventID: o.heard, Event: o.kind, At: o.at, Changes: toldChanges(a.plan.Changes, p.ready),
				Actions: actionTexts(a.plan.Does), Others: o.others, CreatedAt: p.svc.now(),
			}
		}
	}
	if examined {
		p.replay.Examined++
	}
	if len(lost) > 0 {
		p.replay.Unknown++
		maps.Copy(p.lost, lost)
	}
	return nil
}

// answerAt asks the rule at an occasion.
func (p *replayer) answerAt(reader *pastReader, c conversationPast, o pastOccasion) answer {
	mailbox, err := strconv.ParseInt(o.state.first(rules.FieldMailbox), 10, 64)
	if err != nil || p.mailboxes != nil && !slices.Contains(p.mailboxes, mailbox) {
		return answer{}
	}
	rule := p.ready.set.Next(nil, o.events, mailbox)
	if rule == nil {
		return answer{}
	}
	facts := rules.NewFacts(o.state.values, o.changes)
	for field := range o.state.lost {
		facts.Lose(field)
	}
	if p.asksAbout(aboutCustomer) {
		reader.setCustomer(facts, p.vocabulary, o, p.rewritten)
	}
	if p.asksAbout(func(field string) bool { return means("rating.", field) }) {
		c.setRating(facts, p.vocabulary, o)
	}
	if p.asks[rules.FieldInsideHours] {
		setHoursFacts(facts, p.calendars, o.at)
	}
	if o.interactionID != 0 && reader.messages {
		reader.setMessage(facts, p.vocabulary, o, c.rewritten[o.interactionID])
	}
	if lost := rule.Undecided(facts); len(lost) > 0 {
		return answer{lost: lost}
	}
	if !rule.Matches(facts) {
		return answer{}
	}
	plan := rules.PlanOf(facts, rule.Actions, o.at)
	switch {
	case plan.Nothing() || p.lacksFields(facts, plan):
		return answer{}
	case !plan.Certain(facts):
		return answer{lost: slices.Sorted(maps.Keys(plan.Changes))}
	}
	return answer{would: true, plan: plan}
}

// lacksFields reports whether the plan closes a conversation without a field that is required for that.
func (p *replayer) lacksFields(facts *rules.Facts, plan rules.Plan) bool {
	to, changes := plan.To(rules.FieldStatus)
	if !changes || !slices.Equal(to, []string{string(StatusClosed)}) {
		return false
	}
	return slices.ContainsFunc(p.ready.fields, func(f Field) bool {
		values, set := plan.To(rules.PrefixField + f.Key)
		if !set {
			values, _ = facts.Values(rules.PrefixField + f.Key)
		}
		return f.RequiredToClose && f.AppliesTo == FieldOfConversation && len(values) == 0
	})
}
