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
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// parseKey is how a program joins helpdesk and pgp.
func parseKey(content []byte, now time.Time) (helpdesk.PublicKey, error) {
	k, err := pgp.Parse(content, now)
	return helpdesk.PublicKey{UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, ExpiresAt: k.ExpiresAt, Content: k.Packets}, err
}

// withKeys is a bundle with PGP switched on, a customer with two addresses, and the
// armored key of the first.
func withKeys(t *testing.T) (b *bundle, customer helpdesk.Customer, armored []byte) {
	t.Helper()
	b = newBundle(t).with(func(cfg *helpdesk.Config) { cfg.ParseKey = parseKey })
	customer = must(b.desk.CreateCustomer(b.ctx, helpdesk.CustomerInput{
		FirstName: "Ada", Emails: storage.Some([]helpdesk.Item{{Value: "ADA@example.com"}, {Value: "countess@example.com"}}),
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
	key := must(b.desk.CreatePGPKey(b.ctx, ada.ID, in(armored)))(t)
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
		"the same key":          {in(key.Content), fault.Fields{"content": {"is a key that the address has already"}}},
		"garbage":               {in([]byte("hello")), fault.Fields{"content": {"is no OpenPGP key"}}},
		"no base64":             {helpdesk.PGPKeyInput{CustomerEmailID: email, Content: "%%"}, fault.Fields{"content": {"is no base64"}}},
		"an endless text":       {helpdesk.PGPKeyInput{CustomerEmailID: email, Content: strings.Repeat("A", 1<<20)}, fault.Fields{"content": {"is too long for a key"}}},
		"a key for another":     {helpdesk.PGPKeyInput{CustomerEmailID: ada.Emails[1].ID, Content: in(armored).Content}, fault.Fields{"content": {"is no key for countess@example.com"}}},
		"an unknown address":    {helpdesk.PGPKeyInput{CustomerEmailID: 999, Content: in(armored).Content}, fault.Fields{"customer_email_id": {"is no address of this customer"}}},
		"all that can be wrong": {helpdesk.PGPKeyInput{CustomerEmailID: 999, Name: strings.Repeat("n", 201), Content: "eA"}, fault.Fields{"customer_email_id": {"is no address of this customer"}, "name": {"is longer than 200 characters"}, "content": {"is no OpenPGP key"}}},
	} {
		_, err := b.desk.CreatePGPKey(b.ctx, ada.ID, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	// Line breaks and missing padding are no reason to refuse.
	if err := b.desk.DeletePGPKey(b.ctx, ada.ID, key.ID); err != nil {
		t.Fatal(err)
	}
	loose := in(key.Content)
	loose.Content = strings.TrimRight(loose.Content[:64]+"\r\n"+loose.Content[64:], "=")
	loose.Name = "Work"
	key = must(b.desk.CreatePGPKey(b.ctx, ada.ID, loose))(t)
	renamed := must(b.desk.UpdatePGPKey(b.ctx, ada.ID, key.ID, " Home "))(t)
	if key.Name != "Work" || renamed.Name != "Home" {
		t.Errorf("named %q, then %q", key.Name, renamed.Name)
	}
	if _, err := b.desk.UpdatePGPKey(b.ctx, ada.ID, key.ID, " "); fieldsOf(err)["name"] == nil {
		t.Error(err)
	}
	other := must(b.desk.CreateCustomer(b.ctx, helpdesk.CustomerInput{FirstName: "Bob"}))(t)
	if _, err := b.desk.PGPKey(b.ctx, other.ID, key.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("below another customer: %v", err)
	}
	if err := b.desk.DeletePGPKey(b.ctx, other.ID, key.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("below another customer: %v", err)
	}
	list := must(b.desk.PGPKeys(b.ctx, ada.ID, storage.PageRequest{}))(t).Items
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
	_, created := b.desk.CreatePGPKey(b.ctx, 1, helpdesk.PGPKeyInput{})
	_, listed := b.desk.PGPKeys(b.ctx, 1, storage.PageRequest{})
	_, got := b.desk.PGPKey(b.ctx, 1, 1)
	_, updated := b.desk.UpdatePGPKey(b.ctx, 1, 1, "x")
	for i, err := range []error{created, listed, got, updated, b.desk.DeletePGPKey(b.ctx, 1, 1)} {
		if !fault.Is(err, fault.Disabled) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// As long as nothing is encrypted, an answer that somebody with a key would get
// leaves to nobody, and the desk is told.
func TestNothingLeavesUnencrypted(t *testing.T) {
	t.Parallel()
	b, customer, armored := withKeys(t)
	id := b.receive(opening()).ConversationID
	before := b.answer(id, helpdesk.InteractionInput{})
	key := must(b.desk.CreatePGPKey(b.ctx, customer.ID, helpdesk.PGPKeyInput{
		CustomerEmailID: customer.Emails[0].ID, Content: base64.StdEncoding.EncodeToString(armored),
	}))(t)
	copied := b.answer(id, helpdesk.InteractionInput{
		To: []string{"bob@example.com"}, Bcc: []string{"Ada@EXAMPLE.com", "carl@example.com"},
	})
	other := b.answer(id, helpdesk.InteractionInput{To: []string{"bob@example.com"}})
	must(b.desk.UpdateConversation(b.ctx, id, helpdesk.ConversationUpdate{Subject: "x", Status: storage.Some(helpdesk.StatusClosed)}))(t)
	for _, i := range []helpdesk.Interaction{before, copied} { // also one that was posted before there was a key
		mail := begin(b, i.ID)
		if len(mail.Due) != 0 || !mail.NextTry.IsZero() || mail.HTML != "" {
			t.Errorf("somebody is due: %+v", mail)
		}
		for _, d := range must(b.desk.Deliveries(b.ctx, []int64{i.ID}))(t) {
			if d.State != helpdesk.DeliveryFailed || !strings.Contains(d.Response, "PGP key") {
				t.Errorf("%+v", d)
			}
		}
	}
	if c := b.conversation(id); c.Status != helpdesk.StatusPosted {
		t.Errorf("the conversation is %s", c.Status)
	}
	if kinds := b.kinds("interaction.delivery_failed"); len(kinds) != 2 {
		t.Errorf("%d events", len(kinds))
	}
	if mail := begin(b, other.ID); len(mail.Due) != 1 {
		t.Error("an answer to nobody with a key does not leave")
	}
	if err := b.desk.DeletePGPKey(b.ctx, customer.ID, key.ID); err != nil {
		t.Fatal(err)
	}
	if mail := begin(b, b.answer(id, helpdesk.InteractionInput{}).ID); len(mail.Due) != 1 {
		t.Error("without a key an answer does not leave")
	}
	if mail := begin(b, copied.ID); len(mail.Due) != 0 {
		t.Error("what has failed is sent after all")
	}
}
