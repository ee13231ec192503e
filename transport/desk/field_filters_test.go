package desk_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Lists are filtered by fields, also by those without a value, and a view made from such a list shows the same and says so.
func TestFieldFilters(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	options := storage.Some([]helpdesk.FieldOption{{Label: "Gold"}, {Label: "Silver"}})
	for _, in := range []helpdesk.FieldInput{
		{Label: "Plan", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldSelect, Options: options},
		{Label: "Order", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText},
		{Label: "Tier", AppliesTo: helpdesk.FieldOfCustomer, Type: helpdesk.FieldSelect, Options: options},
	} {
		if _, err := b.desk.Fields().Create(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	subjects := []string{"Xylophone", "Yacht", "Zeppelin"}
	for i, values := range []helpdesk.FieldTexts{{"plan": {"gold"}}, {"plan": {"silver"}, "order": {"7"}}, {"order": {"8"}}} {
		c := b.asks([]string{"Ada <ada@example.com>", "Bob <bob@example.com>", "Cleo <cleo@example.com>"}[i], subjects[i], "Hello")
		if _, err := b.desk.Conversations().UpdateAll(ctx, []int64{c.ID}, helpdesk.BulkUpdate{Fields: values}); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(address string, among []string) (found []string) {
		page := b.get(address)
		if page.status != http.StatusOK {
			t.Errorf("%s: %d", address, page.status)
		}
		for _, text := range among {
			if strings.Contains(page.body, text) {
				found = append(found, text)
			}
		}
		return found
	}
	for name, tt := range map[string]struct {
		fields url.Values
		want   []string
		says   string
	}{
		"a value":       {url.Values{"plan": {"=gold"}}, subjects[:1], "Plan: Gold"},
		"any value":     {url.Values{"plan": {"any"}}, subjects[:2], "Plan: Any value"},
		"no value":      {url.Values{"plan": {"none"}}, subjects[2:], "Plan: No value"},
		"two fields":    {url.Values{"plan": {"any"}, "order": {"any"}}, subjects[1:2], "Order: Any value"},
		"a text":        {url.Values{"order": {"=8"}}, subjects[2:], "Order: 8"},
		"no such field": {url.Values{"absent": {"none"}}, subjects, ""},
	} {
		list := "/inbox/all?" + url.Values{"fields": {tt.fields.Encode()}}.Encode()
		if diff := cmp.Diff(tt.want, shown(list, subjects)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if page := b.get(list).body; !strings.Contains(page, `<summary class="chip on">`+tt.says) && tt.says != "" {
			t.Errorf("%s: the filters do not say %q", name, tt.says)
		}
		saved := b.post("/views", url.Values{"list": {"all"}, "fields": {tt.fields.Encode()}, "view_name": {name}})
		if diff := cmp.Diff(tt.want, shown(strings.TrimPrefix(saved.location, "/desk/a/1"), subjects)); diff != "" {
			t.Errorf("%s, as a view: %s", name, diff)
		}
		if page := b.get(strings.TrimPrefix(saved.location, "/desk/a/1")).body; !strings.Contains(page, tt.says) {
			t.Errorf("%s: the view does not say %q", name, tt.says)
		}
	}
	form := url.Values{"name": {"Changed"}, "conditions": {"1"}, "has": {"field.plan", "field.order"}, "c_field.plan": {"gold"}, "c_field.plan_is": {"none"}, "c_field.order_is": {"any"}, "do": {"save"}}
	if got := b.post("/settings/views/1", form); got.status != http.StatusSeeOther {
		t.Fatalf("the view is not saved: %d %s", got.status, got.body)
	}
	if diff := cmp.Diff(subjects[2:], shown("/inbox/view-1", subjects)); diff != "" {
		t.Error(diff)
	}
	if page := b.get("/settings/views/1").body; !strings.Contains(page, `<option value="none" selected>No value</option>`) {
		t.Error("the form of the view lacks its condition")
	}
	if _, err := b.desk.Customers().SetFields(ctx, 1, helpdesk.FieldTexts{"tier": {"gold"}}); err != nil {
		t.Fatal(err)
	}
	people := []string{"ada@example.com", "bob@example.com", "cleo@example.com"}
	for value, want := range map[string][]string{"=gold": people[:1], "any": people[:1], "none": people[1:]} {
		found := shown("/customers?"+url.Values{"fields": {url.Values{"tier": {value}}.Encode()}}.Encode(), people)
		if slices.Sort(found); cmp.Diff(want, found) != "" {
			t.Errorf("customers with %s: %s", value, found)
		}
	}
}

// What contact forms ask is chosen at the mailbox, from the fields that customers see; the page of the help centre leads there.
func TestFormFieldChoice(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	if page := b.get("/settings/mailboxes/1").body; !strings.Contains(page, "There is no field of conversations that customers can see") {
		t.Error("the page does not say why there is no choice")
	}
	for _, label := range []string{"Plan", "Order", "Inner"} {
		in := helpdesk.FieldInput{Label: label, AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText, CustomerVisible: storage.Some(label != "Inner")}
		if _, err := b.desk.Fields().Create(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.post("/settings/mailboxes/1/form", url.Values{"asked": {"order"}}); got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings/mailboxes/1" {
		t.Fatalf("%d %s", got.status, got.location)
	}
	page := b.get("/settings/mailboxes/1").body
	for _, text := range []string{`value="order" checked`, `name="asked" value="plan">`} {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %s", text)
		}
	}
	if strings.Contains(page, `value="inner"`) {
		t.Error("it offers a field that customers do not see")
	}
	if page := b.goOn(b.post("/settings/fields/2/delete", nil)); !strings.Contains(page, "It is still used by: ") {
		t.Error("the field that the form asks for was deleted")
	}
	if got := b.post("/settings/mailboxes/1/form", url.Values{}); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	if m, err := b.desk.Mailboxes().Get(ctx, 1); err != nil || len(m.FormFields) > 0 {
		t.Error(m.FormFields, err)
	}
	if got := b.post("/settings/mailboxes/1/form", url.Values{"asked": {"plan"}}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("a collaborator changes a form: %d", got.status)
	}
}
