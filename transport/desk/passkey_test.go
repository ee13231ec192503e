package desk_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/passkey"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/authenticator"
	"github.com/helpwright/helpwright/transport/desk"
)

const passkeyOrigin = "https://desk.example"

// asked returns the answer to the script, and the cookie that the browser keeps.
func asked(t *testing.T, a answer) (options []byte, cookie string) {
	t.Helper()
	var got struct{ Options json.RawMessage }
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusOK || len(got.Options) == 0 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, c := range a.header.Values("Set-Cookie") {
		if strings.HasPrefix(c, "helpwright_sign_in=") {
			if !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Max-Age=300") {
				t.Errorf("cookie %s", c)
			}
			cookie, _, _ = strings.Cut(c, ";")
		}
	}
	return got.Options, cookie
}

// A member adds a passkey in the profile, signs in with it, and removes it; each form reports its problems.
func TestPasskeys(t *testing.T) {
	t.Parallel()
	v, err := passkey.New(passkey.Config{Address: passkeyOrigin})
	if err != nil {
		t.Fatal(err)
	}
	b := newBundleWith(t, nil, func(cfg *desk.Config) { cfg.Authenticate = nil }, func(cfg *helpdesk.Config) { cfg.Passkeys = v })
	own := b.session("Firefox, Linux")
	if page := b.get("/settings/profile", "Cookie", own); !strings.Contains(page.body, "Add a passkey") {
		t.Error("the profile does not know passkeys")
	}
	page := b.do(http.MethodGet, "/desk/passkeys", nil, "Cookie", own)
	if !strings.Contains(page.body, `data-passkey-here="https://desk.example"`) || strings.Contains(page.body, "<script>") {
		t.Errorf("%s", page.body)
	}
	device := &authenticator.Authenticator{Origin: passkeyOrigin}
	register := func(name string) answer {
		t.Helper()
		options, cookie := asked(t, b.do(http.MethodPost, "/desk/passkeys/begin", url.Values{"name": {name}, "current_password": {"correct horse"}}, "Cookie", own))
		made, err := device.Create(options)
		if err != nil {
			t.Fatal(err)
		}
		return b.do(http.MethodPost, "/desk/passkeys", url.Values{"name": {name}, "answer": {string(made)}}, "Cookie", own+"; "+cookie)
	}
	if a := register(""); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Give the passkey a name") {
		t.Errorf("no name: %d", a.status)
	}
	if a := b.do(http.MethodPost, "/desk/passkeys", url.Values{"name": {"x"}}, "Cookie", own); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "was not accepted") {
		t.Errorf("no answer: %d", a.status)
	}
	device = &authenticator.Authenticator{Origin: passkeyOrigin}
	if a := register("<b>My laptop"); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	page = b.do(http.MethodGet, "/desk/passkeys", nil, "Cookie", own)
	remove := regexp.MustCompile(`action="(/desk/passkeys/\d+/remove)"`).FindStringSubmatch(page.body)
	if remove == nil || !strings.Contains(page.body, "&lt;b&gt;My laptop") || !strings.Contains(page.body, "never used") {
		t.Fatalf("%s", page.body)
	}

	signIn := func(change func(form url.Values, cookie *string)) answer {
		t.Helper()
		options, cookie := asked(t, b.do(http.MethodPost, "/desk/sign-in/passkey/begin", nil))
		got, err := device.Get(options)
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"answer": {string(got)}, "next": {"/desk/a/1/inbox/all"}, "stay": {"1"}}
		change(form, &cookie)
		return b.do(http.MethodPost, "/desk/sign-in/passkey", form, "Cookie", cookie)
	}
	a := signIn(func(url.Values, *string) {})
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/desk/a/1/inbox/all" || !strings.Contains(strings.Join(a.header.Values("Set-Cookie"), " "), "helpwright_session=") {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	for name, change := range map[string]func(url.Values, *string){
		"no cookie":       func(_ url.Values, cookie *string) { *cookie = "" },
		"another's":       func(_ url.Values, cookie *string) { *cookie = "helpwright_sign_in=AAAA" },
		"no answer":       func(form url.Values, _ *string) { form.Del("answer") },
		"garbage":         func(form url.Values, _ *string) { form.Set("answer", "<script>") },
		"an answer twice": func(form url.Values, _ *string) { form.Set("answer", form.Get("answer")+form.Get("answer")) },
	} {
		a := signIn(change)
		if a.status != http.StatusUnauthorized || !strings.Contains(a.body, `role="alert"`) || strings.Contains(strings.Join(a.header.Values("Set-Cookie"), " "), "helpwright_session=") {
			t.Errorf("%s: %d %v", name, a.status, a.header)
		}
	}
	for _, to := range []string{"/desk/sign-in/passkey", "/desk/sign-in/passkey/begin"} {
		if a := b.do(http.MethodPost, to, url.Values{}, "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden {
			t.Errorf("%s from another site: %d", to, a.status)
		}
	}
	if a := signIn(func(form url.Values, _ *string) { form.Set("next", "https://evil.example/") }); a.header.Get("Location") != "/desk/" {
		t.Errorf("it leads to %s", a.header.Get("Location"))
	}
	for _, to := range []string{remove[1], "/desk/passkeys/begin"} {
		if a := b.do(http.MethodPost, to, url.Values{"current_password": {"wrong"}}, "Cookie", own); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "The password is incorrect") {
			t.Errorf("%s with a wrong password: %d %s", to, a.status, a.body)
		}
	}
	rename := strings.TrimSuffix(remove[1], "/remove")
	if a := b.do(http.MethodPost, rename, url.Values{"name": {" "}}, "Cookie", own); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Give the passkey a name") {
		t.Errorf("renamed to nothing: %d %s", a.status, a.body)
	}
	if a := b.do(http.MethodPost, rename, url.Values{"name": {"Old & grey"}}, "Cookie", own); a.status != http.StatusSeeOther {
		t.Errorf("renamed: %d %s", a.status, a.body)
	}
	if page := b.do(http.MethodGet, "/desk/passkeys", nil, "Cookie", own); !strings.Contains(page.body, "<bdi>Old &amp; grey</bdi>") {
		t.Errorf("renamed: %s", page.body)
	}
	if a := b.do(http.MethodPost, remove[1], url.Values{"current_password": {"correct horse"}}, "Cookie", own); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := signIn(func(url.Values, *string) {}); a.status != http.StatusUnauthorized || !strings.Contains(a.body, "This passkey is not registered here") {
		t.Errorf("a removed passkey: %d", a.status)
	}
}

// Pages about the second factor mention passkeys to members who can have one, and offer sign-in to those who have one.
func TestPasskeyInsteadOfCode(t *testing.T) {
	t.Parallel()
	v, err := passkey.New(passkey.Config{Address: passkeyOrigin})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		on, has, required bool
		want, not         string
	}{
		"off":                   {false, false, true, "Set up", "passkey"},
		"none yet":              {true, false, true, "sign in with a passkey, without a code", "data-passkey="},
		"one":                   {true, true, false, "need no code when you sign in with a passkey", "data-passkey="},
		"one, factors required": {true, true, true, `data-passkey="/desk/sign-in/passkey/begin"`, "need no code"},
	} {
		b := newBundleWith(t, nil, func(cfg *desk.Config) { cfg.Authenticate = nil }, func(cfg *helpdesk.Config) {
			if test.on {
				cfg.Passkeys = v
			}
		})
		own := b.session("Firefox, Linux")
		if test.has {
			options, cookie := asked(t, b.do(http.MethodPost, "/desk/passkeys/begin", url.Values{"current_password": {"correct horse"}}, "Cookie", own))
			made, err := (&authenticator.Authenticator{Origin: passkeyOrigin}).Create(options)
			if err != nil {
				t.Fatal(err)
			}
			if a := b.do(http.MethodPost, "/desk/passkeys", url.Values{"name": {"x"}, "answer": {string(made)}}, "Cookie", own+"; "+cookie); a.status != http.StatusSeeOther {
				t.Fatal(a.body)
			}
		}
		if _, err := b.desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", RequireSecondFactor: storage.Some(test.required)}); err != nil {
			t.Fatal(err)
		}
		page := b.do(http.MethodGet, "/desk/second-factor", nil, "Cookie", own)
		if page.status != http.StatusOK || !strings.Contains(page.body, test.want) || strings.Contains(page.body, test.not) {
			t.Errorf("%s: %d %s", name, page.status, page.body)
		}
		if !test.on {
			continue
		}
		shown := b.do(http.MethodPost, "/desk/second-factor", url.Values{"current_password": {"correct horse"}}, "Cookie", own)
		uri := html.UnescapeString(regexp.MustCompile(`name="uri" value="([^"]+)"`).FindStringSubmatch(shown.body)[1])
		parsed, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		b.do(http.MethodPost, "/desk/second-factor/confirm", url.Values{"code": {testenv.AppCode(parsed.Query().Get("secret"), time.Now())}, "uri": {uri}}, "Cookie", own)
		step := b.do(http.MethodPost, "/desk/sign-in", url.Values{"email": {"maja@example.org"}, "password": {"correct horse"}})
		again := b.do(http.MethodPost, "/desk/sign-in/code", url.Values{"token": {regexp.MustCompile(`hws_[A-Z2-7]+`).FindString(step.body)}, "code": {"0"},
			"passkey": {map[bool]string{true: "1"}[test.has]}})
		for what, a := range map[string]answer{"asked for the code": step, "asked again": again} {
			if offered := strings.Contains(a.body, "data-passkey="); offered != test.has || !strings.Contains(a.body, `name="code"`) {
				t.Errorf("%s, %s: a passkey is offered: %v", name, what, offered)
			}
		}
	}
}

// Where passkeys do not work, no page offers them, and their own page explains why.
func TestPasskeysOff(t *testing.T) {
	t.Parallel()
	b := newBundleWith(t, nil, func(cfg *desk.Config) { cfg.Authenticate = nil })
	own := b.session("Firefox, Linux")
	if a := b.do(http.MethodGet, "/desk/sign-in", nil); strings.Contains(a.body, "passkey") {
		t.Error("the page to sign in offers passkeys")
	}
	if a := b.do(http.MethodGet, "/desk/passkeys", nil, "Cookie", own); a.status != http.StatusOK || !strings.Contains(a.body, "Passkeys only work over https://") || strings.Contains(a.body, "data-passkey=") {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, to := range []string{"/desk/sign-in/passkey/begin", "/desk/passkeys/begin"} {
		if a := b.do(http.MethodPost, to, url.Values{}, "Cookie", own); a.status != http.StatusConflict || !strings.Contains(a.body, "https://") {
			t.Errorf("%s: %d %s", to, a.status, a.body)
		}
	}
}
