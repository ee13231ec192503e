package imap_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
)

// A parenthesis among the capabilities makes the client library loop forever.
func TestParenthesisAmongCapabilities(t *testing.T) {
	t.Parallel()
	lines := map[string]string{
		"untagged":                "* CAPABILITY IMAP4rev1 (x",
		"lower case":              "* capability a (x",
		"code":                    "* OK [CAPABILITY IMAP4rev1 (x",
		"tagged":                  "T1 OK [CAPABILITY IMAP4rev1 (x",
		"enabled":                 "* ENABLED a (x",
		"pretended literal":       "* OK {100}\r\n* CAPABILITY IMAP4rev1 (x",
		"literal within a string": "* 1 FETCH (BODY[] \"{50}\r\n\")\r\n* CAPABILITY IMAP4rev1 (x",
		"after a literal":         "* 1 FETCH (BODY[] {2}\r\nab)\r\n* CAPABILITY IMAP4rev1 (x",
		"brackets":                "* OK [[CAPABILITY IMAP4rev1 (x",
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &fakeServer{}
			server.hook = func(c *fakeConn, _, command string) bool {
				if command == "CAPABILITY" {
					c.say("%s", line)
					_, _ = c.lines.ReadString(0)
				}
				return command == "CAPABILITY"
			}
			if err := newSource(t, server.start(t), newSink()).Once(t.Context()); !errors.Is(err, imap.ErrProtocol) {
				t.Errorf("got %v, want ErrProtocol", err)
			}
		})
	}
}

// A mail may contain text that a server must not send.
func TestMailThatLooksLikeTheProtocol(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: []fakeMail{
		{uid: 1, raw: "* CAPABILITY IMAP4rev1 (x\r\n* 1 FETCH (UID 1 BODY[] {5}\r\nT1 OK [CAPABILITY (\r\n"},
		{uid: 2, raw: "\"unpaired {7}\r\n* ENABLED (\r\n"},
		{uid: 3, raw: ")\r\n* BYE\r\n{10}\r\n"},
	}}
	sink := newSink()
	once(t, newSource(t, server.start(t), sink))
	if diff := cmp.Diff(fakeTexts(server.mails), texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
	if n := server.connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
