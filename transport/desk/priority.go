package desk

import (
	"github.com/helpwright/helpwright/helpdesk"
)

// urgency is a priority as pages show it.
type urgency struct {
	Value string
	Text  string
	Level string // "", warn or bad
}

// urgencyOf shows a priority.
func urgencyOf(w words, p helpdesk.Priority) urgency {
	u := urgency{Value: string(p)}
	switch p {
	case helpdesk.PriorityUrgent:
		u.Text, u.Level = w.T("Urgent"), "bad"
	case helpdesk.PriorityHigh:
		u.Text, u.Level = w.T("High"), "warn"
	case helpdesk.PriorityLow:
		u.Text = w.T("Low")
	case helpdesk.PriorityNormal:
		u.Text = w.T("Normal")
	default:
		return urgencyOf(w, helpdesk.PriorityNormal)
	}
	return u
}

// unusual returns a priority unless it is normal.
func unusual(w words, p helpdesk.Priority) *urgency {
	u := urgencyOf(w, p)
	if u.Value == string(helpdesk.PriorityNormal) {
		return nil
	}
	return &u
}

// urgencies are the priorities to choose from, the most urgent first.
func urgencies(w words) []urgency {
	return []urgency{
		urgencyOf(w, helpdesk.PriorityUrgent), urgencyOf(w, helpdesk.PriorityHigh),
		urgencyOf(w, helpdesk.PriorityNormal), urgencyOf(w, helpdesk.PriorityLow),
	}
}

// pressing names the filter for high and urgent.
const pressing = "pressing"

// priorities returns the priorities that a filter selects.
func (l listing) priorities() []helpdesk.Priority {
	switch l.priority {
	case "":
		return nil
	case pressing:
		return []helpdesk.Priority{helpdesk.PriorityHigh, helpdesk.PriorityUrgent}
	}
	return []helpdesk.Priority{helpdesk.Priority(l.priority)}
}

// priorityOptions are the filters by priority.
func priorityOptions(w words) [][2]string {
	options := [][2]string{{"", w.T("Any priority")}, {pressing, w.T("High or urgent")}}
	for _, u := range urgencies(w) {
		options = append(options, [2]string{u.Value, u.Text})
	}
	return options
}

// setPriority changes the priority of a conversation.
func (v *visit) setPriority() error { return v.changeOne("priority", v.r.PostFormValue("priority")) }
