package rules

import (
	"slices"
	"strconv"
	"time"
)

// Plan is what actions come to.
type Plan struct {
	// Changes are the fields that would change, by name.
	Changes map[string]Change
	// Does are the actions that are no change of a field, in order, such as a reply.
	Does []Action
}

// Nothing reports whether the actions change nothing.
func (p Plan) Nothing() bool { return len(p.Changes)+len(p.Does) == 0 }

// Certain reports whether the actions surely change something: all else that they would change had values that were lost, see
// [Facts.Lose].
func (p Plan) Certain(f *Facts) bool {
	for field := range p.Changes {
		if !f.lost[field] {
			return true
		}
	}
	return len(p.Does) > 0
}

// To returns what a field would become; changes is false if it stays as it is.
func (p Plan) To(field string) (values []string, changes bool) {
	c, changes := p.Changes[field]
	return c.To, changes
}

// PlanOf returns what actions would change at a time. A later action replaces an earlier one on the same field. It does not
// check whether that is allowed.
func PlanOf(f *Facts, actions []Action, now time.Time) Plan {
	after := map[string][]string{}
	var p Plan
	tags := func() []string {
		if _, set := after[FieldTags]; !set {
			after[FieldTags] = slices.Clone(f.values[FieldTags])
		}
		return after[FieldTags]
	}
	for _, a := range actions {
		switch a.Type {
		case SetStatus:
			after[FieldStatus] = a.Values
		case SetPriority:
			after[FieldPriority] = a.Values
		case AssignUser:
			after[FieldUser] = a.Values
		case AssignTeam:
			after[FieldTeam] = a.Values
		case Unassign:
			after[FieldUser], after[FieldTeam] = nil, nil
		case AddTags:
			have := tags()
			for _, id := range a.Values {
				if !slices.Contains(have, id) {
					have = append(have, id)
				}
			}
			after[FieldTags] = have
		case RemoveTags:
			after[FieldTags] = slices.DeleteFunc(tags(), func(id string) bool { return slices.Contains(a.Values, id) })
		case SetField:
			after[PrefixField+a.Field] = a.Values
		case Snooze:
			hours, _ := strconv.Atoi(first(a.Values))
			after[FieldSnoozed] = []string{now.Add(time.Duration(hours) * time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)}
		case MarkSpam:
			after[FieldSpam], after[FieldStatus] = []string{"true"}, []string{"closed"}
		case Move:
			after[FieldMailbox] = a.Values
		case AddNote, Reply, Notify, Webhook, Follow:
			p.Does = append(p.Does, a)
		}
	}
	for field, to := range after {
		from := f.values[field]
		if same(from, to) {
			continue
		}
		if p.Changes == nil {
			p.Changes = map[string]Change{}
		}
		if field == FieldTags {
			p.Changes[field] = Change{From: without(from, to), To: without(to, from)}
			continue
		}
		p.Changes[field] = Change{From: from, To: to}
	}
	return p
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func same(a, b []string) bool { return len(without(a, b))+len(without(b, a)) == 0 }

func without(of, others []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(v string) bool { return slices.Contains(others, v) })
}
