package api

import (
	"cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// siteLook has the settings of a site's appearance, in addition to the fields of the specification.
type siteLook struct {
	Accent        string              `json:"accent" example:"#016770" description:"Accent color of the site. The palette is derived from it."`
	Hero          string              `json:"hero" enum:"tint,plain,accent" description:"Background of the home page's hero: a tint of the accent, plain, or the accent itself."`
	LogoID        *int64              `json:"logo_id" description:"File of the site. Null: the name alone."`
	LogoDarkID    *int64              `json:"logo_dark_id" description:"File of the site for dark mode. Null: the logo."`
	FaviconID     *int64              `json:"favicon_id" description:"File of the site."`
	SocialImageID *int64              `json:"social_image_id" description:"File of the site used as preview image for shared links."`
	ShowPopular   bool                `json:"show_popular" description:"Whether the home page lists the most-read articles."`
	ShowRecent    bool                `json:"show_recent" description:"Whether the home page lists recently changed articles."`
	Texts         map[string]siteText `json:"texts" description:"Texts by language code. Missing ones fall back to the account's default language, then to the theme."`
}

// siteText are the texts of a site in a language; empty ones are left to the theme.
type siteText struct {
	Title       string     `json:"title" description:"Title of the home page."`
	Line        string     `json:"line" description:"Text below the home page's title."`
	Searches    []string   `json:"searches" description:"Search suggestions below the search field."`
	HeaderLinks []siteLink `json:"header_links"`
	FooterLinks []siteLink `json:"footer_links"`
	Copyright   string     `json:"copyright" description:"Text after © and the year."`
	ContactText string     `json:"contact_text" description:"When and how messages are answered."`
}

type siteLink struct {
	Name string `json:"name" required:"true" maxLength:"100" example:"Status"`
	URL  string `json:"url" required:"true" example:"https://status.example.com/"`
}

type siteLookInput struct {
	Accent        storage.Opt[string]                   `json:"accent" example:"#016770" description:"Null: the default icon."`
	Hero          storage.Opt[kb.Hero]                  `json:"hero" enum:"tint,plain,accent"`
	LogoID        storage.Opt[int64]                    `json:"logo_id" description:"Id of an image among the site's files, like the others here."`
	LogoDarkID    storage.Opt[int64]                    `json:"logo_dark_id"`
	FaviconID     storage.Opt[int64]                    `json:"favicon_id"`
	SocialImageID storage.Opt[int64]                    `json:"social_image_id"`
	ShowPopular   storage.Opt[bool]                     `json:"show_popular"`
	ShowRecent    storage.Opt[bool]                     `json:"show_recent"`
	Texts         map[string]storage.Opt[siteTextInput] `json:"texts" description:"Texts by language code. Null removes a language; languages not listed stay unchanged."`
}

type siteTextInput struct {
	Title       storage.Opt[string]     `json:"title" maxLength:"300" example:"How can we help?"`
	Line        storage.Opt[string]     `json:"line" maxLength:"300"`
	Searches    storage.Opt[[]string]   `json:"searches" maxItems:"4"`
	HeaderLinks storage.Opt[[]siteLink] `json:"header_links" maxItems:"4"`
	FooterLinks storage.Opt[[]siteLink] `json:"footer_links" maxItems:"8"`
	Copyright   storage.Opt[string]     `json:"copyright" maxLength:"300"`
	ContactText storage.Opt[string]     `json:"contact_text" maxLength:"1000"`
}

func (in siteLookInput) look() kb.LookInput {
	out := kb.LookInput{
		Accent: in.Accent, Hero: in.Hero, LogoID: in.LogoID, LogoDarkID: in.LogoDarkID, FaviconID: in.FaviconID, SocialImageID: in.SocialImageID,
		ShowPopular: in.ShowPopular, ShowRecent: in.ShowRecent, Texts: map[string]storage.Opt[kb.LookTextInput]{},
	}
	for locale, given := range in.Texts {
		out.Texts[locale] = storage.Null[kb.LookTextInput]()
		if t, set := given.Get(); set {
			out.Texts[locale] = storage.Some(kb.LookTextInput{
				Title: t.Title, Line: t.Line, Copyright: t.Copyright, ContactText: t.ContactText, Searches: t.Searches,
				HeaderLinks: givenLinks(t.HeaderLinks), FooterLinks: givenLinks(t.FooterLinks),
			})
		}
	}
	return out
}

func givenLinks(in storage.Opt[[]siteLink]) storage.Opt[[]kb.Link] {
	links, given := in.Get()
	switch {
	case given:
		out := make([]kb.Link, len(links))
		for i, l := range links {
			out[i] = kb.Link(l)
		}
		return storage.Some(out)
	case in.IsNull():
		return storage.Null[[]kb.Link]()
	}
	return storage.Opt[[]kb.Link]{}
}

func showLook(l kb.Look) siteLook {
	out := siteLook{
		Accent: cmp.Or(l.Accent, kb.DefaultAccent), Hero: string(cmp.Or(l.Hero, kb.HeroTint)), LogoID: idOrNull(l.LogoID), LogoDarkID: idOrNull(l.LogoDarkID),
		FaviconID: idOrNull(l.FaviconID), SocialImageID: idOrNull(l.SocialImageID), ShowPopular: !l.HidePopular, ShowRecent: !l.HideRecent,
		Texts: map[string]siteText{},
	}
	for locale, t := range l.Texts {
		out.Texts[locale] = siteText{
			Title: t.Title, Line: t.Line, Copyright: t.Copyright, ContactText: t.ContactText, Searches: append([]string{}, t.Searches...),
			HeaderLinks: showLinks(t.HeaderLinks), FooterLinks: showLinks(t.FooterLinks),
		}
	}
	return out
}

func showLinks(links []kb.Link) []siteLink {
	out := make([]siteLink, len(links))
	for i, l := range links {
		out[i] = siteLink(l)
	}
	return out
}
