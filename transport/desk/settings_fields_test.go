package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Fields are made, changed and deleted in the settings.
func TestFieldForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	see := func(path string, form url.Values, to string) {
		t.Helper()
		if got := b.post("/settings/fields"+path, form); got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings/fields"+to {
			t.Errorf("%s: %d %s\n%s", path, got.status, got.location, got.body)
		}
	}
	plan := url.Values{"label": {"Plan"}, "applies_to": {"conversation"}, "type": {"select"}, "more": {"Gold\r\n\r\nOld one"}, "required_to_close": {"1"}}
	see("", plan, "")
	see("/1", url.Values{"label": {"Plan"}, "option_value": {"gold", "old_one"}, "option": {"Gold!", "Old one"}, "archived": {"old_one"}, "more": {"New"}, "sort_order": {"4"}, "customer_visible": {"1"}}, "")
	want := helpdesk.Field{
		ID: 1, Key: "plan", Label: "Plan", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldSelect, CustomerVisible: true, SortOrder: 4,
		Options: []helpdesk.FieldOption{{Value: "gold", Label: "Gold!"}, {Value: "old_one", Label: "Old one", Archived: true}, {Value: "new", Label: "New"}},
	}
	got, err := b.desk.Fields().Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got.CreatedAt, got.UpdatedAt = want.CreatedAt, want.UpdatedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, tt := range map[string]struct {
		path string
		form url.Values
		says string
	}{
		"without a name":  {"", url.Values{"applies_to": {"customer"}, "type": {"text"}}, "This is required"},
		"without options": {"", url.Values{"label": {"X"}, "applies_to": {"customer"}, "type": {"select"}}, "This is required"},
		"a name twice":    {"", plan, "This name is already taken"},
	} {
		if got := b.post("/settings/fields"+tt.path, tt.form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d without %q", name, got.status, tt.says)
		}
	}
	if got := b.get("/settings/fields"); !strings.Contains(got.body, "One of several options") || !strings.Contains(got.body, "visible to customers") {
		t.Errorf("the list is %s", got.body)
	}
	if got := b.get("/settings/fields/1"); !strings.Contains(got.body, `value="Gold!"`) {
		t.Errorf("the form is %s", got.body)
	}
	if got := b.post("/settings/fields/1", url.Values{"label": {"Mine"}}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("a collaborator changes a field: %d", got.status)
	}
	view := helpdesk.ViewInput{Name: "Golden", Filter: helpdesk.ViewFilter{Fields: helpdesk.FieldQueries{"plan": {Values: []string{"gold"}}}}}
	if _, err := b.desk.Views().Create(t.Context(), view); err != nil {
		t.Fatal(err)
	}
	if next := b.goOn(b.post("/settings/fields/1/delete", nil)); !strings.Contains(next, "It is still used by: Golden") || !strings.Contains(next, `value="Gold!"`) {
		t.Error("the page does not say what uses the field")
	}
	if err := b.desk.Views().Delete(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	see("/1/delete", nil, "")
}

// Fields are filled in beside a conversation, at a customer and in a list, and shown there.
func TestFieldsOfConversations(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	b.asks("Ada <ada@example.com>", "Door", "It is stuck.")
	for _, in := range []helpdesk.FieldInput{
		{Label: "Order number", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText, RequiredToClose: storage.Some(true)},
		{Label: "Parts", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldMultiselect, Options: storage.Some([]helpdesk.FieldOption{{Label: "Lock"}, {Label: "Hinge"}})},
		{Label: "Amount", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldNumber},
		{Label: "Tier", AppliesTo: helpdesk.FieldOfCustomer, Type: helpdesk.FieldBoolean},
	} {
		if _, err := b.desk.Fields().Create(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	post := func(path string, form url.Values, says ...string) {
		t.Helper()
		form.Set("back", "/desk/a/1/c/1")
		got := b.post(path, form)
		if got.status != http.StatusSeeOther || got.location != "/desk/a/1/c/1" {
			t.Errorf("%s: %d %s %s", path, got.status, got.location, got.body)
		}
		page := b.goOn(got)
		for _, text := range says {
			if !strings.Contains(page, text) {
				t.Errorf("%s: the page does not say %q", path, text)
			}
		}
	}
	post("/c/1/status", url.Values{"act": {"close"}}, "Order number: This is required to close the conversation")
	post("/c/1/fields", url.Values{"field": {"amount", "parts"}, "f_amount": {"a lot"}}, "Amount: This must be a number")
	post("/c/1/fields", url.Values{"field": {"order_number", "parts"}, "f_order_number": {"A-17"}, "f_parts": {"hinge", "lock"}}, "A-17", "Lock, Hinge")
	post("/customers/1/fields", url.Values{"field": {"tier"}, "f_tier": {"true"}}, "Tier")
	post("/bulk", url.Values{"id": {"1"}, "act": {"field-amount"}, "f_amount": {"12.50"}, "f_order_number": {"not this"}}, "12.5", "A-17")
	set, err := b.desk.Customers().Fields(ctx, []int64{1})
	if diff := cmp.Diff(map[int64]helpdesk.FieldTexts{1: {"tier": {"true"}}}, set.Values); err != nil || diff != "" {
		t.Error(err, diff)
	}
	view := helpdesk.ViewInput{Name: "Locks", Columns: storage.Some([]string{"amount"})}
	if _, err := b.desk.Views().Create(ctx, view); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"name": {"Locks"}, "conditions": {"1"}, "has": {"field.parts", "field.amount"}, "c_field.parts": {"lock"}, "c_field.amount_from": {"10"}, "columns": {"1"}, "column": {"order_number", "amount"}, "do": {"save"}}
	if got := b.post("/settings/views/1", form); got.status != http.StatusSeeOther {
		t.Fatalf("the view is not saved: %d %s", got.status, got.body)
	}
	saved, err := b.desk.Views().Get(ctx, 1)
	wanted := helpdesk.FieldQueries{"parts": {Values: []string{"lock"}}, "amount": {From: "10"}}
	if diff := cmp.Diff(wanted, saved.Filter.Fields) + cmp.Diff([]string{"order_number", "amount"}, saved.Columns); err != nil || diff != "" {
		t.Error(err, diff)
	}
	list := b.get("/inbox/view-1").body
	for _, text := range []string{"Parts: Lock · Amount: at least 10", "<bdi>A-17</bdi>", "<bdi>12.5</bdi>"} {
		if !strings.Contains(list, text) {
			t.Errorf("the list does not say %q", text)
		}
	}
	if page := b.get("/settings/views/1").body; !strings.Contains(page, `name="c_field.amount_from" value="10"`) || !strings.Contains(page, `value="field.order_number"`) {
		t.Error("the form of the view lacks its conditions")
	}
}
