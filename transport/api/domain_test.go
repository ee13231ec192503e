package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/api"
)

// published is the DNS of the tests: all records of example.org are there, and of other domains the SPF record only.
func published(_ context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
	results := make([]sending.DNSResult, len(records))
	for i, r := range records {
		results[i].Verified = r.Label == sending.LabelSPF || strings.HasSuffix("."+r.Hostname, ".example.org")
		if !results[i].Verified {
			results[i].Problem = "There is no TXT record with this name."
		}
	}
	return results, nil
}

// parseKey joins helpdesk and pgp.
func parseKey(content []byte, now time.Time) (helpdesk.PublicKey, error) {
	k, err := pgp.Parse(content, now)
	return helpdesk.PublicKey{UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, ExpiresAt: k.ExpiresAt, Content: k.Packets}, err
}

// adaKey is the key of ada@example.com as the API takes it, form-encoded.
func adaKey() string {
	armored, err := os.ReadFile("../../helpdesk/pgp/testdata/ada.asc")
	if err != nil {
		panic(err)
	}
	return url.QueryEscape(base64.StdEncoding.EncodeToString(armored))
}

// dkimKeys matches the random values of domains.
var dkimKeys = regexp.MustCompile(`hw-[0-9a-f]{10}|k=[a-z0-9]+; p=[A-Za-z0-9+/=]+`)

func stableKeys(body string) string {
	return dkimKeys.ReplaceAllStringFunc(body, func(found string) string {
		if kind, _, ok := strings.Cut(found, "; p="); ok {
			return kind + map[bool]string{true: "; p=MII...", false: "; p=..."}[kind == "k=rsa"]
		}
		return "hw-x"
	})
}

// With PGP switched off, the whole resource is disabled, and the answer explains it.
func TestPGPSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	sealer, err := storage.NewSealer(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	w.svc, err = helpdesk.New(helpdesk.Config{
		Domains: []storage.Domain{kb.Domain()},
		Store:   w.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: bytes.Repeat([]byte("k"), 32), Now: w.clock.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.serve(t, api.Config{})
	asked := 0
	for _, r := range w.table.Routes() {
		if !strings.Contains(r.Path, "/pgp-public-keys") && r.ID != "verifyDomain" {
			continue
		}
		asked++
		for who, want := range map[string]string{"owner": "feature_disabled", "powerless": "forbidden", "stranger": "not_found", "": "unauthenticated"} {
			if p := problem(t, w.ask(t, who, r, ids)); p.Code != want {
				t.Errorf("%s as %q: %+v", r.ID, who, p)
			}
		}
	}
	if asked != 6 {
		t.Errorf("%d operations were asked", asked)
	}
}
