package bunstore_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// trimBig trims and moves rows of which there are very many: a fixed number of rows at a time, each looked up by its key.
func trimBig(t *testing.T, app *bun.DB) {
	const piece = 500
	seen := &recorder{}
	db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
	byKey := regexp.MustCompile(`rowid=\?|conversation_id=\?|(conversation_|\b)id = ANY`)
	one := regexp.MustCompile(`^(DELETE|UPDATE) .*"(conversation_)?id" = (ANY|\d)`)
	for name, c := range map[string]struct {
		count string // the rows there are
		run   func(ctx context.Context, tx helpdesk.Tx) (bool, error)
		gone  int
	}{
		"taggings": {"SELECT count(*) FROM hw_conversation_tags WHERE account_id = 1 AND tag_id = 2", func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
			return helpdesk.Nouns().Tags.Rows(tx).Trim(ctx, 2, piece)
		}, piece},
		"tombstones": {"SELECT count(*) FROM hw_inbound_mails WHERE account_id = 1 AND mailbox_id = 1", func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
			return tx.Mailboxes().Trim(ctx, 1, piece)
		}, piece},
		"conversations of an account": {"SELECT count(*) FROM hw_conversations WHERE account_id = 1", func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
			return tx.TrimAccount(ctx, piece)
		}, piece / 10},
		"conversations of a customer": {"SELECT count(*) FROM hw_conversations WHERE account_id = 1 AND customer_id = 1", func(ctx context.Context, tx helpdesk.Tx) (bool, error) {
			return tx.MoveSome(ctx, 1, 2, piece)
		}, piece},
	} {
		count := func(q bun.IDB) (n int) {
			if err := q.NewRaw(c.count).Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		tx, err := app.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := count(tx)
		seen.take()
		err = db.Bind(tx).InTx(t.Context(), helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
			trimmed, err := c.run(ctx, tx)
			if err == nil && !trimmed {
				err = errors.New("nothing was trimmed")
			}
			return err
		})
		if got := before - count(tx); err != nil || got != c.gone {
			t.Errorf("%s: %d rows less, want %d, %v", name, got, c.gone, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		changes := slices.DeleteFunc(seen.take(), func(query string) bool { return !one.MatchString(query) })
		if len(changes) == 0 && !strings.HasSuffix(name, "account") { // which deletes a list
			t.Errorf("%s: no statement was checked", name)
		}
		for _, query := range changes[:min(3, len(changes))] {
			if plan := planOf(t, app, query); !byKey.MatchString(plan) {
				t.Errorf("%s:\n%s\n%s", name, query, plan)
			}
		}
	}
}
