package desk

import (
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage/fault"
)

// targetName names a kind of target.
func (v *visit) targetName(k sla.Kind) string {
	switch k {
	case sla.FirstReply:
		return v.words.T("First reply")
	case sla.NextReply:
		return v.words.T("Next reply")
	case sla.Resolution:
		return v.words.T("Resolution")
	}
	return string(k)
}

// span says how long something lasts with its two largest units: "2 h 10 min".
func (w words) span(d time.Duration) string {
	d = d.Round(time.Minute)
	days, rest := d/(24*time.Hour), d%(24*time.Hour)
	hours, minutes := rest/time.Hour, rest%time.Hour/time.Minute
	var parts []string
	for _, p := range []struct {
		n    time.Duration
		unit time.Duration
	}{{days, 24 * time.Hour}, {hours, time.Hour}, {minutes, time.Minute}} {
		if p.n > 0 && len(parts) < 2 {
			parts = append(parts, w.lasted(p.n*p.unit))
		} else if len(parts) > 0 {
			break
		}
	}
	if len(parts) == 0 {
		return w.lasted(time.Minute)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts[0] + " " + parts[1]
}

// dueState is a target in words and colour.
type dueState struct {
	Text  string
	Level string // warn, bad, ok, or none
	Icon  string
	At    string // RFC 3339
	Full  string
	Why   string // the SLA
}

// dueOf says what is due next in a conversation; nil: nothing is.
func (v *visit) dueOf(c helpdesk.Conversation) *dueState {
	o, due := c.DueTarget()
	if !due {
		return nil
	}
	s := v.dueState(o)
	return &s
}

// dueState says how it stands with a target.
func (v *visit) dueState(o sla.Target) dueState {
	name := v.targetName(o.Kind)
	s := dueState{Icon: "clock"}
	if !o.DueAt.IsZero() {
		s.At, s.Full = o.DueAt.Format(time.RFC3339), v.full(o.DueAt)
	}
	late := v.now.Sub(o.DueAt)
	switch {
	case o.State == sla.Met:
		s.Text, s.Level, s.Icon = v.words.T("%s: met", name), "ok", "check"
	case o.State == sla.Paused:
		s.Text, s.Icon = v.words.T("%s: paused", name), "snooze"
	case o.Ended():
		s.Text, s.Level, s.Icon = v.words.T("%s: late by %s", name, v.words.span(o.MetAt.Sub(o.DueAt))), "bad", "alert"
	case late >= 0:
		s.Text, s.Level, s.Icon = v.words.T("%s overdue by %s", name, v.words.span(late)), "bad", "alert"
	default:
		s.Text = v.words.T("%s due in %s", name, v.words.span(-late))
		if !v.now.Before(o.SoonAt) {
			s.Level = "warn"
		}
	}
	return s
}

// fillDue fills in the targets of a conversation, and the SLA that is their reason.
func (v *visit) fillDue(c helpdesk.Conversation, view *conversationView) error {
	view.Due = v.dueOf(c)
	names, err := v.slaNames([]int64{c.SLAID})
	if err != nil {
		return err
	}
	for _, o := range c.Targets() {
		view.Targets = append(view.Targets, v.dueState(o))
	}
	view.SLA = names[c.SLAID]
	return nil
}

// slaNames names SLAs by id and leads to them. Those that are gone are missing, and all without the permission to see SLAs.
func (v *visit) slaNames(ids []int64) (map[int64]Link, error) {
	found := map[int64]Link{}
	if ids = without(ids, 0); len(ids) == 0 || !v.may(identity.SLAsView) {
		return found, nil
	}
	all, err := v.allSLAs()
	if fault.Is(err, fault.Forbidden) {
		err = nil
	}
	for _, s := range all {
		if slices.Contains(ids, s.ID) {
			found[s.ID] = Link{Text: v.words.T("SLA “%s”", s.Name), URL: v.at("/settings/slas/" + itoa(s.ID))}
		}
	}
	return found, err
}

// actingSLAs are the SLAs that a history names.
func (v *visit) actingSLAs(all []helpdesk.HistoryEntry) (map[int64]Link, error) {
	var ids []int64
	for _, e := range all {
		if e.Actor.Type == subscription.ActorSLA {
			ids = append(ids, e.Actor.ID)
		}
		ids = append(ids, idIn(e.Changes["sla_id"].To))
	}
	return v.slaNames(ids)
}

// targetLine says what became of a target.
func (v *visit) targetLine(e helpdesk.HistoryEntry, who string) (line, bool) {
	for _, kind := range e.Events {
		name := v.targetName(e.Why.Target.Kind)
		switch kind {
		case "sla.due_soon":
			return line{Icon: "clock", Text: v.words.T("%s: %s is due soon", who, name)}, true
		case "sla.breached":
			return line{Icon: "alert", Text: v.words.T("%s: %s is overdue", who, name)}, true
		case "sla.met":
			return line{Icon: "check", Text: v.words.T("%s: %s was in time", who, name)}, true
		}
	}
	return line{}, false
}

// dueLine says when something is due since a promise changed; "": that is not told.
func (v *visit) dueLine(c subscription.Changes, who string, names historyNames) string {
	due, moved := c["due_at"]
	name := names.slas[idIn(c["sla_id"].To)].Text
	at, err := time.Parse(time.RFC3339, textIn(due.To))
	switch {
	case moved && err == nil && name != "":
		return v.words.T("%s: %s, due %s", who, name, v.when(at))
	case moved && err == nil:
		return v.words.T("%s: now due %s", who, v.when(at))
	case name != "":
		return who + ": " + name
	}
	return ""
}
