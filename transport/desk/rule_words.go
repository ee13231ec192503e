package desk

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The parts of rules in words, in the order in which forms offer them. Other events, which only the API offers, are shown as they
// are.
var (
	ruleEventTexts = []tick{
		{ID: "conversation.created", Text: say("a conversation begins")}, {ID: "interaction.created", Text: say("a message or note is written")},
		{ID: "conversation.updated", Text: say("anything about a conversation changes")}, {ID: "conversation.assigned", Text: say("a conversation is assigned")},
		{ID: "conversation.unassigned", Text: say("a conversation is no longer assigned")}, {ID: "conversation.prioritized", Text: say("the priority changes")},
		{ID: "conversation.closed", Text: say("a conversation is closed")}, {ID: "conversation.reopened", Text: say("a conversation is reopened")},
		{ID: "conversation.paused", Text: say("a conversation becomes pending")}, {ID: "conversation.moved", Text: say("a conversation moves to another mailbox")},
		{ID: "conversation.woken", Text: say("a snoozed conversation comes back")}, {ID: "conversation.marked_spam", Text: say("a conversation is marked as spam")},
		{ID: "interaction.delivery_failed", Text: say("a reply could not be delivered")}, {ID: "interaction.seen", Text: say("a customer has seen a reply")},
		{ID: "sla.due_soon", Text: say("something is due soon by an SLA")}, {ID: "sla.breached", Text: say("something is overdue by an SLA")},
		{ID: "rating.created", Text: say("a customer rates an answer")},
	}
	ruleFieldTexts = []tick{
		{ID: rules.FieldInteractionType, Text: say("Message type")}, {ID: rules.FieldInteractionFrom, Text: say("Sender")},
		{ID: rules.FieldInteractionTo, Text: say("Recipients")}, {ID: rules.FieldInteractionSubject, Text: say("Subject")},
		{ID: rules.FieldInteractionBody, Text: say("Text")}, {ID: rules.FieldInteractionHasAttachment, Text: say("With an attachment")},
		{ID: rules.FieldInteractionAutoSubmitted, Text: say("Message from a machine")},
		{ID: rules.FieldRating, Text: say("Rating")}, {ID: rules.FieldRatingScore, Text: say("Score of the rating")},
		{ID: rules.FieldSubject, Text: say("Subject of the conversation")}, {ID: rules.FieldMailbox, Text: say("Mailbox")}, {ID: rules.FieldStatus, Text: say("Status")},
		{ID: rules.FieldPriority, Text: say("Priority")}, {ID: rules.FieldUser, Text: say("Assigned to")}, {ID: rules.FieldTeam, Text: say("Team")},
		{ID: rules.FieldTags, Text: say("Tags")}, {ID: rules.FieldInsideHours, Text: say("Business hours")},
		{ID: rules.FieldAwaiting, Text: say("Waiting for a reply")}, {ID: rules.FieldSnoozed, Text: say("Snoozed")}, {ID: rules.FieldSpam, Text: say("Spam")},
		{ID: rules.FieldCompany, Text: say("Company")}, {ID: rules.FieldCustomer, Text: say("Customer")}, {ID: rules.FieldCustomerEmail, Text: say("Email")},
		{ID: rules.FieldCustomerName, Text: say("Name")}, {ID: rules.FieldCustomerFirstName, Text: say("First name")}, {ID: rules.FieldCustomerLastName, Text: say("Last name")},
		{ID: rules.FieldCustomerCompany, Text: say("Company")}, {ID: rules.FieldCustomerNote, Text: say("Note")}, {ID: rules.FieldCompanyName, Text: say("Name")},
		{ID: rules.FieldCompanyDomains, Text: say("Domain")}, {ID: rules.FieldCompanyExternalID, Text: say("ID in another system")}, {ID: rules.FieldCompanyNote, Text: say("Note")},
	}
	ruleOpTexts = []tick{
		{ID: string(rules.Is), Text: say("is")}, {ID: string(rules.IsNot), Text: say("is not")}, {ID: string(rules.AnyOf), Text: say("is one of")},
		{ID: string(rules.NoneOf), Text: say("is none of")}, {ID: string(rules.Contains), Text: say("contains")}, {ID: string(rules.NotContains), Text: say("does not contain")},
		{ID: string(rules.StartsWith), Text: say("begins with")}, {ID: string(rules.Matches), Text: say("matches the regular expression")},
		{ID: string(rules.Greater), Text: say("is more than")}, {ID: string(rules.Less), Text: say("is less than")}, {ID: string(rules.Before), Text: say("is before")},
		{ID: string(rules.After), Text: say("is after")}, {ID: string(rules.Empty), Text: say("is not set")}, {ID: string(rules.NotEmpty), Text: say("is set")},
		{ID: string(rules.Changed), Text: say("has changed")}, {ID: string(rules.ChangedTo), Text: say("has changed to")}, {ID: string(rules.ChangedFrom), Text: say("has changed from")},
	}
	ruleActionTexts = []tick{
		{ID: string(rules.AssignTeam), Text: say("assign to the team %s")}, {ID: string(rules.AssignUser), Text: say("assign to %s")}, {ID: string(rules.Unassign), Text: say("unassign")},
		{ID: string(rules.SetPriority), Text: say("set the priority to %s")}, {ID: string(rules.SetStatus), Text: say("set the status to %s")},
		{ID: string(rules.AddTags), Text: say("add the tags %s")}, {ID: string(rules.RemoveTags), Text: say("remove the tags %s")},
		{ID: string(rules.Move), Text: say("move to the mailbox %s")}, {ID: string(rules.Snooze), Text: say("snooze for %s hours")}, {ID: string(rules.MarkSpam), Text: say("mark as spam")},
		{ID: string(rules.AddNote), Text: say("add the note %s")}, {ID: string(rules.Reply), Text: say("send the saved reply %s")}, {ID: string(rules.Notify), Text: say("tell %s")},
		{ID: string(rules.Follow), Text: say("let %s follow")}, {ID: string(rules.Webhook), Text: say("send the event to the webhook %s")},
	}
)

// setFieldText is what the action says that sets a field of the account's own.
var setFieldText = say("set %s to %s")

// ruleWords says what rules do, with the names of what they mention.
type ruleWords struct {
	*visit
	vocabulary rules.Vocabulary
	own        map[string]helpdesk.Field // the account's own fields, by the names that conditions have for them
	order      []string                  // those names
	known      map[string][]tick         // what can be chosen, by noun
	found      map[string]map[int64]string
}

func (v *visit) ruleWords() (*ruleWords, error) {
	vocabulary, err := v.Rules().Vocabulary(v.ctx())
	if fault.Is(err, fault.Forbidden) { // macros are for all
		vocabulary, err = rules.NewVocabulary(), nil
	}
	if err != nil {
		return nil, err
	}
	return v.conditionWords(vocabulary)
}

// conditionWords says conditions about some fields.
func (v *visit) conditionWords(vocabulary rules.Vocabulary) (*ruleWords, error) {
	w := &ruleWords{visit: v, vocabulary: vocabulary, own: map[string]helpdesk.Field{}, known: map[string][]tick{}, found: map[string]map[int64]string{}}
	fields, err := v.conversationFields()
	if err = v.unlessForbidden(err); err != nil {
		return nil, err
	}
	add := func(prefix string, fields []helpdesk.Field) {
		for _, f := range fields {
			w.own[prefix+f.Key] = f
			w.order = append(w.order, prefix+f.Key)
		}
	}
	add(rules.PrefixField, fields)
	if v.may(identity.CustomersView) {
		if fields, err = v.customersFields(); err != nil {
			return nil, err
		}
		add(rules.PrefixCustomerField, fields)
	}
	if v.may(identity.CompaniesView) {
		set, err := v.Companies().Fields(v.ctx(), nil)
		if err != nil {
			return nil, err
		}
		add(rules.PrefixCompanyField, set.Fields)
	}
	return w, nil
}

// choices are what can be chosen of a noun, as far as the member may see it.
func (w *ruleWords) choices(noun string) ([]tick, error) {
	if all, known := w.known[noun]; known {
		return all, nil
	}
	all, err := w.readChoices(noun)
	w.known[noun] = all
	return all, w.unlessForbidden(err)
}

func (w *ruleWords) readChoices(noun string) (all []tick, err error) {
	add := func(id int64, name string) { all = append(all, tick{ID: itoa(id), Text: name}) }
	switch noun {
	case "user":
		team, err := w.team()
		for _, p := range team {
			add(p.ID, p.Name)
		}
		return all, err
	case "team":
		links, err := w.teamLinks()
		for _, l := range links {
			all = append(all, tick{ID: l.URL, Text: l.Text})
		}
		return all, err
	case "mailbox":
		return w.boxTicks(nil)
	case "tag":
		if !w.may(identity.TagsView) {
			return nil, nil
		}
		tags, err := w.allTags()
		for _, t := range tags {
			add(t.ID, t.Name)
		}
		return all, err
	case "calendar":
		return w.calendarTicks(0)
	case "saved_reply":
		replies, err := w.savedReplies()
		for _, r := range replies {
			add(r.ID, r.Name)
		}
		return all, err
	case "company":
		page, err := w.Companies().List(w.ctx(), helpdesk.CompanyQuery{}, storage.PageRequest{Limit: storage.MaxLimit})
		for _, c := range page.Items {
			add(c.ID, c.Name)
		}
		return all, err
	case "webhook":
		page, err := w.Webhooks().List(w.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
		for _, h := range page.Items {
			add(h.ID, h.URL)
		}
		return all, err
	}
	return nil, nil
}

// named names something by its noun and id; what is gone, or out of the member's sight, is "deleted".
func (w *ruleWords) named(noun, id string) (string, error) {
	all, err := w.choices(noun)
	if n := slices.IndexFunc(all, func(t tick) bool { return t.ID == id }); n >= 0 || err != nil {
		if err != nil {
			return "", err
		}
		return all[n].Text, nil
	}
	names := w.found[noun]
	if names == nil {
		names = map[int64]string{}
		w.found[noun] = names
	}
	if _, read := names[number(id)]; !read {
		if names[number(id)], err = w.nameOf(noun, number(id)); err != nil {
			return "", err
		}
	}
	return cmp.Or(names[number(id)], w.words.T("deleted")), nil
}

// nameOf reads the name of something of which there are too many to choose from.
func (w *ruleWords) nameOf(noun string, id int64) (string, error) {
	switch {
	case noun == "customer" && w.may(identity.CustomersView):
		found, err := w.Customers().ByID(w.ctx(), []int64{id})
		for _, c := range found {
			return customerName(c), err
		}
		return "", err
	case noun == "company" && w.may(identity.CompaniesView):
		found, err := w.Companies().ByID(w.ctx(), []int64{id})
		for _, c := range found {
			return c.Name, err
		}
		return "", err
	case noun == "user":
		found, err := w.people([]int64{id})
		return found[id].Name, err
	}
	return "", nil
}

// textOf returns the text of a part of a rule, in the member's language; one that is not known is shown as it is.
func (w *ruleWords) textOf(all []tick, id string) string {
	if n := slices.IndexFunc(all, func(t tick) bool { return t.ID == id }); n >= 0 {
		return w.words.T(all[n].Text)
	}
	return id
}

// fieldName names a field of conditions.
func (w *ruleWords) fieldName(name string) string {
	f, own := w.own[name]
	switch {
	case own && strings.HasPrefix(name, rules.PrefixCustomerField):
		return w.words.T("Customer: %s", f.Label)
	case own && strings.HasPrefix(name, rules.PrefixCompanyField):
		return w.words.T("Company: %s", f.Label)
	case own:
		return f.Label
	}
	text := w.textOf(ruleFieldTexts, name)
	switch {
	case strings.HasPrefix(name, "customer."):
		return w.words.T("Customer: %s", text)
	case strings.HasPrefix(name, "company.") && name != rules.FieldCompany:
		return w.words.T("Company: %s", text)
	}
	return text
}

// optionText names an option of a field of conditions.
func (w *ruleWords) optionText(field, value string) string {
	switch field {
	case rules.FieldStatus:
		return w.statusName(helpdesk.Status(value))
	case rules.FieldPriority:
		return urgencyOf(w.words, helpdesk.Priority(value)).Text
	case rules.FieldInteractionType:
		return w.textOf([]tick{{ID: "customer", Text: say("message of a customer")}, {ID: "user", Text: say("reply of a member")}, {ID: "note", Text: say("Note")}}, value)
	}
	if f, own := w.own[field]; own {
		return w.shownField(f, []string{value})
	}
	return value
}

// valuesText lists the values of a field.
func (w *ruleWords) valuesText(name string, values []string) (string, error) {
	said, err := w.valueTexts(name, values)
	return w.words.list(said), err
}

// valueTexts says each value of a field.
func (w *ruleWords) valueTexts(name string, values []string) ([]string, error) {
	f, _ := w.vocabulary.Field(name)
	said := make([]string, len(values))
	for i, value := range values {
		switch f.Kind {
		case rules.KindID, rules.KindIDs, rules.KindHours:
			text, err := w.named(f.Refers, value)
			if err != nil {
				return nil, err
			}
			said[i] = text
		case rules.KindFlag:
			said[i] = map[string]string{"true": w.words.T("Yes"), "false": w.words.T("No")}[value]
		case rules.KindMoment:
			if at, err := time.Parse(time.RFC3339, value); err == nil {
				said[i] = w.whenever(at)
			}
		case rules.KindDay:
			if day, err := time.ParseInLocation(time.DateOnly, value, w.zone); err == nil {
				said[i] = w.day(day)
			}
		case rules.KindChoice, rules.KindChoices, rules.KindLevel:
			said[i] = w.optionText(name, value)
		case rules.KindText, rules.KindTexts:
			said[i] = "“" + value + "”"
		case rules.KindNumber:
			said[i] = value
		default:
			said[i] = value
		}
	}
	return said, nil
}

// whenever formats a time without leaving out its day.
func (v *visit) whenever(at time.Time) string {
	c := calendars[v.words.lang]
	return c.join(v.day(at), c.format(c.clock, at.In(v.zone)))
}

// said says one condition.
func (w *ruleWords) said(c rules.Condition) (string, error) {
	all, err := w.valueTexts(c.Field, c.Values)
	if err != nil {
		return "", err
	}
	values, op := strings.Join(all, " "+w.words.T("or")+" "), c.Op
	if values == "" && !noValues(op) {
		values = "…"
	}
	switch f, _ := w.vocabulary.Field(c.Field); {
	case f.Kind == rules.KindHours && (op == rules.Is || op == rules.AnyOf):
		return w.words.T("Within %s", values), nil
	case f.Kind == rules.KindHours:
		return w.words.T("Outside %s", values), nil
	case op == rules.AnyOf && len(c.Values) == 1 && !several(f.Kind):
		op = rules.Is
	case op == rules.NoneOf && len(c.Values) == 1 && !several(f.Kind):
		op = rules.IsNot
	}
	rest := strings.TrimSpace(w.opText(c.Field, op) + " " + values)
	if w.plural(c.Field) {
		return w.words.T("%s: %s", w.fieldName(c.Field), rest), nil
	}
	return w.fieldName(c.Field) + " " + rest, nil
}

// plural reports whether a field is named in the plural, or may be, so that a verb does not fit it: "Tags: contains VIP".
func (w *ruleWords) plural(field string) bool {
	f, _ := w.vocabulary.Field(field)
	return field == rules.FieldInteractionTo || f.Kind == rules.KindIDs || f.Kind == rules.KindChoices
}

// lineName names a field before the choice of an operator.
func (w *ruleWords) lineName(field string) string {
	if w.plural(field) {
		return strings.TrimSpace(w.words.T("%s: %s", w.fieldName(field), ""))
	}
	return w.fieldName(field)
}

func several(k rules.Kind) bool {
	return k == rules.KindIDs || k == rules.KindChoices || k == rules.KindTexts || k == rules.KindHours
}

// opText says an operator. Of a field with several values, some are said otherwise.
func (w *ruleWords) opText(field string, op rules.Op) string {
	f, _ := w.vocabulary.Field(field)
	switch {
	case f.Kind == rules.KindHours && op == rules.AnyOf:
		return w.words.T("is within")
	case f.Kind == rules.KindHours && op == rules.NoneOf:
		return w.words.T("is outside")
	case (f.Kind == rules.KindIDs || f.Kind == rules.KindChoices) && op == rules.AnyOf:
		return w.words.T("contains")
	case (f.Kind == rules.KindIDs || f.Kind == rules.KindChoices) && op == rules.NoneOf:
		return w.words.T("does not contain")
	}
	return w.textOf(ruleOpTexts, string(op))
}

// does says one action.
func (w *ruleWords) does(a rules.Action) (string, error) {
	text := ""
	switch noun := a.Type.Refers(); {
	case noun != "":
		var names []string
		for _, id := range a.Values {
			name, err := w.named(noun, id)
			if err != nil {
				return "", err
			}
			names = append(names, name)
		}
		text = w.words.list(names)
	case a.Type == rules.SetField:
		values, err := w.valuesText(rules.PrefixField+a.Field, a.Values)
		return w.words.T(setFieldText, w.fieldName(rules.PrefixField+a.Field), cmp.Or(values, "–")), err
	case a.Type == rules.AddNote && len(a.Values) > 0:
		text = "“" + mailhtml.Preview(a.Values[0], 60, false) + "”"
	case a.Type == rules.SetStatus && len(a.Values) > 0:
		text = w.optionText(rules.FieldStatus, a.Values[0])
	case a.Type == rules.SetPriority && len(a.Values) > 0:
		text = w.optionText(rules.FieldPriority, a.Values[0])
	case len(a.Values) > 0:
		text = a.Values[0]
	}
	return w.actionText(string(a.Type), cmp.Or(text, "…")), nil
}

// actionText says what an action of a type does.
func (w *ruleWords) actionText(kind, with string) string {
	n := slices.IndexFunc(ruleActionTexts, func(t tick) bool { return t.ID == kind })
	switch {
	case n < 0:
		return kind
	case !strings.Contains(ruleActionTexts[n].Text, "%s"):
		return w.words.T(ruleActionTexts[n].Text)
	}
	return w.words.T(ruleActionTexts[n].Text, with)
}

// ruleSaid is a rule as a sentence.
type ruleSaid struct{ When, If, Then string }

// sentence says what a rule does.
func (w *ruleWords) sentence(r helpdesk.Rule) (ruleSaid, error) {
	var s ruleSaid
	all := r.All
	var events []string
	for _, on := range r.On {
		if on == helpdesk.RuleTime {
			text, err := w.passed(r.After)
			if err != nil {
				return s, err
			}
			if n := slices.IndexFunc(all, awaited); n >= 0 && r.After.Since == helpdesk.SinceCustomerWrote {
				all, text = slices.Delete(slices.Clone(all), n, n+1), w.words.T("%s, without an answer", text)
			}
			events = append(events, text)
			continue
		}
		text := w.textOf(ruleEventTexts, on)
		if n := slices.IndexFunc(all, ofCustomers); on == "interaction.created" && n >= 0 && len(r.On) == 1 {
			all, text = slices.Delete(slices.Clone(all), n, n+1), w.words.T("a customer writes")
		}
		events = append(events, text)
	}
	either := " " + w.words.T("or") + " "
	s.When = strings.Join(events, either)
	join := func(conditions []rules.Condition, with string) (string, error) {
		var said []string
		for _, c := range conditions {
			one, err := w.said(c)
			if err != nil {
				return "", err
			}
			said = append(said, one)
		}
		return strings.Join(said, with), nil
	}
	and := " " + w.words.T("and") + " "
	must, err := join(all, and)
	if err != nil {
		return s, err
	}
	some, err := join(r.Any, either)
	if err != nil {
		return s, err
	}
	if s.If = must; must != "" && some != "" {
		s.If = must + and + "(" + some + ")"
	} else if must == "" {
		s.If = some
	}
	var does []string
	for _, a := range r.Actions {
		one, err := w.does(a)
		if err != nil {
			return s, err
		}
		does = append(does, one)
	}
	s.Then = strings.Join(does, and)
	return s, nil
}

// awaited reports whether a condition is that the customer waits for a reply.
func awaited(c rules.Condition) bool {
	return c.Field == rules.FieldAwaiting && c.Op == rules.Is && slices.Equal(c.Values, []string{"true"})
}

// ofCustomers reports whether a condition is that a customer wrote the message.
func ofCustomers(c rules.Condition) bool {
	return c.Field == rules.FieldInteractionType && (c.Op == rules.Is || c.Op == rules.AnyOf) && slices.Equal(c.Values, []string{"customer"})
}
