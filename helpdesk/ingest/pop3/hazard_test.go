package pop3_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
)

// A connection cut in the middle of a mail is no end of it.
func TestCutMailIsNotDelivered(t *testing.T) {
	t.Parallel()
	for _, upTo := range []int{1, 2, 3} { // the connections that are cut
		for _, caps := range [][]string{nil, {"USER", "PIPELINING"}} {
			t.Run(fmt.Sprint(upTo, caps), func(t *testing.T) {
				t.Parallel()
				server := &fakeServer{mails: fakeMails(5), caps: caps}
				server.hook = func(c *fakeConn, command string) bool {
					if c.number > upTo || command != "RETR 3" {
						return false
					}
					raw := c.drop[2].raw
					_, _ = c.Write([]byte("+OK\r\n" + raw[:len(raw)/2]))
					_ = c.Close()
					return true
				}
				sink := newSink()
				once(t, newSource(t, server.start(t), sink))
				if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken())); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// One mail that cannot be had must not hold up the others.
func TestMailThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"refusal": "-ERR it is broken", "junk": "* what", "closed": "close", "endless": "endless", "list answer": "+OK\r\n1 2\r\nx",
	}
	for name, answer := range answers {
		for _, headerToo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/header too %t", name, headerToo), func(t *testing.T) {
				t.Parallel()
				server := &fakeServer{mails: fakeMails(6), caps: []string{"USER", "PIPELINING"}}
				server.hook = func(c *fakeConn, command string) bool {
					if command != "RETR 3" && (command != "TOP 3 0" || !headerToo) {
						return false
					}
					switch answer {
					case "close":
						_ = c.Close()
					case "endless":
						c.say("+OK")
						for {
							if _, err := c.Write([]byte(strings.Repeat("x", 1<<10) + "\r\n")); err != nil {
								return true
							}
						}
					default:
						c.say("%s", answer)
					}
					if answer == answers["list answer"] {
						_ = c.Close()
					}
					return true
				}
				cfg := server.start(t)
				cfg.MaxMessage = 1 << 16
				sink := newSink()
				source := newSource(t, cfg, sink)
				once(t, source)
				byID := map[string]pop3.Mail{}
				for _, m := range sink.taken() {
					byID[m.ID] = m
				}
				for i, m := range server.mails {
					got, want := byID[m.id], m.raw
					if i == 2 {
						want = "Subject: mail 3\r\n\r\n"
						if headerToo {
							want = ""
						}
						if got.Problem == "" && !got.Oversize {
							t.Error("mail 3 is delivered as if it were whole")
						}
					}
					if string(got.Raw) != want {
						t.Errorf("mail %d: %q, want %q", i+1, got.Raw, want)
					}
				}
				if len(sink.taken()) != 6 {
					t.Errorf("%d mails were delivered", len(sink.taken()))
				}
			})
		}
	}
}

// Temporary failures are retried, and do not hold up the other mails.
func TestTemporaryRefusal(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(4), caps: []string{"USER", "PIPELINING", "RESP-CODES"}}
	server.hook = func(c *fakeConn, command string) bool {
		if c.number > 1 || command != "RETR 2" {
			return false
		}
		c.say("-ERR [SYS/TEMP] not now")
		return true
	}
	sink := newSink()
	source := newSource(t, server.start(t), sink)
	var reply *wire.ReplyError
	if err := source.Once(t.Context()); !errors.As(err, &reply) || reply.Code != "SYS/TEMP" || !reply.Temporary {
		t.Errorf("got %v, want the refusal", err)
	}
	if n := len(sink.taken()); n != 3 {
		t.Errorf("%d mails came, want 3", n)
	}
	once(t, source)
	if got := sink.taken(); len(got) != 4 || got[3].ID != "id2" || got[3].Problem != "" {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	for answer, reauth := range map[string]bool{
		"-ERR [AUTH] no":                  true,
		"-ERR go away":                    true,
		"-ERR [IN-USE] somebody is there": false,
		"-ERR [LOGIN-DELAY] too soon":     false,
		"-ERR [SYS/TEMP] later":           false,
	} {
		server := &fakeServer{}
		server.hook = func(c *fakeConn, command string) bool {
			if strings.HasPrefix(command, "PASS") {
				c.say("%s", answer)
			}
			return strings.HasPrefix(command, "PASS")
		}
		err := pop3.Test(t.Context(), server.start(t))
		var step *wire.StepError
		if !errors.As(err, &step) || step.Step != wire.StepLogin || wire.NeedsReauth(err) != reauth {
			t.Errorf("%s: %v, needs other credentials %t", answer, err, wire.NeedsReauth(err))
		}
	}
}

func TestOversize(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(5)}
	server.mails[1].size = 8 << 30
	server.mails[3].raw += strings.Repeat("x", 2000) + "\r\n"
	server.mails[3].size = 10 // as reported
	server.mails[4].raw += strings.Repeat("x", 2000) + "\r\n"
	cfg := server.start(t)
	cfg.MaxMessage = 1000
	sink := newSink()
	source := newSource(t, cfg, sink)
	once(t, source)
	want := fakeTexts(server.mails)
	want[1], want[3], want[4] = "Subject: mail 2\r\n\r\n", "Subject: mail 4\r\n\r\n", "Subject: mail 5\r\n\r\n"
	if diff := cmp.Diff(want, texts(sink.taken())); diff != "" {
		t.Fatal(diff)
	}
	if st := source.Status(); st.Oversize != 3 || st.Taken != 5 || st.Problems != 0 {
		t.Errorf("status: %+v", st)
	}
}

// silences are the moments at which a server stops to answer.
var silences = []string{"GREETING", "CAPA", "USER", "PASS", "UIDL", "LIST", "RETR", "middle"}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	for _, moment := range silences {
		silent := func(c *fakeConn, command string) bool {
			if moment == "middle" && strings.HasPrefix(command, "RETR") {
				c.say("+OK\r\nSubject: x")
				return true
			}
			return strings.HasPrefix(command, moment)
		}
		t.Run("Run ends/"+moment, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{}, 100)
			server := &fakeServer{mails: fakeMails(3), caps: []string{"USER"}}
			server.hook = func(c *fakeConn, command string) bool {
				if !silent(c, command) {
					return false
				}
				reached <- struct{}{}
				_, _ = c.lines.ReadString(0) // until the client goes
				return true
			}
			cfg := server.start(t)
			cfg.StepTimeout = time.Hour
			stop := wiretest.Run(t, newSource(t, cfg, newSink()))
			<-reached
			stop() // fails when Run does not end
		})
		t.Run("Once ends/"+moment, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(3), caps: []string{"USER"}}
			server.hook = func(c *fakeConn, command string) bool {
				if silent(c, command) {
					_, _ = c.lines.ReadString(0)
					return true
				}
				return false
			}
			cfg := server.start(t)
			cfg.StepTimeout = 300 * time.Millisecond
			sink := newSink()
			err := newSource(t, cfg, sink).Once(t.Context())
			for _, mail := range sink.taken() {
				if mail.Problem == "" {
					t.Errorf("mail %s is delivered as if it were whole: %q", mail.ID, mail.Raw)
				}
			}
			if len(sink.taken()) == 0 && !errors.Is(err, wire.ErrTimeout) {
				t.Errorf("got %v, want ErrTimeout", err)
			}
		})
	}
}

// A server that never stops to talk is stopped.
func TestFlood(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]struct{ command, text string }{
		"greeting":          {"GREETING", strings.Repeat("x", 1<<16)},
		"capabilities":      {"CAPA", "+OK\r\n" + strings.Repeat("x\r\n", 1<<14)},
		"one line of ids":   {"UIDL", "+OK\r\n" + strings.Repeat("x", 1<<16)},
		"ids without end":   {"UIDL", "+OK\r\n" + strings.Repeat("1048576 x\r\n", 1<<12)},
		"sizes without end": {"LIST", "+OK\r\n" + strings.Repeat("1 1\r\n", 1<<14)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(1), caps: []string{"USER"}}
			server.hook = func(c *fakeConn, command string) bool {
				if command != flood.command {
					return false
				}
				text := []byte(flood.text)
				for {
					if _, err := c.Write(text); err != nil {
						return true
					}
					text = []byte(strings.TrimPrefix(flood.text, "+OK\r\n"))
				}
			}
			err := newSource(t, server.start(t), newSink()).Once(t.Context())
			if !errors.Is(err, wire.ErrTooMuch) && !errors.Is(err, wire.ErrProtocol) {
				t.Errorf("got %v, want ErrTooMuch or ErrProtocol", err)
			}
		})
	}
}

func TestServerWithoutIDs(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(1)}
	server.hook = func(c *fakeConn, command string) bool {
		if command == "UIDL" {
			c.say("-ERR what?")
		}
		return command == "UIDL"
	}
	if err := newSource(t, server.start(t), newSink()).Once(t.Context()); !errors.Is(err, pop3.ErrNoUIDL) {
		t.Errorf("got %v, want ErrNoUIDL", err)
	}
}

// Mails that were not stored are fetched again.
func TestSinkFails(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	sink := newSink()
	sink.takeErr = errors.New("disk full")
	source := newSource(t, server.start(t), sink)
	var step *wire.StepError
	if err := source.Once(t.Context()); !errors.As(err, &step) || step.Step != pop3.StepTake {
		t.Fatalf("got %v, want a StepError of take", err)
	}
	sink.takeErr = nil
	once(t, source)
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken())); diff != "" {
		t.Error(diff)
	}
}

func TestFetchAgain(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	source := newSource(t, server.start(t), newSink())
	mail, err := source.Fetch(t.Context(), "id2")
	if err != nil || string(mail.Raw) != server.mails[1].raw {
		t.Errorf("Fetch: %q, %v", mail.Raw, err)
	}
	if _, err := source.Fetch(t.Context(), "id9"); !errors.Is(err, wire.ErrGone) {
		t.Errorf("Fetch of what is gone: %v, want ErrGone", err)
	}
}

func TestOnceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	ctx, cancel := context.WithCancel(t.Context())
	server.hook = func(c *fakeConn, command string) bool {
		if !strings.HasPrefix(command, "RETR") {
			return false
		}
		cancel()
		_, _ = c.lines.ReadString(0)
		return true
	}
	cfg := server.start(t)
	cfg.StepTimeout = time.Hour
	sink := newSink()
	if err := newSource(t, cfg, sink).Once(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if n := len(sink.taken()); n != 0 {
		t.Errorf("%d mails were delivered", n)
	}
}
