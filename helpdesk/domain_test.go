package helpdesk_test

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// with is the bundle's service with other settings, and its owner's desk.
func (b *bundle) with(change func(*helpdesk.Config)) *bundle {
	b.t.Helper()
	sealer := must(storage.NewSealer(make([]byte, 32)))(b.t)
	cfg := helpdesk.Config{Store: b.store, Blobs: b.blobs, Sealer: sealer, SigningKey: make([]byte, 32), Now: b.clock.Now, Push: b.pushes}
	change(&cfg)
	b.svc = must(helpdesk.New(cfg))(b.t)
	b.desk = must(b.svc.Desk(b.ctx, b.svc.As(b.owner.ID), b.account.ID))(b.t)
	return b
}

// kinds are the types of the events about domains and keys.
func (b *bundle) kinds(prefix string) []string {
	b.t.Helper()
	var kinds []string
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(b.t) {
		if strings.HasPrefix(e.Type, prefix) {
			kinds = append(kinds, e.Type)
		}
	}
	return kinds
}

func TestDomainNames(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const noName, noDomain = "is not a domain name, such as example.org", "is not a domain that can be registered, such as example.org"
	for input, want := range map[string]struct{ name, subdomain, problem string }{
		"Example.ORG.":                    {"example.org", "", ""},
		" mail.example.co.uk ":            {"mail.example.co.uk", "mail", ""},
		"a.b.example.com":                 {"a.b.example.com", "a.b", ""},
		"Bücher.example":                  {"xn--bcher-kva.example", "", ""},
		"post.xn--bcher-kva.example":      {"post.xn--bcher-kva.example", "post", ""},
		"desk.localnet":                   {"desk.localnet", "", ""},
		"me.github.io":                    {"me.github.io", "", ""},
		"":                                {"", "", "is required"},
		".":                               {"", "", "is required"},
		"localhost":                       {"", "", noDomain},
		"org":                             {"", "", noDomain},
		"co.uk":                           {"", "", noDomain},
		"192.0.2.1":                       {"", "", noName},
		"[2001:db8::1]":                   {"", "", noName},
		"ada@example.org":                 {"", "", noName},
		"http://example.org":              {"", "", noName},
		"under_score.org":                 {"", "", noName},
		"-a.org":                          {"", "", noName},
		"a..org":                          {"", "", noName},
		"*.example.org":                   {"", "", noName},
		"example.org..":                   {"", "", noName},
		strings.Repeat("a", 64) + ".org":  {"", "", noName},
		strings.Repeat("a.", 130) + "org": {"", "", noName},
		"xn--zz.org":                      {"", "", noName},
		"\x00\xff.org":                    {"", "", noName},
	} {
		d, err := b.desk.Domains().Create(b.ctx, input)
		if want.problem != "" {
			if diff := cmp.Diff(fault.Fields{"domain": {want.problem}}, fieldsOf(err)); diff != "" {
				t.Errorf("%q: %v %s", input, err, diff)
			}
			continue
		}
		if err != nil || d.Name != want.name || d.Subdomain() != want.subdomain {
			t.Errorf("%q: %q below %q, %v", input, d.Subdomain(), d.Name, err)
		}
	}
	_, err := b.desk.Domains().Create(b.ctx, "BÜCHER.example")
	if diff := cmp.Diff(fault.Fields{"domain": {"is already taken"}}, fieldsOf(err)); diff != "" {
		t.Error(err, diff)
	}
}

// The private key is sealed for its place, matches the published one, and is never shown.
func TestDomainKey(t *testing.T) {
	t.Parallel()
	b := newBundle(t).with(func(cfg *helpdesk.Config) { cfg.SPF = "include:spf.example.net" })
	d := must(b.desk.Domains().Create(b.ctx, "example.org"))(t)
	type record struct{ Label, Type, Hostname, Value string }
	var got []record
	for _, r := range d.Records {
		if r.Verified || r.Problem != "" {
			t.Errorf("a new record is %+v", r)
		}
		value, _, _ := strings.Cut(r.Value, "; p=MII")
		got = append(got, record{r.Label, r.Type, r.Hostname, value})
	}
	want := []record{
		{"DKIM", "TXT", d.Selector + "._domainkey.example.org", "v=DKIM1; k=rsa"},
		{"SPF", "TXT", "example.org", "v=spf1 include:spf.example.net ~all"},
		{"DMARC", "TXT", "_dmarc.example.org", "v=DMARC1; p=none"},
		{"DKIM", "TXT", d.Selector + "-ed._domainkey.example.org", d.Records[3].Value},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stored := must(helpdesk.Nouns().Domains.Reader(b.store.Within(helpdesk.Scope{AccountID: b.account.ID})).Get(b.ctx, d.ID))(t)
	sealer := must(storage.NewSealer(make([]byte, 32)))(t)
	var first asn1.RawValue // the other key follows
	must(asn1.Unmarshal(must(sealer.Open(stored.SealedKey, "domain/"+d.Selector+"/dkim"))(t), &first))(t)
	private := must(x509.ParsePKCS8PrivateKey(first.FullBytes))(t).(*rsa.PrivateKey)
	_, p, _ := strings.Cut(d.Records[0].Value, "p=")
	public := must(x509.ParsePKIXPublicKey(must(base64.StdEncoding.DecodeString(p))(t)))(t).(*rsa.PublicKey)
	if !private.PublicKey.Equal(public) || public.N.BitLen() != 2048 {
		t.Error("the record has another key")
	}
	again := must(b.desk.Domains().Get(b.ctx, d.ID))(t)
	list := must(b.desk.Domains().List(b.ctx, storage.PageRequest{}))(t).Items
	renamed := must(b.desk.Domains().Update(b.ctx, d.ID, "mail.example.org"))(t)
	same := must(b.desk.Domains().Update(b.ctx, d.ID, "Mail.example.org"))(t)
	for _, shown := range append(list, d, again, renamed, same) {
		if shown.SealedKey != nil {
			t.Error("a private key is shown")
		}
	}
	if renamed.Selector == d.Selector || renamed.Records[2].Hostname != "_dmarc.mail.example.org" || same.Selector != renamed.Selector {
		t.Errorf("renamed: %+v, then %+v", renamed, same)
	}
	if err := b.desk.Domains().Delete(b.ctx, d.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"domain.created", "domain.updated", "domain.deleted"}, b.kinds("domain.")); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyDomain(t *testing.T) {
	t.Parallel()
	var results []sending.DNSResult
	var asked []string
	during := func() {}
	b := newBundle(t).with(func(cfg *helpdesk.Config) {
		cfg.DNS = func(_ context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
			asked = asked[:0]
			for _, r := range records {
				asked = append(asked, r.Label)
			}
			during()
			return results, nil
		}
	})
	d := must(b.desk.Domains().Create(b.ctx, "example.org"))(t)
	const waits = "The record is right; it counts as soon as the DKIM record is there."
	absent, right, unknown := sending.DNSResult{Problem: "absent"}, sending.DNSResult{Verified: true}, sending.DNSResult{Unknown: true, Problem: "later"}
	for _, step := range []struct {
		name    string
		results []sending.DNSResult
		want    string // v or - for each record
		problem [4]string
	}{
		{"nobody answers", []sending.DNSResult{unknown, unknown, unknown, unknown}, "----", [4]string{"later", "later", "later", "later"}},
		{"what everybody has proves nothing", []sending.DNSResult{absent, right, right, absent}, "----", [4]string{"absent", waits, waits, "absent"}},
		{"the key does", []sending.DNSResult{right, absent, right, absent}, "v-v-", [4]string{"", "absent", "", "absent"}},
		{"again the same", []sending.DNSResult{right, absent, right, absent}, "v-v-", [4]string{"", "absent", "", "absent"}},
		{"a silent server changes nothing", []sending.DNSResult{unknown, unknown, unknown, unknown}, "v-v-", [4]string{"later", "later", "later", "later"}},
		{"a warning", []sending.DNSResult{{Verified: true, Problem: "odd"}, right, right, right}, "vvvv", [4]string{"odd", "", "", ""}},
		{"too few results", []sending.DNSResult{right}, "vvvv", [4]string{"", "The record was not looked up.", "The record was not looked up.", "The record was not looked up."}},
		{"the key is gone", []sending.DNSResult{absent, right, right, absent}, "----", [4]string{"absent", waits, waits, "absent"}},
	} {
		results = step.results
		got := must(b.desk.Domains().Verify(b.ctx, d.ID))(t)
		states, problems := "", [4]string{}
		for i, r := range got.Records {
			states += map[bool]string{true: "v", false: "-"}[r.Verified]
			problems[i] = r.Problem
		}
		if states != step.want || problems != step.problem || got.Verified() != strings.Contains(step.want, "v") || got.SealedKey != nil {
			t.Errorf("%s: %s %q", step.name, states, problems)
		}
		if diff := cmp.Diff(must(b.desk.Domains().Get(b.ctx, d.ID))(t), got); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	if diff := cmp.Diff([]string{"DKIM", "SPF", "DMARC", "DKIM"}, asked); diff != "" {
		t.Error(diff)
	}
	want := []string{"domain.created", "domain.updated", "domain.updated", "domain.verified", "domain.updated", "domain.updated", "domain.updated", "domain.updated"}
	if diff := cmp.Diff(want, b.kinds("domain.")); diff != "" {
		t.Error(diff)
	}
	during = func() { must(b.desk.Domains().Update(b.ctx, d.ID, "example.com"))(t) }
	results = []sending.DNSResult{right, right, right, right}
	if _, err := b.desk.Domains().Verify(b.ctx, d.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("what was found for the old name: %v", err)
	}
	if must(b.desk.Domains().Get(b.ctx, d.ID))(t).Verified() {
		t.Error("the new name is verified")
	}
}

func TestVerifyWithoutResolver(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	d := must(b.desk.Domains().Create(b.ctx, "example.org"))(t)
	if _, err := b.desk.Domains().Verify(b.ctx, d.ID); !fault.Is(err, fault.Disabled) {
		t.Error(err)
	}
	if _, err := b.desk.Domains().Verify(b.ctx, d.ID+1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Error(err)
	}
	if _, err := b.member(identity.RoleAgent).Domains().Verify(b.ctx, d.ID); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Error(err)
	}
}
