package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deskClient sends forms of the desk as a browser does, again whenever the connection is lost.
type deskClient struct {
	*process
	session string
}

// signInDesk signs the first user in with a new password.
func (s *process) signInDesk() *deskClient {
	s.t.Helper()
	const password = "correct horse battery"
	var me object[struct{ Email string }]
	s.ok("PUT", "/user", url.Values{"name": {"Agent"}, "password": {password}}, &me)
	c := &deskClient{process: s}
	res := c.form("/desk/sign-in", url.Values{"email": {me.Data.Email}, "password": {password}})
	if res == nil {
		s.t.Fatal("nobody answered")
	}
	for _, one := range res.Cookies() {
		if strings.Contains(one.Name, "session") {
			c.session = one.Name + "=" + one.Value
		}
	}
	if c.session == "" {
		s.t.Fatalf("no session: %d", res.StatusCode)
	}
	return c
}

// form sends a form once; nil: no whole answer came.
func (c *deskClient) form(path string, form url.Values) *http.Response {
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.http+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Error(err)
		return nil
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", c.session)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || res.StatusCode >= http.StatusInternalServerError {
		return nil
	}
	_ = res.Body.Close()
	return res
}

// sendUntilAnswered answers a conversation and closes it.
func (c *deskClient) sendUntilAnswered(id int64) {
	form := url.Values{
		"kind": {"reply"}, "to": {"ada@example.com"}, "body": {fmt.Sprintf("Answer %d", id)}, "then": {"close"}, "nonce": {fmt.Sprintf("nonce-%d", id)}, "anyway": {"1"},
	}
	for {
		res := c.form(fmt.Sprintf("/desk/a/1/c/%d/send", id), form)
		switch {
		case res == nil:
			time.Sleep(20 * time.Millisecond)
			continue
		case res.StatusCode != http.StatusSeeOther:
			c.t.Errorf("conversation %d: status %d", id, res.StatusCode)
		case rand.IntN(3) == 0: // a double click
			c.form(fmt.Sprintf("/desk/a/1/c/%d/send", id), form)
		}
		return
	}
}

// TestKillWhileSendingFromTheDesk kills the server while agents send forms, again and again until they are answered: every
// answer is there once, and its conversation closed.
func TestKillWhileSendingFromTheDesk(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		relay := newSink(t, 0)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		c := s.signInDesk()
		work := make(chan int64, 400)
		for range cap(work) {
			var made object[struct{ ID int64 }]
			s.ok("POST", "/accounts/1/conversations", url.Values{
				"channel": {"email"}, "to": {"ada@example.com"}, "interactions[0][type]": {"customer"}, "interactions[0][body]": {"A question"},
			}, &made)
			work <- made.Data.ID
		}
		close(work)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for id := range work {
					c.sendUntilAnswered(id)
				}
			})
		}
		killing(nil, s)
		group.Wait()
		want, got := map[string]int{}, map[string]int{}
		for _, one := range s.conversations() {
			want[fmt.Sprintf("user posted Answer %d, closed", one.ID)] = 1
			for _, i := range s.interactions(one.ID) {
				if i.Type == "user" {
					got[fmt.Sprintf("user %s %s, %s", state(i.MessageID), strings.TrimSpace(i.Body), one.Status)]++
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) != cap(work) {
			t.Errorf("%d conversations: %s", len(want), diff)
		}
		mails, again := relay.counts()
		t.Logf("%d answers left, %d copies of them", mails, again)
	})
}

// state is the state of an answer: a posted answer has a Message-ID.
func state(messageID string) string {
	if messageID == "" {
		return "draft"
	}
	return "posted"
}
