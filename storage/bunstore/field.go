package bunstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// valueTables are the tables with the values of fields, by kind. They have the same columns.
var valueTables = map[helpdesk.FieldKind]string{
	helpdesk.FieldOfConversation: "hw_conversation_values",
	helpdesk.FieldOfCustomer:     "hw_customer_values",
	helpdesk.FieldOfCompany:      "hw_company_values",
}

type valueRow struct {
	bun.BaseModel `bun:"table:hw_values,alias:v"`
	AccountID     int64
	SubjectID     int64
	FieldID       int64
	ValueKey      string
	Value         string
	Number        *float64
}

func (r *valueRow) value() helpdesk.FieldValue {
	return helpdesk.FieldValue{SubjectID: r.SubjectID, FieldID: r.FieldID, Text: r.Value, Key: r.ValueKey, Number: r.Number}
}

// FieldValues implements [helpdesk.FieldReader].
func (r reader) FieldValues(ctx context.Context, kind helpdesk.FieldKind, subjectIDs []int64) ([]helpdesk.FieldValue, error) {
	table := valueTables[kind]
	if len(subjectIDs) == 0 || table == "" {
		return nil, r.state()
	}
	var rows []valueRow
	q := r.selects(&rows).ModelTableExpr("? AS v", bun.Ident(table)).Where("v.account_id = ?", r.scope.AccountID).
		Where("v.subject_id IN (?)", bun.List(subjectIDs))
	if kind == helpdesk.FieldOfConversation && r.scope.Mailboxes != nil {
		q.Where("EXISTS (SELECT 1 FROM hw_conversations AS c WHERE c.account_id = v.account_id AND c.id = v.subject_id AND c.mailbox_id IN (?))",
			bun.List(r.scope.Mailboxes))
	}
	if err := q.Scan(ctx); err != nil {
		return nil, failure(ctx, err, "field", 0)
	}
	slices.SortFunc(rows, func(a, b valueRow) int { // independent of the database's collation
		return cmp.Or(cmp.Compare(a.SubjectID, b.SubjectID), cmp.Compare(a.FieldID, b.FieldID), cmp.Compare(a.ValueKey, b.ValueKey))
	})
	return mapped(rows, (*valueRow).value), nil
}

// UsedFieldKeys implements [helpdesk.FieldReader]. It looks the keys up one by one in an index.
func (r reader) UsedFieldKeys(ctx context.Context, kind helpdesk.FieldKind, fieldID int64, keys []string) ([]string, error) {
	table := valueTables[kind]
	if len(keys) == 0 || table == "" {
		return nil, r.state()
	}
	if err := checkText(keys); err != nil {
		return nil, err
	}
	var used []string
	for some := range slices.Chunk(keys, 100) {
		parts := bun.SafeQuery("")
		for i, key := range some {
			union := bun.Safe(" UNION ALL ")
			if i == 0 {
				union = ""
			}
			parts = bun.SafeQuery("? ? ?", parts, union, bun.SafeQuery("SELECT * FROM (SELECT value_key FROM ? WHERE account_id = ? AND field_id = ? AND value_key = ? LIMIT 1) AS k",
				bun.Ident(table), r.scope.AccountID, fieldID, key))
		}
		var found []string
		if err := r.raw("?", parts).Scan(ctx, &found); err != nil {
			return nil, failure(ctx, err, "field", fieldID)
		}
		used = append(used, found...)
	}
	slices.Sort(used)
	return slices.Compact(used), nil
}

// SetFieldValues implements [helpdesk.FieldWriter].
func (w writer) SetFieldValues(ctx context.Context, kind helpdesk.FieldKind, subjectIDs, fieldIDs []int64, values []helpdesk.FieldValue) error {
	table := valueTables[kind]
	if err := w.requireFields(ctx, fieldIDs); err != nil || len(subjectIDs) == 0 {
		return err
	}
	if err := w.requireSubjects(ctx, kind, subjectIDs); err != nil || len(fieldIDs) == 0 {
		return err
	}
	_, err := w.raw("DELETE FROM ? WHERE account_id = ? AND subject_id IN (?) AND field_id IN (?)",
		bun.Ident(table), w.scope.AccountID, bun.List(subjectIDs), bun.List(fieldIDs)).Exec(ctx)
	if err != nil || len(values) == 0 {
		return failure(ctx, err, "field", 0)
	}
	for some := range slices.Chunk(values, 500) {
		rows := make([]valueRow, len(some))
		for i, v := range some {
			rows[i] = valueRow{AccountID: w.scope.AccountID, SubjectID: v.SubjectID, FieldID: v.FieldID, ValueKey: v.Key, Value: v.Text, Number: v.Number}
		}
		if _, err := w.inserts(&rows).ModelTableExpr("?", bun.Ident(table)).Exec(ctx); err != nil {
			return failure(ctx, err, "field", 0)
		}
	}
	return nil
}

// requireFields refuses missing fields.
func (w writer) requireFields(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return w.requireAccount(ctx)
	}
	found, err := nouns.Fields.Rows(w).ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(f helpdesk.Field) bool { return f.ID == id }) {
			return fault.Missing("field", id)
		}
	}
	return nil
}

// requireSubjects refuses missing subjects of values.
func (w writer) requireSubjects(ctx context.Context, kind helpdesk.FieldKind, ids []int64) error {
	var found []int64
	var q *bun.SelectQuery
	if kind == helpdesk.FieldOfCompany {
		all, err := nouns.Companies.Rows(w).ByIDs(ctx, ids)
		for _, id := range ids {
			if err == nil && !slices.ContainsFunc(all, func(c helpdesk.Company) bool { return c.ID == id }) {
				err = fault.Missing("company", id)
			}
		}
		return err
	}
	switch kind {
	case helpdesk.FieldOfConversation:
		q = w.selects((*conversationRow)(nil)).ApplyQueryBuilder(w.conversationsInScope)
	case helpdesk.FieldOfCustomer:
		q = w.selectCustomers()
	default:
		return fault.Missing(string(kind), ids[0])
	}
	if err := w.byID(q).Column("id").Where("?TableName.id IN (?)", bun.List(ids)).Scan(ctx, &found); err != nil {
		return failure(ctx, err, string(kind), 0)
	}
	for _, id := range ids {
		if !slices.Contains(found, id) {
			return fault.Missing(string(kind), id)
		}
	}
	return nil
}

// hasValues checks the values of each row of a query, with expressions that no planner turns into joins and that are never NULL.
func hasValues(table string, fields []helpdesk.FieldMatch) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		for _, m := range fields {
			found := 1
			if m.Empty {
				found = 0
			}
			q = q.Where(`COALESCE((SELECT 1 FROM ? AS v WHERE v.account_id = ?TableName.account_id AND v.subject_id = ?TableName.id
				AND ? LIMIT 1), 0) = ?`, bun.Ident(table), meeting("v.", m), found)
		}
		return q
	}
}

// meeting is the condition that a value meets m, or that it is one of which m wants none.
func meeting(prefix bun.Safe, m helpdesk.FieldMatch) schema.QueryWithArgs {
	all := bun.SafeQuery("? = ?", prefix+"field_id", m.FieldID)
	switch len(m.Keys) {
	case 0:
	case 1:
		all = bun.SafeQuery("? AND ? = ?", all, prefix+"value_key", m.Keys[0])
	default:
		all = bun.SafeQuery("? AND ? IN (?)", all, prefix+"value_key", bun.List(m.Keys))
	}
	if m.From != nil {
		all = bun.SafeQuery("? AND ? >= ?", all, prefix+"number", *m.From)
	}
	if m.To != nil {
		all = bun.SafeQuery("? AND ? <= ?", all, prefix+"number", *m.To)
	}
	return all
}

// valuesOf returns the conditions on fields for which there are indexes in the order of lists of conversations.
func valuesOf(fields []helpdesk.FieldMatch) []keyed {
	var all []keyed
	for i, m := range fields {
		if len(m.Keys) == 0 || len(m.Keys) > mostRanges {
			continue
		}
		var ranges []schema.QueryWithArgs
		for _, key := range m.Keys {
			ranges = append(ranges, bun.SafeQuery("field_id = ? AND value_key = ?", m.FieldID, key))
		}
		all = append(all, keyed{side: conversationValues, ranges: ranges, clear: func(f *helpdesk.ConversationFilter) {
			if m.From == nil && m.To == nil {
				f.Fields = without(f.Fields, i)
			}
		}})
	}
	return all
}

// without returns a copy of a list without an item, nil without any.
func without[T any](list []T, i int) []T {
	if len(list) == 1 {
		return nil
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

// rangesOf returns the sets of conversations that have a value in a range, or any.
func rangesOf(fields []helpdesk.FieldMatch) []listSource {
	var all []listSource
	for _, m := range fields {
		if len(m.Keys) == 0 && m.From == nil && m.To == nil && !m.Empty {
			all = append(all, listSource{
				index: "hw_conversation_values_field", side: conversationValues, column: "subject_id",
				ranges: []schema.QueryWithArgs{meeting("", m)},
			})
		}
		if m.From != nil || m.To != nil {
			all = append(all, listSource{
				index: "hw_conversation_values_number", side: conversationValues, column: "number",
				ranges: []schema.QueryWithArgs{meeting("", helpdesk.FieldMatch{FieldID: m.FieldID, From: m.From, To: m.To})},
			})
		}
	}
	return all
}

// customersWith reads the next customers who have a value of a field, from an index of values, which is in the list's order.
func (r reader) customersWith(ctx context.Context, m helpdesk.FieldMatch, seek storage.Seek) ([]helpdesk.Customer, error) {
	index := "hw_customer_values_field"
	if len(m.Keys) == 1 {
		index = "hw_customer_values_key"
	}
	values := bun.SafeQuery("hw_customer_values AS v")
	if !r.store.postgres {
		values = bun.SafeQuery("? INDEXED BY ?", values, bun.Ident(index))
	}
	next := r.db.NewSelect().TableExpr("?", values).ColumnExpr("v.subject_id").Where("v.account_id = ?", r.scope.AccountID).Where("?", meeting("v.", m))
	if len(m.Keys) != 1 { // several values of one customer
		next.Distinct()
	}
	return r.customers(ctx, r.selectCustomers().Where("?TableName.id IN (?)", pageBy(next, "v.subject_id", seek)), seek.Desc)
}
