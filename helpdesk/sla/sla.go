// Package sla computes until when a conversation has to be answered and resolved. Its functions are pure: what is due is a
// function of a policy, a calendar and the moments that count, and they know no help desk, no store and no clock.
package sla

import (
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
)

// Kind is what a target is about.
type Kind string

// The kinds of targets, in the order in which [Track.Targets] has them.
const (
	FirstReply Kind = "first_reply" // a member answers the first time; there is one in a conversation
	NextReply  Kind = "next_reply"  // a member answers a later message
	Resolution Kind = "resolution"  // the conversation is closed
)

// Kinds lists the kinds of targets.
func Kinds() []Kind { return []Kind{FirstReply, NextReply, Resolution} }

// State of a target.
type State string

// The states of a target.
const (
	Running  State = "running"
	Paused   State = "paused"   // its time stands still
	Met      State = "met"      // in time
	Breached State = "breached" // not in time, whether it was done later or not
)

// Policy is what was promised. The zero value promises nothing.
type Policy struct {
	FirstReply, NextReply, Resolution time.Duration // in business hours; 0: no such target
	Pending, Snoozed                  bool          // whether time stands still in this standing
	DueSoon                           int           // percent of the time after which a target is due soon
}

// time returns what the policy promises of a kind.
func (p Policy) time(k Kind) time.Duration {
	switch k {
	case FirstReply:
		return p.FirstReply
	case NextReply:
		return p.NextReply
	case Resolution:
		return p.Resolution
	}
	return 0
}

// Status is what the time of a target depends on.
type Status string

// The statuses of a conversation.
const (
	Open    Status = "open"
	Pending Status = "pending"
	Closed  Status = "closed"
	Aside   Status = "aside" // a draft, or spam: time stands still, and nothing is met
)

// Standing is how a conversation stands.
type Standing struct {
	Status  Status `json:"status"`
	Snoozed bool   `json:"snoozed,omitempty"`
}

// Halts reports whether time stands still.
func (p Policy) Halts(s Standing) bool {
	switch s.Status {
	case Open:
		return s.Snoozed && p.Snoozed
	case Pending:
		return p.Pending || s.Snoozed && p.Snoozed
	case Closed, Aside:
	}
	return true
}

// MomentKind is what happened at a moment.
type MomentKind string

// What may happen.
const (
	Began    MomentKind = "began"    // the conversation began; it is the first moment
	Wrote    MomentKind = "wrote"    // the customer waits for an answer, since Moment.Since
	Withdrew MomentKind = "withdrew" // the question went away: nobody waits, and nobody answered
	Answered MomentKind = "answered" // a member answered; automatic replies are no moments
	Stood    MomentKind = "stood"    // it came to Moment.Standing: its status changed, it was snoozed, or it woke up
	Changed  MomentKind = "changed"  // Moment.Policy and Moment.Calendar hold from now on
	Passed   MomentKind = "passed"   // time passed
)

// Moment is a moment that counts.
type Moment struct {
	At       time.Time
	Kind     MomentKind
	Since    time.Time // of Wrote: when the oldest message came that nobody answered; zero: At
	Standing Standing  // of Stood
	Policy   Policy    // of Changed
	Calendar *hours.Calendar
}

// Target is something that has to be done in time.
type Target struct {
	Number     int       `json:"number"` // counts up in a conversation
	Kind       Kind      `json:"kind"`
	State      State     `json:"state"`
	StartedAt  time.Time `json:"started_at"`
	DueAt      time.Time `json:"due_at,omitzero"`      // zero while it is paused, and if the calendar never opens
	SoonAt     time.Time `json:"soon_at,omitzero"`     // since when it is due soon
	Seconds    int64     `json:"paused_seconds"`       // business time of its pauses that have ended
	WarnedAt   time.Time `json:"warned_at,omitzero"`   // when it became due soon
	MetAt      time.Time `json:"met_at,omitzero"`      // when it was done, in time or not
	BreachedAt time.Time `json:"breached_at,omitzero"` // when it was no longer in time
}

// Ended reports whether it was done.
func (t Target) Ended() bool { return !t.MetAt.IsZero() }

// pends reports whether its due time may still change.
func (t Target) pends() bool { return t.State == Running || t.State == Paused }

// OutcomeKind is what became of a target.
type OutcomeKind string

// The outcomes. Each comes once for a target.
const (
	BecameDueSoon  OutcomeKind = "due_soon"
	BecameBreached OutcomeKind = "breached"
	BecameMet      OutcomeKind = "met"
)

// Outcome is something that became of a target.
type Outcome struct {
	Kind   OutcomeKind
	Target Target
}

// Stretch is a standing since a time.
type Stretch struct {
	From time.Time `json:"from"`
	Standing
}

// maxStretches limits how many changes of the standing are remembered for a target that runs. Time before them counts as open.
const maxStretches = 200

// Track is a history, folded: what is known of it, without its moments. The zero value is before the first moment.
type Track struct {
	Targets    []Target  `json:"targets,omitempty"` // at most one a kind: the last one
	Standing   Standing  `json:"standing"`
	Halted     bool      `json:"halted,omitempty"` // time stands still
	BeganAt    time.Time `json:"began_at,omitzero"`
	WaitsSince time.Time `json:"waits_since,omitzero"`
	AnsweredAt time.Time `json:"answered_at,omitzero"` // the last time
	Replied    bool      `json:"replied,omitempty"`    // there is no first reply to wait for
	Resolved   bool      `json:"resolved,omitempty"`   // there is no resolution to wait for
	Numbered   int       `json:"numbered,omitempty"`
	Stretches  []Stretch `json:"stretches,omitempty"`
}

// Started returns the track of a conversation that began before anybody looked at it, such as an imported one: it begins
// nothing until the customer writes, and has no first reply and no resolution to wait for.
func Started(s Standing, at time.Time) Track {
	return Track{Standing: s, BeganAt: at, Replied: true, Resolved: true, Stretches: []Stretch{{at, s}}}
}

// Targets returns the targets of a history under the policy and the calendar that it begins with; a nil calendar is always
// open. Of each kind it is the last one.
func Targets(p Policy, c *hours.Calendar, history []Moment) []Target {
	var t Track
	for _, m := range history {
		t.Step(p, c, m)
		if m.Kind == Changed {
			p, c = m.Policy, m.Calendar
		}
	}
	return t.Targets
}

// Step adds the next moment of a history, and returns what became of targets. The policy and the calendar are those before
// the moment; those of [Changed] replace them. A nil calendar is always open.
func (t *Track) Step(p Policy, c *hours.Calendar, m Moment) []Outcome {
	t.Targets, t.Stretches = slices.Clone(t.Targets), slices.Clone(t.Stretches)
	all := t.pass(m.At)
	switch m.Kind {
	case Began:
		t.BeganAt = m.At
		t.stand(orOpen(m.Standing), m.At)
	case Wrote:
		if t.WaitsSince = m.Since; m.Since.IsZero() {
			t.WaitsSince = m.At
		}
	case Answered:
		t.WaitsSince, t.AnsweredAt, t.Replied = time.Time{}, m.At, true
		all = append(all, t.end(m.At, FirstReply, NextReply)...)
	case Withdrew:
		t.WaitsSince = time.Time{}
		t.drop(m.At)
	case Stood:
		t.stand(orOpen(m.Standing), m.At)
		if m.Standing.Status == Closed {
			t.Resolved = true
			all = append(all, t.end(m.At, Resolution)...)
		}
	case Changed:
		p, c = m.Policy, m.Calendar
	case Passed:
		return all
	}
	t.Halted = p.Halts(t.Standing)
	t.begin(p)
	t.Targets = slices.DeleteFunc(t.Targets, func(o Target) bool { return o.pends() && p.time(o.Kind) == 0 })
	for i := range t.Targets {
		if o := &t.Targets[i]; o.pends() {
			t.plan(o, p, c)
		}
	}
	t.trim()
	return append(all, t.late(m.At)...)
}

func orOpen(s Standing) Standing {
	if s.Status == "" {
		s.Status = Open
	}
	return s
}

// stand notes a standing.
func (t *Track) stand(s Standing, at time.Time) {
	if len(t.Stretches) > 0 && t.Standing == s {
		return
	}
	t.Standing = s
	t.Stretches = append(t.Stretches, Stretch{at, s})
}

// trim forgets standings that no target needs any more.
func (t *Track) trim() {
	keep := maxStretches
	if !slices.ContainsFunc(t.Targets, Target.pends) {
		keep = 1
	}
	t.Stretches = slices.Clone(t.Stretches[max(0, len(t.Stretches)-keep):])
}

// pass notes what became of running targets until a time.
func (t *Track) pass(at time.Time) []Outcome {
	var all []Outcome
	for i := range t.Targets {
		o := &t.Targets[i]
		if o.State != Running || o.DueAt.IsZero() {
			continue
		}
		switch {
		case !at.Before(o.DueAt):
			o.State, o.BreachedAt = Breached, o.DueAt
			all = append(all, Outcome{BecameBreached, *o})
		case o.WarnedAt.IsZero() && o.SoonAt.Before(o.DueAt) && !at.Before(o.SoonAt):
			o.WarnedAt = at
			all = append(all, Outcome{BecameDueSoon, *o})
		}
	}
	return all
}

// late is pass for targets whose due time was just computed: nobody could know earlier that they were breached.
func (t *Track) late(at time.Time) []Outcome {
	all := t.pass(at)
	for n, o := range all {
		if o.Kind != BecameBreached {
			continue
		}
		for i := range t.Targets {
			if t.Targets[i].Number == o.Target.Number {
				t.Targets[i].BreachedAt = at
				all[n].Target = t.Targets[i]
			}
		}
	}
	return all
}

// end ends targets of some kinds.
func (t *Track) end(at time.Time, kinds ...Kind) []Outcome {
	var all []Outcome
	for i := range t.Targets {
		o := &t.Targets[i]
		if o.Ended() || !slices.Contains(kinds, o.Kind) {
			continue
		}
		if o.MetAt = at; o.pends() {
			o.State = Met
			all = append(all, Outcome{BecameMet, *o})
		}
	}
	return all
}

// drop ends replies that nobody waits for any more.
func (t *Track) drop(at time.Time) {
	reply := func(o Target) bool { return o.Kind != Resolution && !o.Ended() }
	t.Targets = slices.DeleteFunc(t.Targets, func(o Target) bool { return reply(o) && o.pends() })
	for i := range t.Targets {
		if reply(t.Targets[i]) {
			t.Targets[i].MetAt, t.Replied = at, true // there is no second first reply
		}
	}
}

// begin begins the targets that the standing asks for.
func (t *Track) begin(p Policy) {
	if !t.WaitsSince.IsZero() {
		kind, since := FirstReply, t.WaitsSince
		if t.Replied {
			kind = NextReply
			if since.Before(t.AnsweredAt) { // a message came to it, or an answer was taken back
				since = t.AnsweredAt
			}
		}
		t.start(p, kind, since)
	}
	if !t.Resolved && !t.BeganAt.IsZero() {
		t.start(p, Resolution, t.BeganAt)
	}
}

// start begins a target, or moves its start.
func (t *Track) start(p Policy, kind Kind, since time.Time) {
	at := slices.IndexFunc(t.Targets, func(o Target) bool { return o.Kind == kind })
	if at >= 0 && !t.Targets[at].Ended() {
		if t.Targets[at].pends() {
			t.Targets[at].StartedAt = since
		}
		return
	}
	if p.time(kind) == 0 {
		return
	}
	t.Numbered++
	one := Target{Number: t.Numbered, Kind: kind, State: Running, StartedAt: since}
	if at >= 0 {
		t.Targets[at] = one
		return
	}
	t.Targets = append(t.Targets, one)
	slices.SortFunc(t.Targets, func(a, b Target) int { return slices.Index(Kinds(), a.Kind) - slices.Index(Kinds(), b.Kind) })
}

// plan computes when a target is due.
func (t *Track) plan(o *Target, p Policy, c *hours.Calendar) {
	paused := t.paused(p, c, o.StartedAt)
	o.Seconds, o.DueAt, o.SoonAt, o.State = int64(paused/time.Second), time.Time{}, time.Time{}, Running
	if t.Halted {
		o.State = Paused
		return
	}
	d := p.time(o.Kind)
	o.DueAt = add(c, o.StartedAt, d+paused)
	o.SoonAt = add(c, o.StartedAt, d*time.Duration(p.DueSoon)/100+paused)
}

// paused returns the business time after a start in which time stood still, until it last went on.
func (t *Track) paused(p Policy, c *hours.Calendar, start time.Time) time.Duration {
	var sum time.Duration
	for i, s := range t.Stretches {
		if i == len(t.Stretches)-1 || !p.Halts(s.Standing) {
			continue
		}
		from, to := s.From, t.Stretches[i+1].From
		if from.Before(start) {
			from = start
		}
		if from.Before(to) {
			sum += between(c, from, to)
		}
	}
	return sum
}

// add returns the moment after some business time; zero: there is none.
func add(c *hours.Calendar, at time.Time, d time.Duration) time.Time {
	if c == nil {
		return at.Add(d)
	}
	due, err := c.Add(at, d)
	if err != nil {
		return time.Time{}
	}
	return due.UTC()
}

func between(c *hours.Calendar, a, b time.Time) time.Duration {
	if c == nil {
		return b.Sub(a)
	}
	return c.Between(a, b)
}

// Due returns the target that has to be done next, one that is overdue first; false: there is none, or time stands still.
func (t *Track) Due() (Target, bool) {
	var first Target
	for _, o := range t.Targets {
		if !t.Halted && !o.Ended() && !o.DueAt.IsZero() && (first.DueAt.IsZero() || o.DueAt.Before(first.DueAt)) {
			first = o
		}
	}
	return first, !first.DueAt.IsZero()
}

// Next returns when something becomes of a target by itself; zero: never.
func (t *Track) Next() time.Time {
	var next time.Time
	for _, o := range t.Targets {
		if o.State != Running || o.DueAt.IsZero() {
			continue
		}
		at := o.DueAt
		if o.WarnedAt.IsZero() && o.SoonAt.Before(at) {
			at = o.SoonAt
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}
