package helpdesk_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// parseKey is how a program joins helpdesk and pgp.
func parseKey(content []byte, now time.Time) (helpdesk.PublicKey, error) {
	k, err := pgp.Parse(content, now)
	return helpdesk.PublicKey{UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, ExpiresAt: k.ExpiresAt, Content: k.Packets}, err
}

// withKeys is a bundle with PGP switched on, a customer with two addresses, and the armored key of the first.
func withKeys(t *testing.T) (b *bundle, customer helpdesk.Customer, armored []byte) {
	t.Helper()
	b = newBundle(t).with(func(cfg *helpdesk.Config) { cfg.ParseKey = parseKey })
	customer = must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{
		FirstName: storage.Some("Ada"), Emails: storage.Some([]helpdesk.Item{{Value: "ADA@example.com"}, {Value: "countess@example.com"}}),
	}))(t)
	return b, customer, must(os.ReadFile("pgp/testdata/ada.asc"))(t)
}

func TestPGPKeys(t *testing.T) {
	t.Parallel()
	b, ada, armored := withKeys(t)
	email := ada.Emails[0].ID
	in := func(content []byte) helpdesk.PGPKeyInput {
		return helpdesk.PGPKeyInput{CustomerEmailID: email, Content: base64.StdEncoding.EncodeToString(content)}
	}
	key := must(b.desk.PGPKeys().Create(b.ctx, ada.ID, in(armored)))(t)
	if key.Name != "Ada Lovelace <ada@example.com>" || len(key.Fingerprint) != 40 || strings.ToUpper(key.Fingerprint) != key.Fingerprint || !key.ExpiresAt.IsZero() || key.Email != "ADA@example.com" {
		t.Errorf("%+v", key)
	}
	if bytes.Contains(key.Content, []byte("BEGIN")) {
		t.Error("the armor is stored")
	}
	for name, tt := range map[string]struct {
		in   helpdesk.PGPKeyInput
		want fault.Fields
	}{
		"nothing":               {helpdesk.PGPKeyInput{}, fault.Fields{"customer_email_id": {"is required"}, "content": {"is required"}}},
		"the same key":          {in(key.Content), fault.Fields{"content": {"is already a key of this address"}}},
		"garbage":               {in([]byte("hello")), fault.Fields{"content": {"is no OpenPGP key"}}},
		"no base64":             {helpdesk.PGPKeyInput{CustomerEmailID: email, Content: "%%"}, fault.Fields{"content": {"is no base64"}}},
		"an endless text":       {helpdesk.PGPKeyInput{CustomerEmailID: email, Content: strings.Repeat("A", 1<<20)}, fault.Fields{"content": {"is too long for a key"}}},
		"a key for another":     {helpdesk.PGPKeyInput{CustomerEmailID: ada.Emails[1].ID, Content: in(armored).Content}, fault.Fields{"content": {"is not a key for countess@example.com"}}},
		"an unknown address":    {helpdesk.PGPKeyInput{CustomerEmailID: 999, Content: in(armored).Content}, fault.Fields{"customer_email_id": {"is not an address of this customer"}}},
		"all that can be wrong": {helpdesk.PGPKeyInput{CustomerEmailID: 999, Name: strings.Repeat("n", 201), Content: "eA"}, fault.Fields{"customer_email_id": {"is not an address of this customer"}, "name": {"is longer than 200 characters"}, "content": {"is no OpenPGP key"}}},
	} {
		_, err := b.desk.PGPKeys().Create(b.ctx, ada.ID, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	// Line breaks and missing padding are no reason to refuse.
	if err := b.desk.PGPKeys().Delete(b.ctx, ada.ID, key.ID); err != nil {
		t.Fatal(err)
	}
	loose := in(key.Content)
	loose.Content = strings.TrimRight(loose.Content[:64]+"\r\n"+loose.Content[64:], "=")
	loose.Name = "Work"
	key = must(b.desk.PGPKeys().Create(b.ctx, ada.ID, loose))(t)
	renamed := must(b.desk.PGPKeys().Update(b.ctx, ada.ID, key.ID, " Home "))(t)
	if key.Name != "Work" || renamed.Name != "Home" {
		t.Errorf("named %q, then %q", key.Name, renamed.Name)
	}
	if _, err := b.desk.PGPKeys().Update(b.ctx, ada.ID, key.ID, " "); fieldsOf(err)["name"] == nil {
		t.Error(err)
	}
	other := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Bob")}))(t)
	if _, err := b.desk.PGPKeys().Get(b.ctx, other.ID, key.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("below another customer: %v", err)
	}
	if err := b.desk.PGPKeys().Delete(b.ctx, other.ID, key.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("below another customer: %v", err)
	}
	list := must(b.desk.PGPKeys().List(b.ctx, ada.ID, storage.PageRequest{}))(t).Items
	if diff := cmp.Diff([]helpdesk.AddressedKey{renamed}, list); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pgp_key.created", "pgp_key.deleted", "pgp_key.created", "pgp_key.updated"}, b.kinds("pgp_key.")); diff != "" {
		t.Error(diff)
	}
}

func TestPGPSwitchedOff(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, created := b.desk.PGPKeys().Create(b.ctx, 1, helpdesk.PGPKeyInput{})
	_, listed := b.desk.PGPKeys().List(b.ctx, 1, storage.PageRequest{})
	_, got := b.desk.PGPKeys().Get(b.ctx, 1, 1)
	_, updated := b.desk.PGPKeys().Update(b.ctx, 1, 1, "x")
	for i, err := range []error{created, listed, got, updated, b.desk.PGPKeys().Delete(b.ctx, 1, 1)} {
		if !fault.Is(err, fault.Disabled) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// copies shows which mails an answer leaves as: "plain", or the words of its keys, then the recipients.
func copies(mail helpdesk.OutgoingMail) []string {
	var out []string
	list := func(words []string, due []sending.Delivery) {
		for _, d := range due {
			words = append(words, d.Field+":"+d.Address)
		}
		out = append(out, strings.Join(words, " "))
	}
	if len(mail.Due) > 0 {
		list([]string{"plain"}, mail.Due)
	}
	for _, e := range mail.Encrypted {
		var words []string
		for _, k := range e.Keys {
			word, _, _ := strings.Cut(string(k), " ")
			words = append(words, word)
		}
		list(words, e.Due)
	}
	return out
}

// fakeKeys is a bundle whose keys are words. Once it is late, those that begin with "old" are expired.
func fakeKeys(t *testing.T, keys map[string][]string) (b *bundle, conversation int64) {
	t.Helper()
	late := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	b = newBundle(t).with(func(cfg *helpdesk.Config) {
		cfg.ParseKey = func(content []byte, now time.Time) (helpdesk.PublicKey, error) {
			word, email, _ := strings.Cut(string(content), " ")
			if strings.HasPrefix(word, "old") && now.After(late) {
				return helpdesk.PublicKey{}, errors.New("is expired")
			}
			return helpdesk.PublicKey{UserID: word, Emails: []string{email}, Fingerprint: word, Content: content}, nil
		}
	})
	conversation = b.receive(opening()).ConversationID
	for email, words := range keys {
		c := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("X"), Emails: storage.Some([]helpdesk.Item{{Value: email}})}))(t)
		for _, word := range words {
			must(b.desk.PGPKeys().Create(b.ctx, c.ID, helpdesk.PGPKeyInput{
				CustomerEmailID: c.Emails[0].ID, Content: base64.StdEncoding.EncodeToString([]byte(word + " " + email)),
			}))(t)
		}
	}
	b.clock.Add(48 * time.Hour)
	return b, conversation
}

// An answer is encrypted for all of its recipients as soon as one of them has a key, and is sent to none if that is
// impossible.
func TestSealing(t *testing.T) {
	t.Parallel()
	keys := map[string][]string{
		"bob@example.com": {"bob1", "bob2", "old-bob"}, "carl@example.com": {"carl"}, "dora@example.com": {"old-dora"},
	}
	const refused = "The mail was not sent to anybody: it has to be encrypted, and "
	for name, tt := range map[string]struct {
		in      helpdesk.InteractionInput
		want    []string
		refused string
	}{
		"nobody has a key": {helpdesk.InteractionInput{To: []string{"eve@example.com"}, Cc: []string{"fay@example.com"}},
			[]string{"plain to:eve@example.com cc:fay@example.com"}, ""},
		"several keys, one expired": {helpdesk.InteractionInput{To: []string{"BOB@example.com"}},
			[]string{"bob1 bob2 to:BOB@example.com"}, ""},
		"all in To and Cc read the same": {helpdesk.InteractionInput{To: []string{"bob@example.com"}, Cc: []string{"carl@example.com"}},
			[]string{"bob1 bob2 carl to:bob@example.com cc:carl@example.com"}, ""},
		"hidden ones get their own": {helpdesk.InteractionInput{To: []string{"carl@example.com"}, Bcc: []string{"bob@example.com"}},
			[]string{"carl to:carl@example.com", "bob1 bob2 bcc:bob@example.com"}, ""},
		"one in Cc without a key": {helpdesk.InteractionInput{To: []string{"bob@example.com"}, Cc: []string{"eve@example.com"}},
			nil, refused + "eve@example.com has no PGP key."},
		"a hidden one without a key": {helpdesk.InteractionInput{To: []string{"bob@example.com"}, Bcc: []string{"eve@example.com"}},
			nil, refused + "eve@example.com has no PGP key."},
		"only a hidden one has a key": {helpdesk.InteractionInput{To: []string{"eve@example.com"}, Bcc: []string{"bob@example.com"}},
			nil, refused + "eve@example.com has no PGP key."},
		"no key in force": {helpdesk.InteractionInput{To: []string{"dora@example.com"}},
			nil, refused + "dora@example.com has no PGP key that can be used: it is expired."},
		"a copy to one with no key in force": {helpdesk.InteractionInput{To: []string{"eve@example.com"}, Cc: []string{"dora@example.com"}},
			nil, refused + "eve@example.com has no PGP key."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, id := fakeKeys(t, keys)
			i := b.answer(id, tt.in)
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
			mail := begin(b, i.ID)
			if diff := cmp.Diff(tt.want, copies(mail)); diff != "" {
				t.Error(diff)
			}
			if (mail.HTML == "") != (tt.refused != "") || !mail.NextTry.IsZero() {
				t.Errorf("%+v", mail)
			}
			for _, d := range must(b.desk.Interactions().Deliveries(b.ctx, []int64{i.ID}))(t) {
				if failed := d.State == sending.Failed; failed != (tt.refused != "") || d.Response != tt.refused {
					t.Errorf("%s to %s: %s", d.State, d.Address, d.Response)
				}
			}
			status, events := helpdesk.StatusClosed, 0
			if tt.refused != "" { // the failure must be visible to someone
				status, events = helpdesk.StatusPosted, 1
			}
			if c := b.conversation(id); c.Status != status || len(b.kinds("interaction.delivery_failed")) != events {
				t.Errorf("the conversation is %s with %d events", c.Status, len(b.kinds("interaction.delivery_failed")))
			}
		})
	}
}

// Every attempt reads the keys again, and a key added or removed in between never causes an unencrypted text to waiting
// recipients.
func TestSealingAgain(t *testing.T) {
	t.Parallel()
	b, id := fakeKeys(t, map[string][]string{"bob@example.com": {"bob"}, "carl@example.com": {"carl"}})
	i := b.answer(id, helpdesk.InteractionInput{To: []string{"bob@example.com"}, Cc: []string{"carl@example.com"}})
	mail := begin(b, i.ID)
	bob, carl := mail.Encrypted[0].Due[0], mail.Encrypted[0].Due[1]
	must(b.svc.Outgoing().Report(b.ctx, b.account.ID, i.ID, []helpdesk.Outcome{
		{DeliveryID: bob.ID, State: sending.Sent}, {DeliveryID: carl.ID, State: sending.Deferred},
	}))(t)
	b.clock.Add(time.Hour)
	again := begin(b, i.ID)
	if diff := cmp.Diff([]string{"bob carl cc:carl@example.com"}, copies(again)); diff != "" || again.MessageID != mail.MessageID {
		t.Errorf("%s, %q", diff, again.MessageID)
	}
	// Carl's key goes: he gets nothing, as Bob's mail was encrypted.
	page := must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{Email: "carl@example.com"}, storage.PageRequest{}))(t)
	key := must(b.desk.PGPKeys().List(b.ctx, page.Items[0].ID, storage.PageRequest{}))(t).Items[0]
	if err := b.desk.PGPKeys().Delete(b.ctx, page.Items[0].ID, key.ID); err != nil {
		t.Fatal(err)
	}
	if last := begin(b, i.ID); copies(last) != nil {
		t.Errorf("%q", copies(last))
	}
	var states []string
	for _, d := range must(b.desk.Interactions().Deliveries(b.ctx, []int64{i.ID}))(t) {
		states = append(states, string(d.State)+" "+d.Address)
	}
	if diff := cmp.Diff([]string{"sent bob@example.com", "failed carl@example.com"}, states); diff != "" {
		t.Error(diff)
	}
	// A key added after posting counts, and a key of a non-recipient does not.
	other := b.answer(id, helpdesk.InteractionInput{To: []string{"eve@example.com"}})
	if diff := cmp.Diff([]string{"plain to:eve@example.com"}, copies(begin(b, other.ID))); diff != "" {
		t.Error(diff)
	}
}
