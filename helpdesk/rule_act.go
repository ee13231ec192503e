package helpdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ruleCause is the rule that changes something in a transaction.
type ruleCause struct {
	version int
	runID   int64
}

// explain adds the rule's version and run to the data of an event.
func (c *ruleCause) explain(e storage.Event) storage.Event {
	return withReason(e, map[string]int64{"rule_version": int64(c.version), "rule_run_id": c.runID})
}

// withReason adds numbers that say why to the data of an event.
func withReason(e storage.Event, why map[string]int64) storage.Event {
	data := map[string]json.RawMessage{}
	if json.Unmarshal(e.Data, &data) != nil {
		return e
	}
	for name, n := range why {
		data[name] = json.RawMessage(strconv.FormatInt(n, 10))
	}
	e.Data, _ = json.Marshal(data) // came from JSON
	return e
}

// onceEach returns events without further ones of a type about the same resource: the actions of a rule are one change.
func onceEach(all []heldEvent) []heldEvent {
	type about struct {
		kind    string
		subject int64
		mailbox int64
	}
	seen := map[about]bool{}
	return slices.DeleteFunc(all, func(h heldEvent) bool {
		key := about{h.Type, h.Subject, h.MailboxID}
		again := seen[key]
		seen[key] = true
		return again
	})
}

// rulePass runs the rules at the events of an operation.
type rulePass struct {
	svc            *Service
	accountID      int64
	conversationID int64
	in             toRun
	ready          compiledRules
	makers         map[int64]*desk // of rules, by user; nil: no longer a member
	failed         map[ruleAt]string
	trial          *RuleTrial // of a test; nil: it is none
	occasion       occasion   // of a test
}

// ruleAt is a rule at an event.
type ruleAt struct{ ruleID, eventID int64 }

// unknownMaker is the error of a pass that needs the desk of a member.
type unknownMaker int64

// Error implements error.
func (u unknownMaker) Error() string {
	return fmt.Sprintf("helpdesk: member %d is not known yet", int64(u))
}

// ruleFailure is the error of a pass in which a rule cannot do what it is to do: nothing of it must stay.
type ruleFailure struct {
	at     ruleAt
	reason string
}

// Error implements error.
func (f *ruleFailure) Error() string { return "helpdesk: rule failed: " + f.reason }

// maxFailedRules limits how many rules are tried in vain at an event, as each takes a transaction.
const maxFailedRules = 20

// RunRules runs a [JobRules] job: at an operation on a conversation, each rule that listens to one of its events runs once,
// in the order of positions, over the state that the former ones left. All that they change is one transaction, with a note
// of it: running the job again does nothing. A rule whose maker could no longer make it is switched off. One that cannot do
// all of what it is to do does nothing, and its run says why. A rule whose time has passed runs alone, once for each moment.
// Events that rules cause run rules again, up to [MaxRuleDepth] times, and no rule twice in a row of such events.
func (j Jobs) RunRules(ctx context.Context, job storage.ClaimedJob) error {
	p := &rulePass{svc: j.svc, accountID: job.AccountID, conversationID: job.Subject}
	if err := json.Unmarshal(job.Payload, &p.in); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	var err error
	if p.ready, err = j.svc.compiledRules(ctx, j.svc.cfg.Store.Within(Scope{AccountID: job.AccountID}), job.AccountID); err != nil {
		return ignoreMissing(err)
	}
	err = p.runAll(ctx)
	if fault.Is(err, fault.NotFound) || isUnique(err, UniqueRulePass, UniqueRuleRun) {
		return nil // the conversation or the account is gone, or the job ran before
	}
	return err
}

// runAll runs the pass in a transaction, which begins again when a rule fails.
func (p *rulePass) runAll(ctx context.Context) error {
	p.makers, p.failed = map[int64]*desk{}, map[ruleAt]string{}
	for {
		err := p.svc.cfg.Store.InSystemTx(ctx, p.inTx)
		if maker, unknown := errors.AsType[unknownMaker](err); unknown {
			if err := p.know(ctx, int64(maker)); err != nil {
				return err
			}
			continue
		}
		if failure, failed := errors.AsType[*ruleFailure](err); failed {
			p.failed[failure.at] = failure.reason
			continue
		}
		return err
	}
}

// know opens the desk of a member who made a rule.
func (p *rulePass) know(ctx context.Context, userID int64) error {
	if userID == 0 {
		scope := Scope{AccountID: p.accountID}
		p.makers[0] = &desk{svc: p.svc, guard: p.svc.scoped(scope, func(identity.Permission) bool { return true }), scope: scope}
		return nil
	}
	maker, err := p.svc.Desk(ctx, p.svc.As(userID), p.accountID)
	if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
		p.makers[userID] = nil
		return nil
	}
	if err != nil {
		return err
	}
	p.makers[userID] = &maker.desk
	return nil
}

// errTried ends the transaction of a test.
var errTried = errors.New("helpdesk: tried")

func (p *rulePass) inTx(ctx context.Context, system SystemTx) error {
	tx := system.Within(Scope{AccountID: p.accountID})
	c, err := tx.Conversations().Lock(ctx, p.conversationID)
	if err != nil {
		return err
	}
	if p.trial != nil {
		if _, err := p.runAt(ctx, system, tx, p.occasion, c); err != nil {
			return err
		}
		return errTried
	}
	if p.in.Timed != nil {
		return p.runTimed(ctx, system, tx, c)
	}
	events, err := p.newEvents(ctx, tx)
	if err != nil || len(events) == 0 {
		return err
	}
	pass := RulePass{EventID: events[0].Seq, LastID: events[len(events)-1].Seq, ConversationID: c.ID, CreatedAt: p.svc.now()}
	if err := rulePassNoun().Rows(tx).Insert(ctx, &pass); err != nil {
		return err
	}
	chain := ruleChain{Depth: p.in.Chain.Depth + 1, Rules: slices.Clone(p.in.Chain.Rules)}
	for _, o := range occasionsOf(events) {
		acted, err := p.runAt(ctx, system, tx, o, c)
		if err != nil {
			return err
		}
		chain.Rules = append(chain.Rules, acted...)
		if c, err = tx.Conversations().Get(ctx, c.ID); err != nil {
			return err
		}
	}
	if record := recordOf(tx); record != nil {
		record.chain = chain
	}
	return nil
}

// recordOf returns the record of a transaction.
func recordOf(tx Tx) *record {
	switch tx := tx.(type) {
	case recording:
		return tx.record
	case byMail:
		return recordOf(tx.Tx)
	case auditing:
		return recordOf(tx.Tx)
	}
	return nil
}

// rulesLookBack is how many events of a conversation are looked through for those of an operation.
const rulesLookBack = 500

// newEvents returns the events of the operation at which the rules have not run yet, in order.
func (p *rulePass) newEvents(ctx context.Context, tx Tx) ([]storage.Event, error) {
	found, err := tx.Events(ctx, subscription.EventFilter{ConversationIDs: []int64{p.conversationID}}, storage.Seek{Desc: true, Limit: rulesLookBack})
	if err != nil {
		return nil, err
	}
	passes, err := rulePassNoun().Rows(tx).List(ctx, RulePassFilter{p.conversationID}, storage.Seek{Desc: true, Limit: rulesLookBack})
	if err != nil {
		return nil, err
	}
	events := slices.DeleteFunc(found, func(e storage.Event) bool {
		ran := func(pass RulePass) bool { return pass.EventID <= e.Seq && e.Seq <= pass.LastID }
		return !e.Time.Equal(p.in.At) || slices.ContainsFunc(passes, ran)
	})
	slices.Reverse(events)
	return events, nil
}

// runAt runs the rules at an occasion, and returns those that changed something.
func (p *rulePass) runAt(ctx context.Context, system SystemTx, tx Tx, o occasion, c Conversation) (acted []int64, err error) {
	facts, err := p.svc.factsOf(ctx, tx.Reader(), p.ready, o, c)
	if err != nil {
		return nil, err
	}
	set := p.ready.set
	for r := set.Next(nil, o.events, c.MailboxID); r != nil; r = set.Next(r, o.events, c.MailboxID) {
		if p.trial != nil {
			p.trial.Conditions = r.Conditions(facts)
		}
		if !r.Matches(facts) {
			continue
		}
		kind, seq := o.heard(r.On)
		run := RuleRun{
			RuleID: r.ID, Version: int(r.Version), EventID: seq, Event: kind, ConversationID: c.ID, Dry: r.Dry,
			Chain: p.in.Chain.Rules, Conditions: r.Conditions(facts), CreatedAt: p.svc.now(),
		}
		if err := p.runOne(ctx, system, tx, r, o, c, facts, &run); err != nil {
			return nil, err
		}
		if run.Outcome == RunChanged && !r.Dry {
			acted = append(acted, r.ID)
			if c, err = tx.Conversations().Get(ctx, c.ID); err != nil {
				return nil, err
			}
			if err := setConversationFacts(ctx, tx.Reader(), p.ready.fields, facts, c); err != nil {
				return nil, err
			}
		}
		if r.Stop && !r.Dry && (run.Outcome == RunChanged || run.Outcome == RunNothing) {
			break
		}
	}
	return acted, nil
}

// heard returns the first event of the occasion that a rule listens to, with its Seq, 0 in a test.
func (o occasion) heard(on []string) (kind string, seq int64) {
	for i, e := range o.events {
		if slices.Contains(on, e) && i < len(o.seqs) {
			return e, o.seqs[i]
		}
	}
	return o.events[0], 0
}

// runOne runs a rule whose conditions hold, and notes its run.
func (p *rulePass) runOne(ctx context.Context, system SystemTx, tx Tx, r *rules.Compiled, o occasion, c Conversation, facts *rules.Facts, run *RuleRun) error {
	rule := p.ready.rules[r.ID]
	maker, known := p.makers[rule.UserID]
	if !known {
		return unknownMaker(rule.UserID)
	}
	if maker == nil || p.trial == nil && rule.UserID != 0 && maker.mayHaveRule(rule) != nil {
		return p.switchOff(ctx, tx, rule)
	}
	plan := rules.PlanOf(facts, r.Actions, p.svc.now())
	failed, failing := p.failed[ruleAt{r.ID, o.first}]
	switch {
	case failing:
		run.Outcome, run.Reason = RunFailed, failed
	case maker.scope.Mailboxes != nil && !slices.Contains(maker.scope.Mailboxes, c.MailboxID):
		run.Outcome, run.Reason = RunSkipped, "The member who made the rule does not reach the mailbox."
	case slices.Contains(p.in.Chain.Rules, r.ID):
		run.Outcome, run.Reason = RunSkipped, "The rule has led to this event itself: "+p.chainNames(ctx, tx, r.ID)+"."
	case p.in.Chain.Depth >= MaxRuleDepth:
		run.Outcome, run.Reason = RunFailed, fmt.Sprintf("Rules have led to this event %d times in a row: %s.", MaxRuleDepth, p.chainNames(ctx, tx, r.ID))
	case plan.Nothing():
		run.Outcome = RunNothing
	case r.Dry:
		run.Outcome, run.Changes, run.Actions = RunChanged, toldChanges(plan.Changes, p.ready), actionTexts(plan.Does)
	case len(p.failed) >= maxFailedRules:
		run.Outcome, run.Reason = RunFailed, "Too many rules have failed at this event before it."
	default:
		return p.actOn(ctx, system, tx, r, o, c, plan, maker, run)
	}
	return p.noteRun(ctx, tx, run)
}

// noteRun stores a finished run.
func (p *rulePass) noteRun(ctx context.Context, tx Tx, run *RuleRun) error {
	if p.trial != nil {
		p.trial.Outcome, p.trial.Reason, p.trial.Changes, p.trial.Actions = run.Outcome, run.Reason, run.Changes, run.Actions
		return nil
	}
	if run.ID != 0 {
		return ruleRunNoun().Rows(tx).Update(ctx, run)
	}
	return ruleRunNoun().Rows(tx).Insert(ctx, run)
}

// chainNames names the rules of the chain, and the one that it stops at.
func (p *rulePass) chainNames(ctx context.Context, tx Tx, last int64) string {
	var names []string
	for _, id := range append(slices.Clone(p.in.Chain.Rules), last) {
		r, known := p.ready.rules[id]
		if !known {
			r, _ = ruleNoun().Rows(tx).Get(ctx, id) // it may be gone
		}
		names = append(names, "“"+r.Name+"”")
	}
	return strings.Join(names, " → ")
}

// switchOff switches off a rule whose maker could no longer make it, unless it was changed meanwhile.
func (p *rulePass) switchOff(ctx context.Context, tx Tx, rule Rule) error {
	if p.trial != nil {
		p.trial.Outcome, p.trial.Reason = RunSkipped, "The member who made the rule is gone, or may no longer do what it does."
		return nil
	}
	if err := tx.LockAccount(ctx); err != nil {
		return err
	}
	now, err := ruleNoun().Rows(tx).Lock(ctx, rule.ID)
	if fault.Is(err, fault.NotFound) || err == nil && (now.Version != rule.Version || now.State == RuleOff) {
		return nil
	}
	if err != nil {
		return err
	}
	now.State, now.Reason, now.Version, now.UpdatedAt = RuleOff, RuleOrphaned, now.Version+1, p.svc.now()
	if err := ruleNoun().Rows(tx).Update(ctx, &now); err != nil {
		return err
	}
	all, err := allRules(ctx, tx.Reader())
	if err != nil {
		return err
	}
	if err := p.svc.saveRuleSet(ctx, tx, all); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{Type: "rule.updated", Subject: rule.ID, Data: eventData(rule.ID), Time: now.UpdatedAt})
}

// actOn does what a rule plans, as one change with the rule as its actor.
func (p *rulePass) actOn(ctx context.Context, system SystemTx, tx Tx, r *rules.Compiled, o occasion, c Conversation, plan rules.Plan, maker *desk, run *RuleRun) error {
	if p.trial == nil {
		run.Outcome = RunChanged
		if err := ruleRunNoun().Rows(tx).Insert(ctx, run); err != nil {
			return err
		}
	}
	if err := endOperation(ctx, tx); err != nil {
		return err
	}
	record := recordOf(tx)
	if record == nil {
		return fault.New(fault.Internal, "Rules run in recorded transactions only.")
	}
	record.cause = &ruleCause{run.Version, run.ID}
	desk := *maker
	desk.userID = 0 // the rule is the actor
	a := &ruleActs{desk: &desk, tx: actAs(system.Within(maker.scope), subscription.Actor{Type: subscription.ActorRule, ID: r.ID}), o: o, run: run, makerID: maker.userID}
	err := a.carryOut(ctx, c.ID, plan)
	if reason, can := refused(err); can {
		return &ruleFailure{ruleAt{r.ID, o.first}, reason}
	}
	if err != nil {
		return err
	}
	if err := record.readFields(ctx); err != nil {
		return err
	}
	changes := map[string]rules.Change{}
	for field, change := range record.conversationDifferences(c.ID) {
		changes[field] = plainChange(change)
	}
	run.Changes, run.Actions, run.Reason = toldChanges(changes, p.ready), a.done, strings.Join(a.left, " ")
	if run.Outcome = RunChanged; len(run.Changes)+len(run.Actions) == 0 {
		run.Outcome = RunNothing
	}
	if err := endOperation(ctx, tx); err != nil {
		return err
	}
	record.cause = nil
	return p.noteRun(ctx, tx, run)
}

// refused returns why something cannot be done, if it is not the system's failure.
func refused(err error) (reason string, is bool) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || !slices.Contains([]fault.Kind{fault.Invalid, fault.Forbidden, fault.NotFound, fault.Conflict, fault.TooLarge, fault.Disabled}, f.Kind) {
		return "", false
	}
	if len(f.Fields) == 0 {
		return f.Error(), true
	}
	var all []string
	for _, field := range slices.Sorted(maps.Keys(f.Fields)) {
		all = append(all, field+" "+strings.Join(f.Fields[field], ", "))
	}
	return strings.Join(all, "; "), true
}

// toldChanges returns changes in order. What people wrote is not told: runs outlive its erasure.
func toldChanges(all map[string]rules.Change, ready compiledRules) []RuleChange {
	vocabulary := ruleVocabulary(ready.fields)
	var told []RuleChange
	for _, field := range slices.Sorted(maps.Keys(all)) {
		c := RuleChange{Field: field}
		if f, known := vocabulary.Field(field); known && f.Told {
			c.From, c.To = all[field].From, all[field].To
		}
		told = append(told, c)
	}
	return told
}

func actionTexts(all []rules.Action) []string {
	var texts []string
	for _, a := range all {
		texts = append(texts, string(a.Type))
	}
	return texts
}

// Test returns what a rule would do to a conversation now, at an event of a type, whether it is switched on or not, and
// changes nothing: it acts, and all is rolled back. At an event of an interaction, that is the conversation's last one that
// a person wrote; the event is taken to have changed nothing. It needs rules.view and conversations.view.
func (d Rules) Test(ctx context.Context, ruleID, conversationID int64, event string) (RuleTrial, error) {
	if _, err := d.guard.Read(identity.RulesView); err != nil {
		return RuleTrial{}, err
	}
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return RuleTrial{}, err
	}
	rule, err := ruleNoun().Reader(r).Get(ctx, ruleID)
	if err != nil {
		return RuleTrial{}, err
	}
	if event == "" && len(rule.On) > 0 {
		event = rule.On[0]
	}
	if event != RuleTime && !slices.Contains(RuleEvents(), event) {
		return RuleTrial{}, fault.Field("event", "is not an event that rules listen to")
	}
	if _, err := r.Conversations().Get(ctx, conversationID); err != nil {
		return RuleTrial{}, err
	}
	o := occasion{events: []string{event}, at: d.svc.now()}
	if areaOf(event) == "interaction" || event == "conversation.created" || event == RuleTime {
		if o.interactionID, err = lastWritten(ctx, r, conversationID); err != nil {
			return RuleTrial{}, err
		}
	}
	return d.svc.tryRule(ctx, d.scope.AccountID, conversationID, rule, o)
}

// lastWritten returns the last interaction of a conversation that a person wrote; 0 if there is none among the newest.
func lastWritten(ctx context.Context, r Reader, conversationID int64) (int64, error) {
	found, err := r.Interactions().List(ctx, InteractionFilter{ConversationID: conversationID, Brief: true}, storage.Seek{Desc: true, Limit: recentForTest})
	for _, i := range found {
		if i.Source != SourceAuto {
			return i.ID, err
		}
	}
	return 0, err
}

// recentForTest is how many interactions of a conversation are looked through for one that a person wrote.
const recentForTest = 100

func (s *Service) tryRule(ctx context.Context, accountID, conversationID int64, rule Rule, o occasion) (RuleTrial, error) {
	fields, err := allFields(ctx, s.cfg.Store.Within(Scope{AccountID: accountID}))
	if err != nil {
		return RuleTrial{}, err
	}
	one := rule.plain()
	one.On, one.Dry = o.events, false
	p := &rulePass{
		svc: s, accountID: accountID, conversationID: conversationID, trial: &RuleTrial{}, occasion: o,
		ready: compiledRules{set: rules.Compile(ruleVocabulary(fields), []rules.Rule{one}), rules: map[int64]Rule{rule.ID: rule}, fields: fields},
	}
	if err = p.runAll(ctx); errors.Is(err, errTried) {
		err = nil
	}
	return *p.trial, err
}
