package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// A mail forwarded by a member shows the original mail, the forwarding member, and its times.
func TestForwardedMailIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	box, err := w.desk(t).Mailboxes().Create(t.Context(), helpdesk.MailboxInput{})
	if err != nil {
		t.Fatal(err)
	}
	raw := ledger.Raw{Raw: []byte("mail"), Position: "1", DeliveredAt: time.Date(2023, 1, 3, 8, 0, 0, 0, time.UTC), Authentication: ledger.Authentication{
		Source: "intake", FromAligned: true, DMARC: ledger.AuthPolicy{Result: "pass", Domain: "example.org"},
	}}
	if err := w.svc.Intake().Take(t.Context(), w.account.ID, box.ID, "imap", []ledger.Raw{raw}, nil); err != nil {
		t.Fatal(err)
	}
	waiting, err := w.svc.Intake().Waiting(t.Context(), w.account.ID, box.ID, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	row, err := w.svc.Intake().File(t.Context(), w.account.ID, waiting[0].ID, ledger.Incoming{
		Message: message.Message{
			From: []mailaddr.Address{{Name: "Alf", Email: "agent@example.org"}}, Subject: "Fwd: Door", Date: time.Date(2023, 1, 3, 7, 0, 0, 0, time.UTC),
			Text: "Yours\n\n---------- Forwarded message ---------\nFrom: Ada <ada@example.com>\nDate: Mon, Jan 2, 2023 at 3:04 PM\nSubject: Door\nTo: <agent@example.org>\n\nIt is stuck.",
		}, Identity: []byte("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := w.must(t, "GET", fmt.Sprintf("/accounts/%d/conversations/%d/interactions/%d", w.account.ID, row.ConversationID, row.InteractionID), "")
	var got map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	address := func(name, email string) []any { return []any{map[string]any{"name": name, "email": email}} }
	forwarded, _ := got["forwarded"].(map[string]any)
	if id, _ := forwarded["user_id"].(float64); id == 0 {
		t.Errorf("forwarded by nobody: %v", forwarded)
	}
	delete(forwarded, "user_id")
	want := map[string]any{
		"from": address("Alf", "agent@example.org"), "sent_at": "2023-01-03T07:00:00+00:00", "received_at": "2023-01-03T08:00:00+00:00", "body": "It is stuck.", "subject": "Door",
		"forwarded": map[string]any{
			"from": address("Ada", "ada@example.com"), "reply_to": []any{}, "to": address("", "agent@example.org"), "cc": []any{},
			"subject": "Door", "sent_at": "2023-01-02T15:04:00+00:00", "message_id": nil,
		},
	}
	for key := range got {
		if _, asked := want[key]; !asked {
			delete(got, key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
