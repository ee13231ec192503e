package kb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func TestNew(t *testing.T) {
	t.Parallel()
	_, err := kb.New(kb.Config{BaseURL: "/relative"})
	f, _ := errors.AsType[*fault.Error](err)
	for _, field := range []string{"Store", "Blobs", "Membership", "BaseURL"} {
		if f == nil || len(f.Fields[field]) != 1 {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// The caller determines which handles can be opened.
func TestHandles(t *testing.T) {
	t.Parallel()
	b := memory(t)
	public := b.site(t, kb.SiteInput{})
	private := b.site(t, kb.SiteInput{Visibility: storage.Some(kb.Private)})
	for _, tt := range []struct {
		name            string
		caller          kb.Caller
		site            int64
		editor, visitor error
	}{
		{"nobody", nil, public.ID, kb.ErrUnauthenticated, nil},
		{"user 0", person(0), public.ID, kb.ErrUnauthenticated, nil},
		{"a stranger", sam, public.ID, kb.ErrNotFound, nil},
		{"a member", vic, public.ID, nil, nil},
		{"nobody, private", nil, private.ID, kb.ErrUnauthenticated, kb.ErrNotFound},
		{"a stranger, private", sam, private.ID, kb.ErrNotFound, kb.ErrNotFound},
		{"a member, private", vic, private.ID, nil, nil},
		{"a member, no site", vic, 999, kb.ErrNotFound, kb.ErrNotFound},
	} {
		_, editor := b.Editor(t.Context(), tt.caller, tt.site)
		_, visitor := b.Visitor(t.Context(), tt.caller, tt.site)
		if !errors.Is(editor, tt.editor) || !errors.Is(visitor, tt.visitor) {
			t.Errorf("%s: editor %v, visitor %v", tt.name, editor, visitor)
		}
	}
	if _, err := b.Sites(nil); !errors.Is(err, kb.ErrUnauthenticated) {
		t.Errorf("nobody's sites: %v", err)
	}
}

// A site is found by the host and the path of a request.
func TestFindSite(t *testing.T) {
	t.Parallel()
	b := memory(t)
	b.site(t, kb.SiteInput{Name: "shared", Path: storage.Some("shared")})
	b.site(t, kb.SiteInput{Name: "sub", Path: storage.Some("docs2"), Subdomain: storage.Some("acme")})
	b.site(t, kb.SiteInput{Name: "root", Path: storage.Some(""), CustomDomain: storage.Some("help.example.org")})
	b.site(t, kb.SiteInput{Name: "below", Path: storage.Some("below"), CustomDomain: storage.Some("help.example.org")})
	for _, tt := range []struct{ host, path, want, rest string }{
		{"desk.example.net", "/shared/articles/1", "shared", "/articles/1"},
		{"DESK.example.net.", "/shared", "shared", "/"},
		{"desk.example.net", "/", "", ""},
		{"desk.example.net", "/other", "", ""},
		{"acme.desk.example.net", "/docs2/", "sub", "/"},
		{"acme.desk.example.net", "/", "", ""},
		{"help.example.org", "/articles/1", "root", "/articles/1"},
		{"help.example.org", "/below/x", "below", "/x"},
		{"other.example.org", "/", "", ""},
		{".", "/shared", "", ""},
	} {
		site, rest, err := b.FindSite(context.Background(), tt.host, tt.path)
		if tt.want == "" {
			if !errors.Is(err, kb.ErrNotFound) {
				t.Errorf("%s%s: %q, %v", tt.host, tt.path, site.Name, err)
			}
			continue
		}
		if diff := cmp.Diff([]string{tt.want, tt.rest}, []string{site.Name, rest}); diff != "" || err != nil {
			t.Errorf("%s%s: %v\n%s", tt.host, tt.path, err, diff)
		}
	}
}

// URL returns the address at which FindSite finds the site.
func TestURL(t *testing.T) {
	t.Parallel()
	b := memory(t)
	for _, tt := range []struct {
		in   kb.SiteInput
		want string
	}{
		{kb.SiteInput{Path: storage.Some("a")}, "https://desk.example.net/a"},
		{kb.SiteInput{Path: storage.Some("a"), Subdomain: storage.Some("x")}, "https://x.desk.example.net/a"},
		{kb.SiteInput{Path: storage.Some(""), Subdomain: storage.Some("y")}, "https://y.desk.example.net"},
		{kb.SiteInput{Path: storage.Some(""), Subdomain: storage.Some("z"), CustomDomain: storage.Some("h.example.org")}, "https://h.example.org"},
	} {
		site := b.site(t, tt.in)
		if got := b.URL(site); got != tt.want || !strings.Contains(got, b.Host(site)) {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// A right-to-left override in a name could change the meaning of the rest of a line.
func TestNamesKeepTheirDirection(t *testing.T) {
	t.Parallel()
	b := memory(t)
	site := b.site(t, kb.SiteInput{Path: storage.Some("a"), Name: "Help \u202Eelif\u2069"})
	if site.Name != "Help elif" {
		t.Errorf("the site is called %q", site.Name)
	}
}

// A path that the languages of a site at the root of its host would take is refused, and the text says why.
func TestPathOfLanguage(t *testing.T) {
	t.Parallel()
	b := memory(t)
	for path, want := range map[string]string{"one": "language code", "app": "language code", "en": "language code", "search": "at the root of the host", "help": ""} {
		sites, err := b.Sites(erin)
		if err != nil {
			t.Fatal(err)
		}
		_, err = sites.Create(t.Context(), kb.SiteInput{AccountID: 1, Name: "S", Path: storage.Some(path), CustomDomain: storage.Some("h.example.org")})
		f, _ := errors.AsType[*fault.Error](err)
		if want == "" && err != nil || want != "" && (f == nil || !strings.Contains(strings.Join(f.Fields["path"], " "), want)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
