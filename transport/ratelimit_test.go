package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	c := &clock{at: noon}
	b := transport.NewBuckets(transport.BucketsConfig{Limit: 4, Window: time.Minute, Now: c.now})
	take := func(key string) string {
		q := b.Take(t.Context(), key)
		return fmt.Sprint(q.Remaining, " ", q.Reset, " ", q.Wait)
	}
	for _, step := range []struct {
		pause time.Duration
		key   string
		want  string
	}{
		{0, "a", "3 15s 0s"},
		{0, "a", "2 30s 0s"},
		{0, "a", "1 45s 0s"},
		{0, "a", "0 1m0s 0s"},
		{0, "a", "0 1m0s 15s"},
		{0, "b", "3 15s 0s"}, // others are not held up
		{5 * time.Second, "a", "0 55s 10s"},
		{10 * time.Second, "a", "0 1m0s 0s"},
		{0, "a", "0 1m0s 15s"},                // refused requests have cost nothing
		{40 * time.Second, "a", "1 35s 0s"},   // 40 s are two and a half requests
		{-10 * time.Second, "a", "0 50s 0s"},  // if the clock goes back, time stands still
		{10 * time.Minute, "a", "3 15s 0s"},   // no more than the limit comes together
		{90 * time.Second, "new", "3 15s 0s"}, // the turn of the window
		{0, "a", "3 15s 0s"},
	} {
		c.advance(step.pause)
		if diff := cmp.Diff(step.want, take(step.key)); diff != "" {
			t.Errorf("%v: %s", step, diff)
		}
	}
}

// However many keys are in use, memory is bounded, and active keys are not forgotten.
func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	b := transport.NewBuckets(transport.BucketsConfig{Limit: 10, Keys: 100, Now: func() time.Time { return noon }})
	through := 0
	for i := range 10000 {
		b.Take(t.Context(), strconv.Itoa(i))
		if i%20 == 0 && b.Take(t.Context(), "busy").Wait == 0 {
			through++
		}
	}
	if through != 10 {
		t.Errorf("%d requests passed", through)
	}
	if q := b.Take(t.Context(), "0"); q.Remaining != 9 {
		t.Errorf("the first of 10,000 is remembered: %+v", q)
	}
}

// signTable has operations of each kind of limit; the token is "good".
func signTable(cfg transport.Config) *transport.Table {
	t := transport.New(cfg)
	resolve := func(_ context.Context, r *transport.Request) (string, error) {
		if !r.Operation().Public && !strings.HasPrefix(r.Token(), "good") {
			return "", fault.New(fault.Unauthenticated, "Who are you?")
		}
		return r.ClientAddr().String(), nil
	}
	echo := func(_ context.Context, addr string, _ struct{}) (string, error) { return addr, nil }
	transport.Handle(t, resolve, transport.Operation{ID: "get", Method: "GET", Path: "/thing"}, echo)
	transport.Handle(t, resolve, transport.Operation{ID: "sign", Method: "POST", Path: "/sign", Public: true}, echo)
	transport.Handle(t, resolve, transport.Operation{ID: "look", Method: "GET", Path: "/sign", Public: true}, echo)
	return t
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	c := &clock{at: noon}
	h := signTable(transport.Config{
		Logger: discard, Now: c.now,
		Limiter:       transport.NewBuckets(transport.BucketsConfig{Limit: 3, Now: c.now}),
		PublicLimiter: transport.NewBuckets(transport.BucketsConfig{Policy: "public", Limit: 2, Now: c.now}),
	}).Handler()
	ask := func(method, path, token, addr string) string {
		req := httptest.NewRequest(method, "/api/v1"+path, nil)
		req.RemoteAddr = addr
		req.Header.Set("X-Forwarded-For", "203.0.113."+strconv.Itoa(len(method))) // without effect here
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		answer := fmt.Sprint(rec.Code, " ", rec.Header().Get("RateLimit-Policy"), " ", rec.Header().Get("RateLimit"))
		if rec.Code == http.StatusTooManyRequests {
			if !strings.Contains(rec.Body.String(), `"code":"rate_limited"`) {
				t.Error(rec.Body)
			}
			answer += " after " + rec.Header().Get("Retry-After")
		}
		return answer
	}
	const here, there = "192.0.2.1:1000", "192.0.2.2:1000"
	const policy, public = `"default";q=3;w=60 "default";`, `"public";q=2;w=60 "public";`
	for _, step := range []struct{ method, path, token, addr, want string }{
		{"GET", "/thing", "good", here, "200 " + policy + "r=2;t=20"},
		{"HEAD", "/thing", "good", there, "200 " + policy + "r=1;t=40"}, // the token counts, not the address
		{"GET", "/thing", "good", here, "200 " + policy + "r=0;t=60"},
		{"GET", "/thing", "good", here, "429 " + policy + "r=0;t=60 after 20"},
		// If the token is not verified, the address counts.
		{"GET", "/nothing", "good", here, "404 " + policy + "r=2;t=20"},
		{"POST", "/thing", "guess1", here, "405 " + policy + "r=1;t=40"},
		{"GET", "/sign", "guess2", here, "200 " + policy + "r=0;t=60"},
		{"GET", "/sign", "guess3", here, "429 " + policy + "r=0;t=60 after 20"},
		{"GET", "/nothing", "guess4", "192.0.2.1:2000", "429 " + policy + "r=0;t=60 after 20"},
		{"OPTIONS", "/thing", "good2", here, "429 " + policy + "r=0;t=60 after 20"},
		{"BREW", "/thing", "guess5", here, "429 " + policy + "r=0;t=60 after 20"},
		{"GET", "/thing", "", here, "429 " + policy + "r=0;t=60 after 20"},
		{"GET", "/thing", "good2", here, "200 " + policy + "r=2;t=20"}, // a good token still counts by itself
		// Unauthenticated writes count by address, whatever token is sent.
		{"POST", "/sign", "", here, "200 " + public + "r=1;t=30"},
		{"POST", "/sign", "guess1", here, "200 " + public + "r=0;t=60"},
		{"POST", "/sign", "guess2", here, "429 " + public + "r=0;t=60 after 30"},
		{"POST", "/sign", "", there, "200 " + public + "r=1;t=30"},
		// Clients that try many tokens are slowed down by address.
		{"GET", "/thing", "guess1", there, "401 " + policy + "r=2;t=20"},
		{"GET", "/thing", "guess2", there, "401 " + policy + "r=1;t=40"},
		{"GET", "/thing", "guess3", there, "401 " + policy + "r=0;t=60"},
		{"GET", "/thing", "guess4", there, "429 " + policy + "r=0;t=60 after 20"},
		{"GET", "/thing", "good2", there, "200 " + policy + "r=1;t=40"},
		// A network of IPv6 is one client.
		{"GET", "/sign", "", "[2001:db8::1]:1", "200 " + policy + "r=2;t=20"},
		{"GET", "/sign", "", "[2001:db8::ffff:1]:1", "200 " + policy + "r=1;t=40"},
		{"GET", "/sign", "", "[2001:db8:0:1::1]:1", "200 " + policy + "r=2;t=20"},
		{"GET", "/sign", "", "@", "200 " + policy + "r=2;t=20"},
	} {
		if diff := cmp.Diff(step.want, ask(step.method, step.path, step.token, step.addr)); diff != "" {
			t.Errorf("%v: %s", step, diff)
		}
	}
	c.advance(20 * time.Second)
	if diff := cmp.Diff("200 "+policy+"r=0;t=60", ask("GET", "/thing", "good", here)); diff != "" {
		t.Errorf("after Retry-After: %s", diff)
	}
}

func TestWithoutRateLimit(t *testing.T) {
	t.Parallel()
	rec := newAPI(t).do(t, "GET", one, "")
	if rec.Code != 200 || rec.Header().Get("RateLimit") != "" || rec.Header().Get("RateLimit-Policy") != "" {
		t.Error(rec.Code, rec.Header())
	}
}

func TestClientAddr(t *testing.T) {
	t.Parallel()
	h := signTable(transport.Config{Logger: discard, TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"),
	}}).Handler()
	for _, tt := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:1", nil, "192.0.2.1"},
		{"192.0.2.1:1", []string{"203.0.113.9"}, "192.0.2.1"}, // a stranger may claim anything
		{"10.1.2.3:1", nil, "10.1.2.3"},
		{"10.1.2.3:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"[::ffff:10.1.2.3]:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"198.51.100.7, 203.0.113.9"}, "203.0.113.9"}, // the client's own claim comes first
		{"10.1.2.3:1", []string{"198.51.100.7", "203.0.113.9,10.9.9.9"}, "203.0.113.9"},
		{"[2001:db8::1]:1", []string{"203.0.113.9, 2001:db8::2"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"10.0.0.1"}, "10.0.0.1"},
		{"10.1.2.3:1", []string{"203.0.113.9, nonsense"}, "10.1.2.3"},
		{"@", []string{"203.0.113.9"}, "invalid IP"},
	} {
		req := httptest.NewRequest("GET", "/api/v1/sign", nil)
		req.RemoteAddr = tt.peer
		for _, value := range tt.forwarded {
			req.Header.Add("X-Forwarded-For", value)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if want := `{"data":"` + tt.want + `"}`; rec.Body.String() != want {
			t.Errorf("%s %v: %s, want %s", tt.peer, tt.forwarded, rec.Body, want)
		}
	}
}

// BenchmarkBuckets is one request of one of many; the floor is the look-up alone.
func BenchmarkBuckets(b *testing.B) {
	keys := make([]string, 10000)
	floor := map[string]time.Time{}
	for i := range keys {
		keys[i] = "token " + strconv.Itoa(i)
		floor[keys[i]] = noon
	}
	b.Run("Take", func(b *testing.B) {
		buckets := transport.NewBuckets(transport.BucketsConfig{Limit: 1200})
		for i := 0; b.Loop(); i++ {
			buckets.Take(context.Background(), keys[i%len(keys)])
		}
	})
	b.Run("Floor", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			floor[keys[i%len(keys)]] = time.Now()
		}
	})
}

func ExampleNewBuckets() {
	limiter := transport.NewBuckets(transport.BucketsConfig{Limit: 2, Window: time.Minute, Now: func() time.Time { return noon }})
	for range 3 {
		q := limiter.Take(context.Background(), "somebody")
		fmt.Println(q.Remaining, q.Wait)
	}
	// Output:
	// 1 0s
	// 0 0s
	// 0 30s
}
