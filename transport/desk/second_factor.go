package desk

import (
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"

	"rsc.io/qr"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// factorView is the page of the second factor: its state, its set-up, or recovery codes.
type factorView struct {
	Action, Home string
	Email        string
	HasPassword  bool
	Since        string // "" if there is none
	Left         int    // recovery codes left
	Required     bool   // an account requires it

	Passkeys   string // page of the passkeys, which are an alternative; "" if they do not work here
	HasPasskey bool
	Passkey    *passkeyForm // to sign in again with one, if a factor is required
	Next       string       // the page after that

	Secret, URI string        // for the app
	QR          template.HTML // of the URI
	Codes       []string      // new ones, shown once
	Problem     string
	Errors      map[string]string
}

// codeView asks for the code after the correct password.
type codeView struct {
	Action, SignIn, Token, Next, Problem string
	Stay, HasPasskey                     bool
	Passkey                              *passkeyForm // the alternative to the code; nil if the member has none
}

func (v *visit) askForCode(view codeView, status int) error {
	view.Action, view.SignIn = v.h.url("/sign-in/code"), v.h.url("/sign-in")
	if view.HasPasskey {
		if view.Passkey = v.passkeySignIn(); view.Passkey != nil {
			view.Passkey.Stay = view.Stay
		}
	}
	return v.show(screen{template: "sign-in-code", title: v.words.T("Enter your code"), data: view, bare: true, status: status})
}

// signInCode is the second step of signing in.
func (v *visit) signInCode() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	view := codeView{Token: v.r.PostFormValue("token"), Next: v.r.PostFormValue("next"), Stay: v.r.PostFormValue("stay") != "", HasPasskey: v.r.PostFormValue("passkey") != ""}
	caller, err := v.service().SignIn().WithCode(v.ctx(), view.Token, v.r.PostFormValue("code"))
	switch {
	case fault.Is(err, fault.Unauthenticated) && codeOf(err) == "wrong_code":
		view.Problem = v.words.T("The code is incorrect or has already been used. Wait for the next one.")
		return v.askForCode(view, http.StatusUnauthorized)
	case fault.Is(err, fault.Unauthenticated):
		return v.askToSignIn(signInView{Next: view.Next, Problem: v.words.T("Your sign-in has expired. Sign in again.")}, http.StatusUnauthorized)
	case fault.Is(err, fault.RateLimited):
		view.Problem = v.words.T("Too many incorrect codes. Wait a few minutes.")
		return v.askForCode(view, http.StatusTooManyRequests)
	case err != nil:
		return err
	}
	if err := v.letIn(caller, view.Stay); err != nil {
		return err
	}
	return v.see(v.safe(view.Next, v.h.url("/")))
}

func codeOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return ""
}

// own returns the handle of the user signed in by the desk.
func (v *visit) own() (*helpdesk.Admin, error) {
	if v.h.cfg.Authenticate != nil {
		return nil, v.missing()
	}
	if err := v.signedIn(); err != nil {
		return nil, err
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	return v.service().Admin(v.ctx(), v.caller)
}

func (v *visit) factorPage() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	return v.showFactor(admin, factorView{}, 0)
}

func (v *visit) showFactor(admin *helpdesk.Admin, view factorView, status int) error {
	state, err := admin.SecondFactor(v.ctx())
	if err != nil {
		return err
	}
	if view.Errors == nil {
		view.Errors = map[string]string{}
	}
	view.Action, view.Home, view.Email, view.HasPassword = v.h.url("/second-factor"), v.h.url("/"), v.user.Email, v.user.PasswordHash != ""
	view.Left = state.RecoveryCodes
	if !state.Since.IsZero() {
		view.Since = v.when(state.Since)
	} else if view.Secret == "" {
		if view.Required, err = v.mustHaveFactor(admin); err != nil {
			return err
		}
	}
	if err := v.orPasskey(admin, &view); err != nil {
		return err
	}
	return v.show(screen{template: "second-factor", title: v.words.T("Two-factor authentication"), data: view, bare: true, status: status})
}

// orPasskey adds that a passkey is an alternative.
func (v *visit) orPasskey(admin *helpdesk.Admin, view *factorView) error {
	form := v.passkeySignIn()
	if form == nil {
		return nil
	}
	all, err := admin.Passkeys(v.ctx())
	view.Passkeys, view.HasPasskey = v.h.url("/passkeys"), len(all) > 0
	if view.HasPasskey && view.Required {
		view.Passkey, view.Next = form, view.Home
	}
	return err
}

// mustHaveFactor reports whether an account requires the member to set up a second factor.
func (v *visit) mustHaveFactor(admin *helpdesk.Admin) (bool, error) {
	page, err := admin.Accounts(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return false, err
	}
	for _, a := range page.Items {
		if !a.RequireSecondFactor {
			continue
		}
		if _, err := v.service().Desk(v.ctx(), v.caller, a.ID); codeOf(err) == identity.SecondFactorRequired {
			return true, nil
		}
	}
	return false, nil
}

// beginFactor shows the secret after verifying the password.
func (v *visit) beginFactor() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	host := v.r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	begun, err := admin.BeginSecondFactor(v.ctx(), v.r.PostFormValue("current_password"), "Helpwright ("+host+")")
	if err != nil {
		return v.factorRefused(admin, factorView{}, err)
	}
	return v.showSecret(admin, begun.URI, factorView{}, 0)
}

// showSecret shows the secret for the app, as a picture and as text.
func (v *visit) showSecret(admin *helpdesk.Admin, uri string, view factorView, status int) error {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "otpauth" || len(uri) > 1000 {
		return v.showFactor(admin, view, status)
	}
	picture, err := picture(uri)
	if err != nil {
		return fault.Wrap(fault.Internal, "making a QR code", err)
	}
	view.URI, view.QR, view.Secret = uri, picture, grouped(u.Query().Get("secret"))
	return v.showFactor(admin, view, status)
}

// grouped formats a secret for typing.
func grouped(secret string) string {
	var b strings.Builder
	for i, r := range secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// picture returns a text as a QR code with the quiet zone of ISO/IEC 18004.
func picture(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	const quiet = 4
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for code.Black(x+run, y) && x+run < code.Size {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	size := code.Size + 2*quiet
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" aria-hidden="true" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`,
		size, size, size, size, path.String())), nil // numbers alone
}

func (v *visit) confirmFactor() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	codes, err := admin.ConfirmSecondFactor(v.ctx(), v.r.PostFormValue("code"))
	if err == nil {
		return v.showFactor(admin, factorView{Codes: codes}, 0)
	}
	view, status, err := v.refused(err)
	if err != nil {
		return err
	}
	return v.showSecret(admin, v.r.PostFormValue("uri"), view, status)
}

func (v *visit) renewCodes() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	codes, err := admin.RenewRecoveryCodes(v.ctx(), v.r.PostFormValue("code"))
	if err != nil {
		return v.factorRefused(admin, factorView{}, err)
	}
	return v.showFactor(admin, factorView{Codes: codes}, 0)
}

func (v *visit) removeFactor() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	if err := admin.RemoveSecondFactor(v.ctx(), v.r.PostFormValue("current_password"), v.r.PostFormValue("off_code")); err != nil {
		view, status, err := v.refused(err)
		if err != nil {
			return err
		}
		if text := view.Errors["code"]; text != "" {
			view.Errors = map[string]string{"off_code": text}
		}
		return v.showFactor(admin, view, status)
	}
	return v.see(v.h.url("/second-factor"))
}

// refused returns the message for an error that the member can act on.
func (v *visit) refused(err error) (factorView, int, error) {
	switch {
	case fault.Is(err, fault.Invalid):
		return factorView{Errors: v.problems(err)}, http.StatusUnprocessableEntity, nil
	case fault.Is(err, fault.RateLimited):
		return factorView{Problem: v.words.T("Too many incorrect codes. Wait a few minutes.")}, http.StatusTooManyRequests, nil
	case fault.Is(err, fault.Conflict):
		return factorView{}, http.StatusConflict, nil // the page shows the state
	}
	return factorView{}, 0, err
}

func (v *visit) factorRefused(admin *helpdesk.Admin, view factorView, err error) error {
	told, status, err := v.refused(err)
	if err != nil {
		return err
	}
	view.Errors, view.Problem = told.Errors, told.Problem
	return v.showFactor(admin, view, status)
}

// requireFactor makes a second factor required or optional in the account.
func (v *visit) requireFactor() error {
	_, err := v.Account().Update(v.ctx(), identity.AccountUpdate{Name: v.account.Name, RequireSecondFactor: storage.Some(v.r.PostFormValue("require") != "")})
	return v.unless(err, "members", v.words.T("Saved"))
}

// memberUser performs an action on the user of a member, and redirects to the member.
func (v *visit) memberUser(do func(id int64) error, done string) error {
	id := v.number("id")
	return v.unless(do(id), "members/"+itoa(id), done)
}

func (v *visit) disableMember() error {
	return v.memberUser(func(id int64) error { return v.Members().Disable(v.ctx(), id) }, v.words.T("Access suspended"))
}

func (v *visit) enableMember() error {
	return v.memberUser(func(id int64) error { return v.Members().Enable(v.ctx(), id) }, v.words.T("Access restored"))
}

func (v *visit) resetFactor() error {
	return v.memberUser(func(id int64) error { return v.Members().ResetSecondFactor(v.ctx(), id) }, v.words.T("Two-factor authentication turned off"))
}
