package outbound_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
)

// publish gives the desk a domain whose records all are in DNS, and returns them by name.
func (w *world) publish(name string) map[string]string {
	w.t.Helper()
	ctx, key := context.Background(), bytes.Repeat([]byte("k"), 32)
	w.svc = must[*helpdesk.Service](w.t)(helpdesk.New(helpdesk.Config{
		Store: w.store, Blobs: w.blobs, Sealer: must[storage.Sealer](w.t)(storage.NewSealer(key)),
		SigningKey: key, IntakeDomain: "in.example", Rand: &counter{}, Now: w.clock,
		DNS: func(_ context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
			results := make([]sending.DNSResult, len(records))
			for n := range results {
				results[n].Verified = true
			}
			return results, nil
		},
	}))
	w.desk = must[*helpdesk.Desk](w.t)(w.svc.Desk(ctx, w.svc.As(w.desk.UserID()), w.desk.AccountID()))
	d := must[sending.Domain](w.t)(w.desk.Domains().Create(ctx, name))
	d = must[sending.Domain](w.t)(w.desk.Domains().Verify(ctx, d.ID))
	zone := map[string]string{}
	for _, r := range d.Records {
		zone[r.Hostname] = r.Value
	}
	return zone
}

// verdicts has the signatures of a mail checked and returns the algorithm of each good one.
func verdicts(t testing.TB, raw string, zone map[string]string) []string {
	t.Helper()
	checked, err := dkim.VerifyWithOptions(strings.NewReader(raw), &dkim.VerifyOptions{LookupTXT: func(name string) ([]string, error) {
		if value, ok := zone[name]; ok {
			return []string{value}, nil
		}
		return nil, errors.New("no such record")
	}})
	if err != nil {
		t.Fatal(err)
	}
	algorithm := regexp.MustCompile(`\ba=([a-z0-9-]+)`)
	names := algorithm.FindAllStringSubmatch(raw, -1)
	var good []string
	for n, v := range checked {
		if v.Err != nil {
			t.Logf("%s: %v", v.Domain, v.Err)
			continue
		}
		good = append(good, names[n][1])
	}
	return good
}

// python has dkimpy verify the signatures and returns its results.
func python(t testing.TB, raw string, zone map[string]string) []bool {
	t.Helper()
	const program = `
import json, sys, dkim
zone = json.loads(sys.argv[1])
mail = sys.stdin.buffer.read()
def dns(name, timeout=5):
    return zone.get(name.decode().rstrip("."), "").encode() or None
d = dkim.DKIM(mail)
count = sum(1 for name, _ in d.headers if name.lower() == b"dkim-signature")
print(json.dumps([dkim.DKIM(mail).verify(idx=n, dnsfunc=dns) for n in range(count)]))
`
	interpreter := "/usr/bin/python3"
	if err := exec.CommandContext(t.Context(), interpreter, "-c", "import dkim, nacl").Run(); err != nil {
		testenv.Skip(t, "Debian's python3-dkim and python3-nacl are not there")
	}
	names, _ := json.Marshal(zone)
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", program, string(names))
	cmd.Stdin, cmd.Stderr = strings.NewReader(raw), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var good []bool
	if err := json.Unmarshal(out, &good); err != nil {
		t.Fatal(err)
	}
	return good
}

// Answers carry an RSA and an Ed25519 signature that dkimpy and go-msgauth accept, whatever is in the mail, and that break
// when anything of it changes.
func TestSigned(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]helpdesk.InteractionInput{
		"plain":         {Body: "Hello"},
		"dots and tail": {Body: "<p>.</p><pre>.\n..\n \n\n\n</pre>  "},
		"other letters": {Body: "<p>Größe, 東京, שלום</p>", Cc: []string{"a@bücher.example"}},
		"many":          {Body: "Hi", To: []string{"carl@example.com", "Dora Example <dora@example.com>"}, Bcc: []string{"eve@example.com"}},
		"large":         {Body: strings.Repeat("<p>Lorem ipsum dolor sit amet.</p>", 20_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, transport := newWorld(t), &taken{}
			zone := w.publish("example.org")
			i := w.answer(in)
			if name == "many" {
				w.attach(i, "large.png", png+strings.Repeat("0123456789", 200_000), false) // composed twice
			}
			if err := w.handle(w.sender(transport)); err != nil {
				t.Fatal(err)
			}
			raw := transport.mails[0]
			if diff := cmp.Diff([]string{"rsa-sha256", "ed25519-sha256"}, verdicts(t, raw, zone)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]bool{true, true}, python(t, raw, zone)); diff != "" {
				t.Error("dkimpy: " + diff)
			}
			head, _, _ := strings.Cut(raw, "\r\n\r\n")
			for line := range strings.SplitSeq(head, "\r\n") {
				if len(line) > 98 && strings.Contains(line, "=") && !strings.Contains(line, ":") {
					t.Errorf("a line of %d bytes: %s", len(line), line)
				}
			}
			if strings.Contains(head, "; l=") || !regexp.MustCompile(`h=From:\s*From:`).MatchString(head) || !strings.Contains(head, "c=relaxed/relaxed") {
				t.Errorf("signed as\n%s", head)
			}
			for what, forged := range map[string]string{
				"another body":    raw + "P.S. Pay me\r\n",
				"another subject": strings.Replace(raw, "\r\nSubject: ", "\r\nSubject: x", 1),
				"another From":    strings.Replace(raw, "\r\nFrom: ", "\r\nFrom: eve@example.net\r\nFrom: ", 1),
			} {
				if good := verdicts(t, forged, zone); len(good) != 0 || forged == raw {
					t.Errorf("%s: %v still are good", what, good)
				}
			}
		})
	}
}

// lame is a key that cannot sign.
type lame struct{ crypto.Signer }

func (lame) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("the key is in a module that was pulled out")
}

func TestUnsignable(t *testing.T) {
	t.Parallel()
	key := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	good := sending.DKIMKey{Domain: "example.org", Selector: "a", Key: key}
	const mail = "From: a@example.org\r\nSubject: x\r\n\r\nHi\r\n"
	m := must[*outbound.Mail](t)(outbound.NewMail("1@example.org", time.Unix(0, 0), text(mail)))
	for what, keys := range map[string][]sending.DKIMKey{
		"a key that fails":     {good, {Domain: "example.org", Selector: "b", Key: lame{key}}},
		"a key without domain": {{Key: key}},
	} {
		if err := m.Sign(keys); err == nil {
			t.Errorf("%s signs", what)
		}
	}
	var out strings.Builder
	if _, err := m.WriteTo(&out); err != nil || out.String() != mail || m.Size != int64(len(mail)) {
		t.Errorf("after failures the mail is %q, %v", out.String(), err)
	}
	bare := must[*outbound.Mail](t)(outbound.NewMail("1@example.org", time.Unix(0, 0), text("no header at all")))
	_ = bare.Sign([]sending.DKIMKey{good}) // neither hangs nor panics
}
