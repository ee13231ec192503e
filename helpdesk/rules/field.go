package rules

import (
	"maps"
	"slices"
	"strings"
)

// Kind is what the values of a field are.
type Kind string

// The kinds of fields.
const (
	KindText    Kind = "text"
	KindTexts   Kind = "texts" // any number of texts
	KindNumber  Kind = "number"
	KindFlag    Kind = "flag"    // true or false
	KindChoice  Kind = "choice"  // one of some options
	KindChoices Kind = "choices" // any number of them
	KindLevel   Kind = "level"   // one of some options, the lowest first
	KindID      Kind = "id"
	KindIDs     Kind = "ids" // any number of ids
	KindDay     Kind = "day"
	KindMoment  Kind = "moment" // a time, to the second
	KindHours   Kind = "hours"  // the calendars whose business hours it is
)

// Op is how a condition compares a field with values.
type Op string

// The operators of conditions.
const (
	Is          Op = "is"
	IsNot       Op = "is_not"
	AnyOf       Op = "any_of"
	NoneOf      Op = "none_of"
	Contains    Op = "contains" // of texts: as a part; of lists: as an item
	NotContains Op = "not_contains"
	StartsWith  Op = "starts_with"
	Matches     Op = "matches" // a regular expression (RE2)
	Greater     Op = "greater"
	Less        Op = "less"
	Before      Op = "before"
	After       Op = "after"
	Empty       Op = "empty"
	NotEmpty    Op = "not_empty"
	Changed     Op = "changed"
	ChangedTo   Op = "changed_to"
	ChangedFrom Op = "changed_from"
)

// Ops lists all operators.
func Ops() []Op {
	return []Op{
		Is, IsNot, AnyOf, NoneOf, Contains, NotContains, StartsWith, Matches, Greater, Less, Before, After, Empty, NotEmpty, Changed, ChangedTo, ChangedFrom,
	}
}

// Field is something that conditions can be about.
type Field struct {
	Name    string // as in "priority" or "customer.email"
	Kind    Kind
	Options []string // of a choice, choices or a level, in order
	Refers  string   // of ids: the noun, such as "team"
	// Changes says that events tell when it changes, and Told that they tell from what to what.
	Changes, Told bool
	// Custom says that the account made it.
	Custom bool
}

// Ops lists the operators of the field's conditions.
func (f Field) Ops() []Op {
	var ops []Op
	switch f.Kind {
	case KindText, KindTexts:
		ops = []Op{Is, IsNot, AnyOf, NoneOf, Contains, NotContains, StartsWith, Matches, Empty, NotEmpty}
	case KindNumber:
		ops = []Op{Is, IsNot, AnyOf, NoneOf, Greater, Less, Empty, NotEmpty}
	case KindFlag:
		ops = []Op{Is, IsNot}
	case KindHours:
		return []Op{Is, IsNot, AnyOf, NoneOf}
	case KindChoice, KindID:
		ops = []Op{Is, IsNot, AnyOf, NoneOf, Empty, NotEmpty}
	case KindLevel:
		ops = []Op{Is, IsNot, AnyOf, NoneOf, Greater, Less}
	case KindChoices, KindIDs:
		ops = []Op{AnyOf, NoneOf, Contains, NotContains, Empty, NotEmpty}
	case KindDay, KindMoment:
		ops = []Op{Is, IsNot, AnyOf, NoneOf, Before, After, Empty, NotEmpty}
	}
	if f.Custom && f.Kind == KindFlag {
		ops = append(ops, Empty, NotEmpty)
	}
	if f.Changes {
		ops = append(ops, Changed)
		if f.Kind != KindText && f.Kind != KindTexts || f.Told {
			ops = append(ops, ChangedTo)
		}
		if f.Told {
			ops = append(ops, ChangedFrom)
		}
	}
	return ops
}

// Fields of conditions that are not the account's own.
const (
	FieldStatus      = "status"
	FieldUser        = "user_id"
	FieldTeam        = "team_id"
	FieldMailbox     = "mailbox_id"
	FieldCustomer    = "customer_id"
	FieldPriority    = "priority"
	FieldSubject     = "subject"
	FieldSnoozed     = "snoozed_until"
	FieldSpam        = "spam"
	FieldTags        = "tags"
	FieldAwaiting    = "awaiting"
	FieldInsideHours = "inside_hours"

	FieldCustomerEmail     = "customer.email"
	FieldCustomerName      = "customer.name"
	FieldCustomerFirstName = "customer.first_name"
	FieldCustomerLastName  = "customer.last_name"
	FieldCustomerCompany   = "customer.company"
	FieldCustomerNote      = "customer.note"

	FieldCompany           = "company.id"
	FieldCompanyName       = "company.name"
	FieldCompanyDomains    = "company.domains"
	FieldCompanyExternalID = "company.external_id"
	FieldCompanyNote       = "company.note"

	FieldInteractionType          = "interaction.type"
	FieldInteractionBody          = "interaction.body"
	FieldInteractionSubject       = "interaction.subject"
	FieldInteractionFrom          = "interaction.from"
	FieldInteractionTo            = "interaction.to"
	FieldInteractionHasAttachment = "interaction.has_attachment"
	FieldInteractionAutoSubmitted = "interaction.auto_submitted"

	FieldRating      = "rating.verdict"
	FieldRatingScore = "rating.score"
)

// Prefixes of the names of the account's own fields.
const (
	PrefixField         = "fields."
	PrefixCustomerField = "customer.fields."
	PrefixCompanyField  = "company.fields." // of the customer's company
)

// Fields lists the fields that every account has.
func Fields() []Field {
	return []Field{
		{Name: FieldStatus, Kind: KindChoice, Options: []string{"posted", "draft", "pending", "closed"}, Changes: true, Told: true},
		{Name: FieldUser, Kind: KindID, Refers: "user", Changes: true, Told: true},
		{Name: FieldTeam, Kind: KindID, Refers: "team", Changes: true, Told: true},
		{Name: FieldMailbox, Kind: KindID, Refers: "mailbox", Changes: true, Told: true},
		{Name: FieldCustomer, Kind: KindID, Refers: "customer", Changes: true, Told: true},
		{Name: FieldPriority, Kind: KindLevel, Options: []string{"low", "normal", "high", "urgent"}, Changes: true, Told: true},
		{Name: FieldSubject, Kind: KindText, Changes: true},
		{Name: FieldSnoozed, Kind: KindMoment, Changes: true, Told: true},
		{Name: FieldSpam, Kind: KindFlag, Changes: true, Told: true},
		{Name: FieldTags, Kind: KindIDs, Refers: "tag", Changes: true, Told: true},
		{Name: FieldAwaiting, Kind: KindFlag},
		{Name: FieldInsideHours, Kind: KindHours, Refers: "calendar"},
		{Name: FieldCustomerEmail, Kind: KindTexts},
		{Name: FieldCustomerName, Kind: KindText},
		{Name: FieldCustomerFirstName, Kind: KindText},
		{Name: FieldCustomerLastName, Kind: KindText},
		{Name: FieldCustomerCompany, Kind: KindText},
		{Name: FieldCustomerNote, Kind: KindText},
		{Name: FieldCompany, Kind: KindID, Refers: "company"},
		{Name: FieldCompanyName, Kind: KindText},
		{Name: FieldCompanyDomains, Kind: KindTexts},
		{Name: FieldCompanyExternalID, Kind: KindText},
		{Name: FieldCompanyNote, Kind: KindText},
		{Name: FieldInteractionType, Kind: KindChoice, Options: []string{"customer", "user", "note"}},
		{Name: FieldInteractionBody, Kind: KindText},
		{Name: FieldInteractionSubject, Kind: KindText},
		{Name: FieldInteractionFrom, Kind: KindTexts},
		{Name: FieldInteractionTo, Kind: KindTexts},
		{Name: FieldInteractionHasAttachment, Kind: KindFlag},
		{Name: FieldInteractionAutoSubmitted, Kind: KindFlag},
		{Name: FieldRating, Kind: KindChoice, Options: []string{"good", "neutral", "bad"}},
		{Name: FieldRatingScore, Kind: KindNumber},
	}
}

// Vocabulary is the fields that the conditions of an account's rules can be about.
type Vocabulary struct{ fields map[string]Field }

// NewVocabulary returns the fields that every account has, and the account's own.
func NewVocabulary(own ...Field) Vocabulary {
	v := Vocabulary{map[string]Field{}}
	for _, f := range append(Fields(), own...) {
		v.fields[f.Name] = f
	}
	return v
}

// Field returns the field with a name.
func (v Vocabulary) Field(name string) (Field, bool) {
	f, known := v.fields[name]
	return f, known
}

// Lasting returns the fields that are about a conversation, its customer and the company, with what they are and not how
// they change.
func (v Vocabulary) Lasting() Vocabulary {
	lasting := Vocabulary{map[string]Field{}}
	for name, f := range v.fields {
		if f.Changes = false; name != FieldInsideHours && !strings.HasPrefix(name, "interaction.") && !strings.HasPrefix(name, "rating.") {
			lasting.fields[name] = f
		}
	}
	return lasting
}

// Names lists the names of all fields, sorted.
func (v Vocabulary) Names() []string { return slices.Sorted(maps.Keys(v.fields)) }
