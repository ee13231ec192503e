package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

func (a *agents) expect(what, got, want string) {
	a.t.Helper()
	if !strings.Contains(got, want) {
		a.t.Errorf("%s: %q, want %q in it", what, got, want)
	}
}

// seen is the text of an element that may be replaced at any time.
func seen(tab *browser.Tab, selector string) string {
	return browser.Eval[string](tab, fmt.Sprintf("document.querySelector(%q)?.textContent || ''", selector))
}

// write writes into the composer.
func (a *agents) write(tab *browser.Tab, scripts bool, text string) {
	a.t.Helper()
	if !scripts {
		tab.Fill(".composer textarea", text)
		return
	}
	tab.Click(".editor")
	tab.Press(text)
}

// fresh is a conversation that a customer has just begun.
func (a *agents) fresh(subject string) int64 {
	a.t.Helper()
	var made object[struct{ ID int64 }]
	a.ok("POST", "/accounts/1/conversations", url.Values{
		"channel": {"email"}, "to": {"nora@example.com"}, "subject": {subject},
		"interactions[0][type]": {"customer"}, "interactions[0][body]": {"<p>Is it broken?</p>"},
	}, &made)
	return made.Data.ID
}

// bodies returns the messages of a conversation, with their kinds and statuses.
func (a *agents) bodies(id int64) []string {
	a.t.Helper()
	var out []string
	for _, i := range all[struct{ Type, Status, Body string }](&a.process, fmt.Sprintf("/accounts/1/conversations/%d/interactions", id)) {
		out = append(out, strings.TrimSpace(i.Type+" "+i.Status)+": "+strings.Join(strings.Fields(i.Body), " "))
	}
	return out
}

// answer answers, calls the answer back, answers again with a note, and closes.
func (a *agents) answer() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The lever")
		tab.Open(fmt.Sprintf("%s/c/%d?in=all", a.at, id))
		a.expect("the thread", tab.Text("#thread"), "Is it broken?")
		a.write(tab, scripts, "It is not.")
		pressButton(tab, scripts, "[data-send]")
		tab.Wait(".toast")
		a.expect("the toast", tab.Text(".toast"), "Sending reply in")
		a.expect("the thread", tab.Text("#thread"), "It is not.")
		pressButton(tab, scripts, ".toast button")
		testenv.Eventually(a.t, "the toast says so", func() bool { return strings.Contains(seen(tab, ".toast"), "a draft again") })
		testenv.Eventually(a.t, "the answer is a draft again", func() bool {
			said := a.bodies(id)
			return len(said) == 2 && strings.HasPrefix(said[1], "user draft:")
		})
		tab.Open(fmt.Sprintf("%s/c/%d?in=mine", a.at, id))
		if scripts {
			a.expect("the draft", tab.Text(".editor"), "It is not.")
		} else {
			a.expect("the draft", browser.Eval[string](tab, "document.querySelector('.composer textarea').value"), "It is not.")
		}
		if !scripts {
			pressButton(tab, scripts, "[data-send]")
		} else {
			tab.Click(".split summary")
			tab.Click(".split [value=close]")
			testenv.Eventually(a.t, "the conversation is closed", func() bool { return a.status(id) == "closed" })
		}
		testenv.Eventually(a.t, "the answer is posted", func() bool {
			said := a.bodies(id)
			return len(said) == 2 && strings.HasPrefix(said[1], "user posted:")
		})
	})
}

// pressButton clicks on a button that sends a form: without scripts a page is loaded.
func pressButton(tab *browser.Tab, scripts bool, selector string) {
	if scripts {
		tab.Click(selector)
		return
	}
	tab.Follow(selector)
}

func (a *agents) status(id int64) string {
	a.t.Helper()
	var c object[struct{ Status string }]
	a.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", id), nil, &c)
	return c.Data.Status
}

// draft is saved while it is written, and is there in another window.
func (a *agents) draft() {
	id := a.fresh("The hose")
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(tab, true, "Try the other")
	testenv.Eventually(a.t, "the draft is saved", func() bool { return len(a.bodies(id)) == 2 })
	tab.Press(" end.")
	testenv.Eventually(a.t, "the draft has all", func() bool {
		said := a.bodies(id)
		return len(said) == 2 && strings.Contains(said[1], "Try the other end.")
	})
	a.expect("the composer", tab.Text(".saved"), "Draft saved")
	other := a.member(browser.View{})
	other.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.expect("the other window", other.Text(".editor"), "Try the other end.")
}

// kinds keeps a note that is half written a note, and a reply a reply: each has a draft of its own.
func (a *agents) kinds() {
	id := a.fresh("The fuse")
	at := fmt.Sprintf("%s/c/%d", a.at, id)
	kept := func(want ...string) {
		a.t.Helper()
		testenv.Eventually(a.t, strings.Join(want, ", "), func() bool {
			said := a.bodies(id)[1:]
			return len(said) == len(want) && !slices.ContainsFunc(want, func(w string) bool {
				return !slices.ContainsFunc(said, func(s string) bool {
					kind, text, _ := strings.Cut(w, ": ")
					return strings.HasPrefix(s, kind+":") && strings.Contains(s, text)
				})
			})
		})
	}
	tab := a.member(browser.View{})
	shows := func(kind, text string) {
		a.t.Helper()
		got := browser.Eval[string](tab, "document.querySelector('.composer [name=kind]:checked').value + ': ' + document.querySelector('.editor').textContent.trim()")
		if want := kind + ": " + text; got != want {
			a.t.Errorf("the composer shows %q, want %q", got, want)
		}
	}
	const note, reply = ".kinds [data-key=n]", ".kinds [data-key=r]"
	tab.Open(at)
	tab.Click(note)
	tab.Press("He never pays.")
	kept("note draft: He never pays.")
	tab.Open(at)
	shows("note", "He never pays.")
	tab.Click(reply)
	shows("reply", "")
	tab.Press("We send a new one.")
	kept("note draft: He never pays.", "user draft: We send a new one.")
	tab.Click(note)
	shows("note", "He never pays.")
	tab.Press(" Ever.")
	tab.Open(at) // before it was saved
	shows("note", "He never pays. Ever.")
	tab.Click("[data-send]")
	testenv.Eventually(a.t, "the note is added", func() bool { return strings.Contains(seen(tab, ".toast"), "Note added") })
	kept("note: Ever.", "user draft: We send a new one.")
	shows("reply", "We send a new one.")
	if to := browser.Eval[string](tab, "document.querySelector('[name=to]').value"); to != "nora@example.com" {
		a.t.Errorf("the reply goes to %q", to)
	}
	tab.Click(".kinds [data-key=f]")
	shows("forward", "")
	if to := browser.Eval[string](tab, "document.querySelector('[name=to]').value + document.activeElement.name"); to != "to" {
		a.t.Errorf("a forward begins with %q, want no recipient and the focus there", to)
	}
	plain := a.member(browser.View{NoScript: true})
	plain.Open(at + "?write=forward")
	if got := browser.Eval[string](plain, "document.querySelector('.composer textarea').value"); got != "" {
		a.t.Errorf("without scripts a new forward begins with %q", got)
	}
	plain.Follow(".elsewhere")
	a.expect("the draft without scripts", browser.Eval[string](plain, "document.querySelector('.composer textarea').value"), "We send a new one.")
}

// crossing keeps an answer here that crosses a newer message.
func (a *agents) crossing() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The valve")
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		a.write(tab, scripts, "Turn it left.")
		browser.Eval[any](tab, "document.body.removeAttribute('data-events')") // otherwise it would learn of the change
		a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"customer"}, "body": {"It turned right!"}}, nil)
		pressButton(tab, scripts, "[data-send]")
		tab.Wait(".crossing")
		tab.Problems() // the status 409
		a.expect("the warning", tab.Text(".crossing"), "It turned right!")
		if said := a.bodies(id); len(said) > 3 || strings.Contains(strings.Join(said, "\n"), "user posted") {
			a.t.Fatalf("it was sent: %q", said)
		}
		pressButton(tab, scripts, ".crossing [name=anyway]")
		testenv.Eventually(a.t, "the answer is sent", func() bool {
			said := a.bodies(id)
			return len(said) == 3 && strings.Contains(said[2], "Turn it left.") && strings.HasPrefix(said[2], "user posted")
		})
	})
}

// bulk closes several and opens them again.
func (a *agents) bulk() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		ids := []int64{a.fresh("One"), a.fresh("Two")}
		tab.Open(a.at + "/inbox/unassigned?sort=newest")
		for _, id := range ids {
			tab.Click(fmt.Sprintf("#row-%d .tick", id))
		}
		if scripts {
			a.expect("the bar", tab.Text("#picked"), "Selected: 2")
		}
		pressButton(tab, scripts, ".selection [value=close]")
		tab.Wait(".toast")
		a.expect("the toast", tab.Text(".toast"), "Closed 2 conversations")
		statuses := func() string { return a.status(ids[0]) + " " + a.status(ids[1]) }
		if got := statuses(); got != "closed closed" {
			a.t.Error(got)
		}
		pressButton(tab, scripts, ".toast button")
		testenv.Eventually(a.t, "both are open again", func() bool { return statuses() == "posted posted" })
	})
}

// keys works without a pointer: from the list into a conversation, a note, and on.
func (a *agents) keys() {
	first, second := a.fresh("Alpha"), a.fresh("Beta")
	tab := a.member(browser.View{})
	tab.Open(a.at + "/inbox/unassigned?sort=newest")
	tab.Press("j")
	tab.Press("j")
	a.expect("the second row", tab.Text(".row.here"), "Alpha")
	tab.Press("k")
	tab.Press("x")
	a.expect("the bar", tab.Text("#picked"), "Selected: 1")
	tab.Press(browser.Escape)
	tab.Press("\r")
	tab.Wait(".talk")
	a.expect("the conversation", tab.Text(".head h1"), "Beta")
	tab.Press("n")
	tab.Press("She called.")
	browser.Eval[any](tab, "document.activeElement.closest('form').requestSubmit(document.querySelector('[data-send]'))")
	testenv.Eventually(a.t, "the note is there", func() bool { return len(a.bodies(second)) == 2 })
	tab.Wait("#thread .note")
	browser.Eval[any](tab, "document.activeElement.blur()")
	tab.Press("e")
	testenv.Eventually(a.t, "it is closed", func() bool { return a.status(second) == "closed" })
	testenv.Eventually(a.t, "the next is shown", func() bool { return strings.Contains(seen(tab, ".head h1"), "Alpha") })
	tab.Press("z") // nothing has this key
	if got := a.status(first); got != "posted" {
		a.t.Error(got)
	}
}

// live shows new messages without reloading.
func (a *agents) live() {
	id := a.fresh("The pump")
	list, talk := a.member(browser.View{}), a.member(browser.View{})
	list.Open(a.at + "/inbox/all")
	talk.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(talk, true, "While I write")
	a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"customer"}, "body": {"It leaks now."}}, nil)
	testenv.Eventually(a.t, "the message is shown", func() bool { return strings.Contains(seen(talk, "#thread"), "It leaks now.") })
	a.expect("what was being written", talk.Text(".editor"), "While I write")
	a.fresh("The drain")
	list.Wait("#fresh")
	a.expect("the list", list.Text("#fresh"), "new")
}

// behind has the refresh of a page fail: what is new shows all the same, without another event.
func (a *agents) behind() {
	for name, failure := range map[string]string{
		"lost":        `Promise.reject(new TypeError("no network"))`,
		"unavailable": `Promise.resolve(new Response("busy", {status: 503}))`,
		"too many":    `Promise.resolve(new Response("slower", {status: 429}))`,
	} {
		id := a.fresh("The gasket")
		tab := a.member(browser.View{})
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		browser.Eval[any](tab, `{ let left = 2; const there = window.fetch;
			window.fetch = (u, h) => (h?.headers?.["Desk-Target"] || "").includes("thread") && left-- > 0 ? `+failure+` : there(u, h); }`)
		a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"customer"}, "body": {"It is torn."}}, nil)
		testenv.Eventually(a.t, name+": the message is shown", func() bool { return strings.Contains(seen(tab, "#thread"), "It is torn.") })
	}

	// The sidebar does not change while it is used, by keyboard or with a menu, and is refreshed afterwards.
	tab := a.member(browser.View{})
	tab.Open(a.at + "/inbox/closed")
	const all = `#sidebar a[href*="/inbox/all"]`
	for _, use := range []struct{ begin, end string }{
		{`document.querySelector('` + all + `').focus()`, `document.activeElement.blur()`},
		{`document.querySelector('` + all + `').focus()`, `document.querySelector("#main").focus()`},
		{`document.querySelector("#sidebar .me details").open = true`, `document.querySelector("#sidebar .me details").open = false`},
	} {
		before := seen(tab, all)
		browser.Eval[any](tab, use.begin)
		a.fresh("The spring")
		time.Sleep(2 * time.Second) // the event has come
		if now := seen(tab, all); now != before {
			a.t.Errorf("the sidebar changed in use, from %q to %q", before, now)
		}
		browser.Eval[any](tab, use.end)
		testenv.Eventually(a.t, "after "+use.end+" the sidebar counts the new conversation", func() bool { return seen(tab, all) != before })
	}
}

// search looks for words while they are typed, and with the key alone.
func (a *agents) search() {
	a.fresh("The grinder squeaks") // open, whatever became of the demo's own
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		tab.Open(a.at + "/search")
		if scripts {
			tab.Fill(".searchbar input", "grind")
			testenv.Eventually(a.t, "the address has the word", func() bool { return browser.Eval[string](tab, "location.search") == "?q=grind" })
			a.expect("the results", tab.Text("#list"), "Mill hums")
			a.find(tab)
			return
		}
		tab.Fill(".searchbar input", "grind")
		tab.Enter(".searchbar input")
		a.expect("the results", tab.Text("#list"), "Mill hums")
		if diff := cmp.Diff("grind", browser.Eval[string](tab, "document.querySelector('.searchbar input').value")); diff != "" {
			a.t.Error(diff)
		}
		a.find(tab)
	})
}

// find follows from the results of a search for "grind" to others.
func (a *agents) find(tab *browser.Tab) {
	a.t.Helper()
	a.expect("the words", browser.Eval[string](tab, "document.querySelector('.hits mark').textContent.toLowerCase()"), "grind")
	testenv.Eventually(a.t, "the filters keep the word", func() bool {
		return browser.Eval[bool](tab, `(document.querySelector("#filters a[href*='is%3Aclosed']")?.href || "").includes("grind+")`)
	})
	all := a.found(tab)
	follow := func(selector string) {
		tab.Open(browser.Eval[string](tab, fmt.Sprintf("document.querySelector(%q).href", selector)))
	}
	follow("#filters a[href*='is%3Aclosed']")
	a.expect("the field", browser.Eval[string](tab, "document.querySelector('.searchbar input').value"), "grind is:closed")
	a.expect("the filter", tab.Text("#filters"), "Closed")
	if closed := a.found(tab); closed >= all || all == 0 {
		a.t.Errorf("%d of %d are closed", closed, all)
	}
	tab.Open(a.at + "/search?" + url.Values{"q": {`"Mill hums"`}}.Encode())
	a.expect("a phrase", tab.Text("#list"), "Mill hums")
	tab.Open(a.at + "/search?" + url.Values{"q": {`"hums mill"`}}.Encode())
	a.expect("a phrase of other words", tab.Text("#list"), "No results")
	tab.Open(a.at + "/search?" + url.Values{"q": {"grindr hums -is:spam"}}.Encode())
	a.expect("a misspelled word", tab.Text("#list"), "Results for “grinder hums -is:spam”")
	a.expect("its results", tab.Text("#list .hits"), "Mill hums")
	follow("#list .hits .line")
	a.expect("a result", tab.Text("h1"), "Mill hums")
	tab.Open(a.at + "/search")
	tab.Click(".tips summary")
	a.expect("the tips", tab.Text(".tips"), "has:attachment")
}

// found returns how many conversations a search says that it found.
func (a *agents) found(tab *browser.Tab) int {
	a.t.Helper()
	number, _, _ := strings.Cut(strings.TrimSpace(tab.Text(".found")), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		a.t.Error(err)
	}
	return n
}

// reply inserts a saved reply at the cursor, with a file.
func (a *agents) reply() {
	id := a.fresh("The knob")
	a.ok("POST", "/accounts/1/saved-replies", url.Values{"name": {"Knobs"}, "body": {"<p>Turn it, {{customer.first_name}}.</p>"}, "is_shared": {"true"}}, nil)
	file := filepath.Join(a.t.TempDir(), "knob.txt")
	if err := os.WriteFile(file, []byte("How to turn it"), 0o600); err != nil {
		a.t.Fatal(err)
	}
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(tab, true, "Hello. /")
	tab.Wait("[data-replies] input[type=search]")
	tab.Press("kno")
	tab.Wait("[data-replies] .choice-here")
	tab.Click("[data-replies] .choice-here")
	testenv.Eventually(a.t, "the reply is there", func() bool { return strings.Contains(seen(tab, ".editor"), "Turn it,") })
	if got := seen(tab, ".editor"); strings.Contains(got, "/") {
		a.t.Errorf("the slash stays: %q", got)
	}
	tab.Choose(".attach input", file)
	testenv.Eventually(a.t, "the file is attached", func() bool { return strings.Contains(seen(tab, "[data-list]"), "knob.txt") })
	tab.Click("[data-send]")
	testenv.Eventually(a.t, "the answer is posted with its file", func() bool {
		said := a.bodies(id)
		return len(said) == 2 && strings.HasPrefix(said[1], "user posted: Hello.") && strings.Contains(seen(tab, "#thread"), "knob.txt")
	})
}

// colleague is a window of another member.
func (a *agents) colleague(name string, v browser.View) *browser.Tab {
	a.t.Helper()
	other, process := *a, *a.demoProcess
	other.demoProcess, process.email = &process, strings.Replace(a.email, "maja", name, 1)
	return other.member(v)
}

// bell mentions a colleague by the keyboard alone; their bell rings, and leads to the note.
func (a *agents) bell() {
	id := a.fresh("The gasket")
	owner, other := a.member(browser.View{}), a.colleague("jonas", browser.View{})
	label := func() string { return browser.Eval[string](owner, "document.querySelector('#bell')?.ariaLabel || ''") }
	owner.Open(a.at + "/inbox/closed")
	quiet := label()
	browser.Eval[any](owner, "window.Notification = class { static permission = 'granted'; constructor(title, { body }) { (window.told ??= []).push(title + ': ' + body); } }; 0")
	// The first request for what to tell fails; while the next is answered, another event comes.
	browser.Eval[any](owner, `{ const fetched = window.fetch; let asked = 0; window.fetch = async (url, how) => {
		if (!String(url).includes("/notifications/browser")) return fetched(url, how);
		if (++asked === 1) throw new TypeError("no network");
		if (asked === 2) document.dispatchEvent(new Event("desk:told"));
		return fetched(url, how);
	} } 0`)
	other.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	other.Click(".kinds [data-key=n]")
	other.Press("Ask @")
	other.Wait("[data-members] [role=option]")
	other.Press("maj")
	testenv.Eventually(a.t, "one member is left", func() bool {
		return browser.Eval[string](other, "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.dataset.member || ''") == "Maja Lindqvist"
	})
	other.Press("\r")
	testenv.Eventually(a.t, "the mention is there", func() bool { return strings.Contains(seen(other, ".editor"), "@Maja Lindqvist") })
	other.Press("please.")
	if got := strings.Join(strings.Fields(seen(other, ".editor")), " "); got != "Ask @Maja Lindqvist please." {
		a.t.Errorf("written: %q", got)
	}
	browser.Eval[any](other, "document.activeElement.closest('form').requestSubmit(document.querySelector('[data-send]'))")
	testenv.Eventually(a.t, "the bell rings", func() bool { return label() != quiet && strings.Contains(label(), "unread") })
	// Mail of earlier parts that cannot be delivered is told as well.
	about := func() string {
		return browser.Eval[string](owner, "(window.told || []).filter((said) => said.endsWith(': The gasket')).join()")
	}
	testenv.Eventually(a.t, "the browser tells", func() bool { return about() != "" })
	if diff := cmp.Diff("Jonas Weber mentioned you in a note: The gasket", about()); diff != "" {
		a.t.Error(diff)
	}
	owner.Click("#bell")
	owner.Wait("#bell-panel .told")
	a.expect("the panel", owner.Text("#bell-panel .told"), "Jonas Weber mentioned you in a note")
	a.expect("the panel", owner.Text("#bell-panel .told"), "The gasket")
	owner.Click("#bell-panel .told button")
	owner.Wait(".talk")
	a.expect("the address", owner.Location(), fmt.Sprintf("/c/%d?m=", id))
	a.expect("the note", owner.Text("#thread .mention.me"), "@Maja Lindqvist")
	testenv.Eventually(a.t, "it is read", func() bool { return label() == quiet })
	plain := a.colleague("jonas", browser.View{NoScript: true})
	plain.Open(a.at + "/notifications")
	a.expect("the list", plain.Text(".told"), "New and unassigned")
	if status := plain.Follow(".told button"); status != http.StatusOK {
		a.t.Errorf("opened, with status %d", status)
	}
	a.expect("without scripts", plain.Location(), "/c/")
	plain.Follow("#panel .following button")
	a.expect("who follows", plain.Text("#panel .following"), "Unfollow")
}

// outage stops the server: slow pages show outlines, failed actions keep their text and can be repeated.
func (a *agents) outage() {
	id := a.fresh("The hinge")
	tab := a.member(browser.View{})
	page := fmt.Sprintf("%s/c/%d", a.at, id)
	tab.Open(page)
	browser.Eval[any](tab, `window.there = window.fetch; window.fetch = (url, how) => new Promise((_, no) => how.signal?.addEventListener("abort", () => no(how.signal.reason)))`)
	tab.Click(`#sidebar a[href*="/inbox/all"]`)
	tab.Wait(`#main[aria-busy="true"]`)
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "loading")
	browser.Eval[any](tab, `window.fetch = window.there`)
	tab.Click(`#sidebar a[href*="/inbox/mine"]`)
	tab.Wait(`#main:not([aria-busy]) #list`)
	a.expect("the address", tab.Location(), "/inbox/mine")

	tab.Open(page)
	browser.Eval[any](tab, `window.there = window.fetch; window.fetch = () => Promise.reject(new TypeError("no network"))`)
	tab.Click(`.button[value=close]`)
	tab.Wait(".toast.bad button")
	a.expect("the toast", tab.Text(".toast"), "You are offline")
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "offline")
	if got := a.status(id); got == "closed" {
		a.t.Errorf("%s without a server", got)
	}
	browser.Eval[any](tab, `window.fetch = window.there`)
	tab.Click(".toast.bad button")
	testenv.Eventually(a.t, "the second try closes it", func() bool { return a.status(id) == "closed" })
}

// holdBack keeps the browser's requests that a condition on their address (u) and options (h) chooses until release. Files
// are sent by fetch, too, as without the module that shows their progress.
func (a *agents) holdBack(tab *browser.Tab, condition string) (release func()) {
	browser.Eval[any](tab, `document.body.dataset.upload = ""; window.there ??= window.fetch; window.held = []; window.fetch = (u, h) => {
		if (!(`+condition+`)) return there(u, h);
		return new Promise((yes) => held.push(yes)).then(() => there(u, h)).finally(() => held.pop());
	}`)
	return func() {
		browser.Eval[any](tab, `window.fetch = there; for (const go of [...held]) go(); held.length`)
		testenv.Eventually(a.t, "what was held back has come", func() bool { return browser.Eval[int](tab, "held.length") == 0 })
	}
}

// late delays answers of the server until the member has moved on: they change no other conversation.
func (a *agents) late() {
	first, second := a.fresh("The left hinge"), a.fresh("The right hinge")
	a.ok("POST", "/accounts/1/saved-replies", url.Values{"name": {"Left"}, "body": {"<p>Mind the left.</p>"}, "is_shared": {"true"}}, nil)
	address := func(id int64) string { return fmt.Sprintf("%s/c/%d", a.at, id) }
	tab := a.member(browser.View{})
	leave := func() {
		browser.Eval[any](tab, fmt.Sprintf(`{ const link = document.createElement("a"); link.href = %q; document.querySelector("#main").append(link); link.click(); }`, address(second)))
		testenv.Eventually(a.t, "the other conversation is shown", func() bool {
			a.t.Log(tab.Location(), seen(tab, "#main h1"), seen(tab, ".toast"))
			return strings.Contains(seen(tab, "#main h1"), "The right hinge")
		})
	}

	tab.Open(address(first))
	release := a.holdBack(tab, `(h?.headers?.["Desk-Target"] || "").includes("thread")`)
	a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", first), url.Values{"type": {"customer"}, "body": {"It is on the left."}}, nil)
	testenv.Eventually(a.t, "the thread is asked for", func() bool { return browser.Eval[int](tab, "held.length") > 0 })
	leave()
	release()
	stays := func() {
		a.t.Helper()
		time.Sleep(100 * time.Millisecond) // the answer would be inserted into the page now
		if got := seen(tab, "#thread") + seen(tab, ".editor"); strings.Contains(got, "on the left") || strings.Contains(got, "Mind the left") {
			a.t.Errorf("another conversation's text is shown: %q", got)
		}
	}
	stays()

	tab.Open(address(first))
	a.write(tab, true, "Hello. /")
	tab.Wait("[data-replies] input[type=search]")
	tab.Press("left")
	release = a.holdBack(tab, `u.includes("/replies/")`)
	tab.Press("\r")
	testenv.Eventually(a.t, "the reply is asked for", func() bool { return browser.Eval[int](tab, "held.length") > 0 })
	leave()
	release()
	stays()
}

// enter is pressed in the fields of an answer, which presses no button: nothing leaves and nothing is lost.
func (a *agents) enter() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The latch")
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		a.write(tab, scripts, "Lift it. ")
		for _, name := range []string{"to", "cc", "bcc", "article"} {
			browser.Eval[any](tab, fmt.Sprintf(`{ const e = document.querySelector(".composer [name=%s]"); e.closest("details")?.setAttribute("open", ""); for (const e of document.querySelectorAll(".composer details:has([name=%s])")) e.open = true; e.focus(); }`, name, name))
			tab.Press("\r")
		}
		if got := browser.Eval[string](tab, `document.querySelector(".editor")?.textContent || document.querySelector(".composer textarea").value`); strings.TrimSpace(strings.ReplaceAll(got, "\u00a0", " ")) != "Lift it." {
			a.t.Errorf("what was written is %q", got)
		}
		if said := a.bodies(id); len(said) == 2 && !strings.HasPrefix(said[1], "user draft:") {
			a.t.Errorf("sent: %q", said)
		}
	})
}

// quick sends an answer and goes on at once, while the draft is on its way: it leaves all the same.
func (a *agents) quick() {
	first, second := a.fresh("The left bolt"), a.fresh("The right bolt")
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, first))
	a.write(tab, true, "Tighten it.")
	release := a.holdBack(tab, `String(u).endsWith("/draft")`)
	tab.Click("[data-send]")
	browser.Eval[any](tab, fmt.Sprintf(`{ const link = document.createElement("a"); link.href = "%s/c/%d"; document.querySelector("#main").append(link); link.click(); }`, a.at, second))
	testenv.Eventually(a.t, "the other conversation is shown", func() bool { return strings.Contains(seen(tab, "#main h1"), "The right bolt") })
	release()
	tab.Wait(".toast")
	a.expect("the toast", tab.Text(".toast"), "Sending reply in")
	a.expect("the page", tab.Text("#main h1"), "The right bolt")
	a.once(first, "on the way", "reply")
}

// upload sends an answer while its file is on the way: it leaves with the file, and whatever its length.
func (a *agents) upload() {
	id := a.fresh("The crank")
	file := filepath.Join(a.t.TempDir(), "crank.txt")
	if err := os.WriteFile(file, []byte("How to turn it"), 0o600); err != nil {
		a.t.Fatal(err)
	}
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(tab, true, "As attached. ")
	browser.Eval[any](tab, `document.execCommand("insertText", false, "Turn it again. ".repeat(6000))`)
	testenv.Eventually(a.t, "a long draft is saved", func() bool {
		said := a.bodies(id)
		return len(said) == 2 && len(said[1]) > 80_000
	})
	release := a.holdBack(tab, `u.includes("/files")`)
	tab.Choose(".attach input", file)
	testenv.Eventually(a.t, "the file is on its way", func() bool { return browser.Eval[int](tab, "held.length") > 0 })
	tab.Click("[data-send]")
	a.expect("the composer", tab.Text(".saved"), "Uploading files")
	if said := a.bodies(id); !strings.HasPrefix(said[1], "user draft:") {
		a.t.Errorf("sent without its file: %.60q", said[1])
	}
	release()
	testenv.Eventually(a.t, "the answer is posted with its file", func() bool {
		said := a.bodies(id)
		return len(said) == 2 && strings.HasPrefix(said[1], "user posted: As attached.") && strings.Contains(seen(tab, "#thread"), "crank.txt")
	})
}

// refused has the server refuse a text, or its answer lost: nothing is lost and nothing arrives twice.
func (a *agents) refused() {
	for name, refuse := range map[string]string{ // text of the notice, and the answer to the browser
		"responded with 502": `() => Promise.resolve(new Response("<h1>502 Bad Gateway</h1>", { status: 502, headers: { "Content-Type": "text/html" } }))`,
		"You are offline":    `(u, h) => there(u, h).then(() => { window.fetch = () => Promise.reject(new TypeError("cut")); return window.fetch(); })`,
	} {
		for _, kind := range []string{"reply", "note"} {
			id := a.fresh("The spring")
			tab := a.member(browser.View{})
			tab.Open(fmt.Sprintf("%s/c/%d?write=%s", a.at, id, kind))
			a.write(tab, true, "Bend it back.")
			browser.Eval[any](tab, `window.there = window.fetch; window.fetch = (u, h) => String(u).endsWith("/send") ? (`+refuse+`)(u, h) : there(u, h)`)
			tab.Click("[data-send]")
			tab.Wait(".toast.bad button")
			a.expect("the notice", tab.Text(".toast"), name)
			a.expect(name+", what is written", tab.Text(".editor"), "Bend it back.")
			browser.Eval[any](tab, `window.fetch = there; document.querySelector(".toast.bad button").click()`)
			tab.Wait(".toast:not(.bad)")
			a.once(id, name, kind)
			tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
			if got := tab.Text(".editor"); got != "" {
				a.t.Errorf("%s: the %s is offered once more: %q", name, kind, got)
			}
		}
	}
	// Nobody knows whether the answer came: the draft tells that it was sent, of a note too.
	for _, kind := range []string{"reply", "note"} {
		id := a.fresh("The coil")
		tab := a.member(browser.View{})
		tab.Open(fmt.Sprintf("%s/c/%d?write=%s", a.at, id, kind))
		a.write(tab, true, "Bend it back.")
		browser.Eval[any](tab, `window.there = window.fetch; window.fetch = (u, h) => there(u, h).then((r) => String(u).endsWith("/send") ? Promise.reject(new TypeError("cut")) : r)`)
		tab.Click("[data-send]")
		tab.Wait(".toast.bad button")
		tab.Open(fmt.Sprintf("%s/c/%d?write=%s", a.at, id, kind)) // instead of trying again
		if got := tab.Text(".editor"); got != "" {
			a.t.Errorf("the %s that was sent is offered once more: %q", kind, got)
		}
		a.once(id, "left", kind)
	}
}

// refusedElsewhere has other forms refused: their text is kept, and a second attempt succeeds.
func (a *agents) refusedElsewhere() {
	const refuse = `window.there = window.fetch; window.fetch = (u, h) => h?.method === "POST" && !h.keepalive ? Promise.resolve(new Response("", { status: 503 })) : there(u, h)`
	again := func(tab *browser.Tab) {
		tab.Wait(".toast.bad button")
		a.expect("the notice", tab.Text(".toast"), "503")
		browser.Eval[any](tab, `window.fetch = there; document.querySelector(".toast.bad button").click()`)
		tab.Gone(".toast.bad")
	}
	tab := a.member(browser.View{})

	a.opensArticle(tab, true, "/help/1/a/2")
	tab.Fill("#article [name=text]", "Rinse it with warm water.")
	browser.Eval[any](tab, refuse)
	tab.Click("[form=article][value=publish]")
	tab.Wait(".toast.bad button")
	if got := browser.Eval[string](tab, `document.querySelector("#article [name=text]").value`); got != "Rinse it with warm water." {
		a.t.Errorf("of the article %q is left", got)
	}
	again(tab)
	testenv.Eventually(a.t, "the article is published", func() bool {
		var article object[struct {
			Translations map[string]struct{ Content string }
		}]
		a.ok("GET", "/sites/1/articles/2", nil, &article)
		return strings.Contains(article.Data.Translations["en"].Content, "Rinse it with warm water.")
	})

	tab.Open(a.at + "/settings/replies/new")
	tab.Fill("[name=name]", "Rinsing")
	tab.Click(".editor")
	tab.Press("Rinse it.")
	browser.Eval[any](tab, refuse)
	tab.Click("#main .primary")
	tab.Wait(".toast.bad button")
	a.expect("the saved reply", tab.Text(".editor"), "Rinse it.")
	again(tab)
	testenv.Eventually(a.t, "the reply is saved", func() bool { return strings.Contains(seen(tab, "#main"), "Rinsing") })

	id := a.fresh("The tap")
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	browser.Eval[any](tab, refuse)
	tab.Click(".button[value=close]")
	again(tab)
	testenv.Eventually(a.t, "the conversation is closed", func() bool { return a.status(id) == "closed" })
}

// once expects one answer or note behind the customer's message.
func (a *agents) once(id int64, name, kind string) {
	a.t.Helper()
	want := map[string]string{"reply": "user posted:", "note": "note:"}[kind]
	if said := a.bodies(id); len(said) != 2 || !strings.HasPrefix(said[1], want) {
		a.t.Errorf("%s: a %s came out as %q", name, kind, said)
	}
}

// panel has a customer answer while a note about them is written: it stays.
func (a *agents) panel() {
	id := a.fresh("The axle")
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	const about = "#panel textarea"
	if browser.Eval[bool](tab, `document.querySelector("`+about+`").closest("details")?.open === false`) {
		tab.Click(`#panel details:has(textarea) summary`)
	}
	tab.Fill(about, "Prefers to be called")
	a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"customer"}, "body": {"It squeaks."}}, nil)
	testenv.Eventually(a.t, "the message is shown", func() bool { return strings.Contains(seen(tab, "#thread"), "It squeaks.") })
	if got := browser.Eval[string](tab, `document.querySelector("`+about+`").value`); got != "Prefers to be called" {
		a.t.Errorf("of the note about the customer %q is left", got)
	}
}

// notes has a member who may only write notes choose, drop and remove files of one.
func (a *agents) notes() {
	collaborator := int64(0)
	for _, r := range all[struct {
		ID   int64
		Name string
	}](&a.process, "/accounts/1/roles") {
		if r.Name == "Collaborator" {
			collaborator = r.ID
		}
	}
	for _, m := range all[struct {
		ID   int64
		User struct{ Email string }
	}](&a.process, "/accounts/1/memberships?expand=user") {
		if strings.HasPrefix(m.User.Email, "jonas") {
			a.ok("PUT", fmt.Sprintf("/accounts/1/memberships/%d", m.ID), url.Values{"roles[]": {fmt.Sprint(collaborator)}}, nil)
		}
	}
	id := a.fresh("The sprocket")
	file := filepath.Join(a.t.TempDir(), "sprocket.txt")
	if err := os.WriteFile(file, []byte("How many teeth"), 0o600); err != nil {
		a.t.Fatal(err)
	}
	tab := a.colleague("jonas", browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(tab, true, "Count them.")
	tab.Choose(".attach input", file)
	browser.Eval[any](tab, `const d = new DataTransfer(); for (const name of ["chain.txt", "slip.txt"]) d.items.add(new File([name], name));
		document.querySelector(".editor").dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true }))`)
	a.expect("the files", tab.Text("[data-list]"), "sprocket.txt")
	tab.Click(`[aria-label="Remove slip.txt"]`)
	pressButton(tab, true, "[data-send]")
	testenv.Eventually(a.t, "the note is there with its files", func() bool {
		said, shown := a.bodies(id), seen(tab, "#thread")
		return len(said) == 2 && strings.HasPrefix(said[1], "note: Count them.") && strings.Contains(shown, "sprocket.txt") && strings.Contains(shown, "chain.txt")
	})
	if strings.Contains(seen(tab, "#thread"), "slip.txt") {
		a.t.Error("the file that was taken back is there")
	}
}
