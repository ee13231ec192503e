package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/storagetest/testenv/browser"
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

// bodies are what is in a conversation, with the kinds and statuses.
func (a *agents) bodies(id int64) []string {
	a.t.Helper()
	var out []string
	for _, i := range all[struct{ Type, Status, Body string }](&a.process, fmt.Sprintf("/accounts/1/conversations/%d/interactions", id)) {
		out = append(out, strings.TrimSpace(i.Type+" "+i.Status)+": "+strings.Join(strings.Fields(i.Body), " "))
	}
	return out
}

// answer answers, takes it back, answers again with a note beside it, and closes.
func (a *agents) answer() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The lever")
		tab.Open(fmt.Sprintf("%s/c/%d?in=all", a.at, id))
		a.expect("the thread", tab.Text("#thread"), "Is it broken?")
		a.write(tab, scripts, "It is not.")
		a.submit(tab, scripts, "[data-send]")
		tab.Wait(".toast")
		a.expect("the toast", tab.Text(".toast"), "Reply goes out in")
		a.expect("the thread", tab.Text("#thread"), "It is not.")
		a.submit(tab, scripts, ".toast button")
		eventually(a.t, "the toast says so", 20*time.Second, func() bool { return strings.Contains(seen(tab, ".toast"), "a draft again") })
		eventually(a.t, "the answer is a draft again", 20*time.Second, func() bool {
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
			a.submit(tab, scripts, "[data-send]")
		} else {
			tab.Click(".split summary")
			tab.Click(".split [value=close]")
			eventually(a.t, "the conversation is closed", 20*time.Second, func() bool { return a.status(id) == "closed" })
		}
		eventually(a.t, "the answer is posted", 20*time.Second, func() bool {
			said := a.bodies(id)
			return len(said) == 2 && strings.HasPrefix(said[1], "user posted:")
		})
	})
}

// submit clicks on what sends a form: without scripts a page comes.
func (a *agents) submit(tab *browser.Tab, scripts bool, selector string) {
	a.t.Helper()
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
	eventually(a.t, "the draft is saved", 20*time.Second, func() bool { return len(a.bodies(id)) == 2 })
	tab.Press(" end.")
	eventually(a.t, "the draft has all", 20*time.Second, func() bool {
		said := a.bodies(id)
		return len(said) == 2 && strings.Contains(said[1], "Try the other end.")
	})
	a.expect("the composer", tab.Text(".saved"), "Draft saved")
	other := a.member(browser.View{})
	other.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.expect("the other window", other.Text(".editor"), "Try the other end.")
}

// crossing keeps an answer here that crosses a newer message.
func (a *agents) crossing() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		id := a.fresh("The valve")
		tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
		a.write(tab, scripts, "Turn it left.")
		browser.Eval[any](tab, "document.body.removeAttribute('data-events')") // it would be told, and know
		a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"customer"}, "body": {"It turned right!"}}, nil)
		a.submit(tab, scripts, "[data-send]")
		tab.Wait(".crossing")
		tab.Problems() // the status 409
		a.expect("the warning", tab.Text(".crossing"), "It turned right!")
		if said := a.bodies(id); len(said) > 3 || strings.Contains(strings.Join(said, "\n"), "user posted") {
			a.t.Fatalf("it was sent: %q", said)
		}
		a.submit(tab, scripts, ".crossing [name=anyway]")
		eventually(a.t, "the answer is sent", 20*time.Second, func() bool {
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
			a.expect("the bar", tab.Text("#picked"), "2 selected")
		}
		a.submit(tab, scripts, ".selection [value=close]")
		tab.Wait(".toast")
		a.expect("the toast", tab.Text(".toast"), "Closed 2 conversations")
		statuses := func() string { return a.status(ids[0]) + " " + a.status(ids[1]) }
		if got := statuses(); got != "closed closed" {
			a.t.Error(got)
		}
		a.submit(tab, scripts, ".toast button")
		eventually(a.t, "both are open again", 20*time.Second, func() bool { return statuses() == "posted posted" })
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
	a.expect("the bar", tab.Text("#picked"), "1 selected")
	tab.Press(browser.Escape)
	tab.Press("\r")
	tab.Wait(".talk")
	a.expect("the conversation", tab.Text(".head h1"), "Beta")
	tab.Press("n")
	tab.Press("She called.")
	browser.Eval[any](tab, "document.activeElement.closest('form').requestSubmit(document.querySelector('[data-send]'))")
	eventually(a.t, "the note is there", 20*time.Second, func() bool { return len(a.bodies(second)) == 2 })
	tab.Wait("#thread .note")
	browser.Eval[any](tab, "document.activeElement.blur()")
	tab.Press("e")
	eventually(a.t, "it is closed", 20*time.Second, func() bool { return a.status(second) == "closed" })
	eventually(a.t, "the next is shown", 20*time.Second, func() bool { return strings.Contains(seen(tab, ".head h1"), "Alpha") })
	tab.Press("z") // nothing has this key
	if got := a.status(first); got != "posted" {
		a.t.Error(got)
	}
}

// live shows what comes in without being asked.
func (a *agents) live() {
	id := a.fresh("The pump")
	list, talk := a.member(browser.View{}), a.member(browser.View{})
	list.Open(a.at + "/inbox/all")
	talk.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(talk, true, "While I write")
	a.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", id), url.Values{"type": {"customer"}, "body": {"It leaks now."}}, nil)
	eventually(a.t, "the message is shown", 30*time.Second, func() bool { return strings.Contains(seen(talk, "#thread"), "It leaks now.") })
	a.expect("what was being written", talk.Text(".editor"), "While I write")
	a.fresh("The drain")
	list.Wait("#fresh")
	a.expect("the list", list.Text("#fresh"), "new")
}

// search looks for words while they are typed, and with the key alone.
func (a *agents) search() {
	a.eachWay(func(a *agents, tab *browser.Tab, scripts bool) {
		tab.Open(a.at + "/search")
		if scripts {
			tab.Fill(".searchbar input", "grind")
			eventually(a.t, "the address has the word", 20*time.Second, func() bool { return browser.Eval[string](tab, "location.search") == "?q=grind" })
			a.expect("the results", tab.Text("#list"), "Mill hums")
			return
		}
		tab.Fill(".searchbar input", "grind")
		tab.Enter(".searchbar input")
		a.expect("the results", tab.Text("#list"), "Mill hums")
		if diff := cmp.Diff("grind", browser.Eval[string](tab, "document.querySelector('.searchbar input').value")); diff != "" {
			a.t.Error(diff)
		}
	})
}

// reply puts a saved reply where one writes, and a file beside it.
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
	tab.Click("[data-reply]")
	eventually(a.t, "the reply is there", 20*time.Second, func() bool { return strings.Contains(seen(tab, ".editor"), "Turn it,") })
	if got := seen(tab, ".editor"); strings.Contains(got, "/") {
		a.t.Errorf("the slash stays: %q", got)
	}
	tab.Choose(".attach input", file)
	eventually(a.t, "the file is attached", 20*time.Second, func() bool { return strings.Contains(seen(tab, "[data-list]"), "knob.txt") })
	tab.Click("[data-send]")
	eventually(a.t, "the answer is posted with its file", 20*time.Second, func() bool {
		said := a.bodies(id)
		return len(said) == 2 && strings.HasPrefix(said[1], "user posted: Hello.") && strings.Contains(seen(tab, "#thread"), "knob.txt")
	})
}
