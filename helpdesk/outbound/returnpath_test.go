package outbound_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// tagging makes the mailbox one that takes tagged addresses.
func (w *world) tagging() {
	w.t.Helper()
	must[helpdesk.Mailbox](w.t)(w.desk.Mailboxes().Update(context.Background(), w.box.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplySubaddress)}))
}

// Every recipient gets the same mail from an address of their own, the hidden ones too.
func TestEnvelopesNameTheirRecipients(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	w.tagging()
	i := w.answer(helpdesk.InteractionInput{Body: "x", To: []string{"a@example.com"}, Cc: []string{"b@example.com"}, Bcc: []string{"c@example.com"}})
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a@example.com"}, {"b@example.com"}, {"c@example.com"}}, transport.to); diff != "" {
		t.Fatal(diff)
	}
	seen := map[string]bool{}
	for n, from := range transport.from {
		if !strings.HasPrefix(from, "support+b-") || !strings.HasSuffix(from, "@example.org") || seen[from] || transport.mails[n] != transport.mails[0] {
			t.Errorf("%d is from %s", n, from)
		}
		seen[from] = true
	}
	if strings.Contains(transport.mails[0], "+b-") || strings.Contains(transport.mails[0], "c@example.com") {
		t.Errorf("the mail tells of its envelopes:\n%s", transport.mails[0])
	}
	for _, d := range w.deliveries(i) {
		if d.State != sent {
			t.Errorf("%+v", d)
		}
	}
}

// A relay that refuses the sender's address gets the mail from the plain one, at whatever step and with whatever text it
// refuses; its replies about the recipient are final.
func TestRelaysThatRefuseTheReturnPath(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verb, answer string
		want         sending.State
		froms        int // envelopes
	}{
		"Postfix: not owned by user": {"RCPT", "553 5.7.1 <support+b-x@example.org>: Sender address rejected: not owned by user desk", sent, 2},
		"Exchange: SendAsDenied":     {".", "554 5.2.252 SendAsDenied; desk@example.org not allowed to send as support+b-x@example.org", sent, 2},
		"Exchange: no permission":    {".", "550 5.7.60 SMTP; Client does not have permissions to send as this sender", sent, 2},
		"at MAIL, without a code":    {"MAIL", "550 Sender is not yours", sent, 2},
		"it looks for the sender":    {"RCPT", "450 4.1.7 <support+b-x@example.org>: Sender address rejected: unverified address", sent, 2},
		"bad sender":                 {"MAIL", "501 5.1.7 Bad sender address syntax", sent, 2},
		"nobody is there":            {"RCPT", "550 5.1.1 User unknown", failed, 1},
		"full":                       {"RCPT", "452 4.2.2 Mailbox full", deferred, 1},
		"not just now":               {"MAIL", "451 4.3.0 Try again later", deferred, 1},
		"it wants neither":           {"any", "550 5.7.1 Go away", failed, 2},
		"it wants us to sign in":     {"any", "530 5.7.0 Authentication required", deferred, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tagged := false
			s := (&sink{answer: func(line string) string {
				if strings.HasPrefix(line, "MAIL FROM") {
					tagged = strings.Contains(line, "+b-")
				}
				verb, _, _ := strings.Cut(line, " ")
				if test.verb == "any" && verb == "MAIL" || tagged && verb == test.verb {
					return test.answer
				}
				return ""
			}}).start(t)
			w := newWorld(t)
			w.tagging()
			i := w.answer(helpdesk.InteractionInput{Body: "x"})
			if err := w.handle(w.sender(s.relay(t))); err != nil && !waits(err) {
				t.Fatal(err)
			}
			if d := w.deliveries(i)[0]; d.State != test.want {
				t.Errorf("the delivery is %+v", d)
			}
			commands, _, _ := s.seen()
			froms := 0
			for _, c := range commands {
				if strings.HasPrefix(c, "MAIL FROM") {
					froms++
				}
			}
			if froms != test.froms {
				t.Errorf("%d envelopes: %q", froms, commands)
			}
		})
	}
}

// If the relay disappears in between, delivered recipients stay delivered, and the others wait without being tried one by
// one.
func TestRelayGoesAwayBetweenEnvelopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tagging()
	i := w.answer(helpdesk.InteractionInput{Body: "x", To: []string{"a@example.com"}, Cc: []string{"b@example.com", "c@example.com"}})
	transport := &taken{}
	transport.results = func(to []string) ([]outbound.Result, error) {
		if to[0] != "a@example.com" {
			return nil, errors.New("the relay is away")
		}
		return []outbound.Result{{State: sent, Code: 250}}, nil
	}
	if err := w.handle(w.sender(transport)); !waits(err) {
		t.Fatal(err)
	}
	var got []sending.State
	for _, d := range w.deliveries(i) {
		got = append(got, d.State)
	}
	if diff := cmp.Diff([]sending.State{sent, deferred, deferred}, got); diff != "" || len(transport.to) != 2 {
		t.Errorf("%s after %q", diff, transport.to)
	}
}

// The spool keeps a file of every envelope.
func TestSpooledEnvelopes(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), filepath.Join(t.TempDir(), "spool")
	w.tagging()
	spool := must[*outbound.Spool](t)(outbound.NewSpool(dir))
	defer spool.Close()
	w.answer(helpdesk.InteractionInput{Body: "x", To: []string{"a@example.com"}, Cc: []string{"b@example.com"}})
	if err := w.handle(w.sender(spool)); err != nil {
		t.Fatal(err)
	}
	files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*")))
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	for _, file := range files {
		if raw := string(must[[]byte](t)(os.ReadFile(file))); !strings.HasPrefix(raw, "X-Envelope-From: support+b-") {
			t.Errorf("it begins with %.100s", raw)
		}
	}
}
