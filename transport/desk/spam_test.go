package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Spam leaves every list but its own, and comes back by undo.
func TestSpam(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	lists := []string{"/inbox/all", "/inbox/unassigned", "/inbox/closed", "/inbox/all?status=all", "/inbox/mailbox-1?status=all", "/search?q=door", "/customers/1"}
	for name, c := range map[string]struct {
		path string
		form url.Values
	}{
		"in the conversation": {"/c/1/spam", url.Values{"act": {"spam"}}},
		"from the list":       {"/bulk", url.Values{"id": {"1"}, "act": {"spam"}}},
	} {
		next := b.goOn(b.post(c.path, c.form))
		if !strings.Contains(next, "1 conversation marked as spam") {
			t.Errorf("%s: nothing says so", name)
		}
		for _, path := range lists {
			if page := b.get(path).body; strings.Contains(page, `>The door<`) {
				t.Errorf("%s: it is in %s", name, path)
			}
		}
		if page := b.get("/inbox/spam").body; !strings.Contains(page, ">The door<") || !strings.Contains(page, `value="notspam"`) {
			t.Errorf("%s: it is not among spam", name)
		}
		if page := b.get("/c/1").body; !strings.Contains(page, "This is marked as spam, so it stays closed") || !strings.Contains(page, "marked this as spam") || strings.Contains(page, "closed this") {
			t.Errorf("%s: the conversation does not say it", name)
		}
		b.goOn(b.post("/undo", url.Values{"undo": {value(next, "undo")}}))
		if page := b.get("/inbox/all").body; !strings.Contains(page, ">The door<") {
			t.Errorf("%s: undone, it is not in the inbox", name)
		}
	}
	b.goOn(b.post("/c/1/spam", url.Values{"act": {"spam"}}))
	b.goOn(b.post("/bulk", url.Values{"id": {"1"}, "act": {"notspam"}}))
	if page := b.get("/inbox/all").body; !strings.Contains(page, ">The door<") {
		t.Error("no spam, it is not in the inbox")
	}
}

// Senders are blocked with spam and in the settings, and unblocked in both.
func TestBlockedSenders(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	b.goOn(b.post("/c/1/spam", url.Values{"act": {"block"}}))
	if page := b.get("/c/1").body; !strings.Contains(page, "Blocked sender: ada@example.com") || !strings.Contains(page, "/settings/blocked/1/delete") {
		t.Error("spam does not say that its sender is blocked")
	}
	if page := b.get("/settings/blocked").body; !strings.Contains(page, "ada@example.com") {
		t.Error("the settings do not list it")
	}
	if next := b.goOn(b.post("/settings/blocked/1/delete", url.Values{"back": {"/desk/a/1/c/1"}})); !strings.Contains(next, "Unblocked") || !strings.Contains(next, "Block sender") {
		t.Error("it was not unblocked there")
	}
	if next := b.goOn(b.post("/c/1/spam", url.Values{"act": {"only-block"}})); !strings.Contains(next, "Blocked ada@example.com") {
		t.Error("it was not blocked again")
	}
	if next := b.goOn(b.post("/settings/blocked", url.Values{"sender": {"Spam.Example"}})); !strings.Contains(next, "Spam.Example") {
		t.Error("a domain was not blocked")
	}
	if next := b.goOn(b.post("/settings/blocked/3/delete", url.Values{})); strings.Contains(next, "Spam.Example</bdi>") {
		t.Error("a domain was not unblocked")
	}
	for _, wrong := range []string{"", "com", "<script>", "maja@example.org"} {
		answer := b.post("/settings/blocked", url.Values{"sender": {wrong}})
		if answer.status != http.StatusUnprocessableEntity || strings.Contains(answer.body, "<script>alert") {
			t.Errorf("%q: status %d", wrong, answer.status)
		}
	}
}
