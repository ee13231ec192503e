package mailauth_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk/mailauth"
)

// zone is a name server: TXT records by name, and addresses. A name that begins with "away." gets no answer.
type zone struct {
	txt   map[string][]string
	hosts map[string][]string
	asked atomic.Int64
	slow  func(name string) bool // names that are never answered; nil: none
	back  []string               // names of every address
}

func (z *zone) find(ctx context.Context, name string, in map[string][]string) ([]string, error) {
	z.asked.Add(1)
	name = strings.TrimSuffix(name, ".")
	if z.slow != nil && z.slow(name) {
		<-ctx.Done()
		return nil, &net.DNSError{Err: "timeout", Name: name, IsTimeout: true, IsTemporary: true}
	}
	if strings.Contains("."+name, ".away.") {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	if found, ok := in[name]; ok {
		return found, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (z *zone) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return z.find(ctx, name, z.txt)
}

func (z *zone) LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error) {
	found, err := z.find(ctx, name, z.hosts)
	var out []net.IPAddr
	for _, ip := range found {
		out = append(out, net.IPAddr{IP: net.ParseIP(ip)})
	}
	return out, err
}

func (z *zone) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	_, err := z.find(ctx, name, nil)
	return nil, err
}

func (z *zone) LookupAddr(ctx context.Context, name string) ([]string, error) {
	if z.back != nil {
		return z.back, nil
	}
	return z.find(ctx, name, nil)
}

// signer makes signatures of a domain and publishes its key.
func signer(z *zone, domain string) func(raw string) string {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	z.txt["s._domainkey."+domain] = []string{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))}
	return func(raw string) string {
		var out bytes.Buffer
		err := dkim.Sign(&out, strings.NewReader(raw), &dkim.SignOptions{
			Domain: domain, Selector: "s", Signer: key, HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
		})
		if err != nil {
			panic(err)
		}
		return out.String()
	}
}

func mailOf(from string) string {
	return "From: <" + from + ">\r\nTo: support@example.org\r\nSubject: x\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\n\r\nHello\r\n"
}

// show writes a report on one line.
func show(r mailauth.Report) string {
	out := fmt.Sprintf("spf=%s(%s)", r.SPF.Result, r.SPF.Domain)
	for _, d := range r.DKIM {
		out += fmt.Sprintf(" dkim=%s(%s)", d.Result, d.Domain)
	}
	out += fmt.Sprintf(" dmarc=%s(%s)", r.DMARC.Result, r.DMARC.Domain)
	if r.DMARC.Policy != "" {
		out += " p=" + r.DMARC.Policy
	}
	if r.Aligned {
		out += " aligned"
	}
	return out
}

func TestCheck(t *testing.T) {
	t.Parallel()
	z := &zone{txt: map[string][]string{
		"example.com":               {"other", "v=spf1 ip4:192.0.2.1 a:mail.example.com -all"},
		"_dmarc.example.com":        {"v=DMARC1; p=reject; sp=quarantine"},
		"strict.example.net":        {"v=spf1 ip4:192.0.2.1 -all"},
		"bounce.strict.example.net": {"v=spf1 ip4:192.0.2.1 -all"},
		"_dmarc.strict.example.net": {"v=DMARC1; p=quarantine; aspf=s; adkim=s"},
		"none.example":              {"v=spf1 ?all"},
		"_dmarc.none.example":       {"v=DMARC1; p=none"},
		"_dmarc.twice.example":      {"v=DMARC1; p=reject", "v=DMARC1; p=none"},
		"_dmarc.broken.example":     {"v=DMARC1; p=whatever"},
		"broken.example":            {"v=spf1 bogus:1 -all"},
		"endless.example":           {"v=spf1 include:endless.example -all"},
		"helo.example":              {"v=spf1 ip4:192.0.2.1 -all"},
		"_dmarc.co.uk":              {"v=DMARC1; p=reject"},
	}, hosts: map[string][]string{"mail.example.com": {"192.0.2.9", "2001:db8::9"}}}
	ours, list := signer(z, "example.com"), signer(z, "list.example")
	sub := signer(z, "sub.example.com")
	away := signer(z, "away.example")
	delete(z.txt, "s._domainkey.away.example")
	z.txt["s._domainkey.strict.example.net"] = z.txt["s._domainkey.example.com"]
	good, stranger := "192.0.2.1", "203.0.113.7"
	ada := mailOf("ada@example.com")
	for name, tt := range map[string]struct {
		peer, hello, from, raw string
		domain                 string
		want                   string
	}{
		"its own server":                                 {good, "h.example", "ada@example.com", ada, "Example.COM.", "spf=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
		"by IPv6":                                        {"2001:db8::9", "h.example", "ada@example.com", ada, "example.com", "spf=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
		"a forger":                                       {stranger, "h.example", "ada@example.com", ada, "example.com", "spf=fail(example.com) dmarc=fail(example.com) p=reject"},
		"a forger who passes for himself":                {good, "h.example", "x@helo.example", ada, "example.com", "spf=pass(helo.example) dmarc=fail(example.com) p=reject"},
		"forwarded, the signature holds":                 {stranger, "h.example", "srs@list.example", ours(ada), "example.com", "spf=none(list.example) dkim=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
		"signed for a subdomain":                         {stranger, "h.example", "", sub(ada), "example.com", "spf=none(h.example) dkim=pass(sub.example.com) dmarc=pass(example.com) p=reject aligned"},
		"signed by somebody else":                        {stranger, "h.example", "", list(ada), "example.com", "spf=none(h.example) dkim=pass(list.example) dmarc=fail(example.com) p=reject"},
		"changed after it was signed":                    {stranger, "h.example", "", strings.Replace(ours(ada), "Hello", "Hallo", 1), "example.com", "spf=none(h.example) dkim=fail(example.com) dmarc=fail(example.com) p=reject"},
		"two signatures":                                 {stranger, "h.example", "", list(ours(ada)), "example.com", "spf=none(h.example) dkim=pass(list.example) dkim=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
		"of a subdomain, the policy of the organization": {stranger, "h.example", "", mailOf("a@sub.example.com"), "sub.example.com", "spf=none(h.example) dmarc=fail(sub.example.com) p=quarantine"},
		"strict, the very domain":                        {good, "h.example", "a@strict.example.net", mailOf("a@strict.example.net"), "strict.example.net", "spf=pass(strict.example.net) dmarc=pass(strict.example.net) p=quarantine aligned"},
		"strict, its subdomain":                          {good, "h.example", "a@bounce.strict.example.net", mailOf("a@strict.example.net"), "strict.example.net", "spf=pass(bounce.strict.example.net) dmarc=fail(strict.example.net) p=quarantine aligned"},
		"a domain that does not mind":                    {stranger, "h.example", "a@none.example", mailOf("a@none.example"), "none.example", "spf=neutral(none.example) dmarc=fail(none.example) p=none"},
		"a bounce":                                       {good, "helo.example", "", mailOf("postmaster@helo.example"), "helo.example", "spf=pass(helo.example) dmarc=none(helo.example) aligned"},
		"no policy":                                      {stranger, "h.example", "a@list.example", mailOf("a@list.example"), "list.example", "spf=none(list.example) dmarc=none(list.example)"},
		"two policies":                                   {stranger, "h.example", "", mailOf("a@twice.example"), "twice.example", "spf=none(h.example) dmarc=none(twice.example)"},
		"broken records":                                 {stranger, "h.example", "a@broken.example", mailOf("a@broken.example"), "broken.example", "spf=permerror(broken.example) dmarc=permerror(broken.example)"},
		"a record without an end":                        {stranger, "h.example", "a@endless.example", ada, "endless.example", "spf=permerror(endless.example) dmarc=none(endless.example)"},
		"a public suffix is nobody's organization":       {stranger, "h.example", "", mailOf("a@firm.co.uk"), "firm.co.uk", "spf=none(h.example) dmarc=none(firm.co.uk)"},
		"two in From":                                    {good, "h.example", "ada@example.com", ada, "", "spf=pass(example.com) dmarc=permerror()"},
		"nobody in From":                                 {good, "h.example", "ada@example.com", "Subject: x\r\n\r\nx", "", "spf=pass(example.com) dmarc=permerror()"},
		"From is no domain":                              {good, "h.example", "ada@example.com", ada, "local host", "spf=pass(example.com) dmarc=permerror()"},
		"nothing of a header":                            {good, "", "", "\x00\xff", "", "spf=none() dmarc=permerror()"},
		"the name servers are away":                      {stranger, "h.example", "a@away.example", away(mailOf("a@away.example")), "away.example", "spf=temperror(away.example) dkim=temperror(away.example) dmarc=temperror(away.example)"},
		"a MAIL FROM of whom nobody answers":             {stranger, "h.example", "x@away.example", ada, "example.com", "spf=temperror(away.example) dmarc=fail(example.com) p=reject"},
		"a HELO of whom nobody answers":                  {stranger, "away.example", "", ada, "example.com", "spf=temperror(away.example) dmarc=fail(example.com) p=reject"},
		"a signature of whom nobody answers":             {stranger, "h.example", "", away(ada), "example.com", "spf=none(h.example) dkim=temperror(away.example) dmarc=fail(example.com) p=reject"},
		"strict, a subdomain of whom nobody answers":     {stranger, "h.example", "a@away.strict.example.net", mailOf("a@strict.example.net"), "strict.example.net", "spf=temperror(away.strict.example.net) dmarc=fail(strict.example.net) p=quarantine"},
		"a subdomain of whom nobody answers":             {stranger, "h.example", "a@away.example.com", ada, "example.com", "spf=temperror(away.example.com) dmarc=temperror(example.com) p=reject"},
		"behind a relay, a signature of nobody":          {"", "h.example", "", away(ada), "example.com", "spf=unknown() dkim=temperror(away.example) dmarc=unknown(example.com)"},
		"behind a relay, nobody answers":                 {"", "h.example", "", away(mailOf("a@away.example")), "away.example", "spf=unknown() dkim=temperror(away.example) dmarc=temperror(away.example)"},
		"behind a relay, unsigned":                       {"", "h.example", "ada@example.com", ada, "example.com", "spf=unknown() dmarc=unknown(example.com)"},
		"behind a relay, signed":                         {"", "h.example", "ada@example.com", ours(ada), "example.com", "spf=unknown() dkim=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
	} {
		m := mailauth.Mail{Hello: tt.hello, From: tt.from, FromDomain: tt.domain, Raw: []byte(tt.raw)}
		if tt.peer != "" {
			m.Peer = netip.MustParseAddr(tt.peer)
		}
		got := mailauth.Checker{Resolver: &zone{txt: z.txt, hosts: z.hosts}}.Check(t.Context(), m)
		if diff := cmp.Diff(tt.want, show(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Name servers that never answer cost the timeout and no more.
func TestCheckInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		z := &zone{txt: map[string][]string{}}
		raw := signer(z, "example.com")(mailOf("ada@example.com"))
		z.slow = func(string) bool { return true }
		began := time.Now()
		got := mailauth.Checker{Resolver: z, Timeout: 3 * time.Second}.Check(t.Context(), mailauth.Mail{
			Peer: netip.MustParseAddr("192.0.2.1"), Hello: "h.example", From: "ada@example.com", FromDomain: "example.com", Raw: []byte(raw),
		})
		if want := "spf=temperror(example.com) dkim=temperror(example.com) dmarc=temperror(example.com)"; show(got) != want {
			t.Errorf("%s, want %s", show(got), want)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// The servers of names chosen by the sender may never answer: queries to them take no time from the look-ups of the domain
// of From, so that a forged mail fails.
func TestCheckWithSlowNames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, record, want string }{
		"MAIL FROM":                {"x@evil.example", "v=spf1 -all", "spf=temperror(evil.example) dmarc=fail(example.com) p=reject"},
		"HELO":                     {"", "v=spf1 -all", "spf=temperror(evil.example) dmarc=fail(example.com) p=reject"},
		"the names of the address": {"x@example.com", "v=spf1 ptr -all", "spf=fail(example.com) dmarc=fail(example.com) p=reject"},
		"names in a macro":         {"x@example.com", "v=spf1 exists:%{p}.example.com -all", "spf=fail(example.com) dmarc=fail(example.com) p=reject"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				z := &zone{txt: map[string][]string{"example.com": {tt.record}, "_dmarc.example.com": {"v=DMARC1; p=reject"}}}
				raw := mailOf("ada@example.com")
				for range 4 {
					raw = signer(z, "evil.example")(raw)
				}
				z.slow = func(name string) bool { return strings.HasSuffix(name, "evil.example") }
				for n := range 20 {
					z.back = append(z.back, fmt.Sprintf("n%d.evil.example", n))
				}
				got := mailauth.Checker{Resolver: z}.Check(t.Context(), mailauth.Mail{
					Peer: netip.MustParseAddr("203.0.113.7"), Hello: "evil.example", From: tt.from, FromDomain: "example.com", Raw: []byte(raw),
				})
				for range got.DKIM {
					tt.want = strings.Replace(tt.want, " dmarc", " dkim=temperror(evil.example) dmarc", 1)
				}
				if diff := cmp.Diff(tt.want, show(got)); diff != "" || len(got.DKIM) != 4 {
					t.Error(diff)
				}
			})
		})
	}
}

// The limits of RFC 7208 section 4.6.4 and of DKIM signatures hold.
func TestCheckBounded(t *testing.T) {
	t.Parallel()
	z := &zone{txt: map[string][]string{}}
	var includes strings.Builder
	for n := range 40 {
		fmt.Fprintf(&includes, " include:i%d.example", n)
		z.txt[fmt.Sprintf("i%d.example", n)] = []string{"v=spf1 ?ip4:198.51.100.1"}
	}
	z.txt["many.example"] = []string{"v=spf1" + includes.String() + " -all"}
	z.txt["void.example"] = []string{"v=spf1 a:n1.example a:n2.example a:n3.example a:n4.example a:n5.example -all"}
	raw := mailOf("a@many.example")
	sign := signer(z, "many.example")
	for range 30 {
		raw = sign(raw)
	}
	for domain, most := range map[string]int64{"many.example": 25, "void.example": 15} {
		one := &zone{txt: z.txt}
		got := mailauth.Checker{Resolver: one}.Check(t.Context(), mailauth.Mail{
			Peer: netip.MustParseAddr("192.0.2.1"), From: "a@" + domain, FromDomain: domain, Raw: []byte(raw),
		})
		if got.SPF.Result != mailauth.PermError || len(got.DKIM) != 5 || one.asked.Load() > most {
			t.Errorf("%s: %s after %d look-ups", domain, show(got), one.asked.Load())
		}
	}
}

// Signatures that would take minutes to check are not checked: a mail without any has none, and signatures that cannot be
// checked are wrong.
func TestCheckHostileHeaders(t *testing.T) {
	t.Parallel()
	z := &zone{txt: map[string][]string{}}
	signed := signer(z, "example.com")(mailOf("ada@example.com"))
	tag := "DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; bh=x; b=y; h=from"
	for name, test := range map[string]struct {
		raw  string
		want []mailauth.DKIM
	}{
		"a long field":                {"X-Long: " + strings.Repeat("x\r\n ", 500_000) + "\r\n" + mailOf("ada@example.com"), nil},
		"a long field, and signed":    {"X-Long: " + strings.Repeat("x\r\n ", 500_000) + "\r\n" + signed, []mailauth.DKIM{{Result: mailauth.PermError}}},
		"many fields":                 {strings.Repeat("X: y\r\n", 300_000) + signed, []mailauth.DKIM{{Result: mailauth.PermError}}},
		"a signature of many":         {tag + strings.Repeat(":x", 50_000) + "\r\n" + mailOf("ada@example.com"), []mailauth.DKIM{{Result: mailauth.PermError}}},
		"a signature of many, folded": {tag + strings.Repeat(":x\r\n ", 20_000) + "\r\n" + mailOf("ada@example.com"), []mailauth.DKIM{{Result: mailauth.PermError}}},
		"much, but not too much":      {strings.Repeat("X: "+strings.Repeat("y", 70)+"\r\n z\r\n", 900) + signed, []mailauth.DKIM{{Result: mailauth.Pass, Domain: "example.com"}}},
		"no end":                      {"X: " + strings.Repeat("y\r\n ", 500_000), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mailauth.Checker{Resolver: &zone{txt: z.txt}}.Check(t.Context(), mailauth.Mail{
				From: "ada@example.com", FromDomain: "example.com", Raw: []byte(test.raw),
			})
			if diff := cmp.Diff(test.want, got.DKIM, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Keys that take seconds each are refused.
func TestCheckHostileKeys(t *testing.T) {
	t.Parallel()
	raw := "DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; h=from; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=" +
		base64.StdEncoding.EncodeToString(make([]byte, 256)) + "\r\nFrom: ada@example.com\r\n\r\n"
	for bits, want := range map[int]mailauth.Result{2048: mailauth.Fail, 40_000: mailauth.PermError, 380_000: mailauth.PermError} {
		modulus := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		key, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: modulus.SetBit(modulus, 0, 1), E: 1<<31 - 1})
		if err != nil {
			t.Fatal(err)
		}
		z := &zone{txt: map[string][]string{"s._domainkey.example.com": {"v=DKIM1; p=" + base64.StdEncoding.EncodeToString(key)}}}
		got := mailauth.Checker{Resolver: z}.Check(t.Context(), mailauth.Mail{From: "ada@example.com", FromDomain: "example.com", Raw: []byte(raw)})
		if diff := cmp.Diff([]mailauth.DKIM{{Result: want, Domain: "example.com"}}, got.DKIM); diff != "" {
			t.Errorf("%d bits: %s", bits, diff)
		}
	}
}

func FuzzCheck(f *testing.F) {
	z := &zone{txt: map[string][]string{}}
	f.Add("v=spf1 a mx ptr exists:%{i}.example include:x.example redirect=y.example -all", "v=DMARC1; p=reject", "a@example.com", []byte(signer(z, "example.com")(mailOf("ada@example.com"))))
	f.Add("v=spf1 ip4:1/99 -all", "v=DMARC1", "", []byte("DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; h=from; bh=x; b=y\r\nFrom: a\r\n\r\n"))
	f.Fuzz(func(t *testing.T, record, policy, from string, raw []byte) {
		z := &zone{txt: map[string][]string{
			"example.com": {record}, "x.example": {record}, "_dmarc.example.com": {policy}, "s._domainkey.example.com": {policy},
		}}
		got := mailauth.Checker{Resolver: z}.Check(t.Context(), mailauth.Mail{
			Peer: netip.MustParseAddr("192.0.2.1"), Hello: from, From: from, FromDomain: "example.com", Raw: raw,
		})
		if got.SPF.Result == "" || got.DMARC.Result == "" || len(got.DKIM) > 5 || z.asked.Load() > 100 {
			t.Errorf("%s after %d look-ups", show(got), z.asked.Load())
		}
		if got.DMARC.Result == mailauth.Pass && !got.Aligned {
			t.Errorf("%s passes and is not aligned", show(got))
		}
	})
}

func ExampleChecker_Check() {
	names := &zone{txt: map[string][]string{"example.com": {"v=spf1 ip4:192.0.2.1 -all"}, "_dmarc.example.com": {"v=DMARC1; p=reject"}}}
	report := mailauth.Checker{Resolver: names}.Check(context.Background(), mailauth.Mail{
		Peer: netip.MustParseAddr("203.0.113.7"), Hello: "somebody.example", From: "ceo@example.com",
		FromDomain: "example.com", Raw: []byte("From: ceo@example.com\r\n\r\nPay at once.\r\n"),
	})
	fmt.Println(report.DMARC.Result, report.DMARC.Policy, report.Aligned)
	// Output: fail reject false
}
