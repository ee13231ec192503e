package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/cookie"
)

type loginInput struct {
	Email    string `json:"email" required:"true" example:"ada@example.org"`
	Password string `json:"password" required:"true" maxLength:"200"`
	Code     string `json:"code" maxLength:"50" example:"123456" description:"Code from the authenticator app or a recovery code. Required for users with a second factor."`
}

// session is the session that a sign-in begins; the cookie goes into the header.
type session struct {
	User      me             `json:"user"`
	ExpiresAt transport.Time `json:"expires_at"`
	cookie    *http.Cookie
}

// SetHeaders implements [HeaderSetter].
func (s session) SetHeaders(h http.Header) { h.Add("Set-Cookie", s.cookie.String()) }

func (a *api) addSessions(t *transport.Table) {
	transport.Handle(t, a.door, transport.Operation{
		ID: "login", Method: http.MethodPost, Path: "/auth/login", Tag: "Sessions", Public: true,
		Summary: "Sign in",
		Description: "Starts a session of 14 days and sets its HttpOnly cookie. Requests with the cookie that change something need a " +
			"same-site Sec-Fetch-Site or Origin, else 403. For a user with a second factor, a request without code is 401 with code " +
			"second_factor_required; ask for the code and send all three.",
	}, a.login)
	transport.HandleEmpty(t, a.leave, transport.Operation{
		ID: "logout", Method: http.MethodPost, Path: "/auth/logout", Tag: "Sessions",
		Summary:     "Sign out",
		Description: "Ends the cookie's session and clears the cookie. Access tokens stay valid.",
	}, a.logout)
}

// door signs in callers and makes the cookies of a request.
type door struct {
	svc    *helpdesk.Service
	secure bool
}

func (a *api) door(_ context.Context, r *transport.Request) (door, error) {
	secure := r.Secure()
	// Programs send neither header. For browsers, another site must not be able to sign the user in under a different account.
	if r.Header("Sec-Fetch-Site") != "" || r.Header("Origin") != "" {
		return door{a.service(r), secure}, r.SameSite()
	}
	return door{a.service(r), secure}, nil
}

func (d door) cookie(secret string, seconds int) *http.Cookie {
	return cookie.New(secret, seconds, d.secure)
}

func (a *api) login(ctx context.Context, d door, in loginInput) (session, error) {
	caller, err := d.svc.SignIn().WithPassword(ctx, in.Email, in.Password)
	if step, ok := errors.AsType[*helpdesk.SecondStep](err); ok && in.Code != "" {
		caller, err = d.svc.SignIn().WithCode(ctx, step.Token, in.Code)
	}
	if err != nil {
		return session{}, err
	}
	begun, err := d.svc.SignIn().StartSession(ctx, caller, "")
	if err != nil {
		return session{}, err
	}
	admin, err := d.svc.Admin(ctx, caller)
	if err != nil {
		return session{}, err
	}
	u, err := admin.Me(ctx)
	seconds := int(identity.SessionLife.Seconds())
	return session{User: showMe(u), ExpiresAt: transport.Time(begun.ExpiresAt), cookie: d.cookie(begun.Secret, seconds)}, err
}

// leaving is the handle for signing out.
type leaving struct {
	svc     *helpdesk.Service
	caller  helpdesk.Caller
	request *transport.Request
	cookie  *http.Cookie
}

func (a *api) leave(ctx context.Context, r *transport.Request) (leaving, error) {
	caller, err := a.caller(ctx, r)
	if err == nil && caller.UserID() == 0 {
		err = fault.New(fault.Unauthenticated, "Sign in first.")
	}
	if err != nil {
		return leaving{}, err
	}
	d, err := a.door(ctx, r)
	return leaving{svc: d.svc, caller: caller, request: r, cookie: d.cookie("", -1)}, err
}

func (a *api) logout(ctx context.Context, l leaving, _ struct{}) error {
	if err := l.svc.SignIn().EndSession(ctx, l.caller); err != nil {
		return err
	}
	l.request.SetCookie(l.cookie)
	return nil
}
