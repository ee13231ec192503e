package desk

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// keysView is the page of a customer's OpenPGP keys.
type keysView struct {
	Customer             customerPanel
	Back, Action         string
	Rows                 []keyRow
	Next                 string
	Addresses            []tick
	CanAdd, CanDelete    bool
	Name, Content, Email string // of the form
	Errors               map[string]string
}

type keyRow struct {
	Name, Email, Fingerprint, Added, Until, Action string
	Expired                                        bool
}

// mayUseKeys reports whether the member may see the keys of customers, and the server encrypts mail.
func (v *visit) mayUseKeys() bool { return v.may(identity.PGPKeysView) && v.service().EncryptsMail() }

func (v *visit) customerKeysPage() error { return v.showKeys(keysView{}, 0) }

func (v *visit) showKeys(view keysView, status int) error {
	c, err := v.Desk.Customers().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	page, err := v.PGPKeys().List(v.ctx(), c.ID, v.pageOf(50))
	if err != nil {
		return err
	}
	view.Customer, view.Back, view.Errors = v.customerPanel(c), v.at("/customers/"+itoa(c.ID)), orEmpty(view.Errors)
	view.Action = view.Back + "/keys"
	view.Next = v.older("/customers/"+itoa(c.ID)+"/keys", page.Next)
	view.CanAdd, view.CanDelete = v.may(identity.PGPKeysCreate) && len(c.Emails) > 0, v.may(identity.PGPKeysDelete)
	for _, e := range c.Emails {
		view.Addresses = append(view.Addresses, tick{ID: itoa(e.ID), Text: e.Email, On: itoa(e.ID) == view.Email})
	}
	for _, k := range page.Items {
		row := keyRow{Name: k.Name, Email: k.Email, Fingerprint: fingerprint(k.Fingerprint), Added: v.words.T("added %s", v.when(k.CreatedAt)),
			Action: view.Action + "/" + itoa(k.ID) + "/delete"}
		if !k.ExpiresAt.IsZero() {
			row.Expired = !v.now.Before(k.ExpiresAt)
			row.Until = v.words.T("until %s", v.day(k.ExpiresAt))
		}
		view.Rows = append(view.Rows, row)
	}
	return v.show(screen{template: "customer-keys", title: v.words.T("Encryption keys"), data: view, nav: "customers", status: status})
}

// fingerprint writes a fingerprint in groups of four, as people compare it.
func fingerprint(hex string) string {
	var groups []string
	for len(hex) > 4 {
		groups, hex = append(groups, hex[:4]), hex[4:]
	}
	return strings.Join(append(groups, hex), " ")
}

// addKey adds a key from a file or from the text field.
func (v *visit) addKey() error {
	files, err := v.formFiles()
	if err != nil {
		return err
	}
	content := v.r.PostFormValue("key")
	if len(files) > 0 {
		if content, err = readKey(files[0].Open()); err != nil {
			return err
		}
	}
	in := helpdesk.PGPKeyInput{CustomerEmailID: v.field("email"), Name: v.r.PostFormValue("name"), Content: base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(content)))}
	if len(files) > 0 { // may be binary
		in.Content = base64.StdEncoding.EncodeToString([]byte(content))
	}
	key, err := v.PGPKeys().Create(v.ctx(), v.number("id"), in)
	if fault.Is(err, fault.Invalid) {
		return v.showKeys(keysView{Name: in.Name, Content: v.r.PostFormValue("key"), Email: v.r.PostFormValue("email"), Errors: v.problems(err)}, http.StatusUnprocessableEntity)
	}
	at := v.at("/customers/" + itoa(v.number("id")) + "/keys")
	if err != nil {
		return v.instead(err, at)
	}
	v.say(toast{Text: v.words.T("Mail to %s is encrypted from now on", key.Email)})
	return v.see(at)
}

// readKey reads a key from an uploaded file, and one byte too many from one that is too long.
func readKey(file io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "reading an upload", err)
	}
	defer func() { _ = file.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(file, helpdesk.MaxPGPKey+1))
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "reading an upload", err)
	}
	return string(content), nil
}

func (v *visit) deleteKey() error {
	at := v.at("/customers/" + itoa(v.number("id")) + "/keys")
	if err := v.PGPKeys().Delete(v.ctx(), v.number("id"), v.number("key")); err != nil {
		return v.instead(err, at)
	}
	v.say(toast{Text: v.words.T("Key removed")})
	return v.see(at)
}
