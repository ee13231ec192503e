package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

// A request that comes again is not done again, over each backend.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			store := b.open(t)
			w := newWorld(t, store)
			w.serve(t, api.Config{Config: transport.Config{Idempotency: store.(storage.Idempotency)}})
			ids := settled(t, w)
			const form = "application/x-www-form-urlencoded"
			files := "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\r\n%s\r\n--%s--\r\n"
			customers := "/accounts/" + ids["account_id"] + "/customers"
			attachments := "/accounts/" + ids["account_id"] + "/conversations/" + ids["conversation_id"] +
				"/interactions/" + ids["interaction_id"] + "/attachments"
			send := func(who, key, path, body, kind string) *httptest.ResponseRecorder {
				return w.do(t, who, "POST", path, body, "Content-Type", kind, "Idempotency-Key", key)
			}
			for _, tt := range []struct{ key, path, body, kind, again, kindAgain, other string }{
				{"c1", customers, "first_name=Ida&company=X", form, "company=X&first_name=Ida", form, "first_name=Ina"},
				{"c2", customers, `{"first_name":"Ida","company":null}`, "application/json", `{ "company" : null, "first_name" : "Ida" }`, "application/json", `{"first_name":"Ida"}`},
				{"c3", customers, "first_name=", form, "first_name=", form, "first_name=Ina"}, // 422
				{`"quoted"`, attachments, fmt.Sprintf(files, "a", "X", "a"), "multipart/form-data; boundary=a",
					fmt.Sprintf(files, "bb", "X", "bb"), "multipart/form-data; boundary=bb", fmt.Sprintf(files, "bb", "Y", "bb")},
				{"c1", "/accounts", "name=Third", form, "name=Third", form, "name=Fourth"}, // the same key elsewhere
			} {
				first := send("owner", tt.key, tt.path, tt.body, tt.kind)
				again := send("owner", tt.key, tt.path, tt.again, tt.kindAgain)
				if again.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
					t.Fatalf("%s %s: %d %v %s", tt.key, tt.path, again.Code, again.Header(), again.Body)
				}
				for _, name := range []string{"Location", "Content-Type", "ETag", "Cache-Control", "Vary"} {
					if diff := cmp.Diff(first.Header().Get(name), again.Header().Get(name)); diff != "" {
						t.Errorf("%s: %s", name, diff)
					}
				}
				if again.Code != first.Code || again.Body.String() != first.Body.String() || again.Code >= 500 {
					t.Errorf("first %d %s, again %d %s", first.Code, first.Body, again.Code, again.Body)
				}
				other := send("owner", tt.key, tt.path, tt.other, tt.kindAgain)
				if other.Code != http.StatusConflict || problem(t, other).Code != "idempotency_key_reused" {
					t.Errorf("another body: %d %s", other.Code, other.Body)
				}
				if rec := send("owner", tt.key, tt.path+"?expand=x", tt.again, tt.kindAgain); rec.Code != http.StatusConflict {
					t.Errorf("another query: %d %s", rec.Code, rec.Body)
				}
				w.clock.advance(25 * time.Hour)
				if late := send("owner", tt.key, tt.path, tt.again, tt.kindAgain); late.Code != first.Code || late.Header().Get("Idempotency-Replayed") != "" {
					t.Errorf("after a day: %d %s", late.Code, late.Body)
				}
			}
			// Another caller's key is another key, and a stranger gets nothing of it.
			mine := send("owner", "shared", customers, "first_name=Ida", form)
			other := send("agent", "shared", customers, "first_name=Ida", form)
			if mine.Code != 201 || other.Code != 201 || mine.Header().Get("Location") == other.Header().Get("Location") {
				t.Errorf("%d %d: two callers share a key", mine.Code, other.Code)
			}
			if rec := send("stranger", "shared", customers, "first_name=Ida", form); rec.Code != http.StatusNotFound {
				t.Errorf("stranger: %d", rec.Code)
			}
			if rec := send("unknown", "shared", customers, "first_name=Ida", form); rec.Code != http.StatusUnauthorized {
				t.Errorf("unknown: %d", rec.Code)
			}
		})
	}
}

// If many clients send the same request at once, it is done once.
func TestIdempotencyAtOnce(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			store := b.open(t)
			w := newWorld(t, store)
			w.serve(t, api.Config{Config: transport.Config{Idempotency: store.(storage.Idempotency)}})
			path := "/accounts/" + strconv.FormatInt(w.account.ID, 10) + "/customers"
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					rec := w.do(t, "owner", "POST", path, "first_name=Ida", "Idempotency-Key", "k", "Content-Type", "application/x-www-form-urlencoded")
					if rec.Code != http.StatusCreated && problem(t, rec).Code != "idempotency_key_in_use" {
						t.Errorf("%d %s", rec.Code, rec.Body)
					}
				})
			}
			group.Wait()
			customers, err := w.desk(t).Customers().List(t.Context(), helpdesk.CustomerQuery{}, storage.PageRequest{})
			if err != nil || len(customers.Items) != 1 {
				t.Errorf("%d customers: %v", len(customers.Items), err)
			}
		})
	}
}

// work is an operation whose outcome the test decides.
type work struct {
	times int
	do    func(ctx context.Context) error
	out   answer
}

type answer struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
	set  bool
}

func (a answer) SetHeaders(h http.Header) {
	if a.set {
		h.Set("Set-Cookie", "session=secret")
	}
}

type workIn struct {
	Text string `json:"text"`
}

// workTable has the operation at POST /work and, for all the world, at POST /public.
func workTable(w *work, cfg transport.Config) http.Handler {
	t := transport.New(cfg)
	resolve := func(_ context.Context, r *transport.Request) (*work, error) {
		if r.Header("Authorization") == "" && !r.Operation().Public {
			return nil, fault.New(fault.Unauthenticated, "Who are you?")
		}
		return w, nil
	}
	do := func(ctx context.Context, w *work, _ workIn) (answer, error) {
		w.times++
		if w.do != nil {
			if err := w.do(ctx); err != nil {
				return answer{}, err
			}
		}
		w.out.ID = int64(w.times)
		return w.out, nil
	}
	transport.Handle(t, resolve, transport.Operation{ID: "work", Method: "POST", Path: "/work", Status: 201}, do)
	transport.Handle(t, resolve, transport.Operation{ID: "public", Method: "POST", Path: "/public", Public: true}, do)
	transport.Handle(t, resolve, transport.Operation{ID: "put", Method: "PUT", Path: "/work"}, do)
	transport.HandleEmpty(t, resolve, transport.Operation{ID: "empty", Method: "POST", Path: "/empty"},
		func(ctx context.Context, w *work, in workIn) error {
			_, err := do(ctx, w, in)
			return err
		})
	return t.Handler()
}

func TestIdempotencyOutcomes(t *testing.T) {
	t.Parallel()
	const lost = `"code":"idempotency_answer_lost"`
	for name, tt := range map[string]struct {
		method, path, key string
		do                func(ctx context.Context) error
		out               answer
		pause             time.Duration
		first, again      int // statuses
		body              string
		times             int
	}{
		"again":           {first: 201, again: 201, body: `"id":1`, times: 1},
		"empty":           {path: "/empty", first: 204, again: 204, times: 1},
		"public":          {path: "/public", first: 200, again: 200, body: `"id":1`, times: 1},
		"not for PUT":     {method: "PUT", first: 200, again: 200, body: `"id":2`, times: 2},
		"refused":         {do: func(context.Context) error { return fault.New(fault.Conflict, "No.") }, first: 409, again: 409, body: `"detail":"No."`, times: 1},
		"failed":          {do: func(context.Context) error { return errors.New("broken") }, first: 500, again: 500, times: 2},
		"away":            {do: func(context.Context) error { return fault.New(fault.Unavailable, "away") }, first: 503, again: 503, times: 2},
		"panic":           {do: func(context.Context) error { panic("on purpose") }, first: 500, again: 500, times: 2},
		"too many":        {do: func(context.Context) error { return fault.New(fault.RateLimited, "later") }, first: 429, again: 429, times: 2},
		"5 MiB":           {out: answer{Text: strings.Repeat("x", 5<<20)}, first: 201, again: 201, body: `"id":1`, times: 1},
		"too long":        {out: answer{Text: strings.Repeat("x", 6<<20)}, first: 201, again: 409, body: lost, times: 1},
		"cookie":          {out: answer{set: true}, first: 201, again: 409, body: lost, times: 1},
		"after a day":     {pause: 24 * time.Hour, first: 201, again: 201, body: `"id":2`, times: 2},
		"before a day":    {pause: 24*time.Hour - time.Second, first: 201, again: 201, body: `"id":1`, times: 1},
		"empty key":       {key: " ", first: 400, again: 400, body: `"code":"idempotency_key_malformed"`},
		"open quote":      {key: `"a`, first: 400, again: 400},
		"long key":        {key: strings.Repeat("k", 256), first: 400, again: 400},
		"foreign letters": {key: "schlüssel", first: 400, again: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{at: noon}
			w := &work{do: tt.do, out: tt.out}
			h := workTable(w, transport.Config{Now: c.now, Idempotency: memstore.New()})
			send := func() *httptest.ResponseRecorder {
				method, path, key := tt.method, tt.path, tt.key
				if method == "" {
					method = "POST"
				}
				if path == "" {
					path = "/work"
				}
				if key == "" {
					key = "k"
				}
				req := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader("text=x"))
				req.Header.Set("Idempotency-Key", key)
				if path != "/public" {
					req.Header.Set("Authorization", "Bearer good")
				}
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, req)
				return rec
			}
			first := send()
			c.advance(tt.pause)
			again := send()
			if first.Code != tt.first || again.Code != tt.again || w.times != tt.times || !strings.Contains(again.Body.String(), tt.body) {
				t.Errorf("first %d, again %d %.200s, done %d times", first.Code, again.Code, again.Body, w.times)
			}
		})
	}
}

// While a request is at work its key is in use; the work goes on when the client has left.
func TestIdempotencyInUse(t *testing.T) {
	t.Parallel()
	c := &clock{at: noon}
	w := &work{}
	h := workTable(w, transport.Config{Now: c.now, Idempotency: memstore.New()})
	ctx, leave := context.WithCancel(t.Context())
	send := func(ctx context.Context) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/work", nil)
		req.Header.Set("Idempotency-Key", "k")
		req.Header.Set("Authorization", "Bearer good")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec
	}
	w.do = func(ctx context.Context) error {
		w.do = nil
		leave()
		if rec := send(t.Context()); rec.Code != http.StatusConflict || problem(t, rec).Code != "idempotency_key_in_use" {
			t.Errorf("meanwhile: %d %s", rec.Code, rec.Body)
		}
		if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
			t.Errorf("the work ends with the client: %v", ctx.Err())
		}
		return nil
	}
	first, again := send(ctx), send(t.Context())
	if first.Code != 201 || again.Code != 201 || again.Body.String() != first.Body.String() || w.times != 1 {
		t.Errorf("%d, %d %s", first.Code, again.Code, again.Body)
	}
}

// cut is a store whose process dies at the commit: before it, or after it.
type cut struct {
	storage.Idempotency
	before, after bool
}

func (c *cut) Begin(ctx context.Context, first func(context.Context) error) (context.Context, storage.Unit) {
	ctx, unit := c.Idempotency.Begin(ctx, first)
	return ctx, cutUnit{unit, c}
}

type cutUnit struct {
	storage.Unit
	by *cut
}

func (u cutUnit) Commit(ctx context.Context, last func(context.Context) error) error {
	if u.by.before {
		panic(http.ErrAbortHandler)
	}
	err := u.Unit.Commit(ctx, last)
	if u.by.after {
		panic(http.ErrAbortHandler)
	}
	return err
}

// everything returns all that the owner can GET, as one text by route.
func (w *world) everything(t testing.TB, ids map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range w.table.Routes() {
		// An export is noted in the audit log.
		if r.Method != http.MethodGet || r.Shape == transport.Events || r.Bare || r.ID == "exportCustomer" || r.ID == "exportCustomers" {
			continue
		}
		req := w.request(t, "owner", r, ids)
		req.Header.Set("X-Request-Id", "the-same")
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, req)
		all[r.ID] = fmt.Sprint(rec.Code, " ", rec.Body)
	}
	return all
}

// Every POST whose process dies before its answer leaves is done once, over each backend: the retry is answered at once,
// whether it died before or after the commit.
func TestIdempotencyAfterACrash(t *testing.T) {
	t.Parallel()
	lost := []string{"login", "acceptInvitation"} // whose answers are not to be kept
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			store := b.open(t)
			w := newWorld(t, store)
			ids := settled(t, w)
			keys := store.(storage.Idempotency)
			dying := &cut{Idempotency: keys}
			w.serve(t, api.Config{Config: transport.Config{Idempotency: dying}})
			dead := w.handler
			w.serve(t, api.Config{Config: transport.Config{Idempotency: keys}}) // starts again
			groups := [][]transport.Route{nil}                                  // requests that remove an object come last, alone
			for _, r := range w.table.Routes() {
				switch {
				case r.Method != http.MethodPost || r.ID == "logout": // which ends the token in use
				case strings.Contains(r.ID, "merge"):
					groups = append(groups, []transport.Route{r})
				default:
					groups[0] = append(groups[0], r)
				}
			}
			send := func(h http.Handler, r transport.Route, key string) *httptest.ResponseRecorder {
				req := w.request(t, "owner", r, ids)
				req.Header.Set("Idempotency-Key", r.ID+" "+key)
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, req)
				return rec
			}
			crash := func(r transport.Route, key string) {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: the process did not die", r.ID)
					}
				}()
				send(dead, r, key)
			}
			for _, routes := range groups {
				start := w.everything(t, ids)
				dying.before = true
				for _, r := range routes {
					crash(r, "before")
				}
				dying.before = false
				if diff := cmp.Diff(start, w.everything(t, ids)); diff != "" {
					t.Errorf("something is left of what was not committed: %s", diff)
				}
				dying.after = true
				for _, r := range routes {
					crash(r, "after")
				}
				dying.after = false
				done := w.everything(t, ids)
				if len(routes) > 1 && cmp.Equal(start, done) {
					t.Error("nothing was done")
				}
				for _, r := range routes {
					again := send(w.handler, r, "after")
					switch {
					case slices.Contains(lost, r.ID) && again.Code == http.StatusConflict:
					case again.Header().Get("Idempotency-Replayed") != "true" || again.Code >= 500:
						t.Errorf("%s: the retry: %d %v %s", r.ID, again.Code, again.Header(), again.Body)
					case again.Code >= 300:
						t.Logf("%s: %d %s", r.ID, again.Code, again.Body)
					}
				}
				if diff := cmp.Diff(done, w.everything(t, ids)); diff != "" {
					t.Errorf("something was done again: %s", diff)
				}
			}
		})
	}
}

// seen is a store whose notes are seen.
type seen struct {
	storage.Idempotency
	answers []storage.Note
	sweeps  int
}

func (s *seen) Note(ctx context.Context, n storage.Note, now time.Time) error {
	if n.Answer != nil {
		s.answers = append(s.answers, n)
	}
	return s.Idempotency.Note(ctx, n, now)
}

func (s *seen) Sweep(ctx context.Context, now time.Time, n int) (int, error) {
	s.sweeps++
	return s.Idempotency.Sweep(ctx, now, n)
}

// Stored answers reveal neither the answer nor the key, and are swept once a minute.
func TestIdempotencyKeepsSecrets(t *testing.T) {
	t.Parallel()
	c := &clock{at: noon}
	store := &seen{Idempotency: memstore.New()}
	h := workTable(&work{out: answer{Text: "shown once"}}, transport.Config{Now: c.now, Idempotency: store})
	for i := range 5 {
		req := httptest.NewRequest("POST", "/api/v1/work", nil)
		req.Header.Set("Idempotency-Key", "key "+strconv.Itoa(i))
		req.Header.Set("Authorization", "Bearer good")
		h.ServeHTTP(httptest.NewRecorder(), req)
		c.advance(30 * time.Second)
	}
	if len(store.answers) != 5 || store.sweeps != 3 {
		t.Errorf("%d answers, %d sweeps", len(store.answers), store.sweeps)
	}
	for _, r := range store.answers {
		if text := fmt.Sprintf("%s%s%s", r.Key, r.Request, r.Answer); strings.Contains(text, "once") || strings.Contains(text, "key ") {
			t.Errorf("stored: %q", text)
		}
	}
}

// BenchmarkIdempotency is a POST with a key that is new each time, and with one that is known; the floor is the same POST
// without.
func BenchmarkIdempotency(b *testing.B) {
	for _, backend := range backends() {
		store, ok := backend.open(b).(storage.Idempotency)
		if !ok {
			b.Fatal("no Idempotency")
		}
		h := workTable(&work{}, transport.Config{Idempotency: store})
		for name, key := range map[string]func(i int) string{
			"Floor": func(int) string { return "" }, "New": func(i int) string { return backend.name + strconv.Itoa(i) },
			"Again": func(int) string { return "known" },
		} {
			b.Run(backend.name+"/"+name, func(b *testing.B) {
				start := time.Now().UnixNano() // the keys of each run are its own
				for i := 0; b.Loop(); i++ {
					req := httptest.NewRequest("POST", "/api/v1/work", strings.NewReader("text=x"))
					req.Header.Set("Authorization", "Bearer good")
					if k := key(i); k != "" {
						req.Header.Set("Idempotency-Key", k+strconv.FormatInt(start, 10))
					}
					rec := httptest.NewRecorder()
					h.ServeHTTP(rec, req)
					if rec.Code != http.StatusCreated {
						b.Fatalf("%d %s", rec.Code, rec.Body)
					}
				}
			})
		}
	}
}
