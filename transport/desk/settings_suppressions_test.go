package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// Mail to an address is stopped and allowed again, by members with the permission.
func TestSuppressions(t *testing.T) {
	t.Parallel()
	b := office(t)
	if page := b.get("/settings/suppressions"); page.status != http.StatusOK || !strings.Contains(page.body, "No suppressed addresses") {
		t.Errorf("empty: %d", page.status)
	}
	form := url.Values{"email": {"gone@example.net"}, "detail": {"Wants no mail <b>"}}
	if got := b.post("/settings/suppressions", form, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("by a member who may not: %d", got.status)
	}
	next := b.goOn(b.post("/settings/suppressions", form))
	for _, text := range []string{"gone@example.net will get no more mail", "Wants no mail &lt;b&gt;", "Added by Maja Lindqvist", "/settings/suppressions/1/delete"} {
		if !strings.Contains(next, text) {
			t.Errorf("%q is not on the page", text)
		}
	}
	for email, says := range map[string]string{"": "This is required", "nonsense": "Enter a valid email address", "GONE@example.net": "already on the list"} {
		got := b.post("/settings/suppressions", url.Values{"email": {email}, "detail": {"kept"}})
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, says) || !strings.Contains(got.body, `value="kept"`) {
			t.Errorf("%q: %d, without %q or what was typed", email, got.status, says)
		}
	}
	if page := b.get("/settings/suppressions", "As", "other"); strings.Contains(page.body, "Allow mail") {
		t.Error("a member who may not is offered to change it")
	}
	if got := b.post("/settings/suppressions/1/delete", nil, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("lifted by a member who may not: %d", got.status)
	}
	if next := b.goOn(b.post("/settings/suppressions/1/delete", url.Values{})); !strings.Contains(next, "Mail to gone@example.net is allowed again") {
		t.Error("nothing is said")
	}
	left, err := b.desk.Suppressions().List(t.Context(), storage.PageRequest{Limit: 10})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("%v, %v", left.Items, err)
	}
}

// A list of many is paged.
func TestSuppressionsOlder(t *testing.T) {
	t.Parallel()
	b := office(t)
	for i := range 101 {
		if _, err := b.desk.Suppressions().Add(t.Context(), sending.SuppressionInput{Email: "a" + string(rune('a'+i%26)) + strings.Repeat("x", i/26+1) + "@example.net"}); err != nil {
			t.Fatal(err)
		}
	}
	if page := b.get("/settings/suppressions"); !strings.Contains(page.body, "/settings/suppressions?after=") {
		t.Error("no way to the older ones")
	}
}
