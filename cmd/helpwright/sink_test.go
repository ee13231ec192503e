package main

import (
	"bufio"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// sink is an SMTP server that accepts everything and counts by Message-ID.
type sink struct {
	address string
	delay   time.Duration // before a mail is read
	gate    sync.RWMutex  // that mails pass

	mu       sync.Mutex
	accepted map[string]int
	replies  map[string]string // Reply-To
}

func newSink(t *testing.T, delay time.Duration) *sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &sink{address: l.Addr().String(), delay: delay, accepted: map[string]int{}, replies: map[string]string{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

// hold has mails wait before they are read, until the returned function is called.
func (s *sink) hold() (release func()) {
	s.gate.Lock()
	return s.gate.Unlock
}

func (s *sink) serve(conn net.Conn) {
	defer conn.Close()
	c := textproto.NewConn(conn)
	_ = c.PrintfLine("220 sink ESMTP")
	for {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		switch verb, _, _ := strings.Cut(strings.ToUpper(line), " "); verb {
		case "EHLO", "HELO":
			_ = c.PrintfLine("250-sink\r\n250-8BITMIME\r\n250 SMTPUTF8")
		case "DATA":
			time.Sleep(s.delay)
			s.gate.RLock()
			s.gate.RUnlock() //nolint:staticcheck // it is a gate
			_ = c.PrintfLine("354 go on")
			lines, err := c.ReadDotLines()
			if err != nil {
				return
			}
			s.accept(lines) // before the answer: from here on the mail is delivered
			if c.PrintfLine("250 taken") != nil {
				return
			}
		case "QUIT":
			_ = c.PrintfLine("221 bye")
			return
		default:
			_ = c.PrintfLine("250 fine")
		}
	}
}

func (s *sink) accept(lines []string) {
	header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.Join(lines, "\r\n") + "\r\n\r\n"))).ReadMIMEHeader()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.accepted[fmt.Sprintf("unreadable: %v", err)]++
		return
	}
	s.accepted[header.Get("Message-Id")]++
	s.replies[header.Get("Message-Id")] = header.Get("Reply-To")
}

// replyTo returns the address for replies to a mail, by its Message-ID; "" if it is its From.
func (s *sink) replyTo(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := mail.ParseAddress(s.replies["<"+id+">"])
	if err != nil {
		return ""
	}
	return a.Address
}

// counts returns how many mails were accepted, and how many more often than once.
func (s *sink) counts() (mails, again int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.accepted {
		again += n - 1
	}
	return len(s.accepted), again
}
