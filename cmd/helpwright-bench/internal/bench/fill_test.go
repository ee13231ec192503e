package bench

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// The copies are rows as the services make them: no reference is broken, the counts are right, and a copy is found by its
// word, with its customer and its answer.
func TestFill(t *testing.T) {
	t.Parallel()
	cfg := Config{Conversations: 200, Articles: 20, Accounts: 2, Readers: 1, Time: time.Millisecond, Dir: t.TempDir(), Progress: func(string) {}}
	w, err := newWorld(t.Context(), cfg, "SQLite", "db", func(name string) (address, error) { return sqliteAddress(cfg.Dir, name), nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	for query, want := range map[string]int{
		"SELECT count(*) FROM pragma_foreign_key_check":                            0,
		"SELECT count(*) FROM hw_conversations":                                    200,
		"SELECT count(*) FROM hw_conversations WHERE account_id = 1":               160,
		"SELECT sum(n) FROM hw_conversation_counts WHERE tag_id = 0":               200,
		"SELECT count(*) FROM hw_articles":                                         20,
		"SELECT published_articles FROM hw_collections":                            20,
		"SELECT next_number FROM hw_accounts WHERE id = 1":                         161,
		"SELECT count(*) FROM hw_deliveries WHERE state <> 'sent'":                 0,
		"SELECT count(*) FROM hw_jobs WHERE kind IN ('mail.send', 'mail.file')":    0,
		"SELECT count(*) FROM hw_conversations WHERE created_at >= updated_at + 1": 0,
	} {
		var got int
		if err := w.plain.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %d, not %d, %v", query, got, want, err)
		}
	}
	desk, err := w.srv.Service().Desk(t.Context(), w.srv.Service().As(w.at.members[0]), w.at.id)
	if err != nil {
		t.Fatal(err)
	}
	page, err := desk.Conversations().List(t.Context(), helpdesk.ConversationQuery{Query: "lot1000003 printer"}, storage.PageRequest{})
	if err != nil || len(page.Items) != 160/w.lots {
		t.Fatalf("%d conversations have the word of a copy, %v", len(page.Items), err)
	}
	c := page.Items[len(page.Items)-1]
	customer, err := desk.Customers().Get(t.Context(), c.CustomerID)
	if err != nil || customer.Emails[0].Email != c.CustomerEmail {
		t.Errorf("%+v of %q, %v", customer, c.CustomerEmail, err)
	}
	said, err := desk.Interactions().List(t.Context(), page.Items[0].ID, storage.PageRequest{})
	if err != nil || len(said.Items) != 2 || said.Items[1].To[0] != page.Items[0].CustomerEmail {
		t.Errorf("%+v, %v", said.Items, err)
	}
}
