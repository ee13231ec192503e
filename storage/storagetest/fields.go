package storagetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func fieldTests() []testCase {
	return []testCase{
		{"Values", testFieldValues},
		{"DeleteField", testDeleteField},
		{"FieldPages", testFieldPages},
		{"CustomerFieldPages", testCustomerFieldPages},
	}
}

// describe makes a field of each kind and gives the world's conversation and customer values.
func (w *world) describe(ctx context.Context, tx helpdesk.Tx) error {
	w.field, w.trait, w.fact = w.newField("held"), w.newField("trait"), w.newField("fact")
	w.trait.AppliesTo, w.fact.AppliesTo = helpdesk.FieldOfCustomer, helpdesk.FieldOfCompany
	if err := helpdesk.Nouns().Fields.Rows(tx).Insert(ctx, &w.field, &w.trait, &w.fact); err != nil {
		return err
	}
	w.values = []helpdesk.FieldValue{
		{SubjectID: w.conversation.ID, FieldID: w.field.ID, Text: "12.5 größer", Key: "12.5 grösser", Number: new(12.5)},
		{SubjectID: w.customer.ID, FieldID: w.trait.ID, Text: "gold", Key: "gold"},
		{SubjectID: w.company.ID, FieldID: w.fact.ID, Text: "7", Key: "7", Number: new(7.0)},
	}
	if err := tx.SetFieldValues(ctx, helpdesk.FieldOfConversation, []int64{w.conversation.ID}, []int64{w.field.ID}, w.values[:1]); err != nil {
		return err
	}
	if err := tx.SetFieldValues(ctx, helpdesk.FieldOfCustomer, []int64{w.customer.ID}, []int64{w.trait.ID}, w.values[1:2]); err != nil {
		return err
	}
	return tx.SetFieldValues(ctx, helpdesk.FieldOfCompany, []int64{w.company.ID}, []int64{w.fact.ID}, w.values[2:])
}

func (w *world) newField(key string) helpdesk.Field {
	return helpdesk.Field{
		Key: key + w.mark, Label: "Field " + w.mark, AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldSelect,
		Options: []helpdesk.FieldOption{{Value: "a", Label: `A "größe"`}, {Value: "b", Label: "B", Archived: true}}, RequiredToClose: true,
		CustomerVisible: true, SortOrder: -7, CreatedAt: base, UpdatedAt: at(1),
	}
}

// valuesOf reads the values of subjects.
func (w *world) valuesOf(t *testing.T, kind helpdesk.FieldKind, ids ...int64) []helpdesk.FieldValue {
	t.Helper()
	values, err := w.in().FieldValues(t.Context(), kind, ids)
	ok(t, err)
	return values
}

func testFieldValues(t *testing.T, b Backend) {
	w := newWorld(t, b)
	other, c := w.newField("other"), w.newConversation()
	value := func(subject int64, f helpdesk.Field, key string) helpdesk.FieldValue {
		return helpdesk.FieldValue{SubjectID: subject, FieldID: f.ID, Text: "The " + key, Key: key}
	}
	set := func(kind helpdesk.FieldKind, subjects, fields []int64, values ...helpdesk.FieldValue) error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SetFieldValues(ctx, kind, subjects, fields, values)
		})
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Fields.Rows(tx).Insert(ctx, &other))
		return tx.Conversations().Insert(ctx, &c)
	})
	const kind = helpdesk.FieldOfConversation
	several := []helpdesk.FieldValue{value(c.ID, w.field, "a"), value(c.ID, w.field, "b"), value(c.ID, other, "Ä x")}
	ok(t, set(kind, []int64{w.conversation.ID, c.ID}, []int64{w.field.ID, other.ID}, slices.Concat(several, w.values[:1])...))
	same(t, "values", slices.Concat(w.values[:1], several), w.valuesOf(t, kind, w.conversation.ID, c.ID, nobody))
	ok(t, set(kind, []int64{c.ID}, []int64{w.field.ID}, value(c.ID, w.field, "c")))
	ok(t, set(kind, []int64{w.conversation.ID}, []int64{w.field.ID}))
	same(t, "replaced", []helpdesk.FieldValue{value(c.ID, w.field, "c"), several[2]}, w.valuesOf(t, kind, w.conversation.ID, c.ID))
	ok(t, set(kind, nil, []int64{other.ID}))
	ok(t, set(kind, []int64{c.ID}, nil))
	same(t, "of another kind", w.values[1:2], w.valuesOf(t, helpdesk.FieldOfCustomer, w.customer.ID))
	same(t, "of a third kind", w.values[2:], w.valuesOf(t, helpdesk.FieldOfCompany, w.company.ID, nobody))
	used, err := w.in().UsedFieldKeys(t.Context(), kind, w.field.ID, []string{"b", "c", "Ä x"})
	ok(t, err)
	same(t, "used", []string{"c"}, used)
	used, err = w.in().UsedFieldKeys(t.Context(), helpdesk.FieldOfCompany, w.field.ID, []string{"c"})
	ok(t, err)
	same(t, "used by companies", 0, len(used))
	for what, err := range map[string]error{
		"an absent field":        set(kind, []int64{c.ID}, []int64{nobody}),
		"an absent conversation": set(kind, []int64{nobody}, []int64{w.field.ID}),
		"an absent customer":     set(helpdesk.FieldOfCustomer, []int64{nobody}, []int64{w.trait.ID}),
		"an absent company":      set(helpdesk.FieldOfCompany, []int64{nobody}, []int64{w.fact.ID}),
	} {
		fails(t, what, err, fault.NotFound)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteConversations(ctx, []int64{c.ID}) })
	same(t, "of a deleted conversation", 0, len(w.valuesOf(t, kind, c.ID)))
	fresh := helpdesk.Customer{FirstName: "Alan", CreatedAt: base, UpdatedAt: base}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertCustomer(ctx, &fresh))
		ok(t, tx.SetFieldValues(ctx, helpdesk.FieldOfCustomer, []int64{fresh.ID}, []int64{w.trait.ID}, []helpdesk.FieldValue{value(fresh.ID, w.trait, "x")}))
		return tx.DeleteCustomer(ctx, fresh.ID)
	})
	firm := w.newCompany("fresh")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Companies.Rows(tx).Insert(ctx, &firm))
		ok(t, tx.SetFieldValues(ctx, helpdesk.FieldOfCompany, []int64{firm.ID}, []int64{w.fact.ID}, []helpdesk.FieldValue{value(firm.ID, w.fact, "x")}))
		return helpdesk.Nouns().Companies.Rows(tx).Delete(ctx, firm.ID)
	})
	same(t, "of a deleted company", 0, len(w.valuesOf(t, helpdesk.FieldOfCompany, firm.ID)))
	same(t, "of a deleted customer", 0, len(w.valuesOf(t, helpdesk.FieldOfCustomer, fresh.ID)))
}

func testDeleteField(t *testing.T, b Backend) {
	w := newWorld(t, b)
	many, other := w.conversations(t, manyRows), w.newField("other")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Fields.Rows(tx).Insert(ctx, &other))
		var values []helpdesk.FieldValue
		for _, id := range many {
			values = append(values, helpdesk.FieldValue{SubjectID: id, FieldID: w.field.ID, Key: "a"}, helpdesk.FieldValue{SubjectID: id, FieldID: w.field.ID, Key: "b"},
				helpdesk.FieldValue{SubjectID: id, FieldID: other.ID, Key: "a"})
		}
		return tx.SetFieldValues(ctx, helpdesk.FieldOfConversation, many, []int64{w.field.ID, other.ID}, values)
	})
	w.trimmed(t, func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
		return helpdesk.Nouns().Fields.Rows(tx).Trim(ctx, w.field.ID, 2)
	})
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return helpdesk.Nouns().Fields.Rows(tx).Delete(ctx, w.field.ID)
	})
	left := w.valuesOf(t, helpdesk.FieldOfConversation, append(many, w.conversation.ID)...)
	same(t, "values left", manyRows, len(left))
	same(t, "values of the deleted field", false, slices.ContainsFunc(left, func(v helpdesk.FieldValue) bool { return v.FieldID == w.field.ID }))
}

// testFieldPages pages through conversations with values, alone and with other conditions, before and after the conversations
// change.
func testFieldPages(t *testing.T, b Backend) {
	w := newWorld(t, b)
	second := w.newField("second")
	everything := spread(t, w)
	has := map[int64][]helpdesk.FieldValue{}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, helpdesk.Nouns().Fields.Rows(tx).Insert(ctx, &second))
		for n, c := range everything {
			values := []helpdesk.FieldValue{
				{SubjectID: c.ID, FieldID: w.field.ID, Text: "a", Key: "a"}, {SubjectID: c.ID, FieldID: w.field.ID, Text: "b", Key: "b"},
				{SubjectID: c.ID, FieldID: second.ID, Key: fmt.Sprint(n%5) + ".5", Number: new(float64(n%5) + 0.5)},
			}
			has[c.ID] = values[min(n%3, 1):][:n%4%3+1-min(n%3, 1)*(n%4%3/2)]
			ok(t, tx.SetFieldValues(ctx, helpdesk.FieldOfConversation, []int64{c.ID}, []int64{w.field.ID, second.ID}, has[c.ID]))
		}
		return nil
	})
	matches := map[string][]helpdesk.FieldMatch{
		"a value":       {{FieldID: w.field.ID, Keys: []string{"a"}}},
		"any of two":    {{FieldID: w.field.ID, Keys: []string{"b", "a"}}},
		"none":          {{FieldID: w.field.ID, Keys: []string{"z"}}},
		"any at all":    {{FieldID: second.ID}},
		"any, several":  {{FieldID: w.field.ID}},
		"empty":         {{FieldID: second.ID, Empty: true}},
		"empty and key": {{FieldID: second.ID, Empty: true}, {FieldID: w.field.ID, Keys: []string{"b"}}},
		"any, not both": {{FieldID: w.field.ID}, {FieldID: second.ID, Empty: true}},
		"from":          {{FieldID: second.ID, From: new(2.5)}},
		"a range":       {{FieldID: second.ID, From: new(1.0), To: new(3.5)}},
		"both":          {{FieldID: w.field.ID, Keys: []string{"b"}}, {FieldID: second.ID, To: new(2.5)}},
		"key and range": {{FieldID: second.ID, Keys: []string{"1.5", "3.5"}, From: new(2.0)}},
	}
	check := func() {
		t.Helper()
		for _, by := range []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue} {
			for name, filter := range map[string]helpdesk.ConversationFilter{
				"all": {}, "closed": {Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, "a mailbox": {MailboxID: w.empty.ID},
			} {
				for of, fields := range matches {
					filter.Fields = fields
					want := slices.DeleteFunc(sorted(everything, by), func(c helpdesk.Conversation) bool {
						return slices.ContainsFunc(fields, func(m helpdesk.FieldMatch) bool { return !m.Met(has[c.ID]) }) ||
							len(filter.Statuses) > 0 && c.Status != helpdesk.StatusClosed || filter.MailboxID != 0 && c.MailboxID != filter.MailboxID
					})
					t.Log(name, of, by, len(want))
					checkPages(t, want, func(c helpdesk.Conversation) storage.Position { return storage.Position{Key: c.SortKey(by), ID: c.ID} },
						func(seek storage.Seek) ([]helpdesk.Conversation, error) {
							return w.in().Conversations().List(t.Context(), helpdesk.ConversationOrder{ConversationFilter: filter, Sort: by}, seek)
						})
				}
			}
		}
	}
	check()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for i := range everything {
			c := &everything[i]
			c.UpdatedAt, c.Status = at(500-7*i%11), helpdesk.StatusClosed
			if i%2 == 0 {
				c.Status = helpdesk.StatusPending
			}
		}
		return tx.Conversations().Update(ctx, storage.Pointers(everything)...)
	})
	check()
}

func testCustomerFieldPages(t *testing.T, b Backend) {
	w := newWorld(t, b)
	everyone := []helpdesk.Customer{w.customer}
	has := map[int64][]helpdesk.FieldValue{w.customer.ID: w.values[1:2]}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range 12 {
			c := helpdesk.Customer{FirstName: fmt.Sprint("Customer", n), CompanyID: w.company.ID * int64(n%2), CreatedAt: base, UpdatedAt: base}
			ok(t, tx.InsertCustomer(ctx, &c))
			ok(t, tx.SetCustomerTerms(ctx, c.ID, []string{"some"}))
			has[c.ID] = []helpdesk.FieldValue{
				{SubjectID: c.ID, FieldID: w.trait.ID, Key: fmt.Sprint(n % 3), Number: new(float64(n))}, {SubjectID: c.ID, FieldID: w.trait.ID, Key: "x", Number: new(float64(n) + 0.5)},
			}[:n%4%3]
			if len(has[c.ID]) > 0 {
				ok(t, tx.SetFieldValues(ctx, helpdesk.FieldOfCustomer, []int64{c.ID}, []int64{w.trait.ID}, has[c.ID]))
			}
			everyone = append(everyone, c)
		}
		return nil
	})
	for name, f := range map[string]helpdesk.CustomerFilter{
		"a value":      {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Keys: []string{"1"}}}},
		"any of two":   {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Keys: []string{"1", "2"}}}},
		"a range":      {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, From: new(3.0), To: new(7.0)}}},
		"any":          {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID}}},
		"empty":        {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Empty: true}}},
		"half":         {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, From: new(4.0)}, {FieldID: w.trait.ID, Keys: []string{"x"}}}},
		"no words":     {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Empty: true}}, Terms: []helpdesk.SearchTerm{{Text: "some"}}},
		"two":          {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Keys: []string{"0"}}, {FieldID: w.trait.ID, From: new(4.0)}}},
		"of a company": {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Keys: []string{"0"}}}, CompanyID: w.company.ID},
		"with words":   {Fields: []helpdesk.FieldMatch{{FieldID: w.trait.ID, Keys: []string{"0"}}}, Terms: []helpdesk.SearchTerm{{Text: "some"}}},
	} {
		t.Log(name)
		want := slices.DeleteFunc(slices.Clone(everyone), func(c helpdesk.Customer) bool {
			return f.CompanyID != 0 && c.CompanyID != f.CompanyID || slices.ContainsFunc(f.Fields, func(m helpdesk.FieldMatch) bool { return !m.Met(has[c.ID]) })
		})
		checkPages(t, want, func(c helpdesk.Customer) storage.Position { return storage.Position{ID: c.ID} },
			func(seek storage.Seek) ([]helpdesk.Customer, error) { return w.in().Customers(t.Context(), f, seek) })
	}
}

// describing generates a call that changes fields.
func (g *generator) describing(seen content) operation {
	old, other := oneOf(g, seen.Fields), oneOf(g, seen.Fields)
	f := helpdesk.Field{
		Key: fmt.Sprint("f", g.next()), AppliesTo: helpdesk.FieldOfConversation, Label: g.text(), Type: helpdesk.FieldText, SortOrder: int64(g.IntN(3)),
		RequiredToClose: g.IntN(2) == 0, CreatedAt: g.time(false), UpdatedAt: g.time(false),
	}
	clash := old.ID != other.ID && g.IntN(4) == 0
	if clash {
		f.Key = other.Key
	}
	switch {
	case old.ID == 0 || g.IntN(3) == 0:
		return operation{method: "Fields.Insert", args: []any{[]*helpdesk.Field{&f}}, clash: clash}
	case g.IntN(4) == 0:
		return operation{method: "Fields.Delete", args: []any{g.either("Field", old.ID)}}
	}
	f.ID = old.ID
	return operation{method: "Fields.Update", args: []any{[]*helpdesk.Field{&f}}, clash: clash}
}
