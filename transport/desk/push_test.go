package desk_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/webpush"
	"github.com/helpwright/helpwright/storage"
)

// subscriber is a browser that has subscribed to a push service on this machine.
type subscriber struct {
	private *ecdh.PrivateKey
	auth    []byte
	service *httptest.Server
	bodies  [][]byte
	headers []http.Header
}

func newSubscriber(t *testing.T) *subscriber {
	t.Helper()
	s := &subscriber{auth: make([]byte, 16)}
	_, _ = rand.Read(s.auth)
	var err error
	if s.private, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	s.service = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.bodies, s.headers = append(s.bodies, body), append(s.headers, r.Header)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(s.service.Close)
	return s
}

// form is what the browser's script sends to the desk.
func (s *subscriber) form() url.Values {
	return url.Values{
		"endpoint": {s.service.URL + "/me"}, "p256dh": {base64.RawURLEncoding.EncodeToString(s.private.PublicKey().Bytes())}, "auth": {base64.RawURLEncoding.EncodeToString(s.auth)},
	}
}

// last decrypts the last message, as RFC 8291 says.
func (s *subscriber) last(t *testing.T) string {
	t.Helper()
	body := s.bodies[len(s.bodies)-1]
	salt, sender, sealed := body[:16], body[21:86], body[86:]
	from, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := s.private.ECDH(from)
	if err != nil {
		t.Fatal(err)
	}
	input, _ := hkdf.Key(sha256.New, shared, s.auth, "WebPush: info\x00"+string(s.private.PublicKey().Bytes())+string(sender), 32)
	key, _ := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, _ := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	text, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\x02")
}

// A browser that the member has switched on is sent numbers, and the desk tells it what they are about.
func TestPushNotifications(t *testing.T) {
	t.Parallel()
	sub := newSubscriber(t)
	var another *webpush.Push
	b := newBundleWith(t, nil, nil, func(cfg *helpdesk.Config) {
		config := webpush.PushConfig{Vault: cfg.Store.(storage.Vault), Sealer: cfg.Sealer, Contact: "mailto:ops@example.org", Client: sub.service.Client()}
		cfg.Push, another = webpush.NewPush(config), webpush.NewPush(config)
	})
	push := func() {
		t.Helper()
		b.tell()
		now := time.Now()
		jobs, err := b.store.Claim(t.Context(), map[string]int{helpdesk.JobPush: 100}, now, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			if err := b.service.Jobs().Push(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if err := b.store.Finish(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
	}
	page := b.get("/settings/notifications").body
	if !strings.Contains(page, "On this device") || !strings.Contains(page, `data-push-here="/desk/a/1/push"`) {
		t.Error("the page does not offer it")
	}
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(b.get("/push").body), &made); err != nil || len(made.Key) != 87 {
		t.Fatal(made, err)
	}
	if same, err := another.PublicKey(t.Context()); err != nil || same != made.Key {
		t.Errorf("another server has the key %s, %v", same, err)
	}
	if got := b.post("/push", sub.form()); got.status != http.StatusNoContent {
		t.Fatal(got.status, got.body)
	}
	if got := b.post("/push/test", sub.form()); got.status != http.StatusNoContent {
		t.Fatal(got.status)
	}
	push()
	if got := sub.last(t); got != `{"account":1}` {
		t.Error(got)
	}
	other, err := b.service.Operator().CreateUser(t.Context(), identity.UserInput{Name: "Jonas", Email: "jonas@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Operator().AddMember(t.Context(), 1, other.ID, identity.RoleAgent); err != nil {
		t.Fatal(err)
	}
	asks := func(subject, text string) {
		t.Helper()
		_, err := b.deskOf(other.ID).Conversations().Create(t.Context(), helpdesk.ConversationInput{
			Channel: "email", To: "grace@example.org", Subject: subject, Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: text}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	asks("A secret subject", "With a secret text.")
	push()
	var message helpdesk.PushMessage
	text := sub.last(t)
	if err := json.Unmarshal([]byte(text), &message); err != nil || len(sub.bodies) != 2 || strings.Contains(text, "secret") || message.NotificationID == 0 {
		t.Fatal(text, err)
	}
	if got := sub.headers[1].Get("Authorization"); !strings.HasSuffix(got, "k="+made.Key) {
		t.Error(got)
	}
	about := fmt.Sprintf("/notifications/%d/push", message.NotificationID)
	if got := b.get(about); got.status != http.StatusOK || !strings.Contains(got.body, "A secret subject") || strings.Contains(got.body, "secret text") {
		t.Error(got.status, got.body)
	}
	if _, err := b.desk.Notifications().MarkRead(t.Context(), message.NotificationID); err != nil {
		t.Fatal(err)
	}
	if got := b.get(about); got.status != http.StatusNoContent {
		t.Errorf("it was read: %d", got.status)
	}
	if got := b.post("/push/remove", sub.form()); got.status != http.StatusNoContent {
		t.Error(got.status)
	}
	asks("Another subject", "Text.")
	push()
	if len(sub.bodies) != 2 {
		t.Error("a device that was switched off is told")
	}
	for name, change := range map[string]func(url.Values){
		"no base64":   func(form url.Values) { form.Set("auth", "?") },
		"http":        func(form url.Values) { form.Set("endpoint", "http://push.example.org/") },
		"no endpoint": func(form url.Values) { form.Del("endpoint") },
	} {
		form := sub.form()
		if change(form); b.post("/push", form).status != http.StatusUnprocessableEntity {
			t.Errorf("%s is taken", name)
		}
	}
}

// A server that sends no push notifications does not offer them.
func TestNoPushNotifications(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	if page := b.get("/settings/notifications").body; strings.Contains(page, "On this device") || strings.Contains(page, "data-push-here") {
		t.Error("the page offers it")
	}
	if got := b.get("/push"); got.status == http.StatusOK {
		t.Error(got.status)
	}
}
