package desk

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// morning is the hour at which conversations snoozed until another day return.
const morning = 9

// nap is a time until which a conversation can be snoozed.
type nap struct {
	Text, When string
	At         int64 // Unix time
}

// naps returns the choices of times, in the member's zone.
func (v *visit) naps() []nap {
	now := v.now.In(v.zone)
	day := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, morning, 0, 0, 0, v.zone)
	}
	toMonday := (8 - int(now.Weekday())) % 7
	if toMonday == 0 {
		toMonday = 7
	}
	var list []nap
	add := func(text string, at time.Time) {
		list = append(list, nap{text, v.when(at), at.Unix()})
	}
	if later := now.Add(3 * time.Hour).Truncate(time.Hour); later.Day() == now.Day() {
		add(v.words.T("Later today"), later)
	}
	add(v.words.T("Tomorrow"), day(1))
	if toMonday > 1 {
		add(v.words.T("Monday"), day(toMonday))
	}
	add(v.words.T("In a week"), day(7))
	return list
}

// napUntil reads the time of a form: from a button or from its field; zero ends the snooze.
func (v *visit) napUntil(value string) storage.Opt[time.Time] {
	if at, err := time.ParseInLocation("2006-01-02T15:04", v.r.PostFormValue("at"), v.zone); err == nil && value == "" {
		return storage.Some(at)
	}
	if n := number(value); n != 0 {
		return storage.Some(time.Unix(n, 0))
	}
	return storage.Null[time.Time]()
}

// snooze snoozes a conversation until a time or until the customer writes.
func (v *visit) snooze() error { return v.changeOne("snooze", v.r.PostFormValue("until")) }

// asleep returns until when a conversation is snoozed, "" if it is not.
func (v *visit) asleep(c helpdesk.Conversation) string {
	if c.SnoozedUntil.IsZero() || !c.SnoozedUntil.After(v.now) {
		return ""
	}
	return v.words.T("Until %s", v.when(c.SnoozedUntil))
}
