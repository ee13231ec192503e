package desk

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/cookie"
)

type signInView struct {
	Email, Next, Problem, HelpCentre string
	Action, Forgot                   string
	With                             []providerLink // other servers to sign in with
	Passkey                          *passkeyForm   // nil if there are none
}

// signInURL returns the address of the sign-in page that returns to this page.
func (v *visit) signInURL() string {
	at, own := v.h.url("/sign-in"), v.h.cfg.Authenticate == nil
	if !own {
		at = v.h.cfg.SignIn
	}
	path := v.r.URL.Path
	if v.r.Method != http.MethodGet || strings.HasSuffix(path, "/events") || own && (path == "/" || path == "/sign-in") {
		return at
	}
	join := "?"
	if strings.Contains(at, "?") {
		join = "&"
	}
	return at + join + "next=" + url.QueryEscape(v.h.url(v.r.URL.RequestURI()))
}

func (v *visit) signInPage() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	return v.askToSignIn(signInView{Next: v.r.FormValue("next")}, 0)
}

func (v *visit) askToSignIn(view signInView, status int) error {
	view.With, view.Passkey = v.providerLinks(view.Next), v.passkeySignIn()
	view.HelpCentre, view.Action, view.Forgot = v.h.cfg.HelpCentre, v.h.url("/sign-in"), v.h.url("/forgot")
	return v.show(screen{template: "sign-in", title: v.words.T("Sign in"), data: view, bare: true, status: status})
}

func (v *visit) signIn() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	service := v.service()
	view := signInView{Email: v.r.PostFormValue("email"), Next: v.r.PostFormValue("next")}
	caller, err := service.SignIn().WithPassword(v.ctx(), view.Email, v.r.PostFormValue("password"))
	if step, ok := errors.AsType[*helpdesk.SecondStep](err); ok {
		return v.askForCode(codeView{Token: step.Token, HasPasskey: step.HasPasskey, Next: view.Next, Stay: v.r.PostFormValue("stay") != ""}, 0)
	}
	switch {
	case codeOf(err) == identity.UserDisabled:
		view.Problem = v.words.T("An admin has suspended your access. Ask them to restore it.")
		return v.askToSignIn(view, http.StatusUnauthorized)
	case fault.Is(err, fault.Unauthenticated):
		view.Problem = v.words.T("The email address or password is incorrect.")
		return v.askToSignIn(view, http.StatusUnauthorized)
	case fault.Is(err, fault.RateLimited):
		view.Problem = v.words.T("Too many incorrect passwords. Wait a few minutes.")
		return v.askToSignIn(view, http.StatusTooManyRequests)
	case err != nil:
		return err
	}
	if err := v.letIn(caller, v.r.PostFormValue("stay") != ""); err != nil {
		return err
	}
	return v.see(v.safe(view.Next, v.h.url("/")))
}

// letIn signs a caller in until the session ends or until the browser is closed.
func (v *visit) letIn(c helpdesk.Caller, stay bool) error {
	begun, err := v.service().SignIn().StartSession(v.ctx(), c, device(v.r.UserAgent()))
	if err != nil {
		return err
	}
	seconds := 0
	if stay {
		seconds = int(identity.SessionLife.Seconds())
	}
	http.SetCookie(v.w, cookie.New(begun.Secret, seconds, v.h.cfg.Secure(v.r)))
	v.caller = c
	admin, err := v.service().Admin(v.ctx(), c)
	if err != nil {
		return err
	}
	v.user, err = admin.Me(v.ctx())
	v.prefer()
	return err
}

func (v *visit) signOut() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	if err := v.signedIn(); err == nil {
		if err := v.service().SignIn().EndSession(v.ctx(), v.caller); err != nil {
			return err
		}
	}
	http.SetCookie(v.w, cookie.New("", -1, v.h.cfg.Secure(v.r)))
	return v.see(v.h.url("/sign-in"))
}

// home redirects a member to the account that they used last, or to their first one.
func (v *visit) home() error {
	if err := v.signedIn(); err != nil {
		return v.firstVisit(err)
	}
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	accounts, err := admin.Accounts(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	if len(accounts.Items) == 0 {
		return fault.New(fault.Forbidden, "You are not in a team yet.")
	}
	chosen := accounts.Items[0].ID
	if c, err := v.r.Cookie(accountCookie); err == nil {
		for _, a := range accounts.Items {
			if number(c.Value) == a.ID {
				chosen = a.ID
			}
		}
	}
	if v.Desk, err = v.service().Desk(v.ctx(), v.caller, chosen); err != nil {
		return err
	}
	return v.see(v.at("/inbox/unassigned"))
}

const accountCookie = "desk_account"

// inboxHome is the first page of an account.
func (v *visit) inboxHome() error {
	http.SetCookie(v.w, v.setting(accountCookie, v.r.PathValue("account")))
	return v.see(v.at("/inbox/unassigned"))
}

// setting returns a cookie that stores a display setting of the browser.
func (v *visit) setting(name, value string) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: v.h.cfg.Prefix + "/", MaxAge: 365 * 24 * 3600, HttpOnly: true,
		Secure: v.h.cfg.Secure(v.r), SameSite: http.SameSiteLaxMode,
	}
}

// safe returns an address if it is one of the desk, and or otherwise.
func (v *visit) safe(address, or string) string {
	u, err := url.Parse(address)
	if address == "" || err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n\t") ||
		!strings.HasPrefix(u.Path, v.h.cfg.Prefix+"/") {
		return or
	}
	return address
}
