package desk_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/desk"
)

// The profile shows where somebody is signed in, and signs out there.
func TestSessionsOfProfile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act  func(b *bundle, other int64) string // path of the POST
		left []string
	}{
		"one":          {func(_ *bundle, other int64) string { return fmt.Sprintf("/settings/sessions/%d", other) }, []string{"Chrome, Android", "Firefox, Linux"}},
		"all others":   {func(*bundle, int64) string { return "/settings/sessions/others" }, []string{"Firefox, Linux"}},
		"a stranger's": {func(*bundle, int64) string { return "/settings/sessions/99" }, []string{"Chrome, Android", "Safari, iPhone", "Firefox, Linux"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, func(cfg *desk.Config) { cfg.Authenticate = nil })
			own := b.session("Firefox, Linux")
			b.session("Safari, iPhone")
			b.session("Chrome, Android")
			page := b.get("/settings/profile", "Cookie", own).body
			for _, text := range []string{"Safari, iPhone", "This browser", "Sign out everywhere else"} {
				if !strings.Contains(page, text) {
					t.Errorf("%q is not on the page", text)
				}
			}
			b.post(tt.act(b, b.signedIn("Safari, iPhone")), url.Values{}, "Cookie", own)
			var left []string
			for _, s := range b.sessions() {
				left = append(left, s.Name)
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// session signs the owner in on a device, and returns the cookie.
func (b *bundle) session(device string) string {
	b.Helper()
	s, err := b.service.SignIn().StartSession(b.Context(), b.service.As(b.owner.ID), device)
	if err != nil {
		b.Fatal(err)
	}
	return "helpwright_session=" + s.Secret
}

func (b *bundle) sessions() []identity.AccessToken {
	b.Helper()
	admin, err := b.service.Admin(b.Context(), b.service.As(b.owner.ID))
	if err != nil {
		b.Fatal(err)
	}
	page, err := admin.Sessions(b.Context(), storage.PageRequest{})
	if err != nil {
		b.Fatal(err)
	}
	return page.Items
}

// signedIn is the session of a device.
func (b *bundle) signedIn(device string) int64 {
	for _, s := range b.sessions() {
		if s.Name == device {
			return s.ID
		}
	}
	return 0
}
