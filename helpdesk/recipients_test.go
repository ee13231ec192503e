package helpdesk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// Whom an answer goes to, and whom an answer to all copies.
func TestAnswerRecipients(t *testing.T) {
	t.Parallel()
	addressed := func(to ...string) ledger.Incoming {
		m := opening()
		for _, address := range to {
			m.Cc = append(m.Cc, mailaddr.Address{Email: address})
		}
		return m
	}
	for name, tt := range map[string]struct {
		mail       ledger.Incoming
		to, others []string
	}{
		"to us alone":                {addressed(), []string{ada.Email}, nil},
		"with a colleague":           {addressed("bob@example.com"), []string{ada.Email}, []string{"bob@example.com"}},
		"twice":                      {addressed("bob@example.com", "BOB@example.com"), []string{ada.Email}, []string{"bob@example.com"}},
		"with a copy to themselves":  {addressed(ada.Email), []string{ada.Email}, nil},
		"our own addresses":          {addressed("support@example.org", "Support+sales@example.org"), []string{ada.Email}, nil},
		"blocked":                    {addressed("spam@blocked.example", "bob@example.com"), []string{ada.Email}, []string{"bob@example.com"}},
		"nobody reads it":            {addressed("no-reply@example.com", "MAILER-DAEMON@example.com", "bounces+1@example.com"), []string{ada.Email}, nil},
		"an address of a department": {addressed("sales@example.com"), []string{ada.Email}, []string{"sales@example.com"}},
		"the list that it came by": {func() ledger.Incoming {
			m := addressed("list@lists.example.net", "bob@example.com")
			m.ListPost = "list@lists.example.net"
			return m
		}(), []string{ada.Email}, []string{"bob@example.com"}},
		"an address for replies": {func() ledger.Incoming {
			m := addressed("bob@example.com")
			m.ReplyTo = []mailaddr.Address{{Email: "ada@home.example"}}
			return m
		}(), []string{"ada@home.example"}, []string{"bob@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.blocks("blocked.example")
			got := must(b.desk.AnswerRecipients(b.ctx, b.receive(tt.mail).ConversationID))(t)
			want := helpdesk.AnswerRecipients{To: tt.to, Others: tt.others}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(helpdesk.AnswerRecipients{}, "Known"), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the correspondents are called, and what is not among them.
func TestCorrespondents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := opening()
	m.Cc = []mailaddr.Address{{Name: "Bob", Email: "bob@example.com"}, {Email: "support@example.org"}}
	got := must(b.desk.AnswerRecipients(b.ctx, b.receive(m).ConversationID))(t)
	if diff := cmp.Diff([]mailaddr.Address{ada, {Name: "Bob", Email: "bob@example.com"}}, got.Known); diff != "" {
		t.Error(diff)
	}
}
