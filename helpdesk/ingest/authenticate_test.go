package ingest_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage/memblob"
)

// names is a name server with TXT records only; without any it is unavailable.
type names map[string]string

func (n names) LookupTXT(_ context.Context, name string) ([]string, error) {
	text, ok := n[strings.TrimSuffix(name, ".")]
	switch {
	case ok:
		return []string{text}, nil
	case len(n) == 0:
		return nil, &net.DNSError{Err: "away", Name: name, IsTemporary: true}
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n names) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n names) LookupIPAddr(_ context.Context, name string) ([]net.IPAddr, error) {
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n names) LookupAddr(_ context.Context, name string) ([]string, error) {
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func TestAuthenticator(t *testing.T) {
	t.Parallel()
	zone := names{"example.com": "v=spf1 ip4:192.0.2.1 -all", "_dmarc.example.com": "v=DMARC1; p=reject"}
	check := func(result string) ledger.AuthCheck {
		return ledger.AuthCheck{Result: result, Domain: "example.com"}
	}
	policy := func(result string) ledger.AuthPolicy {
		return ledger.AuthPolicy{Result: result, Domain: "example.com", Policy: "reject"}
	}
	for name, tt := range map[string]struct {
		zone names
		peer string
		raw  string
		want ledger.Authentication
	}{
		"its own server": {zone, "192.0.2.1", "From: Ada <ada@Example.com>\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: check("pass"), DMARC: policy("pass"), FromAligned: true}},
		"a forger": {zone, "203.0.113.1", "From: ada@example.com\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: check("fail"), DMARC: policy("fail")}},
		"a relay of ours": {zone, "127.0.0.1", "From: ada@example.com\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: ledger.AuthCheck{Result: "unknown"}, DMARC: ledger.AuthPolicy{Result: "unknown", Domain: "example.com"}, Relayed: true}},
		"a socket": {zone, "", "From: ada@example.com\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: ledger.AuthCheck{Result: "unknown"}, DMARC: ledger.AuthPolicy{Result: "unknown", Domain: "example.com"}, Relayed: true}},
		"two in From": {zone, "192.0.2.1", "From: ada@example.com, eve@example.net\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: check("pass"), DMARC: ledger.AuthPolicy{Result: "permerror"}}},
		"two From fields": {zone, "192.0.2.1", "From: eve@example.net\r\nFrom: ada@example.com\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: check("pass"), DMARC: ledger.AuthPolicy{Result: "permerror"}}},
		"no name server answers": {names{}, "203.0.113.1", "From: ada@example.com\r\n\r\nx",
			ledger.Authentication{Source: "intake", SPF: check("temperror"), DMARC: ledger.AuthPolicy{Result: "temperror", Domain: "example.com"}}},
	} {
		d := smtpin.Delivery{Hello: "h.example", From: "ada@example.com", Raw: []byte(tt.raw)}
		if tt.peer != "" {
			d.Peer = netip.MustParseAddr(tt.peer)
		}
		got := ingest.Authenticator(ingest.AuthenticatorConfig{Resolver: tt.zone})(t.Context(), d)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The topmost field of a trusted server counts in mail that was fetched.
func TestTrustedServer(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	b.filer = check(ingest.NewFiler(ingest.FilerConfig{Intake: b.intake, TrustedServers: []string{"mx.example.org"}}))(t)
	raw := crlf("Authentication-Results: mx.example.org;\n dkim=pass header.d=example.com;\n dmarc=fail (p=REJECT) header.from=example.com\n" +
		"Received: from x by mx.example.org\n" +
		"Authentication-Results: mx.example.org; dmarc=pass header.from=example.com\nFrom: ada@example.com\n\nHello")
	mails := []ledger.Raw{{Raw: []byte(raw), Position: "1"}}
	if err := b.intake.Take(t.Context(), b.desk.AccountID(), b.mailbox, "imap", mails, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.filer.Handle(t.Context(), b.job()); err != nil {
		t.Fatal(err)
	}
	row := b.ledger()[0]
	want := ledger.Authentication{
		Source: "header", Server: "mx.example.org", SPF: ledger.AuthCheck{Result: "none"},
		DKIM:  []ledger.AuthCheck{{Result: "pass", Domain: "example.com"}},
		DMARC: ledger.AuthPolicy{Result: "fail", Domain: "example.com", Policy: "reject"}, FromAligned: true,
	}
	got := check(b.desk.Interactions().Get(t.Context(), row.ConversationID, row.InteractionID))(t).Authentication
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
