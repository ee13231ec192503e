package helpdesk_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// deliver takes a mail from a source with its authentication results, and files it.
func (b *bundle) deliver(source string, a ledger.Authentication, m ledger.Incoming) helpdesk.Interaction {
	b.t.Helper()
	b.taken++
	m.MessageID = fmt.Sprintf("delivered%d@example.com", b.taken)
	sum := sha256.Sum256([]byte(m.MessageID))
	m.Identity = sum[:]
	intake := b.svc.Intake()
	raw := []ledger.Raw{{Raw: []byte(m.MessageID), Authentication: a}}
	if err := intake.Take(b.ctx, b.account.ID, b.mailbox.ID, source, raw, nil); err != nil {
		b.t.Fatal(err)
	}
	waiting := must(intake.Waiting(b.ctx, b.account.ID, b.mailbox.ID, 0, 10))(b.t)
	row := must(intake.File(b.ctx, b.account.ID, waiting[0].ID, m))(b.t)
	if row.State != ledger.Filed {
		b.t.Fatalf("the mail is %s: %s", row.State, row.Reason)
	}
	return must(b.desk.Interactions().Get(b.ctx, row.ConversationID, row.InteractionID))(b.t)
}

func evaluated(source, dmarc, domain, policy string) ledger.Authentication {
	return ledger.Authentication{
		Source: source, SPF: ledger.AuthCheck{Result: dmarc, Domain: domain},
		DMARC: ledger.AuthPolicy{Result: dmarc, Domain: domain, Policy: policy}, FromAligned: dmarc == ledger.AuthPass,
	}
}

// A mail never becomes an agent's answer. Whoever it claims to be from, it joins a conversation only when that can be true.
func TestForgedSender(t *testing.T) {
	t.Parallel()
	const member = "the sender's address is a member's, and nothing shows that the mail is the member's"
	const disowned = "the domain of the sender's address disowns the mail (DMARC)"
	const doubtful = "it is not certain who wrote the mail: it has to name one address, in one From field"
	unknown := ledger.Authentication{}
	guessed := ledger.Authentication{FromGuessed: true} // of the mail
	for name, tt := range map[string]struct {
		from  string
		auth  ledger.Authentication
		token bool   // sent to the reply address, too
		want  string // rule, or why it was refused
	}{
		"a customer, guessed":                 {"ada@example.com", guessed, false, doubtful},
		"a customer, guessed, with a token":   {"ada@example.com", guessed, true, "token"},
		"an agent, guessed, with a token":     {"owner@example.org", guessed, true, member},
		"a customer, proved for another":      {"ada@example.com", evaluated("intake", "pass", "example.org", "reject"), false, doubtful},
		"a customer, a broken policy":         {"ada@example.com", evaluated("intake", "permerror", "example.com", ""), false, "references"},
		"a customer":                          {"ada@example.com", unknown, false, "references"},
		"a customer, proved":                  {"ada@example.com", evaluated("intake", "pass", "example.com", "reject"), false, "references"},
		"a customer, disowned":                {"ada@example.com", evaluated("intake", "fail", "example.com", "reject"), false, disowned},
		"a customer, to be put aside":         {"ada@example.com", evaluated("intake", "fail", "example.com", "quarantine"), false, disowned},
		"a customer, fails and nobody minds":  {"ada@example.com", evaluated("intake", "fail", "example.com", "none"), false, "references"},
		"a customer, nobody knows":            {"ada@example.com", evaluated("intake", "temperror", "example.com", ""), false, "references"},
		"a customer, disowned, with a token":  {"ada@example.com", evaluated("intake", "fail", "example.com", "reject"), true, "token"},
		"an agent, forged":                    {"OWNER@example.org", evaluated("intake", "fail", "example.org", "reject"), false, member},
		"an agent, of whom nothing is known":  {"owner@example.org", unknown, false, member},
		"an agent, forged, with a token":      {"owner@example.org", evaluated("intake", "none", "example.org", ""), true, member},
		"an agent, proved":                    {"owner@example.org", evaluated("intake", "pass", "example.org", "reject"), false, "references"},
		"an agent, proved, with a token":      {"owner@example.org", evaluated("intake", "pass", "example.org", "reject"), true, "token"},
		"an agent, proved for another domain": {"owner@example.org", evaluated("intake", "pass", "example.com", "reject"), true, member},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			answer := b.answer(id, helpdesk.InteractionInput{To: []string{"ada@example.com"}, Cc: []string{"owner@example.org"}})
			m := ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: tt.from}}, InReplyTo: []string{answer.MessageID}, Text: "It works now."}, Guessed: tt.auth.FromGuessed}
			if tt.token {
				m.To = []mailaddr.Address{{Email: begin(b, answer.ID).ReplyTo}}
			}
			i := b.deliver("smtp", tt.auth, m)
			got := i.Threading.Rule
			if len(i.Threading.Refused) > 0 {
				got = i.Threading.Refused[0].Reason
			}
			if got != tt.want || (i.ConversationID == id) != (i.Threading.Rule != "new") {
				t.Errorf("%q in %d, want %q", got, i.ConversationID, tt.want)
			}
			// The rules give the same result when they are applied again.
			again := must(b.desk.Interactions().Rethread(b.ctx, i.ConversationID, i.ID))(t)
			if tt.want != "token" && again.ConversationID != i.ConversationID {
				t.Errorf("once more it is put into %d", again.ConversationID)
			}
			if i.Type != helpdesk.TypeCustomer || i.UserID != 0 || i.PostedByID != 0 {
				t.Errorf("it is a %s's", i.Type)
			}
			// Mails that follow the forged one in its own conversation are not answers of ours either.
			for _, one := range b.interactions(i.ConversationID) {
				if one.Type == helpdesk.TypeUser && one.ID != answer.ID {
					t.Errorf("%d is a user's", one.ID)
				}
			}
		})
	}
}

// Results in the header count only if strangers cannot have written them.
func TestAuthenticationOfHeader(t *testing.T) {
	t.Parallel()
	pass, fail := evaluated("header", "pass", "example.com", "reject"), evaluated("header", "fail", "example.com", "reject")
	direct := evaluated("intake", "fail", "example.com", "reject")
	relayed := evaluated("intake", "unknown", "example.com", "reject")
	relayed.Relayed = true
	signed := evaluated("intake", "pass", "example.com", "reject")
	signed.Relayed = true
	withRelay := func(a ledger.Authentication) ledger.Authentication {
		a.Relayed = true
		return a
	}
	elsewhere := ledger.Authentication{
		Source: "header", SPF: ledger.AuthCheck{Result: "pass", Domain: "example.net"}, DMARC: ledger.AuthPolicy{Result: "permerror"},
	}
	for name, tt := range map[string]struct {
		source       string
		auth, header ledger.Authentication
		want         ledger.Authentication
	}{
		"fetched":                             {"imap", ledger.Authentication{}, pass, pass},
		"fetched, nobody is trusted":          {"imap", ledger.Authentication{}, ledger.Authentication{}, ledger.Authentication{}},
		"at our door, a forged header":        {"smtp", direct, pass, direct},
		"at our door, which looks at nothing": {"smtp", ledger.Authentication{}, pass, ledger.Authentication{}},
		"through a relay":                     {"smtp", relayed, pass, withRelay(pass)},
		"through a relay, disowned":           {"smtp", relayed, fail, withRelay(fail)},
		"through a relay, signed":             {"smtp", signed, fail, signed},
		"through a relay without a header":    {"smtp", relayed, ledger.Authentication{}, relayed},
		"of another domain":                   {"imap", ledger.Authentication{}, evaluated("header", "pass", "example.net", ""), elsewhere},
	} {
		b := newBundle(t)
		m := opening()
		m.Authentication = tt.header
		if diff := cmp.Diff(tt.want, b.deliver(tt.source, tt.auth, m).Authentication); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
