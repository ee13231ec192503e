package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/helpdesk/sla"
)

// entry is something that happened in a conversation of the fixture.
type entry struct {
	at   time.Time
	what string // of a message its kind, of the conversation "closed", "reopened"
	user int64
}

// ticket is a conversation of the fixture.
type ticket struct {
	id, mailbox, team, user, sla int64
	filed                        time.Time // when the row was made: imported and parted ones are younger than their messages
	imported                     bool      // no event tells anything
	entries                      []entry   // in order
	tags                         []int64
	rating                       string
	ratedAt                      time.Time
	ratedUser                    int64
	outcomes                     map[string]string // by kind
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// fixture makes 300 conversations over both changes of the clock, with what real ones have: automatic replies, forwards, notes,
// machines that write, members who left, reopenings, imports and parted messages.
func fixture() []ticket {
	r := rand.New(rand.NewPCG(7, 11))
	start := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	all := make([]ticket, 300)
	for n := range all {
		c := &all[n]
		c.id, c.mailbox, c.team, c.user, c.sla = int64(n+1), int64(r.IntN(3)+1), int64(r.IntN(3)), int64(r.IntN(5)), int64(r.IntN(2))
		at := start.Add(time.Duration(r.IntN(260*24*3600)) * time.Second)
		if n%10 == 0 { // in the nights of the change
			at = time.Date(2026, 3, 28, 20, 0, n, 0, time.UTC).Add(time.Duration(r.IntN(24*3600)) * time.Second)
		}
		if n%10 == 5 {
			at = time.Date(2026, 10, 24, 20, 0, n, 0, time.UTC).Add(time.Duration(r.IntN(24*3600)) * time.Second)
		}
		c.filed, c.imported = at, n%7 == 3
		closed := false
		for range r.IntN(12) + 1 {
			kinds := []string{"customer", "customer", "reply", "reply", "machine", "forward", "note", "automatic", "closed", "reopened"}
			e := entry{at, kinds[r.IntN(len(kinds))], int64(r.IntN(6))}
			if e.what == "closed" == closed && (e.what == "closed" || e.what == "reopened") || e.what == "reopened" && !closed || c.imported && e.what == "reopened" {
				e.what = "customer"
			}
			if c.imported && closed {
				break
			}
			closed = e.what == "closed" || closed && e.what != "reopened"
			if e.what != "reply" {
				e.user = 0
			}
			c.entries = append(c.entries, e)
			at = at.Add(time.Duration(r.IntN(40*3600)+2) * time.Second)
		}
		for tag := range int64(4) {
			if r.IntN(3) == 0 {
				c.tags = append(c.tags, tag+1)
			}
		}
		if r.IntN(3) == 0 {
			c.rating, c.ratedAt, c.ratedUser = []string{"good", "neutral", "bad"}[r.IntN(3)], at, int64(r.IntN(5))
		}
		if n%9 == 1 { // parted: the row is younger
			c.filed = at
		}
		c.outcomes = map[string]string{}
		for _, kind := range []string{"first_reply", "next_reply", "resolution"} {
			c.outcomes[kind] = []string{"", "met", "breached"}[r.IntN(3)]
		}
	}
	return all
}

// input is what Fold gets of it.
func (c ticket) input() report.Input {
	in := report.Input{
		ConversationID: c.id, Number: c.id + 1000, CreatedAt: c.filed, MailboxID: c.mailbox, TeamID: c.team, UserID: c.user, SLAID: c.sla, Channel: "email",
		Tags: c.tags, Rating: report.Rating{Verdict: c.rating, At: c.ratedAt, UserID: c.ratedUser},
	}
	for n, e := range c.entries {
		switch e.what {
		case "closed", "reopened":
			in.Closed = e.what == "closed"
			if !c.imported {
				in.Told = append(in.Told, report.Step{At: e.at, What: report.What(e.what)})
			}
		default:
			in.Messages = append(in.Messages, report.Message{ID: int64(n), ConversationID: c.id, At: e.at, Kind: report.MessageKind(e.what), UserID: e.user})
		}
	}
	for _, kind := range sla.Kinds() {
		switch c.outcomes[string(kind)] {
		case "met":
			in.Targets = append(in.Targets, sla.Target{Kind: kind, State: sla.Met})
		case "breached":
			in.Told = append(in.Told, report.Step{At: c.filed, What: report.Ended(report.Breached, kind)}, report.Step{At: c.filed, What: report.Ended(report.Met, kind)})
		}
	}
	return in
}

// told is what the script knows of a conversation. It shares no code with Fold.
type told struct {
	ticket
	began, resolved   time.Time
	first, wait       float64 // seconds; -1: none
	firstBy           int64
	replies, reopened int
	touches           int
	asked             bool
	openAt            func(time.Time) bool
	repliesOf         map[int64][]time.Time
}

func (c ticket) script() told {
	s := told{ticket: c, first: -1, began: c.filed, repliesOf: map[int64][]time.Time{}}
	for _, e := range c.entries {
		if e.what != "closed" && e.what != "reopened" && e.at.Before(s.began) {
			s.began = e.at
		}
	}
	last := s.began
	type change struct {
		at   time.Time
		open bool
	}
	var changes []change
	for _, e := range c.entries {
		switch e.what {
		case "closed":
			s.resolved = e.at
			if c.imported {
				s.resolved = last
			}
			changes = append(changes, change{s.resolved, false})
		case "reopened":
			s.resolved = time.Time{}
			s.reopened++
			changes = append(changes, change{e.at, true})
		default:
			last = e.at
		}
		switch e.what {
		case "reply":
			s.replies++
			s.touches++
			s.repliesOf[e.user] = append(s.repliesOf[e.user], e.at)
		case "note", "forward":
			s.touches++
		}
	}
	if !s.resolved.IsZero() && s.resolved.Before(s.began) {
		s.resolved = s.began
	}
	// The first question of a person that comes before any reply, and whether a reply or the closing came first after it.
	for i, e := range c.entries {
		if e.what == "reply" {
			break
		}
		closedBefore := false
		for _, earlier := range c.entries[:i] {
			closedBefore = closedBefore || earlier.what == "closed" && s.hasQuestionBefore(earlier.at)
		}
		if e.what != "customer" || closedBefore {
			continue
		}
		s.asked = true
		for _, later := range c.entries[i:] {
			if later.what == "closed" {
				break
			}
			if later.what == "reply" {
				s.first, s.firstBy = later.at.Sub(e.at).Seconds(), later.user
				break
			}
		}
		break
	}
	// Each question waits until the next reply or closing.
	for i, e := range c.entries {
		if e.what != "customer" || c.waitsAlready(i) {
			continue
		}
		for _, later := range c.entries[i:] {
			if later.what == "reply" || later.what == "closed" {
				at := later.at
				if later.what == "closed" && c.imported {
					at = s.resolved
				}
				s.wait += at.Sub(e.at).Seconds()
				break
			}
		}
	}
	s.openAt = func(at time.Time) bool {
		open := true
		for _, ch := range changes {
			if ch.at.Before(at) {
				open = ch.open
			}
		}
		return open && s.began.Before(at)
	}
	return s
}

// hasQuestionBefore reports whether a person had asked before a time.
func (c ticket) hasQuestionBefore(at time.Time) bool {
	return slices.ContainsFunc(c.entries, func(e entry) bool { return e.what == "customer" && e.at.Before(at) })
}

// waitsAlready reports whether the customer waits already before an entry.
func (c ticket) waitsAlready(i int) bool {
	for n := i - 1; n >= 0; n-- {
		switch c.entries[n].what {
		case "customer":
			return true
		case "reply", "closed":
			return false
		}
	}
	return false
}

// scripted is a figure by the script: the values of the conversations that count.
type scripted func(t told, in func(time.Time) bool, end time.Time, user int64) (float64, bool)

// script are the measures, each as somebody would say it.
func script() map[string]scripted {
	created := func(value func(told) float64) scripted {
		return func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return value(t), in(t.began) && value(t) >= 0
		}
	}
	resolved := func(value func(told) float64) scripted {
		return func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return value(t), !t.resolved.IsZero() && in(t.resolved)
		}
	}
	rated := func(verdict string) scripted {
		return func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return 1, t.rating != "" && in(t.ratedAt) && (verdict == "" || t.rating == verdict)
		}
	}
	good := func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
		return truth(t.rating == "good"), t.rating != "" && in(t.ratedAt)
	}
	repliesIn := func(t told, in func(time.Time) bool, user int64) (n float64) {
		for who, times := range t.repliesOf {
			for _, at := range times {
				if in(at) && (user < 0 || who == user) {
					n++
				}
			}
		}
		return n
	}
	all := map[string]scripted{
		"created":  created(func(told) float64 { return 1 }),
		"resolved": resolved(func(told) float64 { return 1 }),
		"first_reply replied": created(func(t told) float64 {
			if t.first < 0 {
				return -1
			}
			return 1
		}),
		"first_reply":         created(func(t told) float64 { return t.first }),
		"resolution":          resolved(func(t told) float64 { return t.resolved.Sub(t.began).Seconds() }),
		"resolution reopened": resolved(func(t told) float64 { return truth(t.reopened > 0) }),
		"replies":             resolved(func(t told) float64 { return float64(t.replies) }),
		"touches":             resolved(func(t told) float64 { return float64(t.touches) }),
		"one_reply":           resolved(func(t told) float64 { return truth(t.replies == 1) }),
		"open": func(t told, _ func(time.Time) bool, end time.Time, _ int64) (float64, bool) {
			return 1, t.openAt(end)
		},
		"rated": rated(""), "ratings good": rated("good"), "neutral": rated("neutral"), "bad": rated("bad"),
		"satisfaction": good, "good": good,
		"team replied": func(t told, in func(time.Time) bool, _ time.Time, user int64) (float64, bool) {
			return 1, repliesIn(t, in, user) > 0
		},
		"team replies": func(t told, in func(time.Time) bool, _ time.Time, user int64) (float64, bool) {
			n := repliesIn(t, in, user)
			return n, n > 0
		},
		"wait": func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return t.wait, t.asked && !t.resolved.IsZero() && in(t.resolved)
		},
	}
	for _, kind := range []string{"first_reply", "next_reply", "resolution"} {
		all[kind+"_met"] = func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return 1, in(t.began) && t.outcomes[kind] == "met"
		}
		all[kind+"_breached"] = func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return 1, in(t.began) && t.outcomes[kind] == "breached"
		}
		all[kind+"_kept"] = func(t told, in func(time.Time) bool, _ time.Time, _ int64) (float64, bool) {
			return truth(t.outcomes[kind] == "met"), in(t.began) && t.outcomes[kind] != ""
		}
	}
	return all
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// find returns the script of a measure of a report.
func find(name report.Name, m report.Measure) scripted {
	all := script()
	for _, key := range []string{string(name) + " " + m.Key, m.Key, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m.Key, "_mean"), "_median"), "_p90")} {
		if s := all[key]; s != nil {
			return s
		}
	}
	return nil
}

// userOf returns whose a figure is in lines of users, and by the filter of users.
func userOf(name report.Name, m report.Measure, t told) int64 {
	switch {
	case name == report.Team && strings.HasPrefix(m.Key, "first_reply"):
		return t.firstBy
	case name == report.Team && m.Key == "good":
		return t.ratedUser
	}
	return t.user
}

// statistic computes a figure by its definition: nearest rank is the smallest value such that that part of all is not greater.
func statistic(s report.Statistic, values []float64) (figure float64, none bool) {
	if len(values) == 0 {
		return 0, s != report.Sum
	}
	rank := func(part float64) float64 {
		best := math.Inf(1)
		for _, v := range values {
			n := 0
			for _, w := range values {
				if w <= v {
					n++
				}
			}
			if float64(n) >= part*float64(len(values)) {
				best = math.Min(best, v)
			}
		}
		return best
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch s {
	case report.Sum:
		return sum, false
	case report.Mean:
		return sum / float64(len(values)), false
	case report.Median:
		return rank(0.5), false
	case report.P90:
		return rank(0.9), false
	case report.Share:
		ones := 0.0
		for _, v := range values {
			if v == 1 {
				ones++
			}
		}
		return ones / float64(len(values)) * 100, false
	}
	return 0, true
}

func tally(t *testing.T, facts []report.Fact, name report.Name, q report.Query, o report.Options, measure, key string) *report.Tally {
	t.Helper()
	tally := report.New(name, q, o)
	if measure != "" && !tally.Want(measure, key) {
		t.Fatalf("%s has no measure %s", name, measure)
	}
	for _, read := range tally.Reads() {
		for _, f := range facts {
			at := f.CreatedAt
			switch read.Clock {
			case report.Resolved, report.Open:
				if at = f.ResolvedAt; at.IsZero() {
					at = report.NeverClosed()
				}
			case report.Rated:
				at = f.RatedAt
			case report.Replied:
				if len(f.Said) == 0 {
					continue
				}
				at = f.Said[len(f.Said)-1].At
			case report.Created:
			}
			if !at.Before(read.From) && at.Before(read.To) && (read.Before.IsZero() || f.CreatedAt.Before(read.Before)) {
				needed := only(f, read.Columns)
				tally.Add(read.Clock, &needed)
			}
		}
	}
	return tally
}

func facts(all []ticket) []report.Fact {
	out := make([]report.Fact, len(all))
	for n, c := range all {
		out[n] = report.Fold(c.input())
	}
	return out
}

// only returns what is left of a fact when nothing but some columns is read.
func only(f report.Fact, columns []report.Column) report.Fact {
	var out report.Fact
	for _, c := range columns {
		switch c {
		case report.ColumnConversation:
			out.ConversationID = f.ConversationID
		case report.ColumnCreated:
			out.CreatedAt = f.CreatedAt
		case report.ColumnResolved:
			out.ResolvedAt = f.ResolvedAt
		case report.ColumnMailbox:
			out.MailboxID = f.MailboxID
		case report.ColumnTeam:
			out.TeamID = f.TeamID
		case report.ColumnUser:
			out.UserID = f.UserID
		case report.ColumnSLA:
			out.SLAID = f.SLAID
		case report.ColumnChannel:
			out.Channel = f.Channel
		case report.ColumnTags:
			out.Tags = f.Tags
		case report.ColumnAsked:
			out.AskedAt = f.AskedAt
		case report.ColumnFirstReply:
			out.FirstReplyAt = f.FirstReplyAt
		case report.ColumnFirstReplyBy:
			out.FirstReplyBy = f.FirstReplyBy
		case report.ColumnBusinessReply:
			out.BusinessReply = f.BusinessReply
		case report.ColumnReplies:
			out.Replies = f.Replies
		case report.ColumnTouches:
			out.Touches = f.Touches
		case report.ColumnReopened:
			out.Reopened = f.Reopened
		case report.ColumnWait:
			out.Wait = f.Wait
		case report.ColumnVerdict:
			out.Verdict = f.Verdict
		case report.ColumnRated:
			out.RatedAt = f.RatedAt
		case report.ColumnRatedBy:
			out.RatedID = f.RatedID
		case report.ColumnFirstReplySLA:
			out.FirstReplySLA = f.FirstReplySLA
		case report.ColumnNextReplySLA:
			out.NextReplySLA = f.NextReplySLA
		case report.ColumnResolutionSLA:
			out.ResolutionSLA = f.ResolutionSLA
		case report.ColumnSaid:
			out.Said = f.Said
		case report.ColumnClosed:
			out.Closed = f.Closed
		}
	}
	return out
}

// inLine reports whether a moment, or a conversation, is in the line with a key.
func inLine(g report.Group, l report.Line, z *time.Location, key string, s told, user int64) (line func(time.Time) bool, of bool) {
	anytime := func(time.Time) bool { return true }
	number := func(id int64) bool { return strconv.FormatInt(id, 10) == key }
	layouts := map[report.Group]string{report.ByDay: "2006-01-02", report.ByMonth: "2006-01"}
	switch g {
	case report.ByDay, report.ByMonth:
		return func(at time.Time) bool { return at.In(z).Format(layouts[g]) == key }, true
	case report.ByWeek:
		return func(at time.Time) bool {
			y, w := at.In(z).ISOWeek()
			ly, lw := l.From.In(z).ISOWeek()
			return y == ly && w == lw
		}, true
	case report.ByHour:
		return func(at time.Time) bool {
			return strings.ToLower(at.In(z).Format("Mon"))+at.In(z).Format(" 15") == key
		}, true
	case report.ByMailbox:
		return anytime, number(s.mailbox)
	case report.ByTeam:
		return anytime, number(s.team)
	case report.ByUser:
		return anytime, number(user)
	case report.ByTag:
		return anytime, slices.ContainsFunc(s.tags, number)
	case report.BySLA:
		return anytime, number(s.sla)
	case report.ByChannel:
		return anytime, key == "email"
	case report.ByNothing, report.ByStatistics:
	}
	return anytime, true
}

// All reports, in all groups and with all filters, are what the script says, and the rows of every figure make it.
func TestReports(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	tickets := fixture()
	stored := facts(tickets)
	var scripts []told
	for _, c := range tickets {
		scripts = append(scripts, c.script())
	}
	from, to := time.Date(2026, 3, 27, 0, 0, 0, 0, berlin), time.Date(2026, 11, 3, 0, 0, 0, 0, berlin)
	o := report.Options{Zone: berlin, Now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	checked := 0
	for _, name := range report.Names() {
		for _, group := range append(name.Groups(), report.ByNothing) {
			for filter, q := range map[string]report.Query{"": {}, "mailbox": {MailboxID: 2}, "team": {TeamID: 1}, "user": {UserID: 3}, "tag": {TagID: 2}} {
				q.From, q.To, q.Timezone, q.GroupBy = from.UTC(), to.UTC(), "Europe/Berlin", group
				if filter != "" && group != name.Groups()[0] && group != report.ByUser && group != report.ByTag {
					continue
				}
				result := tally(t, stored, name, q, o, "", "")
				lines := append(result.Lines(), result.Total())
				for n, line := range lines {
					total := n == len(lines)-1
					for i, m := range name.Measures() {
						got, what := line.Figures[i], fmt.Sprintf("%s by %q with %q: %s of %q", name, group, filter, m.Key, line.Key)
						if n%23 == 0 || total || group == report.ByUser && filter == "" {
							checkRows(t, stored, name, q, o, m, line.Key, total, got, what)
						}
						counts := find(name, m)
						sampled := len(lines) > 60 && n%3 > 0 && !total && !changesClock(line, berlin)
						if counts == nil || group == report.ByStatistics && !total || sampled {
							continue
						}
						want := scriptedFigure(scripts, name, q, m, counts, line, total, berlin)
						none := want.None
						if got.None != none || math.Abs(got.Value-want.Value) > 1e-6 || got.Of != want.Of {
							t.Fatalf("%s is %+v, the script says %+v", what, got, want)
						}
						checked++
					}
				}
			}
		}
	}
	if checked < 10_000 {
		t.Errorf("only %d figures were compared", checked)
	}
}

// changesClock reports whether a line has a day of 23 or 25 hours.
func changesClock(l report.Line, z *time.Location) bool {
	_, before := l.From.In(z).Zone()
	_, after := l.To.In(z).Zone()
	return before != after
}

func scriptedFigure(all []told, name report.Name, q report.Query, m report.Measure, counts scripted, line report.Line, total bool, z *time.Location) report.Figure {
	var values []float64
	for _, s := range all {
		user, filter := userOf(name, m, s), q.UserID
		perReply := name == report.Team && (m.Key == "replied" || m.Key == "replies")
		replier := int64(-1)
		if perReply {
			if filter != 0 {
				replier = filter
			}
			filter = 0
		}
		if q.MailboxID != 0 && s.mailbox != q.MailboxID || q.TeamID != 0 && s.team != q.TeamID || q.TagID != 0 && !slices.Contains(s.tags, q.TagID) || filter != 0 && user != filter {
			continue
		}
		in := func(at time.Time) bool { return !at.Before(q.From) && at.Before(q.To) }
		end := q.To
		if !total {
			if perReply && q.GroupBy == report.ByUser {
				id, _ := strconv.ParseInt(line.Key, 10, 64)
				if replier >= 0 && replier != id {
					continue
				}
				replier, user = id, id
			}
			period := in
			inside, of := inLine(q.GroupBy, line, z, line.Key, s, user)
			if !of {
				continue
			}
			in = func(at time.Time) bool { return period(at) && inside(at) }
			if !line.To.IsZero() && line.To.Before(q.To) {
				end = line.To
			}
		}
		if v, ok := counts(s, in, end, replier); ok {
			values = append(values, v)
		}
	}
	value, none := statistic(m.Statistic, values)
	return report.Figure{Value: value, None: none, Of: int64(len(values))}
}

// checkRows finds that the statistic of the rows of a figure is the figure.
func checkRows(t *testing.T, stored []report.Fact, name report.Name, q report.Query, o report.Options, m report.Measure, key string, total bool, want report.Figure, what string) {
	t.Helper()
	if !total && key == "" {
		t.Fatalf("%s has no key", what)
	}
	rows := tally(t, stored, name, q, o, m.Key, key).Rows()
	var values []float64
	seen := map[int64]bool{}
	for _, r := range rows {
		if seen[r.ConversationID] {
			t.Fatalf("%s: conversation %d is twice in the rows", what, r.ConversationID)
		}
		seen[r.ConversationID] = true
		values = append(values, float64(r.Value))
	}
	if diff := cmp.Diff(want, m.Statistic.Of(values)); diff != "" {
		t.Fatalf("%s (-figure +of its rows): %s", what, diff)
	}
}
