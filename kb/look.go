package kb

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Hero is the style of the header of a site's home page.
type Hero string

// The heroes. The empty value means HeroTint.
const (
	HeroTint   Hero = "tint"   // a wash of the accent
	HeroPlain  Hero = "plain"  // the background of the page
	HeroAccent Hero = "accent" // the accent itself
)

// DefaultAccent is the accent colour of sites that set none.
const DefaultAccent = "#016770"

// Limits of a site's look.
const (
	MaxHeaderLinks = 4
	MaxFooterLinks = 8
	MaxSearches    = 4
)

// Look is the appearance of a site, independent of its theme.
type Look struct {
	Accent string `json:"accent,omitempty"` // #rrggbb; "": DefaultAccent
	Hero   Hero   `json:"hero,omitempty"`
	// Files of the site that are images; 0: none.
	LogoID        int64 `json:"logo,omitempty"`
	LogoDarkID    int64 `json:"logo_dark,omitempty"` // on dark pages; 0: LogoID
	FaviconID     int64 `json:"favicon,omitempty"`
	SocialImageID int64 `json:"social_image,omitempty"`
	// Lists that the home page leaves out.
	HidePopular bool `json:"hide_popular,omitempty"`
	HideRecent  bool `json:"hide_recent,omitempty"`
	// Texts maps canonical locales to the site's texts. A text missing in one language comes from the account's default
	// language, otherwise from the theme.
	Texts map[string]LookText `json:"texts,omitempty"`
}

// LookText holds the texts of a site in one language. "" and nil leave a text to the theme.
type LookText struct {
	Title       string   `json:"title,omitempty"`        // of the home page: "How can we help?"
	Line        string   `json:"line,omitempty"`         // below it
	Searches    []string `json:"searches,omitempty"`     // suggestions below the search field
	HeaderLinks []Link   `json:"header_links,omitempty"` // to other pages of the company
	FooterLinks []Link   `json:"footer_links,omitempty"`
	Copyright   string   `json:"copyright,omitempty"`    // shown after "©" and the year
	ContactText string   `json:"contact_text,omitempty"` // when and how messages are answered
}

// Link is a named address.
type Link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// IsZero reports whether all texts are unset.
func (t LookText) IsZero() bool {
	return t.Title == "" && t.Line == "" && t.Copyright == "" && t.ContactText == "" && len(t.Searches)+len(t.HeaderLinks)+len(t.FooterLinks) == 0
}

// LookInput changes the look of a site. Absent fields stay as they are; null clears one.
type LookInput struct {
	Accent                                       storage.Opt[string]
	Hero                                         storage.Opt[Hero]
	LogoID, LogoDarkID, FaviconID, SocialImageID storage.Opt[int64] // files of the site that are images
	ShowPopular, ShowRecent                      storage.Opt[bool]
	// Texts by language code. Languages that are not given stay as they are; null removes one.
	Texts map[string]storage.Opt[LookTextInput]
}

// LookTextInput changes the texts of one language. Absent fields stay as they are.
type LookTextInput struct {
	Title, Line, Copyright, ContactText storage.Opt[string]
	Searches                            storage.Opt[[]string]
	HeaderLinks, FooterLinks            storage.Opt[[]Link]
}

var accentPattern = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// apply validates in and applies it to l.
func (l *Look) apply(problems *fault.Collector, in LookInput) {
	l.Accent = strings.ToLower(strings.TrimSpace(in.Accent.Or(l.Accent)))
	problems.Check(l.Accent == "" || accentPattern.MatchString(l.Accent), "accent", "must be a color such as #016770")
	l.Hero = in.Hero.Or(l.Hero)
	problems.Check(slices.Contains([]Hero{"", HeroTint, HeroPlain, HeroAccent}, l.Hero), "hero", "must be tint, plain or accent")
	l.LogoID, l.LogoDarkID = in.LogoID.Or(l.LogoID), in.LogoDarkID.Or(l.LogoDarkID)
	l.FaviconID, l.SocialImageID = in.FaviconID.Or(l.FaviconID), in.SocialImageID.Or(l.SocialImageID)
	l.HidePopular, l.HideRecent = !in.ShowPopular.Or(!l.HidePopular), !in.ShowRecent.Or(!l.HideRecent)
	texts := maps.Clone(l.Texts)
	for _, code := range slices.Sorted(maps.Keys(in.Texts)) {
		field := "texts[" + code + "]"
		locale, ok := Locale(code)
		if !problems.Check(ok, field, "is not a language code (BCP 47)") {
			continue
		}
		t := texts[locale]
		given, set := in.Texts[code].Get()
		if set {
			t.apply(problems, field, given)
		}
		if texts == nil {
			texts = map[string]LookText{}
		}
		if texts[locale] = t; !set || t.IsZero() {
			delete(texts, locale)
		}
	}
	problems.Check(len(texts) <= MaxTranslations, "texts", fmt.Sprintf("has more than %d locales", MaxTranslations))
	if l.Texts = texts; len(texts) == 0 {
		l.Texts = nil
	}
}

func (t *LookText) apply(problems *fault.Collector, field string, in LookTextInput) {
	line := func(name, old string, given storage.Opt[string], limit int) string {
		text := plain.Line(given.Or(old))
		bounded(problems, field+"["+name+"]", text, limit)
		return text
	}
	visible(problems, field+"[title]", plain.Line(in.Title.Or("")))
	t.Title, t.Line = line("title", t.Title, in.Title, MaxTitle), line("line", t.Line, in.Line, MaxTitle)
	t.Copyright, t.ContactText = line("copyright", t.Copyright, in.Copyright, MaxTitle), line("contact_text", t.ContactText, in.ContactText, 1000)
	if searches, given := in.Searches.Get(); given || in.Searches.IsNull() {
		t.Searches = nil
		for _, s := range searches {
			if s = plain.Line(s); s != "" {
				bounded(problems, field+"[searches]", s, 100)
				t.Searches = append(t.Searches, s)
			}
		}
		problems.Check(len(t.Searches) <= MaxSearches, field+"[searches]", fmt.Sprintf("has more than %d entries", MaxSearches))
	}
	t.HeaderLinks = cleanLinks(problems, field+"[header_links]", t.HeaderLinks, in.HeaderLinks, MaxHeaderLinks)
	t.FooterLinks = cleanLinks(problems, field+"[footer_links]", t.FooterLinks, in.FooterLinks, MaxFooterLinks)
}

// cleanLinks returns the given links, or the old ones when none are given.
func cleanLinks(problems *fault.Collector, field string, old []Link, given storage.Opt[[]Link], most int) []Link {
	links, set := given.Get()
	if !set && !given.IsNull() {
		return old
	}
	var out []Link
	for i, l := range links {
		at := fmt.Sprintf("%s[%d]", field, i)
		l.Name, l.URL = plain.Line(l.Name), strings.TrimSpace(plain.Text(l.URL))
		required(problems, at+"[name]", l.Name, 100)
		problems.Check(linkable(l.URL), at+"[url]", "must be an address such as https://example.com/terms")
		out = append(out, l)
	}
	problems.Check(len(out) <= most, field, fmt.Sprintf("has more than %d entries", most))
	return out
}

// linkable reports whether links may use an address: a web or a mail address.
func linkable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > 2000 || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' }) {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Hostname() != ""
	case "mailto", "tel":
		return u.Opaque != ""
	}
	return false
}

// checkImages checks that the files of a changed look are images of the site.
func (in LookInput) checkImages(ctx context.Context, files storage.RowReader[File, storage.NoFilter]) error {
	var problems fault.Collector
	for _, image := range []struct {
		field string
		given storage.Opt[int64]
	}{{"logo_id", in.LogoID}, {"logo_dark_id", in.LogoDarkID}, {"favicon_id", in.FaviconID}, {"social_image_id", in.SocialImageID}} {
		id, given := image.given.Get()
		if !given || id == 0 {
			continue
		}
		f, err := files.Get(ctx, id)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		problems.Check(err == nil && strings.HasPrefix(f.ContentType, "image/"), image.field, "must be an image among the files of the site")
	}
	return problems.Err()
}

// text returns the texts for a locale, each from the closest language that has it.
func (l Look) text(fallback, locale string) LookText {
	var t LookText
	for _, code := range append(parents(locale), parents(fallback)...) {
		o := l.Texts[code]
		if t.Title == "" {
			t.Title = o.Title
		}
		if t.Line == "" {
			t.Line = o.Line
		}
		if t.Copyright == "" {
			t.Copyright = o.Copyright
		}
		if t.ContactText == "" {
			t.ContactText = o.ContactText
		}
		if t.Searches == nil {
			t.Searches = o.Searches
		}
		if t.HeaderLinks == nil {
			t.HeaderLinks = o.HeaderLinks
		}
		if t.FooterLinks == nil {
			t.FooterLinks = o.FooterLinks
		}
	}
	return t
}

// Text returns the texts of the site for a locale. A text missing in both that locale and the account's default language is
// left to the theme; a title or a line in any other language is not shown.
func (v *Visitor) Text(locale string) LookText {
	t := v.site.Look.text(v.site.DefaultLocale, locale)
	if own := v.site.Look.text(locale, locale); languageOf(locale) != languageOf(v.site.DefaultLocale) {
		t.Title, t.Line, t.Searches, t.ContactText = own.Title, own.Line, own.Searches, own.ContactText
	}
	return t
}

// checkIcon reports an unknown icon.
func checkIcon(problems *fault.Collector, icon string) {
	problems.Check(icon == "" || slices.Contains(theme.Icons(), icon), "icon", "must be one of "+strings.Join(theme.Icons(), ", "))
}
