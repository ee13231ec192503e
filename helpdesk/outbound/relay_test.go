package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// text returns a mail as it is.
type text string

func (s text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(s))
	return int64(n), err
}

const body = "Subject: Hi\r\n\r\n.dot\r\n..\r\nend\r\n"

func newMail(t testing.TB, content io.WriterTo) *outbound.Mail {
	t.Helper()
	return must[*outbound.Mail](t)(outbound.NewMail("id@desk.example", time.Unix(1e9, 0), content))
}

const (
	sent     = sending.Sent
	deferred = sending.Deferred
	failed   = sending.Failed
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	to := []string{"a@example.com", "b@example.com", "c@example.com"}
	fine := outbound.Result{State: sent, Code: 250, EnhancedCode: "2.6.0", Response: "queued as 1"}
	lost := outbound.Result{State: deferred, Response: "The connection to the mail relay failed: the connection was closed"}
	same := func(r outbound.Result) []outbound.Result { return []outbound.Result{r, r, r} }
	for name, tc := range map[string]struct {
		answers map[string]string // by prefix of the command
		want    []outbound.Result
		mails   int
	}{
		"all is well": {nil, same(fine), 1},
		"each its own": {map[string]string{"RCPT TO:<a@": "450 4.2.0 greylisted", "RCPT TO:<b@": "550 5.1.1 unknown\tuser"}, []outbound.Result{
			{State: deferred, Code: 450, EnhancedCode: "4.2.0", Response: "greylisted"},
			{State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "unknown\tuser"}, fine,
		}, 1},
		"nobody":               {map[string]string{"RCPT": "550 no"}, same(outbound.Result{State: failed, Code: 550, Response: "no"}), 0},
		"251 is fine":          {map[string]string{"RCPT": "251 forwarded"}, same(fine), 1},
		"sender refused":       {map[string]string{"MAIL": "553 5.7.1 not yours"}, same(outbound.Result{State: failed, Code: 553, EnhancedCode: "5.7.1", Response: "not yours"}), 0},
		"wants authentication": {map[string]string{"MAIL": "530 5.7.0 log in"}, same(outbound.Result{State: deferred, Code: 530, EnhancedCode: "5.7.0", Response: "log in"}), 0},
		"many recipients":      {map[string]string{"RCPT TO:<c": "552 too many"}, []outbound.Result{fine, fine, {State: deferred, Code: 552, Response: "too many"}}, 1},
		"full mailbox":         {map[string]string{"RCPT TO:<c": "552 5.2.2 full"}, []outbound.Result{fine, fine, {State: failed, Code: 552, EnhancedCode: "5.2.2", Response: "full"}}, 1},
		"421 at a recipient": {map[string]string{"RCPT TO:<a@": "550 5.1.1 no", "RCPT TO:<b@": "421 4.3.2 bye"}, []outbound.Result{
			{State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "no"},
			{State: deferred, Code: 421, EnhancedCode: "4.3.2", Response: "bye"}, {State: deferred, Code: 421, EnhancedCode: "4.3.2", Response: "bye"},
		}, 0},
		"cut at a recipient": {map[string]string{"RCPT TO:<a@": "550 5.1.1 no", "RCPT TO:<c@": drop}, []outbound.Result{
			{State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "no"}, lost, lost,
		}, 0},
		"421 at DATA":         {map[string]string{"DATA": "421 4.3.2 later"}, same(outbound.Result{State: deferred, Code: 421, EnhancedCode: "4.3.2", Response: "later"}), 0},
		"554 at DATA":         {map[string]string{"DATA": "554 5.7.1 spam"}, same(outbound.Result{State: failed, Code: 554, EnhancedCode: "5.7.1", Response: "spam"}), 0},
		"451 at the end":      {map[string]string{".": "451 4.3.0 disk"}, same(outbound.Result{State: deferred, Code: 451, EnhancedCode: "4.3.0", Response: "disk"}), 1},
		"554 at the end":      {map[string]string{".": "554-5.7.1 spam,\r\n554 5.7.1 really"}, same(outbound.Result{State: failed, Code: 554, EnhancedCode: "5.7.1", Response: "spam,\nreally"}), 1},
		"cut after the end":   {map[string]string{".": drop}, same(lost), 1},
		"nonsense at the end": {map[string]string{".": "hello?"}, nil, 1},
		"other code at end":   {map[string]string{".": "354 what"}, same(outbound.Result{State: deferred, Code: 354, Response: "what"}), 1},
		"too long an answer":  {map[string]string{".": strings.Repeat("250-"+strings.Repeat("x", 1000)+"\r\n", 2000) + "250 x"}, nil, 1},
		"an answer per line":  {map[string]string{".": "250-2.0.0 a\r\n250 2.0.0 b"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&sink{answer: func(line string) string {
				for prefix, answer := range tc.answers {
					if strings.HasPrefix(line, prefix) {
						return answer
					}
				}
				return ""
			}}).start(t)
			got := must[[]outbound.Result](t)(s.relay(t).Send(t.Context(), "desk@example.org", to, newMail(t, text(body))))
			if tc.want != nil {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			}
			for _, r := range got {
				if r.State != got[0].State && tc.want == nil || r.State == "" || r.Response == "" {
					t.Errorf("results %+v", got)
				}
			}
			_, mails, _ := s.seen()
			if len(mails) != tc.mails || tc.mails > 0 && mails[0] != body {
				t.Errorf("mails %q", mails)
			}
		})
	}
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	plain := []string{"PIPELINING"}
	full := []string{"SIZE 10000", "8BITMIME", "SMTPUTF8"}
	for name, tc := range map[string]struct {
		extensions []string
		from       string
		to         []string
		mail       string
		commands   []string
		states     []sending.State
	}{
		"plain": {plain, "d@example.org", []string{"a@example.com"}, body,
			[]string{"EHLO desk.example", "MAIL FROM:<d@example.org>", "RCPT TO:<a@example.com>", "DATA"}, []sending.State{sent}},
		"extensions": {full, "d@example.org", []string{"a@example.com"}, body,
			[]string{"EHLO desk.example", "MAIL FROM:<d@example.org> BODY=8BITMIME SIZE=30", "RCPT TO:<a@example.com>", "DATA"}, []sending.State{sent}},
		"domains in ASCII": {plain, "d@bücher.example", []string{"a@straße.example"}, body,
			[]string{"EHLO desk.example", "MAIL FROM:<d@xn--bcher-kva.example>", "RCPT TO:<a@xn--strae-oqa.example>", "DATA"}, []sending.State{sent}},
		"international with SMTPUTF8": {full, "d@example.org", []string{"é@bücher.example"}, body,
			[]string{"EHLO desk.example", "MAIL FROM:<d@example.org> BODY=8BITMIME SIZE=30 SMTPUTF8", "RCPT TO:<é@xn--bcher-kva.example>", "DATA"}, []sending.State{sent}},
		"international header": {full, "d@example.org", []string{"a@example.com"}, "To: é@x\r\n\r\n",
			[]string{"EHLO desk.example", "MAIL FROM:<d@example.org> BODY=8BITMIME SIZE=12 SMTPUTF8", "RCPT TO:<a@example.com>", "DATA"}, []sending.State{sent}},
		"international without": {plain, "d@example.org", []string{"é@example.com", "a@example.com"}, body,
			[]string{"EHLO desk.example", "MAIL FROM:<d@example.org>", "RCPT TO:<a@example.com>", "DATA"}, []sending.State{failed, sent}},
		"only international without":   {plain, "d@example.org", []string{"é@example.com"}, body, []string{"EHLO desk.example"}, []sending.State{failed}},
		"international sender without": {plain, "é@example.org", []string{"a@example.com"}, body, []string{"EHLO desk.example"}, []sending.State{failed}},
		"too large":                    {full, "d@example.org", []string{"a@example.com"}, body + strings.Repeat("x", 10_000), []string{"EHLO desk.example"}, []sending.State{failed}},
		"injection": {plain, "d@example.org", []string{"a@example.com>\r\nRCPT TO:<evil@example.com", "a b@x", "a@b>", "", "@", "\xff@x"}, body,
			[]string{"EHLO desk.example"}, []sending.State{failed, failed, failed, failed, failed, failed}},
		"quoted": {plain, "d@example.org", []string{`"a b"@example.com`}, body,
			[]string{"EHLO desk.example", "MAIL FROM:<d@example.org>", `RCPT TO:<"a b"@example.com>`, "DATA"}, []sending.State{sent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&sink{extensions: tc.extensions}).start(t)
			results := must[[]outbound.Result](t)(s.relay(t).Send(t.Context(), tc.from, tc.to, newMail(t, text(tc.mail))))
			var states []sending.State
			for _, r := range results {
				states = append(states, r.State)
				if r.State == failed && (r.EnhancedCode == "" || r.Response == "") {
					t.Errorf("no reason: %+v", r)
				}
			}
			commands, _, _ := s.seen()
			if diff := cmp.Diff(tc.commands, commands); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.states, states); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Failures before a mail are the relay's fault: no recipient fails, and Check reports the step.
func TestSteps(t *testing.T) {
	t.Parallel()
	server, pool := certificate(t)
	password := func(cfg *outbound.RelayConfig) { cfg.Username, cfg.Password = "user", "secret" }
	trust := func(cfg *outbound.RelayConfig) { cfg.RootCAs = pool }
	for name, tc := range map[string]struct {
		sink *sink
		set  []func(*outbound.RelayConfig)
		step string // "": it works
		code int
	}{
		"none":                   {&sink{}, nil, "", 0},
		"STARTTLS":               {&sink{tls: server}, []func(*outbound.RelayConfig){trust}, "", 0},
		"TLS":                    {&sink{tls: server, implicit: true}, []func(*outbound.RelayConfig){trust}, "", 0},
		"unknown certificate":    {&sink{tls: server}, nil, "TLS handshake", 0},
		"unknown implicit":       {&sink{tls: server, implicit: true}, nil, "TLS handshake", 0},
		"any certificate":        {&sink{tls: server}, []func(*outbound.RelayConfig){func(c *outbound.RelayConfig) { c.InsecureSkipVerify = true }}, "", 0},
		"other name":             {&sink{tls: server}, []func(*outbound.RelayConfig){trust, otherName}, "TLS handshake", 0},
		"no STARTTLS":            {&sink{}, []func(*outbound.RelayConfig){func(c *outbound.RelayConfig) { c.Encryption = mailserver.STARTTLS }}, "STARTTLS", 0},
		"STARTTLS refused":       {&sink{tls: server, answer: only("STARTTLS", "454 4.7.0 no")}, []func(*outbound.RelayConfig){trust}, "STARTTLS", 454},
		"STARTTLS injection":     {&sink{tls: server, answer: only("STARTTLS", "220 go\r\n250 gotcha")}, []func(*outbound.RelayConfig){trust}, "STARTTLS", 0},
		"plain on the TLS port":  {&sink{}, []func(*outbound.RelayConfig){func(c *outbound.RelayConfig) { c.Encryption = mailserver.TLS }}, "TLS handshake", 0},
		"PLAIN":                  {&sink{tls: server, auth: "PLAIN LOGIN"}, []func(*outbound.RelayConfig){trust, password}, "", 0},
		"LOGIN":                  {&sink{tls: server, auth: "LOGIN"}, []func(*outbound.RelayConfig){trust, password}, "", 0},
		"PLAIN to loopback":      {&sink{auth: "PLAIN"}, []func(*outbound.RelayConfig){password}, "", 0},
		"PLAIN in the clear":     {&sink{auth: "PLAIN"}, []func(*outbound.RelayConfig){password, farAway}, "authenticate", 0},
		"wrong password":         {&sink{tls: server, auth: "PLAIN"}, []func(*outbound.RelayConfig){trust, func(c *outbound.RelayConfig) { c.Username, c.Password = "user", "wrong" }}, "authenticate", 535},
		"no authentication":      {&sink{tls: server}, []func(*outbound.RelayConfig){trust, password}, "authenticate", 0},
		"unknown authentication": {&sink{tls: server, auth: "GSSAPI"}, []func(*outbound.RelayConfig){trust, password}, "authenticate", 0},
		"bad greeting":           {&sink{answer: only("", "554 5.7.1 go away")}, nil, "greeting", 554},
		"talkative greeting":     {&sink{answer: only("", "220 hi\r\n250 more")}, nil, "greeting", 0},
		"no greeting":            {&sink{answer: only("", drop)}, nil, "greeting", 0},
		"endless greeting":       {&sink{answer: only("", strings.Repeat("220-x\r\n", 300_000))}, nil, "greeting", 0},
		"EHLO refused":           {&sink{answer: only("EHLO desk.example", "550 5.7.1 who")}, nil, "hello", 550},
		"nobody there":           {nil, nil, "connect", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg outbound.RelayConfig
			if tc.sink == nil {
				l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
				cfg = (&sink{listener: l}).config()
				l.Close()
			} else {
				cfg = tc.sink.start(t).config()
			}
			for _, set := range tc.set {
				set(&cfg)
			}
			relay := newRelay(t, cfg)
			checked := relay.Check(t.Context())
			results, err := relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body)))
			if tc.step == "" {
				if checked != nil || err != nil || results[0].State != sent {
					t.Errorf("%v, %v, %+v", checked, err, results)
				}
				return
			}
			for _, err := range []error{checked, err} {
				problem, ok := errors.AsType[*outbound.RelayError](err)
				if !ok || problem.Step != tc.step || problem.Code != tc.code {
					t.Errorf("%#v: %v", err, err)
				}
				if ok && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "127.0.0.1:")) {
					t.Errorf("it tells too much: %v", err)
				}
			}
			if tc.sink != nil {
				if commands, _, _ := tc.sink.seen(); slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "MAIL") }) {
					t.Error("it went on")
				}
			}
		})
	}
}

func only(command, answer string) func(string) string {
	return func(line string) string {
		if line == command {
			return answer
		}
		return ""
	}
}

func otherName(cfg *outbound.RelayConfig) {
	address := net.JoinHostPort("127.0.0.1", portOf(cfg))
	cfg.Host = "mail.example"
	cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// remote is a connection that seems to go far.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 25} }

func farAway(cfg *outbound.RelayConfig) {
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return remote{conn}, err
	}
}

// A silent relay is given up after the time for the step, or when the context ends.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "EHLO desk.example", "MAIL FROM:<d@example.org>", "RCPT TO:<a@example.com>", "DATA", "."} {
		for _, byContext := range []bool{false, true} {
			t.Run(at, func(t *testing.T) {
				t.Parallel()
				s := (&sink{answer: only(at, silent)}).start(t)
				cfg := s.config()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				want := "timed out"
				if byContext {
					want = "context canceled"
					time.AfterFunc(100*time.Millisecond, cancel)
				} else {
					cfg.CommandTimeout, cfg.SubmitTimeout = 100*time.Millisecond, 150*time.Millisecond
				}
				results, err := newRelay(t, cfg).Send(ctx, "d@example.org", []string{"a@example.com"}, newMail(t, text(body)))
				said := ""
				switch {
				case err != nil:
					said = err.Error()
				case results[0].State == deferred:
					said = results[0].Response
				}
				if !strings.HasSuffix(said, want) {
					t.Errorf("%+v, %v", results, err)
				}
			})
		}
	}
}

// A mail whose attachment ends early has no end for the relay either.
func TestBrokenMail(t *testing.T) {
	t.Parallel()
	s := (&sink{}).start(t)
	relay := s.relay(t)
	content := &shrinking{text: strings.Repeat(strings.Repeat("x", 98)+"\r\n", 20_000)}
	results := must[[]outbound.Result](t)(relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, content)))
	if results[0].State != deferred || results[0].Response != "Reading an attachment failed." {
		t.Errorf("%+v", results)
	}
	results = must[[]outbound.Result](t)(relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body))))
	if _, mails, _ := s.seen(); results[0].State != sent || len(mails) != 1 || mails[0] != body {
		t.Errorf("%+v, %d mails", results, len(mails))
	}
}

// shrinking is half as long the second time.
type shrinking struct {
	text  string
	times int
}

func (s *shrinking) WriteTo(w io.Writer) (int64, error) {
	s.times++
	n, err := io.WriteString(w, s.text[:len(s.text)/s.times])
	return int64(n), err
}

func TestReuse(t *testing.T) {
	t.Parallel()
	refuse := true
	s := (&sink{}).start(t)
	s.answer = func(line string) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if refuse && strings.HasPrefix(line, "RCPT") {
			return "550 no"
		}
		return ""
	}
	relay := s.relay(t)
	send := func() {
		t.Helper()
		must[[]outbound.Result](t)(relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body))))
	}
	send() // refused: the session is reset
	s.mu.Lock()
	refuse = false
	s.mu.Unlock()
	send()
	send()
	commands, mails, conns := s.seen()
	want := []string{
		"EHLO desk.example", "MAIL FROM:<d@example.org>", "RCPT TO:<a@example.com>", "RSET",
		"EHLO desk.example", "NOOP", "MAIL FROM:<d@example.org>", "RCPT TO:<a@example.com>", "DATA",
		"NOOP", "MAIL FROM:<d@example.org>", "RCPT TO:<a@example.com>", "DATA",
	}
	if diff := cmp.Diff(want, commands); diff != "" || conns != 1 || len(mails) != 2 {
		t.Errorf("%d connections, %d mails, %s", conns, len(mails), diff)
	}
	// A connection that the relay has ended meanwhile is replaced.
	s.mu.Lock()
	s.answer = only("NOOP", drop)
	s.mu.Unlock()
	send()
	if _, mails, conns := s.seen(); conns != 2 || len(mails) != 3 {
		t.Errorf("%d connections, %d mails", conns, len(mails))
	}
	relay.Close()
	if commands, _, _ := s.seen(); commands[len(commands)-1] != "QUIT" {
		t.Errorf("no QUIT: %q", commands)
	}
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	s := (&sink{}).start(t)
	cfg := s.config()
	cfg.IdleTimeout = time.Millisecond
	relay := newRelay(t, cfg)
	must[[]outbound.Result](t)(relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body))))
	for range 1000 {
		if commands, _, _ := s.seen(); commands[len(commands)-1] == "QUIT" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the connection is kept")
}

// Asking sends no mail, and returns the relay's reply for each recipient.
func TestAsk(t *testing.T) {
	t.Parallel()
	to := []string{"a@example.com", "b@example.com", "none"}
	for name, tc := range map[string]struct {
		answers map[string]string
		want    []outbound.Result
	}{
		"one is refused": {map[string]string{"RCPT TO:<b@": "550 5.1.1 unknown user"}, []outbound.Result{
			{}, {State: failed, Code: 550, EnhancedCode: "5.1.1", Response: "unknown user"}, {State: failed, EnhancedCode: "5.1.3", Response: "This is not an email address."},
		}},
		"the sender is": {map[string]string{"MAIL": "451 later"}, []outbound.Result{
			{State: deferred, Code: 451, Response: "later"}, {State: deferred, Code: 451, Response: "later"}, {State: deferred, Code: 451, Response: "later"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&sink{answer: func(line string) string {
				for prefix, answer := range tc.answers {
					if strings.HasPrefix(line, prefix) {
						return answer
					}
				}
				return ""
			}}).start(t)
			got, err := s.relay(t).Ask(t.Context(), "from@example.org", to)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			commands, mails, _ := s.seen()
			if len(mails) > 0 || slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "DATA") }) {
				t.Errorf("a mail was handed in: %q", commands)
			}
		})
	}
}

// A relay gets no more messages at once than it is to.
func TestMaxSending(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := 0, 0
	s := (&sink{}).start(t)
	s.answer = func(line string) string {
		if line != "." {
			return ""
		}
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		now--
		return ""
	}
	cfg := s.config()
	cfg.MaxSending = 2
	relay := newRelay(t, cfg)
	var group sync.WaitGroup
	for range 8 {
		m := newMail(t, text(body))
		group.Go(func() {
			got, err := relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, m)
			if err != nil || got[0].State != sending.Sent {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	group.Wait()
	if _, mails, conns := s.seen(); most > 2 || conns > 2 || len(mails) != 8 {
		t.Errorf("%d mails over %d connections, up to %d at once", len(mails), conns, most)
	}
}

// Messages that the relay leaves without a reply for long do not keep others from it.
func TestMaxSendingWhileSilent(t *testing.T) {
	t.Parallel()
	s := (&sink{}).start(t)
	s.answer = func(line string) string {
		if line == "RCPT TO:<slow@example.com>" {
			return silent
		}
		return ""
	}
	cfg := s.config()
	cfg.MaxSending, cfg.Silence, cfg.CommandTimeout = 1, 600*time.Millisecond, 3*time.Second
	relay := newRelay(t, cfg)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		_, _ = relay.Send(t.Context(), "d@example.org", []string{"slow@example.com"}, newMail(t, text(body)))
	})
	time.Sleep(50 * time.Millisecond) // usually it comes first
	began := time.Now()
	got, err := relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body)))
	if err != nil || got[0].State != sending.Sent || time.Since(began) > 2*time.Second {
		t.Errorf("%+v, %v after %v", got, err, time.Since(began))
	}
}
