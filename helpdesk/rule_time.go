package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// RuleTime is what a rule listens to that acts when time has passed, see [RuleAfter]. Such a rule listens to nothing else.
const RuleTime = "time"

// RuleSince is the moment from which the time of a rule counts.
type RuleSince string

// The moments from which time counts: each time one of them comes again, the time begins anew.
const (
	SinceCreated       RuleSince = "created"
	SinceCustomerWrote RuleSince = "customer_wrote" // by hand, not by a machine
	SinceWeWrote       RuleSince = "we_wrote"       // a member replied
	SinceStatusChanged RuleSince = "status_changed" // also the status with which a conversation begins
	SinceAssigned      RuleSince = "assigned"       // to a user or a team, and not taken away since
)

// RuleSinces lists the moments from which time can count.
func RuleSinces() []RuleSince {
	return []RuleSince{SinceCreated, SinceCustomerWrote, SinceWeWrote, SinceStatusChanged, SinceAssigned}
}

// RuleAfter says when a rule that listens to [RuleTime] acts: once for each moment after which nothing of the same kind
// happened to the conversation for some hours. The moments are found in the log of events, so that the hours end before
// these are pruned.
type RuleAfter struct {
	Since      RuleSince
	Hours      int   // at least 1, at most [MaxRuleHours]
	CalendarID int64 // only its business hours count; 0: all hours
}

// MaxRuleHours is the maximum number of hours after which a rule acts.
const MaxRuleHours = 24 * 366

// Due returns the time at which the hours since a moment are over, with the business hours of the calendar; nil: all hours count.
// It is false if that is never, as the calendar is closed for too long.
func (a RuleAfter) Due(moment time.Time, calendar *hours.Calendar) (due time.Time, ever bool) {
	d := time.Duration(a.Hours) * time.Hour
	if calendar == nil {
		return moment.Add(d), true
	}
	due, err := calendar.Add(moment, d)
	return due, err == nil
}

// timed reports whether the rule acts when time has passed.
func (r Rule) timed() bool { return slices.Contains(r.On, RuleTime) }

// checkAfter adds problems for the time of a rule.
func (r *Rule) checkAfter(problems *fault.Collector, in storage.Opt[RuleAfter]) {
	if in.IsSet() {
		r.After = in.Or(RuleAfter{})
	}
	if !r.timed() {
		problems.Check(in.IsNull() || !in.IsSet() || r.After == RuleAfter{}, "after", "is only for rules that listen to time")
		r.After = RuleAfter{}
		return
	}
	problems.Check(len(r.On) == 1, "on", "must have nothing besides time")
	problems.Check(slices.Contains(RuleSinces(), r.After.Since), "after[since]", "must be created, customer_wrote, we_wrote, status_changed or assigned")
	problems.Check(r.After.Hours >= 1 && r.After.Hours <= MaxRuleHours, "after[hours]", fmt.Sprintf("must be 1 to %d hours", MaxRuleHours))
}

// hoursOf returns the business hours that count; nil: all hours do.
func (a RuleAfter) hoursOf(ctx context.Context, r Reader) (*hours.Calendar, error) {
	if a.CalendarID == 0 {
		return nil, nil //nolint:nilnil // all hours
	}
	calendar, err := calendarNoun().Reader(r).Get(ctx, a.CalendarID)
	if err != nil {
		return nil, err
	}
	return calendar.Hours()
}

// startClock lets a rule that begins to listen to time act on what becomes due from now on.
func (s *Service) startClock(ctx context.Context, tx Tx, r *Rule, old Rule, accountID int64) error {
	runs := func(r Rule) bool { return r.timed() && r.State != RuleOff }
	if !runs(*r) || runs(old) && old.After == r.After {
		return nil
	}
	calendar, err := r.After.hoursOf(ctx, tx.Reader())
	if err != nil {
		return err
	}
	now := s.now()
	if due, ever := r.After.Due(now, calendar); !ever || s.cfg.Retention.Events > 0 && due.Sub(now) > s.cfg.Retention.Events {
		return fault.Field("after[hours]", "must end before the events are deleted from the log")
	}
	if r.ClockSeq, err = lastDue(ctx, tx, r.After, calendar, now); err != nil {
		return err
	}
	r.ClockAt = nextTick(now, r.ClockAt)
	return s.enqueueTick(ctx, tx, *r, accountID)
}

// nextTick returns a time for the next look at the clock of a rule: another one than that of the former look.
func nextTick(at, former time.Time) time.Time {
	at = at.UTC().Truncate(time.Microsecond)
	if at.Equal(former) {
		at = at.Add(time.Microsecond)
	}
	return at
}

// tick is the payload of [JobRuleClock]: a look at the clock of a rule, of which only the one that the rule waits for counts.
type tick struct {
	At time.Time `json:"at"`
}

func (s *Service) enqueueTick(ctx context.Context, tx Tx, r Rule, accountID int64) error {
	payload, err := json.Marshal(tick{r.ClockAt})
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding a job", err)
	}
	return tx.Enqueue(ctx, storage.Job{Kind: JobRuleClock, AccountID: accountID, Subject: r.ID, Payload: payload, RunAt: r.ClockAt})
}

// lastDue returns the Seq of the last event after which the hours are over now.
func lastDue(ctx context.Context, tx Tx, after RuleAfter, calendar *hours.Calendar, now time.Time) (int64, error) {
	return lastEvent(ctx, tx.Reader(), func(at time.Time) bool {
		due, ever := after.Due(at, calendar)
		return ever && !due.After(now)
	})
}

// lastEvent returns the Seq of the last event whose time is in the past, which is true of all events before one that it is true of.
// It searches the log by halves: events follow each other in time.
func lastEvent(ctx context.Context, reader Reader, past func(at time.Time) bool) (int64, error) {
	var low int64
	high, err := reader.LastEvent(ctx)
	for err == nil && low < high {
		middle := low + (high-low+1)/2
		var found []storage.Event
		found, err = reader.Events(ctx, subscription.EventFilter{}, storage.Seek{From: &storage.Position{ID: middle - 1}, Limit: 1})
		switch {
		case err != nil:
		case len(found) == 0 || found[0].Seq > high:
			high = middle - 1
		case past(found[0].Time):
			low = found[0].Seq
		default:
			high = middle - 1
		}
	}
	return low, err
}

// clockPage is how many events a look at a clock reads.
const clockPage = 200

// clockRest is how long a clock waits for what else becomes due, as each look locks the account.
const clockRest = 5 * time.Second

// clockIdle is how long a clock waits at most: a calendar may change meanwhile.
const clockIdle = time.Hour

// TickRule runs a [JobRuleClock] job: it finds the moments in the log after which the hours of a rule are over, page by page, and
// enqueues a [JobRules] job for each. Subject 0 lets all rules of the account that listen to time begin anew, after an import.
func (j Jobs) TickRule(ctx context.Context, job storage.ClaimedJob) error {
	var in tick
	if job.Subject != 0 {
		if err := json.Unmarshal(job.Payload, &in); err != nil {
			return fault.Wrap(fault.Internal, "reading a job", err)
		}
	}
	err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil { // who orders rules writes them, too
			return err
		}
		if job.Subject == 0 {
			return j.svc.startClocks(ctx, tx, job.AccountID)
		}
		r, err := ruleNoun().Rows(tx).Lock(ctx, job.Subject)
		if err != nil || !r.timed() || r.State == RuleOff || !r.ClockAt.Equal(in.At) {
			return err // it was done before, or is no longer to be done
		}
		return j.svc.tickRule(ctx, tx, r, job.AccountID)
	})
	return ignoreMissing(err)
}

func (s *Service) startClocks(ctx context.Context, tx Tx, accountID int64) error {
	all, err := allRules(ctx, tx.Reader())
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := s.startClock(ctx, tx, &r, Rule{}, accountID); fault.Is(err, fault.Invalid) {
			continue // its events are gone before it could act
		} else if err != nil {
			return err
		}
		if err := ruleNoun().Rows(tx).Update(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

// tickRule hands out what is due of a rule, and enqueues the next look.
func (s *Service) tickRule(ctx context.Context, tx Tx, r Rule, accountID int64) error {
	calendar, err := r.After.hoursOf(ctx, tx.Reader())
	if err != nil {
		return err
	}
	seek := storage.Seek{From: &storage.Position{ID: r.ClockSeq}, Limit: clockPage}
	events, err := tx.Events(ctx, subscription.EventFilter{Types: r.After.Since.types()}, seek)
	if err != nil {
		return err
	}
	now := s.now()
	next := now.Add(clockIdle)
	if len(events) == clockPage {
		next = now
	}
	for i, e := range events {
		if due, ever := r.After.Due(e.Time, calendar); ever && due.After(now) {
			events = events[:i]
			if next = now.Add(clockIdle); due.Before(next) {
				next = due.Add(clockRest)
			}
			break
		}
		r.ClockSeq = e.Seq
	}
	moments, err := r.After.Since.moments(ctx, tx, events)
	if err != nil {
		return err
	}
	for _, e := range moments {
		payload, err := json.Marshal(toRun{At: e.Time, Timed: &timedRun{RuleID: r.ID, Seq: e.Seq, After: r.After}})
		if err != nil {
			return fault.Wrap(fault.Internal, "encoding a job", err)
		}
		if err := tx.Enqueue(ctx, storage.Job{Kind: JobRules, AccountID: accountID, Subject: e.ConversationID, Payload: payload}); err != nil {
			return err
		}
	}
	r.ClockAt = nextTick(next, r.ClockAt)
	if err := ruleNoun().Rows(tx).Update(ctx, &r); err != nil {
		return err
	}
	return s.enqueueTick(ctx, tx, r, accountID)
}

// types are the types of events with which a moment comes, or goes.
func (s RuleSince) types() []string {
	switch s {
	case SinceCreated:
		return []string{"conversation.created"}
	case SinceCustomerWrote:
		return []string{"interaction.created"}
	case SinceWeWrote:
		return []string{"interaction.created", "interaction.posted"}
	case SinceStatusChanged:
		return []string{
			"conversation.created", "conversation.updated", "conversation.closed", "conversation.paused", "conversation.reopened", "conversation.marked_spam",
			"conversation.cleared_spam",
		}
	case SinceAssigned:
		return []string{"conversation.created", "conversation.updated", "conversation.assigned", "conversation.unassigned"}
	}
	return nil
}

// moments returns those of some events that are moments of the kind.
func (s RuleSince) moments(ctx context.Context, tx Tx, events []storage.Event) ([]storage.Event, error) {
	said := map[int64]Interaction{}
	if s == SinceCustomerWrote || s == SinceWeWrote {
		var ids []int64
		for _, e := range events {
			ids = append(ids, e.Subject)
		}
		found, err := tx.Interactions().ByIDs(ctx, sortedSet(ids))
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			said[i.ID] = i
		}
	}
	return s.momentsOf(events, said), nil
}

// momentsOf returns those of some events that are moments of the kind, given their interactions if it is about these.
func (s RuleSince) momentsOf(events []storage.Event, said map[int64]Interaction) []storage.Event {
	is := func(storage.Event) bool { return true }
	changes := func(fields ...string) func(storage.Event) bool {
		return func(e storage.Event) bool {
			told := subscription.ChangedBy(e).Changes
			return slices.ContainsFunc(fields, func(f string) bool { _, changed := told[f]; return changed })
		}
	}
	switch s {
	case SinceStatusChanged:
		is = changes(rules.FieldStatus)
	case SinceAssigned:
		is = changes(rules.FieldUser, rules.FieldTeam)
	case SinceCustomerWrote:
		is = func(e storage.Event) bool { i := said[e.Subject]; return i.Type == TypeCustomer && !i.AutoSubmitted }
	case SinceWeWrote:
		is = func(e storage.Event) bool {
			i := said[e.Subject]
			return i.Type == TypeUser && i.Status == StatusPosted && !i.Scheduled() && !i.AutoSubmitted
		}
	case SinceCreated:
	}
	return slices.DeleteFunc(slices.Clone(events), func(e storage.Event) bool { return e.ConversationID == 0 || !is(e) })
}

// timedRun says at which moment a rule is to run whose hours are over.
type timedRun struct {
	RuleID int64     `json:"rule_id"`
	Seq    int64     `json:"seq"` // of the event
	After  RuleAfter `json:"after"`
}

// runTimed runs a rule whose hours are over, unless the moment came again or was taken back meanwhile, or the rule waits for
// something else now.
func (p *rulePass) runTimed(ctx context.Context, system SystemTx, tx Tx, c Conversation) error {
	t := p.in.Timed
	r, known := p.ready.rules[t.RuleID]
	if !known || !r.timed() || r.After != t.After || t.After.Since == SinceAssigned && c.UserID == 0 && c.TeamID == 0 {
		return nil
	}
	filter := subscription.EventFilter{ConversationIDs: []int64{c.ID}, Types: t.After.Since.types()}
	events, err := tx.Events(ctx, filter, storage.Seek{From: &storage.Position{ID: t.Seq - 1}, Limit: rulesLookBack})
	if err != nil {
		return err
	}
	moments, err := t.After.Since.moments(ctx, tx, events)
	if err != nil || len(moments) == 0 || moments[0].Seq != t.Seq || moments[len(moments)-1].Seq != t.Seq {
		return err
	}
	ran, err := ruleRunNoun().Rows(tx).List(ctx, RuleRunFilter{RuleID: r.ID, EventID: t.Seq}, storage.Seek{Limit: storage.NoLimit})
	if err != nil || slices.ContainsFunc(ran, func(run RuleRun) bool { return run.Event == RuleTime }) {
		return err
	}
	p.ready.set = rules.Compile(ruleVocabulary(p.ready.fields), []rules.Rule{r.plain()})
	o := occasion{first: t.Seq, events: []string{RuleTime}, seqs: []int64{t.Seq}, at: p.svc.now()}
	if areaOf(moments[0].Type) == "interaction" {
		o.interactionID = moments[0].Subject
	}
	acted, err := p.runAt(ctx, system, tx, o, c)
	if record := recordOf(tx); err == nil && record != nil {
		record.chain = ruleChain{Depth: 1, Rules: acted}
	}
	return err
}
