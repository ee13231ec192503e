package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/memstore"
)

// Values are set by forms and by JSON, filter lists, and are of their types in answers.
func TestFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	in := fmt.Sprintf("/accounts/%d", w.account.ID)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	w.must(t, "POST", in+"/mailboxes", "name=Support&email=support@acme.example", form...)
	for _, body := range []string{
		"label=Amount&applies_to=conversation&type=number", "label=Paid&applies_to=conversation&type=boolean",
		"label=Parts&applies_to=conversation&type=multiselect&options[][label]=Lock&options[][label]=Hinge", "label=Tier&applies_to=customer&type=text",
	} {
		w.must(t, "POST", in+"/fields", body, form...)
	}
	made := w.must(t, "POST", in+"/conversations", "channel=email&to=ada@example.com&fields[amount]=12.50&fields[parts][]=hinge&fields[parts][]=lock", form...).Body.String()
	for _, want := range []string{`"amount":12.5`, `"paid":null`, `"parts":["lock","hinge"]`} {
		if !strings.Contains(made, want) {
			t.Errorf("a new conversation lacks %s: %s", want, made)
		}
	}
	changed := w.must(t, "PUT", in+"/conversations/1", `{"subject": "", "fields": {"amount": null, "paid": true, "parts": []}}`, "Content-Type", "application/json").Body.String()
	if !strings.Contains(changed, `"fields":{"amount":null,"paid":true,"parts":[]}`) {
		t.Errorf("the changed conversation: %s", changed)
	}
	w.must(t, "PUT", in+"/conversations/bulk", "conversations[]=1&fields[amount]=7", form...)
	w.must(t, "PUT", in+"/customers/1", "first_name=Ada&fields[tier]=Gold", form...)
	for path, found := range map[string]bool{
		"/conversations?fields[amount]=7.0": true, "/conversations?fields[amount]=8": false, "/conversations?fields[amount][from]=5&fields[amount][to]=7": true,
		"/conversations?fields[amount][from]=7.5": false, "/conversations?fields[paid]=true&fields[amount]=7": true,
		"/customers?fields[tier]=gold": true, "/customers?fields[tier][]=silver&fields[tier][]=tin": false, "/customers?fields[tier][]=silver&fields[tier][]=gold": true,
	} {
		if got := w.must(t, "GET", in+path, "").Body.String(); strings.Contains(got, `"id":1`) != found {
			t.Errorf("%s: %s", path, got)
		}
	}
	for _, tt := range []struct{ method, path, body, field string }{
		{"PUT", "/conversations/1", "subject=&fields[amount]=much", "fields[amount]"},
		{"PUT", "/conversations/1", "subject=&fields[nothing]=1", "fields[nothing]"},
		{"PUT", "/customers/1", "first_name=Ada&fields[amount]=1", "fields[amount]"},
		{"POST", "/fields", "label=Amount&applies_to=conversation&type=text", "key"},
		{"GET", "/conversations?fields[amount]=much", "", "fields[amount]"},
	} {
		rec := w.do(t, "owner", tt.method, in+tt.path, tt.body, form...)
		if rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), `"`+tt.field+`"`) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, rec.Code, rec.Body)
		}
	}
	w.must(t, "POST", in+"/conversation-views", `{"name": "V", "filter": {"fields": {"amount": {"from": 5}}}, "columns": ["amount"]}`, "Content-Type", "application/json")
	if got := w.must(t, "GET", in+"/conversations?view_id=1", "").Body.String(); !strings.Contains(got, `"id":1`) {
		t.Errorf("the list of the view: %s", got)
	}
	rec := w.do(t, "owner", "DELETE", in+"/fields/1", "")
	if rec.Code != http.StatusConflict || !strings.Contains(rec.Body.String(), `"V"`) {
		t.Errorf("deleting a field in use: %d %s", rec.Code, rec.Body)
	}
}
