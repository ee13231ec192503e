package api_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

// conditional are the operations that support If-Match: PUT first, then DELETE, objects with dependents last.
func (w *world) conditional() (changes, removals []transport.Route) {
	objects := map[string]bool{}
	for _, r := range w.table.Routes() {
		if r.Method == http.MethodGet && r.Shape == transport.Object && !r.Bare {
			objects[r.Path] = true
		}
	}
	for _, r := range w.table.Routes() {
		switch {
		case !objects[r.Path]:
		case r.Method == http.MethodPut, r.Method == http.MethodPatch:
			changes = append(changes, r)
		case r.Method == http.MethodDelete:
			removals = append(removals, r)
		}
	}
	last := []string{"deleteArticle", "deleteCategory", "deleteCollection", "deleteTheme", "deleteSite", "deleteCustomer", "deleteMailbox", "deleteMembership", "deleteAccount"}
	slices.SortStableFunc(removals, func(a, b transport.Route) int {
		return cmp.Or(cmp.Compare(slices.Index(last, a.ID), slices.Index(last, b.ID)), -cmp.Compare(len(a.Path), len(b.Path)))
	})
	return changes, removals
}

// variant sends the operation's request with another value than the rest.
func (w *world) variant(t testing.TB, r transport.Route, ids map[string]string, n int, tag string) *httptest.ResponseRecorder {
	t.Helper()
	path, body, kind := w.wants(t, r, ids)
	body = strings.ReplaceAll(body, "=X", "=X"+strconv.Itoa(n))
	if r.Method == http.MethodDelete {
		path += "?force=1"
	}
	if r.ID == "updateNotificationSettings" { // its words are given
		body, kind = []string{"assigned[]=desk", "assigned[]=browser", "assigned[]=mail", "assigned[]=desk&assigned[]=mail"}[n%4], "application/x-www-form-urlencoded"
	}
	req := httptest.NewRequest(r.Method, "/api/v1"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
	if tag != "" {
		req.Header.Set("If-Match", tag)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, req)
	return rec
}

// tagOf is the ETag that a GET of the object has now.
func (w *world) tagOf(t testing.TB, r transport.Route, ids map[string]string) string {
	t.Helper()
	path, _, _ := w.wants(t, r, ids)
	return w.must(t, "GET", path, "").Header().Get("ETag")
}

// atOnce sends requests at the same moment.
func atOnce(send ...func() *httptest.ResponseRecorder) []*httptest.ResponseRecorder {
	var group sync.WaitGroup
	start, answers := make(chan struct{}), make([]*httptest.ResponseRecorder, len(send))
	for i, f := range send {
		group.Go(func() {
			<-start
			answers[i] = f()
		})
	}
	close(start)
	group.Wait()
	return answers
}

// If many change or delete one object at the same moment with the same ETag, exactly one succeeds, for every operation with
// If-Match.
func TestIfMatchAtOnce(t *testing.T) {
	t.Parallel()
	const many = 4
	// Exceptions in the test's world: the owner's own membership and objects in use cannot be deleted; after deleting its own
	// token, a client is unauthenticated.
	// An import is locked while it is deleted.
	refused := map[string]int{"deleteMembership": 409, "deleteTheme": 409, "deleteRole": 409, "deleteCustomerImport": 409}
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w, ids := conditionalWorld(t, b.open(t))
			changes, removals := w.conditional()
			for _, r := range append(changes, removals...) {
				tag := w.tagOf(t, r, ids)
				var send []func() *httptest.ResponseRecorder
				for n := range many {
					send = append(send, func() *httptest.ResponseRecorder { return w.variant(t, r, ids, n, tag) })
				}
				codes := map[int]int{}
				for _, rec := range atOnce(send...) {
					codes[rec.Code]++
					if rec.Code >= 400 && rec.Code != 412 && rec.Code != refused[r.ID] && (rec.Code != 404 || r.Method != http.MethodDelete) {
						t.Errorf("%s: %d %s", r.ID, rec.Code, rec.Body)
					}
				}
				switch done := codes[200] + codes[204]; {
				case done == 0 && codes[refused[r.ID]] > 0:
				case done != 1:
					t.Errorf("%s: %d of %d succeeded: %v", r.ID, done, many, codes)
				}
			}
			if len(changes) < 15 || len(removals) < 15 {
				t.Errorf("only %d changes and %d removals were tried", len(changes), len(removals))
			}
		})
	}
}

// A change with an ETag never overwrites a concurrent change without one, for every operation with If-Match.
func TestIfMatchWithConcurrentChanges(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w, ids := conditionalWorld(t, b.open(t))
			changes, _ := w.conditional()
			for _, r := range changes {
				for round := range 4 {
					tag := w.tagOf(t, r, ids)
					answers := atOnce(
						func() *httptest.ResponseRecorder { return w.variant(t, r, ids, 10+2*round, tag) },
						func() *httptest.ResponseRecorder { return w.variant(t, r, ids, 11+2*round, "") },
					)
					careful, careless := answers[0], answers[1]
					if careless.Code != 200 || careful.Code != 200 && careful.Code != 412 {
						t.Errorf("%s: %d %s, %d %s", r.ID, careful.Code, careful.Body, careless.Code, careless.Body)
					}
					if now := w.tagOf(t, r, ids); now != careless.Header().Get("ETag") && careless.Header().Get("ETag") != "" {
						t.Errorf("%s: what came in between was overwritten (%d)", r.ID, careful.Code)
					}
				}
			}
		})
	}
}

// conditionalWorld is a settled world whose requests may be united, and whose clock goes on.
func conditionalWorld(t *testing.T, store helpdesk.Store) (*world, map[string]string) {
	t.Helper()
	w := newWorld(t, store)
	ids := settled(t, w)
	w.serve(t, api.Config{Config: transport.Config{Units: store.(storage.Units)}})
	w.clock.step = time.Microsecond
	return w, ids
}
