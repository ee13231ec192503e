package desk

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// ruleControl is the control for values in the form of a rule.
type ruleControl struct {
	Kind    string // none, one, several, lines, note, or a type of input
	Name    string
	Label   string
	Options []tick
	Text    string
	Rows    int
}

// ruleLine is a condition or an action in the form of a rule. Its controls have names that begin with Name.
type ruleLine struct {
	N, Name, Label string
	Shown          string // the label with what leads to the operator
	Is             string // the field of a condition, the type of an action
	Field          string // of an action that sets one
	Ops            []tick
	Control        ruleControl
	Problems       []string
	Drop           string
}

// rulePart is a list of conditions, or of actions, in the form.
type rulePart struct {
	ID, Title, Hint, Add string
	Lines                []ruleLine
	Others               []tick // that can be added
	Problem              string
}

// The parts of the form of a rule.
const (
	partAll  = "all"
	partAny  = "any"
	partThen = "then"
)

// noValues reports whether conditions with an operator have no value.
func noValues(op rules.Op) bool {
	_, most := op.Values()
	return most == 0
}

// ops are the operators to choose from: those that say what others say as well are only offered where they are chosen.
func (w *ruleWords) ops(f rules.Field, now rules.Op) []tick {
	left := map[rules.Kind][]rules.Op{
		rules.KindText: {rules.AnyOf, rules.NoneOf}, rules.KindTexts: {rules.AnyOf, rules.NoneOf}, rules.KindNumber: {rules.AnyOf, rules.NoneOf},
		rules.KindDay: {rules.AnyOf, rules.NoneOf}, rules.KindMoment: {rules.AnyOf, rules.NoneOf}, rules.KindFlag: {rules.IsNot},
		rules.KindChoice: {rules.Is, rules.IsNot}, rules.KindID: {rules.Is, rules.IsNot}, rules.KindHours: {rules.Is, rules.IsNot},
		rules.KindLevel: {rules.Is, rules.IsNot, rules.Greater, rules.Less}, rules.KindIDs: {rules.Contains, rules.NotContains},
		rules.KindChoices: {rules.Contains, rules.NotContains},
	}[f.Kind]
	var all []tick
	for _, op := range f.Ops() {
		if op == now || !slices.Contains(left, op) {
			all = append(all, tick{ID: string(op), Text: w.opText(f.Name, op), On: op == now})
		}
	}
	return all
}

// firstOp is the operator of a condition that is added.
func (w *ruleWords) firstOp(name string) rules.Op {
	f, _ := w.vocabulary.Field(name)
	if f.Kind == rules.KindText || f.Kind == rules.KindTexts {
		return rules.Contains
	}
	if ops := w.ops(f, ""); len(ops) > 0 {
		return rules.Op(ops[0].ID)
	}
	return rules.Is
}

// control returns the control for values of a field.
func (w *ruleWords) control(name string, f rules.Field, values []string) (ruleControl, error) {
	c := ruleControl{Kind: "lines", Name: name, Text: strings.Join(values, "\n"), Rows: min(max(1, len(values)), 6)}
	single := len(values) < 2
	switch {
	case f.Kind == rules.KindFlag && single:
		c.Kind = "one"
		c.Options = []tick{{ID: "true", Text: w.words.T("Yes"), On: c.Text != "false"}, {ID: "false", Text: w.words.T("No"), On: c.Text == "false"}}
	case f.Kind == rules.KindNumber && single:
		c.Kind = "number"
	case f.Kind == rules.KindDay && single:
		c.Kind = "date"
	case f.Kind == rules.KindMoment && single:
		c.Kind = "datetime-local"
		if at, err := time.Parse(time.RFC3339, c.Text); err == nil {
			c.Text = at.In(w.zone).Format(localTime)
		}
	case f.Kind == rules.KindChoice || f.Kind == rules.KindChoices || f.Kind == rules.KindLevel:
		c.Kind = "several"
		for _, o := range f.Options {
			if on := slices.Contains(values, o); on || o != string(helpdesk.StatusDraft) || f.Name != rules.FieldStatus {
				c.Options = append(c.Options, tick{ID: o, Text: w.optionText(f.Name, o), On: on})
			}
		}
	case f.Refers != "" && f.Refers != "customer":
		c.Kind = "several"
		var err error
		c.Options, err = w.among(f.Refers, values)
		return c, err
	}
	return c, nil
}

// among are the choices of a noun with those that are chosen, whether they are still there or not.
func (w *ruleWords) among(noun string, chosen []string) ([]tick, error) {
	known, err := w.choices(noun)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(known)
	for i := range all {
		all[i].On = slices.Contains(chosen, all[i].ID)
	}
	for _, id := range chosen {
		if !slices.ContainsFunc(all, func(t tick) bool { return t.ID == id }) {
			name, err := w.named(noun, id)
			if err != nil {
				return nil, err
			}
			all = append(all, tick{ID: id, Text: name, On: true})
		}
	}
	return all, nil
}

// actionControl returns the control for the values of an action.
func (w *ruleWords) actionControl(name string, a rules.Action) (ruleControl, error) {
	c := ruleControl{Kind: "none", Name: name, Text: strings.Join(a.Values, "\n"), Rows: 3}
	chosen := func(id string) bool { return slices.Contains(a.Values, id) }
	switch noun := a.Type.Refers(); {
	case a.Type == rules.SetField:
		f, _ := w.vocabulary.Field(rules.PrefixField + a.Field)
		c, err := w.control(name, f, a.Values)
		if f.Kind == rules.KindChoice {
			c.Kind, c.Options = "one", append([]tick{{Text: w.words.T("Not set")}}, c.Options...)
		}
		return c, err
	case noun != "":
		c.Kind = "one"
		if a.Type == rules.AddTags || a.Type == rules.RemoveTags || a.Type == rules.Notify || a.Type == rules.Follow {
			c.Kind = "several"
		}
		var err error
		if c.Options, err = w.among(noun, a.Values); err != nil {
			return c, err
		}
		if c.Kind == "one" && len(a.Values) == 0 {
			c.Options = slices.Insert(c.Options, 0, tick{Text: w.words.T("Choose"), On: true})
		}
	case a.Type.Options() != nil:
		c.Kind = "one"
		field := map[rules.ActionType]string{rules.SetStatus: rules.FieldStatus, rules.SetPriority: rules.FieldPriority}[a.Type]
		for _, o := range a.Type.Options() {
			c.Options = append(c.Options, tick{ID: o, Text: w.optionText(field, o), On: chosen(o)})
		}
	case a.Type == rules.Snooze:
		c.Kind = "number"
	case a.Type == rules.AddNote:
		c.Kind, c.Text = "note", mailhtml.Text(c.Text)
	}
	return c, nil
}

// parts are the conditions and the actions of a rule in the form, with the problems of each beside it.
func (w *ruleWords) parts(r helpdesk.Rule, problems map[string]string) ([]rulePart, error) {
	var all []rulePart
	for _, p := range []struct {
		part               rulePart
		conditions         []rules.Condition
		problemsAt, except string
	}{
		{rulePart{ID: partAll, Title: w.words.T("If all of these are true"), Add: w.words.T("Add condition"), Hint: w.words.T("Without conditions, it always acts.")}, r.All, "match[all]", ""},
		{rulePart{ID: partAny, Title: w.words.T("And at least one of these"), Add: w.words.T("Add condition")}, r.Any, "match[any]", ""},
	} {
		for i, c := range p.conditions {
			f, _ := w.vocabulary.Field(c.Field)
			line := ruleLine{N: itoa(int64(i)), Name: p.part.ID + "-" + itoa(int64(i)), Label: w.fieldName(c.Field), Shown: w.lineName(c.Field), Is: c.Field, Ops: w.ops(f, c.Op), Drop: w.words.T("Remove condition")}
			var err error
			if line.Control, err = w.control(line.Name+"-value", f, c.Values); err != nil {
				return nil, err
			}
			line.Control.Label = line.Label
			line.Problems = problemsOf(problems, p.problemsAt+"["+itoa(int64(i))+"]")
			p.part.Lines = append(p.part.Lines, line)
		}
		p.part.Problem = problems["match"]
		p.part.Others = w.otherFields()
		all = append(all, p.part)
	}
	then, err := w.actionsPart(r.Actions, problems)
	return append(all, then), err
}

// actionsPart are the actions of a rule in the form, with the problems of each beside it.
func (w *ruleWords) actionsPart(actions []rules.Action, problems map[string]string) (rulePart, error) {
	then := rulePart{ID: partThen, Title: w.words.T("Then"), Add: w.words.T("Add action"), Others: w.otherActions(actions), Problem: problems["actions"]}
	for i, a := range actions {
		line := ruleLine{N: itoa(int64(i)), Name: partThen + "-" + itoa(int64(i)), Label: w.actionText(string(a.Type), "…"), Is: string(a.Type), Field: a.Field, Drop: w.words.T("Remove action")}
		if a.Type == rules.SetField {
			line.Label = w.words.T(setFieldText, w.fieldName(rules.PrefixField+a.Field), "…")
		}
		var err error
		if line.Control, err = w.actionControl(line.Name+"-value", a); err != nil {
			return then, err
		}
		line.Control.Label = line.Label
		line.Problems = problemsOf(problems, "actions["+itoa(int64(i))+"]")
		then.Lines = append(then.Lines, line)
	}
	return then, nil
}

// problemsOf are the problems of a line, each once.
func problemsOf(problems map[string]string, line string) []string {
	var all []string
	for field, text := range problems {
		if strings.HasPrefix(field, line) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// otherFields are the fields that conditions can be added about. A customer's own are found by their email instead of their id.
func (w *ruleWords) otherFields() []tick {
	var all []tick
	for _, t := range ruleFieldTexts {
		if _, known := w.vocabulary.Field(t.ID); known && t.ID != rules.FieldCustomer {
			all = append(all, tick{ID: t.ID, Text: w.fieldName(t.ID)})
		}
	}
	for _, name := range w.order {
		all = append(all, tick{ID: name, Text: w.fieldName(name)})
	}
	return all
}

// setsField begins the choice of an action that sets a field, before its key.
const setsField = "set_field "

// otherActions are the actions that can be added. Most make no sense twice.
func (w *ruleWords) otherActions(there []rules.Action) []tick {
	var all []tick
	for _, t := range ruleActionTexts {
		again := []string{string(rules.Reply), string(rules.AddNote), string(rules.Webhook)}
		if slices.Contains(again, t.ID) || !slices.ContainsFunc(there, func(a rules.Action) bool { return string(a.Type) == t.ID }) {
			all = append(all, tick{ID: t.ID, Text: w.actionText(t.ID, "…")})
		}
	}
	for _, name := range w.order {
		key, of := strings.CutPrefix(name, rules.PrefixField)
		if of && !slices.ContainsFunc(there, func(a rules.Action) bool { return a.Field == key }) {
			all = append(all, tick{ID: setsField + key, Text: w.words.T(setFieldText, w.fieldName(name), "…")})
		}
	}
	return all
}

// submitted reads the form of a rule. Notes that were not changed keep their formatting.
func (w *ruleWords) submitted(old helpdesk.Rule) helpdesk.Rule {
	post := w.r.PostFormValue
	r := old
	r.Name, r.State, r.Stop, r.On = post("name"), helpdesk.RuleState(cmp.Or(post("state"), string(helpdesk.RuleActive))), post("stop") != "", slices.DeleteFunc(slices.Clone(w.r.PostForm["on"]), func(on string) bool { return on == "" })
	r.After = helpdesk.RuleAfter{}
	if slices.Contains(r.On, helpdesk.RuleTime) {
		r.After = helpdesk.RuleAfter{Since: helpdesk.RuleSince(post("since")), Hours: int(number(post("hours"))), CalendarID: number(post("counting"))}
	}
	r.All, r.Any, r.Actions = w.conditionsIn(partAll), w.conditionsIn(partAny), w.actionsIn(old.Actions)
	return r
}

// actionsIn reads the actions of the form.
func (w *ruleWords) actionsIn(old []rules.Action) []rules.Action {
	post := w.r.PostFormValue
	var all []rules.Action
	for _, n := range w.r.PostForm[partThen] {
		name := partThen + "-" + n
		a := rules.Action{Type: rules.ActionType(post(name + "-is")), Field: post(name + "-field")}
		a.Values = w.values(name+"-value", rules.PrefixField+a.Field)
		if a.Type == rules.AddNote {
			text := post(name + "-value")
			a.Values = []string{mailhtml.FromText(text)}
			for _, former := range old {
				if former.Type == rules.AddNote && len(former.Values) > 0 && sameText(text, mailhtml.Text(former.Values[0])) {
					a.Values = former.Values
				}
			}
		}
		all = append(all, a)
	}
	return all
}

func (w *ruleWords) conditionsIn(part string) []rules.Condition {
	var all []rules.Condition
	for _, n := range w.r.PostForm[part] {
		name := part + "-" + n
		c := rules.Condition{Field: w.r.PostFormValue(name + "-is"), Op: rules.Op(w.r.PostFormValue(name + "-op"))}
		if !noValues(c.Op) {
			c.Values = w.values(name+"-value", c.Field)
		}
		all = append(all, c)
	}
	return all
}

// values reads the values of a line about a field, of which a text has one a line. A time is one in the member's zone.
func (w *ruleWords) values(name, field string) []string {
	f, _ := w.vocabulary.Field(field)
	var all []string
	for _, posted := range w.r.PostForm[name] {
		for line := range strings.Lines(posted) {
			text := strings.TrimSpace(line)
			if text == "" {
				continue
			}
			if at, err := time.ParseInLocation(localTime, text, w.zone); f.Kind == rules.KindMoment && err == nil {
				text = at.UTC().Format(time.RFC3339)
			}
			all = append(all, text)
		}
	}
	return all
}

// edit does what a button of the form does besides saving it, and reports whether it was one.
func (w *ruleWords) edit(r *helpdesk.Rule) bool {
	do, at, _ := strings.Cut(w.r.PostFormValue("do"), " ")
	switch do {
	case "add":
		w.addLine(r, at, w.r.PostFormValue("add-"+at))
	case "drop":
		part, n, _ := strings.Cut(at, "-")
		i := int(number(n))
		switch part {
		case partAll:
			r.All = withoutLine(r.All, i)
		case partAny:
			r.Any = withoutLine(r.Any, i)
		case partThen:
			r.Actions = withoutLine(r.Actions, i)
		}
	default:
		return false
	}
	return true
}

func (w *ruleWords) addLine(r *helpdesk.Rule, part, what string) {
	if what == "" {
		return
	}
	condition := rules.Condition{Field: what, Op: w.firstOp(what)}
	switch part {
	case partAll:
		r.All = append(r.All, condition)
	case partAny:
		r.Any = append(r.Any, condition)
	case partThen:
		a := rules.Action{Type: rules.ActionType(what)}
		if key, sets := strings.CutPrefix(what, setsField); sets {
			a = rules.Action{Type: rules.SetField, Field: key}
		}
		r.Actions = append(r.Actions, a)
	}
}

func withoutLine[T any](all []T, i int) []T {
	if i >= len(all) {
		return all
	}
	return slices.Delete(slices.Clone(all), i, i+1)
}

// ruleInput is the input of a rule as the form has it.
func ruleInput(r helpdesk.Rule) helpdesk.RuleInput {
	return helpdesk.RuleInput{
		Name: storage.Some(r.Name), State: storage.Some(r.State), On: storage.Some(r.On), After: storage.Some(r.After), All: storage.Some(r.All), Any: storage.Some(r.Any),
		Actions: storage.Some(r.Actions), Stop: storage.Some(r.Stop),
	}
}

// ruleClock is the time of a rule in its form.
type ruleClock struct {
	On               bool
	Hours            int
	Sinces, Counting []tick
	Problems         []string
}

// ruleSinceTexts are the moments from which the hours of a rule count.
var ruleSinceTexts = []tick{
	{ID: string(helpdesk.SinceCustomerWrote), Text: say("a customer wrote")}, {ID: string(helpdesk.SinceWeWrote), Text: say("somebody on the team replied")},
	{ID: string(helpdesk.SinceCreated), Text: say("the conversation began")}, {ID: string(helpdesk.SinceStatusChanged), Text: say("the status changed")},
	{ID: string(helpdesk.SinceAssigned), Text: say("it was assigned")},
}

// clock is the time of a rule in its form.
func (w *ruleWords) clock(r helpdesk.Rule, problems map[string]string) (ruleClock, error) {
	c := ruleClock{On: slices.Contains(r.On, helpdesk.RuleTime), Hours: cmp.Or(r.After.Hours, 24), Problems: problemsOf(problems, "after")}
	for _, t := range ruleSinceTexts {
		c.Sinces = append(c.Sinces, tick{ID: t.ID, Text: w.words.T(t.Text), On: t.ID == string(r.After.Since)})
	}
	var chosen []string
	if r.After.CalendarID != 0 {
		chosen = []string{itoa(r.After.CalendarID)}
	}
	all, err := w.among("calendar", chosen)
	c.Counting = append([]tick{{Text: w.words.T("at any hour"), On: len(chosen) == 0}}, all...)
	return c, err
}

// passed says how much time has passed, such as "24 hours after a customer wrote".
func (w *ruleWords) passed(a helpdesk.RuleAfter) (string, error) {
	text := w.words.N(a.Hours, "%s hour after %s|%s hours after %s", w.textOf(ruleSinceTexts, string(a.Since)))
	if a.CalendarID == 0 {
		return text, nil
	}
	name, err := w.named("calendar", itoa(a.CalendarID))
	return w.words.T("%s (counting only %s)", text, name), err
}
