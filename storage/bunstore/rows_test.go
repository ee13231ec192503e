package bunstore_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// An update of conversations writes only the columns that differ on SQLite, and the same rows on both databases: even if a
// call contains one twice, or a missing one.
func TestSparseUpdate(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		fillBig(t, app, 20)
		seen := &recorder{}
		db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
		update := func(change func(all []*helpdesk.Conversation) []*helpdesk.Conversation) error {
			return db.InTx(t.Context(), helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
				all, err := tx.Conversations().ByIDs(ctx, []int64{3, 4})
				if err != nil {
					return err
				}
				seen.take()
				return tx.Conversations().Update(ctx, change(storage.Pointers(all))...)
			})
		}
		err := update(func(all []*helpdesk.Conversation) []*helpdesk.Conversation {
			all[0].UserID, all[1].Subject = 9, "it's another"
			again := *all[0]
			again.Preview = "twice"
			return append(all, all[1], &again)
		})
		if err != nil {
			t.Fatal(err)
		}
		var written []string
		set := regexp.MustCompile(`(?s)^UPDATE .* SET (.*) WHERE`)
		for _, query := range seen.take() {
			if m := set.FindStringSubmatch(query); m != nil {
				written = append(written, m[1])
			}
		}
		want := []string{`"user_id" = 9`, `"subject" = 'it''s another'`, `"preview" = 'twice'`}
		if !strings.Contains(app.String(), "pg") {
			if diff := cmp.Diff(want, written); diff != "" {
				t.Errorf("columns that are written (-want +got):\n%s", diff)
			}
		}
		got, err := db.Within(helpdesk.Scope{AccountID: 1}).Conversations().ByIDs(t.Context(), []int64{3, 4})
		if err != nil || got[0].UserID != 9 || got[0].Preview != "twice" || got[1].Subject != "it's another" || got[1].UserID == 9 {
			t.Errorf("%+v, %v", got, err)
		}

		err = update(func(all []*helpdesk.Conversation) []*helpdesk.Conversation {
			all[0].UserID, all[1].ID = 11, 99
			return all
		})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("an absent one: %v", err)
		}
		err = update(func(all []*helpdesk.Conversation) []*helpdesk.Conversation {
			all[0].Subject = "\x00"
			return slices.Clip(all[:1])
		})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("text that no database keeps: %v", err)
		}
	})
}
