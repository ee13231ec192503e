package desk

import (
	"net/http"
	"net/url"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// doorView is a page shown before sign-in.
type doorView struct {
	Action, SignIn, Token, Name, Signed string
	Account, Email                      string // the account to which the invitation is, and the invited address
	Problem, Over                       string
	AskCode                             bool // the password is right, and a code is needed
	Errors                              map[string]string
}

func (v *visit) showDoor(template, title string, view doorView, status int) error {
	view.SignIn = v.signInURL()
	if v.h.cfg.Authenticate == nil {
		view.SignIn = v.h.url("/sign-in")
	}
	if view.Errors == nil {
		view.Errors = map[string]string{}
	}
	return v.show(screen{template: template, title: title, data: view, bare: true, status: status})
}

// invitationPage is the target of the link in an invitation.
func (v *visit) invitationPage() error {
	invited, err := v.service().SignIn().Invited(v.ctx(), v.r.PathValue("token"))
	if fault.Is(err, fault.NotFound) {
		return v.askToJoin(doorView{Over: v.invitationOver()}, http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	return v.askToJoin(doorView{Name: invited.Name, Account: invited.Account, Email: invited.Email}, 0)
}

func (v *visit) invitationOver() string {
	return v.words.T("The invitation has already been used, was withdrawn or has expired.")
}

func (v *visit) askToJoin(view doorView, status int) error {
	view.Action = v.h.url("/invitations/" + url.PathEscape(v.r.PathValue("token")))
	if v.h.cfg.Authenticate != nil { // the application authenticates users
		if err := v.signedIn(); err != nil {
			return err
		}
		view.Signed = member(v.user).Name
	}
	return v.showDoor("invitation", v.words.T("Join your team"), view, status)
}

// acceptInvitation makes the holder of the token a member, and signs them in. It ignores the caller's session: existing
// users confirm with their password.
func (v *visit) acceptInvitation() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	view := doorView{Name: v.r.PostFormValue("name"), Account: v.r.PostFormValue("account"), Email: v.r.PostFormValue("username")}
	service, own := v.service(), v.h.cfg.Authenticate != nil
	var as helpdesk.Caller
	if own {
		if err := v.signedIn(); err != nil {
			return err
		}
		as = v.caller
	}
	got, err := service.SignIn().AcceptInvitation(v.ctx(), as, v.r.PathValue("token"), identity.AcceptInput{Name: view.Name, Password: v.r.PostFormValue("password"), Code: v.r.PostFormValue("code")})
	switch {
	case fault.Is(err, fault.NotFound):
		view.Over = v.invitationOver()
		return v.askToJoin(view, http.StatusNotFound)
	case codeOf(err) == identity.SecondFactorRequired:
		view.AskCode = true
		return v.askToJoin(view, http.StatusUnauthorized)
	case codeOf(err) == "wrong_code":
		view.AskCode, view.Problem = true, v.words.T("The code is incorrect or has already been used. Wait for the next one.")
		return v.askToJoin(view, http.StatusUnauthorized)
	case fault.Is(err, fault.Unauthenticated):
		view.Problem = v.words.T("This is not the password you already have here.")
		return v.askToJoin(view, http.StatusUnauthorized)
	case fault.Is(err, fault.RateLimited):
		view.Problem = v.words.T("Too many incorrect passwords. Wait a few minutes.")
		return v.askToJoin(view, http.StatusTooManyRequests)
	case fault.Is(err, fault.Conflict):
		view.Over = v.words.T("You are already a member.")
		return v.askToJoin(view, http.StatusConflict)
	case fault.Is(err, fault.Forbidden):
		view.Problem = v.words.T("This invitation is for someone else.")
		return v.askToJoin(view, http.StatusForbidden)
	case fault.Is(err, fault.Invalid):
		view.Errors = v.problems(err)
		return v.askToJoin(view, http.StatusUnprocessableEntity)
	case err != nil:
		return err
	}
	if !own {
		as = service.As(got.Membership.UserID)
	}
	if err := v.dropToken(as, got.Secret); err != nil {
		return err
	}
	if !own {
		if err := v.letIn(as, true); err != nil {
			return err
		}
	}
	return v.see(v.h.url("/a/" + itoa(got.AccountID) + "/"))
}

// dropToken deletes the access token that an invitation creates, as browsers have a session.
func (v *visit) dropToken(as helpdesk.Caller, secret string) error {
	c, err := v.h.cfg.Service.Authenticate(v.ctx(), secret)
	if err != nil {
		return err
	}
	admin, err := v.service().Admin(v.ctx(), as)
	if err != nil {
		return err
	}
	return admin.DeleteOwnToken(v.ctx(), c.TokenID())
}

// forgotPage asks for the address of the account.
func (v *visit) forgotPage() error { return v.askWhoForgot(doorView{}, 0) }

func (v *visit) askWhoForgot(view doorView, status int) error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	view.Action = v.h.url("/forgot")
	return v.showDoor("forgot", v.words.T("Forgot your password?"), view, status)
}

// forgot has a link mailed. The answer is the same whether or not there is such a member.
func (v *visit) forgot() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	view := doorView{Name: v.r.PostFormValue("email")}
	err := v.service().SignIn().ForgotPassword(v.ctx(), view.Name)
	switch {
	case fault.Is(err, fault.Invalid):
		view.Errors = v.problems(err)
		return v.askWhoForgot(view, http.StatusUnprocessableEntity)
	case fault.Is(err, fault.RateLimited):
		view.Problem = v.words.T("Too many requests. Try again in an hour.")
		return v.askWhoForgot(view, http.StatusTooManyRequests)
	case err != nil:
		return err
	}
	view.Over = v.words.T("If a member uses this address, we have emailed them a link. It is valid for one hour.")
	return v.askWhoForgot(view, 0)
}

// resetPage is the target of the link for choosing a new password.
func (v *visit) resetPage() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	return v.askForPassword(v.r.URL.Query().Get("token"), nil, 0)
}

func (v *visit) askForPassword(token string, problems map[string]string, status int) error {
	view := doorView{Token: token, Action: v.h.url("/reset"), Errors: problems}
	user, err := v.h.cfg.Service.SignIn().PasswordTokenUser(v.ctx(), token)
	switch {
	case fault.Is(err, fault.NotFound):
		view.Over, status = v.words.T("This link has already been used or has expired. Request a new one."), http.StatusNotFound
	case err != nil:
		return err
	}
	view.Name = user.Email
	return v.showDoor("reset", v.words.T("Choose a new password"), view, status)
}

func (v *visit) reset() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	token := v.r.PostFormValue("token")
	err := v.choosePassword(token, identity.PasswordChoice{Password: v.r.PostFormValue("password")})
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return v.askForPassword(token, v.problems(err), http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return v.see(v.h.url("/"))
}
