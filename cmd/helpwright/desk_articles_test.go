package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskArticles writes articles as agents do: nothing that was written is lost.
func TestDeskArticles(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.run("New", (*agents).beginArticle)
	a.run("Crash", (*agents).crashWriting)
	a.run("Colleague", (*agents).crossColleague)
	a.run("Discard", (*agents).discardArticle)
	a.run("Kinds", (*agents).translateKinds)
}

const noNetwork = `window.there ??= window.fetch; window.fetch = () => Promise.reject(new TypeError("no network")); 0`

// typeInto types into a field of the article.
func typeInto(tab *browser.Tab, name, text string) {
	tab.Wait(".editing.ready")
	tab.Click(fmt.Sprintf("#article [name=%s]", name))
	tab.Press(text)
}

// opensArticle opens the page of an article, whose script moves what lies below its tools.
func (a *agents) opensArticle(tab *browser.Tab, scripts bool, path string) {
	a.t.Helper()
	tab.Open(a.at + path)
	if scripts {
		tab.Wait(".editing.ready")
	}
}

func valueOf(tab *browser.Tab, name string) string {
	return browser.Eval[string](tab, fmt.Sprintf("document.querySelector('#article [name=%s]')?.value || ''", name))
}

// draftOf returns the draft of an article, in its source language.
func (a *agents) draftOf(id string) (title, content string) {
	a.t.Helper()
	var made object[struct{ Title, Content string }]
	a.ok("GET", "/sites/1/articles/"+id+"/draft", nil, &made)
	return made.Data.Title, made.Data.Content
}

var articlePage = regexp.MustCompile(`/help/1/a/([0-9]+)$`)

// begun waits until a new article is saved, and returns its id.
func (a *agents) begun(tab *browser.Tab) string {
	a.t.Helper()
	testenv.Eventually(a.t, "the new article is saved", func() bool { return articlePage.MatchString(tab.Location()) })
	return articlePage.FindStringSubmatch(tab.Location())[1]
}

// beginArticle writes a new article: it is saved while it is written, and is there after the page was left.
func (a *agents) beginArticle() {
	tab := a.member(browser.View{})
	tab.Open(a.at + "/help/1/new")
	typeInto(tab, "text", "Let it cool down.")
	id := a.begun(tab)
	testenv.Eventually(a.t, "the head is the article's", func() bool { return strings.Contains(seen(tab, ".editing .bar"), "Not published") })
	a.expect("the head", seen(tab, "#saved"), "Saved")
	typeInto(tab, "name", "Cooling down")
	testenv.Eventually(a.t, "the title is saved", func() bool { title, _ := a.draftOf(id); return title == "Cooling down" })
	eachView(a.t, tab, newPageChecker(a.t), "article-new-saved")
	browser.Eval[any](tab, "document.documentElement.dir = 'ltr'")
	typeInto(tab, "summary", "When")
	tab.Click(`#sidebar a[href$="/help"]`) // within the second after which it would be saved
	tab.Wait(".articles")
	testenv.Eventually(a.t, "it is among the drafts or in its collection", func() bool {
		tab.Open(a.at + "/help/1/a/" + id)
		return valueOf(tab, "summary") == "When" && valueOf(tab, "text") == "Let it cool down."
	})
	if public := a.read("/help/en/articles/" + id); strings.Contains(public, "cool down") {
		a.t.Error("readers see what is not published")
	}
	var made object[struct{ Revision int }]
	a.ok("GET", "/sites/1/articles/"+id, nil, &made)
	if made.Data.Revision != 1 {
		a.t.Errorf("revision %d", made.Data.Revision)
	}
}

// read returns a page of the help centre as a stranger sees it.
func (a *agents) read(path string) string {
	a.t.Helper()
	tab := a.Tab(a.t, browser.View{})
	tab.Open("http://" + a.http + path)
	return tab.Text("body")
}

// crashWriting leaves the page while the server does not answer: a new article and a draft are there again.
func (a *agents) crashWriting() {
	tab := a.member(browser.View{})
	tab.Open(a.at + "/help/1/new")
	browser.Eval[any](tab, noNetwork)
	typeInto(tab, "text", "Kept in the browser.")
	testenv.Eventually(a.t, "the page says where it is", func() bool { return strings.Contains(seen(tab, "#saved"), "Saved here") })
	tab.Open(a.at + "/help/1/new")
	testenv.Eventually(a.t, "the text is there again", func() bool {
		return strings.Contains(browser.Eval[string](tab, `document.querySelector("#article [name=text]")?.value || ""`), "Kept in the browser.")
	})
	id := a.begun(tab)
	testenv.Eventually(a.t, "it is saved", func() bool { _, content := a.draftOf(id); return strings.Contains(content, "Kept in the browser.") })
	other := a.Tab(a.t, browser.View{})
	a.signIn(other)
	other.Open(a.at + "/help/1/new")
	if got := valueOf(other, "text"); got != "" {
		a.t.Errorf("another new article begins with %q", got)
	}

	tab.Open(a.at + "/help/1/a/2")
	browser.Eval[any](tab, noNetwork)
	typeInto(tab, "summary", "Offline. ")
	testenv.Eventually(a.t, "the page says where it is", func() bool { return strings.Contains(seen(tab, "#saved"), "Saved here") })
	tab.Open(a.at + "/help/1/a/2")
	testenv.Eventually(a.t, "the summary is saved", func() bool {
		return strings.Contains(valueOf(tab, "summary"), "Offline. ") && strings.Contains(seen(tab, "#tag"), "Draft")
	})
}

// crossColleague has a colleague save while the server is out of reach: the page shows both texts, until one is chosen.
func (a *agents) crossColleague() {
	address := a.at + "/help/1/a/3"
	tab := a.member(browser.View{})
	mine := func(text string) {
		tab.Open(address)
		browser.Eval[any](tab, noNetwork)
		typeInto(tab, "name", text)
		testenv.Eventually(a.t, "the page says where it is", func() bool { return strings.Contains(seen(tab, "#saved"), "Saved here") })
	}
	theirs := func(title string) {
		a.ok("PUT", "/sites/1/articles/3/draft", url.Values{"source_locale": {"en"}, "collection_id": {"1"}, "translations[en][title]": {title}}, nil)
	}
	mine(" (mine)")
	theirs("By a colleague")
	tab.Open(address)
	tab.Wait("[data-forget]")
	tab.Problems() // the status 409
	a.expect("the page", seen(tab, "#main"), "Someone else saved this article")
	a.expect("the page", seen(tab, "#main .shown h2"), "By a colleague")
	a.expect("mine", valueOf(tab, "name"), "(mine)")
	eachView(a.t, tab, newPageChecker(a.t), "article-conflict")
	typeInto(tab, "name", " too")
	tab.Open(address) // the page is left again, before anything was chosen
	tab.Wait("[data-forget]")
	tab.Problems() // the status 409
	a.expect("mine", valueOf(tab, "name"), "(mine)")
	a.expect("mine", valueOf(tab, "name"), " too")
	tab.Click("[data-forget]")
	testenv.Eventually(a.t, "theirs is there", func() bool { return valueOf(tab, "name") == "By a colleague" })
	tab.Open(address)
	tab.Wait("#tag")
	if got := valueOf(tab, "name"); got != "By a colleague" {
		a.t.Errorf("the title is %q", got)
	}

	mine(" (mine again)")
	theirs("By another colleague")
	tab.Open(address)
	tab.Wait("[data-forget]")
	tab.Problems() // the status 409
	tab.Click(".pane.text .pane-head [name=then]")
	testenv.Eventually(a.t, "mine is saved", func() bool { title, _ := a.draftOf("3"); return strings.Contains(title, "(mine again)") })
	tab.Wait("#tag")
	if got := valueOf(tab, "name"); !strings.Contains(got, "(mine again)") {
		a.t.Errorf("the title is %q", got)
	}
}

// discardArticle discards a draft and a new article, and undoes both.
func (a *agents) discardArticle() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		a.ok("PUT", "/sites/1/articles/4/draft", url.Values{"source_locale": {"en"}, "collection_id": {"1"}, "translations[en][title]": {"A better title"}}, nil)
		a.opensArticle(tab, scripts, "/help/1/a/4")
		tab.Click(".bar .menu summary")
		pressButton(tab, scripts, "[data-discard] button")
		testenv.Eventually(a.t, "the draft is gone", func() bool { title, _ := a.draftOf("4"); return title != "A better title" })
		tab.Wait(".toast button")
		pressButton(tab, scripts, ".toast button")
		testenv.Eventually(a.t, "the draft is back", func() bool { title, _ := a.draftOf("4"); return title == "A better title" })
		testenv.Eventually(a.t, "the page has it", func() bool { return valueOf(tab, "name") == "A better title" })
	})
	tab := a.member(browser.View{})
	tab.Open(a.at + "/help/1/new")
	typeInto(tab, "text", "Never mind.")
	a.begun(tab)
	testenv.Eventually(a.t, "the head is the article's", func() bool { return seen(tab, "[data-discard]") != "" })
	tab.Click(".bar .menu summary")
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "article-more")
	tab.Click("[data-discard] button")
	tab.Wait(".articles")
	tab.Wait(".toast button")
	tab.Click(".toast button")
	testenv.Eventually(a.t, "the article is back", func() bool { return valueOf(tab, "text") == "Never mind." })
}

// translateKinds translates a text with a callout and a picture, in the page beside its source.
func (a *agents) translateKinds() {
	var made object[struct{ ID int64 }]
	a.ok("POST", "/sites/1/articles", url.Values{
		"source_locale": {"en"}, "collection_id": {"1"}, "translations[en][title]": {"Kinds"},
		"translations[en][markdown]": {"## Before you begin\n\n> [!WARNING]\n> Unplug it.\n\n![The handle](/files/1/abcdefgh/a.png)\n\n| Part | Time |\n| --- | --- |\n| Seal | 5 min |"},
	}, &made)
	tab := a.member(browser.View{})
	a.opensArticle(tab, true, fmt.Sprintf("/help/1/a/%d?to=de", made.Data.ID))
	unit := func(n int) string {
		return fmt.Sprintf(`document.querySelectorAll("#article [name=unit]")[%d].value`, n)
	}
	a.expect("the picture", browser.Eval[string](tab, unit(2)), "![The handle]")
	for n, text := range []string{"Zuerst", "Stecker ziehen."} {
		tab.Click(fmt.Sprintf("#u%d textarea", n+2))
		tab.Press(text)
	}
	tab.Click("#u5 textarea")
	tab.Click("#u5 .original")
	a.expect("the table", browser.Eval[string](tab, unit(3)), "| Part | Time |")
	eachView(a.t, tab, newPageChecker(a.t), "article-kinds")
	testenv.Eventually(a.t, "the translation has the same blocks", func() bool {
		var draft object[struct {
			Translations map[string]struct{ Markdown string }
		}]
		a.ok("GET", fmt.Sprintf("/sites/1/articles/%d/draft", made.Data.ID), nil, &draft)
		de := draft.Data.Translations["de"].Markdown
		return strings.HasPrefix(de, "## Zuerst\n\n> [!WARNING]\n> Stecker ziehen.\n\n![The handle](") && strings.HasSuffix(de, "| Seal | 5 min |")
	})
	tab.Problems() // there is no such picture
}
