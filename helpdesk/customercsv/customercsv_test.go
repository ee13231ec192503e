package customercsv_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// newDesk returns the desk of the owner of an empty account.
func newDesk(t testing.TB) *helpdesk.Desk {
	t.Helper()
	key := make([]byte, 32)
	sealer, err := storage.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	user, err := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "owner@example.org", Name: "Owner"})
	if err != nil {
		t.Fatal(err)
	}
	account, err := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, user.ID)
	if err != nil {
		t.Fatal(err)
	}
	desk, err := svc.Desk(ctx, svc.As(user.ID), account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

func opener(content string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
}

func open(t testing.TB, content string) *customercsv.Table {
	t.Helper()
	table, err := customercsv.Open(context.Background(), opener(content))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// customers lists what an account has, as an export without ids and times.
func customers(t testing.TB, desk *helpdesk.Desk) (all []string) {
	t.Helper()
	var out bytes.Buffer
	if err := customercsv.Export(context.Background(), desk, &out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(out.Bytes(), []byte("\uFEFF")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		all = append(all, strings.ReplaceAll(strings.Join(append(row[1:4:4], row[5:9]...), "|"), "\n", " "))
	}
	return all
}

func TestFormats(t *testing.T) {
	t.Parallel()
	plain := "Name,E-mail,Company\r\nZoë Müller,zoe@example.com,\"Brötchen, Söhne\"\r\n"
	encoded := func(of encoding.Encoding, text string) string {
		out, err := of.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, test := range map[string]struct{ content, format string }{
		"UTF-8":                    {plain, `UTF-8, ','`},
		"UTF-8 with a mark":        {"\uFEFF" + plain, `UTF-8, ','`},
		"UTF-16":                   {encoded(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), plain), `UTF-16LE, ','`},
		"UTF-16, big-endian":       {encoded(unicode.UTF16(unicode.BigEndian, unicode.UseBOM), plain), `UTF-16BE, ','`},
		"UTF-16 without a mark":    {encoded(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), plain), `UTF-16LE, ','`},
		"Windows-1252":             {encoded(charmap.Windows1252, plain), `Windows-1252, ','`},
		"semicolons":               {strings.NewReplacer("Name,E-mail,", "Name;E-mail;", "Müller,", "Müller;", "com,", "com;").Replace(plain), `UTF-8, ';'`},
		"tabs":                     {strings.NewReplacer("Name,E-mail,", "Name\tE-mail\t", "Müller,", "Müller\t", "com,", "com\t").Replace(plain), `UTF-8, '\t'`},
		"line feeds, no last one":  {strings.TrimSpace(strings.ReplaceAll(plain, "\r\n", "\n")), `UTF-8, ','`},
		"empty lines at the start": {"\n\n" + plain, `UTF-8, ','`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk, table := newDesk(t), open(t, test.content)
			if diff := cmp.Diff(test.format, table.String()); diff != "" {
				t.Error(diff)
			}
			if _, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: table}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"Zoë|Müller|Brötchen, Söhne|zoe@example.com|||"}, customers(t, desk)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ header, want string }{
		{"id,first_name,last_name,company,company_id,emails,phones,websites,note,external_id,created_at,updated_at", "id,first_name,last_name,company,,emails,phones,websites,note,external_id,,"},
		{"Kundennummer,Vorname,E-Mail", "external_id,first_name,emails"},
		{"Given Name,Family Name,E-mail 1 - Value,E-mail 2 - Value,Phone 1 - Value,Notes,Organization 1 - Name", "first_name,last_name,emails,emails,phones,note,"},
		{"Vorname,Nachname,E-Mail,Firma,Telefon", "first_name,last_name,emails,company,phones"},
		{"Name,First name,Email", ",first_name,emails"},
		{"name,email,organization,details", "name,emails,company,"},
	} {
		if diff := cmp.Diff(test.want, customercsv.Join(customercsv.Match(strings.Split(test.header, ",")))); diff != "" {
			t.Errorf("%s: %s", test.header, diff)
		}
	}
}

// A dry run finds what the import does, and each problem with its row and column. Repeating the import changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	ctx := t.Context()
	for _, in := range []helpdesk.CustomerInput{
		{FirstName: storage.Some("Ada"), Emails: storage.Some([]helpdesk.Item{{Value: "ada@example.com"}}), Phones: storage.Some([]helpdesk.Item{{Value: "1"}})},
		{FirstName: storage.Some("Bob"), Emails: storage.Some([]helpdesk.Item{{Value: "bob@example.com"}})},
	} {
		if _, err := desk.Customers().Create(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	table := open(t, strings.Join([]string{
		"First,Last,Email,Phone,Company,Website,ID",
		"Ada,Lovelace,ADA@example.com,'+44 20,Analytical,https://ada.example,", // 2: changes Ada
		"", // 3: counts as a row
		"Cyd,,cyd@example.com;c@example.com,,Analytical,,", // 4: new
		"Cyd,Charisse,c@example.com,,,,",                   // 5: the same person
		"Dan,,no address,,,,",                              // 6
		`Eve,"quoted "wrong",eve@example.com,,,,`,          // 7
		"Fay,,ada@example.com bob@example.com,,,,",         // 8
		"Gus,,,,,,",                            // 9
		"Hal,,hal@example.com,,,javascript:x,", // 10
		"Ida,,,,,,99",                          // 11
		"Jon,,,,,,x",                           // 12
		strings.Repeat("K", 101) + ",,k@example.com,,,,", // 13
		",,nameless@example.com,,,,",                     // 14
		"Robert,,,,,,2",                                  // 15: changes Bob by his id
	}, "\n"))
	want := customercsv.Result{Created: 2, Updated: 3, Failed: 8, Problems: []customercsv.Problem{
		{Row: 6, Column: "Email", Text: "is not an email address"},
		{Row: 7, Text: "has a quotation mark in the wrong place"},
		{Row: 8, Column: "Email", Text: "belong to several customers"},
		{Row: 9, Column: "Email", Text: "is required"},
		{Row: 10, Column: "Website", Text: "must be an http or https address"},
		{Row: 11, Column: "ID", Text: "is not known"},
		{Row: 12, Column: "ID", Text: "is not an id"},
		{Row: 13, Column: "First", Text: "is longer than 100 characters"},
	}}
	before := customers(t, desk)
	for _, dry := range []bool{true, false} {
		got, err := customercsv.Import(ctx, customercsv.Config{Desk: desk, Table: table, DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("dry %t: %s", dry, diff)
		}
		if dry {
			if diff := cmp.Diff(before, customers(t, desk)); diff != "" {
				t.Errorf("a dry run changed: %s", diff)
			}
		}
	}
	after := []string{
		"Ada|Lovelace|Analytical|ada@example.com|1 +44 20|https://ada.example|", "Robert|||bob@example.com|||",
		"Cyd|Charisse|Analytical|cyd@example.com c@example.com|||", "|||nameless@example.com|||",
	}
	if diff := cmp.Diff(after, customers(t, desk)); diff != "" {
		t.Error(diff)
	}
	again, err := customercsv.Import(ctx, customercsv.Config{Desk: desk, Table: table})
	if err != nil || again.Created != 0 || again.Failed != want.Failed {
		t.Errorf("again: %+v, %v", again, err)
	}
	if diff := cmp.Diff(after, customers(t, desk)); diff != "" {
		t.Errorf("repeating it changed: %s", diff)
	}
	companies, err := desk.Companies().List(ctx, helpdesk.CompanyQuery{}, storage.PageRequest{})
	if err != nil || len(companies.Items) != 1 || companies.Items[0].Name != "Analytical" {
		t.Errorf("companies %+v, %v", companies.Items, err)
	}
}

// What was exported can be imported again, and into another account: formulas and all.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	for i, name := range []string{"=cmd|' /C calc'!A0", "+1", "-2", "@SUM(A1)", "'=x", "'plain", "Comma, \"quoted\"", "＝1"} {
		if _, err := desk.Customers().Create(t.Context(), helpdesk.CustomerInput{
			FirstName: storage.Some(name), Company: storage.Some("=A"), Note: storage.Some("two\nlines, \"and\" quotes"),
			Emails: storage.Some([]helpdesk.Item{{Value: fmt.Sprintf("%d@example.com", i)}, {Value: fmt.Sprintf("%d@example.org", i)}}),
			Phones: storage.Some([]helpdesk.Item{{Value: "+49 30 1234"}, {Value: "-1"}}),
		}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := customercsv.Export(t.Context(), desk, &out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(out.Bytes(), []byte("\uFEFF")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "-") || strings.HasPrefix(cell, "@") {
				t.Errorf("a spreadsheet computes %q", cell)
			}
		}
	}
	want := customers(t, desk)
	table := open(t, out.String())
	same, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: table})
	if err != nil || same.Unchanged != len(want) {
		t.Errorf("into the same account: %+v, %v", same, err)
	}
	other := newDesk(t)
	fields := customercsv.Match(table.Header)
	fields[0] = customercsv.Ignored // ids are of the first account
	if _, err := customercsv.Import(t.Context(), customercsv.Config{Desk: other, Table: table, Fields: fields}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, customers(t, other)); diff != "" {
		t.Error(diff)
	}
}

// An import that was stopped is begun again: what is there already stays as it is.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	desk := newDesk(t)
	var b strings.Builder
	b.WriteString("email,name\n")
	const many = 180
	for i := range many {
		fmt.Fprintf(&b, "%d@example.com,Number %d\n", i, i)
	}
	table := open(t, b.String())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := customercsv.Import(ctx, customercsv.Config{Desk: desk, Table: table, Progress: func(done, total int) {
		if done > 60 {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("the import was not stopped")
	}
	part := len(customers(t, desk))
	result, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: table})
	if err != nil || part == 0 || part == many || result.Created != many-part || result.Unchanged != part || len(customers(t, desk)) != many {
		t.Errorf("after %d: %+v, %v", part, result, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		kind    fault.Kind
	}{
		"nothing":          {"", fault.Invalid},
		"only a mark":      {"\uFEFF", fault.Invalid},
		"only blanks":      {" \r\n\r\n", fault.Invalid},
		"a long row":       {"email\n" + strings.Repeat("x", 2<<20), fault.TooLarge},
		"a row of commas":  {"email\n" + strings.Repeat(",", 2<<20), fault.TooLarge},
		"an open quote":    {"email\n\"" + strings.Repeat("x\n", 1<<20), fault.TooLarge},
		"too many columns": {strings.Repeat("a,", 300) + "\n", fault.TooLarge},
		"too many rows":    {"email\n" + strings.Repeat("a\n", customercsv.MaxRows+1), fault.TooLarge},
		"too large":        {"email\n" + strings.Repeat(strings.Repeat("x", 1023)+"\n", customercsv.MaxBytes>>10), fault.TooLarge},
	} {
		if _, err := customercsv.Open(t.Context(), opener(test.content)); !fault.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	desk := newDesk(t)
	if _, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: open(t, "a,b\n1,2\n")}); !fault.Is(err, fault.Invalid) {
		t.Errorf("no addresses: %v", err)
	}
}

func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		"email,name\nada@example.com,Ada\n", "\uFEFFE-Mail;Name\r\n\"a@b.example\";\"x \"\"y\"\"\"\r\n", "\xFF\xFEe\x00m\x00a\x00i\x00l\x00\n\x00", "email\n\"open",
		"email\tnote\n=1+1@example.com\t=cmd\n", "\x00\x00\x00\x00", "\xFF\xFE\xD8", "id,email\n1,a@b.example\n-1,\n", "email\n\n\na@b.example\xFF\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		table, err := customercsv.Open(t.Context(), opener(string(content)))
		if err != nil {
			return
		}
		desk := newDesk(t)
		dry, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: table, DryRun: true})
		if err != nil {
			return
		}
		done, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: table})
		if err != nil || dry.Created+dry.Updated+dry.Unchanged+dry.Failed != table.Rows || done.Created+done.Updated+done.Unchanged+done.Failed != table.Rows {
			t.Fatalf("%d rows, dry run %+v, import %+v, %v", table.Rows, dry, done, err)
		}
		before := customers(t, desk)
		if again, err := customercsv.Import(t.Context(), customercsv.Config{Desk: desk, Table: table}); err != nil || again.Created != 0 {
			t.Fatalf("again %+v, %v", again, err)
		}
		if diff := cmp.Diff(len(before), len(customers(t, desk))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	for name, row := range map[string]string{
		"rows": "ada@example.com,Ada,Acme\n", "quotes": "\"a\"\"b\"\"c\",\"\n\n\",x\n", "broken quotes": "a\"b,\"c\n", "empty lines": "\n\n\n\n", "zero bytes": "\x00\x00\x00\x00\n",
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, 4_000, func(n int) func() {
				content := "email,name,company\n" + strings.Repeat(row, n)
				return func() {
					if table, err := customercsv.Open(context.Background(), opener(content)); err == nil {
						_, _ = table.Sample(context.Background(), n)
					}
				}
			})
		})
	}
}
