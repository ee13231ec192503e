package foreign_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/storage/testenv"
)

func scanner(text string, report *foreign.Report, limit int) foreign.Scanner {
	return foreign.Scanner{
		Config:      foreign.Config{Files: fstest.MapFS{"f.json": {Data: []byte(text)}}, MaxRecord: limit},
		Collections: []string{"tickets", "users"}, Singles: map[string]string{"ticket": "tickets"}, Report: report,
	}
}

// scan reads a text and returns its records and problems.
func scan(t testing.TB, text string, limit int) (records, problems []string) {
	t.Helper()
	var report foreign.Report
	s := scanner(text, &report, limit)
	if err := s.Scan(t.Context(), "f.json", func(r foreign.Record) error {
		raw := string(r.Raw)
		records = append(records, strings.TrimPrefix(fmt.Sprintf("%s %d %s", r.Collection, r.Line, raw), " "))
		again, err := s.At(r.Path, r.Offset)
		if err != nil || string(again) != raw {
			t.Errorf("at %d is %s, not %s: %v", r.Offset, again, raw, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Problems.Counts() {
		problems = append(problems, c.String())
	}
	return records, problems
}

func TestScan(t *testing.T) {
	t.Parallel()
	const lost = "what follows a broken record is left out (1, first: f.json)"
	for name, c := range map[string]struct {
		text              string
		records, problems []string
	}{
		"lines":               {"{\"id\":1}\r\n\n{\"id\":2,\"comments\":[{\"id\":3}]}", []string{`1 {"id":1}`, `3 {"id":2,"comments":[{"id":3}]}`}, nil},
		"a list":              {"[ {\"id\":1},\n{\"id\":\"]\"} ]", []string{`1 {"id":1}`, `2 {"id":"]"}`}, nil},
		"a page":              {`{"count":1,"tickets":[{"id":1},{"id":2}],"next":{"x":[]},"users":[]}`, []string{`tickets 1 {"id":1}`, `tickets 1 {"id":2}`}, nil},
		"a page of HAL":       {"{\n \"_embedded\": {\"users\": [{\"id\":1}]}, \"page\": {}}", []string{`users 2 {"id":1}`}, nil},
		"pages in lines":      {"{\"tickets\":[{\"id\":1}]}\n{\"tickets\":[{\"id\":2}]}\n", []string{`tickets 1 {"id":1}`, `tickets 2 {"id":2}`}, nil},
		"one alone":           {`{"ticket":{"id":1}}`, []string{`tickets 1 {"id":1}`}, nil},
		"with a mark":         {"\xef\xbb\xbf{\"id\":1}", []string{`1 {"id":1}`}, nil},
		"a broken line":       {"{\"id\":1}\n{\"id\":\n{\"id\":2}\n", []string{`1 {"id":1}`, `3 {"id":2}`}, []string{"a record is left out: the file ends within it (1, first: f.json line 2)"}},
		"an unfinished text":  {"{\"id\":1}\n{\"id\":\"x\n{\"id\":2}\n", []string{`1 {"id":1}`, `3 {"id":2}`}, []string{"a record is left out: the file ends within it (1, first: f.json line 2)"}},
		"a broken document":   {"{\n\"tickets\": [{\"id\":1}, }", nil, []string{"a record is left out: the file ends within it (1, first: f.json line 2)", lost}},
		"a broken page":       {"{\n\"tickets\": [{\"id\":1}, }]}", nil, []string{"a record is left out: it is no valid JSON (1, first: f.json line 2)", lost}},
		"a line too large":    {"{\"id\":1}\n{\"id\":\"" + strings.Repeat("x", 200) + "\"}\n{\"id\":3}", []string{`1 {"id":1}`, `3 {"id":3}`}, []string{"a record is left out: it is too large (1, first: f.json line 2)"}},
		"a large page":        {`{"tickets":[{"id":1},` + strings.Repeat(`{"id":2},`, 20) + `{"id":3,"x":"` + strings.Repeat("x", 200) + `"},{"id":4}]}`, append(append([]string{`tickets 1 {"id":1}`}, slicesRepeat(`tickets 1 {"id":2}`, 20)...), `tickets 1 {"id":4}`), []string{"a record is left out: it is too large (1, first: f.json line 1)"}},
		"a large record":      {`{"x":"` + strings.Repeat("x", 200) + `","id":1}`, nil, []string{"a record is left out: it is too large (1, first: f.json line 1)", lost}},
		"nested too deeply":   {"{\"id\":1}\n{\"id\":" + strings.Repeat("[", 101) + "\n{\"id\":2}", []string{`1 {"id":1}`, `3 {"id":2}`}, []string{"a record is left out: it is nested too deeply (1, first: f.json line 2)"}},
		"UTF-16":              {"\xff\xfe{\x00}\x00", nil, []string{"a file is UTF-16: make it UTF-8, as with iconv -f UTF-16 -t UTF-8 (1, first: f.json)"}},
		"no records":          {`{"things":[]}`, nil, []string{"it has no records that are known (1, first: f.json line 1)"}},
		"something else":      {"Hello\n", nil, []string{"a record is left out: it is no valid JSON (1, first: f.json line 1)", lost}},
		"nothing":             {"", nil, nil},
		"brackets that cross": {"{\"id\":1}\n{\"id\":[}]\n{\"id\":2}", []string{`1 {"id":1}`, `3 {"id":2}`}, []string{"a record is left out: it is no valid JSON (1, first: f.json line 2)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records, problems := scan(t, c.text, 150)
			if diff := cmp.Diff([][]string{c.records, c.problems}, [][]string{records, problems}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func slicesRepeat(s string, n int) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(s+"|", n), "|"), "|")
}

// Reading takes time in proportion to the size, whatever a file has.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	for name, unit := range map[string]string{
		"lines": "{\"id\":1}\n", "open": "{\"id\":\n", "brackets": "[", "texts": "{\"\n", "pages": "{\"tickets\":[{\"id\":1}]}\n", "commas": ",", "escapes": "\"\\", "keys": "{\"a\":",
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, 1_000, func(n int) func() {
				text := "{\"id\":0}\n" + strings.Repeat(unit, n)
				return func() {
					s := scanner(text, &foreign.Report{}, 1<<20)
					if err := s.Scan(t.Context(), "f.json", func(foreign.Record) error { return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Attachments are found by their ids, within their folder.
func TestAttachment(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"attachments/1/a.png": {}, "attachments/2-b.png": {}, "attachments/3.pdf": {}, "attachments/4": {}, "secret": {}, "attachments/5/x/y": {}, "export.zip": {}, "a.json": {},
	}
	var report foreign.Report
	folder, err := foreign.OpenFolder(t.Context(), files, &report)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range [][2]string{{"1", "a.png"}, {"2", "b.png"}, {"3", "c.pdf"}, {"4", ""}, {"5", "x"}, {"6", "a"}, {"../secret", ""}, {"..", "secret"}, {"1", "../../secret"}, {"", "a"}, {"1/a.png", ""}} {
		got = append(got, folder.Attachment(c[0], c[1]))
	}
	want := []string{"attachments/1/a.png", "attachments/2-b.png", "attachments/3.pdf", "attachments/4", "", "", "", "", "", "", ""}
	if diff := cmp.Diff(want, got); diff != "" || len(folder.Records) != 1 || len(report.Problems.Counts()) != 2 {
		t.Errorf("%v %v\n%s", folder.Records, report.Problems.Counts(), diff)
	}
}

// Whatever a file has, its records are found again where they lie, and are JSON.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"", "{\"id\":1}\n{\"id\":2}\n", `{"tickets":[{"id":1},{"id":2}],"count":2}`, "[{\"id\":\"\\\"\"}]", "{\"_embedded\":{\"users\":[{\"id\":1}]}}",
		"{\"ticket\":{\"id\":1}}", "{\"id\":[}]\n{", "\xef\xbb\xbf{}", `{"tickets":[{"id":"` + strings.Repeat("x", 70) + `"},{"id":3}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		records, _ := scan(t, text, 64)
		total := 0
		for _, r := range records {
			total += len(r)
		}
		if len(records) > len(text) {
			t.Fatalf("%d records in %d bytes", len(records), len(text))
		}
	})
}
