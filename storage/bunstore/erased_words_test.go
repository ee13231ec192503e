package bunstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

// Nothing of an erased customer is left in the files of a SQLite database, whatever was written before, between and after,
// and even if Run did not run while the customer was erased.
func TestErasedWords(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"while running": true, "before a start": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "helpwright.db")
			db, err := both.Open(t.Context(), "sqlite:"+path, bunstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, desk, _ := answering(t, db)
			if runs {
				run(t, db)
			}
			first := wordy(t, desk, "zanzibarq")
			for n := range 40 {
				wordy(t, desk, fmt.Sprint("other", n))
			}
			second := wordy(t, desk, "timbuktuq")
			for _, c := range []helpdesk.Conversation{first, second} {
				if err := desk.Customers().Erase(t.Context(), c.CustomerID); err != nil {
					t.Fatal(err)
				}
				wordy(t, desk, fmt.Sprint("later", c.ID))
			}
			if !runs {
				run(t, db)
			}
			eventually(t, func() string { return leftIn(t, path, "anzibarq", "imbuktuq") })
			found, err := desk.Conversations().List(t.Context(), helpdesk.ConversationQuery{Query: "other7"}, storage.PageRequest{})
			if err != nil || len(found.Items) != 1 {
				t.Errorf("after the erasure, %d conversations are found, %v", len(found.Items), err)
			}
		})
	}
}

// run runs db until the test ends.
func run(t *testing.T, db *bunstore.DB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// wordy creates a customer and a conversation, with several messages, all with a word.
func wordy(t *testing.T, desk *helpdesk.Desk, word string) helpdesk.Conversation {
	t.Helper()
	c, err := desk.Conversations().Create(t.Context(), helpdesk.ConversationInput{Channel: "email", To: word + "@example.com", Subject: "About " + word})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Customers().Update(t.Context(), c.CustomerID, helpdesk.CustomerInput{FirstName: storage.Some(word)}); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		in := helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: fmt.Sprintf("<p>%s has line %d</p>", word, n)}
		if _, err := desk.Interactions().Create(t.Context(), c.ID, in); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// leftIn says which of the words the database at path and its log have.
func leftIn(t *testing.T, path string, words ...string) string {
	t.Helper()
	for _, file := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
		if i >= 0 {
			at := bytes.Index(text, []byte(words[i]))
			return fmt.Sprintf("%s has %q", filepath.Base(file), text[max(0, at-60):min(len(text), at+60)])
		}
	}
	return ""
}

// eventually waits until problem returns "".
func eventually(t *testing.T, problem func() string) {
	t.Helper()
	var last string
	for range 1200 {
		if last = problem(); last == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error(last)
}
