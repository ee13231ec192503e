package exchange

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/plain"
)

// Look is the appearance of a site. Images are names of files in the folder.
type Look struct {
	Accent      string              `yaml:"accent,omitempty"`
	Hero        string              `yaml:"hero,omitempty"`
	Logo        string              `yaml:"logo,omitempty"`
	LogoDark    string              `yaml:"logo_dark,omitempty"`
	Favicon     string              `yaml:"favicon,omitempty"`
	SocialImage string              `yaml:"social_image,omitempty"`
	HidePopular bool                `yaml:"hide_popular,omitempty"`
	HideRecent  bool                `yaml:"hide_recent,omitempty"`
	Texts       map[string]LookText `yaml:"texts,omitempty"` // by locale
}

// LookText holds the texts of a site in one language.
type LookText struct {
	Title       string   `yaml:"title,omitempty"`
	Line        string   `yaml:"line,omitempty"`
	Searches    []string `yaml:"searches,omitempty"`
	HeaderLinks []Link   `yaml:"header_links,omitempty"`
	FooterLinks []Link   `yaml:"footer_links,omitempty"`
	Copyright   string   `yaml:"copyright,omitempty"`
	ContactText string   `yaml:"contact_text,omitempty"`
}

// Link is a named address.
type Link struct {
	Name string `yaml:"name"`
	URL  string `yaml:"url"`
}

// image is one image of a look.
type image struct {
	field string
	name  *string             // in the folder
	id    *int64              // in the site
	given *storage.Opt[int64] // what a change sets
}

// images returns the images of a look in its three forms; the caller passes nil for those it does not need.
func images(l *Look, of *kb.Look, in *kb.LookInput) []image {
	return []image{
		{"logo", &l.Logo, &of.LogoID, &in.LogoID}, {"logo_dark", &l.LogoDark, &of.LogoDarkID, &in.LogoDarkID},
		{"favicon", &l.Favicon, &of.FaviconID, &in.FaviconID}, {"social_image", &l.SocialImage, &of.SocialImageID, &in.SocialImageID},
	}
}

// look returns the look of the site, or nil if it is not set.
func (s *state) look(of kb.Look) *Look {
	l := &Look{Accent: of.Accent, Hero: string(of.Hero), HidePopular: of.HidePopular, HideRecent: of.HideRecent}
	for _, i := range images(l, &of, &kb.LookInput{}) {
		*i.name = s.keys[kb.FileKey][*i.id]
	}
	if reflect.DeepEqual(*l, Look{}) && len(of.Texts) == 0 {
		return nil
	}
	if len(of.Texts) > 0 {
		l.Texts = map[string]LookText{}
	}
	for locale, t := range of.Texts {
		l.Texts[locale] = LookText{
			Title: t.Title, Line: t.Line, Searches: t.Searches, HeaderLinks: linksOf[Link](t.HeaderLinks), FooterLinks: linksOf[Link](t.FooterLinks),
			Copyright: t.Copyright, ContactText: t.ContactText,
		}
	}
	return l
}

// linksOf converts links between the two packages.
func linksOf[To, From Link | kb.Link](links []From) []To {
	var out []To
	for _, l := range links {
		out = append(out, To(l))
	}
	return out
}

// look applies the look of the folder to the site, once its files exist.
func (i *importer) look() error {
	want, was := i.folder.Look, i.was.Look
	if want == nil && was != nil { // kept, except images of deleted files
		kept, files := *was, byKey(i.folder.Files, fileKey)
		for _, image := range images(&kept, &kb.Look{}, &kb.LookInput{}) {
			if _, known := files[*image.name]; !known {
				*image.name = ""
			}
		}
		want = &kept
	}
	if want == nil || i.folder.Partial {
		return nil
	}
	if was == nil {
		was = &Look{}
	}
	want = want.settled()
	in := want.input(was)
	var fields differences
	for n, image := range images(want, &kb.Look{}, &in) {
		replaced := slices.Contains(i.outdated, i.start.ids[kb.FileKey][*image.name])
		fields.add("look."+image.field, *image.name != *images(was, &kb.Look{}, &in)[n].name || replaced)
		if *image.name == "" {
			*image.given = storage.Null[int64]()
		} else if problem, err := i.image(*image.name); err != nil {
			return err
		} else if problem != "" {
			i.problems = append(i.problems, Problem{Path: "site.yaml", Message: fmt.Sprintf("look.%s names files/%s, which is %s", image.field, *image.name, problem)})
		} else if id := i.s.ids[kb.FileKey][*image.name]; id > 0 && (!i.rehearsal || !replaced) {
			*image.given = storage.Some(id)
		}
	}
	fields.look(want, was)
	if len(fields) == 0 {
		return nil
	}
	return i.change(Change{Update, "site.yaml", fields}, "", func() error {
		site, err := i.Editor.Site(i.ctx)
		if err != nil {
			return err
		}
		_, err = i.Editor.UpdateSite(i.ctx, kb.SiteInput{AccountID: site.AccountID, Name: site.Name, Look: in})
		return err
	})
}

// image returns why a file of the folder cannot be an image of a look, or "".
func (i *importer) image(name string) (problem string, err error) {
	f, known := byKey(i.folder.Files, fileKey)[name]
	if !known {
		return "not there", nil
	}
	content, err := f.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }() // it was only read
	head, err := io.ReadAll(io.LimitReader(content, filetype.HeadSize))
	if err == nil && !strings.HasPrefix(filetype.MediaType(filetype.SafeName(name), head), "image/") {
		problem = "no image"
	}
	return problem, err
}

// settled returns the look as the site would store it.
func (l *Look) settled() *Look {
	own := *l
	own.Accent = strings.ToLower(strings.TrimSpace(l.Accent))
	own.Texts = map[string]LookText{}
	for locale, t := range l.Texts {
		for _, s := range []*string{&t.Title, &t.Line, &t.Copyright, &t.ContactText} {
			*s = plain.Line(strings.Join(strings.Fields(*s), " "))
		}
		var searches []string
		for _, s := range t.Searches {
			if s = plain.Line(s); s != "" {
				searches = append(searches, s)
			}
		}
		t.Searches, t.HeaderLinks, t.FooterLinks = searches, cleanedLinks(t.HeaderLinks), cleanedLinks(t.FooterLinks)
		own.Texts[locale] = t
	}
	return &own
}

func cleanedLinks(links []Link) []Link {
	links = slices.Clone(links)
	for n, l := range links {
		links[n] = Link{Name: plain.Line(l.Name), URL: strings.TrimSpace(plain.Text(l.URL))}
	}
	return links
}

// input returns all changes of the look except images.
func (l *Look) input(was *Look) kb.LookInput {
	in := kb.LookInput{
		Accent: storage.Some(l.Accent), Hero: storage.Some(kb.Hero(l.Hero)), ShowPopular: storage.Some(!l.HidePopular), ShowRecent: storage.Some(!l.HideRecent),
		Texts: map[string]storage.Opt[kb.LookTextInput]{},
	}
	for locale := range was.Texts {
		in.Texts[locale] = storage.Null[kb.LookTextInput]()
	}
	for locale, t := range l.Texts {
		in.Texts[locale] = storage.Some(kb.LookTextInput{
			Title: storage.Some(t.Title), Line: storage.Some(t.Line), Copyright: storage.Some(t.Copyright), ContactText: storage.Some(t.ContactText),
			Searches: storage.Some(t.Searches), HeaderLinks: storage.Some(linksOf[kb.Link](t.HeaderLinks)), FooterLinks: storage.Some(linksOf[kb.Link](t.FooterLinks)),
		})
	}
	return in
}

// look compares everything except images.
func (d *differences) look(l, old *Look) {
	d.add("look.accent", l.Accent != old.Accent)
	d.add("look.hero", l.Hero != old.Hero)
	d.add("look.hide_popular", l.HidePopular != old.HidePopular)
	d.add("look.hide_recent", l.HideRecent != old.HideRecent)
	locales := maps.Clone(l.Texts)
	if locales == nil {
		locales = map[string]LookText{}
	}
	maps.Copy(locales, old.Texts)
	for _, locale := range sorted(locales) {
		t, o := l.Texts[locale], old.Texts[locale]
		at := "look." + locale + "."
		d.add(at+"title", t.Title != o.Title)
		d.add(at+"line", t.Line != o.Line)
		d.add(at+"searches", !slices.Equal(t.Searches, o.Searches))
		d.add(at+"header_links", !slices.Equal(t.HeaderLinks, o.HeaderLinks))
		d.add(at+"footer_links", !slices.Equal(t.FooterLinks, o.FooterLinks))
		d.add(at+"copyright", t.Copyright != o.Copyright)
		d.add(at+"contact_text", t.ContactText != o.ContactText)
	}
}
