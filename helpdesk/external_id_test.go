package helpdesk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// numbered creates a customer with an address and an external id.
func (b *bundle) numbered(email, id string) helpdesk.Customer {
	b.t.Helper()
	return b.named(helpdesk.CustomerInput{ExternalID: storage.Some(id)}, email)
}

// An external id is one customer's, who is found by it.
func TestCustomerExternalID(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ada, bob := b.numbered("ada@example.com", " 7 "), b.numbered("bob@example.com", "")
	find := func(id string) (ids []int64) {
		for _, c := range must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{ExternalID: id}, storage.PageRequest{}))(t).Items {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]int64{ada.ID}, find("7")); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func() error{
		"a new customer": func() error {
			_, err := b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Eve"), ExternalID: storage.Some("7")})
			return err
		},
		"another": func() error {
			_, err := b.desk.Customers().Update(b.ctx, bob.ID, helpdesk.CustomerInput{ExternalID: storage.Some("7")})
			return err
		},
	} {
		if err := change(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(fault.Fields{"external_id": {"is already taken"}}, faultFields(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if c := must(b.desk.Customers().Update(b.ctx, ada.ID, helpdesk.CustomerInput{LastName: storage.Some("Lovelace")}))(t); c.ExternalID != "7" {
		t.Errorf("it has changed to %q", c.ExternalID)
	}
	if c := must(b.desk.Customers().Update(b.ctx, ada.ID, helpdesk.CustomerInput{ExternalID: storage.Null[string]()}))(t); c.ExternalID != "" || len(find("7")) > 0 {
		t.Errorf("it is still %q", c.ExternalID)
	}
}

// A customer who remains keeps the external id, or else gets the other's.
func TestMergeExternalIDs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, into, want string }{
		"both": {"1", "2", "2"}, "the other's": {"1", "", "1"}, "its own": {"", "2", "2"}, "none": {"", "", ""},
	} {
		b := newBundle(t)
		from, into := b.numbered("a@example.com", tt.from), b.numbered("b@example.com", tt.into)
		if c := must(b.desk.Customers().Merge(b.ctx, from.ID, into.ID))(t); c.ExternalID != tt.want {
			t.Errorf("%s: %q", name, c.ExternalID)
		}
	}
}

// Rows are about the customer with their id, else with their external id, else with their address.
func TestImportExternalIDs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row     helpdesk.CustomerRow
		of      int64 // the customer that is changed; 0: none
		created bool
		want    string // external id
		problem map[string]string
	}{
		"by id":                  {row: helpdesk.CustomerRow{ID: 1, LastName: "L"}, of: 1, want: "7"},
		"by external id":         {row: helpdesk.CustomerRow{ExternalID: "7", LastName: "L"}, of: 1, want: "7"},
		"with a new address":     {row: helpdesk.CustomerRow{ExternalID: "7", Emails: []string{"new@example.com"}}, of: 1, want: "7"},
		"by address":             {row: helpdesk.CustomerRow{ExternalID: "9", Emails: []string{"bob@example.com"}}, of: 2, want: "9"},
		"replaced":               {row: helpdesk.CustomerRow{ExternalID: "9", Emails: []string{"ada@example.com"}}, of: 1, want: "9"},
		"by id, with a new one":  {row: helpdesk.CustomerRow{ID: 2, ExternalID: "9"}, of: 2, want: "9"},
		"new":                    {row: helpdesk.CustomerRow{ExternalID: "9", FirstName: "Eve"}, of: 3, created: true, want: "9"},
		"new without a name":     {row: helpdesk.CustomerRow{ExternalID: "9"}, problem: map[string]string{"emails": "is required"}},
		"another's":              {row: helpdesk.CustomerRow{ID: 2, ExternalID: "7"}, problem: map[string]string{"external_id": "is already taken"}},
		"with another's address": {row: helpdesk.CustomerRow{ExternalID: "7", Emails: []string{"bob@example.com"}}, problem: map[string]string{"emails": "belong to several customers"}},
	} {
		b := newBundle(t)
		b.numbered("ada@example.com", "7")
		b.numbered("bob@example.com", "")
		outcome := must(b.desk.Customers().ImportRows(b.ctx, []helpdesk.CustomerRow{tt.row}, false))(t)[0]
		if diff := cmp.Diff(tt.problem, outcome.Problems); diff != "" || outcome.ID != tt.of || outcome.Created != tt.created {
			t.Errorf("%s: %+v", name, outcome)
			continue
		}
		if tt.of != 0 {
			if c := must(b.desk.Customers().Get(b.ctx, tt.of))(t); c.ExternalID != tt.want {
				t.Errorf("%s: the external id is %q", name, c.ExternalID)
			}
		}
		if again := must(b.desk.Customers().ImportRows(b.ctx, []helpdesk.CustomerRow{tt.row}, false))(t)[0]; tt.of != 0 && (again.ID != tt.of || again.Created || again.Updated) {
			t.Errorf("%s, again: %+v", name, again)
		}
	}
}
