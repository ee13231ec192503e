package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
)

// queries counts statements.
type queries struct {
	mu   sync.Mutex
	seen []string
}

// BeforeQuery implements bun.QueryHook.
func (*queries) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

// AfterQuery implements bun.QueryHook.
func (q *queries) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = append(q.seen, e.Query)
}

func (q *queries) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := q.seen
	q.seen = nil
	return seen
}

// The number of queries of the desk's pages does not depend on the number of rows, nor on the length of a conversation. A
// member who has just seen another page causes fewer.
func TestDeskQueries(t *testing.T) {
	t.Parallel()
	pool, err := sqlite.Pool("file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	app := bun.NewDB(pool, sqlitedialect.New())
	t.Cleanup(func() { _ = app.Close() })
	seen := &queries{}
	store := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cfg := config()
	cfg.Store, cfg.RateLimit, cfg.Now = store, -1, func() time.Time { return now }
	m := newServer(t, cfg)
	begun, err := m.Service().SignIn().StartSession(t.Context(), m.Service().As(m.owner.ID), "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) int {
		t.Helper()
		seen.take()
		req := httptest.NewRequest(http.MethodGet, "/desk/a/1"+path, nil)
		req.Header.Set("Cookie", "helpwright_session="+begun.Secret)
		rec := httptest.NewRecorder()
		m.Handler().ServeHTTP(rec, req)
		if rec.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, rec.Code)
		}
		return len(seen.take())
	}
	// The minimum of several tries: now and then the member's activity is recorded as well.
	least := func(path string, later time.Duration) int {
		t.Helper()
		ask(path)
		best := 1000
		for range 3 {
			now = now.Add(later)
			best = min(best, ask(path))
		}
		return best
	}
	paths := []string{"/inbox/all", "/inbox/closed", "/inbox/all?sort=newest", "/search?q=door", "/c/1", "/customers", "/notifications"}
	var few []int
	for rows, more := range []int{5, 45} {
		for n := range more {
			talk(t, m, fmt.Sprintf("c%d-%d@example.com", rows, n))
		}
		for i, path := range paths {
			got := least(path, 31*time.Second) // nothing is kept so long
			again := least(path, 0)
			if rows == 0 {
				few = append(few, got)
			} else if got > few[i] {
				t.Errorf("%s takes %d queries for many rows, %d for few", path, got, few[i])
			}
			if again > got-8 {
				t.Errorf("%s takes %d queries, and %d when most is known", path, got, again)
			}
			t.Logf("%s: %d queries, %d when most is known", path, got, again)
		}
	}
}

// talk is a conversation with an assignee, a tag and an answer; the first one grows.
func talk(t *testing.T, m *made, from string) {
	t.Helper()
	ctx := t.Context()
	c, err := m.desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: from, Subject: "The door", UserID: storage.Some(m.owner.ID),
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "It is stuck."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := m.desk.Tags().Create(ctx, helpdesk.TagInput{Name: fmt.Sprint("tag ", c.ID)})
	if err == nil {
		_, err = m.desk.Conversations().AddTags(ctx, c.ID, []int64{tag.ID})
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds := []helpdesk.InteractionType{helpdesk.TypeCustomer, helpdesk.TypeUser, helpdesk.TypeNote}
	if _, err := m.desk.Interactions().Create(ctx, 1, helpdesk.InteractionInput{Type: kinds[c.ID%3], Body: "Pull."}); err != nil {
		t.Fatal(err)
	}
}
