package desk

import (
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// conditionTexts name the conditions of a view, in the order in which they are shown.
var conditionTexts = []tick{
	{ID: "status", Text: say("Status")}, {ID: "agent", Text: say("Assigned to")}, {ID: "team", Text: say("Team")}, {ID: "tag", Text: say("Tag")},
	{ID: "mailbox", Text: say("Mailbox")}, {ID: "customer", Text: say("Customer")}, {ID: "company", Text: say("Company")}, {ID: "priority", Text: say("Priority")}, {ID: "words", Text: say("Contains")},
	{ID: "since", Text: say("Changed since")}, {ID: "awaiting", Text: say("Waiting")}, {ID: "snoozed", Text: say("Snoozed")}, {ID: "spam", Text: say("Spam")},
	{ID: "draft", Text: say("Has a draft of yours")}, {ID: "undelivered", Text: say("Undelivered")}, {ID: "due", Text: say("Due")},
	{ID: "rating", Text: say("Rating")}, {ID: "held", Text: say("On hold")},
}

// dueTexts name when something is due.
var dueTexts = []tick{
	{ID: string(helpdesk.DueAny), Text: say("At some time")}, {ID: string(helpdesk.DueToday), Text: say("Today")},
	{ID: string(helpdesk.DueSoon), Text: say("Soon")}, {ID: string(helpdesk.DueBreached), Text: say("Overdue")},
}

// condition is a condition of a view in the form: a choice of one, of several, a text, a day, or nothing but its name.
type condition struct {
	ID, Label     string
	One, Several  []tick
	Text, Day     string
	IsText, IsDay bool
	Range         string // the type of the controls for From and To, if it is a range
	From, To      string
	Only          string // what it is, if it can only be removed
	Presence      []tick // of a field: a value, any, or none
}

// conditionsForm edits the conditions of a view.
type conditionsForm struct {
	Again  string // address of the form for showing it again
	Rows   []condition
	Others []tick // that can be added
	Found  string // how many conversations have them
}

// conditionsForm shows the conditions of a filter, and those in more that have no value yet.
func (v *visit) conditionsForm(f helpdesk.ViewFilter, more ...string) (*conditionsForm, error) {
	form := &conditionsForm{Again: v.h.url(v.r.URL.Path) + "#conditions"}
	for _, kind := range conditionTexts {
		if !hasCondition(f, kind.ID) && !slices.Contains(more, kind.ID) {
			if kind.ID != "customer" && kind.ID != "company" { // they are chosen by filtering their conversations
				form.Others = append(form.Others, tick{ID: kind.ID, Text: v.words.T(kind.Text)})
			}
			continue
		}
		row := condition{ID: kind.ID, Label: v.words.T(kind.Text)}
		if err := v.fillCondition(&row, f); err != nil {
			return nil, err
		}
		form.Rows = append(form.Rows, row)
	}
	kinds, fields, err := v.fieldConditions()
	if err != nil {
		return nil, err
	}
	for i, kind := range kinds {
		q, given := f.Fields[fields[i].Key]
		if !given && !slices.Contains(more, kind.ID) {
			form.Others = append(form.Others, kind)
			continue
		}
		row := condition{ID: kind.ID, Label: kind.Text}
		v.fillFieldCondition(&row, fields[i], q)
		form.Rows = append(form.Rows, row)
	}
	form.Found, err = v.countFound(f)
	return form, err
}

// hasCondition reports whether a filter has a condition.
func hasCondition(f helpdesk.ViewFilter, kind string) bool {
	return map[string]bool{
		"status": len(f.Statuses) > 0, "agent": f.Agent != "", "team": f.TeamID != 0, "tag": len(f.TagIDs) > 0, "mailbox": f.MailboxID != 0,
		"customer": f.CustomerID != 0, "company": f.CompanyID != 0, "priority": len(f.Priorities) > 0, "words": f.Words != "", "since": !f.UpdatedSince.IsZero(),
		"awaiting": f.Awaiting != nil, "snoozed": f.Snoozed != nil, "spam": f.Spam != nil, "held": f.Held != nil, "draft": f.Draft != "", "undelivered": f.Undelivered, "due": f.Due != "", "rating": len(f.Ratings) > 0,
	}[kind]
}

// fillCondition fills in the choices of a condition and what is chosen.
func (v *visit) fillCondition(row *condition, f helpdesk.ViewFilter) error {
	w := v.words
	switch row.ID {
	case "status":
		for _, s := range openStatuses[:len(openStatuses):len(openStatuses)] {
			row.Several = append(row.Several, tick{ID: string(s), Text: v.statusName(s), On: slices.Contains(f.Statuses, s)})
		}
		row.Several = append(row.Several, tick{ID: string(helpdesk.StatusClosed), Text: v.statusName(helpdesk.StatusClosed), On: slices.Contains(f.Statuses, helpdesk.StatusClosed)})
		if slices.Contains(f.Statuses, helpdesk.StatusDraft) {
			row.Several = append(row.Several, tick{ID: string(helpdesk.StatusDraft), Text: v.statusName(helpdesk.StatusDraft), On: true})
		}
	case "priority":
		for _, p := range slices.Backward(helpdesk.Priorities()) {
			row.Several = append(row.Several, tick{ID: string(p), Text: urgencyOf(w, p).Text, On: slices.Contains(f.Priorities, p)})
		}
	case "words":
		row.Text, row.IsText = f.Words, true
	case "since":
		if row.IsDay = true; !f.UpdatedSince.IsZero() {
			row.Day = f.UpdatedSince.In(v.zone).Format(time.DateOnly)
		}
	case "awaiting":
		row.One = either(f.Awaiting, w.T("Customer waits for an answer"), w.T("Customer does not wait"))
	case "snoozed":
		row.One = either(f.Snoozed, w.T("Snoozed"), w.T("Not snoozed"))
	case "spam":
		row.One = either(f.Spam, w.T("Spam"), w.T("No spam"))
	case "held":
		row.One = either(f.Held, w.T("On hold"), w.T("Not on hold"))
	case "draft", "undelivered":
		row.Only = row.Label
	case "rating":
		for _, r := range verdictTexts {
			row.Several = append(row.Several, tick{ID: r.ID, Text: w.T(r.Text), On: slices.Contains(f.Ratings, helpdesk.Verdict(r.ID))})
		}
	case "due":
		for _, d := range dueTexts {
			row.One = append(row.One, tick{ID: d.ID, Text: w.T(d.Text), On: string(f.Due) == d.ID})
		}
	default:
		return v.fillNamed(row, f)
	}
	return nil
}

// fillNamed is fillCondition for conditions that name something of the account.
func (v *visit) fillNamed(row *condition, f helpdesk.ViewFilter) error {
	gone, now := v.words.T("deleted"), ""
	switch row.ID {
	case "agent":
		now = f.Agent
		row.One = []tick{{ID: helpdesk.AgentMe, Text: v.words.T("Me")}, {ID: helpdesk.AgentUnassigned, Text: v.words.T("Nobody")}}
		team, err := v.team()
		if err != nil {
			return err
		}
		for _, p := range team {
			row.One = append(row.One, tick{ID: itoa(p.ID), Text: p.Name})
		}
	case "team":
		now = itoa(f.TeamID)
		teams, err := v.teamLinks()
		if err != nil {
			return err
		}
		for _, t := range teams {
			row.One = append(row.One, tick{ID: t.URL, Text: t.Text})
		}
	case "mailbox":
		now = itoa(f.MailboxID)
		boxes, err := v.mailboxes()
		if err != nil {
			return err
		}
		for _, m := range boxes {
			row.One = append(row.One, tick{ID: itoa(m.ID), Text: m.Name})
		}
	case "customer":
		said, err := v.conditions(helpdesk.ViewFilter{CustomerID: f.CustomerID})
		row.Only = said[0]
		return err
	case "company":
		said, err := v.conditions(helpdesk.ViewFilter{CompanyID: f.CompanyID})
		row.Only = said[0]
		return err
	case "tag":
		return v.fillTags(row, f, gone)
	}
	found := false
	for i := range row.One {
		row.One[i].On = row.One[i].ID == now
		found = found || row.One[i].On
	}
	switch {
	case now == "" || now == "0": // a new condition
		row.One = slices.Insert(row.One, 0, tick{Text: v.words.T("Choose"), On: true})
	case !found:
		row.One = append(row.One, tick{ID: now, Text: gone, On: true})
	}
	return nil
}

func (v *visit) fillTags(row *condition, f helpdesk.ViewFilter, gone string) error {
	left := slices.Clone(f.TagIDs)
	if v.may(identity.TagsView) {
		tags, err := v.allTags()
		if err != nil {
			return err
		}
		for _, t := range tags {
			row.Several = append(row.Several, tick{ID: itoa(t.ID), Text: t.Name, On: slices.Contains(f.TagIDs, t.ID)})
			left = without(left, t.ID)
		}
	}
	for _, id := range left {
		row.Several = append(row.Several, tick{ID: itoa(id), Text: gone, On: true})
	}
	return nil
}

// either are the two choices of a condition that is true or false. A new one is true.
func either(now *bool, yes, no string) []tick {
	return []tick{{ID: "yes", Text: yes, On: now == nil || *now}, {ID: "no", Text: no, On: now != nil && !*now}}
}

// maxFound is how many conversations of a view are counted.
const maxFound = storage.MaxLimit

// countFound says how many conversations a filter finds, "" if it cannot be applied.
func (v *visit) countFound(f helpdesk.ViewFilter) (string, error) {
	q, ok := f.Query(v.UserID())
	if !ok || !v.may(identity.ConversationsView) {
		return "", nil
	}
	page, err := v.Conversations().List(v.ctx(), q, storage.PageRequest{Limit: maxFound})
	switch {
	case fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound):
		return "", nil
	case err != nil:
		return "", err
	case page.Next != "":
		return v.words.T("More than %s conversations", maxFound), nil
	}
	return v.words.N(len(page.Items), "%s conversation|%s conversations"), nil
}

// formConditions reads the conditions of the form: the filter, and the conditions that have no value yet. What the form does
// not show, such as the order, stays as it was.
func (v *visit) formConditions(old helpdesk.ViewFilter) (f helpdesk.ViewFilter, more []string) {
	f = helpdesk.ViewFilter{Sort: old.Sort, Ascending: old.Ascending}
	do := v.r.PostFormValue("do")
	for _, kind := range v.r.PostForm["has"] {
		if do == "drop-"+kind {
			continue
		}
		v.readCondition(&f, old, kind)
		more = append(more, kind)
	}
	if added := v.r.PostFormValue("add"); do == "add" && added != "" {
		v.readCondition(&f, old, added)
		more = append(more, added)
	}
	return f, more
}

// readCondition reads one condition of the form into a filter.
func (v *visit) readCondition(f *helpdesk.ViewFilter, old helpdesk.ViewFilter, kind string) {
	all := v.r.PostForm["c_"+kind]
	one := v.r.PostFormValue("c_" + kind)
	yes := one != "no"
	if key, of := strings.CutPrefix(kind, fieldPrefix); of {
		v.readFieldCondition(f, key)
		return
	}
	switch kind {
	case "status":
		for _, s := range all {
			f.Statuses = append(f.Statuses, helpdesk.Status(s))
		}
	case "agent":
		f.Agent = one
	case "team":
		f.TeamID = number(one)
	case "tag":
		for _, id := range all {
			f.TagIDs = append(f.TagIDs, number(id))
		}
		f.TagIDs = without(f.TagIDs, 0)
	case "mailbox":
		f.MailboxID = number(one)
	case "customer":
		f.CustomerID = old.CustomerID
	case "company":
		f.CompanyID = old.CompanyID
	case "priority":
		for _, p := range all {
			f.Priorities = append(f.Priorities, helpdesk.Priority(p))
		}
	case "words":
		f.Words = strings.TrimSpace(one)
	case "since":
		f.UpdatedSince = v.sameDay(one, old.UpdatedSince)
	case "awaiting":
		f.Awaiting = &yes
	case "snoozed":
		f.Snoozed = &yes
	case "spam":
		f.Spam = &yes
	case "held":
		f.Held = &yes
	case "draft":
		f.Draft = helpdesk.AgentMe
	case "undelivered":
		f.Undelivered = true
	case "rating":
		for _, r := range all {
			f.Ratings = append(f.Ratings, helpdesk.Verdict(r))
		}
	case "due":
		f.Due = helpdesk.Due(one)
	}
}

// sameDay reads a day, and leaves the time of one that is as before.
func (v *visit) sameDay(text string, was time.Time) time.Time {
	if !was.IsZero() && was.In(v.zone).Format(time.DateOnly) == text {
		return was
	}
	day, err := time.ParseInLocation(time.DateOnly, text, v.zone)
	if err != nil {
		return time.Time{}
	}
	return day
}
