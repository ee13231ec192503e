package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// helpCentre is the demo's help centre as readers see it, with additional sites that the demo does not need.
type helpCentre struct {
	*demoProcess
	*browser.Browser
	articles map[string]demoArticle // by title
	team     string                 // a private site
	sunny    string                 // in loud colours
	empty    string
	broken   string // its theme cannot be shown
}

type demoArticle struct {
	ID    int64
	Title string
	URL   string
}

// helpCentre reads the help centre in a browser. One server and one browser do for all.
func (d *demoProcess) helpCentre(t *testing.T) {
	process := *d
	process.t = t
	c := &helpCentre{demoProcess: &process, Browser: browser.Start(t), articles: map[string]demoArticle{}}
	for _, a := range all[demoArticle](&d.process, "/sites/1/articles") {
		c.articles[a.Title] = a
	}
	c.asks()
	c.team, _ = c.another("Roastery", url.Values{"visibility": {"private"}, "path": {"team"}})
	c.sunny, _ = c.another("Sonnenhof", url.Values{"path": {"sunny"}, "accent": {"#ffc53d"}, "hero": {"accent"}})
	c.empty, _ = c.another("No notifications yet", url.Values{"path": {"empty"}})
	var id int64
	c.broken, id = c.another("Patchwork", url.Values{"path": {"broken"}})
	c.breakTheme(id)
	c.run("Checks", (*helpCentre).checks)
	c.run("Search", (*helpCentre).search)
	c.run("Languages", (*helpCentre).languages)
	c.run("Contact", (*helpCentre).contact)
	c.run("Feedback", (*helpCentre).feedback)
	c.run("PrivateSite", (*helpCentre).privateSite)
	c.run("BrokenTheme", (*helpCentre).brokenTheme)
	c.run("Pages", (*helpCentre).eachPage)
}

// another makes a site, and returns its address and id. All but the empty one get something to read.
func (c *helpCentre) another(name string, form url.Values) (address string, id int64) {
	c.t.Helper()
	form.Set("account_id", "1")
	form.Set("name", name)
	var site object[struct {
		ID  int64
		URL string
	}]
	c.ok("POST", "/sites", form, &site)
	at := fmt.Sprintf("/sites/%d", site.Data.ID)
	for i, topic := range []string{"Visiting", "People", "Shop"} {
		if form.Get("path") == "empty" {
			break
		}
		var collection object[struct{ ID int64 }]
		c.ok("POST", at+"/collections", url.Values{
			"source_locale": {"en"}, "translations[en][name]": {topic}, "icon": {[]string{"compass", "people", "box"}[i]},
			"translations[en][summary]": {"What there is to know about it, from the first day to the last."},
		}, &collection)
		c.ok("POST", at+"/articles", url.Values{
			"source_locale": {"en"}, "collection_id": {fmt.Sprint(collection.Data.ID)}, "translations[en][title]": {topic + " in winter"},
			"translations[en][content]": {"<p>Bring boots.</p>"},
		}, nil)
	}
	return site.Data.URL, site.Data.ID
}

// breakTheme gives a site a theme that compiles and cannot be shown.
func (c *helpCentre) breakTheme(site int64) {
	c.t.Helper()
	themes := fmt.Sprintf("/sites/%d/themes", site)
	var made object[struct{ ID int64 }]
	c.ok("POST", themes, url.Values{"name": {"Autumn"}}, &made)
	theme := fmt.Sprintf("%s/%d", themes, made.Data.ID)
	template := base64.StdEncoding.EncodeToString([]byte("<h1>Autumn</h1>\n<p>{{(index .Collections 99).Name}}</p>\n"))
	c.ok("PUT", theme+"/files/templates/home.html", url.Values{"content": {template}}, nil)
	c.ok("POST", theme+"/activate", nil, nil)
}

// run runs a part of the test as one of its own.
func (c *helpCentre) run(name string, part func(c *helpCentre)) {
	c.t.Helper()
	c.t.Run(name, func(t *testing.T) {
		own, process := *c, *c.demoProcess
		own.demoProcess, process.t = &process, t
		part(&own)
	})
}

// eachWay runs a part with scripts and without: everything works in both ways.
func (c *helpCentre) eachWay(part func(c *helpCentre, tab *browser.Tab, scripts bool)) {
	c.t.Helper()
	c.run("Scripts", func(c *helpCentre) { part(c, c.Tab(c.t, browser.View{}), true) })
	c.run("NoScripts", func(c *helpCentre) { part(c, c.Tab(c.t, browser.View{NoScript: true}), false) })
}

// views are the ways that each page is looked at in.
var views = []struct {
	name string
	browser.View
}{
	{"light", browser.View{}}, {"dark", browser.View{Dark: true}},
	{"phone-light", browser.View{Phone: true}}, {"phone-dark", browser.View{Phone: true, Dark: true}},
}

// eachPage checks every kind of page in every view. With HELPWRIGHT_TEST_SCREENS it saves pictures of all in that folder.
func (c *helpCentre) eachPage() {
	folder := os.Getenv(testenv.EnvScreens)
	reader, member := c.Tab(c.t, browser.View{}), c.Tab(c.t, browser.View{})
	c.signIn(member, c.broken)
	check := newPageChecker(c.t)
	for _, p := range c.pages() {
		tab := reader
		if p.member {
			tab = member
		}
		for i, v := range views {
			tab.Look(v.View)
			if i == 0 || v.Phone != views[i-1].Phone {
				p.show(tab, v.Phone)
			}
			check.accessible(tab, p.name+", "+v.name, rulesOf(v.View))
			if i == 0 {
				check.collect(tab, p.name)
			}
			if folder != "" {
				tab.Picture(filepath.Join(folder, p.name+"-"+v.name+".png"), !p.part)
			}
		}
	}
	check.valid()
	if folder != "" {
		reader.Look(browser.View{})
		reader.Open(c.site + "/en")
		reader.Picture(filepath.Join(folder, "help-centre.png"), false) // the README's
	}
}

// asks has the contact form ask a question of each type.
func (c *helpCentre) asks() {
	form := url.Values{}
	for _, kind := range []string{"text", "number", "boolean", "date", "datetime", "select", "multiselect", "url"} {
		in := url.Values{"key": {"q_" + kind}, "label": {"Question: " + kind}, "applies_to": {"conversation"}, "type": {kind}, "customer_visible": {"true"}}
		if strings.HasSuffix(kind, "select") {
			in["options[0][label]"], in["options[1][label]"], in["options[2][label]"] = []string{"Halden One"}, []string{"Halden Duo"}, []string{"آلة أخرى"}
		}
		c.ok("POST", "/accounts/1/fields", in, nil)
		form.Add("form_fields[]", "q_"+kind)
	}
	c.ok("PUT", "/accounts/1/mailboxes/1", form, nil)
}
