package desk_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// waiting are the times at which answers leave that wait for it.
func (b *bundle) waiting(id int64) (times []string) {
	b.Helper()
	found, err := b.store.Within(helpdesk.Scope{AccountID: b.box.AccountID}).Scheduled(b.Context(), []int64{id})
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range found {
		times = append(times, i.SendAt.Format(time.RFC3339))
	}
	return times
}

// A reply is told to leave at a time, sent now or made a draft again.
func TestSendLater(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	at := time.Now().Add(50 * time.Hour).UTC().Truncate(time.Minute)
	local := at.Format("2006-01-02T15:04")
	form := func(then, field string) url.Values {
		return url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Pull."}, "nonce": {then + field}, "seen": {"1"}, "then": {then}, "later_at": {field}}
	}
	for name, tt := range map[string]url.Values{
		"a button":     form(fmt.Sprintf("later-%d", at.Unix()), ""),
		"another time": form("later", local),
		"both":         form(fmt.Sprintf("later-%d", at.Unix()), "2031-01-01T00:00"),
	} {
		next := b.goOn(b.post("/c/1/send", tt))
		if got := b.waiting(1); len(got) != 1 || got[0] != at.Format(time.RFC3339) {
			t.Fatalf("%s: it leaves at %v", name, got)
		}
		if !strings.Contains(next, "Reply will be sent ") || !strings.Contains(next, "Sends ") || !strings.Contains(next, "Back to draft") || !strings.Contains(next, "Send now") {
			t.Errorf("%s: the page does not say when it leaves", name)
		}
		for _, list := range []string{"drafts", "all"} {
			if got := b.get("/inbox/" + list).body; !strings.Contains(got, "The door") || !strings.Contains(got, "Sends ") {
				t.Errorf("%s: the list %s does not show it", name, list)
			}
		}
		if got := b.goOn(b.post("/undo", url.Values{"undo": {value(next, "undo")}})); !strings.Contains(got, "The reply is a draft again") || len(b.waiting(1)) != 0 {
			t.Errorf("%s: it was not undone", name)
		}
		b.clear(1)
	}
	for name, tt := range map[string]url.Values{"no time": form("later", ""), "no date": form("later", "soon"), "the past": form("later-1000", ""), "in ten years": form("later", "2046-01-01T00:00")} {
		if got := b.post("/c/1/send", tt); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Pull.") {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	if got := b.said(1); len(got) != 1 {
		t.Errorf("refused, it is %v", got)
	}
	b.goOn(b.post("/c/1/send", form("later", local)))
	id := b.last(1).ID
	if got := b.goOn(b.post(fmt.Sprintf("/c/1/i/%d/now", id), nil)); len(b.waiting(1)) != 0 || !strings.Contains(got, "Reply ") {
		t.Errorf("now, %v wait", b.waiting(1))
	}
	b.goOn(b.post("/c/1/send", func() url.Values {
		f := form("later", local)
		f.Set("nonce", "again")
		f.Set("seen", fmt.Sprint(id))
		return f
	}()))
	id = b.last(1).ID
	if got := b.goOn(b.post(fmt.Sprintf("/c/1/i/%d/back", id), nil)); !strings.Contains(got, "The reply is a draft again") || !strings.Contains(got, "Pull.") {
		t.Error("called back, it is not in the composer")
	}
}

// clear removes the drafts of a conversation.
func (b *bundle) clear(id int64) {
	b.Helper()
	page, err := b.desk.Interactions().List(b.Context(), id, storage.PageRequest{})
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range page.Items {
		if i.Status == helpdesk.StatusDraft {
			if err := b.desk.Interactions().Delete(b.Context(), id, i.ID); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// last is the newest interaction of a conversation.
func (b *bundle) last(id int64) helpdesk.Interaction {
	b.Helper()
	page, err := b.desk.Interactions().List(b.Context(), id, storage.PageRequest{})
	if err != nil {
		b.Fatal(err)
	}
	return page.Items[len(page.Items)-1]
}

// If the customer writes first, the thread explains why the reply was not sent.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("Ada Lovelace <ada@example.com>", "The door", "It is stuck.")
	b.goOn(b.post("/c/1/send", url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Pull."}, "nonce": {"1"}, "seen": {"1"}, "then": {fmt.Sprintf("later-%d", time.Now().Add(time.Hour).Unix())}}))
	if _, err := b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "Forget it."}); err != nil {
		t.Fatal(err)
	}
	got := b.get("/c/1").body
	if !strings.Contains(got, "A reply was not sent because ") || !strings.Contains(got, "Pull.") || strings.Contains(got, "Back to draft") {
		t.Error("the page does not say what became of the reply")
	}
	if got := b.get("/inbox/drafts").body; !strings.Contains(got, "The door") || strings.Contains(got, "Sends ") {
		t.Error("it is not among the drafts")
	}
}

// A browser that lost the answer submits the form again: the desk acts once, and reports the result again.
func TestFormsSentAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	if _, err := b.desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", SendHold: storage.Some(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	for n, then := range []string{"", "close", "pending", fmt.Sprintf("later-%d", time.Now().Add(time.Hour).Unix())} {
		c := b.asks("ada@example.com", "The door", "It is stuck.")
		at := fmt.Sprintf("/c/%d", c.ID)
		form := url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Pull."}, "nonce": {fmt.Sprint(n)}, "then": {then}, "anyway": {"1"}}
		b.post(at+"/send", form)
		undo := value(b.goOn(b.post(at+"/send", form)), "undo")
		for range 2 {
			if got := b.goOn(b.post("/undo", url.Values{"undo": {undo}})); !strings.Contains(got, "The reply is a draft again") {
				t.Errorf("%q: the desk does not say that the reply is a draft again", then)
			}
		}
		got, err := b.desk.Conversations().Get(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		last := b.last(c.ID)
		if got.Status != helpdesk.StatusPosted || last.Status != helpdesk.StatusDraft {
			t.Errorf("%q: undone, the conversation is %s and the reply %s", then, got.Status, last.Status)
		}
		// The same draft is sent, and called back, once more.
		form.Set("nonce", fmt.Sprint("again ", n))
		form.Set("draft", fmt.Sprint(last.ID))
		b.goOn(b.post(at+"/send", form))
		for range 2 {
			if got := b.goOn(b.post(fmt.Sprintf("%s/i/%d/back", at, last.ID), nil)); !strings.Contains(got, "The reply is a draft again") {
				t.Errorf("%q: called back, the desk does not say so", then)
			}
		}
		form.Set("nonce", fmt.Sprint("and again ", n))
		undo = value(b.goOn(b.post(at+"/send", form)), "undo")
		if b.goOn(b.post("/undo", url.Values{"undo": {undo}})); b.last(c.ID).Status != helpdesk.StatusDraft {
			t.Errorf("%q: it was undone once, and not again", then)
		}
	}
}
