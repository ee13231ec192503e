package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskReports looks at reports as a manager does, and at what readers said as an editor does.
func TestDeskReports(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.run("Pages", (*agents).reportPages)
	a.eachWay((*agents).deskReports)
	a.eachWay((*agents).deskReaders)
}

// reportPages checks the pages in every view, and in Arabic.
func (a *agents) reportPages() {
	check := newPageChecker(a.t)
	tab := a.member(browser.View{})
	for _, p := range []deskPage{
		{"reports", "/reports"}, {"reports-team", "/reports/team"}, {"reports-tags", "/reports/tags"}, {"reports-mailboxes", "/reports/mailboxes"},
		{"reports-hours", "/reports/hours"}, {"reports-empty", "/reports?period=own&from=2001-01-01&to=2001-01-02"}, {"reports-wrong", "/reports?period=own&from=x"},
		{"reports-rows", "/reports/first_reply/rows?measure=first_reply_median"}, {"feedback", "/help/1/feedback?show=all"}, {"readers", "/help/1/feedback/articles"},
	} {
		tab.Look(browser.View{})
		if status := tab.Open(a.at + p.path); status != http.StatusOK {
			a.t.Fatalf("%s: status %d", p.path, status)
		}
		browser.Eval[any](tab, "document.querySelectorAll('details.numbers').forEach(d => d.open = true)")
		eachView(a.t, tab, check, p.name)
	}
	tab.Look(browser.View{})
	browser.Eval[any](tab, "document.cookie = 'desk_language=ar; path=/'")
	for _, path := range []string{"", "/hours"} {
		tab.Open(a.at + "/reports" + path)
		a.expect("the direction", browser.Eval[string](tab, "document.documentElement.dir"), "rtl")
		const mirrored = `(() => { const all = [...document.querySelectorAll("svg.wide :is(rect.in, rect.l0)")]; return all[0].getBoundingClientRect().x > all.at(-1).getBoundingClientRect().x; })()`
		if !browser.Eval[bool](tab, mirrored) {
			a.t.Errorf("reports%s: time does not run from right to left", path)
		}
		look(a.t, tab, check, "reports-arabic"+strings.ReplaceAll(path, "/", "-"), allRules)
	}
	check.valid()
}

// deskReports follows a figure and a bar to three conversations, changes the period, takes the table along and prints.
func (a *agents) deskReports(tab *browser.Tab, scripts bool) {
	var tag struct{ ID int64 }
	a.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {"Reported " + strconv.FormatBool(scripts)}}, &tag)
	for n := range 3 {
		id := a.fresh(fmt.Sprintf("Reported %t %d", scripts, n))
		a.ok("PUT", fmt.Sprintf("/accounts/1/conversations/%d/tags", id), url.Values{"tags[]": {strconv.FormatInt(tag.ID, 10)}}, nil)
	}
	tab.Open(a.at + "/inbox/all")
	tab.Click(`.foot a[href$="/reports"]`)
	testenv.Eventually(a.t, "the reports", func() bool { return strings.HasSuffix(tab.Location(), "/reports") })
	of := fmt.Sprintf("/reports?period=7&tag=%d", tag.ID)
	testenv.Eventually(a.t, "three conversations are told", func() bool {
		tab.Open(a.at + of)
		return browser.Eval[bool](tab, `!!document.querySelector(".tiles")`) && strings.Contains(seen(tab, ".tiles li:first-child"), "3")
	})
	a.expect("the figure", seen(tab, ".tiles li:first-child .value"), "3")
	tab.Click(".tiles li:first-child .value")
	testenv.Eventually(a.t, "what it counts", func() bool { return seen(tab, "#main h1") == "New conversations: 3" })
	if rows := browser.Eval[int](tab, `document.querySelectorAll("tbody tr").length`); rows != 3 {
		a.t.Errorf("the figure of 3 leads to %d conversations", rows)
	}
	a.expect("a conversation", seen(tab, "tbody"), fmt.Sprintf("Reported %t 2", scripts))
	tab.Open(a.at + of)
	tab.Click("#volume svg.wide a rect.in")
	testenv.Eventually(a.t, "the bar of today", func() bool { return seen(tab, "#main h1") == "New conversations: 3" })
	if rows := browser.Eval[int](tab, `document.querySelectorAll("tbody tr").length`); rows != 3 {
		a.t.Errorf("the bar leads to %d conversations", rows)
	}
	tab.Click("tbody a")
	testenv.Eventually(a.t, "the conversation", func() bool { return strings.Contains(tab.Location(), "/c/") })

	tab.Open(a.at + of)
	tab.Click(".choosing .menu summary")
	tab.Click(`.choosing .menu a[href*="period=90"]`)
	testenv.Eventually(a.t, "the other period", func() bool { return strings.Contains(seen(tab, ".choosing summary"), "Last 90 days") })
	a.expect("with the same filter", tab.Location(), fmt.Sprintf("tag=%d", tag.ID))
	a.expect("the same conversations", seen(tab, ".tiles li:first-child .value"), "3")

	lines := a.download(tab, "csv")
	table, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(lines, "\uFEFF"))).ReadAll()
	if err != nil || len(table) != 4 || table[0][0] != "conversation_id" {
		a.t.Errorf("the table: %v, %q", err, lines)
	}
	if n := strings.Count(a.download(tab, "jsonl"), "\n"); n != 3 {
		a.t.Errorf("%d JSON lines", n)
	}

	tab.Look(browser.View{Print: true, Dark: true, NoScript: !scripts})
	a.expect("what is printed", seen(tab, ".sheet-head"), "Halden")
	for _, gone := range []string{"#sidebar", "#tabs", ".bar", ".choosing", ".numbers"} {
		if browser.Eval[bool](tab, fmt.Sprintf(`document.querySelector(%q)?.checkVisibility() ?? false`, gone)) {
			a.t.Errorf("%s is printed", gone)
		}
	}
	if paper := browser.Eval[string](tab, "getComputedStyle(document.body).backgroundColor"); paper != "rgb(255, 255, 255)" {
		a.t.Errorf("the paper is %s", paper)
	}
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "reports-print")
}

// download returns the file behind a link of the page, which the browser's member may see.
func (a *agents) download(tab *browser.Tab, ending string) string {
	a.t.Helper()
	const get = `(() => { const r = new XMLHttpRequest(); r.open("GET", document.querySelector('a[href*="conversations.%s"]').href, false); r.send(); return r.status + " " + r.responseText; })()`
	status, text, _ := strings.Cut(browser.Eval[string](tab, fmt.Sprintf(get, ending)), " ")
	if status != "200" {
		a.t.Errorf("%s: status %s", ending, status)
	}
	return text
}

// deskReaders marks what a reader said as done, and opens it again.
func (a *agents) deskReaders(tab *browser.Tab, scripts bool) {
	text := "Which of the two valves " + strconv.FormatBool(scripts)
	res, err := http.PostForm("http://"+a.http+"/api/v1/site/1/article-feedbacks", url.Values{"article_id": {"1"}, "feedback": {text}})
	if err != nil {
		a.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body) // the status says it
	if res.Body.Close(); res.StatusCode != http.StatusCreated {
		a.t.Fatalf("feedback: status %d", res.StatusCode)
	}
	tab.Open(a.at + "/help/1")
	tab.Click(`.bar a[href$="/feedback"]`)
	testenv.Eventually(a.t, "what the reader said", func() bool { return strings.Contains(seen(tab, ".said li:first-child"), text) })
	tab.Click(".said li:first-child button")
	testenv.Eventually(a.t, "it is done", func() bool { return !strings.Contains(seen(tab, ".said"), text) })
	tab.Open(a.at + "/help/1/feedback?show=done")
	a.expect("what is done", seen(tab, ".said li:first-child"), text)
	a.expect("when", seen(tab, ".said li:first-child .state"), "Done")
	tab.Click(".said li:first-child button")
	testenv.Eventually(a.t, "it is no longer done", func() bool { return !strings.Contains(seen(tab, "#main"), text) })
	tab.Open(a.at + "/help/1/feedback?article=1")
	a.expect("what is open again", seen(tab, ".said li:first-child"), text)
	tab.Open(a.at + "/help/1/feedback/articles")
	a.expect("what readers read", seen(tab, "tbody tr:first-child"), "%")
	if browser.Eval[bool](tab, `(() => { const n = [...document.querySelectorAll("tbody td:nth-child(2)")].map(c => parseInt(c.textContent)); return n.some((v, i) => i > 0 && v > n[i - 1]); })()`) {
		a.t.Error("articles are not in the order of their views")
	}
}
