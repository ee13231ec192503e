package dnscheck_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/foxcpp/go-mockdns"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/dnscheck"
)

// key has the length of a 2048-bit RSA key.
var key = strings.Repeat("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A", 12) + "IDAQAB=="

var (
	wantDKIM  = "v=DKIM1; k=rsa; p=" + key
	wantSPF   = "v=spf1 a include:spf.example.net ~all"
	wantDMARC = "v=DMARC1; p=none"
)

// serve runs a name server and returns a resolver that uses it.
func serve(t testing.TB, zones map[string]mockdns.Zone) *net.Resolver {
	t.Helper()
	s, err := mockdns.NewServerWithLogger(zones, log.New(io.Discard, "", 0), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return dnscheck.NewResolver(s.LocalAddr().String())
}

func TestTXT(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		want    string
		there   []string
		right   bool
		problem string
	}{
		"dkim":                     {wantDKIM, []string{wantDKIM}, true, ""},
		"dkim in another order":    {wantDKIM, []string{"P=" + key + " ;K = RSA;v=dkim1;;"}, true, ""},
		"dkim with blanks inside":  {wantDKIM, []string{"p=" + key[:100] + " \t" + key[100:]}, true, ""},
		"dkim among others":        {wantDKIM, []string{"hello", "v=spf1 -all", wantDKIM}, true, ""},
		"dkim with more tags":      {wantDKIM, []string{wantDKIM + "; t=y; h=sha1:sha256; s=email; n=x"}, true, ""},
		"dkim in quotes":           {wantDKIM, []string{`"v=DKIM1; k=rsa; p=` + key[:50] + `" "` + key[50:] + `"`}, true, "The record has quotation marks"},
		"dkim with backslashes":    {wantDKIM, []string{`v=DKIM1\; k=rsa\; p=` + key}, true, "The record has quotation marks"},
		"dkim of another key":      {wantDKIM, []string{"v=DKIM1; p=" + strings.ToLower(key)}, false, "is another one"},
		"dkim cut off":             {wantDKIM, []string{wantDKIM[:255]}, false, "is another one"},
		"dkim revoked":             {wantDKIM, []string{"v=DKIM1; p="}, false, "revoked"},
		"dkim of another type":     {wantDKIM, []string{"k=ed25519; p=" + key}, false, "type"},
		"dkim for SHA-1 only":      {wantDKIM, []string{"h=sha1; p=" + key}, false, "SHA-256"},
		"dkim not for mail":        {wantDKIM, []string{"s=tlsrpt; p=" + key}, false, "not for mail"},
		"dkim of the future":       {wantDKIM, []string{"v=DKIM2; p=" + key}, false, "version"},
		"dkim with a tag twice":    {wantDKIM, []string{"p=" + key + "; p=" + key}, false, "no DKIM key"},
		"dkim absent":              {wantDKIM, []string{"hello"}, false, "no DKIM key"},
		"spf":                      {wantSPF, []string{wantSPF}, true, ""},
		"spf with more, in order":  {wantSPF, []string{"V=SPF1  mx +Include:SPF.example.net A -all"}, true, ""},
		"spf lacks one":            {wantSPF, []string{"v=spf1 a mx ~all"}, false, "lacks include:spf.example.net"},
		"spf refuses it":           {wantSPF, []string{"v=spf1 a -include:spf.example.net ~all"}, false, "lacks include:spf.example.net"},
		"spf twice":                {wantSPF, []string{wantSPF, "v=spf1 -all"}, false, "more than one"},
		"spf of version 10":        {wantSPF, []string{"v=spf10 a"}, false, "no SPF record"},
		"spf empty":                {wantSPF, []string{"v=spf1"}, false, "lacks a include:spf.example.net"},
		"dmarc":                    {wantDMARC, []string{wantDMARC}, true, ""},
		"dmarc with a stricter p":  {wantDMARC, []string{"v=DMARC1;p=REJECT; rua=mailto:x@example.org"}, true, ""},
		"dmarc without policy":     {wantDMARC, []string{"v=DMARC1; sp=none"}, false, "no policy"},
		"dmarc twice":              {wantDMARC, []string{wantDMARC, wantDMARC + ";"}, false, "more than one"},
		"dmarc with v elsewhere":   {wantDMARC, []string{"p=none; v=DMARC1"}, false, "no DMARC record"},
		"text":                     {"code=Ab 1", []string{"x", " code=Ab  1 "}, true, ""},
		"text in another case":     {"code=Ab", []string{"code=ab"}, false, "are others"},
		"nothing":                  {wantDMARC, nil, false, "no TXT record"},
		"much too long":            {wantDMARC, []string{"v=DMARC1; p=none; " + strings.Repeat("x", 5000)}, false, "no DMARC record"},
		"more tags than are read":  {wantDKIM, []string{wantDKIM + strings.Repeat("; ", 200)}, false, "no DKIM key"},
		"an odd quotation mark":    {wantDMARC, []string{`"v=DMARC1; p=none`}, true, "quotation marks"},
		"spf of only blanks":       {"v=spf1 ~all", []string{"v=spf1 "}, true, ""},
		"typographic quotes":       {wantDMARC, []string{`“v=DMARC1; p=none”`}, true, "quotation marks"},
		"a tag without a value":    {wantDMARC, []string{"v=DMARC1; p"}, false, "no policy"},
		"bytes that are no text":   {wantDMARC, []string{"\xff\x00"}, false, "no DMARC record"},
		"more records than shown":  {wantDMARC, append(strings.Split(strings.Repeat("x ", 20), " "), wantDMARC), true, ""},
		"an answer over UDP's end": {wantDKIM, append(strings.Split(strings.Repeat(strings.Repeat("y", 300)+" ", 30), " "), wantDKIM), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := dnscheck.Checker{Resolver: fixed(tt.there)}.Check(t.Context(), []dnscheck.Record{{Type: "TXT", Name: "x.example.org", Value: tt.want}})[0]
			if got.Verified != tt.right || got.Unknown || !strings.Contains(got.Problem, tt.problem) || (got.Problem == "") != (tt.problem == "") {
				t.Errorf("%+v", got)
			}
			if len(got.Found) > 10 {
				t.Errorf("%d strings found", len(got.Found))
			}
		})
	}
}

// fixed answers every look-up with the same strings.
type fixed []string

func (f fixed) LookupTXT(_ context.Context, name string) ([]string, error) {
	if !strings.HasSuffix(name, ".") {
		return nil, errors.New("the name is not absolute")
	}
	if f == nil {
		return nil, &net.DNSError{IsNotFound: true}
	}
	return f, nil
}

func (f fixed) LookupCNAME(context.Context, string) (string, error) {
	return "", errors.New("not asked for")
}

// Through a real name server and the resolver of the standard library.
func TestServer(t *testing.T) {
	t.Parallel()
	r := serve(t, map[string]mockdns.Zone{
		"hw._domainkey.example.org.": {TXT: []string{wantDKIM}}, // over 255 bytes: split into strings
		"example.org.":               {TXT: []string{"v=spf1 -all"}, A: []string{"192.0.2.1"}},
		"aliased.example.org.":       {CNAME: "hw._domainkey.example.org."},
		"bounce.example.org.":        {CNAME: "mail.example.net."},
		"mail.example.net.":          {A: []string{"192.0.2.2"}},
		"broken.example.org.":        {Err: errors.New("no")},
	})
	records := []dnscheck.Record{
		{"TXT", "hw._domainkey.example.org", wantDKIM},
		{"TXT", "HW._domainkey.Example.org.", wantDKIM},
		{"TXT", "aliased.example.org", wantDKIM},
		{"TXT", "example.org", wantSPF},
		{"TXT", "_dmarc.example.org", wantDMARC},
		{"TXT", "broken.example.org", wantDMARC},
		{"CNAME", "bounce.example.org", "Mail.example.net."},
		{"CNAME", "bounce.example.org", "other.example.net"},
		{"CNAME", "example.org", "mail.example.net"},
		{"CNAME", "nothing.example.org", "mail.example.net"},
		{"MX", "example.org", "mail.example.net"},
	}
	type view struct {
		verified, unknown bool
		problem           string
	}
	var got []view
	for _, one := range (dnscheck.Checker{Resolver: r}).Check(t.Context(), records) {
		got = append(got, view{one.Verified, one.Unknown, one.Problem})
	}
	want := []view{
		{true, false, ""}, {true, false, ""}, {true, false, ""},
		{false, false, "The SPF record lacks a include:spf.example.net."},
		{false, false, "There is no TXT record with this name."},
		{false, true, "The name servers did not answer: try again later."},
		{true, false, ""},
		{false, false, "The record points elsewhere."},
		{false, false, "There is no CNAME record with this name."},
		{false, false, "There is no CNAME record with this name."},
		{false, true, "Records of this type cannot be looked up."},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(view{})); diff != "" {
		t.Error(diff)
	}
}

// A silent server costs the timeout and no more.
func TestSilence(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	c := dnscheck.Checker{Resolver: dnscheck.NewResolver(silent.LocalAddr().String()), Timeout: 20 * time.Millisecond}
	got := c.Check(t.Context(), []dnscheck.Record{{"TXT", "example.org", wantSPF}, {"CNAME", "example.org", "x"}})
	for _, one := range got {
		if one.Verified || !one.Unknown {
			t.Errorf("%+v", one)
		}
	}
	many := make([]dnscheck.Record, 30)
	for i := range many {
		many[i] = dnscheck.Record{Type: "TXT", Name: "x", Value: "y"}
	}
	if got := (dnscheck.Checker{Resolver: fixed{"y"}}).Check(t.Context(), many); !got[19].Verified || !got[20].Unknown {
		t.Errorf("%+v", got)
	}
}

func FuzzCheck(f *testing.F) {
	for _, want := range []string{wantDKIM, wantSPF, wantDMARC, "plain", ""} {
		f.Add(want, wantDKIM, `"v=spf1 a" "`)
		f.Add(want, "v=spf1", "v=DMARC1;;=;p=\\;")
	}
	f.Fuzz(func(t *testing.T, want, one, two string) {
		c := dnscheck.Checker{Resolver: fixed{one, two}}
		got := c.Check(context.Background(), []dnscheck.Record{{"TXT", "x", want}})[0]
		if !got.Verified && got.Problem == "" {
			t.Errorf("not verified, for no reason: %+v", got)
		}
		again := dnscheck.Checker{Resolver: fixed{two, one}}.Check(context.Background(), []dnscheck.Record{{"TXT", "x", want}})[0]
		if got.Verified != again.Verified {
			t.Errorf("the order of the answers matters: %+v, %+v", got, again)
		}
	})
}

func ExampleChecker() {
	published := fixed{"v=spf1 mx -all"} // in earnest: dnscheck.NewResolver("")
	results := dnscheck.Checker{Resolver: published}.Check(context.Background(), []dnscheck.Record{
		{Type: "TXT", Name: "example.org", Value: "v=spf1 include:spf.example.net ~all"},
	})
	fmt.Println(results[0].Verified, results[0].Problem)
	// Output: false The SPF record lacks include:spf.example.net.
}
