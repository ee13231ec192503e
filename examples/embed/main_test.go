package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRollbackTakesTheConversationAlong(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), "file::memory:?_pragma=foreign_keys(1)", "", &out); err != nil {
		t.Fatal(err)
	}
	want := "a mail to ada@example.com\n" +
		"the second order: out of stock\n" +
		"conversation 1: Thank you for ordering a door.\n" +
		"orders: 1\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The program's pages and the help desk's share an address, and the program identifies the user.
func TestRoutes(t *testing.T) {
	t.Parallel()
	s, err := open(t.Context(), "file::memory:?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	for _, c := range []struct {
		path, user string
		status     int
	}{
		{"/", "", http.StatusOK},
		{"/help/api/v1/accounts/1/conversations", "1", http.StatusOK},
		{"/help/api/v1/accounts/1/conversations", "", http.StatusUnauthorized},
		{"/help/api/v1/accounts/1/conversations", "7", http.StatusNotFound},
		{"/api/v1/accounts/1/conversations", "1", http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("X-Shop-User", c.user)
		w := httptest.NewRecorder()
		s.routes().ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s as %q: %d, want %d", c.path, c.user, w.Code, c.status)
		}
	}
}
