package desk

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// outgoingView is how a mailbox's mail leaves.
type outgoingView struct {
	Action  string
	Form    connectionForm // Type is SERVER or SMTP
	Errors  map[string]string
	Missing string // why mail reaches nobody; "": it does
	Tested  []check
	Shared  bool // the mailbox is fetched with access tokens, which its relay can use
	Tokens  bool // it uses them
}

// outgoing returns how a mailbox's mail leaves.
func (v *visit) outgoing(m helpdesk.Mailbox) *outgoingView {
	out := m.Outbound
	view := &outgoingView{
		Action: v.at("/settings/mailboxes/" + itoa(m.ID) + "/outgoing"), Errors: map[string]string{}, Shared: m.Inbound.Auth == ledger.AuthOAuth2,
		Form: connectionForm{
			Type: string(out.Type), Host: out.Host, Encryption: string(out.Encryption), Username: out.Username, Stored: out.HasPassword,
			Insecure: out.Host != "" && !out.ValidateCertificate,
		},
	}
	view.Tokens = out.Auth == sending.OutboundOAuth2 || out.Type != sending.OutboundSMTP && view.Shared
	if out.Port != 0 {
		view.Form.Port = itoa(int64(out.Port))
	}
	if out.Type != sending.OutboundSMTP {
		host, port, encryption := submission(m.Inbound.Host)
		view.Form.Host, view.Form.Port, view.Form.Encryption, view.Form.Username = host, port, encryption, cmp.Or(m.Inbound.Username, m.Email)
	}
	if v.sendsNothing(m) {
		view.Missing = v.words.T("No outgoing mail is set up on this server. Replies stay here until you enter an SMTP server.")
	}
	if t, ok := v.lastTestIn(testOutCookie, m.ID); ok && out.Type == sending.OutboundSMTP {
		view.Tested = v.sendingSteps(m, t)
	}
	return view
}

// sendsNothing reports whether a mailbox's mail reaches nobody, because no outgoing mail is set up. Members who may not see the
// connection are not told.
func (v *visit) sendsNothing(m helpdesk.Mailbox) bool {
	return v.h.cfg.NoRelay && m.Outbound.Type == sending.OutboundServer
}

// submission suggests the server for outgoing mail beside one for incoming mail (RFC 8314).
func submission(imap string) (host, port, encryption string) {
	switch {
	case imap == "outlook.office365.com":
		return "smtp.office365.com", "587", string(mailserver.STARTTLS)
	case strings.HasPrefix(imap, "imap."):
		return "smtp." + strings.TrimPrefix(imap, "imap."), "465", string(mailserver.TLS)
	case strings.HasPrefix(imap, "pop."):
		return "smtp." + strings.TrimPrefix(imap, "pop."), "465", string(mailserver.TLS)
	}
	return imap, "465", string(mailserver.TLS)
}

// saveOutgoing saves how a mailbox's mail leaves, and tests it.
func (v *visit) saveOutgoing() error {
	old, err := v.Mailboxes().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	form := v.typed()
	in := helpdesk.OutboundInput{Type: sending.OutboundType(form.Type)}
	if in.Type == sending.OutboundSMTP {
		in.Host, in.Port, in.Username, in.Encryption = form.Host, int(number(form.Port)), form.Username, mailserver.Encryption(form.Encryption)
		in.ValidateCertificate = storage.Some(!form.Insecure)
		password := v.r.PostFormValue("password")
		switch {
		case v.r.PostFormValue("tokens") != "":
			in.Auth = sending.OutboundOAuth2
		case form.Username == "" && password == "":
			in.Auth = sending.OutboundNone
		case password != "":
			in.Password = storage.Some(password)
		}
	}
	m, err := v.Mailboxes().Update(v.ctx(), old.ID, helpdesk.MailboxInput{Outbound: storage.Some(in)})
	if fault.Is(err, fault.Invalid) {
		return v.outgoingNotSaved(old, form, err)
	}
	if err != nil {
		return err
	}
	path := "mailboxes/" + itoa(m.ID)
	if in.Type != sending.OutboundSMTP {
		return v.saved(path, v.words.T("Saved"))
	}
	failure, err := v.tryOutgoing(m.ID)
	if err == nil && failure != "" {
		v.say(toast{Text: v.words.T("Saved, but the test failed"), Bad: true})
		return v.see(v.at("/settings/"+path) + "#sending")
	}
	return v.unless(err, path, v.words.T("Saved. The connection works"))
}

// outgoingNotSaved shows the form again with its problems.
func (v *visit) outgoingNotSaved(old helpdesk.Mailbox, form connectionForm, err error) error {
	view, failed := v.mailboxView(old)
	if failed != nil {
		return failed
	}
	if view.Outgoing == nil {
		return err
	}
	form.Stored = old.Outbound.HasPassword
	view.Outgoing.Form, view.Outgoing.Errors = form, v.problems(err)
	view.Outgoing.Tokens = v.r.PostFormValue("tokens") != ""
	return v.settingsPage("mailbox", old.Name, view, http.StatusUnprocessableEntity)
}

// tryOutgoing tests a mailbox's own relay, and keeps the result for the next page.
func (v *visit) tryOutgoing(id int64) (failure string, err error) {
	began := time.Now()
	got, err := v.Mailboxes().TestOutbound(v.ctx(), id)
	if fault.Is(err, fault.Disabled) { // this program has no access to mail servers
		return "", nil
	}
	if err != nil {
		return "", err
	}
	c := v.setting(testOutCookie, pack(tested{Mailbox: id, Failure: got.Failure, Millis: time.Since(began).Milliseconds()}))
	c.MaxAge = 600
	http.SetCookie(v.w, c)
	return got.Failure, nil
}

// sendingSteps reports the test of a mailbox's own relay step by step.
func (v *visit) sendingSteps(m helpdesk.Mailbox, t tested) []check {
	w, out := v.words, m.Outbound
	all := []check{good(w.T("Server reached"), out.Host, "")}
	if out.Auth != sending.OutboundNone {
		all = append(all, good(w.T("Signed in"), w.T("as %s", out.Username), ""))
	}
	all = append(all, good(w.T("Accepts mail"), w.T("from %s", m.Email), ""))
	took := w.T("%s s", w.seconds(t.Millis))
	if t.Failure == "" {
		all[len(all)-1].When = took
		return all
	}
	_, rest, _ := strings.Cut(t.Failure, "relay: ")
	step, reason, found := strings.Cut(rest, ": ")
	if !found {
		step, reason = "", t.Failure
	}
	at, name, text := 0, w.T("Could not connect"), reason
	switch step {
	case "connect", "greeting", "hello":
		text = w.T("No response from there. Check the server and port. (%s)", reason)
	case "TLS handshake", "STARTTLS":
		text = w.T("The connection could not be encrypted. Try the other encryption, or check the certificate. (%s)", reason)
	case "authenticate":
		at, name = 1, w.T("Sign-in failed")
		text = w.T("The password was rejected. Some providers require an app password. (%s)", reason)
		if out.Auth == sending.OutboundOAuth2 {
			text = w.T("The server rejected this user. Check that sending by SMTP is enabled for the account. (%s)", reason)
		}
	case "sender":
		at, name = len(all)-1, w.T("Sender address rejected")
		text = w.T("The server does not accept mail from this address. (%s)", reason)
	}
	all = all[:min(at, len(all)-1)+1]
	all[len(all)-1] = wrong(name, text, took)
	return all
}

// needsSending returns what Health says about a mailbox whose mail reaches nobody.
func (v *visit) needsSending(m helpdesk.Mailbox) []need {
	if !v.sendsNothing(m) {
		return nil
	}
	return []need{{
		Icon: "mail", Title: v.words.T("%s cannot send mail", m.Name), Text: v.words.T("No outgoing mail is set up. Replies stay on this server."),
		URL: v.at("/settings/mailboxes/"+itoa(m.ID)) + "#sending",
	}}
}

// unsentLink leads set-up to the first mailbox whose mail reaches nobody; empty if there is none.
func (v *visit) unsentLink() (string, error) {
	if !v.h.cfg.NoRelay || !v.may(identity.MailboxesConnection) {
		return "", nil
	}
	boxes, err := v.readMailboxes()
	for _, m := range boxes {
		if v.sendsNothing(m) {
			return v.at("/settings/mailboxes/"+itoa(m.ID)) + "#sending", err
		}
	}
	return "", err
}
