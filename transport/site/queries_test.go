package site_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/transport/site"
)

// tally counts statements.
type tally struct{ n atomic.Int64 }

func (*tally) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }
func (t *tally) AfterQuery(context.Context, *bun.QueryEvent)                      { t.n.Add(1) }

// An article that is not kept costs few statements, and fewer when pages like it were shown before.
func TestQueries(t *testing.T) {
	t.Parallel()
	pool, err := sqlite.Pool("file:" + filepath.Join(t.TempDir(), "queries.db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	count := &tally{}
	store := bunstore.New(bun.NewDB(pool, sqlitedialect.New()).WithQueryHook(count), bunstore.Config{})
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, store)
	w.library()
	many := w.collection(map[string]string{"en": "Printing"}, "")
	var common kb.ArticleRevision // its words are in too many titles to relate anything
	for i := range 13 {
		a := w.article(many.ID, nil, map[string]string{"en": "Print paper"}, "<p>Print.</p>")
		if i == 0 {
			common = a
		}
	}
	near := w.article(many.ID, []int64{w.category(many.ID, map[string]string{"en": "Ink"}).ID}, map[string]string{"en": "Change the toner"}, "<p>Change.</p>")
	far := w.collection(map[string]string{"en": "Shop"}, "")
	for _, title := range []string{"Order toner", "Return toner"} {
		w.article(far.ID, nil, map[string]string{"en": title}, "<p>Shop.</p>")
	}
	for name, tt := range map[string]struct {
		change func(*site.Config)
		path   string
		most   int64
	}{
		"nothing is known": {func(c *site.Config) { c.LastEvent = nil }, articlePath, 7},
		"all lists are":    {func(c *site.Config) { c.CacheSize = 1 }, articlePath, 1},
		"all words are":    {func(c *site.Config) { c.CacheSize = 1 }, kb.PagePath("en", kb.ArticlePages, common.Article.ID, "Print paper"), 1},
		"all related are":  {func(c *site.Config) { c.CacheSize = 1 }, kb.PagePath("en", kb.ArticlePages, near.Article.ID, "Change the toner"), 1},
		"the page is kept": {func(*site.Config) {}, articlePath, 0},
	} {
		h := w.handler(tt.change)
		for range 2 {
			w.ask(h, "GET", "https://help.example.org"+tt.path, nil)
		}
		before := count.n.Load()
		if rec := w.ask(h, "GET", "https://help.example.org"+tt.path, nil); rec.Code != 200 {
			t.Fatal(rec.Code)
		} else if name == "all related are" && !strings.Contains(rec.Body.String(), "Return toner") {
			t.Errorf("%s: %s", name, rec.Body)
		}
		if got := count.n.Load() - before; got > tt.most {
			t.Errorf("%s: %d statements, at most %d are expected", name, got, tt.most)
		}
	}
}
