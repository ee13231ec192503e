package desk_test

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
)

// A customer is erased on a page that lists the data, by members with the permission, and only after confirmation.
func TestEraseCustomer(t *testing.T) {
	t.Parallel()
	b := office(t)
	c := b.asks("ada@example.net", "Door", "It is stuck")
	at := "/customers/" + strconv.FormatInt(c.CustomerID, 10)
	if got := b.get(at); !strings.Contains(got.body, at+"/erase") {
		t.Error("the page of the customer does not lead there")
	}
	if got := b.get(at, "As", "other"); got.status == http.StatusOK && strings.Contains(got.body, at+"/erase") {
		t.Error("it leads members there who may not erase")
	}
	if got := b.get(at+"/erase", "As", "other"); got.status != http.StatusNotFound {
		t.Errorf("the page for who may not: %d", got.status)
	}
	if got := b.post(at+"/erase", url.Values{"sure": {"1"}}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("by who may not: %d", got.status)
	}
	if got := b.get(at + "/erase"); got.status != http.StatusOK || !strings.Contains(got.body, "ada@example.net") {
		t.Errorf("%d: it does not say whom", got.status)
	}
	if got := b.post(at+"/erase", url.Values{}); got.location != "/desk/a/1"+at+"/erase" {
		t.Errorf("not sure: %d %s", got.status, got.location)
	}
	if _, err := b.desk.Customers().Get(t.Context(), c.CustomerID); err != nil {
		t.Fatal(err)
	}
	if got := b.post(at+"/erase", url.Values{"sure": {"1"}}); got.location != "/desk/a/1/customers" {
		t.Errorf("%d %s", got.status, got.location)
	}
	if _, err := b.desk.Customers().Get(t.Context(), c.CustomerID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("the customer is still there: %v", err)
	}
	if got := b.get("/c/" + strconv.FormatInt(c.ID, 10)); got.status != http.StatusOK || strings.Contains(got.body, "stuck") || strings.Contains(got.body, "ada@") {
		t.Errorf("%d: the conversation tells about the customer", got.status)
	}
}
