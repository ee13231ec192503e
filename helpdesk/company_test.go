package helpdesk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// company creates a company.
func (b *bundle) company(name string, domains ...string) helpdesk.Company {
	b.t.Helper()
	return must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: name, Domains: storage.Some(domains)}))(b.t)
}

// named creates a customer with an address.
func (b *bundle) named(in helpdesk.CustomerInput, emails ...string) helpdesk.Customer {
	b.t.Helper()
	var items []helpdesk.Item
	for _, email := range emails {
		items = append(items, helpdesk.Item{Value: email})
	}
	in.FirstName, in.Emails = storage.Some("Ada"), storage.Some(items)
	return must(b.desk.Customers().Create(b.ctx, in))(b.t)
}

// settle runs the jobs of companies.
func (b *bundle) settle() (jobs int) {
	b.t.Helper()
	now := b.clock.Now()
	for _, job := range must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobCompany: 100}, now, now.Add(time.Minute)))(b.t) {
		for range 2 {
			if err := b.svc.Jobs().SettleCompany(b.ctx, job); err != nil {
				b.t.Fatal(err)
			}
		}
		jobs++
	}
	return jobs
}

// of says which company a customer has.
func (b *bundle) of(id int64) string {
	b.t.Helper()
	c := must(b.desk.Customers().Get(b.ctx, id))(b.t)
	return fmt.Sprintf("%d %s", c.CompanyID, c.Company)
}

func TestCompanyDomains(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		domain, want, problem string
	}{
		{domain: "Acme.Example", want: "acme.example"},
		{domain: " @acme.example ", want: "acme.example"},
		{domain: "Bücher.example", want: "xn--bcher-kva.example"},
		{domain: "eu.acme.example", want: "eu.acme.example"},
		{domain: "acme.co.uk", want: "acme.co.uk"},
		{domain: "co.uk", problem: "is not a domain"},
		{domain: "example", problem: "is not a domain"},
		{domain: "ada@acme.example", problem: "is not a domain"},
		{domain: "[192.0.2.1]", problem: "is not a domain"},
		{domain: "a b.example", problem: "is not a domain"},
		{domain: "", problem: "is not a domain"},
		{domain: "gmail.com", problem: "is a provider's, where anybody can have an address"},
		{domain: "taken.example", problem: "is another company's"},
	} {
		t.Run(test.domain, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.company("Other", "taken.example")
			c, err := b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "Acme", Domains: storage.Some([]string{test.domain})})
			if test.problem != "" {
				problems(t, err, map[string][]string{"domains[0]": {test.problem}})
				return
			}
			if diff := cmp.Diff([]string{test.want}, c.Domains); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func problems(t *testing.T, err error, want map[string][]string) {
	t.Helper()
	f, _ := err.(*fault.Error) //nolint:errorlint,forcetypeassert // as the service returns it
	if f == nil || f.Kind != fault.Invalid {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(want, map[string][]string(f.Fields)); diff != "" {
		t.Error(diff)
	}
}

func TestJoinCompany(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	acme, twin := b.company("Acme", "acme.example", "eu.acme.example"), b.company("Twin")
	b.company("Twin ", "twin.example")
	has := func(c helpdesk.Company) string { return fmt.Sprintf("%d %s", c.ID, c.Name) }
	for name, test := range map[string]struct {
		in     helpdesk.CustomerInput
		emails []string
		want   string
	}{
		"a domain":              {emails: []string{"ada@acme.example"}, want: has(acme)},
		"a listed subdomain":    {emails: []string{"x@EU.acme.example"}, want: has(acme)},
		"another subdomain":     {emails: []string{"x@us.acme.example"}, want: "0 "},
		"the second address":    {emails: []string{"x@gmail.com", "b@acme.example"}, want: has(acme)},
		"a provider":            {emails: []string{"y@gmail.com"}, want: "0 "},
		"no address":            {want: "0 "},
		"a name":                {in: helpdesk.CustomerInput{Company: storage.Some("ACME")}, want: has(acme)},
		"an unknown name":       {in: helpdesk.CustomerInput{Company: storage.Some("Elsewhere")}, emails: []string{"c@acme.example"}, want: "0 Elsewhere"},
		"an empty name":         {in: helpdesk.CustomerInput{Company: storage.Some("")}, emails: []string{"d@acme.example"}, want: has(acme)},
		"a name of two":         {in: helpdesk.CustomerInput{Company: storage.Some("twin")}, want: "0 twin"},
		"an id":                 {in: helpdesk.CustomerInput{CompanyID: storage.Some(twin.ID), Company: storage.Some("ACME")}, emails: []string{"e@acme.example"}, want: has(twin)},
		"none, said explicitly": {in: helpdesk.CustomerInput{CompanyID: storage.Null[int64]()}, emails: []string{"f@acme.example"}, want: "0 "},
	} {
		c := b.named(test.in, test.emails...)
		if diff := cmp.Diff(test.want, b.of(c.ID)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	mail := b.receive(ledger.Incoming{Message: message.Message{MessageID: "a@x", From: []mailaddr.Address{{Name: "Grace", Email: "grace@acme.example"}}, Text: "x"}})
	if got := b.of(b.conversation(mail.ConversationID).CustomerID); got != has(acme) {
		t.Errorf("who wrote a mail has %s", got)
	}
	if _, err := b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("x"), CompanyID: storage.Some[int64](9999)}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a company that does not exist: %v", err)
	}
}

func TestChangeCompanyOfCustomer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	acme, other := b.company("Acme"), b.company("Other")
	c := b.named(helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)})
	for _, step := range []struct {
		in   helpdesk.CustomerInput
		want string
	}{
		{helpdesk.CustomerInput{}, fmt.Sprint(acme.ID, " Acme")},
		{helpdesk.CustomerInput{Company: storage.Some("Acme")}, fmt.Sprint(acme.ID, " Acme")},
		{helpdesk.CustomerInput{Company: storage.Some("other")}, fmt.Sprint(other.ID, " Other")},
		{helpdesk.CustomerInput{Company: storage.Some("Free")}, "0 Free"},
		{helpdesk.CustomerInput{CompanyID: storage.Null[int64](), Company: storage.Some("Acme")}, "0 Acme"},
		{helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)}, fmt.Sprint(acme.ID, " Acme")},
		{helpdesk.CustomerInput{CompanyID: storage.Null[int64]()}, "0 "},
		{helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)}, fmt.Sprint(acme.ID, " Acme")},
		{helpdesk.CustomerInput{Company: storage.Some("")}, "0 "},
	} {
		step.in.FirstName = storage.Some("Ada")
		must(b.desk.Customers().Update(b.ctx, c.ID, step.in))(t)
		if diff := cmp.Diff(step.want, b.of(c.ID)); diff != "" {
			t.Errorf("%+v: %s", step.in, diff)
		}
	}
}

// customersOf lists the ids of a company's customers.
func (b *bundle) customersOf(company int64) (ids []int64) {
	b.t.Helper()
	req := storage.PageRequest{Limit: 100}
	for {
		page := must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{CompanyID: company}, req))(b.t)
		for _, c := range page.Items {
			ids = append(ids, c.ID)
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			slices.Sort(ids)
			return ids
		}
	}
}

// A company that gets a domain or a name tells its customers, however many; who has another company keeps it.
func TestSettleCompany(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := b.company("Other")
	const many = 230
	var all []int64
	for n := range many {
		all = append(all, b.named(helpdesk.CustomerInput{}, fmt.Sprintf("%d@acme.example", n)).ID)
	}
	theirs := b.named(helpdesk.CustomerInput{CompanyID: storage.Some(other.ID)}, "theirs@acme.example")
	acme := b.company("Acme", "acme.example")
	if jobs := b.settle(); jobs != 1 {
		t.Errorf("%d jobs", jobs)
	}
	if diff := cmp.Diff(all, b.customersOf(acme.ID)); diff != "" {
		t.Error(diff)
	}
	if got := b.of(theirs.ID); got != fmt.Sprint(other.ID, " Other") {
		t.Errorf("who had a company has %s", got)
	}
	must(b.desk.Customers().Update(b.ctx, all[0], helpdesk.CustomerInput{FirstName: storage.Some("Ada"), CompanyID: storage.Null[int64]()}))(t)
	must(b.desk.Companies().Update(b.ctx, acme.ID, helpdesk.CompanyInput{Name: "Acme International"}))(t)
	b.settle()
	if got := []string{b.of(all[0]), b.of(all[many-1])}; !slices.Equal(got, []string{"0 ", fmt.Sprint(acme.ID, " Acme International")}) {
		t.Errorf("after another name: %q", got)
	}
	found := must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{Query: "international"}, storage.PageRequest{Limit: 1}))(t)
	if len(found.Items) != 1 {
		t.Error("the search does not find the new name")
	}
}

func TestMergeCompanies(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	from := must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "From", Domains: storage.Some([]string{"b.example"}), Note: storage.Some("Pays late."), ExternalID: storage.Some("7")}))(t)
	into := must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "Into", Domains: storage.Some([]string{"a.example"}), Note: storage.Some("Calls.")}))(t)
	const many = 130
	for n := range many {
		b.named(helpdesk.CustomerInput{}, fmt.Sprintf("%d@b.example", n))
	}
	for _, bad := range []int64{0, from.ID} {
		if _, err := b.desk.Companies().Merge(b.ctx, from.ID, bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("into %d: %v", bad, err)
		}
	}
	merged := must(b.desk.Companies().Merge(b.ctx, from.ID, into.ID))(t)
	want := helpdesk.Company{
		ID: into.ID, Name: "Into", Key: "into", Domains: []string{"a.example", "b.example"}, Note: "Calls.\n\nPays late.", ExternalID: "7",
		CreatedAt: into.CreatedAt, UpdatedAt: merged.UpdatedAt,
	}
	if diff := cmp.Diff(want, must(b.desk.Companies().Get(b.ctx, into.ID))(t)); diff != "" {
		t.Error(diff)
	}
	if got := len(b.customersOf(into.ID)); got != many {
		t.Errorf("%d customers", got)
	}
	if _, err := b.desk.Companies().Get(b.ctx, from.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the first is still there: %v", err)
	}
	for query, want := range map[helpdesk.CompanyQuery]int{
		{Domain: "b.example"}: 1, {ExternalID: "7"}: 1, {Domain: "A.example", ExternalID: "7"}: 1, {Query: "NT"}: 1, {Query: "from"}: 0, {Domain: "c.example"}: 0, {}: 1,
		{Domain: "a.example", Query: "other"}: 0,
	} {
		if got := must(b.desk.Companies().List(b.ctx, query, storage.PageRequest{}))(t).Items; len(got) != want {
			t.Errorf("%+v: %d companies", query, len(got))
		}
	}
}

func TestDeleteCompany(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	acme := b.company("Acme", "acme.example")
	const many = 130
	var last helpdesk.Customer
	for n := range many {
		last = b.named(helpdesk.CustomerInput{}, fmt.Sprintf("%d@acme.example", n))
	}
	if err := b.desk.Companies().Delete(b.ctx, acme.ID); err != nil {
		t.Fatal(err)
	}
	if got := b.of(last.ID); got != "0 Acme" {
		t.Errorf("a customer has %q", got)
	}
	if _, err := b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{CompanyID: acme.ID}, storage.PageRequest{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("customers of a company that is gone: %v", err)
	}
	b.company("Again", "acme.example") // its domains are free
	var kinds []string
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.PageRequest{}))(t).Items {
		if strings.HasPrefix(e.Action, "company.") {
			kinds = append(kinds, e.Action)
		}
	}
	if diff := cmp.Diff([]string{"company.deleted"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestConversationsOfCompany(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	acme := b.company("Acme", "acme.example")
	for _, from := range []string{"ada@acme.example", "bob@acme.example", "eve@elsewhere.example", "ada@acme.example"} {
		must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: from, Subject: from}))(t)
	}
	view := must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "Acme", Filter: helpdesk.ViewFilter{CompanyID: acme.ID}}))(t)
	for name, q := range map[string]helpdesk.ConversationQuery{
		"a filter": {CompanyID: acme.ID}, "a view": {ViewID: view.ID}, "with statuses": {CompanyID: acme.ID, Statuses: []helpdesk.Status{helpdesk.StatusPosted}},
		"by number": {CompanyID: acme.ID, Sort: helpdesk.ByNumber}, "its name": {Query: "acme"},
	} {
		var got []string
		for _, c := range must(b.desk.Conversations().List(b.ctx, q, storage.PageRequest{}))(t).Items {
			got = append(got, c.Subject)
		}
		if diff := cmp.Diff([]string{"ada@acme.example", "bob@acme.example", "ada@acme.example"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Customers who are merged keep the company of the one that remains, or get the other's.
func TestMergeCustomersOfCompanies(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	acme, other := b.company("Acme"), b.company("Other")
	for _, test := range []struct {
		from, into helpdesk.CustomerInput
		want       string
	}{
		{helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)}, helpdesk.CustomerInput{}, fmt.Sprint(acme.ID, " Acme")},
		{helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)}, helpdesk.CustomerInput{CompanyID: storage.Some(other.ID)}, fmt.Sprint(other.ID, " Other")},
		{helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)}, helpdesk.CustomerInput{Company: storage.Some("Text")}, "0 Text"},
		{helpdesk.CustomerInput{CompanyID: storage.Some(acme.ID)}, helpdesk.CustomerInput{CompanyID: storage.Null[int64](), Company: storage.Some("acme")}, fmt.Sprint(acme.ID, " Acme")},
		{helpdesk.CustomerInput{Company: storage.Some("Text")}, helpdesk.CustomerInput{}, "0 Text"},
	} {
		from, into := b.named(test.from), b.named(test.into)
		must(b.desk.Customers().Merge(b.ctx, from.ID, into.ID))(t)
		if diff := cmp.Diff(test.want, b.of(into.ID)); diff != "" {
			t.Error(diff)
		}
	}
}

// An import brings companies once, and completes what is there.
func TestImportCompanies(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	known := b.company("Known")
	b.company("Owner of a domain", "taken.example")
	people := []helpdesk.ImportedCustomer{
		{Name: "Ada", Emails: []string{"ada@x.example"}, Company: helpdesk.ImportedCompany{
			Name: "Acme", Domains: []string{"acme.example", "gmail.com", "taken.example", "no domain"}, Note: "Pays.", ExternalID: "K-17"}},
		{Name: "Bob", Emails: []string{"bob@x.example"}, Company: helpdesk.ImportedCompany{Name: "ACME", ExternalID: "K-17"}},
		{Name: "Cyd", Emails: []string{"cyd@x.example"}, Company: helpdesk.ImportedCompany{Name: "known", Note: "Calls."}},
		{Name: "Dan", Emails: []string{"dan@acme.example"}},
	}
	for range 2 {
		must(b.svc.MoveIn().Customers(b.ctx, b.account.ID, people))(t)
	}
	var got []string
	for _, c := range must(b.desk.Companies().List(b.ctx, helpdesk.CompanyQuery{}, storage.PageRequest{}))(t).Items {
		got = append(got, fmt.Sprintf("%s|%v|%s|%s|%d", c.Name, c.Domains, c.Note, c.ExternalID, len(b.customersOf(c.ID))))
	}
	if diff := cmp.Diff([]string{"Known|[]|Calls.||1", "Owner of a domain|[taken.example]|||0", "Acme|[acme.example]|Pays.|K-17|3"}, got); diff != "" {
		t.Error(diff)
	}
	if must(b.desk.Companies().Get(b.ctx, known.ID))(t).UpdatedAt.Before(known.UpdatedAt) {
		t.Error("a completed company was not updated")
	}
}
