package bunstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// Lists have each change of a tag at once: of the same server, of another one, with unchanged times, and after a transaction that
// was rolled back. The tags of a page are one more statement.
func TestTagsOfLists(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, other *bunstore.DB) {
		seen := &recorder{}
		db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
		scope, all := twoConversations(t, db)
		tags := []*helpdesk.Tag{{Name: "Billing", Key: "billing", Color: "#ff0000"}, {Name: "x1x 'Größe'", Key: "x1x 'größe'"}}
		within := func(t *testing.T, db *bunstore.DB, fn func(ctx context.Context, tx helpdesk.Tx) error) {
			t.Helper()
			if err := db.InTx(t.Context(), scope, fn); err != nil {
				t.Fatal(err)
			}
		}
		within(t, db, func(ctx context.Context, tx helpdesk.Tx) error {
			if err := helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, tags...); err != nil {
				return err
			}
			if err := tx.SetTags(ctx, all[:1], []int64{tags[0].ID, tags[1].ID}); err != nil {
				return err
			}
			return tx.SetTags(ctx, all[1:], []int64{tags[1].ID})
		})
		shown := func(t *testing.T, r helpdesk.Reader) map[int64][]helpdesk.Tag {
			t.Helper()
			at, _ := r.(helpdesk.MarkedReader)
			_, marks, err := at.MarkedConversations(t.Context(), helpdesk.ConversationOrder{}, 1, storage.Seek{Desc: true, Limit: 25})
			if err != nil {
				t.Fatal(err)
			}
			got := map[int64][]helpdesk.Tag{}
			for _, m := range marks {
				got[m.ConversationID] = m.Tags
			}
			return got
		}
		expect := func(t *testing.T, when string) {
			t.Helper()
			want := map[int64][]helpdesk.Tag{all[0]: {*tags[0], *tags[1]}, all[1]: {*tags[1]}}
			if diff := cmp.Diff(want, shown(t, db.Within(scope))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		expect(t, "first")
		seen.take()
		expect(t, "again")
		if queries := seen.take(); len(queries) != 2 {
			t.Errorf("a list with tags is read with %q", queries)
		}
		for name, by := range map[string]*bunstore.DB{"this server": db, "another server": other} {
			changed := *tags[1]
			changed.Name += "!"
			within(t, by, func(ctx context.Context, tx helpdesk.Tx) error {
				return helpdesk.Nouns().Tags.Rows(tx).Update(ctx, &changed)
			})
			tags[1] = &changed
			expect(t, "changed by "+name)
		}
		undone, errUndo := *tags[0], errors.New("undo")
		undone.Color = "#00ff00"
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
			if err := helpdesk.Nouns().Tags.Rows(tx).Update(ctx, &undone); err != nil {
				return err
			}
			if got := shown(t, tx.Reader())[all[0]][0]; got != undone {
				t.Errorf("in the transaction: %+v", got)
			}
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
		expect(t, "rolled back")
		within(t, other, func(ctx context.Context, tx helpdesk.Tx) error {
			return helpdesk.Nouns().Tags.Rows(tx).Delete(ctx, tags[0].ID)
		})
		if diff := cmp.Diff(map[int64][]helpdesk.Tag{all[0]: {*tags[1]}, all[1]: {*tags[1]}}, shown(t, db.Within(scope))); diff != "" {
			t.Errorf("deleted (-want +got):\n%s", diff)
		}
		// A tag that is deleted after the list was read, and before its name is, is dropped.
		meanwhile := &afterList{do: func() {
			within(t, other, func(ctx context.Context, tx helpdesk.Tx) error {
				return helpdesk.Nouns().Tags.Rows(tx).Delete(ctx, tags[1].ID)
			})
		}}
		if got := shown(t, bunstore.New(app.WithQueryHook(meanwhile), bunstore.Config{}).Within(scope)); len(got[all[0]])+len(got[all[1]]) > 0 || meanwhile.do != nil {
			t.Errorf("deleted meanwhile: %+v", got)
		}
	})
}

// afterList does something once, after the first list of conversations.
type afterList struct{ do func() }

func (h *afterList) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *afterList) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if do := h.do; do != nil && strings.Contains(event.Query, "string_agg") {
		h.do = nil
		do()
	}
}
