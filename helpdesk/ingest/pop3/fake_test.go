package pop3_test

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

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// fakeServer is a server with one maildrop that can be told to misbehave.
type fakeServer struct {
	caps []string // nil: it has no CAPA
	// hook may answer a command in place of the server: it returns true if it did, and closes the connection with c.Close.
	hook func(c *fakeConn, command string) bool

	mu       sync.Mutex
	mails    []fakeMail
	commands []string
	accepted int
}

type fakeMail struct {
	id   string
	raw  string
	size int // in LIST, when it is not the length of raw
}

type fakeConn struct {
	net.Conn
	*fakeServer
	number int // of the connection, from 1
	lines  *bufio.Reader
	drop   []fakeMail // as it was at the login
}

func fakeMails(n int) []fakeMail {
	var mails []fakeMail
	for i := 1; i <= n; i++ {
		mails = append(mails, fakeMail{id: fmt.Sprintf("id%d", i), raw: fmt.Sprintf("Subject: mail %d\r\n\r\n.\r\n..body of %d\r\n", i, i)})
	}
	return mails
}

func (f *fakeServer) start(t *testing.T) pop3.Config {
	t.Helper()
	return pop3.Config{
		Server: pop3.Server{
			Host: "127.0.0.1", Port: wiretest.Listen(t, f.serve), Username: "user@example.org", Password: "secret",
			Encryption: mailserver.None,
		},
		BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, PollInterval: 10 * time.Millisecond,
	}
}

func (f *fakeServer) serve(raw net.Conn) {
	defer func() { _ = raw.Close() }()
	f.mu.Lock()
	f.accepted++
	c := &fakeConn{Conn: raw, fakeServer: f, number: f.accepted, lines: bufio.NewReader(raw), drop: slices.Clone(f.mails)}
	f.mu.Unlock()
	if f.hook != nil && f.hook(c, "GREETING") {
		return
	}
	c.say("+OK ready")
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return
		}
		command := strings.TrimSpace(line)
		f.mu.Lock()
		f.commands = append(f.commands, command)
		f.mu.Unlock()
		if f.hook != nil && f.hook(c, command) {
			continue
		}
		c.answer(command)
	}
}

func (c *fakeConn) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Conn, format+"\r\n", args...)
}

// stuffed is a text as the protocol has it, with the dot at its end.
func stuffed(text string) string {
	text = strings.ReplaceAll("\r\n"+text, "\r\n.", "\r\n..")[2:]
	if !strings.HasSuffix(text, "\r\n") {
		text += "\r\n"
	}
	return text + "."
}

func (c *fakeConn) answer(command string) {
	word, rest, _ := strings.Cut(command, " ")
	first, _, _ := strings.Cut(rest, " ")
	number, _ := strconv.Atoi(first)
	switch {
	case word == "CAPA" && c.caps == nil:
		c.say("-ERR what?")
	case word == "CAPA":
		c.say("+OK\r\n%s\r\n.", strings.Join(c.caps, "\r\n"))
	case word == "UIDL":
		c.say("+OK")
		for i, mail := range c.drop {
			c.say("%d %s", i+1, mail.id)
		}
		c.say(".")
	case word == "LIST":
		c.say("+OK")
		for i, mail := range c.drop {
			size := mail.size
			if size == 0 {
				size = len(mail.raw)
			}
			c.say("%d %d", i+1, size)
		}
		c.say(".")
	case (word == "RETR" || word == "TOP") && (number < 1 || number > len(c.drop)):
		c.say("-ERR no such message")
	case word == "RETR":
		c.say("+OK\r\n%s", stuffed(c.drop[number-1].raw))
	case word == "TOP":
		header, _, _ := strings.Cut(c.drop[number-1].raw, "\r\n\r\n")
		c.say("+OK\r\n%s", stuffed(header+"\r\n\r\n"))
	default:
		c.say("+OK")
	}
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

func (f *fakeServer) set(mails []fakeMail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mails = mails
}

func fakeTexts(mails []fakeMail) []string {
	var texts []string
	for _, mail := range mails {
		texts = append(texts, mail.raw)
	}
	return texts
}
