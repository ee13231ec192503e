package smtpin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

const (
	bufferSize  = 32 << 10
	maxLine     = 2048 // of a command; RFC 5321 section 4.5.3.1.4 requires 512, more with extensions
	maxProblems = 20   // rejected commands and recipients per connection
)

// session is one connection. Its goroutine owns all fields not guarded by mu.
type session struct {
	srv *Server
	r   *bufio.Reader
	w   *bufio.Writer

	mu        sync.Mutex
	conn      net.Conn  // raw, or TLS over it
	receiving bool      // data; the session may complete it
	draining  bool      // ends as soon as it is not receiving
	waiting   time.Time // waiting for a command since; zero: busy

	client  netip.Prefix // address or network of the peer; zero: none
	bounded bool         // by Config.MaxPerPeer

	raw net.Conn

	peer     string // address of the client, for Received
	hello    string // the client's HELO or EHLO name; "" before
	extended bool   // the client sent EHLO
	secure   bool
	problems int
	since    time.Time // start of the connection or its last message
	envelope *envelope // nil outside a transaction
}

// envelope is a mail transaction (RFC 5321 section 3.3).
type envelope struct {
	from       string
	utf8       bool // SMTPUTF8
	recipients int
	mailboxes  []target
	order      []int // mailbox index of each recipient
}

// target is a mailbox and the addresses that reached it.
type target struct {
	mailbox   helpdesk.Mailbox
	addresses []string
}

func newSession(srv *Server, conn net.Conn) *session {
	ss := &session{srv: srv, raw: conn, peer: peerLiteral(conn.RemoteAddr())}
	ss.client, ss.bounded = client(conn.RemoteAddr(), srv.cfg.Relays)
	ss.use(conn)
	return ss
}

// client returns the client's key for counting connections, and whether they are limited.
func client(addr net.Addr, relays []netip.Prefix) (peer netip.Prefix, bounded bool) {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Prefix{}, false // a socket
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	peer, _ = ip.Prefix(bits) // fails for no address
	return peer, !slices.ContainsFunc(relays, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// waits returns since when the session has waited for a command, if it does.
func (ss *session) waits() (since time.Time, ok bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.waiting, !ss.waiting.IsZero() && !ss.draining
}

func (ss *session) use(conn net.Conn) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.conn = conn
	ss.r, ss.w = bufio.NewReaderSize(conn, bufferSize), bufio.NewWriterSize(conn, 4096)
}

// interrupt ends the session, unless it is receiving data.
func (ss *session) interrupt() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.draining = true
	if !ss.receiving {
		_ = ss.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// close ends the connection properly; abort ends it at once.
func (ss *session) close() {
	ss.mu.Lock()
	conn := ss.conn
	ss.mu.Unlock()
	conn.Close()
}

func (ss *session) abort() { ss.raw.Close() }

// deadline limits the next reads. It reports false if the session is to end.
func (ss *session) deadline(at time.Time) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.draining && !ss.receiving {
		return false
	}
	return ss.conn.SetReadDeadline(at) == nil
}

// setReceiving starts or ends the part of a session that draining waits for. It reports false if that can no longer start.
func (ss *session) setReceiving(on bool) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if on && ss.draining {
		return false
	}
	ss.receiving = on
	return true
}

// reply is a reply other than 2xx.
type reply struct {
	code     int
	enhanced string
	text     string
}

func (r *reply) Error() string { return r.text }

var errClosing = &reply{421, "4.3.2", "Closing the connection, try again later"}

// errQuit ends a session after its last reply.
var errQuit = errors.New("smtpin: the session has ended")

// run talks to the client until one of them ends it.
func (ss *session) run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			ss.srv.cfg.Logger.ErrorContext(ctx, "smtp: panic", "panic", p, "stack", string(debug.Stack()))
			ss.say(421, "4.3.0", "Internal error")
			_ = ss.flush()
		}
	}()
	ss.since = time.Now()
	ss.say(220, "", ss.srv.cfg.Domain+" "+ss.srv.cfg.protocol())
	for {
		line, err := ss.command()
		if err == nil {
			err = ss.handle(ctx, line)
		}
		if r, ok := errors.AsType[*reply](err); ok {
			ss.say(r.code, r.enhanced, r.text)
			if r.code == 421 {
				err = errQuit
			} else if err = nil; r.code >= 500 {
				err = ss.problem()
			}
		}
		if err != nil {
			_ = ss.flush()
			return
		}
	}
}

// problem counts an error of the client.
func (ss *session) problem() error {
	if ss.problems++; ss.problems < maxProblems {
		return nil
	}
	ss.say(421, "4.7.0", "Too many errors")
	return errQuit
}

// command reads one line. Replies to pipelined commands are sent together (RFC 2920).
func (ss *session) command() (string, error) {
	if !ss.lineWaits() {
		if err := ss.flush(); err != nil {
			return "", err
		}
	}
	if time.Since(ss.since) > 10*ss.srv.cfg.CommandTimeout || !ss.deadline(time.Now().Add(ss.srv.cfg.CommandTimeout)) {
		return "", errClosing
	}
	ss.wait(true)
	line, err := ss.r.ReadSlice('\n')
	ss.wait(false)
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		ss.say(500, "5.5.2", "Line too long")
		return "", errQuit
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", errClosing
	case err != nil:
		return "", errQuit
	case len(line) > maxLine:
		return "", &reply{500, "5.5.2", "Line too long"}
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

func (ss *session) wait(on bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.waiting = (time.Time{}); on {
		ss.waiting = time.Now()
	}
}

// lineWaits reports whether a complete line is already buffered.
func (ss *session) lineWaits() bool {
	waiting, _ := ss.r.Peek(ss.r.Buffered())
	return bytes.IndexByte(waiting, '\n') >= 0
}

// say writes a one-line reply. A write error appears at the next flush.
func (ss *session) say(code int, enhanced, text string) {
	if enhanced != "" {
		text = enhanced + " " + text
	}
	_, _ = fmt.Fprintf(ss.w, "%d %s\r\n", code, text)
}

func (ss *session) flush() error {
	ss.mu.Lock()
	err := ss.conn.SetWriteDeadline(time.Now().Add(ss.srv.cfg.CommandTimeout))
	ss.mu.Unlock()
	if err != nil {
		return err
	}
	return ss.w.Flush()
}

// handle executes one command. Its error is a reply, errQuit or a network error.
func (ss *session) handle(ctx context.Context, line string) error {
	verb, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	verb = strings.ToUpper(verb)
	if ss.srv.cfg.LMTP {
		switch verb { // RFC 2033 section 4.1
		case "LHLO":
			verb = "EHLO"
		case "EHLO", "HELO":
			return &reply{500, "5.5.1", "This is LMTP: say LHLO"}
		}
	}
	switch verb {
	case "EHLO", "HELO":
		return ss.greet(verb == "EHLO", argument)
	case "MAIL":
		return ss.mail(argument)
	case "RCPT":
		return ss.recipient(ctx, argument)
	case "DATA":
		return ss.data(ctx, argument)
	case "RSET":
		ss.envelope = nil
		ss.say(250, "2.0.0", "Reset")
	case "NOOP":
		ss.say(250, "2.0.0", "Done")
	case "VRFY":
		ss.say(252, "2.1.5", "Send the mail and see")
	case "STARTTLS":
		return ss.startTLS(argument)
	case "QUIT":
		ss.say(221, "2.0.0", "Bye")
		return errQuit
	case "EXPN", "HELP", "AUTH", "BDAT", "ETRN", "SEND", "SOML", "SAML", "TURN":
		return &reply{502, "5.5.1", "Command not implemented"}
	default:
		return &reply{500, "5.5.2", "Command not recognised"}
	}
	return nil
}

func (ss *session) greet(extended bool, name string) error {
	if name == "" {
		return &reply{501, "5.5.4", "Say who you are"}
	}
	ss.hello, ss.extended, ss.envelope = name, extended, nil
	if !extended {
		ss.say(250, "", ss.srv.cfg.Domain)
		return nil
	}
	lines := []string{
		ss.srv.cfg.Domain, "PIPELINING", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES",
		fmt.Sprintf("LIMITS RCPTMAX=%d", ss.srv.cfg.MaxRecipients),
	}
	if ss.srv.cfg.TLS != nil && !ss.secure {
		lines = append(lines, "STARTTLS")
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(ss.w, "250-%s\r\n", line)
	}
	_, _ = fmt.Fprintf(ss.w, "250 SIZE %d\r\n", ss.srv.cfg.MaxSize)
	return nil
}

// startTLS switches to TLS and resets the session (RFC 3207 section 4.2).
func (ss *session) startTLS(argument string) error {
	switch {
	case ss.srv.cfg.TLS == nil || ss.secure:
		return &reply{502, "5.5.1", "STARTTLS is not offered"}
	case argument != "":
		return &reply{501, "5.5.4", "STARTTLS has no argument"}
	case ss.r.Buffered() > 0:
		// Input received in clear must not be treated as encrypted (CVE-2011-0411).
		ss.say(554, "5.5.1", "Nothing may follow STARTTLS")
		return errQuit
	}
	ss.say(220, "2.0.0", "Go ahead")
	if err := ss.flush(); err != nil {
		return err
	}
	if !ss.deadline(time.Now().Add(ss.srv.cfg.CommandTimeout)) {
		return errQuit
	}
	conn := tls.Server(ss.conn, ss.srv.cfg.TLS)
	ss.wait(true)
	err := conn.Handshake()
	ss.wait(false)
	if err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	ss.use(conn)
	ss.secure, ss.hello, ss.extended, ss.envelope = true, "", false, nil
	return nil
}
