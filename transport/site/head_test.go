package site_test

import (
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

// The styles of a site's head have an effect: their own policy admits them, with their fonts, on a host of its own and on
// the shared one.
func TestPolicyOfHead(t *testing.T) {
	t.Parallel()
	const head = `<link rel="stylesheet" href="https://fonts.example/css2?family=Inter"><style>body{font-family:Inter}</style>`
	for name, tt := range map[string]struct {
		in      kb.SiteInput
		address string
	}{
		"own host":    {kb.SiteInput{}, "https://help.example.org/en"},
		"shared host": {kb.SiteInput{CustomDomain: storage.Null[string](), Path: storage.Some("acme")}, "https://desk.example.net/acme/en"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, memstore.New())
			tt.in.AccountID, tt.in.Name, tt.in.HTMLHead = 1, "Acme", storage.Some(head)
			if _, err := w.editor.UpdateSite(t.Context(), tt.in); err != nil {
				t.Fatal(err)
			}
			w.advance(2 * time.Second)
			policy := w.ask(w.Handler, "GET", tt.address, nil).Header().Get("Content-Security-Policy")
			_, style, _ := strings.Cut(policy, "style-src ")
			style, _, _ = strings.Cut(style, ";")
			_, font, _ := strings.Cut(policy, "font-src ")
			font, _, _ = strings.Cut(font, ";")
			if !strings.Contains(style, "https://fonts.example") || !strings.Contains(style, "'sha256-") || !strings.Contains(font, "https:") {
				t.Errorf("style-src %s; font-src %s", style, font)
			}
		})
	}
}
