package desk_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/desk"
)

// A member sets up a second factor if the team requires it, signs in with it, and switches it off.
func TestSecondFactorPages(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) { cfg.Authenticate = nil })
	link, err := b.service.Operator().CreatePasswordToken(t.Context(), b.owner.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	const password = "another horse"
	if _, err := b.service.SignIn().ChoosePassword(t.Context(), link, identity.PasswordChoice{Password: password}); err != nil {
		t.Fatal(err)
	}
	own := b.session("Firefox, Linux")
	if _, err := b.desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", RequireSecondFactor: storage.Some(true)}); err != nil {
		t.Fatal(err)
	}
	if a := b.get("/inbox/all", "Cookie", own); a.status != http.StatusSeeOther || a.header.Get("Location") != "/desk/second-factor" {
		t.Errorf("a page of the account: %d %v", a.status, a.header)
	}
	page := func(path string, form url.Values, status int, contains string) string {
		t.Helper()
		method := http.MethodPost
		if form == nil {
			method = http.MethodGet
		}
		a := b.do(method, "/desk"+path, form, "Cookie", own)
		if a.status != status || !strings.Contains(a.body, contains) {
			t.Fatalf("%s: %d, no %q in %s", path, a.status, contains, a.body)
		}
		return a.body
	}
	page("/second-factor", nil, 200, "requires two-factor authentication")
	page("/second-factor", url.Values{"current_password": {"wrong horse"}}, 422, "Incorrect")
	shown := page("/second-factor", url.Values{"current_password": {password}}, 200, `class="qr"`)
	uri := html.UnescapeString(regexp.MustCompile(`name="uri" value="([^"]+)"`).FindStringSubmatch(shown)[1])
	parsed, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(uri, "otpauth://totp/Helpwright%20%28127.0.0.1%29:") {
		t.Errorf("%q %v", uri, err)
	}
	secret := parsed.Query().Get("secret")
	again := page("/second-factor/confirm", url.Values{"code": {"x"}, "uri": {uri}}, 422, "Incorrect")
	if !strings.Contains(again, `class="qr"`) {
		t.Error("a wrong code takes the picture away")
	}
	page("/second-factor/confirm", url.Values{"code": {"x"}, "uri": {`javascript:alert("1")`}}, 422, "Current password")
	codes := page("/second-factor/confirm", url.Values{"code": {testenv.AppCode(secret, time.Now())}, "uri": {uri}}, 200, "Save your recovery codes")
	recovery := regexp.MustCompile(`<code>([A-Z2-7-]{14})</code>`).FindAllStringSubmatch(codes, -1)
	if len(recovery) != 10 {
		t.Fatal(codes)
	}
	if a := b.get("/inbox/all", "Cookie", own); a.status != http.StatusOK {
		t.Errorf("with a second factor: %d", a.status)
	}
	signIn := func(password string) answer {
		return b.do(http.MethodPost, "/desk/sign-in", url.Values{"email": {"maja@example.org"}, "password": {password}, "next": {"/desk/a/1/inbox/all"}, "stay": {"1"}})
	}
	if a := signIn("wrong horse"); a.status != http.StatusUnauthorized || strings.Contains(a.body, `name="code"`) {
		t.Errorf("a wrong password: %d %s", a.status, a.body)
	}
	a := signIn(password)
	if a.status != http.StatusOK || a.header.Get("Set-Cookie") != "" || !strings.Contains(a.body, `name="code"`) {
		t.Fatalf("a right password: %d %v", a.status, a.header)
	}
	form := url.Values{"next": {"/desk/a/1/inbox/all"}, "stay": {"1"}, "token": {regexp.MustCompile(`hws_[A-Z2-7]+`).FindString(a.body)}}
	form.Set("code", "000000")
	if a := b.do(http.MethodPost, "/desk/sign-in/code", form); a.status != http.StatusUnauthorized || a.header.Get("Set-Cookie") != "" || !strings.Contains(a.body, form.Get("token")) {
		t.Errorf("a wrong code: %d %s", a.status, a.body)
	}
	form.Set("code", recovery[0][1])
	if a := b.do(http.MethodPost, "/desk/sign-in/code", form); a.status != http.StatusSeeOther || a.header.Get("Location") != "/desk/a/1/inbox/all" || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=1209600") {
		t.Errorf("a code for recovery: %d %v", a.status, a.header)
	}
	form.Set("token", "hws_AAAA")
	if a := b.do(http.MethodPost, "/desk/sign-in/code", form); a.status != http.StatusUnauthorized || !strings.Contains(a.body, `name="password"`) {
		t.Errorf("without the first step: %d %s", a.status, a.body)
	}
	page("/second-factor", nil, 200, "9 recovery codes left")
	page("/second-factor/codes", url.Values{"code": {"123"}}, 422, "Incorrect")
	page("/second-factor/codes", url.Values{"code": {recovery[1][1]}}, 200, "Save your recovery codes")
	page("/second-factor/remove", url.Values{"current_password": {password}, "off_code": {recovery[2][1]}}, 422, "Incorrect")
	if _, err := b.desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", RequireSecondFactor: storage.Some(false)}); err != nil {
		t.Fatal(err)
	}
	page("/second-factor/remove", url.Values{"current_password": {password}, "off_code": {testenv.AppCode(secret, time.Now().Add(30*time.Second))}}, 303, "")
	if a := signIn(password); a.status != http.StatusSeeOther {
		t.Errorf("switched off: %d", a.status)
	}
	theirs := newBundle(t, nil)
	for _, path := range []string{"/desk/second-factor", "/desk/sign-in/code", "/desk/second-factor/confirm", "/desk/second-factor/codes", "/desk/second-factor/remove"} {
		if a := theirs.do(http.MethodPost, path, url.Values{}); a.status != http.StatusNotFound {
			t.Errorf("%s where the program signs in: %d", path, a.status)
		}
	}
}

// An admin keeps a member out and lets them in again, and has all members set up a second factor.
func TestMembersSignIn(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) { cfg.Authenticate = nil })
	user, err := b.service.Operator().CreateUser(t.Context(), identity.UserInput{Name: "Lise", Email: "lise@example.org", Password: "correct horse"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.service.Operator().AddMember(t.Context(), b.desk.AccountID(), user.ID, identity.RoleAgent)
	if err != nil {
		t.Fatal(err)
	}
	own, at := b.session("Firefox, Linux"), fmt.Sprintf("/settings/members/%d", m.ID)
	if a := b.post(at+"/disable", url.Values{}, "Cookie", own); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if page := b.get(at, "Cookie", own).body; !strings.Contains(page, "Restore access") {
		t.Errorf("the member's page: %s", page)
	}
	if page := b.get("/settings/members", "Cookie", own).body; !strings.Contains(page, "Suspended") {
		t.Errorf("the members: %s", page)
	}
	signIn := url.Values{"email": {"lise@example.org"}, "password": {"correct horse"}}
	if a := b.do(http.MethodPost, "/desk/sign-in", signIn); a.status != http.StatusUnauthorized || !strings.Contains(a.body, "suspended your access") {
		t.Errorf("%d %s", a.status, a.body)
	}
	b.post(at+"/enable", url.Values{}, "Cookie", own)
	if a := b.do(http.MethodPost, "/desk/sign-in", signIn); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	b.post("/settings/members/second-factor", url.Values{"require": {"1"}}, "Cookie", own)
	account, err := b.desk.Account().Get(t.Context())
	if err != nil || !account.RequireSecondFactor {
		t.Errorf("%+v %v", account, err)
	}
}
