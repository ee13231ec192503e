package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
)

// answering is an agent at the desk of a server that dies again and again, between a customer and Postfix.
type answering struct {
	*deskClient
	postfix  testenv.PostfixServer
	customer string // box at Postfix
	mu       sync.Mutex
	back     map[int64]bool // conversations whose answers were called back
}

// kindsOfAnswers is in how many ways answers are sent, by the ids of their conversations.
const kindsOfAnswers = 5

// TestKillWhileAnswering kills the server while agents answer with the forms of the desk's own pages: at once, with the
// conversation closed, later at a time at which the server may be dead, and with the answer called back. The same form is
// sent again whenever its answer is lost, as people do in a browser. In the end each answer stands once in its conversation
// and has reached the customer under one Message-ID, and those that were called back have never left.
func TestKillWhileAnswering(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		a := &answering{postfix: testenv.Postfix(t), customer: testenv.Name("kim"), back: map[int64]bool{}}
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+a.postfix.Addr+"?tls=none")
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		s.ok("PUT", "/accounts/1", url.Values{"name": {"Halden"}, "send_hold": {"2"}}, nil)
		a.deskClient = s.signInDesk()
		ways := [kindsOfAnswers]func(*answering, int64){(*answering).sendsNow, (*answering).sendsAndCloses, (*answering).sendsLater, (*answering).callsBack, (*answering).closesAndUndoes}
		work := make(chan int64, kindsOfAnswers*16)
		for range cap(work) {
			work <- a.asked()
		}
		close(work)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for id := range work {
					ways[id%kindsOfAnswers](a, id)
				}
			})
		}
		idle := make(chan struct{})
		go func() { group.Wait(); close(idle) }()
		deaths := 0
		for busy := true; busy && deaths < kills; deaths++ {
			select {
			case <-idle:
				busy = false
			case <-time.After(time.Duration(20+rand.IntN(600)) * time.Millisecond):
			}
			s.kill()
			s.start()
		}
		<-idle
		s.kill() // while answers wait for their time
		time.Sleep(time.Second)
		s.start()
		a.arrived(deaths + 1)
	})
}

// asked returns a conversation begun by the customer.
func (a *answering) asked() int64 {
	a.t.Helper()
	var made object[struct{ ID int64 }]
	a.ok("POST", "/accounts/1/conversations", url.Values{
		"channel": {"email"}, "to": {a.postfix.Box(a.customer)}, "interactions[0][type]": {"customer"}, "interactions[0][body]": {"A question"},
	}, &made)
	return made.Data.ID
}

// page reads a page, again until it comes.
func (a *answering) page(path string, cookies ...*http.Cookie) string {
	for {
		r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, "http://"+a.http+path, nil)
		if err != nil {
			a.t.Error(err)
			return ""
		}
		r.Header.Set("Cookie", a.session)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && res.StatusCode < http.StatusInternalServerError {
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err == nil {
				return string(text)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// until sends a form again until it is answered.
func (a *answering) until(path string, form url.Values) *http.Response {
	for {
		if res := a.multipart(path, form); res != nil {
			return res
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// multipart sends a form as the composer does; nil: no whole answer came.
func (a *answering) multipart(path string, form url.Values) *http.Response {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range form {
		for _, value := range values {
			_ = w.WriteField(name, value) // a buffer takes everything
		}
	}
	_ = w.Close()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, "http://"+a.http+path, &body)
	if err != nil {
		a.t.Error(err)
		return nil
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", a.session)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || res.StatusCode >= http.StatusInternalServerError {
		return nil
	}
	_ = res.Body.Close()
	return res
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// writes fills the composer of a conversation's page in.
func (a *answering) writes(id int64) url.Values {
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // while somebody writes
	text := a.page(fmt.Sprintf("/desk/a/1/c/%d?in=all", id))
	_, composer, _ := strings.Cut(text, `<form class="composer"`)
	composer, _, _ = strings.Cut(composer, "</form>")
	form := url.Values{"kind": {"reply"}, "to": {a.postfix.Box(a.customer)}, "body": {fmt.Sprintf("Answer %d.", id)}}
	for _, f := range hiddenField.FindAllStringSubmatch(composer, -1) {
		form.Set(f[1], html.UnescapeString(f[2]))
	}
	if form.Get("nonce") == "" {
		a.t.Errorf("conversation %d has no composer", id)
	}
	return form
}

// send sends the form of an answer with one of its buttons, sometimes twice.
func (a *answering) send(id int64, form url.Values, then string) *http.Response {
	form.Set("then", then)
	path := fmt.Sprintf("/desk/a/1/c/%d/send", id)
	res := a.until(path, form)
	if res.StatusCode == http.StatusSeeOther && rand.IntN(3) == 0 { // a double click
		a.multipart(path, form)
	}
	return res
}

func (a *answering) sent(id int64, form url.Values, then string) *http.Response {
	res := a.send(id, form, then)
	if res.StatusCode != http.StatusSeeOther {
		a.t.Errorf("conversation %d: status %d", id, res.StatusCode)
	}
	return res
}

func (a *answering) sendsNow(id int64)       { a.sent(id, a.writes(id), "") }
func (a *answering) sendsAndCloses(id int64) { a.sent(id, a.writes(id), "close") }

// sendsLater chooses a time soon, and another one when that has passed before the form came through.
func (a *answering) sendsLater(id int64) {
	for form := a.writes(id); ; {
		res := a.send(id, form, fmt.Sprintf("later-%d", time.Now().Unix()+2+rand.Int64N(4)))
		if res.StatusCode == http.StatusSeeOther {
			return
		}
		if res.StatusCode != http.StatusUnprocessableEntity {
			a.t.Errorf("conversation %d: status %d", id, res.StatusCode)
			return
		}
	}
}

func (a *answering) callsBack(id int64)       { a.undoes(id, a.sent(id, a.writes(id), "")) }
func (a *answering) closesAndUndoes(id int64) { a.undoes(id, a.sent(id, a.writes(id), "close")) }

var toastText = regexp.MustCompile(`(?s)<div class="toast.*?</div>`)

var undoField = regexp.MustCompile(`name="undo" value="([^"]+)"`)

// undoes presses the button of the toast, repeatedly until it is answered, and records whether the desk reports that the
// answer was called back.
func (a *answering) undoes(id int64, sent *http.Response) {
	text := a.page(fmt.Sprintf("/desk/a/1/c/%d", id), sent.Cookies()...)
	undo := undoField.FindStringSubmatch(text)
	if undo == nil {
		a.t.Errorf("conversation %d: nothing can be undone", id)
		return
	}
	form := url.Values{"undo": {html.UnescapeString(undo[1])}}
	for range 1 + rand.IntN(2) { // or twice
		done := a.until("/desk/a/1/undo", form)
		text := a.page(fmt.Sprintf("/desk/a/1/c/%d", id), done.Cookies()...)
		switch {
		case strings.Contains(text, "The reply is a draft again"):
			a.mu.Lock()
			a.back[id] = true
			a.mu.Unlock()
		case !strings.Contains(text, "too late to undo") || a.isBack(id):
			a.t.Errorf("conversation %d: status %d, and the desk does not say what became of it, but %q", id, done.StatusCode, toastText.FindString(text))
		}
	}
}

func (a *answering) isBack(id int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.back[id]
}

// arrived waits until all has left, and counts.
func (a *answering) arrived(deaths int) {
	a.t.Helper()
	var answers map[int64]answered
	testenv.Moving(a.t, "every answer has left", func() (string, bool) {
		answers = a.answers()
		waiting := 0
		for _, one := range answers {
			if one.waits {
				waiting++
			}
		}
		return fmt.Sprintf("%d of %d wait", waiting, len(answers)), waiting == 0
	})
	got := map[string]map[string]int{} // copies by text and Message-ID
	testenv.Moving(a.t, "every answer has arrived", func() (string, bool) {
		clear(got)
		for _, raw := range a.postfix.Mails(a.t, a.customer) {
			m, err := mail.Parse([]byte(raw), mail.Limits{})
			if err != nil {
				a.t.Fatal(err)
			}
			text, _, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
			if text = strings.TrimSpace(text); got[text] == nil {
				got[text] = map[string]int{}
			}
			got[text][m.MessageID]++
		}
		missing := 0
		for id, one := range answers {
			if !one.draft && len(got[fmt.Sprintf("Answer %d.", id)]) == 0 {
				missing++
			}
		}
		return fmt.Sprintf("%d of %d are missing", missing, len(answers)), missing == 0
	})
	copies, drafts := 0, 0
	for id, one := range answers {
		mails := got[fmt.Sprintf("Answer %d.", id)]
		switch {
		case one.n != 1:
			a.t.Errorf("conversation %d has %d answers", id, one.n)
		case one.draft && len(mails) > 0:
			a.t.Errorf("conversation %d: the answer was called back, and has left", id)
		case !one.draft && (len(mails) != 1 || mails[one.messageID] == 0):
			a.t.Errorf("conversation %d: the answer %s has arrived as %v", id, one.messageID, mails)
		case a.back[id] != one.draft:
			a.t.Errorf("conversation %d: the desk said that the answer was called back: %t, and it is a draft: %t", id, a.back[id], one.draft)
		case one.closed != (id%kindsOfAnswers == 1 || id%kindsOfAnswers == 4 && !one.draft):
			a.t.Errorf("conversation %d is closed: %t", id, one.closed)
		}
		for _, n := range mails {
			copies += n - 1
		}
		if one.draft {
			drafts++
		}
	}
	a.t.Logf("%d deaths; of %d answers %d were called back, all others arrived, with %d copies of the same Message-ID", deaths, len(answers), drafts, copies)
	if drafts == 0 || len(answers) != kindsOfAnswers*16 {
		a.t.Errorf("of %d answers %d were called back", len(answers), drafts)
	}
	if limit := deaths * 8; copies > limit { // those that were on their way when the server died
		a.t.Errorf("%d copies", copies)
	}
}

// answered returns the content of a conversation.
type answered struct {
	n                    int
	draft, waits, closed bool
	messageID            string
}

func (a *answering) answers() map[int64]answered {
	a.t.Helper()
	found := map[int64]answered{}
	for _, c := range a.conversations() {
		one := answered{closed: c.Status == "closed"}
		for _, i := range all[struct {
			Type, Status string
			MessageID    string `json:"message_id"`
			Deliveries   []struct{ State string }
		}](a.process, fmt.Sprintf("/accounts/1/conversations/%d/interactions", c.ID)) {
			if i.Type != "user" {
				continue
			}
			one.n++
			one.draft, one.messageID = i.Status == "draft", i.MessageID
			one.waits = !one.draft && (len(i.Deliveries) != 1 || i.Deliveries[0].State != "sent")
		}
		found[c.ID] = one
	}
	return found
}
