package imap_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// fakeServer is a server with one folder that can be told to misbehave.
type fakeServer struct {
	caps     string // after "IMAP4rev1"
	validity uint32
	// hook may answer a command in place of the server: it returns true if it did, and closes the connection with c.Close.
	hook func(c *fakeConn, tag, command string) bool

	port     int
	mu       sync.Mutex
	mails    []fakeMail
	commands []string
	accepted int
}

type fakeMail struct {
	uid  int
	raw  string
	size int // RFC822.SIZE, when it is not the length of raw
}

type fakeConn struct {
	net.Conn
	*fakeServer
	number int // of the connection, from 1
	lines  *bufio.Reader
}

func fakeMails(n int) []fakeMail {
	var mails []fakeMail
	for uid := 1; uid <= n; uid++ {
		mails = append(mails, fakeMail{uid: uid, raw: fmt.Sprintf("Subject: mail %d\r\n\r\nbody of %d\r\n", uid, uid)})
	}
	return mails
}

func (f *fakeServer) start(t *testing.T) imap.Config {
	t.Helper()
	if f.validity == 0 {
		f.validity = 7
	}
	f.port = wiretest.Listen(t, f.serve)
	return imap.Config{
		Server: imap.Server{
			Host: "127.0.0.1", Port: f.port, Username: "user@example.org", Password: "secret", Encryption: mailserver.None,
		},
		BackoffMin: time.Millisecond,
	}
}

func (f *fakeServer) serve(raw net.Conn) {
	defer func() { _ = raw.Close() }()
	f.mu.Lock()
	f.accepted++
	c := &fakeConn{Conn: raw, fakeServer: f, number: f.accepted, lines: bufio.NewReader(raw)}
	f.mu.Unlock()
	if f.hook != nil && f.hook(c, "*", "GREETING") {
		return
	}
	c.say("* OK ready")
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return
		}
		tag, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		f.mu.Lock()
		f.commands = append(f.commands, command)
		f.mu.Unlock()
		if f.hook != nil && f.hook(c, tag, command) {
			continue
		}
		c.answer(tag, command)
	}
}

func (c *fakeConn) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Conn, format+"\r\n", args...)
}

func (c *fakeConn) answer(tag, command string) {
	c.mu.Lock()
	mails := slices.Clone(c.mails)
	c.mu.Unlock()
	word, rest, _ := strings.Cut(command, " ")
	switch {
	case word == "CAPABILITY":
		c.say("* CAPABILITY IMAP4rev1 %s", c.caps)
	case word == "EXAMINE":
		c.say("* %d EXISTS", len(mails))
		c.say("* OK [UIDVALIDITY %d] valid", c.validity)
	case strings.HasPrefix(command, "UID SEARCH UID "):
		line := "* SEARCH"
		for _, mail := range selectMails(mails, strings.TrimPrefix(command, "UID SEARCH UID "), true) {
			line += " " + strconv.Itoa(mail.uid)
		}
		c.say("%s", line)
	case strings.HasPrefix(command, "SEARCH UID "):
		line := "* SEARCH"
		for _, mail := range selectMails(mails, strings.TrimPrefix(command, "SEARCH UID "), true) {
			line += " " + strconv.Itoa(slices.Index(mails, mail)+1)
		}
		c.say("%s", line)
	case word == "FETCH", strings.HasPrefix(command, "UID FETCH "):
		set := strings.Fields(strings.TrimPrefix(rest, "FETCH "))[0]
		for _, mail := range selectMails(mails, set, word == "UID") {
			c.fetch(slices.Index(mails, mail)+1, mail, command)
		}
	case word == "IDLE":
		c.say("+ idling")
		_, _ = c.lines.ReadString('\n') // DONE
	case word == "LOGOUT":
		c.say("* BYE")
	}
	c.say("%s OK done", tag)
}

// fetch answers with the requested part: the size, the header or all.
func (c *fakeConn) fetch(number int, mail fakeMail, command string) {
	header, _, _ := strings.Cut(mail.raw, "\r\n\r\n")
	header += "\r\n\r\n"
	switch {
	case strings.Contains(command, "RFC822.SIZE"):
		size := mail.size
		if size == 0 {
			size = len(mail.raw)
		}
		c.say("* %d FETCH (UID %d RFC822.SIZE %d)", number, mail.uid, size)
	case strings.Contains(command, "BODY.PEEK[HEADER]"):
		c.say("* %d FETCH (UID %d BODY[HEADER]<0> {%d}\r\n%s)", number, mail.uid, len(header), header)
	default:
		c.say("* %d FETCH (UID %d BODY[] {%d}\r\n%s)", number, mail.uid, len(mail.raw), mail.raw)
	}
}

// selectMails returns the mails of a set such as 1:3,5 or 4:*, by UID or by sequence number.
func selectMails(mails []fakeMail, set string, byUID bool) []fakeMail {
	var selected []fakeMail
	for i, mail := range mails {
		number := i + 1
		if byUID {
			number = mail.uid
		}
		if slices.ContainsFunc(strings.Split(set, ","), func(part string) bool {
			from, to, ranged := strings.Cut(part, ":")
			first, _ := strconv.Atoi(from)
			last := first
			if ranged {
				if to == "*" {
					return number >= first || i == len(mails)-1 // * is the last mail, even when it is before first
				}
				last, _ = strconv.Atoi(to)
			}
			return first <= number && number <= last
		}) {
			selected = append(selected, mail)
		}
	}
	return selected
}

func (f *fakeServer) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted
}

func (f *fakeServer) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.commands)
}

func (f *fakeServer) deliver(mails ...fakeMail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mails = append(f.mails, mails...)
}

// isBody reports whether a command requests whole mails, or one whole mail in particular.
func isBody(command string) bool { return strings.Contains(command, "BODY.PEEK[]") }

func fakeTexts(mails []fakeMail) []string {
	var texts []string
	for _, mail := range mails {
		texts = append(texts, mail.raw)
	}
	return texts
}
