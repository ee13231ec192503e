package deskfolder

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/plain"
)

func slaKind() kind[SLA] {
	return kind[SLA]{
		title: "SLA", file: "slas.yaml",
		in: func(s *Setup) *[]SLA { return &s.SLAs },
		read: func(w *work) ([]held[SLA], error) {
			return readAll(w, w.desk.SLAs().List, func(s helpdesk.SLA) held[SLA] {
				return held[SLA]{s.ID, SLA{
					Name: s.Name, All: w.conditions(s.All), Any: w.conditions(s.Any), Calendar: w.name("calendar", s.CalendarID), FirstReply: s.FirstReply,
					NextReply: s.NextReply, Resolution: s.Resolution, Pauses: texts(s.Pauses), DueSoon: s.DueSoon,
				}}
			})
		},
		save: func(w *work, id int64, d SLA) (int64, error) {
			in := helpdesk.SLAInput{
				Name: storage.Some(d.Name), FirstReply: orNull(d.FirstReply), NextReply: orNull(d.NextReply), Resolution: orNull(d.Resolution),
				Pauses: storage.Some(typed[helpdesk.SLAPause](d.Pauses)), DueSoon: storage.Some(cmp.Or(d.DueSoon, 80)),
			}
			calendar, err := w.id("calendar", d.Calendar)
			if err != nil {
				return 0, err
			}
			in.CalendarID = orNull(calendar)
			if in.All, in.Any, err = w.match(d.All, d.Any); err != nil {
				return 0, err
			}
			if id == 0 {
				s, err := w.desk.SLAs().Create(w.ctx, in)
				return s.ID, err
			}
			_, err = w.desk.SLAs().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.SLAs().Delete(w.ctx, id) },
		order: func(w *work, ids []int64) error {
			_, err := w.desk.SLAs().Order(w.ctx, ids)
			return err
		},
	}
}

func ruleKind() kind[Rule] {
	return kind[Rule]{
		title: "rule", file: "rules.yaml",
		in:   func(s *Setup) *[]Rule { return &s.Rules },
		read: func(w *work) ([]held[Rule], error) { return readAll(w, w.desk.Rules().List, w.rule) },
		save: func(w *work, id int64, d Rule) (int64, error) {
			in, err := w.ruleInput(d)
			if err != nil {
				return 0, err
			}
			if id == 0 {
				r, err := w.desk.Rules().Create(w.ctx, in)
				return r.ID, err
			}
			_, err = w.desk.Rules().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Rules().Delete(w.ctx, id) },
		order: func(w *work, ids []int64) error {
			_, err := w.desk.Rules().Order(w.ctx, ids)
			return err
		},
	}
}

func (w *work) rule(r helpdesk.Rule) held[Rule] {
	d := Rule{
		Name: r.Name, State: string(r.State), Events: r.On, All: w.conditions(r.All), Any: w.conditions(r.Any), Actions: w.actions(r.Actions), Stop: r.Stop,
	}
	if r.After != (helpdesk.RuleAfter{}) {
		d.After = &After{Since: string(r.After.Since), Hours: r.After.Hours, Calendar: w.name("calendar", r.After.CalendarID)}
	}
	return held[Rule]{r.ID, d}
}

func (w *work) ruleInput(d Rule) (helpdesk.RuleInput, error) {
	in := helpdesk.RuleInput{
		Name: storage.Some(d.Name), State: storage.Some(cmp.Or(helpdesk.RuleState(d.State), helpdesk.RuleActive)), On: storage.Some(d.Events),
		After: storage.Null[helpdesk.RuleAfter](), Stop: storage.Some(d.Stop),
	}
	if d.After != nil {
		calendar, err := w.id("calendar", d.After.Calendar)
		if err != nil {
			return in, err
		}
		in.After = storage.Some(helpdesk.RuleAfter{Since: helpdesk.RuleSince(d.After.Since), Hours: d.After.Hours, CalendarID: calendar})
	}
	actions, err := w.ruleActions(d.Actions)
	if err != nil {
		return in, err
	}
	in.Actions = storage.Some(actions)
	in.All, in.Any, err = w.match(d.All, d.Any)
	return in, err
}

// refers returns the noun that the values of a condition are ids of, "" if they are none.
func refers(field string) string {
	f, _ := rules.NewVocabulary().Field(field)
	return f.Refers
}

func (w *work) conditions(all []rules.Condition) []Condition {
	var docs []Condition
	for _, c := range all {
		docs = append(docs, Condition{Field: c.Field, Op: string(c.Op), Value: w.namesOf(refers(c.Field), c.Values)})
	}
	return docs
}

func (w *work) actions(all []rules.Action) []Action {
	var docs []Action
	for _, a := range all {
		docs = append(docs, Action{Type: string(a.Type), Field: a.Field, Value: w.namesOf(a.Type.Refers(), a.Values)})
	}
	return docs
}

// namesOf puts names in place of ids in the values of conditions and actions.
func (w *work) namesOf(noun string, values []string) Values {
	var all Values
	for _, text := range values {
		if id, err := strconv.ParseInt(text, 10, 64); noun != "" && err == nil {
			text = w.name(noun, id)
		}
		all = append(all, text)
	}
	return all
}

// idsOf puts ids in place of names.
func (w *work) idsOf(noun string, values Values) ([]string, error) {
	if noun == "" {
		return slices.Clone(values), nil
	}
	ids, err := w.ids(noun, values)
	var all []string
	for _, id := range ids {
		all = append(all, strconv.FormatInt(id, 10))
	}
	return all, err
}

func (w *work) match(all, some []Condition) (both, either storage.Opt[[]rules.Condition], err error) {
	list := func(docs []Condition) (storage.Opt[[]rules.Condition], error) {
		found := []rules.Condition{}
		for _, d := range docs {
			values, err := w.idsOf(refers(d.Field), d.Value)
			if err != nil {
				return storage.Opt[[]rules.Condition]{}, err
			}
			found = append(found, rules.Condition{Field: d.Field, Op: rules.Op(d.Op), Values: values})
		}
		return storage.Some(found), nil
	}
	if both, err = list(all); err != nil {
		return both, either, err
	}
	either, err = list(some)
	return both, either, err
}

func (w *work) ruleActions(docs []Action) ([]rules.Action, error) {
	all := []rules.Action{}
	for _, d := range docs {
		kind := rules.ActionType(d.Type)
		values, err := w.idsOf(kind.Refers(), d.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, rules.Action{Type: kind, Field: d.Field, Values: values})
	}
	return all, nil
}

// byName sorts items that have no order, so that a folder does not depend on when they were made.
func byName[D named](all []held[D]) []held[D] {
	slices.SortStableFunc(all, func(a, b held[D]) int {
		return cmp.Or(cmp.Compare(plain.Key(a.doc.name()), plain.Key(b.doc.name())), cmp.Compare(a.id, b.id))
	})
	return all
}

// The states of what is only active or off.
const (
	stateActive = "active"
	stateOff    = "off"
)

func stateOf(active bool) string {
	if active {
		return stateActive
	}
	return stateOff
}

func isActive(state string) (bool, error) {
	if state != "" && state != stateActive && state != stateOff {
		return false, &unresolved{"state: must be active or off"}
	}
	return state != stateOff, nil
}

func texts[S ~string](all []S) []string {
	var list []string
	for _, s := range all {
		list = append(list, string(s))
	}
	return list
}

func typed[S ~string](all []string) []S {
	var list []S
	for _, s := range all {
		list = append(list, S(s))
	}
	return list
}

// orNull returns null in place of a zero value, which stands for the default.
func orNull[T comparable](v T) storage.Opt[T] {
	var zero T
	if v == zero {
		return storage.Null[T]()
	}
	return storage.Some(v)
}

// some returns a number of units, or the default.
func some(n *int, standard int, unit time.Duration) storage.Opt[time.Duration] {
	if n != nil {
		standard = *n
	}
	return storage.Some(time.Duration(standard) * unit)
}
