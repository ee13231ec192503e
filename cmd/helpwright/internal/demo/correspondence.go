package demo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// step is an action at a time.
type step struct {
	at time.Time
	do func(ctx context.Context) error
}

// correspondence has customers write and members answer.
func (f *filler) correspondence(ctx context.Context) error {
	stories, err := readStories()
	if err != nil {
		return err
	}
	var steps []step
	talks := f.talks(stories)
	for _, t := range talks {
		steps = append(steps, t.plan()...)
	}
	steps = slices.DeleteFunc(steps, func(s step) bool { return s.at.After(f.now) })
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	for i, s := range steps {
		f.Clock.Set(s.at)
		if err := s.do(ctx); err != nil {
			return err
		}
		f.Progress(.3 + .7*float64(i)/float64(len(steps)))
	}
	return f.catchUp(ctx, talks)
}

// share is the number of conversations in a language.
func share() []struct {
	locale string
	n      int
} {
	return []struct {
		locale string
		n      int
	}{{"en", 210}, {"de", 110}, {"ar", 40}, {"fr", conversations - 360}}
}

// talks returns all conversations, the newest first.
func (f *filler) talks(stories map[string][]story) []*talk {
	var talks []*talk
	for _, in := range share() {
		var who []*customer
		for _, c := range f.customers {
			if c.locale == in.locale {
				who = append(who, c)
			}
		}
		told := stories[in.locale]
		for i := range in.n {
			// No customer has the same story twice: in each round customers get the next one.
			round := i / len(who)
			one := told[(i%len(who)*3+round)%len(told)]
			talks = append(talks, f.newTalk(one, who[i%len(who)]))
		}
	}
	f.random.Shuffle(len(talks), func(i, k int) { talks[i], talks[k] = talks[k], talks[i] })
	for i, t := range talks {
		t.rank = i
		if i < fresh {
			t.begin = f.ago(float64(i)*2.5/fresh + .02)
			continue
		}
		// Some weeks ago there was less to do.
		share := float64(i-fresh) / float64(len(talks)-fresh)
		t.begin = f.ago(2.6 + (days-3)*math.Pow(share, 1.15)).Add(-f.between(0, 5*time.Hour))
		t.begin = daytime(t.begin)
	}
	return talks
}

// fresh is the number of conversations so new that some of them are unfinished.
const fresh = 40

// daytime moves messages from the night to the morning before.
func daytime(t time.Time) time.Time {
	if hour := t.Hour(); hour < 5 {
		return t.Add(-time.Duration(8) * time.Hour)
	}
	return t
}

// atWork returns the first time from t on within working hours.
func (f *filler) atWork(t time.Time) time.Time {
	for {
		switch {
		case t.Weekday() == time.Saturday || t.Weekday() == time.Sunday || t.Hour() >= 16:
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 7, 0, 0, 0, time.UTC).Add(f.between(0, 90*time.Minute))
		case t.Hour() < 7:
			t = time.Date(t.Year(), t.Month(), t.Day(), 7, 0, 0, 0, time.UTC).Add(f.between(0, 90*time.Minute))
		default:
			return t
		}
	}
}

// catchUp marks everything but the newest messages as read by the first member.
func (f *filler) catchUp(ctx context.Context, talks []*talk) error {
	me := f.members[0]
	for _, t := range talks {
		if t.id == 0 || t.rank < 25 || t.agent == me {
			continue
		}
		if _, err := me.desk.Conversations().MarkRead(ctx, t.id); err != nil {
			return fmt.Errorf("conversation %d: %w", t.id, err)
		}
	}
	return nil
}
