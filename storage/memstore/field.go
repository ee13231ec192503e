package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// valuesOf returns the table with the values of fields of a kind, by subject; nil for a kind without one.
func (db *data) valuesOf(kind helpdesk.FieldKind) *table[[]helpdesk.FieldValue] {
	switch kind {
	case helpdesk.FieldOfConversation:
		return &db.conversationValues
	case helpdesk.FieldOfCustomer:
		return &db.customerValues
	case helpdesk.FieldOfCompany:
		return &db.companyValues
	}
	return nil
}

// subject returns a NotFound fault unless a subject of values is in scope.
func (db *data) subject(s helpdesk.Scope, kind helpdesk.FieldKind, id int64) error {
	switch kind {
	case helpdesk.FieldOfConversation:
		_, err := db.conversation(s, id)
		return err
	case helpdesk.FieldOfCustomer:
		_, err := db.customers.get(s.AccountID, id)
		return err
	case helpdesk.FieldOfCompany:
		_, err := db.plain["hw_companies"].get(s.AccountID, id)
		return err
	}
	return fault.Missing(string(kind), id)
}

// removeField takes the values of a field from everything.
func (db *data) removeField(account, id int64) {
	for _, kind := range helpdesk.FieldKinds() {
		values := db.valuesOf(kind)
		if values == nil {
			continue
		}
		for _, r := range slices.Clone(values.rows[account]) {
			left := slices.DeleteFunc(slices.Clone(*value[[]helpdesk.FieldValue](r)), func(v helpdesk.FieldValue) bool { return v.FieldID == id })
			values.set(account, r.id, &left)
		}
	}
}

// removeCompany takes the values of a company's fields.
func (db *data) removeCompany(account, id int64) { db.companyValues.set(account, id, nil) }

// meets reports whether a subject meets all conditions on fields.
func (db *data) meets(account int64, kind helpdesk.FieldKind, id int64, fields []helpdesk.FieldMatch) bool {
	if len(fields) == 0 {
		return true
	}
	var has []helpdesk.FieldValue
	if stored, err := db.valuesOf(kind).get(account, id); err == nil {
		has = *stored
	}
	return !slices.ContainsFunc(fields, func(m helpdesk.FieldMatch) bool { return !m.Met(has) })
}

func (r reader) FieldValues(ctx context.Context, kind helpdesk.FieldKind, subjectIDs []int64) ([]helpdesk.FieldValue, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.FieldValue, error) {
		var all []helpdesk.FieldValue
		for _, id := range slices.Compact(slices.Sorted(slices.Values(subjectIDs))) {
			if db.subject(r.scope, kind, id) != nil {
				continue
			}
			if has, err := db.valuesOf(kind).get(r.scope.AccountID, id); err == nil {
				all = append(all, *clone(has)...)
			}
		}
		return all, nil
	})
}

func (r reader) UsedFieldKeys(ctx context.Context, kind helpdesk.FieldKind, fieldID int64, keys []string) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		var used []string
		if values := db.valuesOf(kind); values != nil {
			for _, has := range values.all(r.scope.AccountID) {
				for _, v := range *has {
					if v.FieldID == fieldID && slices.Contains(keys, v.Key) {
						used = append(used, v.Key)
					}
				}
			}
		}
		slices.Sort(used)
		return slices.Compact(used), nil
	})
}

func (t tx) SetFieldValues(ctx context.Context, kind helpdesk.FieldKind, subjectIDs, fieldIDs []int64, values []helpdesk.FieldValue) error {
	return t.write(ctx, func(db *data) error {
		account := t.scope.AccountID
		for _, id := range fieldIDs {
			if _, err := db.plain["hw_fields"].get(account, id); err != nil {
				return err
			}
		}
		for _, id := range subjectIDs {
			if err := db.subject(t.scope, kind, id); err != nil {
				return err
			}
			of := db.valuesOf(kind)
			var has []helpdesk.FieldValue
			if old, err := of.get(account, id); err == nil {
				has = slices.DeleteFunc(slices.Clone(*old), func(v helpdesk.FieldValue) bool { return slices.Contains(fieldIDs, v.FieldID) })
			}
			for _, v := range values {
				if v.SubjectID == id {
					has = append(has, v)
				}
			}
			slices.SortFunc(has, func(a, b helpdesk.FieldValue) int {
				return cmp.Or(cmp.Compare(a.FieldID, b.FieldID), cmp.Compare(a.Key, b.Key))
			})
			if err := of.update(account, id, &has); err != nil {
				return err
			}
		}
		return nil
	})
}
