package smtpin_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/smtp"
	"regexp"
	"strings"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage"
)

const simple = "From: sender@example.net\r\nSubject: Hi\r\n\r\nBody\r\n"

var receivedID = regexp.MustCompile(` id [a-z2-7]{16};`)

// stable takes the random part out of a mail.
func stable(raw string) string { return receivedID.ReplaceAllString(raw, " id ID;") }

func front(with string, addresses ...string) string {
	s := "Return-Path: <sender@example.net>\r\n"
	for _, a := range addresses {
		s += "Delivered-To: " + a + "\r\n"
	}
	return s + "Received: from client.example ([127.0.0.1])\r\n\tby mx.example with " + with + " id ID;\r\n\tFri, 02 Jan 2026 03:04:05 +0000\r\n"
}

func TestRawMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, stop := w.start(t, smtpin.Config{})
	for _, tc := range []struct{ name, data, want string }{
		{"as it is", simple, simple},
		{"a Return-Path stays below", "Return-Path: <x@y>\r\n" + simple, "Return-Path: <x@y>\r\n" + simple},
		{"dots", "A: b\r\n\r\n..\r\n..x\r\n.y\r\n", "A: b\r\n\r\n.\r\n.x\r\ny\r\n"},
		{"eight bits and NUL", "A: \xff\r\n\r\n\x00\xc3\xa9\r\n", "A: \xff\r\n\r\n\x00\xc3\xa9\r\n"},
		{"bare newlines", "A: b\n\nx\ry\n", "A: b\n\nx\ry\n"},
		{"long lines", "A: " + strings.Repeat("x", 100_000) + "\r\n\r\n" + strings.Repeat("y", 1<<16) + "\r\n", ""},
		{"long line of dots", "A: b\r\n\r\n." + strings.Repeat(".", 1<<16) + "\r\n", "A: b\r\n\r\n" + strings.Repeat(".", 1<<16) + "\r\n"},
		{"CR CR LF ends a line", "A: b\r\n\r\nx\r\r\n", "A: b\r\n\r\nx\r\r\n"},
		{"CR CR LF in the header", "From: a@b.example\r\r\nSubject: x\r\r\n\r\r\ny\r\r\n", "From: a@b.example\r\r\nSubject: x\r\r\n\r\r\ny\r\r\n"},
		{"empty", "", "\x00"},
	} {
		before := len(w.raws(t, 0))
		c := dial(t, addr)
		data := tc.data
		if strings.HasSuffix(data, "\n") && !strings.HasSuffix(data, "\r\n") {
			data += "\r\n"
		}
		c.send(data+".\r\n", "250 2.6.0", w.address(0))
		raws := w.raws(t, 0)
		if len(raws) != before+1 {
			t.Fatalf("%s: %d mails", tc.name, len(raws)-before)
		}
		want := tc.want
		switch {
		case want == "":
			want = data
		case want == "\x00":
			want = ""
		case data != tc.data:
			want += "\r\n"
		}
		if diff := cmp.Diff(front("ESMTP", w.address(0))+want, stable(raws[before])); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		c.do("QUIT", "221")
		c.closed()
	}
	stop()
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{MaxRecipients: 5})
	local, _, _ := strings.Cut(w.address(0), "@")
	token := local + "+r-aebagba@IN.example"
	c := dial(t, addr)
	c.begin(w.address(0))
	for _, unknown := range []string{"nobody@in.example", local + "@elsewhere.example", "postmaster", `"a b>"@in.example`} {
		c.do("RCPT TO:<"+unknown+">", "550 5.1.1")
	}
	c.do("RCPT TO:<"+token+">", "250")
	c.do("RCPT TO:<"+w.address(1)+">", "250")
	c.do("rcpt to: <@relay.example,@b.example:"+w.address(2)+">", "250")
	c.do("RCPT TO:"+w.address(2), "250")
	c.do("RCPT TO:<"+w.address(2)+">", "452 4.5.3")
	c.do("DATA", "354")
	c.write(simple + ".\r\n")
	c.expect("250 2.6.0")
	for box, want := range [][]string{{w.address(0), token}, {w.address(1)}, {w.address(2), w.address(2)}} {
		raws := w.raws(t, box)
		if len(raws) != 1 {
			t.Fatalf("mailbox %d has %d mails", box, len(raws))
		}
		if diff := cmp.Diff(front("ESMTP", want...)+simple, stable(raws[0])); diff != "" {
			t.Errorf("mailbox %d: %s", box, diff)
		}
	}
}

// A bounce has the null path, and HELO does not start ESMTP.
func TestNullSenderAndHELO(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{})
	c := dial(t, addr)
	c.do("HELO evil name\x01", "250 mx.example")
	c.do("MAIL FROM:<>", "250")
	c.do("RCPT TO:<"+w.address(0)+">", "250")
	c.do("DATA", "354")
	c.write(simple + ".\r\n")
	c.expect("250")
	raw := w.raws(t, 0)[0]
	for _, want := range []string{"Return-Path: <>\r\n", "Received: from unknown ([127.0.0.1])\r\n\tby mx.example with SMTP id "} {
		if !strings.Contains(raw, want) {
			t.Errorf("%q is not in %q", want, raw)
		}
	}
	parsed, err := mail.Parse([]byte(raw), mail.Limits{})
	if err != nil || !parsed.NullReturnPath || len(parsed.DeliveredTo) != 1 || parsed.Subject != "Hi" {
		t.Errorf("parsed: %+v, %v", parsed, err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{MaxSize: 1000})
	type step struct{ line, want string }
	for name, steps := range map[string][]step{
		"order":       {{"MAIL FROM:<a@b.c>", "503 5.5.1"}, {"EHLO", "501"}, {"EHLO x", "250-"}, {"RCPT TO:<a@b>", "503"}, {"DATA", "503"}, {"MAIL FROM:<a@b.c>", "250"}, {"MAIL FROM:<a@b.c>", "503"}, {"DATA", "554 5.5.1"}, {"RSET", "250"}, {"RCPT TO:<a@b>", "503"}},
		"others":      {{"NOOP x", "250"}, {"VRFY a", "252"}, {"EXPN a", "502"}, {"HELP", "502"}, {"BDAT 4 LAST", "502"}, {"AUTH PLAIN", "502"}, {"STARTTLS", "502"}, {"", "500"}, {"XYZZY", "500 5.5.2"}, {"noop", "250"}, {"QUIT now", "221"}},
		"parameters":  {{"EHLO x", "250-"}, {"MAIL FROM:<a@b.c> SIZE=1000 BODY=8bitmime", "250"}, {"RSET", "250"}, {"MAIL FROM:<a@b.c> SIZE=1001", "552 5.3.4"}, {"MAIL FROM:<a@b.c> SIZE=99999999999999999999", "501"}, {"MAIL FROM:<a@b.c> SIZE=-1", "501"}, {"MAIL FROM:<a@b.c> BODY=BINARYMIME", "501"}, {"MAIL FROM:<a@b.c> RET=FULL", "555"}, {"MAIL FROM:<a@b.c>", "250"}, {"RCPT TO:<a@b.c> NOTIFY=NEVER", "555"}},
		"addresses":   {{"EHLO x", "250-"}, {"MAIL FROM:", "501"}, {"MAIL FROM:<a", "501"}, {"MAIL FROM:<a@b>c", "501"}, {"MAIL FROM:<@a>", "501"}, {"MAIL", "501"}, {"MAIL TO:<a@b>", "501"}, {"MAIL FROM:<" + strings.Repeat("a", 400) + "@b>", "501"}, {"MAIL FROM:<a\x01@b.c>", "501"}, {"MAIL FROM:<a@b.c>", "250"}, {"RCPT TO:<>", "501"}},
		"UTF-8":       {{"EHLO x", "250-"}, {"MAIL FROM:<\xff@b.c>", "501"}, {"MAIL FROM:<é@b.c>", "550 5.6.7"}, {"MAIL FROM:<a@b.c>", "250"}, {"RCPT TO:<é@in.example>", "553 5.6.7"}, {"RSET", "250"}, {"MAIL FROM:<é@b.c> SMTPUTF8", "250"}, {"RCPT TO:<é@in.example>", "550"}},
		"long line":   {{"NOOP " + strings.Repeat("x", 2000), "250"}, {"NOOP " + strings.Repeat("x", 3000), "500 5.5.2"}, {"NOOP", "250"}, {strings.Repeat("x", 40_000), "500 5.5.2"}},
		"EHLO resets": {{"EHLO x", "250-"}, {"MAIL FROM:<a@b.c>", "250"}, {"EHLO x", "250-"}, {"RCPT TO:<a@b.c>", "503"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, addr)
			for _, s := range steps {
				c.do(s.line, s.want)
			}
		})
	}
	t.Run("extensions", func(t *testing.T) {
		t.Parallel()
		c := dial(t, addr)
		c.write("EHLO x\r\n")
		want := "250-mx.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES\r\n250-LIMITS RCPTMAX=100\r\n250 SIZE 1000"
		if diff := cmp.Diff(want, c.answer()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("too many errors", func(t *testing.T) {
		t.Parallel()
		c := dial(t, addr)
		for range 19 {
			c.do("BAD", "500")
		}
		c.do("BAD", "500")
		c.expect("421 4.7.0")
		c.closed()
	})
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, lmtp bool) {
		w := newWorld(t)
		addr, _ := w.start(t, smtpin.Config{LMTP: lmtp, MaxSize: 10_000})
		c := dialProtocol(t, addr, lmtp)
		c.send(simple+strings.Repeat("0123456\r\n", 1200)+".\r\n", "552 5.3.4", w.address(0))
		c.send(simple+".\r\n", "250", w.address(0)) // the session goes on
		c.begin(w.address(0))
		c.do("DATA", "354")
		go c.conn.Write(bytes.Repeat([]byte("0123456\r\n"), 10_000)) // far beyond: it is not read to its end
		c.expect("552 5.3.4")
		if n := len(w.raws(t, 0)); n != 1 {
			t.Errorf("%d mails", n)
		}
	})
}

func TestBusy(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, lmtp bool) {
		w := newWorld(t)
		addr, _ := w.start(t, smtpin.Config{LMTP: lmtp, MaxSize: 200_000, MaxBuffered: 250_000, MaxConnections: 2})
		first, second := dialProtocol(t, addr, lmtp), dialProtocol(t, addr, lmtp)
		for _, c := range []*client{first, second} { // one that waits for a command would make room
			c.begin(w.address(0))
			c.do("DATA", "354")
		}
		third := must[net.Conn](t)(net.Dial("tcp", addr))
		defer third.Close()
		answer := make([]byte, 100)
		n, _ := third.Read(answer)
		if !strings.HasPrefix(string(answer[:n]), "421 4.3.2") {
			t.Errorf("third connection: %q", answer[:n])
		}
		// The first takes most of the room until it is done. If its data is read after that of the second, the second has the room
		// and the first is refused: both begin again.
		big := strings.Repeat(strings.Repeat("x", 98)+"\r\n", 1900)
		second.write(".\r\n")
		second.expect("250")
		first.write(big)
		for attempt := 1; !strings.HasPrefix(trySend(second, big, w.address(0)), "452 4.3.1"); attempt++ {
			if attempt == 50 {
				t.Fatal("the second mail is always taken")
			}
			first.write(".\r\n")
			first.answer()
			first.begin(w.address(0))
			first.do("DATA", "354")
			first.write(big)
			time.Sleep(time.Duration(attempt) * 10 * time.Millisecond)
		}
		first.write(".\r\n")
		first.expect("250")
		second.send(big+".\r\n", "250", w.address(0))
	})
}

func trySend(c *client, data, to string) string {
	c.begin(to)
	c.do("DATA", "354")
	c.write(data + ".\r\n")
	return c.answer()
}

// A connection that ends within the data leaves nothing, however it ends.
func TestCutInData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, stop := w.start(t, smtpin.Config{})
	for _, data := range []string{"", simple, simple + ".", simple + ".\r", simple + ".\n", simple + "\r\n.\r"} {
		for _, reset := range []bool{false, true} {
			c := dial(t, addr)
			c.begin(w.address(0))
			c.do("DATA", "354")
			c.write(data)
			if reset {
				_ = c.conn.(*net.TCPConn).SetLinger(0)
				c.conn.Close()
				continue
			}
			_ = c.conn.(*net.TCPConn).CloseWrite()
			c.closed()
		}
	}
	stop()
	if n := len(w.raws(t, 0)); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func TestStorageAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{})
	c := dial(t, addr)
	w.store.lookups.Store(true)
	c.begin()
	c.do("RCPT TO:<"+w.address(0)+">", "451 4.3.0")
	w.store.lookups.Store(false)
	w.store.writes.Store(true)
	c.do("RSET", "250")
	c.send(simple+".\r\n", "451 4.3.0", w.address(0), w.address(2))
	if n := len(w.raws(t, 0)); n != 0 {
		t.Errorf("%d mails", n)
	}
	w.store.writes.Store(false)
	c.send(simple+".\r\n", "250", w.address(0), w.address(2))
	if a, b := len(w.raws(t, 0)), len(w.raws(t, 2)); a != 1 || b != 1 {
		t.Errorf("%d and %d mails", a, b)
	}
}

// Nothing but CR LF "." CR LF ends the data (CVE-2023-51764 and its relatives).
func TestSmuggling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{})
	for _, end := range []string{"\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\n.\r", "\r\n\x00.\r\n", "\r\n.\x00\r\n", "\r\n.\r\r\n", "\r\n. \r\n"} {
		before := len(w.raws(t, 0))
		c := dial(t, addr)
		c.begin(w.address(0))
		c.do("DATA", "354")
		c.write(simple + "x" + end + "MAIL FROM:<evil@example.net>\r\nRCPT TO:<" + w.address(0) + ">\r\nDATA\r\nFrom: evil\r\n\r\nsmuggled\r\n.\r\n")
		c.do("QUIT", "250 2.6.0")
		c.expect("221")
		c.closed()
		raws := w.raws(t, 0)
		if len(raws) != before+1 || !strings.Contains(raws[before], "smuggled") {
			t.Errorf("%q: %d mails", end, len(raws)-before)
		}
	}
}

func TestPipelining(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{})
	c := dial(t, addr)
	c.do("EHLO client.example", "250-")
	c.write("MAIL FROM:<a@example.net>\r\nRCPT TO:<nobody@in.example>\r\nRCPT TO:<" + w.address(0) + ">\r\nDATA\r\n")
	for _, want := range []string{"250", "550", "250", "354"} {
		c.expect(want)
	}
	c.write(simple + ".\r\nMAIL FROM:<b@example.net>\r\nRCPT TO:<" + w.address(0) + ">\r\nDATA\r\n" + simple + ".\r\nQUIT\r\n")
	for _, want := range []string{"250 2.6.0", "250", "250", "354", "250 2.6.0", "221"} {
		c.expect(want)
	}
	if n := len(w.raws(t, 0)); n != 2 {
		t.Errorf("%d mails", n)
	}
}

func certificate(t testing.TB) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"mx.example"},
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	leaf := must[*x509.Certificate](t)(x509.ParseCertificate(der))
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

func TestSTARTTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, pool := certificate(t)
	addr, _ := w.start(t, smtpin.Config{TLS: config})

	c := must[*smtp.Client](t)(smtp.Dial(addr))
	if err := errors.Join(c.Hello("client.example"), c.Mail("x@example.net"), c.StartTLS(&tls.Config{RootCAs: pool, ServerName: "mx.example"})); err != nil {
		t.Fatal(err)
	}
	if offered, _ := c.Extension("STARTTLS"); offered {
		t.Error("STARTTLS is offered again")
	}
	// Commands sent in the clear are forgotten, so another sender is possible.
	if err := errors.Join(c.Mail("sender@example.net"), c.Rcpt(w.address(0))); err != nil {
		t.Fatal(err)
	}
	data, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.Write([]byte(simple)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(data.Close(), c.Quit()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(front("UTF8SMTPS", w.address(0))+simple, stable(w.raws(t, 0)[0])); diff != "" {
		t.Error(diff)
	}

	injecting := dial(t, addr)
	injecting.do("EHLO x", "250-")
	injecting.write("STARTTLS\r\nMAIL FROM:<a@b.c>\r\n")
	injecting.expect("554")
	injecting.closed()
}

func TestLargeMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{})
	body := simple + strings.Repeat(strings.Repeat("z", 76)+"\r\n", 30<<20/78)
	c := must[*gosmtp.Client](t)(gosmtp.Dial(addr))
	defer c.Close()
	if err := c.Hello("client.example"); err != nil {
		t.Fatal(err)
	}
	if err := c.SendMail("sender@example.net", []string{w.address(0)}, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	if raw := stable(w.raws(t, 0)[0]); raw != front("ESMTP", w.address(0))+body {
		t.Errorf("%d bytes, want %d", len(raw), len(body))
	}
}

// An answer to a reply token comes back into its conversation's mailbox.
func TestReplyToken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{})
	conversation := must[helpdesk.Conversation](t)(w.desks[0].Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "customer@example.com", MailboxID: w.boxes[0].ID, Subject: "S",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Hello"}},
	}))
	page := must[storage.Page[helpdesk.Interaction]](t)(w.desks[0].Interactions().List(ctx, conversation.ID, storage.PageRequest{}))
	out := must[helpdesk.OutgoingMail](t)(w.svc.Outgoing().Begin(ctx, w.boxes[0].AccountID, page.Items[0].ID, 1))
	dial(t, addr).send(simple+".\r\n", "250", out.ReplyTo)
	if raw := w.raws(t, 0)[0]; !strings.Contains(raw, "Delivered-To: "+out.ReplyTo+"\r\n") {
		t.Errorf("no token in %q", raw)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, cfg := range map[string]smtpin.Config{
		"nothing": {}, "no listener": {Intake: w.svc.Intake()}, "bad domain": {Intake: w.svc.Intake(), Listen: "127.0.0.1:0", Domain: "a b"},
		"bad address": {Intake: w.svc.Intake(), Listen: "127.0.0.1:x"},
	} {
		if s, err := smtpin.New(cfg); err == nil {
			s.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
