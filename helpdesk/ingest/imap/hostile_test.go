package imap_test

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

const deep = 1 << 20 // brackets

// hostile has unsolicited responses of a server. Most of them would end the process or take hundreds of megabytes if they
// reached the client library.
var hostile = map[string]string{
	"body structure":           "* 1 FETCH (UID 1 BODYSTRUCTURE " + strings.Repeat("(", deep),
	"body structure of parts":  "* 1 FETCH (BODYSTRUCTURE " + strings.Repeat("((", deep/2),
	"body":                     "* 1 FETCH (BODY " + strings.Repeat("(", deep),
	"body structure, messages": "* 1 FETCH (BODYSTRUCTURE " + strings.Repeat(`("message" "rfc822" NIL NIL NIL "7bit" 1 (NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL) `, deep/80),
	"body extension":           `* 1 FETCH (BODYSTRUCTURE ("text" "plain" NIL NIL NIL "7bit" 1 1 NIL NIL NIL NIL ` + strings.Repeat("(", deep),
	"envelope":                 "* 1 FETCH (ENVELOPE (" + strings.Repeat("(", deep),
	"envelope literal":         "* 1 FETCH (ENVELOPE ({4000000000}\r\n",
	"flags":                    "* 1 FETCH (FLAGS " + strings.Repeat("(", deep),
	"many flags":               "* 1 FETCH (FLAGS (" + strings.Repeat(`\A `, deep),
	"modseq":                   "* 1 FETCH (MODSEQ " + strings.Repeat("(", deep),
	"header fields":            "* 1 FETCH (BODY[HEADER.FIELDS " + strings.Repeat("(", deep),
	"section":                  "* 1 FETCH (BODY[" + strings.Repeat("1.", deep),
	"binary":                   "* 1 FETCH (BINARY[1] ~{4000000000}\r\n",
	"binary size":              "* 1 FETCH (BINARY.SIZE[" + strings.Repeat("1.", deep),
	"unknown attribute":        "* 1 FETCH (X-NESTED " + strings.Repeat("(", deep),
	"number and list":          "* 1 LIST " + strings.Repeat("(", deep),
	"list":                     "* LIST " + strings.Repeat("(", deep),
	"list extended":            `* LIST () "/" x ` + strings.Repeat("(", deep),
	"list literal":             "* LIST () \"/\" {70000}\r\n" + strings.Repeat("((((((\r\n", 70000/8) + strings.Repeat("x", 70000%8) + " (",
	"lsub":                     "* LSUB " + strings.Repeat("(", deep),
	"status":                   "* STATUS x " + strings.Repeat("(", deep),
	"namespace":                "* NAMESPACE " + strings.Repeat("(", deep),
	"id":                       "* ID " + strings.Repeat("(", deep),
	"thread":                   "* THREAD " + strings.Repeat("(", deep),
	"sort":                     "* SORT " + strings.Repeat("1 ", deep),
	"metadata":                 "* METADATA x " + strings.Repeat("(", deep),
	"quota":                    "* QUOTA x " + strings.Repeat("(", deep),
	"quota root":               "* QUOTAROOT " + strings.Repeat("x ", deep),
	"acl":                      "* ACL x " + strings.Repeat("x ", deep),
	"myrights":                 "* MYRIGHTS " + strings.Repeat("(", deep),
	"vanished":                 "* VANISHED (EARLIER) " + strings.Repeat("1:2,", deep/4) + "9",
	"esearch":                  "* ESEARCH (TAG \"x\") UID X-NESTED " + strings.Repeat("(", deep),
	"esearch correlator":       "* ESEARCH " + strings.Repeat("(", deep),
	"esearch set":              "* ESEARCH UID ALL " + strings.Repeat("4294967295,1,", deep/13) + "1",
	"search downwards":         "* SEARCH " + strings.Repeat("4294967295 1 ", deep/13),
	"search modseq":            "* SEARCH " + strings.Repeat("(", deep),
	"flags of the folder":      "* FLAGS " + strings.Repeat("(", deep),
	"permanent flags":          "* OK [PERMANENTFLAGS " + strings.Repeat("(", deep) + "]",
	"capability":               "* CAPABILITY " + strings.Repeat("(", deep),
	"many capabilities":        "* CAPABILITY " + strings.Repeat("A=1 ", deep/4),
	"capability code":          "* OK [CAPABILITY " + strings.Repeat("(", deep),
	"enabled":                  "* ENABLED " + strings.Repeat("(", deep),
	"code without end":         "* OK [X " + strings.Repeat("(", deep),
	"text":                     "* OK " + strings.Repeat("x", deep),
	"text literal":             "* OK {4000000000}",
	"unknown":                  "* X-NESTED " + strings.Repeat("(", deep),
	"number":                   "* " + strings.Repeat("9", deep) + " EXISTS",
	"tag":                      strings.Repeat("x", deep) + " OK",
	"continuation":             "+ " + strings.Repeat("x", deep),
	"no kind":                  "* " + strings.Repeat("(", deep),
	"no space":                 "*" + strings.Repeat("(", deep),
	"quoted section":           "* 1 FETCH (BODY[] \"" + strings.Repeat("x", deep),
	"quoted over lines":        "* 1 FETCH (UID 1 BODY[] \"\r\n* THREAD " + strings.Repeat("(", deep),
	// The library reads a code up to its bracket, over the ends of lines: the mail behind it would become protocol.
	"code over lines": "* OK [X\r\n* 1 FETCH (UID 1 BODY[] {" + fmt.Sprint(deep+11) + "}\r\n]\r\n* THREAD " + strings.Repeat("(", deep) + ")",
}

// TestHostileServer has a server send each of these before it answers any command: the process survives, and the mails are
// either read or the server is given up.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"GREETING", "CAPABILITY", "LOGIN", "EXAMINE", "UID SEARCH", "UID FETCH"} {
		for name, said := range hostile {
			t.Run(before+"/"+name, func(t *testing.T) {
				t.Parallel()
				server := &fakeServer{mails: fakeMails(3)}
				server.hook = func(c *fakeConn, _, command string) bool {
					if strings.HasPrefix(command, before) {
						c.say("%s", said)
					}
					return false
				}
				sink := newSink()
				cfg := server.start(t)
				cfg.BackoffMin, cfg.BackoffMax = 1, 1
				err := newSource(t, cfg, sink).Once(t.Context())
				mails := sink.taken(t, "INBOX")
				if err != nil {
					if !errors.Is(err, imap.ErrProtocol) && !errors.Is(err, imap.ErrTooMuch) {
						t.Errorf("got %v", err)
					}
					return
				}
				for i, mail := range mails {
					if mail.Problem == "" && string(mail.Raw) != server.mails[i].raw {
						t.Errorf("mail %d is %q", mail.UID, mail.Raw)
					}
				}
				if len(mails) != len(server.mails) {
					t.Errorf("%d mails", len(mails))
				}
			})
		}
	}
}

// TestUnaskedDataIsHarmless has unsolicited responses that servers may send at any time.
func TestUnaskedDataIsHarmless(t *testing.T) {
	t.Parallel()
	said := []string{
		`* 2 FETCH (UID 2 FLAGS (\Seen $Junk) MODSEQ (624140003))`, `* 1 FETCH (FLAGS ())`, `* 3 fetch (flags (\seen))`, "* 3 EXISTS", "* 1 RECENT",
		`* LIST (\HasNoChildren) "/" INBOX`, "* LIST () \"/\" {5}\r\nINBOX", `* STATUS "a folder" (MESSAGES 3)`, `* FLAGS (\Seen \*)`,
		`* OK [PERMANENTFLAGS (\Seen \*)] limited`, "* OK [ALERT] the disk (nearly) is full", "* NO [X-Y {9}] beware", "* VANISHED 41,43:116",
		"* OK {100}", "* ENABLED", "* X-SOMETHING (of \"the\" {7}\r\nserver's)", "* OK", "* OK [HIGHESTMODSEQ 715194045007] highest",
	}
	for _, before := range []string{"CAPABILITY", "LOGIN", "EXAMINE", "UID SEARCH", "UID FETCH"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(3)}
			server.hook = func(c *fakeConn, _, command string) bool {
				if strings.HasPrefix(command, before) {
					c.say("%s", strings.Join(said, "\r\n"))
				}
				return false
			}
			sink := newSink()
			once(t, newSource(t, server.start(t), sink))
			if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
				t.Error(diff)
			}
			if n := server.connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// TestSearchAnswers has the forms of an answer to UID SEARCH.
func TestSearchAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"* SEARCH 1 2 3", "* SEARCH 3 2 1 (MODSEQ 917162500)", "* search 2 1\r\n* SEARCH 3", "* SEARCH 1 2 3 ", "* SEARCH 2 2 1 3 1",
		`* ESEARCH (TAG "T1") UID ALL 1:3`, `* ESEARCH (TAG "T1") UID COUNT 3 ALL 3,1:2 MODSEQ 9`, "* ESEARCH UID ALL 3:1", "* ESEARCH UID MIN 1 ALL 2,1:2,3",
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(3)}
			server.hook = func(c *fakeConn, tag, command string) bool {
				if strings.HasPrefix(command, "UID SEARCH") {
					c.say("%s\r\n%s OK done", answer, tag)
					return true
				}
				return false
			}
			sink := newSink()
			once(t, newSource(t, server.start(t), sink))
			if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSilentConnectionShows: a connection that has died without a word, while the client waits for mail, is known to be dead
// after one pulse.
func TestSilentConnectionShows(t *testing.T) {
	t.Parallel()
	for _, caps := range []string{"IDLE", ""} {
		t.Run("capabilities "+caps, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(1), caps: caps}
			cfg := server.start(t)
			proxy := testnet.NewProxy(t, fmt.Sprintf("127.0.0.1:%d", cfg.Port))
			_, port, err := net.SplitHostPort(proxy.Addr())
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Port, err = strconv.Atoi(port); err != nil {
				t.Fatal(err)
			}
			cfg.PulseInterval, cfg.StepTimeout = 20*time.Millisecond, 2*time.Second
			cfg.PollInterval, cfg.IdleInterval = time.Hour, time.Hour
			sink := newSink()
			source := newSource(t, cfg, sink)
			wiretest.Run(t, source)
			testenv.Eventually(t, "all is read", func() bool { return !source.Status().LastSuccess.IsZero() })
			proxy.Freeze()
			testenv.Eventually(t, "it shows", func() bool { st := source.Status(); return !st.Connected && errors.Is(st.LastError, imap.ErrTimeout) })
			proxy.Pass()
			testenv.Eventually(t, "it is connected again", func() bool { return source.Status().Connected })
		})
	}
}
