package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// FieldKind is what fields belong to.
type FieldKind string

// The kinds of fields.
const (
	FieldOfConversation FieldKind = "conversation"
	FieldOfCustomer     FieldKind = "customer"
	FieldOfCompany      FieldKind = "company"
)

// FieldKinds lists the kinds of fields.
func FieldKinds() []FieldKind {
	return []FieldKind{FieldOfConversation, FieldOfCustomer, FieldOfCompany}
}

// FieldType is the type of a field's values.
type FieldType string

// The types of fields.
const (
	FieldText        FieldType = "text"
	FieldNumber      FieldType = "number"
	FieldBoolean     FieldType = "boolean"
	FieldDate        FieldType = "date"     // a day without a time
	FieldDatetime    FieldType = "datetime" // to the second
	FieldSelect      FieldType = "select"
	FieldMultiselect FieldType = "multiselect"
	FieldURL         FieldType = "url"
)

// FieldTypes lists the types of fields.
func FieldTypes() []FieldType {
	return []FieldType{FieldText, FieldNumber, FieldBoolean, FieldDate, FieldDatetime, FieldSelect, FieldMultiselect, FieldURL}
}

// HasOptions reports whether the values are chosen from options.
func (t FieldType) HasOptions() bool { return t == FieldSelect || t == FieldMultiselect }

// Ranged reports whether lists can be filtered by a range of values.
func (t FieldType) Ranged() bool { return t == FieldNumber || t == FieldDate || t == FieldDatetime }

// Limits of fields.
const (
	MaxFields       = 100  // of a kind
	MaxFieldOptions = 1000 // of a field
	MaxFieldText    = 5000 // characters of a text
)

// Field is a piece of information that an account keeps about its conversations, customers or companies.
type Field struct {
	ID        int64
	Key       string // names the field in the API, placeholders and filters; unique among those of its kind
	Label     string
	AppliesTo FieldKind
	Type      FieldType
	Options   []FieldOption // of a select or a multiselect, in order
	// RequiredToClose says that members close a conversation only if it has a value.
	RequiredToClose bool
	CustomerVisible bool // in the portal
	SortOrder       int64
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// FieldOption is a value that can be chosen.
type FieldOption struct {
	Value string `json:"value"` // stored, at most 100 characters; by default made from the label
	Label string `json:"label"` // shown, at most 100 characters
	// Archived says that it can no longer be chosen. What has the value keeps it.
	Archived bool `json:"archived,omitempty"`
}

// UniqueField is the code of a store's Conflict fault for a duplicate (account, AppliesTo, Key).
const UniqueField = "field"

// FieldFilter narrows a list of fields. The zero value selects all.
type FieldFilter struct {
	AppliesTo []FieldKind // any of these
}

// fieldNoun declares the rows of fields.
func fieldNoun() storage.Declared[Field, FieldFilter] {
	return storage.Declared[Field, FieldFilter]{
		Noun: storage.Noun[Field]{
			Name: "field",
			ID:   func(f *Field) *int64 { return &f.ID },
			Unique: []storage.Unique[Field]{
				{Code: UniqueField, Index: "key", Fields: func(f *Field) []any { return []any{(*string)(&f.AppliesTo), &f.Key} }},
			},
		},
		Key: "field", Plural: "fields",
		Columns: []storage.Column[Field]{
			{Name: "applies_to", Field: func(f *Field) any { return (*string)(&f.AppliesTo) }},
			{Name: "field_key", Field: func(f *Field) any { return &f.Key }},
			{Name: "label", Field: func(f *Field) any { return &f.Label }},
			{Name: "type", Field: func(f *Field) any { return (*string)(&f.Type) }},
			{Name: "options", Field: func(f *Field) any {
				return storage.Objects(&f.Options, func(o FieldOption) []string { return []string{o.Value, o.Label} })
			}},
			{Name: "required_to_close", Field: func(f *Field) any { return &f.RequiredToClose }},
			{Name: "customer_visible", Field: func(f *Field) any { return &f.CustomerVisible }},
			{Name: "sort_order", Field: func(f *Field) any { return &f.SortOrder }},
			{Name: "created_at", Field: func(f *Field) any { return &f.CreatedAt }},
			{Name: "updated_at", Field: func(f *Field) any { return &f.UpdatedAt }},
		},
		Where: func(f FieldFilter) []storage.Condition {
			kinds := make([]string, len(f.AppliesTo))
			for i, kind := range f.AppliesTo {
				kinds[i] = string(kind)
			}
			return storage.AnyOf("applies_to", kinds)
		},
		Parts: []storage.Part{
			{Table: "hw_conversation_values", Of: "field_id", Key: "subject_id"},
			{Table: "hw_customer_values", Of: "field_id", Key: "subject_id"},
			{Table: "hw_company_values", Of: "field_id", Key: "subject_id"},
		},
	}
}

// FieldInput creates or changes a field. In an update, absent fields are unchanged, and Key, AppliesTo and Type are empty or as
// before: they never change.
type FieldInput struct {
	Key       string // letters a-z, digits and "_", beginning with a letter, at most 40; by default made from the label
	Label     string // required, at most 100 characters
	AppliesTo FieldKind
	Type      FieldType
	// Options replace those of a select or a multiselect, which needs at least one. An option that something has as its value
	// cannot be left out, but be archived.
	Options         storage.Opt[[]FieldOption]
	RequiredToClose storage.Opt[bool] // only for fields of conversations
	CustomerVisible storage.Opt[bool]
	SortOrder       storage.Opt[int64] // fields are shown by it, then in the order in which they were made
}

var (
	fieldKeyPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	notInKey        = regexp.MustCompile(`[^a-z0-9]+`)
)

// nameOf makes a key or a value from a label, "" if it has no letters or digits of ASCII.
func nameOf(label string, most int) string {
	return strings.Trim(plain.Cut(strings.Trim(notInKey.ReplaceAllString(strings.ToLower(label), "_"), "_"), most), "_")
}

// FieldKey returns the key that a field gets which is created with a label and no key.
func FieldKey(label string) string {
	key := nameOf(label, 34)
	if !fieldKeyPattern.MatchString(key) {
		key = strings.TrimSuffix("field_"+key, "_")
	}
	return key
}

// apply validates in and copies it into f.
func (f *Field) apply(in FieldInput) error {
	var problems fault.Collector
	f.Label = plain.Line(in.Label)
	required(&problems, "label", f.Label, 100)
	if f.ID == 0 {
		f.Key, f.AppliesTo, f.Type = cmp.Or(in.Key, FieldKey(f.Label)), in.AppliesTo, in.Type
		problems.Check(fieldKeyPattern.MatchString(f.Key), "key", "must be at most 40 of a-z, 0-9 and _, beginning with a letter")
		problems.Check(slices.Contains(FieldKinds(), f.AppliesTo), "applies_to", "must be conversation, customer or company")
		problems.Check(slices.Contains(FieldTypes(), f.Type), "type", "must be text, number, boolean, date, datetime, select, multiselect or url")
	}
	problems.Check(in.Key == "" || in.Key == f.Key, "key", "cannot be changed")
	problems.Check(in.AppliesTo == "" || in.AppliesTo == f.AppliesTo, "applies_to", "cannot be changed")
	problems.Check(in.Type == "" || in.Type == f.Type, "type", "cannot be changed")
	if in.Options.IsSet() {
		f.Options = checkOptions(&problems, in.Options.Or(nil))
	}
	switch {
	case f.Type.HasOptions():
		problems.Check(len(f.Options) > 0, "options", "is required")
	default:
		problems.Check(len(f.Options) == 0, "options", "is only for select and multiselect")
	}
	f.RequiredToClose = in.RequiredToClose.Or(f.RequiredToClose)
	problems.Check(!f.RequiredToClose || f.AppliesTo == FieldOfConversation, "required_to_close", "is only for fields of conversations")
	f.CustomerVisible, f.SortOrder = in.CustomerVisible.Or(f.CustomerVisible), in.SortOrder.Or(f.SortOrder)
	problems.Check(f.SortOrder >= -1e9 && f.SortOrder <= 1e9, "sort_order", "must be between -1000000000 and 1000000000")
	return problems.Err()
}

// checkOptions cleans options and gives values to those without.
func checkOptions(problems *fault.Collector, in []FieldOption) []FieldOption {
	if !problems.Check(len(in) <= MaxFieldOptions, "options", fmt.Sprintf("has more than %d items", MaxFieldOptions)) {
		return nil
	}
	var all []FieldOption
	seen := map[string]bool{}
	for i, o := range in {
		o.Label, o.Value = plain.Line(o.Label), plain.Line(o.Value)
		o.Label = cmp.Or(o.Label, o.Value)
		o.Value = cmp.Or(o.Value, nameOf(o.Label, 100), o.Label)
		required(problems, fmt.Sprintf("options[%d][label]", i), o.Label, 100)
		value := fmt.Sprintf("options[%d][value]", i)
		bounded(problems, value, o.Value, 100)
		problems.Check(!seen[o.Value], value, "is listed twice")
		seen[o.Value] = true
		all = append(all, o)
	}
	return all
}

// option returns the option with a value.
func (f Field) option(value string) (FieldOption, bool) {
	i := slices.IndexFunc(f.Options, func(o FieldOption) bool { return o.Value == value })
	if i < 0 {
		return FieldOption{}, false
	}
	return f.Options[i], true
}

// Fields are the account's own fields of conversations, customers and companies.
type Fields struct{ *desk }

// Fields returns the handle of the account's own fields.
func (d *Desk) Fields() Fields { return Fields{&d.desk} }

// Get returns a field. It needs fields.view.
func (d Fields) Get(ctx context.Context, id int64) (Field, error) {
	r, err := d.guard.Read(identity.FieldsView)
	if err != nil {
		return Field{}, err
	}
	return fieldNoun().Reader(r).Get(ctx, id)
}

// List lists the account's fields of some kinds, none for all, oldest first. It needs fields.view.
func (d Fields) List(ctx context.Context, kinds []FieldKind, req storage.PageRequest) (storage.Page[Field], error) {
	r, err := d.guard.Read(identity.FieldsView)
	if err != nil {
		return storage.Page[Field]{}, err
	}
	return storage.List(req, false, func(f Field) storage.Position { return storage.Position{ID: f.ID} },
		func(seek storage.Seek) ([]Field, error) {
			return fieldNoun().Reader(r).List(ctx, FieldFilter{kinds}, seek)
		})
}

// fieldsOf reads the fields of a kind, in the order in which they are shown.
func fieldsOf(ctx context.Context, r Reader, kind FieldKind) ([]Field, error) {
	all, err := fieldNoun().Reader(r).List(ctx, FieldFilter{[]FieldKind{kind}}, storage.Seek{Limit: MaxFields})
	slices.SortStableFunc(all, func(a, b Field) int { return cmp.Compare(a.SortOrder, b.SortOrder) })
	return all, err
}

// byKey returns the field with a key.
func byKey(fields []Field, key string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// Create creates a field. It needs fields.create. A key that another field of the kind has is an Invalid fault on key, and
// so is one field more than [MaxFields] of a kind on applies_to.
func (d Fields) Create(ctx context.Context, in FieldInput) (Field, error) {
	begin, err := d.guard.Write(identity.FieldsCreate)
	if err != nil {
		return Field{}, err
	}
	now := d.svc.now()
	f := Field{CreatedAt: now, UpdatedAt: now}
	if err := f.apply(in); err != nil {
		return Field{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		f.ID = 0
		all, err := fieldsOf(ctx, tx.Reader(), f.AppliesTo)
		if err != nil {
			return err
		}
		if len(all) >= MaxFields {
			return fault.Field("applies_to", fmt.Sprintf("has %d fields already, which is the most", MaxFields))
		}
		if err := fieldNoun().Rows(tx).Insert(ctx, &f); err != nil {
			return err
		}
		return d.emit(ctx, tx, "field.created", f.ID, 0)
	})
	return f, takenField(err, UniqueField, "key")
}

// Update changes a field. It needs fields.update. An option that is left out although something has it as its value is an
// Invalid fault on options.
func (d Fields) Update(ctx context.Context, id int64, in FieldInput) (Field, error) {
	begin, err := d.guard.Write(identity.FieldsUpdate)
	if err != nil {
		return Field{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Field{}, err
	}
	var f Field
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if f, err = fieldNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		before := f.Options
		if err := f.apply(in); err != nil {
			return err
		}
		if err := optionsUnused(ctx, tx.Reader(), f, before); err != nil {
			return err
		}
		f.UpdatedAt = d.svc.now()
		if err := fieldNoun().Rows(tx).Update(ctx, &f); err != nil {
			return err
		}
		return d.emit(ctx, tx, "field.updated", f.ID, 0)
	})
	return f, err
}

// optionsUnused returns a fault if something has an option as its value that the field no longer has.
func optionsUnused(ctx context.Context, r Reader, f Field, before []FieldOption) error {
	var gone []string
	for _, o := range before {
		if _, kept := f.option(o.Value); !kept {
			gone = append(gone, o.Value)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	used, err := r.UsedFieldKeys(ctx, f.AppliesTo, f.ID, gone)
	if err != nil || len(used) == 0 {
		return err
	}
	return fault.Field("options", "lacks options that are in use: archive them instead")
}

// Delete removes a field with all its values. It needs fields.delete. A field that a view, a rule, an SLA or a mailbox's contact
// form uses is a Conflict fault that names them.
func (d Fields) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.FieldsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	begin = begin.After(func(ctx context.Context, tx Tx) error {
		f, err := fieldNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		return f.unused(ctx, tx.Reader())
	})
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		return fieldNoun().Rows(tx).Trim(ctx, id, pieceRows)
	})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := fieldNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "field.deleted", id, 0)
	})
}

// unused returns a fault that names the views, the rules, the SLAs and the mailboxes' contact forms that use a field.
func (f Field) unused(ctx context.Context, r Reader) error {
	var users []string
	list := func(seek storage.Seek) ([]View, error) { return viewNoun().Reader(r).List(ctx, ViewReader{}, seek) }
	err := each(list, func(v View) int64 { return v.ID }, func(v View) error {
		_, filters := v.Filter.Fields[f.Key]
		if f.AppliesTo == FieldOfConversation && (filters || slices.Contains(v.Columns, f.Key)) {
			users = append(users, v.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	rules, err := allRules(ctx, r)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if rule.usesField(f) {
			users = append(users, rule.Name)
		}
	}
	slas, err := allSLAs(ctx, r)
	if err != nil {
		return err
	}
	for _, s := range slas {
		if s.usesField(f) {
			users = append(users, s.Name)
		}
	}
	surveys, err := allSurveys(ctx, r)
	if err != nil {
		return err
	}
	for _, s := range surveys {
		if s.usesField(f) {
			users = append(users, s.Name)
		}
	}
	policies, err := allRetentionPolicies(ctx, r)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if p.usesField(f) {
			users = append(users, p.Name)
		}
	}
	macros, err := macrosSetting(ctx, r, f)
	if users = append(users, macros...); err != nil {
		return err
	}
	forms, err := f.askedIn(ctx, r)
	if users = append(users, forms...); err != nil || len(users) == 0 {
		return err
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "field_in_use", Resource: "field", ID: f.ID,
		Message: "The field is in use: " + strings.Join(users, ", ") + ".", Fields: fault.Fields{"used_by": users},
	}
}
