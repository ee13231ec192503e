package outbound_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// received takes a raw mail in and returns the conversation that it opened.
func (w *world) received(raw string) int64 {
	w.t.Helper()
	ctx := context.Background()
	mails := []ledger.Raw{{Raw: []byte(strings.ReplaceAll(raw, "\n", "\r\n"))}}
	if err := w.svc.Intake().Take(ctx, w.account, w.box.ID, "smtp", mails, nil); err != nil {
		w.t.Fatal(err)
	}
	filer := must[*ingest.Filer](w.t)(ingest.NewFiler(ingest.FilerConfig{Intake: w.svc.Intake(), Now: w.clock}))
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobFileMail, AccountID: w.account, Subject: w.box.ID}}
	if err := filer.Handle(ctx, job); err != nil {
		w.t.Fatal(err)
	}
	page := must[storage.Page[helpdesk.Conversation]](w.t)(w.desk.Conversations().List(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))
	return page.Items[0].ID
}

// An answer is from one person to another, and not a mail of a list: it offers no way to unsubscribe (RFC 8058, RFC 2369)
// and does not call itself bulk, whatever it answers. Neither does a mail sent by a program, as there is no subscription to
// stop.
func TestNoFieldsOfLists(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	w.answer(helpdesk.InteractionInput{Body: "The first mail of a conversation"})
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	conversation := w.received(`From: Ann <ann@example.com>
To: support@example.org
Subject: News
Message-ID: <news@example.com>
List-Id: <news.example.com>
List-Post: <mailto:news@example.com>
List-Unsubscribe: <https://example.com/leave?u=1>, <mailto:leave@example.com>
List-Unsubscribe-Post: List-Unsubscribe=One-Click
Precedence: list
Feedback-ID: 1:2:3:4

Hello
`)
	must[helpdesk.Interaction](t)(w.desk.Interactions().Create(context.Background(), conversation, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "To a list's mail"}))
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	_, job := w.invite("Lise")
	if err := w.mailer(transport).Handle(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	if len(transport.mails) != 3 {
		t.Fatalf("%d mails were sent", len(transport.mails))
	}
	for i, raw := range transport.mails {
		head, _, _ := strings.Cut(raw, "\r\n\r\n")
		for line := range strings.SplitSeq(head, "\r\n") {
			name, _, _ := strings.Cut(strings.ToLower(line), ":")
			if strings.HasPrefix(name, "list-") || name == "precedence" || name == "feedback-id" {
				t.Errorf("mail %d has %s", i, line)
			}
		}
	}
}

// The References of a long thread are trimmed: the first one, which is the thread's root, and the latest are kept (RFC 5322
// section 3.6.4), and the answered mail is the last.
func TestReferencesOfALongThread(t *testing.T) {
	t.Parallel()
	w, transport := newWorld(t), &taken{}
	var ids []string
	for i := range 300 {
		ids = append(ids, fmt.Sprintf("<%d.%s@example.com>", i, strings.Repeat("x", 20)))
	}
	conversation := w.received("From: ann@example.com\nTo: support@example.org\nSubject: Long\nMessage-ID: <last@example.com>\nIn-Reply-To: " + ids[299] +
		"\nReferences: " + strings.Join(ids, "\n ") + "\n\nHello\n")
	must[helpdesk.Interaction](t)(w.desk.Interactions().Create(context.Background(), conversation, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Hi"}))
	if err := w.handle(w.sender(transport)); err != nil {
		t.Fatal(err)
	}
	raw := transport.mails[0]
	m := parse(t, raw)
	n := len(m.References)
	if n < 10 || n > 20 || m.References[n-1] != "last@example.com" || "<"+m.References[0]+">" != ids[0] {
		t.Errorf("%d references, %q", n, m.References)
	}
	if diff := cmp.Diff([]string{"last@example.com"}, m.InReplyTo); diff != "" {
		t.Error(diff)
	}
	var size int
	for i, id := range m.References[1 : n-1] {
		size += len(id) + 3
		if at := slices.Index(ids, "<"+id+">"); at != 300-(n-2)+i {
			t.Errorf("reference %d is the thread's %d", i+1, at)
		}
	}
	if size > 998 {
		t.Errorf("the references have %d bytes", size)
	}
}
