package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxcpp/go-mockdns"

	"github.com/helpwright/helpwright/storage/testenv"
)

// typeTXT is the number of TXT records (RFC 1035 section 3.2.2).
const typeTXT = 16

type domainView struct {
	ID         int64
	Verified   bool
	DNSRecords []struct {
		Label, Type, Hostname, Value string
		Verified                     bool
		Problem                      string
	} `json:"dns_records"`
}

// A domain is verified through a real name server, record by record as they are published.
func TestVerifyDNS(t *testing.T) {
	t.Parallel()
	names, err := mockdns.NewServerWithLogger(map[string]mockdns.Zone{
		"mail.example.org.": {TXT: []string{"v=spf1 mx include:spf.example.net -all"}},
	}, log.New(io.Discard, "", 0), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	s := newServer(t, "HELPWRIGHT_DNS_SERVER="+names.LocalAddr().String(), "HELPWRIGHT_SPF=include:spf.example.net")
	var d object[domainView]
	s.ok("POST", "/accounts/1/domains", url.Values{"domain": {"mail.example.org"}}, &d)
	verify := func() string {
		s.ok("POST", fmt.Sprintf("/accounts/1/domains/%d/verify-dns", d.Data.ID), nil, &d)
		states := fmt.Sprint(d.Data.Verified)
		for _, r := range d.Data.DNSRecords {
			states += fmt.Sprintf(" %s=%v", r.Label, r.Verified)
		}
		return states
	}
	if got := verify(); got != "false DKIM=false SPF=false DMARC=false DKIM=false" {
		t.Error(got)
	}
	publish := func(label string) {
		for _, r := range d.Data.DNSRecords {
			if r.Label == label {
				if err := names.AppendRR(r.Hostname+".", typeTXT, r.Value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	publish("DKIM")
	if got := verify(); got != "true DKIM=true SPF=true DMARC=false DKIM=true" {
		t.Error(got)
	}
	publish("DMARC")
	if got := verify(); got != "true DKIM=true SPF=true DMARC=true DKIM=true" {
		t.Error(got)
	}
	if err := names.Close(); err != nil {
		t.Fatal(err)
	}
	if got := verify(); got != "true DKIM=true SPF=true DMARC=true DKIM=true" || !strings.Contains(d.Data.DNSRecords[0].Problem, "did not answer") {
		t.Errorf("without a name server: %s %q", got, d.Data.DNSRecords[0].Problem)
	}
}

// With PGP enabled, an answer to a recipient with a key is encrypted, and one that also goes to a recipient without a key is
// not even spooled.
func TestPGPFailsClosed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "ENABLE_PGP_ENCRYPTION=true")
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		var customer object[struct {
			ID     int64
			Emails []struct{ ID int64 }
		}]
		s.ok("POST", "/accounts/1/customers", url.Values{"first_name": {"Ada"}, "emails[0][email]": {"ada@example.com"}}, &customer)
		armored, err := os.ReadFile("../../helpdesk/pgp/testdata/ada.asc")
		if err != nil {
			t.Fatal(err)
		}
		s.ok("POST", fmt.Sprintf("/accounts/1/customers/%d/pgp-public-keys", customer.Data.ID), url.Values{
			"customer_email_id": {fmt.Sprint(customer.Data.Emails[0].ID)}, "content": {base64.StdEncoding.EncodeToString(armored)},
		}, nil)
		deliveries := func(to string, cc ...string) func() string {
			var c object[conversationView]
			s.ok("POST", "/accounts/1/conversations", url.Values{
				"channel": {"email"}, "to": {to}, "interactions[0][type]": {"user"}, "interactions[0][body]": {"Secret"},
				"interactions[0][cc][]": cc,
			}, &c)
			return func() string {
				d := s.interactions(c.Data.ID)[0].Deliveries[0]
				return d.State + " " + d.Response
			}
		}
		for _, tt := range []struct {
			got  func() string
			want string
		}{
			{deliveries("ada@example.com"), "sent"},
			{deliveries("bob@example.com", "ada@example.com"), "failed The mail was not sent to anybody: it has to be encrypted, and bob@example.com has no PGP key."},
		} {
			testenv.Eventually(t, "it is tried", func() bool { return !strings.HasPrefix(tt.got(), "queued") })
			if got := tt.got(); !strings.HasPrefix(got, tt.want) {
				t.Error(got)
			}
		}
		mails, err := filepath.Glob(filepath.Join(s.dir, "data", "outbox", "*.eml"))
		if err != nil || len(mails) != 1 {
			t.Fatalf("%d mails in the outbox: %v", len(mails), err)
		}
		raw, err := os.ReadFile(mails[0])
		if err != nil || !strings.Contains(string(raw), "Subject: ...\r\n") || !strings.Contains(string(raw), "-----BEGIN PGP MESSAGE-----") || strings.Contains(string(raw), "Secret") {
			t.Errorf("%v\n%s", err, raw)
		}
	})
}
