package desk_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/storage"
)

// withKeys is a desk that encrypts mail, with a customer and her armored key.
func withKeys(t *testing.T) (b *bundle, at, armored string) {
	t.Helper()
	b = newBundleWith(t, nil, nil, func(cfg *helpdesk.Config) {
		cfg.ParseKey = func(content []byte, now time.Time) (helpdesk.PublicKey, error) {
			k, err := pgp.Parse(content, now)
			return helpdesk.PublicKey{UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, ExpiresAt: k.ExpiresAt, Content: k.Packets}, err
		}
	})
	c, err := b.desk.Customers().Create(t.Context(), helpdesk.CustomerInput{
		FirstName: storage.Some("Ada"), Emails: storage.Some([]helpdesk.Item{{Value: "ada@example.com"}, {Value: "countess@example.com"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile("../../helpdesk/pgp/testdata/ada.asc")
	if err != nil {
		t.Fatal(err)
	}
	return b, fmt.Sprintf("/customers/%d", c.ID), string(key)
}

// Keys of a customer are added as text and as a file, and removed.
func TestCustomerKeys(t *testing.T) {
	t.Parallel()
	b, at, armored := withKeys(t)
	if !strings.Contains(b.get(at).body, at+"/keys") {
		t.Error("the customer's page does not lead to the keys")
	}
	if page := b.get(at + "/keys").body; !strings.Contains(page, "No keys yet") {
		t.Error("it does not say that there is none")
	}
	for name, tt := range map[string]struct{ email, key, says string }{
		"nothing":         {"1", "", "This is required"},
		"nonsense":        {"1", "hello", "aria-invalid"},
		"another address": {"2", armored, "is not a key for countess@example.com"},
	} {
		got := b.post(at+"/keys", url.Values{"email": {tt.email}, "key": {tt.key}})
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d, without %q", name, got.status, tt.says)
		}
	}
	if next := b.goOn(b.post(at+"/keys", url.Values{"email": {"1"}, "key": {armored}})); !strings.Contains(next, "Mail to ada@example.com is encrypted from now on") {
		t.Error("a key as text was not added")
	}
	if next := b.goOn(b.post(at+"/keys/1/delete", url.Values{})); !strings.Contains(next, "Key removed") {
		t.Error("it was not removed")
	}
	if got := b.uploadKey(at+"/keys", []byte(armored)); got.StatusCode != http.StatusSeeOther {
		t.Errorf("a key as a file: %d", got.StatusCode)
	}
	if got := b.uploadKey(at+"/keys", bytes.Repeat([]byte("x"), helpdesk.MaxPGPKey+10)); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a file that is too large: %d", got.StatusCode)
	}
	if page := b.get(at + "/keys").body; strings.Count(page, "/keys/2/delete") != 1 {
		t.Error("the key from a file is not on the page")
	}
}

// uploadKey submits a form with a key's file; redirects are not followed.
func (b *bundle) uploadKey(path string, content []byte) *http.Response {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("email", "1")
	part, _ := form.CreateFormFile("file", "ada.asc")
	_, _ = part.Write(content)
	_ = form.Close()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.web.URL+"/desk/a/1"+path, &body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	_ = got.Body.Close()
	return got
}

// Without OpenPGP on the server, and for members who may not see keys, no page leads to them.
func TestCustomerKeysNotOffered(t *testing.T) {
	t.Parallel()
	b := office(t)
	c := b.asks("ada@example.com", "Door", "It is stuck")
	at := fmt.Sprintf("/customers/%d", c.CustomerID)
	if strings.Contains(b.get(at).body, at+"/keys") {
		t.Error("the page of the customer leads to keys")
	}
}
