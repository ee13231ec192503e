package kb

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
)

// Reference is a link within a site, as stored in the content of an article. It omits the host, the path of the site, the
// language and the slug, so that it stays valid when these change. In content it is written as [Reference.String].
type Reference struct {
	Kind string // ArticlePages, CollectionPages, CategoryPages or FilePages
	ID   int64
	// URLKey and Filename are set for files. They complete a file's address.
	URLKey   string
	Filename string
	// Suffix is a query, a fragment, or both.
	Suffix string
}

// String returns the reference as written in content: "kb:articles/12#install".
func (r Reference) String() string {
	s := contenthtml.RefScheme + r.Kind + "/" + strconv.FormatInt(r.ID, 10)
	if r.Kind == FilePages {
		s += "/" + r.URLKey + "/" + url.PathEscape(r.Filename)
	}
	return s + r.Suffix
}

// Path returns the target of the reference below the URL of the site, for readers of a language. The path of a page has no
// slug and redirects to the one that does.
func (r Reference) Path(locale string) string {
	if r.Kind == FilePages {
		return FilePath(File{ID: r.ID, URLKey: r.URLKey, Filename: r.Filename}) + r.Suffix
	}
	return PagePath(locale, r.Kind, r.ID, "") + r.Suffix
}

var referenceForm = regexp.MustCompile(`^(articles|collections|categories|files)/([1-9][0-9]*)(?:/([A-Za-z0-9]+)/([^/?#]+))?([?#].*)?$`)

// ParseReference parses the output of [Reference.String].
func ParseReference(s string) (Reference, bool) {
	rest, ok := strings.CutPrefix(s, contenthtml.RefScheme)
	if !ok {
		return Reference{}, false
	}
	m := referenceForm.FindStringSubmatch(rest)
	if m == nil || (m[1] == FilePages) != (m[3] != "") {
		return Reference{}, false
	}
	id, err := strconv.ParseInt(m[2], 10, 64)
	name, nameErr := url.PathUnescape(m[4])
	return Reference{Kind: m[1], ID: id, URLKey: m[3], Filename: name, Suffix: m[5]}, err == nil && nameErr == nil
}

// Linked returns the translation with the references in Content and Markdown replaced by addresses, for display.
func (t Translation) Linked(address func(Reference) string) Translation {
	if !strings.Contains(t.Content, contenthtml.RefScheme) && !strings.Contains(t.Markdown, contenthtml.RefScheme) &&
		!strings.Contains(t.MadeFrom.Content+t.MadeFrom.Markdown, contenthtml.RefScheme) {
		return t
	}
	to := func(stored string) string {
		if r, ok := ParseReference(stored); ok {
			return address(r)
		}
		return stored
	}
	t.Content = contenthtml.MapAddresses(t.Content, to)
	t.Markdown = contenthtml.MapMarkdownAddresses(t.Markdown, to)
	t.MadeFrom.Content = contenthtml.MapAddresses(t.MadeFrom.Content, to)
	t.MadeFrom.Markdown = contenthtml.MapMarkdownAddresses(t.MadeFrom.Markdown, to)
	return t
}

// References returns the references in Content, each once, in order.
func (t Translation) References() []Reference {
	var all []Reference
	seen := map[string]bool{}
	contenthtml.MapAddresses(t.Content, func(stored string) string {
		if r, ok := ParseReference(stored); ok && !seen[stored] {
			seen[stored] = true
			all = append(all, r)
		}
		return stored
	})
	return all
}

// fileAddress matches the address of a file on the site or the API, whatever the host.
var fileAddress = regexp.MustCompile(`^(?:[^?#]*/)?files/([1-9][0-9]{0,18})/([A-Za-z0-9]{8,64})/[^/?#]+(#.*)?$`)

// referrer finds references in what authors write.
type referrer struct {
	homes []url.URL // addresses of the site, on its own hosts and on the shared host
	files map[int64]File
}

// refer returns a text input with the site's addresses in its contents replaced by references. It recognizes addresses of
// files by their keys, whatever the host.
func (e *Editor) refer(ctx context.Context, of storage.RowReader[File, storage.NoFilter], in TextInput) (TextInput, error) {
	own := referrer{homes: e.svc.homes(e.site)}
	err := own.know(ctx, of, func(see func(string) string) { in.mapped(see) })
	if err != nil {
		return in, err
	}
	return in.mapped(own.reference), nil
}

// know looks up the files in all addresses that walk visits.
func (own *referrer) know(ctx context.Context, of storage.RowReader[File, storage.NoFilter], walk func(see func(string) string)) error {
	var ids []int64
	walk(func(address string) string {
		if m := fileAddress.FindStringSubmatch(address); m != nil {
			if id, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
		return address
	})
	own.files = map[int64]File{}
	for some := range slices.Chunk(sortedSet(ids), storage.MaxLimit) {
		files, err := of.ByIDs(ctx, some)
		if err != nil {
			return err
		}
		for _, f := range files {
			own.files[f.ID] = f
		}
	}
	return nil
}

// mapped returns the input with f applied to the addresses in its contents.
func (in TextInput) mapped(f func(address string) string) TextInput {
	in.Translations = maps.Clone(in.Translations)
	for code, given := range in.Translations {
		t, set := given.Get()
		if !set {
			continue
		}
		if content, given := t.Content.Get(); given {
			t.Content = storage.Some(contenthtml.MapAddresses(content, f))
		}
		if markdown, given := t.Markdown.Get(); given {
			t.Markdown = storage.Some(contenthtml.MapMarkdownAddresses(markdown, f))
		}
		if of, given := t.MadeFrom.Get(); given {
			of.Content, of.Markdown = contenthtml.MapAddresses(of.Content, f), contenthtml.MapMarkdownAddresses(of.Markdown, f)
			t.MadeFrom = storage.Some(of)
		}
		in.Translations[code] = storage.Some(t)
	}
	return in
}

// homes returns the addresses of a site: on its own hosts and on the shared host.
func (s *Service) homes(site Site) []url.URL {
	var all []url.URL
	for _, key := range []string{site.HostKey, site.Subdomain + ".", SharedHost} {
		was := site
		if was.HostKey = key; key != site.HostKey {
			was.CustomDomain = ""
		}
		if home, err := url.Parse(s.URL(was)); err == nil {
			all = append(all, *home)
		}
	}
	return all
}

// reference returns the reference for an address, or the address unchanged.
func (own referrer) reference(address string) string {
	if m := fileAddress.FindStringSubmatch(address); m != nil {
		id, _ := strconv.ParseInt(m[1], 10, 64) // 0 is no file's id
		if f, known := own.files[id]; known && f.URLKey == m[2] {
			return Reference{Kind: FilePages, ID: id, URLKey: f.URLKey, Filename: f.Filename, Suffix: m[3]}.String()
		}
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") {
		return address
	}
	for _, home := range own.homes {
		if r, ok := pageWithin(u, home); ok {
			return r.String()
		}
	}
	return address
}

// pageWithin parses the address of a page of the site at home. An address without a host may lack the path of the site.
func pageWithin(u *url.URL, home url.URL) (Reference, bool) {
	path := u.Path
	if below, ok := strings.CutPrefix(path, home.Path+"/"); ok {
		path = "/" + below
	} else if u.Host != "" {
		return Reference{}, false
	}
	if u.Host != "" && (u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, home.Host)) {
		return Reference{}, false
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) == 3 {
		if _, isLocale := Locale(parts[0]); !isLocale {
			return Reference{}, false
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || !slices.Contains([]string{ArticlePages, CollectionPages, CategoryPages}, parts[0]) {
		return Reference{}, false
	}
	id, ok := ParsePageName(parts[1])
	if !ok || strings.HasSuffix(parts[1], ".md") {
		return Reference{}, false
	}
	r := Reference{Kind: parts[0], ID: id}
	if u.RawQuery != "" {
		r.Suffix = "?" + u.RawQuery
	}
	if u.Fragment != "" {
		r.Suffix += "#" + u.EscapedFragment()
	}
	return r, true
}
