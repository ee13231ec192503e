package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/transport/desk"
)

// The page for forgotten passwords is the same for every address. It does not exist if the program signs in users itself.
func TestForgotPages(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) { cfg.Authenticate = nil })
	ask := func(email string) answer { return b.do(http.MethodPost, "/desk/forgot", url.Values{"email": {email}}) }
	if a := b.do(http.MethodGet, "/desk/sign-in", nil); !strings.Contains(a.body, `href="/desk/forgot"`) {
		t.Error("the sign-in does not lead there")
	}
	if a := b.do(http.MethodGet, "/desk/forgot", nil); a.status != http.StatusOK || !strings.Contains(a.body, `name="email"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	known, unknown := ask("maja@example.org"), ask("nobody@example.org")
	if known.status != http.StatusOK || known.status != unknown.status || known.body != unknown.body || !strings.Contains(known.body, "we have emailed them a link") {
		t.Errorf("%d %s\n%d %s", known.status, known.body, unknown.status, unknown.body)
	}
	for _, hostile := range []string{"", "nobody", `"><script>alert(1)</script>@example.org`, "a@b\r\nBcc: eve@example.net"} {
		if a := ask(hostile); a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, "<script>alert") {
			t.Errorf("%q: %d %s", hostile, a.status, a.body)
		}
	}
	token, err := b.service.Operator().CreatePasswordToken(t.Context(), b.owner.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	choose := func() answer {
		return b.do(http.MethodPost, "/desk/reset", url.Values{"token": {token}, "password": {"another horse"}})
	}
	if a := choose(); a.status != http.StatusSeeOther || !strings.Contains(a.header.Get("Set-Cookie"), "session") {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := choose(); a.status != http.StatusNotFound || !strings.Contains(a.body, "already been used") {
		t.Errorf("a second time: %d %s", a.status, a.body)
	}
	own := newBundle(t, nil)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if a := own.do(method, "/desk/forgot", url.Values{"email": {"maja@example.org"}}); a.status != http.StatusNotFound {
			t.Errorf("%s where the program signs in: %d", method, a.status)
		}
	}
	if _, err := b.service.SignIn().WithPassword(t.Context(), "maja@example.org", "another horse"); err != nil {
		t.Error(err)
	}
}
