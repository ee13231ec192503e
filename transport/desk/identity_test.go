package desk_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/desk"
)

// identityProvider accepts the user that the browser names.
func identityProvider() identity.Provider {
	return identity.Provider{
		Key: "office", Name: "Work ID", Issuer: "https://id.example", Domains: []string{"example.org"},
		Begin: func(context.Context) (string, []byte, error) {
			return "https://id.example/auth?state=s", []byte("s"), nil
		},
		Finish: func(_ context.Context, _ []byte, answer url.Values) (who identity.Proven, err error) {
			if answer.Get("error") != "" {
				return who, fault.New(fault.Unauthenticated, "no")
			}
			return who, json.Unmarshal([]byte(answer.Get("who")), &who)
		},
	}
}

const eve = `{"Subject":"eve","Email":"eve@example.org","EmailVerified":true,"Name":"Eve"}`

// kept returns the cookie that a browser sends after an answer.
func kept(t *testing.T, a answer) string {
	t.Helper()
	for _, c := range a.header.Values("Set-Cookie") {
		if strings.HasPrefix(c, "helpwright_sign_in=") {
			if !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Max-Age=600") {
				t.Errorf("cookie %s", c)
			}
			value, _, _ := strings.Cut(c, ";")
			return value
		}
	}
	t.Fatalf("no cookie in %v", a.header)
	return ""
}

// Users join by a rule that an admin creates in the settings, when they sign in at another server, and no one else is let
// in.
func TestSignInWithProvider(t *testing.T) {
	t.Parallel()
	b := newBundleWith(t, []identity.Provider{identityProvider()}, func(cfg *desk.Config) { cfg.Authenticate = nil })
	own := b.session("Firefox, Linux")
	if a := b.do(http.MethodGet, "/desk/sign-in?next=/desk/a/1/inbox/all", nil); !strings.Contains(a.body, "Sign in with Work ID") {
		t.Fatalf("the page to sign in: %s", a.body)
	}
	begin := func(next string) string {
		t.Helper()
		a := b.do(http.MethodGet, "/desk/sign-in/with/office?next="+url.QueryEscape(next), nil)
		if a.status != http.StatusSeeOther || a.header.Get("Location") != "https://id.example/auth?state=s" {
			t.Fatalf("%d %v", a.status, a.header)
		}
		return kept(t, a)
	}
	back := func(query url.Values, cookie string) answer {
		t.Helper()
		return b.do(http.MethodGet, "/desk/sign-in/with/office/done?"+query.Encode(), nil, "Cookie", cookie)
	}
	who := url.Values{"who": {eve}}
	for name, a := range map[string]answer{
		"nobody knows her": back(who, begin("/desk/a/1/inbox/all")), "no cookie": back(who, ""), "another's cookie": back(who, "helpwright_sign_in=AAAA"),
		"she does not want to": back(url.Values{"error": {"access_denied"}}, begin("/")),
	} {
		if a.status != http.StatusForbidden && a.status != http.StatusUnauthorized || !strings.Contains(a.body, `role="alert"`) || strings.Contains(strings.Join(a.header.Values("Set-Cookie"), " "), "helpwright_session=") {
			t.Errorf("%s: %d %v", name, a.status, a.header)
		}
	}

	agent := ""
	page := b.get("/settings/members", "Cookie", own)
	if m := regexp.MustCompile(`name="role" value="(\d+)" checked`).FindStringSubmatch(page.body); m != nil {
		agent = m[1]
	}
	if a := b.post("/settings/join-rules", url.Values{"domain": {"gmail.com"}, "provider": {"office"}, "role": {agent}}, "Cookie", own); a.status != http.StatusUnprocessableEntity {
		t.Errorf("everybody's domain: %d", a.status)
	}
	if a := b.post("/settings/join-rules", url.Values{"domain": {"example.org"}, "provider": {"office"}, "role": {agent}}, "Cookie", own); a.status != http.StatusSeeOther {
		t.Fatalf("a rule: %d %s", a.status, a.body)
	}
	page = b.get("/settings/members", "Cookie", own)
	rule := regexp.MustCompile(`action="([^"]*/settings/join-rules/\d+)/again"`).FindStringSubmatch(page.body)
	if rule == nil || strings.Contains(page.body, "Paused") {
		t.Fatal(page.body)
	}
	for next, want := range map[string]string{"/desk/a/1/inbox/all": "/desk/a/1/inbox/all", "https://evil.example/": "/desk/", "//evil.example": "/desk/"} {
		a := back(who, begin(next))
		if a.status != http.StatusSeeOther || a.header.Get("Location") != want || !strings.Contains(strings.Join(a.header.Values("Set-Cookie"), " "), "helpwright_session=") {
			t.Errorf("to %s: %d %v", next, a.status, a.header)
		}
	}
	if a := b.do(http.MethodPost, rule[1]+"/again", url.Values{}, "Cookie", own); a.status != http.StatusSeeOther {
		t.Errorf("applied again: %d", a.status)
	}
	if a := b.do(http.MethodPost, rule[1]+"/delete", url.Values{}, "Cookie", own); a.status != http.StatusSeeOther || strings.Contains(b.get("/settings/members", "Cookie", own).body, rule[1]) {
		t.Errorf("deleted: %d", a.status)
	}
}

// A member connects an account by a link, as forms lead to no other site, and disconnects it.
func TestConnectAccount(t *testing.T) {
	t.Parallel()
	b := newBundleWith(t, []identity.Provider{identityProvider()}, func(cfg *desk.Config) { cfg.Authenticate = nil })
	own := b.session("Firefox, Linux")
	if a := b.get("/settings/profile", "Cookie", own); !strings.Contains(a.body, "/desk/connected") {
		t.Error("the profile does not lead there")
	}
	password := url.Values{"current_password": {"correct horse"}}
	for _, path := range []string{"/desk/connected/office", "/desk/disconnect/1"} {
		if a := b.do(http.MethodPost, path, url.Values{"current_password": {"wrong horse"}}, "Cookie", own); a.status != http.StatusUnprocessableEntity || len(a.header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s with a wrong password: %d %v", path, a.status, a.header)
		}
	}
	a := b.do(http.MethodPost, "/desk/connected/office", password, "Cookie", own)
	if a.status != http.StatusOK || !strings.Contains(a.body, `href="https://id.example/auth?state=s"`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	done := b.do(http.MethodGet, "/desk/sign-in/with/office/done?"+url.Values{"who": {eve}}.Encode(), nil, "Cookie", own+"; "+kept(t, a))
	if done.status != http.StatusSeeOther || done.header.Get("Location") != "/desk/connected" {
		t.Fatalf("%d %s", done.status, done.body)
	}
	page := b.do(http.MethodGet, "/desk/connected", nil, "Cookie", own)
	form := regexp.MustCompile(`action="(/desk/disconnect/\d+)"`).FindStringSubmatch(page.body)
	if form == nil || !strings.Contains(page.body, "eve@example.org") {
		t.Fatal(page.body)
	}
	if a := b.do(http.MethodPost, form[1], password, "Cookie", own); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if page = b.do(http.MethodGet, "/desk/connected", nil, "Cookie", own); strings.Contains(page.body, form[1]) {
		t.Error("it is still connected")
	}
}
