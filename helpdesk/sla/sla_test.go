package sla_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/sla"
)

// calendar is open from Monday to Friday.
func calendar(t testing.TB, spans string) *hours.Calendar {
	t.Helper()
	p := hours.Plan{Timezone: "UTC"}
	for _, d := range hours.Days()[:5] {
		var err error
		if p.Week[d], err = hours.ParseSpans(spans); err != nil {
			t.Fatal(err)
		}
	}
	c, err := hours.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// at reads a time of November and December 2026: "2 09:00" is Monday, 2 November.
func at(text string) time.Time {
	month := "Nov"
	if rest, ok := strings.CutPrefix(text, "Dec "); ok {
		month, text = "Dec", rest
	}
	t, err := time.Parse("Jan 2 15:04 2006", month+" "+text+" 2026")
	if err != nil {
		panic(err)
	}
	return t
}

// told writes targets as "first_reply met due 2 11:00 met 2 10:00".
func told(targets []sla.Target) string {
	var all []string
	for _, o := range targets {
		text := fmt.Sprintf("%s %s", o.Kind, o.State)
		for _, one := range []struct {
			name string
			at   time.Time
		}{{"due", o.DueAt}, {"met", o.MetAt}, {"breached", o.BreachedAt}} {
			if !one.at.IsZero() {
				day := one.at.Format("2 15:04")
				if one.at.Month() == time.December {
					day = "Dec " + day
				}
				text += " " + one.name + " " + day
			}
		}
		if o.Seconds > 0 {
			text += fmt.Sprintf(" paused %v", time.Duration(o.Seconds)*time.Second)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// What is due, computed by hand. 2 November 2026 is a Monday; the office is open from 9 to 17.
func TestTargets(t *testing.T) {
	t.Parallel()
	office, late := calendar(t, "09:00–17:00"), calendar(t, "10:00–14:00")
	gold := sla.Policy{FirstReply: 2 * time.Hour, NextReply: 4 * time.Hour, Resolution: 16 * time.Hour, Pending: true, Snoozed: true, DueSoon: 80}
	steady := gold // never pauses
	steady.Pending, steady.Snoozed = false, false
	began := func(when string) sla.Moment { return sla.Moment{At: at(when), Kind: sla.Began} }
	wrote := func(when string) sla.Moment { return sla.Moment{At: at(when), Kind: sla.Wrote} }
	since := func(when, since string) sla.Moment {
		return sla.Moment{At: at(when), Kind: sla.Wrote, Since: at(since)}
	}
	answered := func(when string) sla.Moment { return sla.Moment{At: at(when), Kind: sla.Answered} }
	stood := func(when string, s sla.Status) sla.Moment {
		return sla.Moment{At: at(when), Kind: sla.Stood, Standing: sla.Standing{Status: s}}
	}
	snoozed := func(when string) sla.Moment {
		return sla.Moment{At: at(when), Kind: sla.Stood, Standing: sla.Standing{Status: sla.Open, Snoozed: true}}
	}
	changed := func(when string, p sla.Policy, c *hours.Calendar) sla.Moment {
		return sla.Moment{At: at(when), Kind: sla.Changed, Policy: p, Calendar: c}
	}
	passed := func(when string) sla.Moment { return sla.Moment{At: at(when), Kind: sla.Passed} }
	for name, tt := range map[string]struct {
		policy  sla.Policy
		always  bool
		history []sla.Moment
		want    string
	}{
		"nothing promised": {sla.Policy{}, false, []sla.Moment{began("2 09:00"), wrote("2 09:00")}, ""},
		"a question": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00")},
			"first_reply running due 2 11:00; resolution running due 3 17:00"},
		"always open": {gold, true, []sla.Moment{began("6 16:00"), wrote("6 16:00")},
			"first_reply running due 6 18:00; resolution running due 7 08:00"},
		"on Friday afternoon": {gold, false, []sla.Moment{began("6 16:00"), wrote("6 16:00")},
			"first_reply running due 9 10:00; resolution running due 10 16:00"},
		"at night": {gold, false, []sla.Moment{began("2 22:00"), wrote("2 22:00")},
			"first_reply running due 3 11:00; resolution running due 4 17:00"},
		"answered in time": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:59")},
			"first_reply met due 2 11:00 met 2 10:59; resolution running due 3 17:00"},
		"answered at the due time": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 11:00")},
			"first_reply breached due 2 11:00 met 2 11:00 breached 2 11:00; resolution running due 3 17:00"},
		"not answered": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), passed("2 12:00")},
			"first_reply breached due 2 11:00 breached 2 11:00; resolution running due 3 17:00"},
		"a second message does not begin again": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), since("2 10:00", "2 09:00")},
			"first_reply running due 2 11:00; resolution running due 3 17:00"},
		"asked again": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), wrote("2 15:00")},
			"first_reply met due 2 11:00 met 2 10:00; next_reply running due 3 11:00; resolution running due 3 17:00"},
		"asked a third time": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), wrote("2 15:00"), answered("2 16:00"), wrote("3 09:00")},
			"first_reply met due 2 11:00 met 2 10:00; next_reply running due 3 13:00; resolution running due 3 17:00"},
		"we wrote first": {gold, false, []sla.Moment{began("2 09:00"), answered("2 09:00"), wrote("2 10:00")},
			"next_reply running due 2 14:00; resolution running due 3 17:00"},
		"resolved": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), stood("3 12:00", sla.Closed)},
			"first_reply met due 2 11:00 met 2 10:00; resolution met due 3 17:00 met 3 12:00"},
		"snoozed": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), snoozed("2 10:00")},
			"first_reply paused; resolution paused"},
		"snoozed over night": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), snoozed("2 10:00"), stood("3 10:00", sla.Open)},
			"first_reply running due 3 11:00 paused 8h0m0s; resolution running due 4 17:00 paused 8h0m0s"},
		"snoozed, though nothing pauses": {steady, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), snoozed("2 10:00"), stood("2 10:30", sla.Open)},
			"first_reply running due 2 11:00; resolution running due 3 17:00"},
		"breached while snoozed, though nothing pauses": {steady, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), snoozed("2 10:00"), passed("2 11:00")},
			"first_reply breached due 2 11:00 breached 2 11:00; resolution running due 3 17:00"},
		"pending twice": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), stood("2 10:00", sla.Pending), stood("2 12:00", sla.Open), stood("2 16:00", sla.Pending), stood("3 10:00", sla.Open)},
			"first_reply met due 2 11:00 met 2 10:00; resolution running due 4 13:00 paused 4h0m0s"},
		"closed for 40 days": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), stood("2 12:00", sla.Closed), stood("Dec 14 09:00", sla.Open), wrote("Dec 14 09:00")},
			"first_reply met due 2 11:00 met 2 10:00; next_reply running due Dec 14 13:00; resolution met due 3 17:00 met 2 12:00"},
		"closed for 40 days without an answer": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), stood("2 10:00", sla.Closed), stood("Dec 12 10:00", sla.Open)}, // 39 hours of the first week, and five weeks of 40
			"first_reply running due Dec 14 10:00 paused 239h0m0s; resolution met due 3 17:00 met 2 10:00"},
		"reopened after it was met": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), stood("2 12:00", sla.Closed), stood("4 09:00", sla.Open)},
			"first_reply met due 2 11:00 met 2 10:00; resolution met due 3 17:00 met 2 12:00"},
		"the calendar changed midway": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), changed("2 10:30", gold, late)},
			"first_reply running due 2 12:00; resolution running due 5 14:00"},
		"the calendar changed after it was met": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:30"), changed("2 10:45", gold, late)},
			"first_reply met due 2 11:00 met 2 10:30; resolution running due 5 14:00"},
		"the calendar changed during a pause": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), snoozed("2 09:30"), changed("2 12:00", gold, late), stood("2 13:00", sla.Open)},
			"first_reply running due 3 11:00 paused 3h0m0s; resolution running due 6 13:00 paused 3h0m0s"},
		"stricter, so that it is too late at once": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), changed("2 10:30", sla.Policy{FirstReply: time.Hour, DueSoon: 80}, office)},
			"first_reply breached due 2 10:00 breached 2 10:30"},
		"more time after it was breached": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), passed("2 11:00"), changed("2 11:30", sla.Policy{FirstReply: 8 * time.Hour}, office)},
			"first_reply breached due 2 11:00 breached 2 11:00"},
		"promised no more": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), changed("2 11:30", sla.Policy{}, nil)},
			"first_reply met due 2 11:00 met 2 10:00"},
		"promised later": {sla.Policy{}, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), changed("2 09:30", gold, office)},
			"first_reply running due 2 11:00; resolution running due 3 17:00"},
		"moved to a mailbox with another promise": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), changed("2 10:00", sla.Policy{FirstReply: 6 * time.Hour, Resolution: 8 * time.Hour}, office)},
			"first_reply running due 2 15:00; resolution running due 2 17:00"},
		"merged with an older question": {gold, false, []sla.Moment{began("2 10:00"), wrote("2 10:00"), since("2 10:30", "2 09:30")},
			"first_reply running due 2 11:30; resolution running due 4 10:00"},
		"merged with a question that waits too long": {gold, false, []sla.Moment{began("3 10:00"), wrote("3 10:00"), since("3 10:30", "2 10:00")},
			"first_reply breached due 2 12:00 breached 3 10:30; resolution running due 5 10:00"},
		"split off after a day": {gold, false, []sla.Moment{began("3 12:00"), since("3 12:00", "3 11:00")},
			"first_reply running due 3 13:00; resolution running due 5 12:00"},
		"its question was split off": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), since("2 10:00", "2 09:45")},
			"first_reply running due 2 11:45; resolution running due 3 17:00"},
		"its question went away": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), {At: at("2 10:00"), Kind: sla.Withdrew}, wrote("2 15:00")},
			"first_reply running due 2 17:00; resolution running due 3 17:00"},
		"an answer was taken back": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), answered("2 10:00"), since("2 10:01", "2 09:00")},
			"first_reply met due 2 11:00 met 2 10:00; next_reply running due 2 14:00; resolution running due 3 17:00"},
		"spam": {gold, false, []sla.Moment{began("2 09:00"), wrote("2 09:00"), stood("2 10:00", sla.Aside)},
			"first_reply paused; resolution paused"},
	} {
		c := office
		if tt.always {
			c = nil
		}
		if diff := cmp.Diff(tt.want, told(sla.Targets(tt.policy, c, tt.history))); diff != "" {
			t.Errorf("%s: (-want +got) %s", name, diff)
		}
	}
}

// A conversation that was imported begins nothing until its customer writes.
func TestStarted(t *testing.T) {
	t.Parallel()
	p := sla.Policy{FirstReply: time.Hour, NextReply: time.Hour, Resolution: time.Hour}
	track := sla.Started(sla.Standing{Status: sla.Open}, at("2 09:00"))
	track.Step(sla.Policy{}, nil, sla.Moment{At: at("2 10:00"), Kind: sla.Changed, Policy: p})
	if len(track.Targets) != 0 {
		t.Errorf("it began %s", told(track.Targets))
	}
	track.Step(p, nil, sla.Moment{At: at("2 11:00"), Kind: sla.Wrote})
	if got := told(track.Targets); got != "next_reply running due 2 12:00" {
		t.Errorf("its customer wrote: %s", got)
	}
}

// story is a random history.
func story(r *rand.Rand, policies []sla.Policy, calendars []*hours.Calendar) []sla.Moment {
	now := at("2 08:00").Add(time.Duration(r.IntN(3000)) * time.Minute)
	all := []sla.Moment{{At: now, Kind: sla.Began}}
	for range 3 + r.IntN(20) {
		now = now.Add(time.Duration(r.IntN(1500)) * time.Minute)
		m := sla.Moment{At: now, Kind: []sla.MomentKind{sla.Wrote, sla.Wrote, sla.Answered, sla.Stood, sla.Stood, sla.Changed, sla.Passed, sla.Withdrew}[r.IntN(8)]}
		switch m.Kind {
		case sla.Stood:
			m.Standing = sla.Standing{Status: []sla.Status{sla.Open, sla.Open, sla.Pending, sla.Closed, sla.Aside}[r.IntN(5)], Snoozed: r.IntN(4) == 0}
		case sla.Changed:
			m.Policy, m.Calendar = policies[r.IntN(len(policies))], calendars[r.IntN(len(calendars))]
		case sla.Wrote:
			m.Since = now.Add(-time.Duration(r.IntN(300)) * time.Minute)
		case sla.Began, sla.Answered, sla.Passed, sla.Withdrew:
		}
		all = append(all, m)
	}
	return all
}

// What holds for each history.
func TestTargetsOfRandomHistories(t *testing.T) {
	t.Parallel()
	calendars := []*hours.Calendar{nil, calendar(t, "09:00–17:00"), calendar(t, "10:00–12:00, 13:00–20:00")}
	policies := []sla.Policy{
		{}, {FirstReply: time.Hour, Pending: true, DueSoon: 50}, {NextReply: 90 * time.Minute, Resolution: 20 * time.Hour, Snoozed: true, DueSoon: 80},
		{FirstReply: 5 * time.Hour, NextReply: 30 * time.Hour, Resolution: 90 * time.Hour, Pending: true, Snoozed: true, DueSoon: 100},
	}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // repeatable
		history := story(r, policies, calendars)
		p, c := policies[r.IntN(len(policies))], calendars[r.IntN(len(calendars))]
		last := check(t, seed, p, c, history)
		if diff := cmp.Diff(last, sla.Targets(p, c, history)); diff != "" {
			t.Fatalf("seed %d: folded otherwise: %s", seed, diff)
		}
	}
}

// check steps through a history and returns its targets.
func check(t *testing.T, seed uint64, p sla.Policy, c *hours.Calendar, history []sla.Moment) []sla.Target {
	t.Helper()
	var track sla.Track
	said, firsts, ended := map[string]bool{}, map[int]bool{}, map[int]sla.Target{}
	for _, m := range history {
		outcomes := track.Step(p, c, m)
		if m.Kind == sla.Changed {
			p, c = m.Policy, m.Calendar
		}
		for _, o := range outcomes {
			key := fmt.Sprint(o.Target.Number, o.Kind)
			if said[key] || o.Kind == sla.BecameMet && said[fmt.Sprint(o.Target.Number, sla.BecameBreached)] {
				t.Fatalf("seed %d: %s of %d is said again", seed, o.Kind, o.Target.Number)
			}
			said[key] = true
		}
		if slices.ContainsFunc(track.Targets, func(o sla.Target) bool { return o.State == sla.Running && !o.DueAt.IsZero() && !m.At.Before(o.DueAt) }) {
			t.Fatalf("seed %d: something runs beyond its due time: %s", seed, told(track.Targets))
		}
		for _, o := range track.Targets {
			if before, known := ended[o.Number]; known && !cmp.Equal(before, o) {
				t.Fatalf("seed %d: %s changed after its end", seed, o.Kind)
			}
			if o.Ended() {
				ended[o.Number] = o
			}
			if o.Kind == sla.FirstReply && (o.State == sla.Met || o.State == sla.Breached) {
				firsts[o.Number] = true
			}
			target := map[sla.Kind]time.Duration{sla.FirstReply: p.FirstReply, sla.NextReply: p.NextReply, sla.Resolution: p.Resolution}[o.Kind]
			if o.State == sla.Running && !o.DueAt.IsZero() {
				paused := time.Duration(o.Seconds) * time.Second
				if got := between(c, o.StartedAt, o.DueAt); got != target+paused {
					t.Fatalf("seed %d: %s has %v, not %v and %v of pauses", seed, o.Kind, got, target, paused)
				}
				if plain := add(t, c, o.StartedAt, target); o.DueAt.Before(plain) {
					t.Fatalf("seed %d: pauses made %s due earlier", seed, o.Kind)
				}
			}
		}
	}
	if len(firsts) > 1 {
		t.Fatalf("seed %d: %d first replies", seed, len(firsts))
	}
	return track.Targets
}

func between(c *hours.Calendar, a, b time.Time) time.Duration {
	if c == nil {
		return b.Sub(a)
	}
	return c.Between(a, b)
}

func add(t *testing.T, c *hours.Calendar, a time.Time, d time.Duration) time.Time {
	t.Helper()
	if c == nil {
		return a.Add(d)
	}
	at, err := c.Add(a, d)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func ExampleTargets() {
	nine := time.Date(2026, time.November, 2, 9, 0, 0, 0, time.UTC)
	gold := sla.Policy{FirstReply: 2 * time.Hour, Snoozed: true, DueSoon: 80}
	for _, o := range sla.Targets(gold, nil, []sla.Moment{
		{At: nine, Kind: sla.Began},
		{At: nine, Kind: sla.Wrote},
		{At: nine.Add(time.Hour), Kind: sla.Stood, Standing: sla.Standing{Status: sla.Open, Snoozed: true}},
		{At: nine.Add(4 * time.Hour), Kind: sla.Stood, Standing: sla.Standing{Status: sla.Open}},
	}) {
		fmt.Println(o.Kind, o.State, "due at", o.DueAt.Format("15:04"))
	}
	// Output: first_reply running due at 14:00
}
