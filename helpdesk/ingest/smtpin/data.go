package smtpin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
)

var (
	errTooLarge = &reply{552, "5.3.4", "The mail is too large"}
	errFull     = &reply{452, "4.3.1", "Too many mails at once, try again later"}
	errTryAgain = &reply{451, "4.3.0", "The mail could not be stored, try again later"}
)

// data receives a transaction's message and stores it (RFC 5321 section 4.1.1.4).
func (ss *session) data(ctx context.Context, argument string) error {
	e := ss.envelope
	switch {
	case argument != "":
		return &reply{501, "5.5.4", "DATA has no argument"}
	case e == nil:
		return &reply{503, "5.5.1", "Say MAIL first"}
	case e.recipients == 0 && ss.srv.cfg.LMTP:
		return &reply{503, "5.5.1", "There is no valid recipient"} // RFC 2033 section 4.2
	case e.recipients == 0:
		return &reply{554, "5.5.1", "There is no valid recipient"}
	}
	ss.envelope = nil
	if !ss.setReceiving(true) {
		return errClosing
	}
	defer ss.setReceiving(false)
	ss.say(354, "", "Go ahead, end with CR LF . CR LF")
	if err := ss.flush(); err != nil {
		return err
	}
	mail := incoming{srv: ss.srv}
	defer mail.discard()
	if err := ss.receive(&mail); err != nil {
		if r, refused := errors.AsType[*reply](err); refused && ss.srv.cfg.LMTP {
			for range e.order[1:] { // one reply per recipient; the last is the returned error
				ss.say(r.code, r.enhanced, r.text)
			}
		}
		return err
	}
	answers := ss.takeAlone(ctx, e, &mail)
	mail.discard() // before the reply, so that the client finds its memory released
	ss.since = time.Now()
	if ss.srv.cfg.LMTP {
		for _, mailbox := range e.order {
			r := answers[mailbox]
			ss.say(r.code, r.enhanced, r.text)
		}
		return ss.flush()
	}
	for _, r := range answers {
		if r != mailTaken {
			return r
		}
	}
	ss.say(mailTaken.code, mailTaken.enhanced, mailTaken.text)
	return ss.flush() // while still receiving, so that the client gets the reply
}

var mailTaken = &reply{250, "2.6.0", "Mail taken"}

// incoming is a message being received.
type incoming struct {
	srv      *Server
	pieces   [][]byte // in order; one growing slice would need three times the memory
	spool    *spool   // used for large messages
	size     int64    // bytes received, stored or not
	reserved int64    // of the server's memory
	refused  *reply   // why it is not stored
}

// appendBytes appends to the message, unless it was already rejected.
func (m *incoming) appendBytes(b []byte) {
	m.size += int64(len(b))
	if m.refused != nil {
		return
	}
	if m.size > m.srv.cfg.MaxSize {
		m.refuse(errTooLarge)
		return
	}
	if more := m.size - m.reserved; more > 0 {
		more = min(max(more, 64<<10), m.srv.cfg.MaxSize-m.reserved)
		if !m.srv.reserve(more) {
			m.refuse(errFull)
			return
		}
		m.reserved += more
	}
	if m.spool == nil && m.size > inMemory {
		if err := m.toDisk(); err != nil {
			m.fail(err)
			return
		}
	}
	if m.spool != nil {
		if _, err := m.spool.Write(b); err != nil {
			m.fail(err)
		}
		return
	}
	for len(b) > 0 {
		last := len(m.pieces) - 1
		if last < 0 || len(m.pieces[last]) == cap(m.pieces[last]) {
			m.pieces = append(m.pieces, make([]byte, 0, pieceSize(m.size)))
			last++
		}
		piece := m.pieces[last]
		n := copy(piece[len(piece):cap(piece)], b)
		m.pieces[last], b = piece[:len(piece)+n], b[n:]
	}
}

// toDisk moves the data received so far to a file and continues there.
func (m *incoming) toDisk() (err error) {
	if m.spool, err = newSpool(m.srv.cfg.TempDir); err != nil {
		return err
	}
	for _, piece := range m.pieces {
		if _, err := m.spool.Write(piece); err != nil {
			return err
		}
	}
	m.pieces = nil
	return nil
}

// fail rejects the message temporarily, because it cannot be stored.
func (m *incoming) fail(err error) {
	m.srv.cfg.Logger.Error("smtp: a mail that comes in cannot be kept", "error", err)
	m.refuse(errTryAgain)
}

// pieceSize returns the size of the next piece: small for the many small messages, growing for large ones.
func pieceSize(size int64) int64 { return min(max(size, 8<<10), 1<<20) }

// join joins the stored pieces, after room for more bytes.
func (m *incoming) join(room int) (buffer []byte, err error) {
	if m.spool != nil {
		return m.spool.join(room)
	}
	kept := 0
	for _, piece := range m.pieces {
		kept += len(piece)
	}
	buffer = make([]byte, room, room+kept)
	for n, piece := range m.pieces {
		buffer = append(buffer, piece...)
		m.pieces[n] = nil
	}
	m.pieces = nil
	return buffer, nil
}

func (m *incoming) refuse(why *reply) {
	m.discard()
	m.refused = why
}

func (m *incoming) discard() {
	m.srv.release(m.reserved)
	m.pieces, m.reserved = nil, 0
	if m.spool != nil {
		m.spool.remove()
		m.spool = nil
	}
}

// receive reads data to its end, CRLF "." CRLF, and removes the dots that the client added to lines (RFC 5321 section
// 4.5.2). It searches the bytes themselves, not what could be taken for lines. A rejected message is also read to its end,
// since only there does the client expect the reply.
func (ss *session) receive(m *incoming) error {
	cfg := ss.srv.cfg
	began := time.Now()
	window := int64(-1)
	lineStart := true // the previous bytes are CRLF
	var last byte
	for {
		if at := m.size >> 20; at != window { // extend the deadline for every MiB
			window = at
			ss.deadline(began.Add(time.Duration(at+1) * cfg.DataTimeout))
		}
		piece, err := ss.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if lineStart && string(piece) == ".\r\n" {
			if m.refused != nil {
				return m.refused
			}
			return nil
		}
		rest := piece
		if lineStart && piece[0] == '.' {
			rest = piece[1:]
		}
		lineStart = bytes.HasSuffix(piece, []byte("\r\n")) || len(piece) == 1 && piece[0] == '\n' && last == '\r'
		last = piece[len(piece)-1]
		m.appendBytes(rest)
		if m.refused != nil && m.size > 2*cfg.MaxSize {
			ss.say(m.refused.code, m.refused.enhanced, m.refused.text)
			return errQuit
		}
	}
}

// largeMail is the size from which messages are stored one at a time, since they are completely in memory.
const largeMail = 4 << 20

// takeAlone is take, with one large message at a time.
func (ss *session) takeAlone(ctx context.Context, e *envelope, m *incoming) []*reply {
	if m.size >= largeMail {
		select {
		case ss.srv.large <- struct{}{}:
			defer func() { <-ss.srv.large }()
		case <-ctx.Done():
			return slices.Repeat([]*reply{errTryAgain}, len(e.mailboxes))
		}
	}
	return ss.deliverToEach(ctx, e, m)
}

// deliverToEach delivers a message to each of its mailboxes and returns a reply for each. An SMTP client gets success only if all
// have it: the first failure stops. When the client retries, mailboxes that already have the message recognize its identity.
func (ss *session) deliverToEach(ctx context.Context, e *envelope, m *incoming) []*reply {
	cfg := ss.srv.cfg
	received := ss.received(e)
	room := 0
	for _, t := range e.mailboxes {
		room = max(room, len(trace(e.from, t.addresses, received)))
	}
	buffer, err := m.join(room)
	if err != nil {
		cfg.Logger.ErrorContext(ctx, "smtp: a mail that was kept cannot be read", "error", err)
		return slices.Repeat([]*reply{errTryAgain}, len(e.mailboxes))
	}
	body := mail.Tidy(buffer[room:]) // otherwise the prepended fields would make it part of the text
	subject, from := mail.Head(body)
	head := ledger.Head{Subject: subject, From: from}
	authentication := ss.authenticate(ctx, e.from, body)
	var boxes []int64
	answers := make([]*reply, len(e.mailboxes))
	for i, t := range e.mailboxes {
		raw := inFront(buffer, body, trace(e.from, t.addresses, received))
		mails := []ledger.Raw{{Raw: raw, Head: head, Authentication: authentication}}
		answers[i] = mailTaken
		if err := cfg.Intake.Take(ctx, t.mailbox.AccountID, t.mailbox.ID, cfg.source(), mails, nil); err != nil {
			cfg.Logger.ErrorContext(ctx, "smtp: storing a mail failed", "mailbox_id", t.mailbox.ID, "bytes", len(raw), "error", err)
			answers[i] = errTryAgain
			if !cfg.LMTP {
				return answers[:i+1]
			}
			continue
		}
		boxes = append(boxes, t.mailbox.ID)
	}
	cfg.Logger.InfoContext(ctx, "smtp: mail taken", "mailbox_ids", boxes, "recipients", e.recipients, "bytes", len(body), "tls", ss.secure)
	return answers
}

// inFront prepends fields to body, in place if body is the end of the buffer.
func inFront(buffer, body []byte, fields string) []byte {
	at := len(buffer) - len(body)
	if len(body) == 0 || at < len(fields) || &buffer[at] != &body[0] {
		return slices.Concat([]byte(fields), body)
	}
	copy(buffer[at-len(fields):], fields)
	return buffer[at-len(fields):]
}

// trace returns the header fields that final delivery prepends.
func trace(from string, to []string, received string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Return-Path: <%s>\r\n", from)
	for _, address := range to {
		fmt.Fprintf(&b, "Delivered-To: %s\r\n", address)
	}
	b.WriteString(received)
	return b.String()
}

// received returns the Received header field (RFC 5321 section 4.4, RFC 3848, RFC 6531 section 4.3). It omits recipients,
// since some may be Bcc.
func (ss *session) received(e *envelope) string {
	name := ss.hello
	if !isHostName(name) {
		name = "unknown"
	}
	with := "SMTP"
	switch {
	case ss.srv.cfg.LMTP && e.utf8:
		with = "UTF8LMTP"
	case ss.srv.cfg.LMTP:
		with = "LMTP"
	case e.utf8:
		with = "UTF8SMTP"
	case ss.extended:
		with = "ESMTP"
	}
	if ss.secure && with != "SMTP" {
		with += "S"
	}
	return fmt.Sprintf("Received: from %s (%s)\r\n\tby %s with %s id %s;\r\n\t%s\r\n",
		name, ss.peer, ss.srv.cfg.Domain, with, strings.ToLower(rand.Text()[:16]),
		ss.srv.cfg.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}

// peerLiteral returns a client's address literal (RFC 5321 section 4.1.3).
func peerLiteral(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	switch {
	case !ok:
		return "[local]"
	case tcp.IP.To4() != nil:
		return "[" + tcp.IP.String() + "]"
	default:
		return "[IPv6:" + tcp.IP.String() + "]"
	}
}
