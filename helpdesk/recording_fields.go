package helpdesk

import (
	"context"
	"slices"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// fieldSubject is a resource that has fields.
type fieldSubject struct {
	kind FieldKind
	id   int64
}

// valuing is the values of a subject's fields before and after.
type valuing struct{ first, last []FieldValue }

// FieldValues implements [FieldReader].
func (t recording) FieldValues(ctx context.Context, kind FieldKind, subjectIDs []int64) ([]FieldValue, error) {
	found, err := t.Tx.FieldValues(ctx, kind, subjectIDs)
	if err != nil {
		return nil, err
	}
	for _, id := range subjectIDs {
		if at := (fieldSubject{kind, id}); t.values[at] == nil {
			of := valuesOfSubject(found, id)
			t.values[at] = &valuing{of, of}
		}
	}
	return found, nil
}

// SetFieldValues implements [FieldWriter]. It reads the values that nobody has read before.
func (t recording) SetFieldValues(ctx context.Context, kind FieldKind, subjectIDs, fieldIDs []int64, values []FieldValue) error {
	unknown := slices.DeleteFunc(slices.Clone(subjectIDs), func(id int64) bool { return t.values[fieldSubject{kind, id}] != nil })
	if len(unknown) > 0 {
		if _, err := t.FieldValues(ctx, kind, unknown); err != nil {
			return err
		}
	}
	for _, id := range subjectIDs {
		of := t.values[fieldSubject{kind, id}]
		kept := slices.DeleteFunc(slices.Clone(of.last), func(v FieldValue) bool { return slices.Contains(fieldIDs, v.FieldID) })
		of.last = append(kept, valuesOfSubject(values, id)...)
	}
	return t.Tx.SetFieldValues(ctx, kind, subjectIDs, fieldIDs, values)
}

func valuesOfSubject(values []FieldValue, id int64) []FieldValue {
	return slices.DeleteFunc(slices.Clone(values), func(v FieldValue) bool { return v.SubjectID != id })
}

// readFields reads the fields of the kinds whose values were changed.
func (r *record) readFields(ctx context.Context) (err error) {
	same := func(a, b FieldValue) bool { return a.FieldID == b.FieldID && a.Text == b.Text }
	for at, v := range r.values {
		if r.fields[at.kind] != nil || slices.EqualFunc(v.first, v.last, same) {
			continue
		}
		if r.fields[at.kind], err = fieldsOf(ctx, r.tx.Reader(), at.kind); err != nil {
			return err
		}
	}
	return nil
}

// addFields adds the fields of a subject whose values changed, as "fields.<key>".
func (r *record) addFields(d differences, at fieldSubject) {
	v := r.values[at]
	if v == nil {
		return
	}
	for _, f := range r.fields[at.kind] {
		if from, to := textsIn(v.first, f.ID), textsIn(v.last, f.ID); !slices.Equal(from, to) {
			d["fields."+f.Key] = f.change(from, to)
		}
	}
}

// textsIn returns the values of a field, sorted.
func textsIn(values []FieldValue, fieldID int64) []string {
	var texts []string
	for _, v := range values {
		if v.FieldID == fieldID {
			texts = append(texts, v.Text)
		}
	}
	slices.Sort(texts)
	return texts
}

// change is a change of the field's values. What people wrote, and all about customers and their companies, is personal: events outlive its
// erasure, so they only say that it changed.
func (f Field) change(from, to []string) subscription.Change {
	if f.AppliesTo != FieldOfConversation || f.Type == FieldText || f.Type == FieldURL {
		return subscription.Change{}
	}
	return subscription.Change{From: f.told(from), To: f.told(to)}
}

// told returns the values of the field as the API shows them.
func (f Field) told(texts []string) storage.Opt[any] {
	if len(texts) == 0 {
		return storage.Null[any]()
	}
	switch f.Type {
	case FieldMultiselect:
		return storage.Some[any](texts)
	case FieldBoolean:
		return storage.Some[any](texts[0] == "true")
	case FieldNumber:
		if n, err := strconv.ParseFloat(texts[0], 64); err == nil {
			return storage.Some[any](n)
		}
	}
	return storage.Some[any](texts[0])
}
