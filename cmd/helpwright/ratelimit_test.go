package main

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The server uses the limits and the trusted proxies of its settings; requests with an Idempotency-Key are done once.
func TestServerLimitsAndRepeats(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_RATE_LIMIT=4", "HELPWRIGHT_TRUSTED_PROXIES=127.0.0.1, 10.0.0.0/8")
	client := http.Client{Timeout: 10 * time.Second}
	ask := func(method, token, forwarded, body string) *http.Response {
		req, err := http.NewRequest(method, "http://"+s.http+"/api/v1/accounts", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		req.Header.Set("X-Forwarded-For", forwarded)
		req.Header.Set("Idempotency-Key", "one")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp
	}
	var locations []string
	for range 2 {
		resp := ask("POST", s.token, "203.0.113.1", "name=Second")
		if resp.StatusCode != http.StatusCreated || resp.Header.Get("RateLimit-Policy") != `"default";q=4;w=60` {
			t.Fatalf("%d %v", resp.StatusCode, resp.Header)
		}
		locations = append(locations, resp.Header.Get("Location")+resp.Header.Get("Idempotency-Replayed"))
	}
	if locations[1] != locations[0]+"true" {
		t.Errorf("the same request twice: %q", locations)
	}
	var codes []int
	for _, from := range []string{"203.0.113.2", "203.0.113.2", "203.0.113.2", "203.0.113.2", "203.0.113.2", "203.0.113.3"} {
		codes = append(codes, ask("GET", "", from, "").StatusCode)
	}
	if diff := cmp.Diff([]int{401, 401, 401, 401, 429, 401}, codes); diff != "" {
		t.Error(diff)
	}
	codes = nil
	for range 3 {
		codes = append(codes, ask("GET", s.token, "203.0.113.2", "").StatusCode)
	}
	if diff := cmp.Diff([]int{200, 200, 429}, codes); diff != "" {
		t.Error(diff)
	}
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	s := Settings{TrustedProxies: []string{"127.0.0.1", " 10.0.0.0/8", "2001:db8::1"}}
	got, err := s.trustedProxies()
	want := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}
	if err != nil || !cmp.Equal(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := (&Settings{TrustedProxies: []string{"proxy.example"}}).trustedProxies(); err == nil {
		t.Error("a name is taken for an address")
	}
}
