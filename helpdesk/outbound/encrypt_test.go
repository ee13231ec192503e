package outbound_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
)

// withPGP switches encryption on. Keys are made by other programs while the test runs, so the clock is a little ahead of the
// real one.
func (w *world) withPGP() {
	w.now = time.Now().UTC().Truncate(time.Second).Add(time.Hour)
	w.configure(func(cfg *helpdesk.Config) {
		cfg.ParseKey = func(content []byte, now time.Time) (helpdesk.PublicKey, error) {
			k, err := pgp.Parse(content, now)
			return helpdesk.PublicKey{UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, ExpiresAt: k.ExpiresAt, Content: k.Packets}, err
		}
	})
}

func (w *world) key(email string, content []byte) {
	w.t.Helper()
	ctx := context.Background()
	c := must[helpdesk.Customer](w.t)(w.desk.Customers().Create(ctx, helpdesk.CustomerInput{
		FirstName: storage.Some("X"), Emails: storage.Some([]helpdesk.Item{{Value: email}}),
	}))
	must[helpdesk.AddressedKey](w.t)(w.desk.PGPKeys().Create(ctx, c.ID, helpdesk.PGPKeyInput{
		CustomerEmailID: c.Emails[0].ID, Content: base64.StdEncoding.EncodeToString(content),
	}))
}

// ciphertext is the OpenPGP message of a mail, and checks the frame around it (RFC 3156 section 4).
func ciphertext(t testing.TB, raw string) []byte {
	t.Helper()
	m := parse(t, raw)
	if m.Subject != "..." {
		t.Errorf("the subject outside is %q", m.Subject)
	}
	if kind := m.Header.Get("Content-Type"); !strings.HasPrefix(kind, `multipart/encrypted; protocol="application/pgp-encrypted";`) {
		t.Errorf("the mail is %s", kind)
	}
	if len(m.Attachments) != 2 || m.Text+m.HTML != "" {
		t.Fatalf("the mail has %d parts", len(m.Attachments))
	}
	version, message := m.Attachments[0], m.Attachments[1]
	if version.ContentType != "application/pgp-encrypted" || strings.TrimSpace(string(version.Body)) != "Version: 1" ||
		message.ContentType != "application/octet-stream" || message.Filename != "encrypted.asc" {
		t.Errorf("%s %q, %s %s", version.ContentType, version.Body, message.ContentType, message.Filename)
	}
	return message.Body
}

// Text, subject and files are encrypted for all recipients, and real programs decrypt them to the byte.
func TestEncryptedAnswer(t *testing.T) {
	t.Parallel()
	gnupg := testenv.NewGnuPG(t)
	secret := filepath.Join(t.TempDir(), "secret")
	sequoia := testenv.SQOP(t, nil, "generate-key", "Cc <cc@example.com>")
	if err := os.WriteFile(secret, sequoia, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.withPGP()
	w.key("carl@example.com", gnupg.NewKey("Carl <carl@example.com>", "future-default"))
	w.key("cc@example.com", testenv.SQOP(t, sequoia, "extract-cert"))
	w.key("hidden@example.com", gnupg.NewKey("Hidden <hidden@example.com>", "future-default"))
	w.subject = "Größe 3 für „Ünï“ – 日本語"
	i := w.answer(helpdesk.InteractionInput{
		Body: "<p>Straße &amp; <b>more</b></p>", To: []string{"carl@example.com"}, Cc: []string{"cc@example.com"}, Bcc: []string{"hidden@example.com"},
	})
	content := strings.Repeat("line\r\n.\r\nFrom x\n\x00\xff", 200_000) // more than is kept in memory
	w.attach(i, "Übersicht.pdf", "%PDF-1.4"+content, false)
	transport, dir := &taken{}, t.TempDir()
	sender := must[*outbound.Sender](t)(outbound.New(outbound.Config{Outgoing: w.svc.Outgoing(), Transport: transport, Now: w.clock, TempDir: dir}))
	if err := w.handle(sender); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"carl@example.com", "cc@example.com"}, {"hidden@example.com"}}, transport.to); diff != "" {
		t.Fatal(diff)
	}
	visible, hidden := ciphertext(t, transport.mails[0]), ciphertext(t, transport.mails[1])
	read := [][]byte{gnupg.Run(visible, "--decrypt"), testenv.SQOP(t, visible, "decrypt", secret), gnupg.Run(hidden, "--decrypt")}
	for n, plain := range read {
		if string(plain) != string(read[0]) {
			t.Errorf("reader %d reads something else", n)
		}
	}
	inner := parse(t, string(read[0]))
	if inner.Subject != w.subject || inner.Text != "Straße & more\n" || !strings.Contains(inner.HTML, "<b>more</b>") {
		t.Errorf("subject %q, text %q, HTML %q", inner.Subject, inner.Text, inner.HTML)
	}
	if kind := inner.Header.Get("Content-Type"); !strings.HasPrefix(kind, "multipart/mixed;") || !strings.Contains(kind, `protected-headers="v1"`) {
		t.Errorf("inside it is %s", kind)
	}
	if len(inner.Attachments) != 1 || inner.Attachments[0].Filename != "Übersicht.pdf" || string(inner.Attachments[0].Body) != "%PDF-1.4"+content {
		t.Error("the file is another")
	}
	for n, raw := range transport.mails {
		m := parse(t, raw)
		if m.MessageID != i.MessageID || inner.MessageID != i.MessageID || strings.Contains(raw, "Ünï") || strings.Contains(raw, "hidden") {
			t.Errorf("mail %d: id %q\n%.900s", n, m.MessageID, raw)
		}
		if diff := cmp.Diff([]string{"carl@example.com", "cc@example.com"}, emails(append(m.To, m.Cc...))); diff != "" {
			t.Error(diff)
		}
	}
	for _, d := range w.deliveries(i) {
		if d.State != sent {
			t.Errorf("%+v", d)
		}
	}
	// The keys of one mail do not reveal hidden recipients.
	if listed, _ := gnupg.Try(visible, "--list-packets"); strings.Count(string(listed), ":pubkey enc packet:") != 2 {
		t.Errorf("%s", listed)
	}
	if left := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*"))); len(left) > 0 {
		t.Errorf("files stay behind: %q", left)
	}
}

func emails(list []mailaddr.Address) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Email)
	}
	return out
}

// Copies are independent: a sent one is reported even if the next one cannot be tried, and only waiting recipients are tried
// again, with the same Message-ID.
func TestEncryptedAgain(t *testing.T) {
	t.Parallel()
	ada := must[[]byte](t)(os.ReadFile("../pgp/testdata/ada.asc"))
	w := newWorld(t)
	w.withPGP()
	w.key("ada@example.com", ada)
	i := w.answer(helpdesk.InteractionInput{Body: "Secret", To: []string{"ada@example.com"}})
	transport := &taken{results: func([]string) ([]outbound.Result, error) {
		return []outbound.Result{{State: deferred, Code: 450}}, nil
	}}
	if err := w.handle(w.sender(transport)); !waits(err) {
		t.Fatal(err)
	}
	w.advance(time.Hour)
	transport.results = nil
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	first, second := parse(t, transport.mails[0]), parse(t, transport.mails[1])
	if first.MessageID != i.MessageID || second.MessageID != i.MessageID || !first.Date.Equal(second.Date) {
		t.Errorf("%q and %q", first.MessageID, second.MessageID)
	}
	for _, raw := range transport.mails {
		if ciphertext(t, raw); strings.Contains(raw, "Secret") {
			t.Error("it left unencrypted")
		}
	}
}

// A hidden copy that is interrupted does not let the visible one leave again.
func TestEncryptedInterrupted(t *testing.T) {
	t.Parallel()
	gnupg := testenv.NewGnuPG(t)
	w := newWorld(t)
	w.withPGP()
	w.key("carl@example.com", gnupg.NewKey("carl@example.com", "future-default"))
	w.key("bob@example.com", gnupg.NewKey("bob@example.com", "future-default"))
	i := w.answer(helpdesk.InteractionInput{Body: "x", To: []string{"carl@example.com"}, Bcc: []string{"bob@example.com"}})
	w.attach(i, "a.txt", "text", false)
	away := errors.New("away")
	transport := &taken{}
	transport.results = func(to []string) ([]outbound.Result, error) {
		w.blobs.err = away // before the hidden copy is composed
		return []outbound.Result{{State: sent, Code: 250}}, nil
	}
	if err := w.handle(w.sender(transport)); !errors.Is(err, away) {
		t.Fatal(err)
	}
	w.blobs.err, transport.results = nil, nil
	w.advance(time.Hour)
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"carl@example.com"}, {"bob@example.com"}}, transport.to); diff != "" {
		t.Error(diff)
	}
}

// The spool keeps the copies apart.
func TestSpooledCopies(t *testing.T) {
	t.Parallel()
	ada := must[[]byte](t)(os.ReadFile("../pgp/testdata/ada.asc"))
	w, dir := newWorld(t), t.TempDir()
	w.withPGP()
	w.key("ada@example.com", ada)
	w.answer(helpdesk.InteractionInput{Body: "x", To: []string{"ada@example.com"}, Bcc: []string{"bob@example.com"}})
	spool := must[*outbound.Spool](t)(outbound.NewSpool(dir))
	defer spool.Close()
	if err := w.handle(w.sender(spool)); err != nil {
		t.Fatal(err)
	}
	if files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*"))); len(files) != 0 {
		t.Errorf("%q left, though Bob has no key", files)
	}
	for range 2 { // Ada in sight and, in another mail, hidden
		m := must[*outbound.Mail](t)(outbound.NewMail("1@example.org", w.clock(), strings.NewReader("Subject: x\r\n\r\n")))
		must[[]outbound.Result](t)(spool.Send(context.Background(), "a@example.org", []string{"b@example.org"}, m))
		m.Variant = "c@example.org"
		must[[]outbound.Result](t)(spool.Send(context.Background(), "a@example.org", []string{"c@example.org"}, m))
	}
	if files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*"))); len(files) != 2 {
		t.Errorf("files %q", files)
	}
}
