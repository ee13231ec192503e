package ingest_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// ahead is a clock ahead of the programs that make keys while the test runs.
func ahead() time.Time { return time.Now().Add(time.Hour) }

func withPGP(cfg *helpdesk.Config) {
	cfg.Now = ahead
	cfg.ParseKey = func(content []byte, now time.Time) (helpdesk.PublicKey, error) {
		k, err := pgp.Parse(content, now)
		return helpdesk.PublicKey{UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, Content: k.Packets}, err
	}
}

// register gives an address a key.
func (b *bundle) register(email string, key []byte) helpdesk.AddressedKey {
	b.t.Helper()
	ctx := b.t.Context()
	c := check(b.desk.Customers().Create(ctx, helpdesk.CustomerInput{FirstName: storage.Some("X"), Emails: storage.Some([]helpdesk.Item{{Value: email}})}))(b.t)
	return check(b.desk.PGPKeys().Create(ctx, c.ID, helpdesk.PGPKeyInput{
		CustomerEmailID: c.Emails[0].ID, Content: base64.StdEncoding.EncodeToString(key),
	}))(b.t)
}

// file takes a mail, files it and returns its interaction.
func (b *bundle) file(raw string) helpdesk.Interaction {
	b.t.Helper()
	ctx := b.t.Context()
	b.filed++
	b.take(fmt.Sprintf("Message-ID: <%d@example.com>\r\n", b.filed) + raw)
	if err := b.filer.Handle(ctx, b.job()); err != nil {
		b.t.Fatal(err)
	}
	all := b.ledger()
	row := all[len(all)-1]
	if row.State != ledger.Filed {
		b.t.Fatalf("the mail is %s: %s", row.State, row.Reason)
	}
	return check(b.desk.Interactions().Get(ctx, row.ConversationID, row.InteractionID))(b.t)
}

// crlf gives a text the newlines of a mail.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// signed is a mail of an address whose text is signed.
func signed(from, part, signature string) string {
	return crlf("From: "+from+"\nTo: support@example.org\nSubject: Signed\nMIME-Version: 1.0\n"+
		"Content-Type: multipart/signed; micalg=pgp-sha512;\n protocol=\"application/pgp-signature\"; boundary=\"sig\"\n\n"+
		"This is an OpenPGP/MIME signed message (RFC 4880 and 3156)\n--sig\n") + part +
		crlf("\n--sig\nContent-Type: application/pgp-signature; name=\"signature.asc\"\n\n"+strings.ReplaceAll(signature, "\r\n", "\n")+"\n--sig--\n")
}

// A signature is valid if it was made with a key of the sender's address, over exactly the received text.
func TestSignedMail(t *testing.T) {
	t.Parallel()
	gnupg := testenv.NewGnuPG(t)
	ada, bob := gnupg.NewKey("Ada <ada@example.com>", "future-default"), gnupg.NewKey("Bob <bob@example.com>", "future-default")
	b := newBundle(t, memblob.New(), withPGP)
	key := b.register("ADA@example.com", ada)
	b.register("bob@example.com", bob)
	part := crlf("Content-Type: multipart/mixed; boundary=\"in\"\n\n--in\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n" +
		"Gr=C3=BC=C3=9Fe\n\n--in\nContent-Type: text/plain; name=a.txt\nContent-Disposition: attachment\n\nFile\n--in--\n")
	sign := func(text string, options ...string) string {
		return string(gnupg.Run([]byte(text), append(options, "--armor", "--detach-sign")...))
	}
	good := sign(part, "--local-user", "ada@example.com")
	outsider := testenv.NewGnuPG(t)
	outsider.NewKey("Ada <ada@example.com>", "future-default")
	forged := string(outsider.Run([]byte(part), "--armor", "--detach-sign"))
	of := func(state ledger.SignatureState) ledger.Security {
		out := ledger.Security{Protocol: "openpgp", Signature: state}
		if state == ledger.SignatureValid {
			out.Fingerprint = key.Fingerprint
		}
		return out
	}
	for name, tt := range map[string]struct {
		raw  string
		want ledger.SignatureState
	}{
		"as it was signed":                  {signed("Ada <Ada@Example.com>", part, good), ledger.SignatureValid},
		"as a text":                         {signed("ada@example.com", part, sign(part, "--textmode", "--local-user", "ada@example.com")), ledger.SignatureValid},
		"one letter changed":                {signed("ada@example.com", strings.Replace(part, "File", "file", 1), good), ledger.SignatureInvalid},
		"a header field of a part changed":  {signed("ada@example.com", strings.Replace(part, "a.txt", "b.txt", 1), good), ledger.SignatureInvalid},
		"a line added":                      {signed("ada@example.com", part+"\r\n", good), ledger.SignatureInvalid},
		"by a registered key of another":    {signed("ada@example.com", part, sign(part, "--local-user", "bob@example.com")), ledger.SignatureUnknownKey},
		"hers, from another address":        {signed("bob@example.com", part, good), ledger.SignatureUnknownKey},
		"by a key that only bears her name": {signed("ada@example.com", part, forged), ledger.SignatureUnknownKey},
		"from nobody that is known":         {signed("eve@example.com", part, good), ledger.SignatureUnknownKey},
		"no signature":                      {signed("ada@example.com", part, "hello"), ledger.SignatureUnreadable},
	} {
		i := b.file(strings.Replace(tt.raw, "Subject: Signed", "Subject: "+name, 1))
		if diff := cmp.Diff(of(tt.want), i.Security); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !strings.Contains(i.Body, "Grüße") {
			t.Errorf("%s: the body is %q", name, i.Body)
		}
		if files := check(b.desk.Attachments().Of(t.Context(), []int64{i.ID}))(t); len(files) != 2 {
			t.Errorf("%s: %d files", name, len(files))
		}
	}
	// Some programs hand mails on with bare newlines.
	unix := strings.ReplaceAll(signed("ada@example.com", part, good), "\r\n", "\n")
	if i := b.file(unix); i.Security.Signature != ledger.SignatureValid {
		t.Errorf("with bare newlines: %s", i.Security.Signature)
	}
	off := newBundle(t, memblob.New())
	if i := off.file(signed("ada@example.com", part, good)); i.Security.Signature != ledger.SignatureUnchecked {
		t.Errorf("with keys switched off: %s", i.Security.Signature)
	}
}

// Mails that cannot be decrypted here are kept and marked.
func TestEncryptedMail(t *testing.T) {
	t.Parallel()
	gnupg := testenv.NewGnuPG(t)
	gnupg.NewKey("support@example.org", "future-default")
	message := string(gnupg.Run([]byte("Content-Type: text/plain\r\n\r\nSecret"), "--armor", "--recipient", "support@example.org", "--encrypt"))
	head := "From: ada@example.com\nSubject: ...\nMIME-Version: 1.0\n"
	b := newBundle(t, memblob.New(), withPGP)
	for name, tt := range map[string]struct {
		raw   string
		want  ledger.Security
		body  string
		files int
	}{
		"PGP/MIME": {
			head + "Content-Type: multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n\n" +
				"--b\nContent-Type: application/octet-stream; name=encrypted.asc\n\n" + message + "\n--b--\n",
			ledger.Security{Protocol: "openpgp", Encrypted: true, Signature: ledger.SignatureNone},
			"This mail is encrypted (OpenPGP) and cannot be shown. Its content is attached as it came.", 2,
		},
		"inline": {
			head + "\n" + message,
			ledger.Security{Protocol: "openpgp", Encrypted: true, Signature: ledger.SignatureNone}, "-----BEGIN PGP MESSAGE-----", 0,
		},
		"S/MIME": {
			head + "Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nMIAG\n",
			ledger.Security{Protocol: "smime", Encrypted: true, Signature: ledger.SignatureNone},
			"This mail is encrypted (S/MIME) and cannot be shown. Its content is attached as it came.", 1,
		},
		"signed by S/MIME, opaque": {
			head + "Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nMIAG\n",
			ledger.Security{Protocol: "smime", Signature: ledger.SignatureUnchecked},
			"The text of this mail is inside of its signature (S/MIME), which is attached as it came.", 1,
		},
		"nothing of it": {head + "\nHello", ledger.Security{Signature: ledger.SignatureNone}, "Hello", 0},
	} {
		i := b.file(crlf(strings.Replace(tt.raw, "...", name, 1)))
		if diff := cmp.Diff(tt.want, i.Security); diff != "" || !strings.Contains(i.Body, tt.body) {
			t.Errorf("%s: %s\n%s", name, diff, i.Body)
		}
		if files := check(b.desk.Attachments().Of(t.Context(), []int64{i.ID}))(t); len(files) != tt.files {
			t.Errorf("%s: %d files", name, len(files))
		}
	}
}
