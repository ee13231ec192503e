package helpdesk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// field makes a field of conversations.
func (b *bundle) field(key string, of helpdesk.FieldType, options ...helpdesk.FieldOption) helpdesk.Field {
	b.t.Helper()
	in := helpdesk.FieldInput{Key: key, Label: strings.ToUpper(key), AppliesTo: helpdesk.FieldOfConversation, Type: of}
	if len(options) > 0 {
		in.Options = storage.Some(options)
	}
	return must(b.desk.Fields().Create(b.ctx, in))(b.t)
}

// about makes a conversation with values of fields.
func (b *bundle) about(fields helpdesk.FieldTexts) helpdesk.Conversation {
	b.t.Helper()
	return must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "Door", Fields: fields}))(b.t)
}

func TestFieldValues(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.field("note", helpdesk.FieldText)
	b.field("amount", helpdesk.FieldNumber)
	b.field("vip", helpdesk.FieldBoolean)
	b.field("due", helpdesk.FieldDate)
	b.field("at", helpdesk.FieldDatetime)
	b.field("page", helpdesk.FieldURL)
	options := []helpdesk.FieldOption{{Label: "Gold"}, {Label: "Old & grey", Archived: true}, {Value: "S", Label: "Silver"}}
	b.field("plan", helpdesk.FieldSelect, options...)
	b.field("parts", helpdesk.FieldMultiselect, options...)
	c := b.about(nil)
	for _, tt := range []struct {
		key  string
		in   []string
		want []string // none: it is invalid
		bad  string
	}{
		{"note", []string{" It is\r\nbroken. "}, []string{"It is\nbroken."}, ""},
		{"note", []string{strings.Repeat("x", 5001)}, nil, "has more than 5000 characters"},
		{"note", []string{"a", "b"}, nil, "must be one value"},
		{"amount", []string{"-012.50"}, []string{"-12.5"}, ""},
		{"amount", []string{"1e3"}, []string{"1000"}, ""},
		{"amount", []string{"12,5"}, nil, "must be a number"},
		{"amount", []string{"NaN"}, nil, "must be a number"},
		{"vip", []string{"1"}, []string{"true"}, ""},
		{"vip", []string{"maybe"}, nil, "must be true or false"},
		{"due", []string{"2026-02-28"}, []string{"2026-02-28"}, ""},
		{"due", []string{"2026-02-29"}, nil, "must be a date such as 2026-01-31"},
		{"at", []string{"2026-01-31T10:30:00+01:00"}, []string{"2026-01-31T09:30:00Z"}, ""},
		{"at", []string{"2026-01-31T10:30"}, []string{"2026-01-31T10:30:00Z"}, ""},
		{"at", []string{"soon"}, nil, "must be a time such as 2026-01-31T09:30:00Z"},
		{"page", []string{"https://example.org/a?b"}, []string{"https://example.org/a?b"}, ""},
		{"page", []string{"javascript:alert(1)"}, nil, "must be an http or https address"},
		{"plan", []string{"gold"}, []string{"gold"}, ""},
		{"plan", []string{"old_grey"}, nil, "is an archived option"},
		{"plan", []string{"Gold"}, nil, "is none of the options"},
		{"parts", []string{"S", "gold", "S", ""}, []string{"gold", "S"}, ""},
		{"absent", []string{"x"}, nil, "is not a field"},
	} {
		in := helpdesk.ConversationUpdate{Fields: helpdesk.FieldTexts{tt.key: tt.in}}
		_, err := b.desk.Conversations().Update(b.ctx, c.ID, in)
		if tt.want == nil {
			if diff := cmp.Diff(fault.Fields{"fields[" + tt.key + "]": {tt.bad}}, fieldsOf(err)); diff != "" {
				t.Errorf("%s %.20q: %s", tt.key, tt.in, diff)
			}
			continue
		}
		set := must(b.desk.Conversations().Fields(b.ctx, []int64{c.ID}))(t)
		if diff := cmp.Diff(tt.want, set.Values[c.ID][tt.key]); err != nil || diff != "" {
			t.Errorf("%s %.20q: %v %s", tt.key, tt.in, err, diff)
		}
	}
	cleared := helpdesk.ConversationUpdate{Fields: helpdesk.FieldTexts{"note": nil, "amount": {""}, "vip": {}, "due": nil, "at": nil, "page": nil, "parts": nil}}
	must(b.desk.Conversations().Update(b.ctx, c.ID, cleared))(t)
	set := must(b.desk.Conversations().Fields(b.ctx, []int64{c.ID}))(t)
	if diff := cmp.Diff(helpdesk.FieldTexts{"plan": {"gold"}}, set.Values[c.ID]); diff != "" {
		t.Error(diff)
	}
}

// What has an option keeps it when it is archived, and an option in use cannot be left out.
func TestFieldOptions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	plan := b.field("plan", helpdesk.FieldSelect, helpdesk.FieldOption{Label: "Gold"}, helpdesk.FieldOption{Label: "Silver"})
	c, other := b.about(helpdesk.FieldTexts{"plan": {"gold"}}), b.about(nil)
	change := func(options ...helpdesk.FieldOption) error {
		_, err := b.desk.Fields().Update(b.ctx, plan.ID, helpdesk.FieldInput{Label: "Plan", Options: storage.Some(options)})
		return err
	}
	silver := helpdesk.FieldOption{Value: "silver", Label: "Silver"}
	if diff := cmp.Diff(fault.Fields{"options": {"lacks options that are in use: archive them instead"}}, fieldsOf(change(silver))); diff != "" {
		t.Error(diff)
	}
	if err := change(helpdesk.FieldOption{Value: "gold", Label: "Gold", Archived: true}); err != nil {
		t.Error(err)
	}
	for id, want := range map[int64]fault.Fields{c.ID: nil, other.ID: {"fields[plan]": {"is an archived option"}}} {
		_, err := b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Fields: helpdesk.FieldTexts{"plan": {"gold"}}})
		if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
			t.Errorf("conversation %d: %s", id, diff)
		}
	}
}

func TestFieldInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	one := b.field("plan", helpdesk.FieldText)
	for what, tt := range map[string]struct {
		in   helpdesk.FieldInput
		want fault.Fields
	}{
		"nothing": {helpdesk.FieldInput{}, fault.Fields{
			"label": {"is required"}, "applies_to": {"must be conversation, customer or company"},
			"type": {"must be text, number, boolean, date, datetime, select, multiselect or url"},
		}},
		"a bad key": {helpdesk.FieldInput{Key: "1a", Label: "A", AppliesTo: "customer", Type: "text"}, fault.Fields{
			"key": {"must be at most 40 of a-z, 0-9 and _, beginning with a letter"},
		}},
		"a taken key":       {helpdesk.FieldInput{Key: "plan", Label: "A", AppliesTo: "conversation", Type: "text"}, fault.Fields{"key": {"is already taken"}}},
		"one of another":    {helpdesk.FieldInput{Key: "plan", Label: "A", AppliesTo: "customer", Type: "text"}, nil},
		"no options":        {helpdesk.FieldInput{Label: "A", AppliesTo: "customer", Type: "select"}, fault.Fields{"options": {"is required"}}},
		"required":          {helpdesk.FieldInput{Label: "A", AppliesTo: "customer", Type: "text", RequiredToClose: storage.Some(true)}, fault.Fields{"required_to_close": {"is only for fields of conversations"}}},
		"a key by default":  {helpdesk.FieldInput{Label: "Größe (in cm)", AppliesTo: "customer", Type: "number"}, nil},
		"one without ASCII": {helpdesk.FieldInput{Label: "東京", AppliesTo: "customer", Type: "number"}, nil},
	} {
		_, err := b.desk.Fields().Create(b.ctx, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	_, err := b.desk.Fields().Update(b.ctx, one.ID, helpdesk.FieldInput{Label: "A", Key: "b", Type: "url", AppliesTo: "customer"})
	if diff := cmp.Diff(fault.Fields{"key": {"cannot be changed"}, "type": {"cannot be changed"}, "applies_to": {"cannot be changed"}}, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
	for n := range helpdesk.MaxFields - 1 {
		b.field(fmt.Sprint("f", n), helpdesk.FieldText)
	}
	_, err = b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Label: "A", AppliesTo: "conversation", Type: "text"})
	if diff := cmp.Diff(fault.Fields{"applies_to": {"has 100 fields already, which is the most"}}, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
}

func TestFieldFilters(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.field("note", helpdesk.FieldText)
	b.field("amount", helpdesk.FieldNumber)
	b.field("at", helpdesk.FieldDatetime)
	b.about(helpdesk.FieldTexts{"note": {"Straße"}, "amount": {"5"}, "at": {"2026-01-31T23:30:00Z"}})
	b.about(helpdesk.FieldTexts{"note": {strings.Repeat("long ", 100)}, "amount": {"7.5"}, "at": {"2026-02-01T00:30:00Z"}})
	b.about(nil)
	for what, tt := range map[string]struct {
		in   helpdesk.FieldQueries
		want []int64
		bad  fault.Fields
	}{
		"a text":         {helpdesk.FieldQueries{"note": {Values: []string{"STRASSE"}}}, []int64{1}, nil},
		"a long text":    {helpdesk.FieldQueries{"note": {Values: []string{strings.Repeat("LONG ", 100)}}}, []int64{2}, nil},
		"any of two":     {helpdesk.FieldQueries{"amount": {Values: []string{"5.0", "7.50"}}}, []int64{2, 1}, nil},
		"from":           {helpdesk.FieldQueries{"amount": {From: "5.1"}}, []int64{2}, nil},
		"to a day":       {helpdesk.FieldQueries{"at": {To: "2026-01-31"}}, []int64{1}, nil},
		"both":           {helpdesk.FieldQueries{"at": {From: "2026-01-01"}, "amount": {To: "5"}}, []int64{1}, nil},
		"nothing":        {helpdesk.FieldQueries{"amount": {Values: []string{" "}}}, []int64{3, 2, 1}, nil},
		"an absent one":  {helpdesk.FieldQueries{"x": {Values: []string{"1"}}}, nil, fault.Fields{"fields[x]": {"is not a field"}}},
		"a wrong type":   {helpdesk.FieldQueries{"amount": {Values: []string{"x"}, From: "y"}}, nil, fault.Fields{"fields[amount]": {"must be a number"}, "fields[amount][from]": {"must be a number"}}},
		"no such ranges": {helpdesk.FieldQueries{"note": {From: "a"}}, nil, fault.Fields{"fields[note]": {"has no range"}}},
	} {
		page, err := b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Fields: tt.in}, storage.PageRequest{})
		var got []int64
		for _, c := range page.Items {
			got = append(got, c.Number)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if diff := cmp.Diff(tt.bad, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

// Members close no conversation without what is required; mail does.
func TestRequiredToClose(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	cause := b.field("cause", helpdesk.FieldText)
	must(b.desk.Fields().Update(b.ctx, cause.ID, helpdesk.FieldInput{Label: "Cause", RequiredToClose: storage.Some(true)}))(t)
	c, done := b.about(nil), b.about(helpdesk.FieldTexts{"cause": {"Rust"}})
	closed, lacks := storage.Some(helpdesk.StatusClosed), fault.Fields{"fields[cause]": {"is required to close a conversation"}}
	update := func(in helpdesk.ConversationUpdate) error {
		_, err := b.desk.Conversations().Update(b.ctx, c.ID, in)
		return err
	}
	bulk := func(in helpdesk.BulkUpdate) error {
		_, err := b.desk.Conversations().UpdateAll(b.ctx, []int64{done.ID, c.ID}, in)
		return err
	}
	for _, tt := range []struct {
		what string
		err  error
		want fault.Fields
	}{
		{"one", update(helpdesk.ConversationUpdate{Status: closed}), lacks},
		{"several", bulk(helpdesk.BulkUpdate{Status: closed}), lacks},
		{"another change", update(helpdesk.ConversationUpdate{Subject: storage.Some("Gate")}), nil},
		{"spam", update(helpdesk.ConversationUpdate{Spam: storage.Some(true)}), nil},
		{"no spam", update(helpdesk.ConversationUpdate{Spam: storage.Some(false)}), nil},
		{"with a value", bulk(helpdesk.BulkUpdate{Status: closed, Fields: helpdesk.FieldTexts{"cause": {"Damp"}}}), nil},
		{"a closed one without", update(helpdesk.ConversationUpdate{Fields: helpdesk.FieldTexts{"cause": nil}}), nil},
	} {
		if diff := cmp.Diff(tt.want, fieldsOf(tt.err)); diff != "" {
			t.Errorf("%s: %v %s", tt.what, tt.err, diff)
		}
	}
	in := helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Status: helpdesk.StatusClosed}
	if _, err := b.desk.Conversations().Create(b.ctx, in); cmp.Diff(lacks, fieldsOf(err)) != "" {
		t.Errorf("a new one that is closed: %v", err)
	}
}

// A field that a view filters by or shows is not deleted.
func TestDeleteField(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	filtered, shown, free := b.field("filtered", "text"), b.field("shown", "text"), b.field("free", "text")
	c := b.about(helpdesk.FieldTexts{"free": {"x"}})
	view := must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{
		Name: "Mine", Columns: storage.Some([]string{"shown"}),
		Filter: helpdesk.ViewFilter{Fields: helpdesk.FieldQueries{"filtered": {Values: []string{"a"}}, "free": {}}},
	}))(t)
	if diff := cmp.Diff(helpdesk.FieldQueries{"filtered": {Values: []string{"a"}}}, view.Filter.Fields); diff != "" {
		t.Error(diff)
	}
	for f, want := range map[int64]string{filtered.ID: "Mine", shown.ID: "Mine", free.ID: ""} {
		err := b.desk.Fields().Delete(b.ctx, f)
		if want == "" && err != nil || want != "" && (!fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), want)) {
			t.Errorf("field %d: %v, want %s", f, err, want)
		}
	}
	if set := must(b.desk.Conversations().Fields(b.ctx, []int64{c.ID}))(t); len(set.Values) > 0 || len(set.Fields) != 2 {
		t.Errorf("fields left: %+v", set)
	}
	_, err := b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "A", Columns: storage.Some([]string{"x"}), Filter: helpdesk.ViewFilter{Fields: helpdesk.FieldQueries{"x": {From: "1"}}}})
	if diff := cmp.Diff(fault.Fields{"filter[fields][x]": {"is not a field"}}, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
}

// A merged conversation or customer gives the other one what it lacks.
func TestMergeFields(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.field("cause", "text")
	b.field("part", "text")
	a, c := b.about(helpdesk.FieldTexts{"cause": {"Rust"}, "part": {"Door"}}), b.about(helpdesk.FieldTexts{"part": {"Gate"}})
	must(b.desk.Conversations().Merge(b.ctx, a.ID, c.ID))(t)
	set := must(b.desk.Conversations().Fields(b.ctx, []int64{c.ID}))(t)
	if diff := cmp.Diff(helpdesk.FieldTexts{"cause": {"Rust"}, "part": {"Gate"}}, set.Values[c.ID]); diff != "" {
		t.Error(diff)
	}
	must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Label: "Tier", AppliesTo: helpdesk.FieldOfCustomer, Type: "text"}))(t)
	alan := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Alan"), Fields: helpdesk.FieldTexts{"tier": {"Gold"}}}))(t)
	must(b.desk.Customers().Merge(b.ctx, alan.ID, c.CustomerID))(t)
	set = must(b.desk.Customers().Fields(b.ctx, []int64{alan.ID, c.CustomerID}))(t)
	if diff := cmp.Diff(map[int64]helpdesk.FieldTexts{c.CustomerID: {"tier": {"Gold"}}}, set.Values); diff != "" {
		t.Error(diff)
	}
	page := must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{Fields: helpdesk.FieldQueries{"tier": {Values: []string{"gold"}}}}, storage.PageRequest{}))(t)
	if len(page.Items) != 1 || page.Items[0].ID != c.CustomerID {
		t.Errorf("customers with the tier: %+v", page.Items)
	}
}

// What was written into the fields of an erased customer's conversations is erased; choices stay for the figures.
func TestEraseFields(t *testing.T) {
	t.Parallel()
	b := newToErase(t)
	b.field("street", "text")
	b.field("plan", "select", helpdesk.FieldOption{Label: "Gold"})
	must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Label: "Tier", AppliesTo: helpdesk.FieldOfCustomer, Type: "text"}))(t)
	must(b.desk.Customers().SetFields(b.ctx, b.eve, helpdesk.FieldTexts{"tier": {word}}))(t)
	must(b.desk.Conversations().UpdateAll(b.ctx, []int64{b.own, b.others}, helpdesk.BulkUpdate{Fields: helpdesk.FieldTexts{"street": {word}, "plan": {"gold"}}}))(t)
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	set := must(b.desk.Conversations().Fields(b.ctx, []int64{b.own, b.others}))(t)
	want := map[int64]helpdesk.FieldTexts{b.own: {"plan": {"gold"}}, b.others: {"plan": {"gold"}, "street": {word}}}
	if diff := cmp.Diff(want, set.Values); diff != "" {
		t.Error(diff)
	}
	if traits := must(b.desk.Customers().Fields(b.ctx, []int64{b.eve}))(t); len(traits.Values) > 0 {
		t.Errorf("values of the erased customer: %v", traits.Values)
	}
}

// Placeholders of saved replies have the values of fields, as they are shown.
func TestFieldPlaceholders(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.field("plan", "select", helpdesk.FieldOption{Label: "Gold & more"})
	must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Label: "Tier", AppliesTo: helpdesk.FieldOfCustomer, Type: "text"}))(t)
	c := b.about(helpdesk.FieldTexts{"plan": {"gold_more"}})
	reply := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Plan", Body: "<p>{{fields.plan}}, {{ customer.fields.tier }}.</p>"}))(t)
	if got := must(b.desk.SavedReplies().Fill(b.ctx, c.ID, reply.ID))(t); got != "<p>Gold &amp; more, .</p>" {
		t.Errorf("without a tier: %s", got)
	}
	must(b.desk.Customers().SetFields(b.ctx, c.CustomerID, helpdesk.FieldTexts{"tier": {"A"}}))(t)
	if got := must(b.desk.SavedReplies().Fill(b.ctx, c.ID, reply.ID))(t); got != "<p>Gold &amp; more, A.</p>" {
		t.Errorf("with a tier: %s", got)
	}
	_, err := b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Other", Body: "{{fields.tier}}"})
	if problems := fieldsOf(err); len(problems["body"]) != 1 || !strings.Contains(problems["body"][0], "{{fields.tier}}") {
		t.Errorf("a placeholder without a field: %v", problems)
	}
	all := must(b.desk.SavedReplies().Placeholders(b.ctx))(t)
	if last := all[len(all)-1]; last.Name != "customer.fields.tier" || last.Field.Label != "Tier" {
		t.Errorf("the placeholders are %+v", all)
	}
}
