package zendesk_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/zendesk"
)

// Whatever the files contain, only names inside the folder are used, and messages are in the order of their times.
func FuzzZendesk(f *testing.F) {
	for _, name := range []string{"tickets.json", "users.json"} {
		text, err := os.ReadFile("testdata/export/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(`{"comments":[{"id":1,"author_id":2,"public":false,"body":"x"}]}`))
	}
	f.Add([]byte(`{"tickets":[{"id":1,"requester_id":1,"comments":[null,1,{}]}]}`), []byte(`{"id":"1","author_id":"../x","attachments":[{"id":"..","file_name":"../../x"}]}`))
	f.Fuzz(func(t *testing.T, records, comments []byte) {
		files := fstest.MapFS{"export.json": {Data: records}, "comments/1.json": {Data: comments}, "attachments/1": {}}
		source, err := zendesk.Open(t.Context(), foreign.Config{Files: files, MaxRecord: 1 << 20})
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
	if _, err := zendesk.Open(t.Context(), foreign.Config{}); err == nil {
		t.Error("no files are no error")
	}
}
