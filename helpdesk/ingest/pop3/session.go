package pop3

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-sasl"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// The steps of a *wire.StepError, in addition to those of every protocol.
const (
	StepList  = "list"  // UIDL and LIST
	StepFetch = "fetch" // RETR and TOP
	StepKnown = "known" // Sink.Known
	StepTake  = "take"  // Sink.Take
)

// ErrNoUIDL means that the server has no unique ids (RFC 1939, section 7), so its messages cannot be identified.
var ErrNoUIDL = errors.New("the server has no UIDL: its mails cannot be told apart")

const (
	protocol    = "pop3"
	smallAnswer = 1 << 20
	listAnswer  = 64 << 20
	headerBytes = 1 << 20
	// ahead is the number of pipelined requests. Their commands fit into any network buffer, so a server that writes before it
	// has read them all cannot block.
	ahead = 32
)

// entry is a message of the maildrop.
type entry struct {
	id   string // unique within the maildrop
	size int64  // as reported by the server; -1: unknown
}

// session is one authenticated connection. It is for one goroutine.
type session struct {
	cfg     *Config
	link    *wire.Link
	r       *bufio.Reader
	caps    map[string][]string // by name, with arguments; nil: unknown
	entries []entry             // by number, from 1
	number  map[string]int      // by id
	again   map[string]int      // by id that came more than once: how often
}

// connect dials, secures the connection and logs in. Errors are *wire.StepError, or ctx's.
func connect(ctx context.Context, cfg *Config) (s *session, err error) {
	err = cfg.Authorize(ctx, protocol, func(token string) error {
		s = &session{cfg: cfg}
		if s.link, err = cfg.Connect(ctx, protocol, explain, startTLS); err != nil {
			return err
		}
		s.r = bufio.NewReaderSize(s.link.Plain, 32<<10)
		if err := s.logIn(ctx, token); err != nil {
			s.abort()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func explain(err, cause error) error {
	if errors.Is(err, ErrNoUIDL) {
		return err
	}
	return wire.Explain(err, cause)
}

// startTLS asks the server for TLS (RFC 2595, section 4).
func startTLS(conn net.Conn) error {
	if err := consent(conn); err != nil { // the greeting
		return err
	}
	if _, err := io.WriteString(conn, "STLS\r\n"); err != nil {
		return err
	}
	return consent(conn)
}

func consent(conn net.Conn) error {
	text, err := wire.ReadLine(conn)
	if err != nil {
		return err
	}
	_, err = reply(bufio.NewReader(strings.NewReader(text + "\r\n")))
	return err
}

// logIn waits for the greeting, reads the server's capabilities and logs in.
func (s *session) logIn(ctx context.Context, token string) error {
	err := s.step(ctx, wire.StepGreeting, smallAnswer, 0, func() error {
		if s.cfg.Encryption != mailserver.STARTTLS { // that came before STLS
			if _, err := reply(s.r); err != nil {
				return err
			}
		}
		return s.capabilities()
	})
	if err != nil {
		return err
	}
	return s.step(ctx, wire.StepLogin, smallAnswer, 0, func() error { return s.authenticate(token) })
}

// capabilities requests the capabilities (RFC 2449, section 5); a server may lack the command.
func (s *session) capabilities() error {
	_, err := s.command("CAPA")
	var refused *wire.ReplyError
	if errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		return err
	}
	s.caps = map[string][]string{}
	return list(s.r, func(text string) error {
		if words := strings.Fields(strings.ToUpper(text)); len(words) > 0 && len(s.caps) < 1000 {
			s.caps[words[0]] = words[1:]
		}
		return nil
	})
}

// has reports whether the server announces a capability, with an argument if given.
func (s *session) has(name string, argument ...string) bool {
	arguments, ok := s.caps[name]
	return ok && (len(argument) == 0 || slices.Contains(arguments, argument[0]))
}

func (s *session) authenticate(token string) error {
	switch {
	case s.cfg.Token != nil:
		return s.sasl(s.cfg.Bearer(token, s.has("SASL", sasl.OAuthBearer)))
	case s.has("SASL", sasl.Plain):
		return s.sasl(sasl.NewPlainClient("", s.cfg.Username, s.cfg.Password))
	case s.caps != nil && !s.has("USER"):
		return wire.ErrLoginDisabled
	}
	if _, err := s.command("USER " + s.cfg.Username); err != nil {
		return err
	}
	_, err := s.command("PASS " + s.cfg.Password)
	return err
}

// sasl logs in (RFC 5034). It sends the initial response only on request, since together with the command the line could
// become too long.
func (s *session) sasl(client sasl.Client) error {
	mechanism, response, err := client.Start()
	if err != nil {
		return err
	}
	send := "AUTH " + mechanism
	for first := true; ; first = false {
		if err := s.write(send + "\r\n"); err != nil {
			return err
		}
		text, done, err := challenge(s.r)
		if done || err != nil {
			return err
		}
		if !first {
			if response, err = client.Next(text); err != nil {
				return err
			}
		}
		send = base64.StdEncoding.EncodeToString(response)
	}
}

func (s *session) write(text string) error {
	if err := s.link.Plain.SetWriteDeadline(time.Now().Add(s.cfg.StepTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(s.link.Plain, text)
	return err
}

// command sends a command and reads the first line of the response.
func (s *session) command(text string) (string, error) {
	if err := s.write(text + "\r\n"); err != nil {
		return "", err
	}
	return reply(s.r)
}

func (s *session) step(ctx context.Context, name string, limit, expect int64, do func() error) error {
	return s.link.Step(ctx, name, limit, expect, do)
}

// list reads the list of messages.
func (s *session) list(ctx context.Context) error {
	s.entries, s.number, s.again = nil, map[string]int{}, map[string]int{}
	return s.step(ctx, StepList, listAnswer, listAnswer/64, func() error {
		_, err := s.command("UIDL")
		var refused *wire.ReplyError
		if errors.As(err, &refused) && !refused.Temporary {
			return errors.Join(ErrNoUIDL, err)
		}
		if err != nil {
			return err
		}
		return list(s.r, func(text string) error {
			number, id, err := numbered(text)
			if err != nil || number > maxEntries || len(id) > 1000 {
				return wire.ErrProtocol
			}
			for len(s.entries) < number { // numbers of messages marked as deleted are skipped
				s.entries = append(s.entries, entry{size: -1})
			}
			if s.entries[number-1].id != "" {
				return wire.ErrProtocol
			}
			id = s.unique(id)
			s.entries[number-1].id, s.number[id] = id, number
			return nil
		})
	})
}

// unique makes an id unique that the server, against the RFC, has given to several messages.
func (s *session) unique(id string) string {
	if s.number[id] == 0 {
		return id
	}
	s.again[id]++ // ids contain no blanks, so this cannot collide
	return id + " " + strconv.Itoa(s.again[id]+1)
}

// sizes asks for the sizes of all mails.
func (s *session) sizes(ctx context.Context) error {
	return s.step(ctx, StepList, listAnswer, listAnswer/64, func() error {
		if _, err := s.command("LIST"); err != nil {
			return err
		}
		return list(s.r, func(text string) error {
			number, about, err := numbered(text)
			if err != nil {
				return err
			}
			size, err := strconv.ParseInt(about, 10, 63)
			if err != nil {
				return wire.ErrProtocol
			}
			if number <= len(s.entries) {
				s.entries[number-1].size = size
			}
			return nil
		})
	})
}

// retrieve fetches messages. It returns complete ones even with an error, and omits those that the server rejects.
func (s *session) retrieve(ctx context.Context, mails []entry, size int64) (map[string][]byte, error) {
	got := make(map[string][]byte, len(mails))
	window := 1
	if s.has("PIPELINING") {
		window = ahead
	}
	// Sizes may be estimates: allow for twice as much, and as much again for dot-stuffing.
	limit := 3*size + smallAnswer + int64(len(mails))*maxLine
	err := s.step(ctx, StepFetch, limit, size, func() error {
		for len(mails) > 0 {
			some := mails[:min(window, len(mails))]
			mails = mails[len(some):]
			var commands strings.Builder
			for _, m := range some {
				fmt.Fprintf(&commands, "RETR %d\r\n", s.number[m.id])
			}
			if err := s.write(commands.String()); err != nil {
				return err
			}
			for _, m := range some {
				_, err := reply(s.r)
				var refused *wire.ReplyError
				if errors.As(err, &refused) {
					continue
				}
				if err != nil {
					return err
				}
				raw, err := body(s.r, m.size, s.cfg.MaxMessage)
				if err != nil {
					return err
				}
				got[m.id] = raw
			}
		}
		return nil
	})
	return got, err
}

// alone fetches one message; a rejection is an error.
func (s *session) alone(ctx context.Context, m entry) (raw []byte, err error) {
	limit := 3*max(m.size, s.cfg.MaxMessage) + smallAnswer
	err = s.step(ctx, StepFetch, limit, max(m.size, 0), func() error {
		if _, err := s.command(fmt.Sprintf("RETR %d", s.number[m.id])); err != nil {
			return err
		}
		raw, err = body(s.r, m.size, s.cfg.MaxMessage)
		return err
	})
	return raw, err
}

// header fetches the header of a mail; TOP is optional (RFC 1939, section 7).
func (s *session) header(ctx context.Context, m entry) (raw []byte, err error) {
	err = s.step(ctx, StepFetch, 3*headerBytes, headerBytes, func() error {
		if _, err := s.command(fmt.Sprintf("TOP %d 0", s.number[m.id])); err != nil {
			return err
		}
		raw, err = body(s.r, 0, headerBytes)
		return err
	})
	return raw, err
}

// loginDelay returns the minimum time between two logins that the server requests.
func (s *session) loginDelay() time.Duration {
	if delay := s.caps["LOGIN-DELAY"]; len(delay) > 0 {
		if seconds, err := strconv.Atoi(delay[0]); err == nil && seconds > 0 {
			return min(time.Duration(seconds), 3600) * time.Second
		}
	}
	return 0
}

// alive reports whether the connection is not known to be closed.
func (s *session) alive() bool { return s.link.Why() == nil }

// abort closes the connection at once: without QUIT nothing changes on the server (RFC 1939, section 6).
func (s *session) abort() {
	if s.link != nil {
		s.link.Fail(net.ErrClosed)
	}
}

// quit sends QUIT, unless the server would then delete the messages that were read.
func (s *session) quit(ctx context.Context) {
	if s.alive() && !s.has("EXPIRE", "0") {
		_ = s.step(ctx, "quit", smallAnswer, 0, func() error {
			_, err := s.command("QUIT")
			return err
		})
	}
	s.abort()
}
