package bench

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// sink is an SMTP server that accepts every mail and discards it.
type sink struct {
	listener net.Listener
	taken    atomic.Int64 // number of mails
	mu       sync.Mutex
	open     map[net.Conn]bool
}

func newSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{listener: l, open: map[net.Conn]bool{}}
	go s.serve()
	return s, nil
}

func (s *sink) port() int {
	addr, _ := s.listener.Addr().(*net.TCPAddr) // of a TCP listener
	return addr.Port
}

func (s *sink) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		_ = conn.Close()
	}
	return err
}

func (s *sink) serve() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.open[conn] = true
		s.mu.Unlock()
		go s.talk(conn)
	}
}

func (s *sink) talk(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, conn)
	}()
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	say := func(text string) { _, _ = out.WriteString(text + "\r\n") } // the next flush fails, too
	say("220 sink")
	for data := false; ; {
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if data {
			if data = text != ".\r\n"; !data {
				s.taken.Add(1)
				say("250 2.0.0 taken")
			}
			continue
		}
		switch verb := strings.ToUpper(strings.Fields(text + " ?")[0]); verb {
		case "EHLO":
			say("250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES")
		case "DATA":
			data = true
			say("354 go on")
		case "QUIT":
			say("221 2.0.0 bye")
			_ = out.Flush()
			return
		default:
			say("250 2.0.0 yes")
		}
	}
}
