package server

import (
	"errors"
	"html/template"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// invitationPage is the target of the link in an invitation: it asks for name and password, and shows the new member's
// access token once.
var invitationPage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">
<title>Invitation</title></head>
<body>
<h1>Invitation</h1>
{{if .Token}}<p>You are a member now. This is your access token for the API. It is not shown again:</p>
<pre>{{.Token}}</pre>
{{else}}{{with .Problem}}<p role="alert">{{.}}</p>
{{end}}<p>Choose a name and a password of at least 8 characters. If you have a password here already, give that one.</p>
<form method="post">
<p><label>Name <input name="name" maxlength="200" autocomplete="name" value="{{.Name}}"></label></p>
<p><label>Password <input name="password" type="password" maxlength="200" required autocomplete="current-password"></label></p>
<p><button>Accept</button></p>
</form>
{{end}}</body>
</html>
`))

type invitationView struct{ Name, Problem, Token string }

// invitation serves the page. It does not take the caller's session into account: existing users confirm with their
// password.
func (s *Server) invitation(w http.ResponseWriter, r *http.Request) {
	var view invitationView
	status := http.StatusOK
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
		view.Name = r.PostFormValue("name")
		in := identity.AcceptInput{Name: view.Name, Password: r.PostFormValue("password")}
		got, err := s.service.SignIn().AcceptInvitation(r.Context(), helpdesk.Caller{}, r.PathValue("token"), in)
		view.Token = got.Secret
		if err != nil {
			status, view.Problem = s.refusal(r, err)
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = invitationPage.Execute(w, view) // the client may have disconnected
}

// refusal returns the reason why an invitation was not accepted.
func (s *Server) refusal(r *http.Request, err error) (int, string) {
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case fault.Is(err, fault.NotFound):
		return http.StatusNotFound, "The invitation has already been used, was withdrawn or has expired."
	case fault.Is(err, fault.Unauthenticated):
		return http.StatusUnauthorized, "There is a user with this address, and the password is another one."
	case fault.Is(err, fault.Conflict):
		return http.StatusConflict, "You are already a member."
	case fault.Is(err, fault.Invalid):
		return http.StatusUnprocessableEntity, f.Fields.String()
	}
	s.cfg.Logger.ErrorContext(r.Context(), "an invitation was not accepted", "error", err)
	return http.StatusServiceUnavailable, "Something went wrong. Try again later."
}
