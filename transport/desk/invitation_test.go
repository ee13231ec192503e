package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/transport/desk"
)

// The page of an invitation shows the account and the address, suggests the name, and leads to the desk. An expired
// invitation is reported before the form is filled in.
func TestInvitationPage(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) { cfg.Authenticate = nil })
	roles, err := b.desk.Membership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := b.desk.Members().Invite(t.Context(), identity.InvitationInput{Email: "lise@example.org", Name: "Lise <b>", RoleIDs: roles.RoleIDs})
	if err != nil {
		t.Fatal(err)
	}
	at := "/desk/invitations/" + token
	page := b.do(http.MethodGet, at, nil)
	for _, text := range []string{"<h1>Join Halden</h1>", "You are joining as lise@example.org", `value="Lise &lt;b&gt;"`, `autocomplete="username"`} {
		if !strings.Contains(page.body, text) {
			t.Errorf("%s is not on the page:\n%s", text, page.body)
		}
	}
	form := url.Values{"name": {"Lise"}, "password": {"short"}, "account": {"Halden"}, "username": {"lise@example.org"}}
	if a := b.do(http.MethodPost, at, form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Join Halden") || !strings.Contains(a.body, "You are joining as lise@example.org") {
		t.Errorf("%d %s", a.status, a.body)
	}
	form.Set("password", "correct horse")
	if a := b.do(http.MethodPost, at, form); a.status != http.StatusSeeOther || a.location != "/desk/a/1/" {
		t.Errorf("%d to %s", a.status, a.location)
	}
	for _, over := range []string{token, "hwi_unknown", "%3Cscript%3E"} {
		if a := b.do(http.MethodGet, "/desk/invitations/"+over, nil); a.status != http.StatusNotFound || !strings.Contains(a.body, "already been used") || strings.Contains(a.body, "<form") {
			t.Errorf("%s: %d %s", over, a.status, a.body)
		}
	}
}
