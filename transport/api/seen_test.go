package api_test

import (
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// An answer is seen once its pixel is requested, once, and only if the account enables it.
func TestSeenByPixel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	d := w.desk(t)
	box, err := d.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{})
	if err != nil {
		t.Fatal(err)
	}
	at := w.file(t, box.ID, ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: "ada@example.com"}}, Text: "Help"}})
	conversation, _, _ := cutLast(at, "/")
	token := func(body string) (string, int64) {
		answer := w.shown(t, "POST", conversation, body)
		out, err := w.svc.Outgoing().Begin(t.Context(), w.account.ID, answer.ID, 1)
		if err != nil {
			t.Fatal(err)
		}
		return out.SeenToken, answer.ID
	}
	if got, _ := token(`{"type": "user", "body": "a"}`); got != "" {
		t.Errorf("a token without being asked: %s", got)
	}
	w.must(t, "PUT", "/accounts/1", "name=Acme&track_seen=1", "Content-Type", "application/x-www-form-urlencoded")
	for _, none := range []string{`{"type": "user", "body": "b", "cc": ["x@example.com"]}`, `{"type": "user", "body": "c", "to": ["ada@example.com"], "is_forward": true}`} {
		if got, _ := token(none); got != "" {
			t.Errorf("a token for %s", none)
		}
	}
	pixel, id := token(`{"type": "user", "body": "d"}`)
	if pixel == "" {
		t.Fatal("no token")
	}
	seen := func() bool {
		if err := w.svc.FlushMarks(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := d.Interactions().Get(t.Context(), 1, id)
		if err != nil {
			t.Fatal(err)
		}
		return !page.SeenAt.IsZero()
	}
	unknown := w.do(t, "", "GET", "/seen/x", "")
	w.do(t, "", "HEAD", "/seen/"+pixel, "")
	w.do(t, "", "GET", "/seen/"+pixel[1:]+"a", "")
	if seen() {
		t.Error("seen without its pixel")
	}
	known := w.do(t, "", "GET", "/seen/"+pixel, "")
	if !seen() || known.Body.String() != unknown.Body.String() || known.Code != unknown.Code || known.Header().Get("Set-Cookie") != "" ||
		known.Header().Get("Cache-Control") != "no-store" || known.Header().Get("Content-Type") != "image/gif" {
		t.Errorf("seen %t, %d %v", seen(), known.Code, known.Header())
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	for i := len(s) - len(sep); i >= 0; i-- {
		if s[i:i+len(sep)] == sep {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}
