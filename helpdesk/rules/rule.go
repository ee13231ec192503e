package rules

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Limits of a rule.
const (
	MaxConditions = 50        // of All and Any together
	MaxActions    = 20        //
	MaxValues     = 100       // of a condition or an action
	MaxValue      = 1000      // characters of a value of a condition
	MaxText       = 64 << 10  // bytes of the text of a note; conditions look at as much of a text
	MaxPattern    = 500       // characters of a regular expression
	maxProgram    = 2000      // instructions of a compiled one
	MaxSnooze     = 24 * 1830 // hours
)

// Condition is true or false of a conversation at an event. Values are texts, as the package says: one, or several for
// [AnyOf], [NoneOf], [Contains], [NotContains], [StartsWith], [ChangedTo] and [ChangedFrom], of which any may apply, or none
// for [Empty], [NotEmpty] and [Changed]. Texts are compared ignoring case, except by [Matches]. A condition about what is not
// known, such as the interaction of an event that is about none, does not hold.
type Condition struct {
	Field  string   `json:"field"`
	Op     Op       `json:"op"`
	Values []string `json:"value,omitempty"`
}

// ActionType is what an action does.
type ActionType string

// The types of actions.
const (
	SetStatus   ActionType = "set_status"
	SetPriority ActionType = "set_priority"
	AssignUser  ActionType = "assign_user"
	AssignTeam  ActionType = "assign_team"
	Unassign    ActionType = "unassign" // from user and team
	AddTags     ActionType = "add_tags"
	RemoveTags  ActionType = "remove_tags"
	SetField    ActionType = "set_field" // of the conversation
	Snooze      ActionType = "snooze"    // for a number of hours
	MarkSpam    ActionType = "mark_spam"
	Move        ActionType = "move"     // to a mailbox
	AddNote     ActionType = "add_note" // HTML or text
	Reply       ActionType = "reply"    // with a saved reply
	Notify      ActionType = "notify"   // members
	Webhook     ActionType = "webhook"  // gets the event
	Follow      ActionType = "follow"   // by members
)

// Action is what a rule does.
type Action struct {
	Type   ActionType `json:"type"`
	Field  string     `json:"field,omitempty"` // of [SetField]: the key of a field of conversations
	Values []string   `json:"value,omitempty"` // none clears a field
}

// takes is what values actions of a type take.
type takes struct {
	least, most int
	refers      string
	options     []string
}

func actionTypes() map[ActionType]takes {
	statuses := []string{"posted", "pending", "closed"}
	return map[ActionType]takes{
		SetStatus: {1, 1, "", statuses}, SetPriority: {1, 1, "", []string{"low", "normal", "high", "urgent"}},
		AssignUser: {1, 1, "user", nil}, AssignTeam: {1, 1, "team", nil}, Unassign: {}, MarkSpam: {},
		AddTags: {1, MaxValues, "tag", nil}, RemoveTags: {1, MaxValues, "tag", nil}, SetField: {0, MaxValues, "", nil}, Snooze: {1, 1, "", nil},
		Move: {1, 1, "mailbox", nil}, AddNote: {1, 1, "", nil}, Reply: {1, 1, "saved_reply", nil},
		Notify: {1, MaxValues, "user", nil}, Webhook: {1, 1, "webhook", nil}, Follow: {1, MaxValues, "user", nil},
	}
}

// ActionTypes lists the types of actions.
func ActionTypes() []ActionType {
	return []ActionType{
		SetStatus, SetPriority, AssignUser, AssignTeam, Unassign, AddTags, RemoveTags, SetField, Snooze, MarkSpam, Move, AddNote, Reply, Notify, Webhook, Follow,
	}
}

// Refers returns the noun whose ids the values of an action of the type are, such as "team"; "": none.
func (t ActionType) Refers() string { return actionTypes()[t].refers }

// Options returns the values among which that of an action of the type is, nil if it is not chosen.
func (t ActionType) Options() []string { return actionTypes()[t].options }

// Rule is what a rule does when. Its conditions hold if all of All do and, unless there are none, at least one of Any.
type Rule struct {
	ID, Version int64
	On          []string // types of events
	All, Any    []Condition
	Actions     []Action
	Stop        bool // no later rule runs
	Dry         bool // changes nothing
}

// Check cleans conditions and actions and adds problems, named as in match[all][0][op] and actions[0][value].
func Check(problems *fault.Collector, v Vocabulary, all, some []Condition, actions []Action) (cleanAll, cleanAny []Condition, cleanActions []Action) {
	if !problems.Check(len(all)+len(some) <= MaxConditions, "match", fmt.Sprintf("has more than %d conditions", MaxConditions)) ||
		!problems.Check(len(actions) <= MaxActions, "actions", fmt.Sprintf("has more than %d items", MaxActions)) {
		return nil, nil, nil
	}
	return checkAll(problems, v, "match[all]", all), checkAll(problems, v, "match[any]", some), checkActions(problems, actions)
}

func checkAll(problems *fault.Collector, v Vocabulary, prefix string, all []Condition) []Condition {
	var clean []Condition
	for i, c := range all {
		at := fmt.Sprintf("%s[%d]", prefix, i)
		f, known := v.Field(c.Field)
		if !problems.Check(known, at+"[field]", "is not a field of conditions") {
			continue
		}
		if !problems.Check(slices.Contains(f.Ops(), c.Op), at+"[op]", "is not an operator of this field") {
			continue
		}
		c.Values = trimmed(c.Values)
		least, most := c.Op.counts()
		if problems.Check(len(c.Values) >= least && len(c.Values) <= most, at+"[value]", counted(least, most)) {
			for n := range c.Values {
				text, problem := cleanValue(f, c.Op, c.Values[n])
				problems.Check(problem == "", at+"[value]", problem)
				c.Values[n] = text
			}
		}
		clean = append(clean, c)
	}
	return clean
}

func trimmed(values []string) []string {
	var all []string
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func counted(least, most int) string {
	switch {
	case most == 0:
		return "must be absent"
	case most == 1:
		return "is required: one value"
	case least == 0:
		return fmt.Sprintf("has more than %d values", most)
	}
	return fmt.Sprintf("must be 1 to %d values", most)
}

// counts returns how many values the operator takes.
func (o Op) counts() (least, most int) {
	switch o {
	case Empty, NotEmpty, Changed:
		return 0, 0
	case AnyOf, NoneOf, Contains, NotContains, StartsWith, ChangedTo, ChangedFrom:
		return 1, MaxValues
	case Is, IsNot, Matches, Greater, Less, Before, After:
	}
	return 1, 1
}

// Values returns the least and the largest number of values of a condition with the operator.
func (o Op) Values() (least, most int) { return o.counts() }

// cleanValue returns a value of a condition in its normal form.
func cleanValue(f Field, op Op, text string) (clean, problem string) {
	if plain.Length(text) > MaxValue {
		return text, fmt.Sprintf("has more than %d characters", MaxValue)
	}
	if op == Matches {
		return text, checkPattern(text)
	}
	return normal(f, text)
}

// normal returns a value of a field in its normal form.
func normal(f Field, text string) (clean, problem string) {
	switch f.Kind {
	case KindNumber:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != n || n > 1e15 || n < -1e15 {
			return text, "must be a number"
		}
		return strconv.FormatFloat(n+0, 'f', -1, 64), ""
	case KindFlag:
		yes, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return text, "must be true or false"
		}
		return strconv.FormatBool(yes), ""
	case KindChoice, KindChoices, KindLevel:
		if !slices.Contains(f.Options, text) {
			return text, "is none of the options"
		}
	case KindID, KindIDs, KindHours:
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return text, "must be an id"
		}
		return strconv.FormatInt(id, 10), ""
	case KindDay:
		if day, err := time.Parse(time.DateOnly, text); err != nil || day.Year() < 1 {
			return text, "must be a date such as 2026-01-31"
		}
	case KindMoment:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9999 {
			return text, "must be a time such as 2026-01-31T09:30:00Z"
		}
		return at.UTC().Truncate(time.Second).Format(time.RFC3339), ""
	case KindText, KindTexts:
	}
	return text, ""
}

// checkPattern returns what is wrong with a regular expression.
func checkPattern(text string) string {
	if plain.Length(text) > MaxPattern {
		return fmt.Sprintf("has more than %d characters", MaxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return "is not a regular expression (RE2)"
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return "is too large a regular expression"
	}
	if _, err := regexp.Compile(text); err != nil {
		return "is not a regular expression (RE2)"
	}
	return ""
}

func checkActions(problems *fault.Collector, actions []Action) []Action {
	var clean []Action
	known := actionTypes()
	for i, a := range actions {
		at := fmt.Sprintf("actions[%d]", i)
		takes, is := known[a.Type]
		if !problems.Check(is, at+"[type]", "is not an action") {
			continue
		}
		if a.Type != AddNote {
			a.Values = trimmed(a.Values)
		}
		problems.Check(a.Type != SetField || a.Field != "", at+"[field]", "is required")
		problems.Check(a.Type == SetField || a.Field == "", at+"[field]", "is only for set_field")
		if problems.Check(len(a.Values) >= takes.least && len(a.Values) <= takes.most, at+"[value]", counted(takes.least, takes.most)) {
			for n := range a.Values {
				text, problem := takes.clean(a.Type, a.Values[n])
				problems.Check(problem == "", at+"[value]", problem)
				a.Values[n] = text
			}
		}
		clean = append(clean, a)
	}
	return clean
}

// clean returns a value of an action in its normal form.
func (t takes) clean(of ActionType, text string) (clean, problem string) {
	switch {
	case t.refers != "":
		return normal(Field{Kind: KindID}, text)
	case t.options != nil:
		return normal(Field{Kind: KindChoice, Options: t.options}, text)
	case of == Snooze:
		hours, err := strconv.Atoi(text)
		if err != nil || hours < 1 || hours > MaxSnooze {
			return text, fmt.Sprintf("must be 1 to %d hours", MaxSnooze)
		}
		return strconv.Itoa(hours), ""
	case of == AddNote && len(text) > MaxText:
		return text, "is larger than 64 KiB"
	case of == SetField && plain.Length(text) > 5000:
		return text, "has more than 5000 characters"
	}
	return text, ""
}
