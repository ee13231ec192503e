package ingest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// A participant's colleague answers: an address of the same organization, which authenticates the mail. Others begin a
// conversation that names the one to which they refer, and one call moves the mail there.
func TestColleagueAnswers(t *testing.T) {
	t.Parallel()
	pass := func(domain string) ledger.Authentication {
		return ledger.Authentication{
			Source: "intake", FromAligned: true, SPF: ledger.AuthCheck{Result: "pass", Domain: domain},
			DMARC: ledger.AuthPolicy{Result: "pass", Domain: domain},
		}
	}
	tests := []struct {
		name, customer, from string
		auth                 ledger.Authentication
		more                 string
		joins                bool
	}{
		{"a colleague", "ada@firm.example", "Bob <bob@firm.example>", pass("firm.example"), "", true},
		{"of another department", "ada@firm.example", "bob@mail.sales.firm.example", pass("mail.sales.firm.example"), "", true},
		{"of the head office", "ada@eu.firm.co.uk", "bob@firm.co.uk", pass("firm.co.uk"), "", true},
		{"in another spelling", "ada@bücher.example", "bob@XN--BCHER-KVA.example", pass("xn--bcher-kva.example"), "", true},
		{"in copy with others", "ada@firm.example", "bob@partner.example", pass("partner.example"), "Cc: eve@partner.example\n", true},
		{"not vouched for", "ada@firm.example", "bob@firm.example", ledger.Authentication{Source: "intake", SPF: ledger.AuthCheck{Result: "fail"}}, "", false},
		{"nobody knows", "ada@firm.example", "bob@firm.example", ledger.Authentication{}, "", false},
		{"vouched for as another domain", "ada@firm.example", "bob@firm.example", pass("evil.example"), "", false},
		{"disowned", "ada@firm.example", "bob@firm.example", ledger.Authentication{Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "fail", Policy: "reject", Domain: "firm.example"}}, "", false},
		{"a stranger", "ada@firm.example", "eve@evil.example", pass("evil.example"), "", false},
		{"who only sounds so", "ada@firm.example", "eve@notfirm.example", pass("notfirm.example"), "", false},
		{"another customer of a provider", "ada@gmail.com", "eve@gmail.com", pass("gmail.com"), "", false},
		{"another customer of a German provider", "ada@web.de", "eve@web.de", pass("web.de"), "", false},
		{"of a provider's other domain", "ada@yahoo.co.jp", "eve@yahoo.co.jp", pass("yahoo.co.jp"), "", false},
		{"below a provider", "ada@vip.qq.com", "eve@foxmail.qq.com", pass("foxmail.qq.com"), "", false},
		{"another customer of a hoster", "ada@ada.github.io", "eve@eve.github.io", pass("eve.github.io"), "", false},
		{"another firm of the country", "ada@firm.co.uk", "eve@evil.co.uk", pass("evil.co.uk"), "", false},
		{"at no domain", "ada@[192.0.2.1]", "eve@[192.0.2.1]", pass("[192.0.2.1]"), "", false},
		{"two authors", "ada@firm.example", "bob@firm.example, eve@evil.example", pass("firm.example"), "", false},
		{"a form of the firm", "ada@firm.example", "noreply@firm.example\nReply-To: eve@evil.example", pass("firm.example"), "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			b.take(crlf("From: Ada <" + tt.customer + ">\nMessage-ID: <1@x.example>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nTo: support@example.org\n" + tt.more + "Subject: Help\n\nText."))
			b.outcomes(1)
			answer := check(b.desk.Interactions().Create(ctx, 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
			send := func(id string) ledger.Mail {
				raw := ledger.Raw{Authentication: tt.auth, Raw: []byte(crlf("From: " + tt.from + "\nMessage-ID: <" + id + "@x.example>\n" +
					"Date: Tue, 03 Jan 2023 15:04:05 +0100\nTo: support@example.org\nSubject: AW: Help\nReferences: <1@x.example> <" + answer.MessageID + ">\n\nI am her colleague " + id))}
				if err := b.intake.Take(ctx, b.desk.AccountID(), b.mailbox, "smtp", []ledger.Raw{raw}, nil); err != nil {
					t.Fatal(err)
				}
				b.outcomes(1)
				all := b.ledger()
				return all[len(all)-1]
			}
			got := send("2")
			if (got.ConversationID == 1) != tt.joins {
				t.Fatalf("it is %s in conversation %d: %s", got.State, got.ConversationID, got.Reason)
			}
			i := check(b.desk.Interactions().Get(ctx, got.ConversationID, got.InteractionID))(t)
			c := check(b.desk.Conversations().Get(ctx, got.ConversationID))(t)
			if tt.joins {
				if i.Threading.Rule != helpdesk.RuleColleague || i.Threading.Matched != answer.MessageID || c.RefersTo != 0 {
					t.Errorf("it is there by %+v; refers to %d", i.Threading, c.RefersTo)
				}
				return
			}
			if i.Threading.Rule != helpdesk.RuleNew || len(i.Threading.Refused) != 1 || c.RefersTo != 1 {
				t.Fatalf("it is there by %+v; refers to %d", i.Threading, c.RefersTo)
			}
			if target := check(b.desk.Conversations().Merge(ctx, c.ID, 0))(t); target.ID != 1 {
				t.Errorf("it was moved into %d", target.ID)
			}
			if n := len(check(b.desk.Interactions().List(ctx, 1, storage.PageRequest{}))(t).Items); n != 3 {
				t.Errorf("%d interactions after it was moved, want 3", n)
			}
		})
	}
}

// A conversation whose reference was deleted refers to nothing.
func TestDeletedReference(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	b.take(crlf("From: ada@example.com\nMessage-ID: <1@x.example>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\n\nText."),
		crlf("From: eve@evil.example\nMessage-ID: <2@x.example>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nIn-Reply-To: <1@x.example>\n\nText."))
	b.outcomes(1)
	if got := check(b.desk.Conversations().Get(ctx, 2))(t).RefersTo; got != 1 {
		t.Fatalf("it refers to %d", got)
	}
	if err := b.desk.Conversations().Delete(ctx, 1); err != nil {
		t.Fatal(err)
	}
	_, err := b.desk.Conversations().Merge(ctx, 2, 0)
	want := "into: is required: the conversation does not refer to another one"
	if err == nil || cmp.Diff(0, int(check(b.desk.Conversations().Get(ctx, 2))(t).RefersTo)) != "" {
		t.Errorf("%v, want %q", err, want)
	}
}
