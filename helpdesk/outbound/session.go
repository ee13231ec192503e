package outbound

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/helpwright/helpwright/helpdesk/internal/bearer"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// session is a connection to a relay, greeted, encrypted and authenticated.
type session struct {
	relay  *Relay
	client *smtp.Client
	wire   *wire
	expiry *time.Timer // while it is idle
}

// attend closes the connection when ctx ends, until release is called.
func (s *session) attend(ctx context.Context) (release func()) {
	s.wire.budget, s.wire.until = maxAnswers, time.Now().Add(s.wire.timeout)
	s.wire.yield = func() { yield(ctx) }
	stop := context.AfterFunc(ctx, func() { s.wire.Conn.Close() })
	return func() { stop() }
}

// quit sends QUIT, without waiting long for the reply.
func (s *session) quit() {
	s.wire.timeout = min(s.relay.cfg.CommandTimeout, 5*time.Second)
	s.wire.budget = maxAnswers
	_ = s.client.Quit()
	s.client.Close()
}

func (s *session) failure(ctx context.Context, step string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause // the reason why the connection was closed
	}
	e := &RelayError{Step: step, Err: err}
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok {
		e.Code, e.EnhancedCode = answer.Code, enhancedCode(answer)
	}
	return e
}

// connect opens a session. An access token that the relay rejects is replaced once, since it can become invalid early.
func (r *Relay) connect(ctx context.Context) (*session, error) {
	s, err := r.connectWith(ctx, false)
	failed, ok := errors.AsType[*RelayError](err)
	if r.cfg.Token != nil && ok && failed.Step == "authenticate" && failed.Code/100 == 5 {
		return r.connectWith(ctx, true)
	}
	return s, err
}

// connectWith opens a session, with a new access token if renew is set.
func (r *Relay) connectWith(ctx context.Context, renew bool) (_ *session, err error) {
	s := &session{relay: r}
	dialCtx, cancel := context.WithTimeout(ctx, r.cfg.DialTimeout)
	defer cancel()
	conn, err := r.cfg.Dial(dialCtx, "tcp", net.JoinHostPort(r.cfg.Host, strconv.Itoa(r.cfg.Port)))
	if err != nil {
		return nil, s.failure(dialCtx, "connect", err)
	}
	s.wire = &wire{Conn: conn, timeout: r.cfg.CommandTimeout, word: &r.word, silence: r.cfg.Silence}
	defer s.attend(ctx)()
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	ready, step, err := r.prepare(ctx, s.wire)
	if err != nil {
		return nil, s.failure(ctx, step, err)
	}
	s.client = smtp.NewClient(&greeted{Conn: ready})
	s.client.CommandTimeout, s.client.SubmissionTimeout = r.cfg.CommandTimeout, r.cfg.SubmitTimeout
	if err := s.client.Hello(r.helloName(conn)); err != nil {
		return nil, s.failure(ctx, "hello", err)
	}
	if r.cfg.Username != "" {
		if err := r.authenticate(ctx, s.client, conn.RemoteAddr(), renew); err != nil {
			return nil, s.failure(ctx, "authenticate", err)
		}
	}
	return s, nil
}

// prepare reads the greeting and encrypts the connection. go-smtp could do so, but it uses "localhost" as EHLO name before
// STARTTLS, which some relays reject, and does not report the failed step.
func (r *Relay) prepare(ctx context.Context, conn net.Conn) (ready net.Conn, step string, err error) {
	if r.cfg.Encryption == mailserver.TLS {
		if conn, err = r.handshake(ctx, conn); err != nil {
			return nil, "TLS handshake", err
		}
	}
	buffer := bufio.NewReader(conn)
	answers := textproto.NewReader(buffer)
	say := func(line string, want int) (string, error) {
		if line != "" {
			if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
				return "", err
			}
		}
		_, text, err := answers.ReadResponse(want)
		if refused, ok := errors.AsType[*textproto.Error](err); ok {
			err = answerError(refused)
		} else if err == nil && buffer.Buffered() > 0 {
			err = errOutOfTurn // it would be treated as encrypted (CVE-2011-0411)
		}
		return text, err
	}
	if _, err := say("", 220); err != nil {
		return nil, "greeting", err
	}
	if r.cfg.Encryption != mailserver.STARTTLS {
		return conn, "", nil
	}
	extensions, err := say("EHLO "+r.helloName(conn), 250)
	if err != nil {
		return nil, "hello", err
	}
	offered := false
	for line := range strings.SplitSeq(extensions, "\n") {
		offered = offered || strings.EqualFold(strings.TrimSpace(line), "STARTTLS")
	}
	if !offered {
		return nil, "STARTTLS", errNoSTARTTLS
	}
	if _, err := say("STARTTLS", 220); err != nil {
		return nil, "STARTTLS", err
	}
	if conn, err = r.handshake(ctx, conn); err != nil {
		return nil, "TLS handshake", err
	}
	return conn, "", nil
}

func (r *Relay) handshake(ctx context.Context, conn net.Conn) (net.Conn, error) {
	secure := tls.Client(conn, r.tls)
	return secure, secure.HandshakeContext(ctx)
}

// helloName returns the EHLO name.
func (r *Relay) helloName(conn net.Conn) string {
	if r.cfg.HelloName != "" {
		return r.cfg.HelloName
	}
	tcp, ok := conn.LocalAddr().(*net.TCPAddr)
	switch {
	case !ok:
		return "localhost"
	case tcp.IP.To4() != nil:
		return "[" + tcp.IP.String() + "]"
	default:
		return "[IPv6:" + tcp.IP.String() + "]"
	}
}

func (r *Relay) authenticate(ctx context.Context, client *smtp.Client, peer net.Addr, renew bool) error {
	tcp, ok := peer.(*net.TCPAddr)
	if r.cfg.Encryption == mailserver.None && !(ok && tcp.IP.IsLoopback()) {
		return errClearText
	}
	if r.cfg.Token != nil {
		return r.authenticateByToken(ctx, client, renew)
	}
	switch {
	case client.SupportsAuth(sasl.Plain):
		return client.Auth(sasl.NewPlainClient("", r.cfg.Username, r.cfg.Password))
	case client.SupportsAuth(sasl.Login):
		return client.Auth(&login{answers: []string{r.cfg.Username, r.cfg.Password}})
	}
	return errNoAuth
}

func (r *Relay) authenticateByToken(ctx context.Context, client *smtp.Client, renew bool) error {
	standard := client.SupportsAuth(sasl.OAuthBearer)
	if !standard && !client.SupportsAuth(bearer.XOAuth2) {
		return errNoBearer
	}
	token, err := r.cfg.Token(ctx, renew)
	if err != nil {
		return err
	}
	return client.Auth(bearer.New(r.cfg.Username, r.cfg.Host, r.cfg.Port, token, standard))
}

// login is AUTH LOGIN without an initial response, which not every server supports: the server asks for the user, then for
// the password, in any wording.
type login struct{ answers []string }

func (l *login) Start() (string, []byte, error) { return sasl.Login, nil, nil }

func (l *login) Next([]byte) ([]byte, error) {
	if len(l.answers) == 0 {
		return nil, sasl.ErrUnexpectedServerChallenge
	}
	answer := l.answers[0]
	l.answers = l.answers[1:]
	return []byte(answer), nil
}

// maxAnswers limits the bytes of a relay's replies during one message.
const maxAnswers = 1 << 20

// wire is a network connection that limits the time of each reply and write, and the amount read.
type wire struct {
	net.Conn
	timeout time.Duration
	budget  int
	until   time.Time // deadline of the current reply, however slow; counted from the last write
	word    *word
	silence time.Duration
	yield   func() // called after a sixth of silence, when this goroutine only waits
	whole   bool   // the relay has the complete message, so its reply is worth waiting for
	silent  bool   // given up because of the relay's silence
	ended   error  // of the read that failed; no later one may find the rest of a reply that was cut
}

// Read fails for good once it has failed: bufio.Reader.ReadLine takes what came before an error for a line.
func (w *wire) Read(b []byte) (n int, err error) {
	if w.ended != nil {
		return 0, w.ended
	}
	if w.budget <= 0 {
		return 0, errTalkative
	}
	err = w.wait(w.until, w.Conn.SetReadDeadline, func() error {
		n, err = w.Conn.Read(b)
		return err
	})
	if w.budget -= n; n > 0 {
		w.word.came()
	}
	w.ended = err
	return n, err
}

func (w *wire) Write(b []byte) (n int, err error) {
	err = w.wait(time.Now().Add(w.timeout), w.Conn.SetWriteDeadline, func() error {
		some, err := w.Conn.Write(b[n:])
		n += some
		return err
	})
	w.until = time.Now().Add(w.timeout)
	return n, err
}

// wait runs an operation that may wait for the relay, in pieces, and checks in between whether to continue.
func (w *wire) wait(until time.Time, limit func(time.Time) error, do func() error) error {
	defer w.word.await()()
	for began := time.Now(); ; {
		end := time.Now().Add(w.silence / 6)
		if end.After(until) {
			end = until
		}
		if err := limit(end); err != nil {
			return err
		}
		err := do()
		if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(until) {
			return err
		}
		w.yield()
		if !w.whole && w.word.missing(began, w.silence) {
			w.silent = true
			return errSilent
		}
	}
}

// word records when a relay last replied to any message, and how many wait for it.
type word struct {
	mu      sync.Mutex
	last    time.Time
	waiting int
	missed  time.Time // when several gave it up
}

func (w *word) came() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

// await counts a waiting message until end is called.
func (w *word) await() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting--
	}
}

// missing reports whether a relay has replied to nobody for some time: neither to the one waiting since then nor to several
// others, since a relay may be slow with one message.
func (w *word) missing(since time.Time, silence time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.After(since) {
		since = w.last
	}
	if time.Since(since) < silence || w.waiting < 2 && !w.missed.After(since) {
		return false
	}
	w.missed = time.Now()
	return true
}

// SetDeadline does nothing: go-smtp clears its deadlines while writing data.
func (w *wire) SetDeadline(time.Time) error { return nil }

// greeted is a connection whose greeting was already read; it replays one for go-smtp.
type greeted struct {
	net.Conn
	done bool
}

func (g *greeted) Read(b []byte) (int, error) {
	if g.done {
		return g.Conn.Read(b)
	}
	g.done = true
	return copy(b, "220 ready\r\n"), nil
}

// reason describes an error without network addresses.
func reason(err error) string {
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok {
		return strings.TrimSpace(fmt.Sprintf("%d %s %s", answer.Code, enhancedCode(answer), answer.Message))
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return "timed out"
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return "looking up the name: " + lookup.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed"
	}
	return err.Error()
}

func enhancedCode(e *smtp.SMTPError) string {
	if e.EnhancedCode == (smtp.EnhancedCode{}) || e.EnhancedCode == smtp.NoEnhancedCode {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", e.EnhancedCode[0], e.EnhancedCode[1], e.EnhancedCode[2])
}

// answerError converts a rejection to go-smtp's type.
func answerError(e *textproto.Error) error {
	answer := &smtp.SMTPError{Code: e.Code, EnhancedCode: smtp.NoEnhancedCode, Message: e.Msg}
	if code, text := splitEnhanced(e.Msg); code != "" {
		answer.Message = text
		_, _ = fmt.Sscanf(code, "%d.%d.%d", &answer.EnhancedCode[0], &answer.EnhancedCode[1], &answer.EnhancedCode[2])
	}
	return answer
}

var enhanced = regexp.MustCompile(`^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)`)

// splitEnhanced splits the enhanced code from a reply's text.
func splitEnhanced(text string) (code, rest string) {
	if m := enhanced.FindStringSubmatch(text); m != nil {
		return m[1], text[len(m[0]):]
	}
	return "", text
}
