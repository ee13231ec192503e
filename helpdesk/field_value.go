package helpdesk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// FieldTexts are values of fields by key, as texts: "true" or "false", a number such as "12.5", a date such as "2026-01-31", a
// time as of RFC 3339, the value of an option, an http or https address, or plain text. A multiselect has any number of texts,
// another field one. In an input, no texts, or only empty ones, clear the field; fields whose keys are absent are unchanged.
type FieldTexts map[string][]string

// FieldValue is a value of a field as it is stored. A multiselect has one for each chosen option.
type FieldValue struct {
	SubjectID int64 // id of the conversation, customer or company
	FieldID   int64
	Text      string   // see [FieldTexts]
	Key       string   // what lists are filtered by, at most 100 characters; unique among the values of a field of a subject
	Number    *float64 // what ranges compare: a number, or seconds since 1970; nil for types without ranges
}

// FieldReader reads the values of fields.
type FieldReader interface {
	// FieldValues returns the values that subjects of a kind have, by subject, field and Key.
	FieldValues(ctx context.Context, kind FieldKind, subjectIDs []int64) ([]FieldValue, error)
	// UsedFieldKeys returns those of some Keys that any subject of a kind has in a field, sorted, whatever its mailbox.
	UsedFieldKeys(ctx context.Context, kind FieldKind, fieldID int64, keys []string) ([]string, error)
}

// FieldWriter changes the values of fields.
type FieldWriter interface {
	// SetFieldValues replaces the values that subjects of a kind have in some fields. The subjects and fields of the values are
	// among these. Neither list has duplicates.
	SetFieldValues(ctx context.Context, kind FieldKind, subjectIDs, fieldIDs []int64, values []FieldValue) error
}

// FieldMatch is a condition on the values of a field. Without Keys, bounds and Empty, any value meets it.
type FieldMatch struct {
	FieldID int64
	Keys    []string // [FieldValue.Key] is any of these; empty: all
	From    *float64 // [FieldValue.Number] is at least this
	To      *float64 // [FieldValue.Number] is at most this
	Empty   bool     // there is no value; the rest is not set
}

// Met reports whether the values of a subject meet the condition.
func (m FieldMatch) Met(values []FieldValue) bool {
	if m.Empty {
		return !slices.ContainsFunc(values, func(v FieldValue) bool { return v.FieldID == m.FieldID })
	}
	return slices.ContainsFunc(values, m.Meets)
}

// Meets reports whether a value meets the condition, which is not that there is none.
func (m FieldMatch) Meets(v FieldValue) bool {
	return v.FieldID == m.FieldID && (len(m.Keys) == 0 || slices.Contains(m.Keys, v.Key)) &&
		(m.From == nil || v.Number != nil && *v.Number >= *m.From) && (m.To == nil || v.Number != nil && *v.Number <= *m.To)
}

// FieldQuery narrows a list by the values of a field, as in [FieldTexts]. All that is given must hold.
type FieldQuery struct {
	Values []string `json:"values,omitempty"` // any of these; texts are compared as a whole, ignoring case
	From   string   `json:"from,omitempty"`   // of a number, a date or a datetime: at least this
	To     string   `json:"to,omitempty"`     // of a number, a date or a datetime: at most this; for a datetime, a date includes the day
	Empty  *bool    `json:"empty,omitempty"`  // true: there is no value, without other conditions; false: there is one
}

// FieldQueries are conditions on fields, by key. All must hold.
type FieldQueries map[string]FieldQuery

// normal returns a copy without conditions that are empty.
func (q FieldQueries) normal() FieldQueries {
	var all FieldQueries
	for key, one := range q {
		one.Values = slices.DeleteFunc(slices.Clone(one.Values), func(v string) bool { return strings.TrimSpace(v) == "" })
		if one.From, one.To = strings.TrimSpace(one.From), strings.TrimSpace(one.To); len(one.Values) == 0 {
			one.Values = nil
		}
		if one.Values == nil && one.From == "" && one.To == "" && one.Empty == nil {
			continue
		}
		if all == nil {
			all = FieldQueries{}
		}
		all[key] = one
	}
	return all
}

// matches returns the conditions for the store; those that make no sense are problems.
func (q FieldQueries) matches(fields []Field, problems *fault.Collector, prefix string) []FieldMatch {
	var all []FieldMatch
	name := fieldOf(prefix)
	for _, key := range slices.Sorted(maps.Keys(q)) {
		f, known := byKey(fields, key)
		at := name("fields") + "[" + key + "]"
		if !problems.Check(known, at, "is not a field") {
			continue
		}
		one, m := q[key], FieldMatch{FieldID: f.ID}
		problems.Check(len(one.Values) <= MaxFieldOptions, at, "has more than 1000 values")
		for _, text := range one.Values {
			if f.Type.HasOptions() { // a view may name an option that is gone
				m.Keys = append(m.Keys, text)
				continue
			}
			v, problem := f.value(text)
			problems.Check(problem == "", at, problem)
			m.Keys = append(m.Keys, v.Key)
		}
		problems.Check(f.Type.Ranged() || one.From == "" && one.To == "", at, "has no range")
		m.From, m.To = f.bound(problems, at+"[from]", one.From, false), f.bound(problems, at+"[to]", one.To, true)
		m.Empty = one.Empty != nil && *one.Empty
		problems.Check(!m.Empty || len(one.Values) == 0 && one.From == "" && one.To == "", at+"[empty]", "cannot be combined with values")
		slices.Sort(m.Keys)
		m.Keys = slices.Compact(m.Keys)
		all = append(all, m)
	}
	return all
}

// of returns the conditions for the store on fields of a kind. Names of problems begin with prefix.
func (q FieldQueries) of(ctx context.Context, r Reader, kind FieldKind, prefix string) ([]FieldMatch, error) {
	if len(q) == 0 {
		return nil, nil
	}
	fields, err := fieldsOf(ctx, r, kind)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	all := q.matches(fields, &problems, prefix)
	return all, problems.Err()
}

// bound reads a bound of a range; nil for an empty one.
func (f Field) bound(problems *fault.Collector, at, text string, last bool) *float64 {
	if text == "" || !f.Type.Ranged() {
		return nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if f.Type == FieldDatetime && err == nil {
		if last {
			day = day.AddDate(0, 0, 1).Add(-time.Second)
		}
		return new(float64(day.Unix()))
	}
	v, problem := f.value(text)
	problems.Check(problem == "", at, problem)
	return v.Number
}

// value reads a value of the field. The problem is empty if it is valid.
func (f Field) value(text string) (v FieldValue, problem string) {
	v.FieldID = f.ID
	text = strings.TrimSpace(plain.Lines(text))
	switch f.Type {
	case FieldNumber:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.Abs(n) > 1e15 {
			return v, "must be a number"
		}
		n += 0 // no negative zero
		text, v.Number = strconv.FormatFloat(n, 'f', -1, 64), &n
	case FieldBoolean:
		yes, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return v, "must be true or false"
		}
		text = strconv.FormatBool(yes)
	case FieldDate:
		day, err := time.Parse(time.DateOnly, text)
		if err != nil || day.Year() < 1 {
			return v, "must be a date such as 2026-01-31"
		}
		v.Number = new(float64(day.Unix()))
	case FieldDatetime:
		at, err := parseMoment(text)
		if err != nil {
			return v, "must be a time such as 2026-01-31T09:30:00Z"
		}
		text, v.Number = at.Format(time.RFC3339), new(float64(at.Unix()))
	case FieldSelect, FieldMultiselect:
		if _, known := f.option(text); !known {
			return v, "is none of the options"
		}
	case FieldURL:
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(text, " \n\t") {
			return v, "must be an http or https address"
		}
	case FieldText:
	}
	if plain.Length(text) > MaxFieldText {
		return v, fmt.Sprintf("has more than %d characters", MaxFieldText)
	}
	v.Text, v.Key = text, text
	if f.Type == FieldText || f.Type == FieldURL {
		v.Key = valueKey(text)
	}
	return v, ""
}

// parseMoment reads a time, to the second; without a zone, it is in UTC.
func parseMoment(text string) (time.Time, error) {
	var err error
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		var at time.Time
		if at, err = time.Parse(layout, text); err == nil && at.UTC().Year() >= 1 && at.UTC().Year() <= 9999 {
			return at.UTC().Truncate(time.Second), nil
		}
	}
	return time.Time{}, err
}

// valueKey returns what a text is compared by. Indexes limit its length.
func valueKey(text string) string {
	key := plain.Key(text)
	if plain.Length(key) <= 100 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// values reads the values of a field for a subject that has had some. An archived option is only valid if it was one of these.
func (f Field) values(texts []string, before []FieldValue) (all []FieldValue, problem string) {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return strings.TrimSpace(t) == "" })
	if len(texts) > 1 && f.Type != FieldMultiselect {
		return nil, "must be one value"
	}
	for _, text := range texts {
		v, problem := f.value(text)
		if problem != "" {
			return nil, problem
		}
		same := func(o FieldValue) bool { return o.FieldID == v.FieldID && o.Key == v.Key }
		if o, _ := f.option(v.Text); f.Type.HasOptions() && o.Archived && !slices.ContainsFunc(before, same) {
			return nil, "is an archived option"
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, v)
		}
	}
	return all, ""
}

// Check returns what is wrong with the values of a new subject, "" if they are valid.
func (f Field) Check(texts []string) (problem string) {
	_, problem = f.values(texts, nil)
	return problem
}

// checked reads values for subjects of a kind, which have had some.
func (t FieldTexts) checked(fields []Field, subjectIDs []int64, before []FieldValue) (ids []int64, values []FieldValue, err error) {
	var problems fault.Collector
	for _, key := range slices.Sorted(maps.Keys(t)) {
		f, known := byKey(fields, key)
		at := "fields[" + key + "]"
		if !problems.Check(known, at, "is not a field") {
			continue
		}
		ids = append(ids, f.ID)
		for _, subject := range subjectIDs {
			of := slices.DeleteFunc(slices.Clone(before), func(v FieldValue) bool { return v.SubjectID != subject })
			some, problem := f.values(t[key], of)
			if !problems.Check(problem == "", at, problem) {
				break
			}
			for _, v := range some {
				v.SubjectID = subject
				values = append(values, v)
			}
		}
	}
	return ids, values, problems.Err()
}

// setFields sets fields of subjects of a kind.
func setFields(ctx context.Context, tx Tx, kind FieldKind, subjectIDs []int64, in FieldTexts) error {
	if len(in) == 0 || len(subjectIDs) == 0 {
		return nil
	}
	fields, err := fieldsOf(ctx, tx.Reader(), kind)
	if err != nil {
		return err
	}
	before, err := tx.FieldValues(ctx, kind, subjectIDs)
	if err != nil {
		return err
	}
	ids, values, err := in.checked(fields, subjectIDs, before)
	if err != nil {
		return err
	}
	return tx.SetFieldValues(ctx, kind, subjectIDs, ids, values)
}

// visible returns an Invalid fault unless customers see all fields that are given.
func (t FieldTexts) visible(ctx context.Context, r Reader) error {
	if len(t) == 0 {
		return nil
	}
	fields, err := fieldsOf(ctx, r, FieldOfConversation)
	if err != nil {
		return err
	}
	var problems fault.Collector
	for _, key := range slices.Sorted(maps.Keys(t)) {
		f, known := byKey(fields, key)
		problems.Check(known && f.CustomerVisible, "fields["+key+"]", "is not a field")
	}
	return problems.Err()
}

// eraseFields removes what people wrote into the fields of a conversation: texts and web addresses. Choices and numbers stay.
func eraseFields(ctx context.Context, tx Tx, conversationID int64) error {
	fields, err := fieldsOf(ctx, tx.Reader(), FieldOfConversation)
	if err != nil {
		return err
	}
	var ids []int64
	for _, f := range fields {
		if f.Type == FieldText || f.Type == FieldURL {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.SetFieldValues(ctx, FieldOfConversation, []int64{conversationID}, ids, nil)
}

// completeFields gives a subject the values of another for the fields that it has none of.
func completeFields(ctx context.Context, tx Tx, kind FieldKind, values []FieldValue, from, into int64) error {
	var ids []int64
	var added []FieldValue
	for _, v := range values {
		has := func(o FieldValue) bool { return o.SubjectID == into && o.FieldID == v.FieldID }
		if v.SubjectID == from && !slices.ContainsFunc(values, has) {
			v.SubjectID = into
			ids, added = append(ids, v.FieldID), append(added, v)
		}
	}
	if len(added) == 0 {
		return nil
	}
	return tx.SetFieldValues(ctx, kind, []int64{into}, sortedSet(ids), added)
}

// textsOf returns the values of each subject by key, those of a multiselect in the order of its options.
func textsOf(fields []Field, values []FieldValue) map[int64]FieldTexts {
	all := map[int64]FieldTexts{}
	for _, v := range values {
		for _, f := range fields {
			if f.ID != v.FieldID {
				continue
			}
			if all[v.SubjectID] == nil {
				all[v.SubjectID] = FieldTexts{}
			}
			all[v.SubjectID][f.Key] = append(all[v.SubjectID][f.Key], v.Text)
		}
	}
	for _, of := range all {
		for key, texts := range of {
			f, _ := byKey(fields, key)
			at := func(text string) int {
				return slices.IndexFunc(f.Options, func(o FieldOption) bool { return o.Value == text })
			}
			if len(texts) > 1 {
				slices.SortStableFunc(texts, func(a, b string) int { return at(a) - at(b) })
			}
		}
	}
	return all
}

// FieldSet is the fields of a kind with the values that some subjects have.
type FieldSet struct {
	Fields []Field              // in the order in which they are shown
	Values map[int64]FieldTexts // by id of the subject; those without any are left out
}

// Shown returns what a value is shown as: the labels of options, otherwise the texts.
func (f Field) Shown(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = text
		if o, known := f.option(text); known && f.Type.HasOptions() {
			all[i] = o.Label
		}
	}
	return all
}

func readFields(ctx context.Context, r Reader, kind FieldKind, ids []int64) (FieldSet, error) {
	fields, err := fieldsOf(ctx, r, kind)
	if err != nil || len(fields) == 0 || len(ids) == 0 {
		return FieldSet{Fields: fields}, err
	}
	values, err := r.FieldValues(ctx, kind, ids)
	return FieldSet{Fields: fields, Values: textsOf(fields, values)}, err
}

// Fields returns the fields of conversations with the values that some conversations have. Those that the member
// does not reach have none. It needs conversations.view, create or update.
func (d Conversations) Fields(ctx context.Context, ids []int64) (FieldSet, error) {
	r, err := d.guard.Read(d.worksOnConversations())
	if err != nil {
		return FieldSet{}, err
	}
	return readFields(ctx, r, FieldOfConversation, ids)
}

// Fields returns the fields of customers with the values that some customers have. It needs customers.view, create or
// update.
func (d Customers) Fields(ctx context.Context, ids []int64) (FieldSet, error) {
	r, err := d.guard.Read(d.firstAllowed(identity.CustomersView, identity.CustomersCreate, identity.CustomersUpdate))
	if err != nil {
		return FieldSet{}, err
	}
	return readFields(ctx, r, FieldOfCustomer, ids)
}

// Fields returns the fields of companies with the values that some companies have. It needs companies.view, create or
// update.
func (d Companies) Fields(ctx context.Context, ids []int64) (FieldSet, error) {
	r, err := d.guard.Read(d.firstAllowed(identity.CompaniesView, identity.CompaniesCreate, identity.CompaniesUpdate))
	if err != nil {
		return FieldSet{}, err
	}
	return readFields(ctx, r, FieldOfCompany, ids)
}

// firstAllowed returns the first permission that the member has, or p.
func (d *desk) firstAllowed(p identity.Permission, others ...identity.Permission) identity.Permission {
	for _, other := range others {
		if !d.guard.Allows(p) && d.guard.Allows(other) {
			p = other
		}
	}
	return p
}

// closable returns an Invalid fault that names the fields without which conversations that a member closes would be closed.
// Spam needs none.
func closable(ctx context.Context, r Reader, closed []Conversation) error {
	var ids []int64
	for _, c := range closed {
		if c.Status == StatusClosed && !c.IsSpam() {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	fields, err := fieldsOf(ctx, r, FieldOfConversation)
	fields = slices.DeleteFunc(fields, func(f Field) bool { return !f.RequiredToClose })
	if err != nil || len(fields) == 0 {
		return err
	}
	values, err := r.FieldValues(ctx, FieldOfConversation, ids)
	if err != nil {
		return err
	}
	has := textsOf(fields, values)
	var problems fault.Collector
	for _, f := range fields {
		for _, id := range ids {
			if len(has[id][f.Key]) == 0 {
				problems.Add("fields["+f.Key+"]", "is required to close a conversation")
				break
			}
		}
	}
	return problems.Err()
}
