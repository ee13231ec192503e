package outbound_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const png = "\x89PNG\r\n\x1a\n picture"

// The whole mail of a plain answer, with its hidden recipient in the envelope only.
func TestSpooledAnswer(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), filepath.Join(t.TempDir(), "spool")
	spool := must[*outbound.Spool](t)(outbound.NewSpool(dir))
	defer spool.Close()
	w.subject = "Your order"
	i := w.answer(helpdesk.InteractionInput{Body: "Thanks, solved", To: []string{"carl@example.com"}, Cc: []string{"cc@bücher.example"}, Bcc: []string{"hidden@example.net"}})
	if err := w.handle(w.sender(spool)); err != nil {
		t.Fatal(err)
	}
	files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*")))
	if len(files) != 1 || !strings.HasPrefix(filepath.Base(files[0]), "20260102T030405.000000Z-") || !strings.HasSuffix(files[0], ".eml") {
		t.Fatalf("files %q", files)
	}
	local := w.box.InternalLocal
	got := strings.ReplaceAll(string(must[[]byte](t)(os.ReadFile(files[0]))), local, "mb-local")
	if diff := cmp.Diff(strings.ReplaceAll(plainAnswer, "\n", "\r\n"), got); diff != "" {
		t.Error(diff)
	}
	for _, d := range w.deliveries(i) {
		if d.State != sent || d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
	}
	if info := must[os.FileInfo](t)(os.Stat(files[0])); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

const plainAnswer = `X-Envelope-From: support@example.org
X-Envelope-To: carl@example.com,
 cc@bücher.example,
 hidden@example.net
Date: Fri, 02 Jan 2026 03:04:05 +0000
From: "Ann Agent, Support" <support@example.org>
Reply-To: "Ann Agent, Support"
 <mb-local+r-aea75hdp22czbs4d3l2a@in.example>
To: carl@example.com
Cc: cc@xn--bcher-kva.example
Subject: Your order
Message-ID: <0102030405060708090a0b0c0d0e0f10@example.org>
References: <0102030405060708090a0b0c0d0e0f10@example.org>
MIME-Version: 1.0
Content-Type: multipart/alternative;
 boundary="=_21e814258ad361ac1ba9e82efaf01880"

--=_21e814258ad361ac1ba9e82efaf01880
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 7bit

Thanks, solved

--=_21e814258ad361ac1ba9e82efaf01880
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<!DOCTYPE html>
<html>
<head><meta http-equiv=3D"Content-Type" content=3D"text/html; charset=3Dutf=
-8"></head>
<body>
Thanks, solved
</body>
</html>

--=_21e814258ad361ac1ba9e82efaf01880--
`

// A mail with everything, read back.
func TestComposedAnswer(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	first := w.answer(helpdesk.InteractionInput{Body: "First"})
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	i := must[helpdesk.Interaction](t)(w.desk.Interactions().Create(ctx, first.ConversationID, helpdesk.InteractionInput{
		Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "x", Bcc: []string{"hidden@example.net"},
	}))
	shown, unused, file := w.attach(i, "shown.png", png, true), w.attach(i, "unused.png", png, true), w.attach(i, "Bericht für Carl.pdf", "%PDF-1.7", false)
	path := "/api/v1/accounts/1/conversations/1/interactions/2/attachments/"
	body := `<p>Grüße,<br><img src="https://desk.example` + path + decimal(shown.ID) + `/content" alt="logo"> and <img src="https://desk.example` + path +
		`999/content" alt="old"></p><p><a href="https://example.org/x">Link</a></p>`
	must[helpdesk.Interaction](t)(w.desk.Interactions().Update(ctx, i.ConversationID, i.ID, helpdesk.InteractionUpdate{
		Body: storage.Some(body), Status: storage.Some(helpdesk.StatusPosted),
	}))
	// A retry sends the same bytes.
	transport.results = func([]string) ([]outbound.Result, error) { return nil, errors.New("not now") }
	if err := w.handle(w.sender(transport)); !waits(err) {
		t.Fatal(err)
	}
	transport.results = nil
	w.advance(time.Hour)
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	raw := transport.mails[2]
	if raw != transport.mails[1] {
		t.Error("the retry differs")
	}
	m := parse(t, raw)
	firstID := parse(t, transport.mails[0]).MessageID
	if begins := parse(t, transport.mails[0]); !cmp.Equal([]string{firstID}, begins.References) || len(begins.InReplyTo) > 0 || strings.HasPrefix(begins.Subject, "Re:") {
		t.Errorf("the first mail: %q refers to %q, answers %q", begins.Subject, begins.References, begins.InReplyTo)
	}
	if m.Subject != "Re: Größe" || m.From[0] != (mailaddr.Address{Name: "Ann Agent, Support", Email: "support@example.org"}) || m.MessageID == "" {
		t.Errorf("header: %q %v", m.Subject, m.From)
	}
	if diff := cmp.Diff([][]string{{firstID}, {firstID}}, [][]string{m.InReplyTo, m.References}); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(raw, "hidden") || m.AutoSubmitted || m.Header.Has("Auto-Submitted") || len(m.Bcc) > 0 {
		t.Error("a hidden recipient or a wrong header")
	}
	if diff := cmp.Diff([]string{"carl@example.com", "hidden@example.net"}, transport.to[2]); diff != "" {
		t.Error(diff)
	}
	cid := "att" + decimal(shown.ID) + "." + m.MessageID
	if !strings.Contains(m.HTML, `src="cid:`+cid+`"`) || !strings.Contains(m.HTML, `/999/content`) || !strings.Contains(m.HTML, "charset=utf-8") {
		t.Errorf("HTML %q", m.HTML)
	}
	if !strings.Contains(m.Text, "Grüße,") || !strings.Contains(m.Text, "https://example.org/x") {
		t.Errorf("text %q", m.Text)
	}
	want := []message.Part{
		{Filename: "shown.png", ContentType: "image/png", ContentID: cid, Inline: true, Body: []byte(png)},
		{Filename: "unused.png", ContentType: "image/png", Body: []byte(png)},
		{Filename: "Bericht für Carl.pdf", ContentType: "application/pdf", Body: []byte("%PDF-1.7")},
	}
	if diff := cmp.Diff(want, m.Attachments, cmpopts.IgnoreFields(message.Part{}, "Charset")); diff != "" {
		t.Error(diff, unused.ID, file.ID)
	}
	for _, line := range strings.Split(raw, "\r\n") {
		if len(line) > 998 || strings.Contains(line, "\n") {
			t.Errorf("line %.100q", line)
		}
	}
}

// A large attachment is streamed, twice, and cid: addresses that name it stay.
func TestLargeAttachment(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	i := w.answer(helpdesk.InteractionInput{Body: "See the file"})
	content := png + strings.Repeat("0123456789", 300_000)
	w.attach(i, "large.png", content, false)
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	if m := parse(t, transport.mails[0]); len(m.Attachments) != 1 || string(m.Attachments[0].Body) != content {
		t.Error("the attachment differs")
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	i := w.answer(helpdesk.InteractionInput{Body: "x", To: []string{"a@example.com", "b@example.com"}, Bcc: []string{"c@example.com"}})
	transport.results = func(to []string) ([]outbound.Result, error) {
		return []outbound.Result{{State: sent, Code: 250}, {State: deferred, Code: 450, EnhancedCode: "4.2.0", Response: "grey\r\nlisted"}, {State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "no"}}, nil
	}
	sender := w.sender(transport)
	if err := w.handle(sender); !waits(err) {
		t.Fatal(err)
	}
	compare(t, w.deliveries(i), []sending.Delivery{
		{Address: "a@example.com", State: sent, Code: 250}, {Address: "b@example.com", State: deferred, Code: 450, EnhancedCode: "4.2.0", Response: "grey  listed"},
		{Address: "c@example.com", State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "no"},
	})
	// Too early: no recipient is tried. Then only the waiting one.
	if err := w.handle(sender); !waits(err) || len(transport.mails) != 1 {
		t.Fatalf("%v, %d mails", err, len(transport.mails))
	}
	w.advance(time.Minute)
	transport.results = func([]string) ([]outbound.Result, error) { return nil, nil } // a defect
	if err := w.handle(sender); !waits(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b@example.com"}, transport.to[1]); diff != "" {
		t.Error(diff)
	}
	// The wait after the second attempt, and a state that does not exist.
	w.advance(5 * time.Minute)
	transport.results = func([]string) ([]outbound.Result, error) { return []outbound.Result{{State: "bounced"}}, nil }
	if err := w.handle(sender); !waits(err) {
		t.Fatal(err)
	}
	w.advance(15 * time.Minute)
	transport.results = nil
	if err := w.handle(sender); err != nil {
		t.Fatal(err)
	}
	if d := w.deliveries(i)[1]; d.State != sent || d.Attempts != 4 {
		t.Errorf("%+v", d)
	}
}

func compare(t *testing.T, got, want []sending.Delivery) {
	t.Helper()
	ignore := cmpopts.IgnoreFields(sending.Delivery{}, "ID", "AddressKey", "InteractionID", "Field", "Attempts", "NextAttemptAt", "CreatedAt", "UpdatedAt")
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Error(diff)
	}
}

func TestRelayAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.answer(helpdesk.InteractionInput{Body: "x"})
	s := (&sink{answer: only("", "554 5.7.1 go away")}).start(t)
	if err := w.handle(w.sender(s.relay(t))); !waits(err) {
		t.Fatal(err)
	}
	compare(t, w.deliveries(i), []sending.Delivery{{
		Address: "carl@example.com", State: deferred, Code: 554, EnhancedCode: "5.7.1",
		Response: "The mail relay cannot be used: greeting: 554 5.7.1 go away",
	}})
}

func TestGone(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	i := w.answer(helpdesk.InteractionInput{Body: "x"})
	if err := w.desk.Interactions().Delete(context.Background(), i.ConversationID, i.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.handle(w.sender(transport)); err != nil || len(transport.mails) > 0 {
		t.Errorf("%v, %d mails", err, len(transport.mails))
	}
}

// A mail that cannot be composed fails visibly when that is certain, and is tried again when it is not.
func TestAttachmentAway(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	i := w.answer(helpdesk.InteractionInput{Body: "x"})
	w.attach(i, "a.png", png, false)
	sender := w.sender(transport)
	w.blobs.err = fault.New(fault.Unavailable, "away")
	w.advance(2 * time.Hour) // however long it lasts
	if err := w.handle(sender); !fault.Is(err, fault.Unavailable) || w.deliveries(i)[0].Attempts != 0 {
		t.Errorf("%v", err)
	}
	w.blobs.err = fault.New(fault.NotFound, "gone")
	if err := w.handle(sender); err != nil {
		t.Error(err)
	}
	compare(t, w.deliveries(i), []sending.Delivery{{
		Address: "carl@example.com", State: failed, Response: "The mail cannot be composed: the content of an attachment is missing.",
	}})

	second := w.answer(helpdesk.InteractionInput{Body: "x"})
	w.attach(second, "a.png", png, false)
	w.blobs.err = errors.New("input/output error")
	if err := w.handle(sender); err == nil || w.deliveries(second)[0].Attempts != 0 {
		t.Errorf("%v", err)
	}
	w.advance(2 * time.Hour)
	if err := w.handle(sender); err != nil {
		t.Error(err)
	}
	compare(t, w.deliveries(second), []sending.Delivery{{
		Address: "carl@example.com", State: failed, Response: "The mail cannot be composed: reading an attachment fails.",
	}})
	if len(transport.mails) > 0 {
		t.Error("something was sent")
	}
}

// Sent recipients are recorded, although the database is unavailable for a moment.
func TestReportIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	i := w.answer(helpdesk.InteractionInput{Body: "x"})
	sender := w.sender(transport)
	synctest.Test(t, func(t *testing.T) {
		w.store.after, w.store.failures = 1, 3
		if err := w.handle(sender); err != nil {
			t.Error(err)
		}
	})
	if d := w.deliveries(i)[0]; d.State != sent || len(transport.mails) != 1 {
		t.Errorf("%+v", d)
	}
	second := w.answer(helpdesk.InteractionInput{Body: "x"})
	w.store.after, w.store.failures = 0, 1
	if err := w.handle(sender); !fault.Is(err, fault.Unavailable) || w.deliveries(second)[0].Attempts != 0 {
		t.Errorf("%v", err)
	}
}

// The end of the program is not the recipients' fate.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	i := w.answer(helpdesk.InteractionInput{Body: "x"})
	ctx, cancel := context.WithCancel(context.Background())
	transport.results = func([]string) ([]outbound.Result, error) { cancel(); return nil, ctx.Err() }
	now := w.clock()
	claimed := must[[]storage.ClaimedJob](t)(w.store.Claim(ctx, map[string]int{helpdesk.JobSendMail: 1}, now, now))
	if err := w.sender(transport).Handle(ctx, claimed[0]); !errors.Is(err, context.Canceled) || w.deliveries(i)[0].Attempts != 0 {
		t.Errorf("%v", err)
	}
	// Recipients sent before are recorded nevertheless.
	ctx, cancel = context.WithCancel(context.Background())
	transport.results = func([]string) ([]outbound.Result, error) {
		cancel()
		return []outbound.Result{{State: sent}}, nil
	}
	if err := w.sender(transport).Handle(ctx, claimed[0]); err != nil || w.deliveries(i)[0].State != sent {
		t.Errorf("%v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := outbound.New(outbound.Config{}); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	for _, cfg := range []outbound.RelayConfig{{}, {Host: "a b"}, {Host: "h", Port: -1}, {Host: "h", Encryption: "x"}, {Host: "h", Username: "u"}, {Host: "h", HelloName: "a b"}} {
		if _, err := outbound.NewRelay(cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
	if _, err := outbound.NewSpool(filepath.Join(t.TempDir(), "x\x00")); err == nil {
		t.Error("no error")
	}
}

// The same mail replaces its file; failures leave nothing behind.
func TestSpool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spool := must[*outbound.Spool](t)(outbound.NewSpool(dir))
	list := func() []string {
		var names []string
		for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
			names = append(names, e.Name())
		}
		return names
	}
	m := newMail(t, text(body))
	for range 2 {
		results := must[[]outbound.Result](t)(spool.Send(t.Context(), "d@example.org", []string{"a@example.com"}, m))
		if results[0].State != sent {
			t.Errorf("%+v", results)
		}
	}
	names := list()
	if len(names) != 1 {
		t.Fatalf("files %q", names)
	}
	want := "X-Envelope-From: d@example.org\r\nX-Envelope-To: a@example.com\r\n" + body
	if diff := cmp.Diff(want, string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, names[0]))))); diff != "" {
		t.Error(diff)
	}
	broken := newMail(t, &shrinking{text: strings.Repeat("x", 3<<20)})
	broken.MessageID = "other@desk.example"
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, try := range []func() error{
		func() error { _, err := spool.Send(t.Context(), "d@x", []string{"a@x"}, broken); return err },
		func() error { _, err := spool.Send(t.Context(), "d@x", []string{"a@x\r\nX: y"}, m); return err },
		func() error { _, err := spool.Send(ended, "d@x", []string{"a@x"}, m); return err },
	} {
		if try() == nil {
			t.Error("no error")
		}
	}
	if diff := cmp.Diff(names, list()); diff != "" {
		t.Error(diff)
	}
	if err := spool.Close(); err != nil {
		t.Error(err)
	}
	if _, err := spool.Send(t.Context(), "d@x", []string{"a@x"}, m); err == nil {
		t.Error("no error after Close")
	}
}
