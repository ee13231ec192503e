package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/sla"
)

// Input is what [Fold] makes a fact from.
type Input struct {
	ConversationID, Number    int64
	CreatedAt                 time.Time
	MailboxID, TeamID, UserID int64
	SLAID                     int64
	Channel                   string
	Closed                    bool
	Messages                  []Message // in any order
	Tags                      []int64
	Targets                   []sla.Target
	Rating                    Rating          // the last one that was answered; zero: none
	Kept                      []Step          // of the fact as it was
	Told                      []Step          // by the events that are read, in any order; they may be among Kept
	Hours                     *hours.Calendar // for the business reply; nil: there is none
}

// MessageKind is what an interaction is for reports.
type MessageKind string

// The kinds.
const (
	FromCustomer MessageKind = "customer" // written by hand
	FromMachine  MessageKind = "machine"  // a customer's that a machine wrote
	ByMember     MessageKind = "reply"
	Forwarded    MessageKind = "forward"
	Noted        MessageKind = "note"
	Automatic    MessageKind = "automatic" // our automatic reply
)

// Message is an interaction without its content. Drafts and replies that wait for their time are none.
type Message struct {
	ID             int64
	ConversationID int64
	At             time.Time
	Kind           MessageKind
	UserID         int64 // who wrote a reply; 0: nobody who is known here
}

// Rating is how a customer found the answers.
type Rating struct {
	Verdict string
	At      time.Time
	UserID  int64
}

// What is what an event told.
type What string

// What events tell, beside the outcomes of targets: see [Ended].
const (
	WasClosed   What = "closed"
	WasReopened What = "reopened"
	BecameSpam  What = "spam"     // which closes it, but resolves nothing
	IsNoSpam    What = "not_spam" // and is open again, but not reopened
)

// Ended returns what an event told of a target.
func Ended(o Outcome, kind sla.Kind) What { return What(string(o) + ":" + string(kind)) }

// Step is what an event told of a conversation. Events are deleted after some time, so that facts keep what they told: steps
// are a set, and an event that is read again adds none. At most [MaxSteps] are kept, half of them the first ones, half the last.
type Step struct {
	At   time.Time // with microseconds: the order counts
	What What
}

// mergeSteps returns the steps of both lists, each once, in order.
func mergeSteps(kept, told []Step) []Step {
	steps := make([]Step, 0, len(kept)+len(told))
	for _, s := range slices.Concat(kept, told) {
		steps = append(steps, Step{s.At.UTC().Truncate(time.Microsecond), s.What})
	}
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(a.At.Compare(b.At), rank(a.What)-rank(b.What), strings.Compare(string(a.What), string(b.What)))
	})
	steps = slices.Compact(steps)
	if over := len(steps) - MaxSteps; over > 0 {
		steps = slices.Delete(steps, MaxSteps/2, MaxSteps/2+over)
	}
	return steps
}

// rank orders what one operation did.
func rank(w What) int {
	switch w {
	case WasReopened, IsNoSpam:
		return 0
	case WasClosed:
		return 1
	case BecameSpam:
		return 2
	}
	return 3
}

// Fold makes the fact of a conversation. It is a function of what is there and what events told, so that making it again gives
// the same fact, also when the events are gone that told the steps it keeps.
func Fold(in Input) Fact {
	f := Fact{
		ConversationID: in.ConversationID, Number: in.Number, CreatedAt: second(in.CreatedAt), MailboxID: in.MailboxID, TeamID: in.TeamID,
		UserID: in.UserID, SLAID: in.SLAID, Channel: in.Channel, BusinessReply: None, Steps: mergeSteps(in.Kept, in.Told),
	}
	f.Tags = slices.Compact(slices.Sorted(slices.Values(in.Tags)))
	messages := make([]Message, len(in.Messages))
	copy(messages, in.Messages)
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	if len(messages) > 0 && messages[0].At.Before(f.CreatedAt) {
		f.CreatedAt = second(messages[0].At)
	}
	closings := f.stand(in.Closed, messages)
	f.read(messages, closings)
	if in.Hours != nil && f.FirstReply() != None {
		f.BusinessReply = int64(in.Hours.Between(f.AskedAt, f.FirstReplyAt) / time.Second)
	}
	if in.Rating.Verdict != "" {
		f.Verdict, f.RatedAt, f.RatedID = in.Rating.Verdict, second(in.Rating.At), in.Rating.UserID
	}
	f.FirstReplySLA, f.NextReplySLA, f.ResolutionSLA = f.outcome(in, sla.FirstReply), f.outcome(in, sla.NextReply), f.outcome(in, sla.Resolution)
	return f
}

func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// stand follows the steps: when it was closed, and closed and opened again. What is so now counts more than what events told:
// they may be gone.
func (f *Fact) stand(closed bool, messages []Message) (closings []time.Time) {
	var since time.Time // when it was closed; zero: it is open
	resolved := false
	for _, s := range f.Steps {
		switch s.What {
		case WasClosed, BecameSpam:
			if since.IsZero() {
				since, resolved = s.At, s.What == WasClosed
			}
			if s.What == WasClosed {
				closings = append(closings, s.At)
			}
		case WasReopened, IsNoSpam:
			if since.IsZero() {
				continue
			}
			if from, to := second(since), second(s.At); to.After(from) {
				f.Closed = append(f.Closed, Gap{from, to})
			}
			if resolved && s.What == WasReopened {
				f.Reopened++
			}
			since = time.Time{}
		}
	}
	f.Closed = slices.Clone(f.Closed[max(0, len(f.Closed)-MaxGaps):])
	switch {
	case !closed:
	case !since.IsZero():
		f.ResolvedAt = second(since)
	default: // no event tells when: such as of an imported one, which was closed with the last that was said
		f.ResolvedAt = f.CreatedAt
		if n := len(messages); n > 0 {
			f.ResolvedAt = second(messages[n-1].At)
		}
		if n := len(f.Closed); n > 0 && f.ResolvedAt.Before(f.Closed[n-1].To) {
			f.ResolvedAt = f.Closed[n-1].To
		}
		closings = append(closings, f.ResolvedAt)
	}
	if f.ResolvedAt.IsZero() || !f.ResolvedAt.Before(f.CreatedAt) {
		return closings
	}
	f.ResolvedAt = f.CreatedAt
	return closings
}

// ahead is by how much the event of a closing may be older than the reply that was sent with it.
const ahead = time.Second

// read reads what was said, in order.
func (f *Fact) read(messages []Message, closings []time.Time) {
	var waits time.Time // since when
	asks := true        // nobody has replied, and it was not closed since the customer wrote
	end := func(at time.Time) {
		if !waits.IsZero() {
			f.Wait += between(waits, at)
		}
		waits = time.Time{}
	}
	for _, m := range messages {
		came := m.At
		if m.Kind == ByMember {
			came = came.Add(-ahead)
		}
		for len(closings) > 0 && closings[0].Before(came) {
			asks = asks && waits.IsZero()
			end(closings[0])
			closings = closings[1:]
		}
		switch m.Kind {
		case FromCustomer:
			f.Received++
			if waits.IsZero() {
				waits = m.At
			}
			if asks && f.AskedAt.IsZero() && f.Replies == 0 {
				f.AskedAt = second(m.At)
			}
		case FromMachine:
			f.Received++
		case ByMember:
			f.Replies++
			f.Touches++
			f.Said = append(f.Said, Reply{second(m.At), m.UserID})
			if asks && !f.AskedAt.IsZero() {
				f.FirstReplyAt, f.FirstReplyBy = second(m.At), m.UserID
			}
			asks = false
			end(m.At)
		case Forwarded, Noted:
			f.Touches++
		case Automatic:
		}
	}
	for _, at := range closings {
		end(at)
	}
	f.Said = slices.Clone(f.Said[max(0, len(f.Said)-MaxSaid):])
}

// outcome returns what became of the targets of a kind: what events told, and what is known of the last one.
func (f *Fact) outcome(in Input, kind sla.Kind) Outcome {
	out := NoTarget
	for _, s := range f.Steps {
		switch {
		case s.What == Ended(Breached, kind):
			return Breached
		case s.What == Ended(Met, kind):
			out = Met
		}
	}
	for _, t := range in.Targets {
		switch {
		case t.Kind != kind:
		case t.State == sla.Breached:
			return Breached
		case t.State == sla.Met:
			out = Met
		}
	}
	return out
}
