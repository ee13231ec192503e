package site_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

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
	for name, tt := range map[string]struct {
		change func(*site.Config)
		most   int64
	}{
		"nothing is known": {func(c *site.Config) { c.LastEvent = nil }, 6},
		"all lists are":    {func(c *site.Config) { c.CacheSize = 1 }, 3},
		"the page is kept": {func(*site.Config) {}, 0},
	} {
		h := w.handler(tt.change)
		for range 2 {
			w.ask(h, "GET", "https://help.example.org"+articlePath, nil)
		}
		before := count.n.Load()
		if rec := w.ask(h, "GET", "https://help.example.org"+articlePath, nil); rec.Code != 200 {
			t.Fatal(rec.Code)
		}
		if got := count.n.Load() - before; got > tt.most {
			t.Errorf("%s: %d statements, at most %d are expected", name, got, tt.most)
		}
	}
}
