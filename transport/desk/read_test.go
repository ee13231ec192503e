package desk_test

import (
	"net/http"
	"strings"
	"testing"
)

// Without scripts a member marks a conversation as read with a form: opening it changes nothing, as a browser may do that
// ahead of time.
func TestMarkAsRead(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	const form = `action="/desk/a/1/c/1/read"`
	for range 2 {
		if page := b.get("/c/1").body; !strings.Contains(page, form) {
			t.Fatal("an unread conversation has no form to mark it as read")
		}
	}
	b.goOn(b.do(http.MethodPost, "/desk/a/1/c/1/read", nil))
	if page := b.get("/c/1").body; strings.Contains(page, form) {
		t.Error("it is still unread")
	}
}
