package desk_test

import (
	"net/url"
	"strings"
	"testing"
)

// A member is away, for themselves and for colleagues, until they say otherwise.
func TestAvailability(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	shows := func(state, offers string) {
		t.Helper()
		body := b.get("/settings/profile").body
		_, menu, _ := strings.Cut(body, `class="me"`)
		menu, _, _ = strings.Cut(menu, "</header>")
		if !strings.Contains(menu, "<small>"+state+"</small>") || !strings.Contains(menu, offers) {
			t.Errorf("not %s, %s: %s", state, offers, menu)
		}
	}
	shows("Available", "Set yourself away")
	for _, tt := range []struct{ away, state, offers string }{
		{"1", "Away", "Set yourself available"}, {"", "Available", "Set yourself away"},
	} {
		b.post("/availability", url.Values{"away": {tt.away}})
		shows(tt.state, tt.offers)
		m, err := b.desk.Membership(t.Context())
		if err != nil || m.Availability.ForceOffline != (tt.away != "") {
			t.Errorf("%+v, %v", m.Availability, err)
		}
	}
}
