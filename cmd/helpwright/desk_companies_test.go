package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskCompanies keeps companies and imports a table of customers in the desk, with scripts and without, on either database.
func TestDeskCompanies(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		o := newOffice(t, database)
		check := newPageChecker(t)
		for _, scripts := range []bool{true, false} {
			o.companies(o.owner(browser.View{NoScript: !scripts}), check, scripts)
			o.importsTable(o.owner(browser.View{NoScript: !scripts}), check, scripts)
		}
		check.valid()
	})
}

// companies adds two companies, whose people join by their domain, and merges them.
func (o *office) companies(tab *browser.Tab, check *pageChecker, scripts bool) {
	o.t.Helper()
	mark := map[bool]string{true: "s", false: "n"}[scripts]
	add := func(name, domains string) {
		tab.Open(o.at + "/companies")
		tab.Click(".add-company > summary")
		tab.Fill(".add-company [name=name]", name)
		tab.Fill(".add-company [name=domains]", domains)
		if scripts {
			o.eachView(tab, check, "companies")
		}
		pressButton(tab, scripts, ".add-company .primary")
		tab.Wait(".card h2")
	}
	add("Halden "+mark, "halden-"+mark+".example")
	for _, name := range []string{"ada", "bob"} {
		o.ok("POST", "/accounts/1/conversations", url.Values{
			"channel": {"email"}, "to": {name + "@halden-" + mark + ".example"}, "subject": {"Where is my grinder, " + name + "?"},
		}, nil)
	}
	o.ok("POST", "/accounts/1/fields", url.Values{"label": {"Seats " + mark}, "applies_to": {"company"}, "type": {"number"}}, nil)
	add("Halden Inc. "+mark, "halden-inc-"+mark+".example")
	twin := tab.Location()
	tab.Open(o.at + "/companies?q=halden+" + mark)
	pressButton(tab, scripts, "#list .line")
	tab.Wait(".card h2")
	testenv.Eventually(o.t, "the company's people", func() bool {
		tab.Open(tab.Location())
		return strings.Contains(seen(tab, ".company-people"), "bob@halden-"+mark+".example")
	})
	if got := seen(tab, "#main"); !strings.Contains(got, "Where is my grinder, ada?") {
		o.t.Errorf("the company's page: %s", got)
	}
	tab.Click(".values summary")
	tab.Fill("[name=f_seats_"+mark+"]", "25")
	if scripts {
		o.eachView(tab, check, "company-fields")
	}
	pressButton(tab, scripts, ".values .button")
	testenv.Eventually(o.t, "the company's field", func() bool { return strings.Contains(seen(tab, ".values dl"), "25") })
	if scripts {
		o.eachView(tab, check, "company")
	}
	tab.Open(twin + "/merge?q=halden")
	if scripts {
		o.eachView(tab, check, "company-merge")
	}
	pressButton(tab, scripts, "#list .line")
	tab.Wait(".button.danger")
	pressButton(tab, scripts, ".button.danger")
	testenv.Eventually(o.t, "the merged company", func() bool { return strings.Contains(seen(tab, ".card"), "halden-inc-"+mark+".example") })
	o.choosesCompany(tab, check, scripts, mark)
}

// choosesCompany gives a customer another company at their page.
func (o *office) choosesCompany(tab *browser.Tab, check *pageChecker, scripts bool, mark string) {
	o.t.Helper()
	pressButton(tab, scripts, ".company-people .line")
	tab.Wait(".company-choice > summary")
	tab.Click(".company-choice > summary")
	tab.Fill(".company-choice [name=company]", "Fjord "+mark)
	if scripts {
		o.eachView(tab, check, "customer-company")
	}
	pressButton(tab, scripts, ".company-choice .button")
	testenv.Eventually(o.t, "the customer's new company", func() bool { return strings.Contains(seen(tab, ".card"), "Fjord "+mark) })
}

// importsTable checks a table, corrects what a column is taken for, and imports it.
func (o *office) importsTable(tab *browser.Tab, check *pageChecker, scripts bool) {
	o.t.Helper()
	mark := map[bool]string{true: "s", false: "n"}[scripts]
	file := filepath.Join(o.t.TempDir(), "people.csv")
	write(o.t, file, strings.ReplaceAll("E-Mail;Vorname;Arbeitet bei\ncyd-MARK@table.example;Cyd;Tabelle MARK\nno address;Dan;\neve-MARK@table.example;\"=Eve\";Tabelle MARK\n", "MARK", mark))
	tab.Open(o.at + "/customer-import")
	if scripts {
		o.eachView(tab, check, "customers-import")
	}
	tab.Choose("[name=file]", file)
	pressButton(tab, scripts, ".page .primary")
	o.errandIs(tab, scripts, "Check finished")
	if got := strings.Join(strings.Fields(seen(tab, "#errand .facts")), ""); got != "Newcustomers2Rowswithproblems1" {
		o.t.Errorf("checked: %s", got)
	}
	tab.Click("#errand .mapping > summary")
	browser.Eval[any](tab, `document.querySelector("#errand [name=column2]").value = "company"`)
	if scripts {
		o.eachView(tab, check, "customers-import-checked")
	}
	pressButton(tab, scripts, "#errand .mapping .button")
	testenv.Eventually(o.t, "the table was checked with the other column", func() bool {
		if !scripts { // a script shows the errand while it goes on; what is sent is not interrupted
			tab.Open(tab.Location())
		}
		return strings.Contains(seen(tab, "#errand"), "Check finished") &&
			browser.Eval[string](tab, `document.querySelector("#errand [name=column2] option[selected]")?.value ?? ""`) == "company"
	})
	pressButton(tab, scripts, "button[form=start]")
	o.errandIs(tab, scripts, "Import finished")
	if scripts {
		o.eachView(tab, check, "customers-import-done")
	}
	o.deleteErrand(tab, scripts)
	testenv.Eventually(o.t, "another import can begin", func() bool { return strings.Contains(seen(tab, "#main"), "Upload and check") })
	table := browser.Eval[string](tab, fmt.Sprintf(`fetch(%q, {method: "POST"}).then((r) => r.text())`, o.at+"/customers/export"))
	if !strings.Contains(table, "'=Eve,,Tabelle "+mark) {
		o.t.Errorf("the export: %s", table)
	}
}

// A server that is killed while it imports a table continues it, and everything is there once.
func TestKillTable(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+database)
		const many = 4_000
		var table strings.Builder
		table.WriteString("email,first name,company,phone\n")
		for n := range many {
			fmt.Fprintf(&table, "%d@example.com,Number %d,Company %d,+49 30 %d\n", n, n, n%10, n)
		}
		s.sendTable(table.String())
		type status struct {
			State    string
			Progress struct{ Done int64 }
			Result   *struct{ Created, Updated, Unchanged, Failed int64 }
		}
		var at object[status]
		testenv.Eventually(t, "some rows", func() bool {
			s.ok("GET", "/accounts/1/customers/import", nil, &at)
			return at.Data.Progress.Done > 0
		})
		s.kill()
		if at.Data.State != "running" {
			t.Errorf("killed when it was %s", at.Data.State)
		}
		s.start()
		deadline := time.Now().Add(3 * time.Minute)
		for at.Data.State != "done" && time.Now().Before(deadline) {
			time.Sleep(200 * time.Millisecond)
			s.ok("GET", "/accounts/1/customers/import", nil, &at)
		}
		if r := at.Data.Result; r == nil || r.Created+r.Unchanged != many || r.Unchanged == 0 || r.Failed+r.Updated != 0 {
			t.Fatalf("%+v", at.Data)
		}
		got := s.table()
		if len(got) != many {
			t.Errorf("%d customers", len(got))
		}
		if diff := cmp.Diff("'+49 30 7", got["7@example.com"]); diff != "" {
			t.Error(diff)
		}
		var companies object[[]struct{ Name string }]
		if s.ok("GET", "/accounts/1/companies", nil, &companies); len(companies.Data) != 10 {
			t.Errorf("companies %+v", companies.Data)
		}
	})
}

// sendTable begins the import of a table.
func (s *process) sendTable(content string) {
	s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", "people.csv")
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if status, answer := s.raw(http.MethodPost, "/accounts/1/customers/import", w.FormDataContentType(), &body); status != http.StatusCreated {
		s.t.Fatalf("%d %s", status, answer)
	}
}

// raw sends a request to the API.
func (s *process) raw(method, path, kind string, body io.Reader) (status int, answer []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.http+"/api/v1"+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, answer
}

// table returns the phones of all customers of the export by address.
func (s *process) table() map[string]string {
	s.t.Helper()
	status, answer := s.raw(http.MethodGet, "/accounts/1/customers.csv", "", nil)
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(answer, []byte("\uFEFF")))).ReadAll()
	if err != nil || status != http.StatusOK {
		s.t.Fatal(status, err)
	}
	all := map[string]string{}
	for _, row := range rows[1:] {
		if _, twice := all[row[5]]; twice {
			s.t.Errorf("%s is there twice", row[5])
		}
		all[row[5]] = row[6]
	}
	return all
}
