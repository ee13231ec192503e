package main

import (
	"fmt"
	"net/url"

	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// readerPage is a kind of page that readers see.
type readerPage struct {
	name    string
	address string
	act     func(tab *browser.Tab) // the reader's first action there
	member  bool                   // only members see it
	phone   bool                   // only phones have it
	part    bool                   // the picture shows the visible part only, as something floats there
}

func (p readerPage) show(tab *browser.Tab, phone bool) {
	tab.Open(p.address)
	if p.act != nil && (phone || !p.phone) {
		p.act(tab)
	}
}

// in is the address of an article in a language.
func (c *helpCentre) in(locale, title string) string {
	return fmt.Sprintf("%s/%s/articles/%d", c.site, locale, c.articles[title].ID)
}

// pages are all kinds of pages.
func (c *helpCentre) pages() []readerPage {
	en, ar := c.site+"/en", c.site+"/ar"
	return []readerPage{
		{name: "home", address: en},
		{name: "home-arabic", address: ar},
		{name: "home-sunny", address: c.sunny + "/en"},
		{name: "home-empty", address: c.empty + "/en"},
		{name: "typing", address: en, act: typing("descal"), part: true},
		{name: "typing-arabic", address: ar, act: typing("الماء"), part: true},
		{name: "menu", address: en, act: func(tab *browser.Tab) { tab.Click(".hw-menu summary") }, phone: true, part: true},
		{name: "collection", address: en + "/collections/3"},
		{name: "collection-arabic", address: ar + "/collections/3"},
		{name: "category", address: en + "/categories/1"},
		{name: "article", address: c.in("en", "Descale the machine")},
		{name: "article-arabic", address: c.in("ar", "Descale the machine")},
		{name: "article-code", address: c.in("en", "The local API")},
		{name: "article-table", address: c.in("en", "Find out how hard your water is")},
		{name: "article-fallback", address: c.in("ar", "Home Assistant")},
		{name: "article-missing", address: c.in("en", "Error codes"), act: func(tab *browser.Tab) {
			tab.Click(".hw-helpful [value=negative]")
			tab.Wait("#hw-feedback")
		}},
		{name: "search", address: en + "/search?query=water"},
		{name: "search-none", address: en + "/search?query=zebra"},
		{name: "search-arabic", address: ar + "/search?query=" + url.QueryEscape("الماء")},
		{name: "contact", address: en + "/contact"},
		{name: "contact-arabic", address: ar + "/contact"},
		{name: "contact-suggestions", address: en + "/contact", act: func(tab *browser.Tab) {
			tab.Fill("#hw-about", "Descale")
			tab.Press(browser.Next)
			tab.Wait(".hw-suggested a")
		}},
		{name: "contact-errors", address: en + "/contact", act: func(tab *browser.Tab) {
			tab.Fill("#hw-message", "Hello")
			tab.Fill("#hw-email", "maja")
			tab.Follow("[data-hw-contact] .hw-main-button")
		}},
		{name: "not-found", address: en + "/nowhere"},
		{name: "sign-in", address: c.team + "/en"},
		{name: "theme-broken", address: c.broken + "/en", member: true},
		{name: "guide", address: "http://" + c.http + "/docs/themes"},
	}
}

func typing(words string) func(tab *browser.Tab) {
	return func(tab *browser.Tab) {
		tab.Fill(".hw-search input", words)
		tab.Wait(".hw-options")
	}
}

// signIn signs the demo's owner in on the pages of a site.
func (c *helpCentre) signIn(tab *browser.Tab, site string) {
	tab.Open(site + "/-/sign-in")
	tab.Fill("#hw-email", c.email)
	tab.Fill("#hw-password", c.password)
	tab.Follow(".hw-door button")
}
