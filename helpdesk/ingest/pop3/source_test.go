package pop3_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
)

// Mails are fetched once, whatever numbers they have in the next session.
func TestMailsAreKnownByTheirID(t *testing.T) {
	t.Parallel()
	all := fakeMails(700)
	server := &fakeServer{caps: []string{"USER", "UIDL"}}
	server.set(all[:600])
	sink := newSink()
	source := newSource(t, server.start(t), sink)
	once(t, source)
	server.set(all[300:])
	once(t, source)
	once(t, source)
	if diff := cmp.Diff(fakeTexts(all), texts(sink.taken())); diff != "" {
		t.Error(diff)
	}
	for _, command := range server.heard() {
		if strings.HasPrefix(command, "DELE") || strings.HasPrefix(command, "RSET") {
			t.Errorf("the command %q may change the maildrop", command)
		}
	}
}

// Bytes are kept as they are, but for the dots that the protocol puts before lines.
func TestBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 32<<10-1)
	bodies := []string{
		"A: b\r\n\r\n.\r\n..\r\n...x\r\n", "A: bare\n\n.\n..\nx\r\n", "A: cr\r\r\n\r\nx\r\r\n", "\r\n", ".\r\n", "A: 8 bit \xff\x80\r\n",
		long + "\r\n.\r\n", long + "x\r\n.dot\r\n", long[1:] + "\r\n..\r\n", "A: \n" + long + "\r\n.\r\n", strings.Repeat(".\r\n", 30<<10),
		"no end\r", "dot at the end\n.",
	}
	server := &fakeServer{}
	var want []string
	for i, raw := range bodies {
		server.mails = append(server.mails, fakeMail{id: fmt.Sprint(i), raw: raw})
		if !strings.HasSuffix(raw, "\r\n") {
			raw += "\r\n" // the protocol cannot do without
		}
		want = append(want, raw)
	}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if diff := cmp.Diff(want, texts(sink.taken())); diff != "" {
		t.Errorf("%.2000s", diff)
	}
}

// Commands are pipelined only if the server supports it.
func TestPipelining(t *testing.T) {
	t.Parallel()
	for _, offered := range []bool{false, true} {
		t.Run(fmt.Sprint(offered), func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{mails: fakeMails(100), caps: []string{"USER"}}
			if offered {
				server.caps = append(server.caps, "PIPELINING")
			}
			early := 0 // of one connection: no lock
			server.hook = func(c *fakeConn, command string) bool {
				if strings.HasPrefix(command, "RETR") && c.lines.Buffered() > 0 {
					early++
				}
				return false
			}
			sink := newSink()
			once(t, newSource(t, server.start(t), sink))
			if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken())); diff != "" {
				t.Error(diff)
			}
			if (early > 0) != offered {
				t.Errorf("%d commands were sent ahead", early)
			}
		})
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(50), caps: []string{"USER", "PIPELINING"}}
	cfg := server.start(t)
	cfg.BatchSize, cfg.BatchBytes = 7, 200
	sink := newSink()
	once(t, newSource(t, cfg, sink))
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken())); diff != "" {
		t.Error(diff)
	}
	if most := slices.Max(sink.batches); most > 7 {
		t.Errorf("a batch of %d mails", most)
	}
}

// A server must not give an id twice; where it does, no mail is lost.
func TestSameIDTwice(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(4)}
	server.mails[2].id = server.mails[1].id
	sink := newSink()
	source := newSource(t, server.start(t), sink)
	once(t, source)
	once(t, source)
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken())); diff != "" {
		t.Error(diff)
	}
}

// A server that deletes read mails by itself is not told that reading has succeeded.
func TestServerThatDeletesIsNotQuit(t *testing.T) {
	t.Parallel()
	for expire, quit := range map[string]bool{"EXPIRE 0": false, "EXPIRE NEVER": true, "EXPIRE 30": true} {
		server := &fakeServer{mails: fakeMails(1), caps: []string{"USER", expire}}
		once(t, newSource(t, server.start(t), newSink()))
		if slices.Contains(server.heard(), "QUIT") != quit {
			t.Errorf("%s: the server heard %q", expire, server.heard())
		}
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		caps  []string
		hook  func(c *fakeConn, command string) bool
		token bool
		want  []string // commands of the login
		is    error
	}{
		{name: "no CAPA", want: []string{"USER user@example.org", "PASS secret"}},
		{name: "USER", caps: []string{"USER"}, want: []string{"USER user@example.org", "PASS secret"}},
		{name: "PLAIN", caps: []string{"SASL LOGIN PLAIN", "USER"}, want: []string{"AUTH PLAIN", "AHVzZXJAZXhhbXBsZS5vcmcAc2VjcmV0"},
			hook: func(c *fakeConn, command string) bool {
				if strings.HasPrefix(command, "AUTH") {
					c.say("+ ")
				}
				return strings.HasPrefix(command, "AUTH")
			}},
		{name: "nothing that we have", caps: []string{"SASL GSSAPI"}, is: wire.ErrLoginDisabled},
		{name: "token, the mechanism of most", caps: []string{"SASL PLAIN XOAUTH2"}, token: true,
			want: []string{"AUTH XOAUTH2", "dXNlcj11c2VyQGV4YW1wbGUub3JnAWF1dGg9QmVhcmVyIHRva2VuAQE="},
			hook: func(c *fakeConn, command string) bool {
				if strings.HasPrefix(command, "AUTH") {
					c.say("+")
				}
				return strings.HasPrefix(command, "AUTH")
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{caps: test.caps, hook: test.hook}
			cfg := server.start(t)
			if test.token {
				cfg.Token = func(context.Context, bool) (string, error) { return "token", nil }
			}
			if err := pop3.Test(t.Context(), cfg); !errors.Is(err, test.is) || (err != nil) != (test.is != nil) {
				t.Fatalf("got %v, want %v", err, test.is)
			}
			if heard := server.heard(); test.is == nil {
				if diff := cmp.Diff(test.want, heard[1:min(len(heard), 3)]); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A token that the server refuses is renewed once, over another connection.
func TestTokenIsRenewed(t *testing.T) {
	t.Parallel()
	server := &fakeServer{caps: []string{"SASL OAUTHBEARER"}}
	server.hook = func(c *fakeConn, command string) bool {
		switch {
		case strings.HasPrefix(command, "AUTH"):
			c.say("+ ")
		case command == "AQ==": // the answer to the reason
			c.say("-ERR [AUTH] no")
		case c.number == 1 && strings.HasPrefix(command, "bixh"): // n,a=
			c.say("+ eyJzdGF0dXMiOiJpbnZhbGlkX3Rva2VuIn0=")
		default:
			return false
		}
		return true
	}
	var renewed []bool
	cfg := server.start(t)
	cfg.Token = func(_ context.Context, renew bool) (string, error) {
		renewed = append(renewed, renew)
		return "token", nil
	}
	if err := pop3.Test(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{false, true}, renewed); diff != "" {
		t.Error(diff)
	}
	cfg.Token = func(context.Context, bool) (string, error) { return "", wire.ErrReauth }
	if err := pop3.Test(t.Context(), cfg); !errors.Is(err, wire.ErrReauth) || !wire.NeedsReauth(err) {
		t.Errorf("got %v, want ErrReauth", err)
	}
}

func TestRunPolls(t *testing.T) {
	t.Parallel()
	all := fakeMails(3)
	server := &fakeServer{}
	server.set(all[:1])
	sink := newSink()
	source := newSource(t, server.start(t), sink)
	stop := wiretest.Run(t, source)
	sink.wait(t, "the first mail", func() bool { return len(sink.mails) == 1 })
	server.set(all)
	sink.wait(t, "the others", func() bool { return len(sink.mails) == 3 })
	before := server.connections()
	sink.wait(t, "another look", func() bool { return server.connections() > before+1 })
	stop()
	sink.Lock()
	defer sink.Unlock()
	if sink.asked > 3 { // taken mails are remembered, or requested once more
		t.Errorf("the sink was asked %d times", sink.asked)
	}
	if st := source.Status(); st.Taken != 3 || st.Connected || st.LastSuccess.IsZero() {
		t.Errorf("status: %+v", st)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	good := pop3.Config{Server: pop3.Server{Host: "mail.example.org", Username: "u", Password: "p"}}
	if _, err := pop3.New(good, newSink()); err != nil {
		t.Errorf("defaults: %v", err)
	}
	if _, err := pop3.New(good, nil); err == nil {
		t.Error("no sink, and no error")
	}
	for want, change := range map[string]func(*pop3.Config){
		"host":         func(c *pop3.Config) { c.Host = "a b" },
		"port":         func(c *pop3.Config) { c.Port = -1 },
		"username":     func(c *pop3.Config) { c.Username = "a\r\nDELE 1" },
		"password":     func(c *pop3.Config) { c.Password = "hunter2\n" },
		"encryption":   func(c *pop3.Config) { c.Encryption = "tls" },
		"PollInterval": func(c *pop3.Config) { c.PollInterval = -time.Second },
		"limit":        func(c *pop3.Config) { c.BatchSize = -1 },
	} {
		cfg := good
		change(&cfg)
		_, err := pop3.New(cfg, newSink())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New: %v, want something about %s", err, want)
		}
	}
}
