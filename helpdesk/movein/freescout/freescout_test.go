package freescout_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/freescout"
)

// Whatever the files contain, only names inside the folder are used, and messages are in the order of their times.
func FuzzFreeScout(f *testing.F) {
	for _, name := range []string{"conversations.json", "customers.json"} {
		text, err := os.ReadFile("testdata/export/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(`{"_embedded":{"threads":[{"id":1,"type":"note","body":"x"}]}}`))
	}
	f.Add([]byte(`{"id":1,"subject":"x","_embedded":{"threads":[null,1,{}]}}`), []byte(`[{"id":"1","_embedded":{"attachments":[{"id":"..","fileName":"../../x","filename":"/x"}]}}]`))
	f.Fuzz(func(t *testing.T, records, threads []byte) {
		files := fstest.MapFS{"export.json": {Data: records}, "threads/1.json": {Data: threads}, "attachments/1": {}}
		source, err := freescout.Open(t.Context(), foreign.Config{Files: files, MaxRecord: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if err := source.People(t.Context(), func(foreign.Person) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := source.Replies(t.Context(), func(foreign.Reply) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := source.Conversations(t.Context(), func(c foreign.Conversation) error {
			for n, m := range c.Messages {
				if n > 0 && m.At.Before(c.Messages[n-1].At) {
					t.Fatalf("%+v", c.Messages)
				}
				for _, f := range m.Files {
					if f.Path != "" && f.Path != "attachments/1" {
						t.Fatalf("the file %q", f.Path)
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNoFiles(t *testing.T) {
	t.Parallel()
	if _, err := freescout.Open(t.Context(), foreign.Config{}); err == nil {
		t.Error("no files are no error")
	}
}
