package helpdesk_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// eve is a customer in all of whose data the word is.
const word = "zanzibar"

var eve = mailaddr.Address{Name: "Eve " + word, Email: "eve@" + word + ".example"}

// toErase is a help desk with a customer who left traces everywhere.
type toErase struct {
	*bundle
	eve         int64
	own, others int64 // conversations
	ownNumber   int64
}

func newToErase(t *testing.T) *toErase {
	t.Helper()
	b := newBundle(t)
	e := &toErase{bundle: b}
	support := []mailaddr.Address{{Email: "support@example.org"}}
	first := b.receive(ledger.Incoming{
		Message: message.Message{
			MessageID: "1@" + word, From: []mailaddr.Address{eve}, To: support, Subject: "I live in " + word, Text: "My street in " + word,
			Attachments: []message.Part{{Filename: word + ".txt", Body: []byte(word)}},
		},
	})
	e.own = first.ConversationID
	c := b.conversation(e.own)
	e.eve, e.ownNumber = c.CustomerID, c.Number
	must(b.desk.Customers().Update(b.ctx, e.eve, helpdesk.CustomerInput{
		FirstName: storage.Some(word), Note: storage.Some(word), Company: storage.Some(word), Phones: storage.Some([]helpdesk.Item{{Value: "555 " + word}}),
		Emails: storage.Some([]helpdesk.Item{{ID: must(b.desk.Customers().Get(b.ctx, e.eve))(t).Emails[0].ID, Value: eve.Email}, {Value: "second@" + word + ".example"}}),
	}))(t)
	b.answer(e.own, helpdesk.InteractionInput{Body: "Dear " + word})
	b.answer(e.own, helpdesk.InteractionInput{Body: "Draft for " + word, Status: helpdesk.StatusDraft})
	b.note(e.own, "Is "+word+" nice?")
	e.others = b.receive(ledger.Incoming{
		Message: message.Message{
			MessageID: "2@example.com", From: []mailaddr.Address{ada}, To: support, Cc: []mailaddr.Address{eve}, Subject: "The door is stuck", Text: "It does not open.",
		},
	}).ConversationID
	b.receive(ledger.Incoming{
		Message: message.Message{
			MessageID: "3@" + word, InReplyTo: []string{"2@example.com"}, From: []mailaddr.Address{eve}, To: support, Subject: "Re: The door is stuck", Text: "Not in " + word,
		},
	})
	b.answer(e.others, helpdesk.InteractionInput{Cc: []string{eve.Email}, Body: "Have you tried to pull?"})
	must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: eve.Email}))(t)
	must(b.desk.BlockedSenders().Block(b.ctx, "second@"+word+".example"))(t)
	b.receive(ledger.Incoming{ // ignored as a double
		Message: message.Message{
			MessageID: "1@" + word, From: []mailaddr.Address{eve}, To: support, Subject: "I live in " + word, Text: "My street in " + word,
		},
	})
	b.clock.Add(time.Hour)
	return e
}

// everything returns all data in the store, except the blobs.
func (b *bundle) everything() string {
	b.t.Helper()
	var all []any
	add := func(v any, err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, v)
	}
	every := storage.Seek{Limit: storage.NoLimit}
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		r := tx.Reader()
		conversations := must(r.Conversations().List(ctx, helpdesk.ConversationOrder{}, every))(b.t)
		all = append(all, conversations)
		for _, c := range conversations {
			said := must(r.Interactions().List(ctx, helpdesk.InteractionFilter{ConversationID: c.ID}, every))(b.t)
			all = append(all, said)
			for _, i := range said {
				add(r.Attachments().List(ctx, helpdesk.AttachmentFilter{InteractionIDs: []int64{i.ID}}, every))
				add(r.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, every))
			}
			add(r.Participants(ctx, c.ID, 100))
			add(tx.SearchTerms(ctx, c.ID))
		}
		add(r.Customers(ctx, helpdesk.CustomerFilter{}, every))
		add(r.InboundMails(ctx, ledger.Filter{}, every))
		add(helpdesk.Nouns().Suppressions.Reader(r).List(ctx, sending.SuppressionFilter{}, every))
		add(helpdesk.Nouns().BlockedSenders.Reader(r).List(ctx, helpdesk.BlockedSenderFilter{}, every))
		add(helpdesk.Nouns().Erasures.Reader(r).List(ctx, helpdesk.ErasureFilter{}, every))
		add(r.AuditLog(ctx, helpdesk.AuditFilter{}, every))
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	add(b.store.Events(b.ctx, b.account.ID, 0, 10000))
	return string(must(json.Marshal(all))(b.t))
}

// After a customer was erased nothing of them is left, and conversations and log still make sense.
func TestEraseCustomer(t *testing.T) {
	t.Parallel()
	b := newToErase(t)
	if !strings.Contains(b.everything(), word) {
		t.Fatal("there is nothing to erase")
	}
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	if all := strings.ToLower(b.everything()); strings.Contains(all, word) {
		at := strings.Index(all, word)
		t.Errorf("left is ...%s...", all[max(0, at-300):min(len(all), at+100)])
	}
	b.finds(word)
	b.finds("stuck", b.others)
	own := b.conversation(b.own)
	want := helpdesk.Conversation{Number: b.ownNumber, Status: helpdesk.StatusClosed, CustomerEmail: helpdesk.ErasedCustomer, Preview: "Erased."}
	got := helpdesk.Conversation{Number: own.Number, Status: own.Status, CustomerEmail: own.CustomerEmail, Subject: own.Subject, Preview: own.Preview}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if name := must(b.desk.Customers().Get(b.ctx, own.CustomerID))(t).Name(); name != "Erased customer" {
		t.Errorf("it is of %s", name)
	}
	said := func(id int64) (all []string) {
		for _, i := range b.interactions(id) {
			all = append(all, string(i.Type)+" "+i.CustomerEmail+" "+i.Body)
		}
		return all
	}
	if diff := cmp.Diff([]string{"customer " + helpdesk.ErasedCustomer + " <p>Erased.</p>", "user  <p>Erased.</p>", "note  <p>Erased.</p>"}, said(b.own)); diff != "" {
		t.Error(diff)
	}
	wantOthers := []string{"customer " + ada.Email + " It does not open.", "customer " + helpdesk.ErasedCustomer + " <p>Erased.</p>", "user  Have you tried to pull?"}
	if diff := cmp.Diff(wantOthers, said(b.others)); diff != "" {
		t.Error(diff)
	}
	if _, err := b.desk.Customers().Get(b.ctx, b.eve); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("the customer: %v", err)
	}
	if log := b.audit(helpdesk.AuditFilter{Action: "customer.erased"}); len(log) != 1 {
		t.Errorf("the audit log has %v", log)
	}
	b.purged()
	if n := b.stored(); n != 1 { // the raw mail of Ada
		t.Errorf("%d blobs are left", n)
	}

	stones := must(b.desk.Account().Erasures(b.ctx, "", storage.PageRequest{}))(t).Items
	if len(stones) != 2 || stones[0].CustomerID != b.eve || stones[0].UserID != b.owner.ID || !stones[0].ErasedAt.Equal(b.clock.Now()) {
		t.Errorf("tombstones: %+v", stones)
	}
	for email, n := range map[string]int{strings.ToUpper(eve.Email): 1, "second@" + word + ".example": 1, ada.Email: 0, helpdesk.ErasedCustomer: 0} {
		if found := must(b.desk.Account().Erasures(b.ctx, email, storage.PageRequest{}))(t).Items; len(found) != n {
			t.Errorf("%d tombstones of %s, not %d", len(found), email, n)
		}
	}
	if err := b.desk.Customers().Erase(b.ctx, own.CustomerID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("erasing the placeholder: %v", err)
	}
	if err := b.desk.Customers().Erase(b.ctx, b.eve); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("erasing again: %v", err)
	}
}

// Mail from before the erasure does not come back in any way; a new mail creates a new customer.
func TestErasedMailDoesNotComeBack(t *testing.T) {
	t.Parallel()
	b := newToErase(t)
	before := b.clock.Now().Add(-time.Minute)
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	after := b.clock.Now().Add(time.Minute)
	b.clock.Add(time.Hour)
	support := mailaddr.Address{Email: "support@example.org"}
	second := mailaddr.Address{Email: "Second@" + strings.ToUpper(word) + ".example"}
	for name, test := range map[string]struct {
		source string
		mail   ledger.Incoming
		back   bool
	}{
		"fetched again":                     {"imap", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}}, LastHop: before}, false},
		"of the second address":             {"pop3", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{second}}, LastHop: before}, false},
		"fetched, written since":            {"imap", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}}, LastHop: after}, true},
		"fetched, with a wrong Date":        {"imap", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, Date: before}, LastHop: after}, true},
		"fetched, known by its Date":        {"imap", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, Date: before}}, false},
		"fetched, in the name of another":   {"imap", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: "no-reply@forms.example"}}, ReplyTo: []mailaddr.Address{eve}}, LastHop: before}, false},
		"of an archive":                     {ledger.SourceImport, ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, Date: before}, Archived: true}, false},
		"our answer of an archive":          {ledger.SourceImport, ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: []mailaddr.Address{eve}, Date: before}, Archived: true}, false},
		"our later answer of an archive":    {ledger.SourceImport, ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: []mailaddr.Address{eve}, Date: after}, Archived: true}, true},
		"sent now":                          {"smtp", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, Date: before}}, true},
		"of another customer, from before":  {"imap", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{ada}}, LastHop: before}, true},
		"an answer to what was erased, now": {"smtp", ledger.Incoming{Message: message.Message{From: []mailaddr.Address{eve}, InReplyTo: []string{"1@" + word}}}, true},
	} {
		b.source = test.source
		if test.mail.To == nil {
			test.mail.To = []mailaddr.Address{support}
		}
		test.mail.Subject, test.mail.Text, test.mail.MessageID = name, name, strings.ReplaceAll(name, " ", "-")+"@example.net"
		row := b.receive(test.mail)
		if got := row.State == ledger.Filed; got != test.back {
			t.Errorf("%s: %s (%s)", name, row.State, row.Reason)
		} else if !test.back && (row.RawKey != "" || row.From.Email != "" || row.Subject != "" || row.MessageID != "" || row.Reason != "its sender was erased as a customer") {
			t.Errorf("%s leaves %+v", name, row)
		}
		if test.back && row.ConversationID == b.own {
			t.Errorf("%s joins the conversation that was erased", name)
		}
	}
}

// A reply token does not lead into a conversation whose customer was erased.
func TestReplyTokenOfErased(t *testing.T) {
	t.Parallel()
	b := newToErase(t)
	begun := must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, b.interactions(b.own)[1].ID, 1))(t)
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	b.clock.Add(time.Minute)
	row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "9@example.net", From: []mailaddr.Address{eve}, To: []mailaddr.Address{{Email: begun.ReplyTo}}, Subject: "Again", Text: "Hello"}})
	if row.State != ledger.Filed || row.ConversationID == b.own {
		t.Errorf("filed as %+v", row)
	}
	if c := b.conversation(row.ConversationID); c.CustomerID == b.eve || c.CustomerEmail != eve.Email {
		t.Errorf("it is of %d, %s", c.CustomerID, c.CustomerEmail)
	}
}

// An export of another help desk from before the erasure brings nothing back.
func TestErasedDoNotMoveIn(t *testing.T) {
	t.Parallel()
	b := newToErase(t)
	before := b.clock.Now().Add(-24 * time.Hour)
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	b.clock.Add(24 * time.Hour)
	move := b.svc.MoveIn()
	people := []helpdesk.ImportedCustomer{
		{Name: "Eve", Emails: []string{"other@example.com", eve.Email}, Note: word}, {Name: "Bob", Emails: []string{"bob@example.com"}},
	}
	message := func(key string, from mailaddr.Address, at time.Time) helpdesk.ImportedMessage {
		return helpdesk.ImportedMessage{Key: key, Type: helpdesk.TypeCustomer, Author: from, Cc: []mailaddr.Address{eve, {Email: "bob@example.com"}}, Text: "Text of " + from.Name, At: at}
	}
	past := []helpdesk.ImportedConversation{
		{Key: "hers", Customer: eve, Messages: []helpdesk.ImportedMessage{message("1", eve, before)}},
		{Key: "his", Customer: ada, Messages: []helpdesk.ImportedMessage{message("1", ada, before), message("2", eve, before)}},
		{Key: "later", Customer: eve, Messages: []helpdesk.ImportedMessage{message("1", mailaddr.Address{Email: eve.Email}, b.clock.Now().Add(-time.Hour))}},
	}
	for _, in := range []*helpdesk.MoveIn{move.Rehearsal(), move} {
		if done := must(in.Customers(b.ctx, b.account.ID, people))(t); len(done.Created) != 1 || len(done.Changed) != 0 || done.Erased != 1 {
			t.Errorf("customers: %+v", done)
		}
	}
	rehearsed := must(move.Rehearsal().File(b.ctx, b.account.ID, b.mailbox.ID, "test", past))(t)
	if !rehearsed[0].Erased || rehearsed[1].Customers+rehearsed[2].Customers != 1 {
		t.Errorf("rehearsed: %+v", rehearsed)
	}
	for range 2 {
		results := must(move.File(b.ctx, b.account.ID, b.mailbox.ID, "test", past))(t)
		if !results[0].Erased || results[0].ConversationID != 0 || results[1].Erased || results[2].Erased || results[2].ConversationID == 0 {
			t.Fatalf("results: %+v", results)
		}
		said := b.interactions(results[1].ConversationID)
		if len(said) != 2 || said[1].CustomerEmail != helpdesk.ErasedCustomer || said[1].Body != "<p>Erased.</p>" || !slices.Equal(said[0].Cc, []string{"bob@example.com"}) {
			t.Errorf("in the other's conversation: %+v", said)
		}
	}
}

// Tombstones written by one account are applied to a restored one, which forgot the erasure.
func TestApplyErasures(t *testing.T) {
	t.Parallel()
	b, restored := newToErase(t), newToErase(t)
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if n := must(b.svc.Operator().WriteErasures(b.ctx, b.account.ID, &file))(t); n != 2 || strings.Contains(file.String(), word) {
		t.Errorf("%d tombstones: %s", n, file.String())
	}
	// Another customer has erasures and a key of its own here, and one came since.
	bob := must(restored.desk.Customers().Create(restored.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Bob"), Emails: storage.Some([]helpdesk.Item{{Value: "bob@example.com"}})}))(t)
	if err := restored.desk.Customers().Erase(restored.ctx, bob.ID); err != nil {
		t.Fatal(err)
	}
	restored.clock.Add(time.Hour)
	operator := restored.svc.Operator()
	apply := func(dryRun bool) helpdesk.AppliedErasures {
		return must(operator.ApplyErasures(restored.ctx, restored.account.ID, bytes.NewReader(file.Bytes()), dryRun))(t)
	}
	if diff := cmp.Diff(helpdesk.AppliedErasures{Tombstones: 2, Customers: 1}, apply(true)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(restored.everything(), word) {
		t.Error("a dry run erased")
	}
	if diff := cmp.Diff(helpdesk.AppliedErasures{Tombstones: 2, New: 2, Customers: 1}, apply(false)); diff != "" {
		t.Error(diff)
	}
	if all := strings.ToLower(restored.everything()); strings.Contains(all, word) {
		t.Error("something is left")
	}
	// Customers who wrote since the erasure did so of their own accord.
	restored.receive(ledger.Incoming{Message: message.Message{MessageID: "7@example.net", From: []mailaddr.Address{eve}, Subject: "Hello", Text: "Again"}})
	if diff := cmp.Diff(helpdesk.AppliedErasures{Tombstones: 2}, apply(false)); diff != "" {
		t.Error(diff)
	}
	for email, n := range map[string]int{eve.Email: 2, "bob@example.com": 1} { // under both keys
		if found := must(operator.Erasures(restored.ctx, restored.account.ID, email, storage.PageRequest{}))(t).Items; len(found) != n {
			t.Errorf("%d tombstones of %s", len(found), email)
		}
	}
	restored.source = "imap"
	row := restored.receive(ledger.Incoming{Message: message.Message{MessageID: "8@example.net", From: []mailaddr.Address{eve}, Subject: "Old", Text: "Old"}, LastHop: b.clock.Now().Add(-time.Hour)})
	if row.State != ledger.Ignored {
		t.Errorf("a mail from before is %s", row.State)
	}
	lines := strings.SplitAfter(file.String(), "\n")
	for name, text := range map[string]string{
		"empty": "", "another format": `{"format":"other","version":1}`, "a later version": strings.Replace(file.String(), `"version":1`, `"version":2`, 1),
		"no head": lines[1], "half a line": lines[0] + lines[1][:20], "no keys": `{"format":"helpwright erasures","version":1}` + "\n" + lines[1],
		"a short key": `{"format":"helpwright erasures","version":1,"keys":["YQ=="]}`, "a short digest": lines[0] + `{"digest":"YQ==","erased_at":"2026-01-01T00:00:00Z"}`,
		"the future": lines[0] + strings.Replace(lines[1], "2026-", "2126-", 1), "a long line": lines[0] + strings.Repeat("x", 1<<20),
	} {
		_, err := operator.ApplyErasures(restored.ctx, restored.account.ID, strings.NewReader(text), false)
		if !errors.Is(err, helpdesk.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files that were joined by hand may name an address twice: the later time counts, in any order.
func TestApplyErasuresTwice(t *testing.T) {
	t.Parallel()
	b := newToErase(t)
	if err := b.desk.Customers().Erase(b.ctx, b.eve); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	must(b.svc.Operator().WriteErasures(b.ctx, b.account.ID, &file))(t)
	lines := strings.SplitAfter(file.String(), "\n")
	var stone map[string]any
	if err := json.Unmarshal([]byte(lines[1]), &stone); err != nil {
		t.Fatal(err)
	}
	late := b.clock.Now().Add(time.Minute)
	stone["erased_at"] = late
	later := string(must(json.Marshal(stone))(t)) + "\n"
	for name, text := range map[string]string{"the later one last": lines[0] + lines[1] + later, "first": lines[0] + later + lines[1], "alike": lines[0] + later + later} {
		restored := newToErase(t)
		restored.clock.Add(time.Hour)
		operator := restored.svc.Operator()
		got := must(operator.ApplyErasures(restored.ctx, restored.account.ID, strings.NewReader(text), false))(t)
		if diff := cmp.Diff(helpdesk.AppliedErasures{Tombstones: 1, New: 1, Customers: 1}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, e := range must(operator.Erasures(restored.ctx, restored.account.ID, "", storage.PageRequest{}))(t).Items {
			if bytes.Equal(e.Digest, must(base64.StdEncoding.DecodeString(stone["digest"].(string)))(t)) && !e.ErasedAt.Equal(late) { //nolint:forcetypeassert // written above
				t.Errorf("%s: erased at %s", name, e.ErasedAt)
			}
		}
	}
}

// FuzzApplyErasures applies arbitrary files.
func FuzzApplyErasures(f *testing.F) {
	f.Add([]byte(`{"format":"helpwright erasures","version":1,"keys":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}` + "\n" +
		`{"digest":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","erased_at":"2026-01-01T00:00:00Z","customer_id":1}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		b := newBundle(t)
		_, err := b.svc.Operator().ApplyErasures(b.ctx, b.account.ID, bytes.NewReader(file), true)
		if err != nil && !errors.Is(err, helpdesk.ErrInvalid) {
			t.Error(err)
		}
	})
}
