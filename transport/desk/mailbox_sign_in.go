package desk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/cookie"
)

// MailSignInPath is the path, below the desk's, to which a provider of mailboxes with a key returns the browser: the redirect
// address to register there.
func MailSignInPath(key string) string {
	return "/mailbox-sign-in/" + url.PathEscape(key) + "/done"
}

// nextSetUp is the MailSignIn.Next of the set-up.
const nextSetUp = "setup"

// mailSignIn shows how a mailbox can be signed in to its provider.
type mailSignIn struct {
	Links []providerLink // to begin
	// Name is the provider that the mailbox has been signed in to, "" for none, and Account the user there. Again begins anew.
	Name, Account, Again string
	Needed               string // why nothing is fetched until somebody signs in again, "" if that is not so
}

// mailSignInOf returns how a mailbox can be signed in; the zero Mailbox is a new one. nil: it cannot.
func (v *visit) mailSignInOf(m helpdesk.Mailbox, next string) *mailSignIn {
	need := identity.MailboxesUpdate
	if m.ID == 0 {
		need = identity.MailboxesCreate
	}
	if !v.may(need) || !v.may(identity.MailboxesConnection) {
		return nil
	}
	var view mailSignIn
	for _, p := range v.service().MailProviders() {
		link := providerLink{Name: p.Name, URL: v.mailSignInURL(helpdesk.MailSignIn{Provider: p.Key, MailboxID: m.ID, Next: next})}
		if m.Inbound.Host == p.Inbound.Host && m.Inbound.Type == ledger.InboundIMAP {
			view.Links = []providerLink{link}
			if m.Inbound.Auth == ledger.AuthOAuth2 {
				return &mailSignIn{Name: p.Name, Account: m.Inbound.Username, Again: link.URL}
			}
			break
		}
		view.Links = append(view.Links, link)
	}
	if len(view.Links) == 0 {
		return nil
	}
	return &view
}

func (v *visit) mailSignInURL(in helpdesk.MailSignIn) string {
	query := url.Values{}
	if in.MailboxID != 0 {
		query.Set("mailbox", itoa(in.MailboxID))
	}
	if in.Account != "" {
		query.Set("account", in.Account)
	}
	if in.Next != "" {
		query.Set("next", in.Next)
	}
	to := v.at("/mailbox-sign-in/" + url.PathEscape(in.Provider))
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	return to
}

// signMailboxIn redirects the browser to a provider. It is a link, as the page's policy allows no form to lead to another site.
func (v *visit) signMailboxIn() error {
	if v.r.Header.Get("Sec-Fetch-Site") == "cross-site" { // another site must not choose whose mail is fetched
		return v.see(v.at("/settings/mailboxes"))
	}
	start, err := v.Mailboxes().BeginSignIn(v.ctx(), helpdesk.MailSignIn{
		Provider: v.r.PathValue("provider"), MailboxID: number(v.r.FormValue("mailbox")), Account: v.r.FormValue("account"), Next: v.r.FormValue("next"),
	})
	if err != nil {
		return err
	}
	return v.depart(start)
}

// mailboxSignedIn connects the mailbox whose user has signed in at a provider, and tests it.
func (v *visit) mailboxSignedIn() error {
	secure := v.h.cfg.Secure(v.r)
	kept := cookie.Kept(v.r, secure)
	http.SetCookie(v.w, cookie.SignIn("", -1, secure)) // the answer can be used only once
	if err := v.signedIn(); err != nil {
		return err
	}
	out, err := v.service().FinishMailSignIn(v.ctx(), v.caller, v.r.PathValue("provider"), kept, v.r.URL.Query())
	if out.AccountID != 0 {
		if err := v.enter(out.AccountID); err != nil {
			return err
		}
	}
	if err != nil {
		return v.mailboxNotSignedIn(out, err)
	}
	works, err := v.tryBoth(out.Mailbox)
	if err != nil {
		return err
	}
	if works {
		v.say(toast{Text: v.words.T("Signed in as %s. The connection works", out.Signed)})
	} else {
		v.say(toast{Text: v.words.T("Signed in as %s, but the test failed", out.Signed), Bad: true})
	}
	if out.Next == nextSetUp {
		return v.see(v.at("/setup/mailbox"))
	}
	return v.see(v.at("/settings/mailboxes/" + itoa(out.Mailbox.ID)))
}

// tryBoth tests both directions of a mailbox, and keeps the results for the next page.
func (v *visit) tryBoth(m helpdesk.Mailbox) (works bool, err error) {
	in, err := v.try(m.ID)
	if err != nil {
		return false, err
	}
	out, err := v.tryOutgoing(m.ID)
	if fault.Is(err, fault.Conflict) { // it has no relay of its own
		out, err = "", nil
	}
	return in.Failure == "" && out == "", err
}

// notSignedIn is the page that says why a mailbox was not signed in.
type notSignedIn struct {
	Text, Home   string
	Again, Other string // begin anew, for the mailbox's account or for the one that signed in; "" for none
	Account      string // that signed in
}

func (v *visit) mailboxNotSignedIn(out helpdesk.MailSignedIn, err error) error {
	name := v.r.PathValue("provider")
	if all := v.service().MailProviders(); slices.ContainsFunc(all, func(p mailserver.Provider) bool { return p.Key == name }) {
		name = all[slices.IndexFunc(all, func(p mailserver.Provider) bool { return p.Key == name })].Name
	}
	text, status := v.whyNotSignedIn(out, name, err)
	if text == "" {
		return err
	}
	log := v.h.cfg.Logger.InfoContext
	if status == http.StatusServiceUnavailable {
		log = v.h.cfg.Logger.WarnContext
	}
	log(v.ctx(), "a mailbox was not signed in to its provider", "provider", v.r.PathValue("provider"), "code", codeOf(err), "error", err)
	view := notSignedIn{Text: text, Home: v.h.url("/")}
	if out.AccountID != 0 {
		view.Home = v.at("/settings/mailboxes")
		if out.Next == nextSetUp {
			view.Home = v.at("/setup/mailbox")
		} else if out.MailboxID != 0 {
			view.Home = v.at("/settings/mailboxes/" + itoa(out.MailboxID))
		}
		again := out.MailSignIn
		view.Again = v.mailSignInURL(again)
		if codeOf(err) == mailserver.SignInOther {
			again.Account = out.Signed
			view.Account, view.Other = out.Signed, v.mailSignInURL(again)
		}
	}
	return v.show(screen{template: "mailbox-not-signed-in", title: v.words.T("The mailbox is not connected"), data: view, bare: true, status: status})
}

// whyNotSignedIn explains a failure and its remedy; "" if it is none of a sign-in.
func (v *visit) whyNotSignedIn(out helpdesk.MailSignedIn, provider string, err error) (text string, status int) {
	w := v.words
	switch codeOf(err) {
	case mailserver.SignInExpired:
		return w.T("Sign-in took too long or was started in another browser. Sign in again."), http.StatusForbidden
	case mailserver.SignInDenied:
		return w.T("%s was not given permission. Sign in again and accept, or ask an admin of your organisation to approve access.", provider), http.StatusForbidden
	case mailserver.SignInRefused:
		return w.T("The response from %s could not be verified. Sign in again.", provider), http.StatusForbidden
	case mailserver.SignInIncomplete:
		return w.T("Mail access was not granted. Sign in again and leave every box ticked."), http.StatusForbidden
	case mailserver.SignInNoRefresh:
		return w.T("%s did not grant offline access. Remove Helpwright from your connected apps there, then sign in again.", provider), http.StatusForbidden
	case mailserver.SignInMisset:
		return w.T("%s rejected this app. Ask whoever runs this server to check its client ID, client secret and redirect URI.", provider), http.StatusServiceUnavailable
	case mailserver.SignInUnreachable:
		return w.T("%s is not responding properly. Try again later.", provider), http.StatusServiceUnavailable
	case mailserver.SignInOther:
		return v.otherAccount(out), http.StatusConflict
	}
	if fault.Is(err, fault.Invalid) && out.MailboxID == 0 && wholeFields(err)["email"] != "" {
		return w.T("There is already a mailbox for %s. Open it and sign in there.", out.Signed), http.StatusConflict
	}
	return "", 0
}

// otherAccount explains that another account than that of the mailbox signed in.
func (v *visit) otherAccount(out helpdesk.MailSignedIn) string {
	m, err := v.Mailboxes().Get(v.ctx(), out.MailboxID)
	if err != nil {
		return v.words.T("You signed in as %s, which is not the address of the mailbox.", out.Signed)
	}
	return v.words.T("You signed in as %s, but the address of the mailbox is %s.", out.Signed, m.Email)
}

// withdrawn is how package ingest begins to say that a grant is gone.
const withdrawn = "access was withdrawn or has expired: it must be granted again "

// whyNotFetched is whyFailed for a mailbox that may be signed in to its provider.
func (v *visit) whyNotFetched(m helpdesk.Mailbox, failure string) string {
	if m.Inbound.Auth == ledger.AuthOAuth2 {
		switch _, rest, _ := strings.Cut(failure, ": "); {
		case strings.HasPrefix(rest, "login: "):
			return v.words.T("The server rejected this user. Check that IMAP is enabled for the account. (%s)", strings.TrimPrefix(rest, "login: "))
		case failedStep(failure) == 1:
			return v.words.T("Access has expired or was revoked. (%s)", strings.Trim(strings.TrimPrefix(strings.TrimPrefix(rest, "token: "), withdrawn), "()"))
		}
	}
	return v.whyFailed(failure)
}

// signedOut is the state of a mailbox whose credentials are rejected.
func (v *visit) signedOut(m helpdesk.Mailbox, status ledger.FetchStatus) check {
	c := wrong(v.words.T("Signed out"), v.whyNotFetched(m, status.LastError), v.since(status.LastErrorAt))
	if to := v.mailSignInOf(m, ""); to != nil && to.Again != "" {
		c.Link = Link{Text: v.words.T("Sign in again"), URL: to.Again}
	}
	return c
}
