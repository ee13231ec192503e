package desk

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/cookie"
)

// signInSeconds is how long a browser keeps a sign-in with a provider.
const signInSeconds = 600

// SignInWithPath is the path, below the desk's, to which an identity provider with a key returns the browser: the redirect
// address to register there.
func SignInWithPath(key string) string { return "/sign-in/with/" + url.PathEscape(key) + "/done" }

type providerLink struct{ Name, URL string }

// providerLinks returns links to sign in with other servers.
func (v *visit) providerLinks(next string) []providerLink {
	var links []providerLink
	for _, p := range v.service().SignIn().Providers() {
		to := v.h.url("/sign-in/with/" + url.PathEscape(p.Key))
		if next != "" {
			to += "?next=" + url.QueryEscape(next)
		}
		links = append(links, providerLink{Name: p.Name, URL: to})
	}
	return links
}

// signInWith redirects the browser to a provider.
func (v *visit) signInWith() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	start, err := v.service().SignIn().BeginWith(v.ctx(), v.r.PathValue("provider"), v.r.FormValue("next"))
	if fault.Is(err, fault.NotFound) {
		return v.missing()
	}
	if err != nil {
		return v.identityRefused(err, v.r.FormValue("next"), false)
	}
	return v.depart(start)
}

func (v *visit) depart(start identity.SignInStart) error {
	http.SetCookie(v.w, cookie.SignIn(start.Kept, signInSeconds, v.h.cfg.Secure(v.r)))
	return v.see(start.Address)
}

// signedInWith signs in the user whom a provider has authenticated, or connects the provider's account to the user signed
// in.
func (v *visit) signedInWith() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	secure := v.h.cfg.Secure(v.r)
	kept := cookie.Kept(v.r, secure)
	http.SetCookie(v.w, cookie.SignIn("", -1, secure)) // the answer can be used only once
	signedIn := v.signedIn() == nil
	current := v.caller
	if !signedIn {
		current = helpdesk.Caller{}
	}
	in, err := v.service().SignIn().FinishWith(v.ctx(), current, v.r.PathValue("provider"), kept, v.r.URL.Query())
	if err != nil {
		return v.identityRefused(err, in.Next, in.Linked)
	}
	if in.Linked {
		return v.see(v.h.url("/connected"))
	}
	if err := v.letIn(in.Caller, false); err != nil {
		return err
	}
	return v.see(v.safe(in.Next, v.h.url("/")))
}

// identityRefused shows why a sign-in or a connection was refused.
func (v *visit) identityRefused(err error, next string, linking bool) error {
	if step, ok := errors.AsType[*helpdesk.SecondStep](err); ok {
		return v.askForCode(codeView{Token: step.Token, HasPasskey: step.HasPasskey, Next: next}, 0)
	}
	text, status := v.identityProblem(err)
	if text == "" {
		return err
	}
	if linking {
		admin, err := v.own()
		if err != nil {
			return err
		}
		return v.showConnected(admin, connectedView{Problem: text}, status)
	}
	return v.askToSignIn(signInView{Next: next, Problem: text}, status)
}

// identityProblem returns the message for a failed sign-in with a provider; "" if the user cannot do anything about it.
func (v *visit) identityProblem(err error) (text string, status int) {
	switch {
	case codeOf(err) == identity.UserDisabled:
		text = v.words.T("An admin has suspended your access. Ask them to restore it.")
	case codeOf(err) == identity.SignInExpired:
		text = v.words.T("Sign-in took too long or was started in another browser. Sign in again.")
	case codeOf(err) == identity.UnknownIdentity:
		text = v.words.T("No member uses this account. Ask for an invitation, or sign in with your password and connect the account in your profile.")
	case codeOf(err) == identity.UnconfirmedIdentity:
		text = v.words.T("Your address has not been confirmed here. Sign in with your password, then connect the account in your profile.")
	case codeOf(err) == identity.OtherIdentity:
		text = v.words.T("Your address used to belong to someone else. Ask an admin to disconnect their sign-in.")
	case codeOf(err) == identity.TakenIdentity:
		text = v.words.T("This account is already connected to another user here.")
	case fault.Is(err, fault.Unauthenticated):
		text = v.words.T("Sign-in failed. Try again.")
	case fault.Is(err, fault.Unavailable):
		v.h.cfg.Logger.WarnContext(v.ctx(), "the identity provider does not work", "provider", v.r.PathValue("provider"), "error", err)
		return v.words.T("The sign-in provider is not available right now. Try again later."), http.StatusServiceUnavailable
	default:
		return "", 0
	}
	if fault.Is(err, fault.Unauthenticated) {
		v.h.cfg.Logger.InfoContext(v.ctx(), "a sign-in with an identity provider was refused", "provider", v.r.PathValue("provider"), "code", codeOf(err))
		return text, http.StatusUnauthorized
	}
	return text, http.StatusForbidden
}

// connectedView is the page of the member's identity providers.
type connectedView struct {
	Rows        []connectedRow
	Others      []providerLink // to connect
	HasPassword bool
	Email, Home string
	Problem     string
	Go          string // where a provider is connected, once the password is verified
}

type connectedRow struct{ Name, Email, Used, Action string }

func (v *visit) connectedPage() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	return v.showConnected(admin, connectedView{}, 0)
}

func (v *visit) showConnected(admin *helpdesk.Admin, view connectedView, status int) error {
	all, err := admin.Identities(v.ctx())
	if err != nil {
		return err
	}
	view.HasPassword, view.Email, view.Home = v.user.PasswordHash != "", v.user.Email, v.h.url("/")
	for _, p := range v.service().SignIn().Providers() {
		view.Others = append(view.Others, providerLink{Name: p.Name, URL: v.h.url("/connected/" + url.PathEscape(p.Key))})
	}
	for _, i := range all {
		row := connectedRow{Name: i.Issuer, Email: i.Email, Used: v.words.T("last used %s", v.when(i.UsedAt)), Action: v.h.url("/disconnect/" + itoa(i.ID))}
		for _, p := range v.service().SignIn().Providers() {
			if p.Issuer == i.Issuer {
				row.Name = p.Name
			}
		}
		view.Rows = append(view.Rows, row)
	}
	return v.show(screen{template: "connected", title: v.words.T("Connected accounts"), data: view, bare: true, status: status})
}

// connect redirects the browser to a provider to connect the member's account there.
func (v *visit) connect() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	start, err := admin.BeginLink(v.ctx(), v.r.PostFormValue("current_password"), v.r.PathValue("provider"), "")
	if fault.Is(err, fault.NotFound) {
		return v.missing()
	}
	if err != nil {
		return v.notConnected(admin, err)
	}
	// The page's policy allows no form submission to another site, so it has a link.
	http.SetCookie(v.w, cookie.SignIn(start.Kept, signInSeconds, v.h.cfg.Secure(v.r)))
	return v.showConnected(admin, connectedView{Go: start.Address}, 0)
}

func (v *visit) disconnect() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	if err := admin.Unlink(v.ctx(), v.r.PostFormValue("current_password"), v.number("id")); err != nil {
		return v.notConnected(admin, err)
	}
	return v.see(v.h.url("/connected"))
}

func (v *visit) notConnected(admin *helpdesk.Admin, err error) error {
	switch {
	case codeOf(err) == identity.LastSignIn:
		return v.showConnected(admin, connectedView{Problem: v.words.T("You would not be able to sign in. Set a password first.")}, http.StatusConflict)
	case fault.Is(err, fault.Invalid):
		return v.showConnected(admin, connectedView{Problem: v.words.T("The password is incorrect.")}, http.StatusUnprocessableEntity)
	case fault.Is(err, fault.RateLimited):
		return v.showConnected(admin, connectedView{Problem: v.words.T("Too many incorrect passwords. Wait a few minutes.")}, http.StatusTooManyRequests)
	}
	if text, status := v.identityProblem(err); text != "" {
		return v.showConnected(admin, connectedView{Problem: text}, status)
	}
	return err
}
