package imap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

func once(t *testing.T, source *imap.Source) {
	t.Helper()
	if err := source.Once(t.Context()); err != nil {
		t.Fatalf("Once: %v", err)
	}
}

// A connection cut in the middle of a mail reads as the end of the mail in the client library.
func TestCutMailIsNotDelivered(t *testing.T) {
	t.Parallel()
	for _, upTo := range []int{1, 2, 3} { // the connections that are cut
		t.Run(fmt.Sprint(upTo), func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(5)}
			server.hook = func(c *fakeConn, _, command string) bool {
				if c.number > upTo || !isBody(command) {
					return false
				}
				raw := server.mails[0].raw
				c.say("* 1 FETCH (UID 1 BODY[] {%d}\r\n%s", len(raw), raw[:len(raw)/2])
				_ = c.Close()
				return true
			}
			sink := newSink()
			once(t, newSource(t, server.start(t), sink))
			if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The client library drops a mail whose UID comes after its body, and reports success.
func TestUIDAfterBody(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(5)}
	server.hook = func(c *fakeConn, tag, command string) bool {
		if !isBody(command) {
			return false
		}
		byUID := strings.HasPrefix(command, "UID ")
		set := strings.Fields(strings.TrimPrefix(command, "UID "))[1]
		for _, mail := range selectMails(server.mails, set, byUID) {
			if mail.uid%2 == 0 {
				c.say("* %d FETCH (UID %d BODY[] {%d}\r\n%s)", mail.uid, mail.uid, len(mail.raw), mail.raw)
			} else {
				c.say("* %d FETCH (BODY[] {%d}\r\n%s UID %d)", mail.uid, len(mail.raw), mail.raw, mail.uid)
			}
		}
		c.say("%s OK done", tag)
		return true
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

// Flags that change at the same time are announced with the UID too; the client takes them for the answer.
func TestUnaskedFlagsBeforeTheBody(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	var unasked atomic.Int32
	server.hook = func(c *fakeConn, _, command string) bool {
		if isBody(command) && unasked.Add(1) == 1 {
			c.say(`* 2 FETCH (UID 2 FLAGS (\Seen))`)
		}
		return false
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

// silences are the moments at which a server stops to answer.
var silences = map[string]func(c *fakeConn, command string) bool{
	imap.StepGreeting: func(_ *fakeConn, command string) bool { return command == "GREETING" },
	"capabilities":    func(_ *fakeConn, command string) bool { return command == "CAPABILITY" },
	imap.StepLogin:    func(_ *fakeConn, command string) bool { return strings.HasPrefix(command, "LOGIN") },
	imap.StepSelect:   func(_ *fakeConn, command string) bool { return strings.HasPrefix(command, "EXAMINE") },
	imap.StepSearch:   func(_ *fakeConn, command string) bool { return strings.HasPrefix(command, "UID SEARCH") },
	imap.StepFetch:    func(_ *fakeConn, command string) bool { return isBody(command) },
	"sizes":           func(_ *fakeConn, command string) bool { return strings.Contains(command, "RFC822.SIZE") },
	"middle of a mail": func(c *fakeConn, command string) bool {
		if isBody(command) {
			c.say("* 1 FETCH (UID 1 BODY[] {1000}\r\nSubject: x")
		}
		return isBody(command)
	},
	imap.StepIdle: func(_ *fakeConn, command string) bool { return command == "IDLE" },
	"idling": func(c *fakeConn, command string) bool {
		if command == "IDLE" {
			c.say("+ idling")
		}
		return command == "IDLE"
	},
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	for name, silent := range silences {
		t.Run("Run ends/"+name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{}, 100)
			server := &fakeServer{mails: fakeMails(3), caps: "IDLE"}
			server.hook = func(c *fakeConn, _, command string) bool {
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
		if name == imap.StepIdle || name == "idling" {
			continue
		}
		t.Run("Once ends/"+name, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(3)}
			server.hook = func(c *fakeConn, _, command string) bool {
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
			mails := sink.taken(t, "INBOX")
			if len(mails) > 0 { // logged in, but no mail available: problems, with the readable parts
				for _, mail := range mails {
					if mail.Problem == "" {
						t.Errorf("mail %d is delivered as if it were whole: %q", mail.UID, mail.Raw)
					}
				}
				return
			}
			if !errors.Is(err, imap.ErrTimeout) {
				t.Errorf("got %v, want ErrTimeout", err)
			}
		})
	}
}

// Servers mix up the answers of FETCH commands that are sent without waiting.
func TestFetchesAreNotPipelined(t *testing.T) {
	t.Parallel()
	var early atomic.Int32
	server := &fakeServer{mails: fakeMails(30)}
	server.hook = func(c *fakeConn, _, command string) bool {
		if strings.Contains(command, "FETCH") {
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
			if _, err := c.lines.Peek(1); err == nil {
				early.Add(1)
			}
			_ = c.SetReadDeadline(time.Time{})
		}
		return false
	}
	cfg := server.start(t)
	cfg.BatchSize = 4
	sink := newSink()
	once(t, newSource(t, cfg, sink))
	if n := early.Load(); n > 0 {
		t.Errorf("%d commands were sent before the answer to a FETCH", n)
	}
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

// A response that the client does not understand ends the connection. One such mail must not hold up the others.
func TestMailThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	garbled := map[string]string{
		"unknown item":      "* 3 FETCH (UID 3 X-BOGUS yes BODY[] {3}\r\nabc)",
		"space before )":    "* 3 FETCH (UID 3 BODY[] {3}\r\nabc )",
		"no list":           "* 3 FETCH UID 3",
		"NIL":               "* 3 FETCH (UID 3 BODY[] NIL)",
		"refusal":           "",
		"another mail":      "* 9 FETCH (UID 9 BODY[] {3}\r\nabc)",
		"8 GB":              "* 3 FETCH (UID 3 BODY[] {8589934592}\r\nabc",
		"connection closed": "close",
		"negative":          "* 3 FETCH (UID 3 BODY[] {-1}\r\nabc)",
	}
	for name, answer := range garbled {
		for _, headerToo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/header too %t", name, headerToo), func(t *testing.T) {
				t.Parallel()
				server := &fakeServer{mails: fakeMails(6)}
				server.hook = func(c *fakeConn, tag, command string) bool {
					header := strings.Contains(command, "BODY.PEEK[HEADER]")
					set := strings.Fields(strings.TrimPrefix(command, "UID ") + " x")[1]
					if !isBody(command) && (!header || !headerToo) ||
						!slices.ContainsFunc(selectMails(server.mails, set, true), func(m fakeMail) bool { return m.uid == 3 }) {
						return false
					}
					switch answer {
					case "":
						c.say("%s NO [SERVERBUG] internal error", tag)
					case "close":
						_ = c.Close()
					default:
						c.say("%s", answer)
						c.say("%s OK done", tag)
					}
					return true
				}
				sink := newSink()
				source := newSource(t, server.start(t), sink)
				once(t, source)
				want := fakeTexts(server.mails)
				want[2] = "Subject: mail 3\r\n\r\n"
				if headerToo {
					want[2] = ""
				}
				mails := sink.taken(t, "INBOX")
				if diff := cmp.Diff(want, texts(mails)); diff != "" {
					t.Fatal(diff)
				}
				for _, mail := range mails {
					if (mail.Problem != "") != (mail.UID == 3) {
						t.Errorf("mail %d: problem %q", mail.UID, mail.Problem)
					}
				}
				if st := source.Status().Folders[0]; st.Taken != 6 || st.Problems != 1 {
					t.Errorf("status: %+v", st)
				}
			})
		}
	}
}

// A refusal of a whole batch is no reason to give up its mails.
func TestBatchRefusedMailsFetchedAlone(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(8)}
	server.hook = func(c *fakeConn, tag, command string) bool {
		if !isBody(command) || !strings.ContainsAny(strings.Fields(command)[2], ":,") {
			return false
		}
		c.fetch(1, server.mails[0], command)
		c.say("%s NO some of the messages could not be fetched", tag)
		return true
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
	if n := server.connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestSizesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(4)}
	server.hook = func(c *fakeConn, tag, command string) bool {
		if !strings.Contains(command, "RFC822.SIZE") {
			return false
		}
		if strings.ContainsAny(strings.Fields(command)[2], ":,") {
			c.say("* 1 FETCH (UID 1 RFC822.SIZE huge)")
		} // alone: no size at all
		c.say("%s OK done", tag)
		return true
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

func TestOversize(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(5)}
	server.mails[1].size = 8 << 30
	server.mails[4].raw += strings.Repeat("x", 2000)
	cfg := server.start(t)
	cfg.MaxMessage = 1000
	sink := newSink()
	source := newSource(t, cfg, sink)
	once(t, source)
	want := fakeTexts(server.mails)
	want[1], want[4] = "Subject: mail 2\r\n\r\n", "Subject: mail 5\r\n\r\n"
	mails := sink.taken(t, "INBOX")
	if diff := cmp.Diff(want, texts(mails)); diff != "" {
		t.Fatal(diff)
	}
	if m := mails[1]; !m.Oversize || m.Size != 8<<30 || m.Problem != "" {
		t.Errorf("oversize mail: %+v", m)
	}
	if st := source.Status().Folders[0]; st.Oversize != 2 || st.Taken != 5 {
		t.Errorf("status: %+v", st)
	}
}

// A server that never stops to talk is stopped.
func TestFlood(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"one line": "* OK " + strings.Repeat("x", 1<<16),
		"lines":    strings.Repeat("* 1 EXISTS\r\n", 1<<12),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(1)}
			server.hook = func(c *fakeConn, _, command string) bool {
				if !strings.HasPrefix(command, "EXAMINE") {
					return false
				}
				for {
					if _, err := c.Write([]byte(line)); err != nil {
						return true
					}
				}
			}
			err := newSource(t, server.start(t), newSink()).Once(t.Context())
			if !errors.Is(err, imap.ErrTooMuch) {
				t.Errorf("got %v, want ErrTooMuch", err)
			}
		})
	}
}

// A set with billions of UIDs is not written out in memory, and its end is not run past.
func TestEndlessSearchResult(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: []fakeMail{{uid: 4294967290, raw: "A: 1\r\n\r\n"}, {uid: 4294967295, raw: "A: 2\r\n\r\n"}}}
	server.hook = func(c *fakeConn, tag, command string) bool {
		if strings.HasPrefix(command, "UID SEARCH") {
			c.say(`* ESEARCH (TAG "%s") UID ALL 1:4294967295`, tag)
			c.say("%s OK done", tag)
			return true
		}
		return false
	}
	sink := newSink()
	sink.cursors["INBOX"] = mailserver.Cursor{UIDValidity: 7, UID: 4294967288}
	source := newSource(t, server.start(t), sink)
	once(t, source)
	once(t, source)
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

// A connection that is dead for all but the operating system looks quiet: the folder is looked at anyway.
func TestIdleIsRenewed(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(1), caps: "IDLE"}
	cfg := server.start(t)
	cfg.IdleInterval = 10 * time.Millisecond
	sink := newSink()
	wiretest.Run(t, newSource(t, cfg, sink))
	sink.wait(t, "the first mail", func() bool { return len(sink.mails["INBOX"]) == 1 })
	server.deliver(fakeMails(2)[1]) // and does not announce it
	sink.wait(t, "the second mail", func() bool { return len(sink.mails["INBOX"]) == 2 })
	if n := server.connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestServerWithoutIdle(t *testing.T) {
	t.Parallel()
	for _, caps := range []string{"", "IDLE"} {
		t.Run("capability "+caps, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(1), caps: caps}
			server.hook = func(c *fakeConn, tag, command string) bool {
				if command == "IDLE" {
					c.say("%s NO not today", tag)
				}
				return command == "IDLE"
			}
			cfg := server.start(t)
			cfg.PollInterval, cfg.IdleInterval = 10*time.Millisecond, 10*time.Millisecond
			sink := newSink()
			wiretest.Run(t, newSource(t, cfg, sink))
			sink.wait(t, "the first mail", func() bool { return len(sink.mails["INBOX"]) == 1 })
			server.deliver(fakeMails(2)[1])
			sink.wait(t, "the second mail", func() bool { return len(sink.mails["INBOX"]) == 2 })
			if n := server.connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// A mail that another client removes while it is being fetched is passed over.
func TestRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(6)}
	all := slices.Clone(server.mails)
	server.hook = func(c *fakeConn, _, command string) bool {
		if isBody(command) {
			c.mu.Lock()
			c.mails = slices.DeleteFunc(c.mails, func(m fakeMail) bool { return m.uid == 2 || m.uid == 6 })
			c.mu.Unlock()
		}
		return false
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	want := []string{all[0].raw, all[2].raw, all[3].raw, all[4].raw}
	if diff := cmp.Diff(want, texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
	if got, want := sink.cursors["INBOX"], (mailserver.Cursor{UIDValidity: 7, UID: 6}); got != want {
		t.Errorf("cursor %+v, want %+v", got, want)
	}
}

func TestFolderWithoutUIDValidity(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(1)}
	server.hook = func(c *fakeConn, tag, command string) bool {
		if strings.HasPrefix(command, "EXAMINE") {
			c.say("* 1 EXISTS\r\n%s OK done", tag)
			return true
		}
		return false
	}
	if err := newSource(t, server.start(t), newSink()).Once(t.Context()); !errors.Is(err, imap.ErrNoUIDs) {
		t.Errorf("got %v, want ErrNoUIDs", err)
	}
}

// Mails that were not stored are fetched again.
func TestSinkFails(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	sink := newSink()
	sink.takeErr = errors.New("disk full")
	source := newSource(t, server.start(t), sink)
	var step *imap.StepError
	if err := source.Once(t.Context()); !errors.As(err, &step) || step.Step != "take INBOX" {
		t.Fatalf("got %v, want a StepError of take", err)
	}
	sink.takeErr = nil
	once(t, source)
	once(t, source) // the last mail is in every range that ends with *, and not delivered again
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsChangedOnTheServer(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	once(t, newSource(t, server.start(t), newSink()))
	for _, command := range server.heard() {
		for _, word := range []string{"SELECT", "STORE", "BODY[", "EXPUNGE", "CLOSE", "MOVE", "RFC822 "} {
			if strings.Contains(command, word) {
				t.Errorf("the command %q may change a mail", command)
			}
		}
	}
}

func TestFetchAgain(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	source := newSource(t, server.start(t), newSink())
	mail, err := source.Fetch(t.Context(), "INBOX", mailserver.Cursor{UIDValidity: 7, UID: 2})
	if err != nil || string(mail.Raw) != server.mails[1].raw {
		t.Errorf("Fetch: %q, %v", mail.Raw, err)
	}
	for _, at := range []mailserver.Cursor{{UIDValidity: 7, UID: 9}, {UIDValidity: 8, UID: 2}} {
		if _, err := source.Fetch(t.Context(), "INBOX", at); !errors.Is(err, imap.ErrGone) {
			t.Errorf("Fetch of %+v: %v, want ErrGone", at, err)
		}
	}
}

// No deadline but the context's ends this.
func TestOnceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	ctx, cancel := context.WithCancel(t.Context())
	server.hook = func(c *fakeConn, _, command string) bool {
		if isBody(command) {
			cancel()
			_, _ = c.lines.ReadString(0)
			return true
		}
		return false
	}
	cfg := server.start(t)
	cfg.StepTimeout = time.Hour
	sink := newSink()
	if err := newSource(t, cfg, sink).Once(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if n := len(sink.taken(t, "INBOX")); n != 0 {
		t.Errorf("%d mails were delivered", n)
	}
}

// The cursor moves past deleted mails, even if nothing is left to deliver.
func TestAllRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(2)}
	server.hook = func(c *fakeConn, _, command string) bool {
		if isBody(command) {
			c.mu.Lock()
			c.mails = nil
			c.mu.Unlock()
		}
		return false
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if got, want := sink.cursors["INBOX"], (mailserver.Cursor{UIDValidity: 7, UID: 2}); got != want || len(sink.mails["INBOX"]) > 0 {
		t.Errorf("cursor %+v and %d mails, want %+v and none", got, len(sink.mails["INBOX"]), want)
	}
}

// Folder names are encoded by revision 2 for a server that supports it, after enabling it.
func TestRevision2IsEnabled(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(1), caps: "IMAP4rev2"}
	once(t, newSource(t, server.start(t), newSink()))
	if !slices.ContainsFunc(server.heard(), func(c string) bool { return strings.EqualFold(c, "ENABLE IMAP4rev2") }) {
		t.Errorf("no ENABLE among %q", server.heard())
	}
}
