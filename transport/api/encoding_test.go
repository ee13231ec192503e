package api

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// An event is encoded once, and its encoding is never sent for another one: not for another account, nor for one with the
// same Seq that differs in any way.
func TestEncodings(t *testing.T) {
	t.Parallel()
	made := 0
	encode := func(account int64, e storage.Event) subscription.CloudEvent {
		made++
		return subscription.CloudEvent{ID: e.Type, Subject: string(rune('0' + account)), Data: []byte(`{}`)}
	}
	var c encodings
	at := time.Unix(1, 0)
	first := storage.Event{Seq: 5, Type: "a.b", Subject: 1, MailboxID: 2, ConversationID: 3, ActorID: 4, Data: []byte("{}"), Time: at}
	variants := map[string]func(account *int64, e *storage.Event){
		"account":      func(account *int64, _ *storage.Event) { *account = 257 },
		"account, Seq": func(account *int64, e *storage.Event) { *account, e.Seq = 2, 4 },
		"Seq":          func(_ *int64, e *storage.Event) { e.Seq += 256 },
		"Type":         func(_ *int64, e *storage.Event) { e.Type = "a.c" },
		"Subject":      func(_ *int64, e *storage.Event) { e.Subject++ },
		"MailboxID":    func(_ *int64, e *storage.Event) { e.MailboxID++ },
		"Conversation": func(_ *int64, e *storage.Event) { e.ConversationID++ },
		"ActorID":      func(_ *int64, e *storage.Event) { e.ActorID++ },
		"Data":         func(_ *int64, e *storage.Event) { e.Data = nil },
		"Time":         func(_ *int64, e *storage.Event) { e.Time = at.Add(time.Microsecond) },
	}
	for name, change := range variants {
		for range 2 {
			if _, err := c.of(1, first, encode); err != nil {
				t.Fatal(err)
			}
		}
		before := made
		account, e := int64(1), first
		change(&account, &e)
		if _, err := c.of(account, e, encode); err != nil || made != before+1 {
			t.Errorf("%s: the encoding of another event, %v", name, err)
		}
	}
	before := made
	for range 3 {
		if _, err := c.of(1, storage.Event{Seq: 77}, encode); err != nil {
			t.Fatal(err)
		}
	}
	if made != before+1 {
		t.Errorf("encoded %d times", made-before)
	}
}
