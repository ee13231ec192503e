package helpdesk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func begin(b *bundle, interactionID int64) helpdesk.OutgoingMail {
	b.t.Helper()
	return must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, interactionID, 1))(b.t)
}

// report reports the same outcome for every recipient.
func report(b *bundle, mail helpdesk.OutgoingMail, state sending.State) time.Time {
	b.t.Helper()
	var outcomes []helpdesk.Outcome
	for _, d := range mail.Due {
		outcomes = append(outcomes, helpdesk.Outcome{DeliveryID: d.ID, State: state, Code: 250, Response: "as told"})
	}
	return must(b.svc.Outgoing().Report(b.ctx, b.account.ID, mail.InteractionID, outcomes))(b.t)
}

// The name of the sender takes both ways to write a placeholder, and leaves other text as it is.
func TestFromName(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		":user.name at :mailbox.name":             "Bob at Support",
		"{{agent.name}} at {{ mailbox.name }}":    "Bob at Support",
		"Team {{x}} :user, 100% {braces}":         "Team {{x}} :user, 100% {braces}",
		"":                                        "Support",
		":user.name:user.name{{agent.name}}, Inc": "BobBobBob, Inc",
	} {
		if got := helpdesk.FromName(helpdesk.Mailbox{Name: "Support", From: from}, "Bob"); got != want {
			t.Errorf("%q became %q, want %q", from, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{From: storage.Some("{{agent.name}} at {{mailbox.name}}")}))(t)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{
		Body: "<p>Have you <script>alert(1)</script>tried to pull?</p>",
		Cc:   []string{"Charles <charles@example.com>", "CHARLES@example.com"}, Bcc: []string{"boss@example.org", "ada@example.com"},
	})
	if strings.Contains(i.Body, "script") {
		t.Errorf("the body is %q", i.Body)
	}
	c := b.conversation(id)
	if !c.AwaitingSince.IsZero() || b.unread(id) != 0 || c.Preview != "Have you tried to pull?" {
		t.Errorf("after the answer the conversation is %+v", c)
	}
	mail := begin(b, i.ID)
	type view struct {
		From       mailaddr.Address
		To, Cc     []string
		Recipients []string
		Subject    string
		IsReply    bool
		References []string
	}
	got := view{mail.From, mail.To, mail.Cc, nil, mail.Subject, mail.IsReply, mail.References}
	for _, d := range mail.Due {
		got.Recipients = append(got.Recipients, d.Field+" "+d.Address)
	}
	want := view{
		From: mailaddr.Address{Name: "Olga Owner at Support", Email: "support@example.org"},
		To:   []string{"ada@example.com"}, Cc: []string{"charles@example.com"},
		Recipients: []string{"to ada@example.com", "cc charles@example.com", "bcc boss@example.org"},
		Subject:    "The door is stuck", IsReply: true, References: []string{"1@example.com"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := begin(b, i.ID); again.MessageID != mail.MessageID || !again.Date.Equal(mail.Date) {
		t.Error("a second try is another mail")
	}
	if next := report(b, mail, sending.Sent); !next.IsZero() {
		t.Errorf("a next try at %v", next)
	}
	if left := begin(b, i.ID); len(left.Due) != 0 {
		t.Errorf("%d recipients wait after all were sent", len(left.Due))
	}
}

func TestMessageIDIsASCII(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Email: storage.Some("hilfe@bücher.example")}))(t)
	i := b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{})
	if !strings.HasSuffix(i.MessageID, "@xn--bcher-kva.example") {
		t.Errorf("the Message-ID is %s", i.MessageID)
	}
}

func TestDeferredUntilGivenUp(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{})
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	tries := 0
	for next := b.clock.Now(); !next.IsZero(); tries++ {
		if tries > 100 {
			t.Fatal("it is tried forever")
		}
		b.clock.Add(next.Sub(b.clock.Now()))
		mail := begin(b, i.ID)
		if len(mail.Due) != 1 {
			t.Fatalf("try %d: %d recipients are due", tries, len(mail.Due))
		}
		next = report(b, mail, sending.Deferred)
	}
	d := must(b.desk.Interactions().Deliveries(b.ctx, []int64{i.ID}))(t)[0]
	if d.State != sending.Failed || d.Attempts != tries || tries < 20 {
		t.Errorf("after %d tries the delivery is %s with %d attempts", tries, d.State, d.Attempts)
	}
	if c := b.conversation(id); c.Status != helpdesk.StatusPosted {
		t.Errorf("a failed answer leaves the conversation %s", c.Status)
	}
}

func TestDraftAndEdits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	agent := b.member(identity.RoleAgent)
	draft := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft}))(t)
	if draft.PostedByID != 0 || draft.MessageID != "" {
		t.Errorf("the draft is %+v", draft)
	}
	if _, err := b.svc.Outgoing().Begin(b.ctx, b.account.ID, draft.ID, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("a draft is sent: %v", err)
	}
	post := helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}
	if _, err := agent.Interactions().Update(b.ctx, id, draft.ID, post); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("an empty draft was posted: %v", err)
	}
	post.Body = storage.Some("Pull.")
	posted := must(agent.Interactions().Update(b.ctx, id, draft.ID, post))(t)
	if posted.UserID != b.owner.ID || posted.PostedByID != agent.UserID() || posted.MessageID == "" {
		t.Errorf("posted: %+v", posted)
	}
	edit := helpdesk.InteractionUpdate{Body: storage.Some("Pull!"), To: storage.Some([]string{"new@example.com"})}
	edited := must(b.desk.Interactions().Update(b.ctx, id, draft.ID, edit))(t)
	if edited.MessageID != posted.MessageID {
		t.Error("an edit before sending made another mail")
	}
	back := helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusDraft)}
	if _, err := b.desk.Interactions().Update(b.ctx, id, draft.ID, back); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("a posted one became a draft: %v", err)
	}
	mail := begin(b, draft.ID)
	if len(mail.Due) != 1 || mail.Due[0].Address != "new@example.com" || mail.HTML != "Pull!" {
		t.Errorf("sent is %+v", mail)
	}
	if _, err := b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some("Push!")}); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("a sent mail was edited: %v", err)
	}
	must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some("Pull!")}))(t) // no change
	_, err := b.desk.Attachments().Create(b.ctx, id, draft.ID, helpdesk.Upload{Filename: "a.txt", Content: strings.NewReader("a")})
	if !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("a sent mail got an attachment: %v", err)
	}
}

func TestNoteNeverLeaves(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	collaborator := b.member(identity.RoleCollaborator)
	note := must(collaborator.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "She pushed."}))(t)
	if _, err := b.svc.Outgoing().Begin(b.ctx, b.account.ID, note.ID, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("a note is sent: %v", err)
	}
	if c := b.conversation(id); c.Preview != "It does not open." || c.AwaitingSince.IsZero() {
		t.Errorf("the note changed the conversation: %+v", c)
	}
	_, err := collaborator.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."})
	if !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("a collaborator answered: %v", err)
	}
	sends := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobSendMail: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(t)
	if len(sends) != 0 {
		t.Errorf("%d mails are to be sent", len(sends))
	}
}

func TestForwardStaysAmongAgents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	forward := b.answer(id, helpdesk.InteractionInput{Body: "Do you know this door?", To: []string{"smith@example.net"}, IsForward: true})
	if c := b.conversation(id); c.AwaitingSince.IsZero() || c.Preview != "It does not open." {
		t.Errorf("a forward counts as an answer: %+v", c)
	}
	row := b.receive(ledger.Incoming{
		Message: message.Message{
			MessageID: "s@example.net", From: []mailaddr.Address{{Email: "smith@example.net"}}, InReplyTo: []string{forward.MessageID}, Text: "I made it.",
		},
	})
	i := must(b.desk.Interactions().Get(b.ctx, row.ConversationID, row.InteractionID))(t)
	if row.ConversationID != id || !i.IsForward {
		t.Errorf("the answer to the forward is in %d, forward: %v", row.ConversationID, i.IsForward)
	}
	next := begin(b, b.answer(id, helpdesk.InteractionInput{}).ID)
	if diff := cmp.Diff([]string{"1@example.com"}, next.References); diff != "" {
		t.Errorf("the customer's answer refers to the forward: %s", diff)
	}
}

func TestDeletedBeforeSending(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{})
	mail := begin(b, i.ID)
	if err := b.desk.Interactions().Delete(b.ctx, id, i.ID); err != nil {
		t.Fatal(err)
	}
	if next := report(b, mail, sending.Sent); !next.IsZero() {
		t.Errorf("a next try of a deleted mail at %v", next)
	}
	if _, err := b.svc.Outgoing().Begin(b.ctx, b.account.ID, i.ID, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("a deleted mail is sent: %v", err)
	}
	if c := b.conversation(id); c.Preview != "It does not open." {
		t.Errorf("the preview is %q", c.Preview)
	}
}

// careless is a store whose reads outside transactions fail now and then.
type careless struct {
	helpdesk.Store
	users, quotes int    // reads that fail next
	before        func() // runs before users are read; nil: nothing
}

type carelessReader struct {
	helpdesk.Reader
	of *careless
}

type carelessInteractions struct {
	storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter]
	of *careless
}

func (c *careless) Within(scope helpdesk.Scope) helpdesk.Reader {
	return carelessReader{c.Store.Within(scope), c}
}

func (r carelessReader) UsersByID(ctx context.Context, ids []int64) ([]identity.User, error) {
	if r.of.before != nil {
		r.of.before()
	}
	if r.of.users--; r.of.users >= 0 {
		return nil, fault.New(fault.Unavailable, "Try again.")
	}
	return r.Reader.UsersByID(ctx, ids)
}

func (r carelessReader) Interactions() storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return carelessInteractions{r.Reader.Interactions(), r.of}
}

func (r carelessInteractions) ByIDs(ctx context.Context, ids []int64) ([]helpdesk.Interaction, error) {
	if r.of.quotes--; r.of.quotes >= 0 {
		return nil, fault.New(fault.Unavailable, "Try again.")
	}
	return r.RowReader.ByIDs(ctx, ids)
}

// A reply that is begun but whose mail cannot be read stays with its job, which gets it when it begins again.
func TestBeginAgain(t *testing.T) {
	t.Parallel()
	store := &careless{}
	b := newBundle(t, func(cfg *helpdesk.Config) { store.Store = cfg.Store; cfg.Store = store })
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Quotes: storage.Some(helpdesk.QuoteAll)}))(t)
	id := b.receive(opening()).ConversationID
	posted := b.answer(id, helpdesk.InteractionInput{Body: "Push."})
	out := b.svc.Outgoing()
	store.users = 1
	if _, err := out.Begin(b.ctx, b.account.ID, posted.ID, 1); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("without users: %v", err)
	}
	if mail := must(out.Begin(b.ctx, b.account.ID, posted.ID, 9))(t); len(mail.Due) > 0 || mail.NextTry.IsZero() {
		t.Errorf("another job gets %v, and is to come again at %v", mail.Due, mail.NextTry)
	}
	store.quotes = 1
	if mail, err := out.Begin(b.ctx, b.account.ID, posted.ID, 1); !fault.Is(err, fault.Unavailable) || len(mail.Due) > 0 {
		t.Errorf("without its quotes: %v, %v", mail.Due, err)
	}
	if mail := must(out.Begin(b.ctx, b.account.ID, posted.ID, 1))(t); len(mail.Due) != 1 || !strings.Contains(mail.HTML, "Push.") {
		t.Errorf("again: %v, %q", mail.Due, mail.HTML)
	}
}

// A reply that is deleted while it is begun has its attachments or is not sent: never without them.
func TestDeletedWhileBegun(t *testing.T) {
	t.Parallel()
	store := &careless{}
	b := newBundle(t, func(cfg *helpdesk.Config) { store.Store = cfg.Store; cfg.Store = store })
	id := b.receive(opening()).ConversationID
	posted := b.answer(id, helpdesk.InteractionInput{Body: "See the plan."})
	must(b.desk.Attachments().Create(b.ctx, id, posted.ID, helpdesk.Upload{Filename: "plan.txt", Content: strings.NewReader("plan")}))(t)
	out := b.svc.Outgoing()
	store.before = func() {
		store.before = nil
		if err := b.desk.Conversations().Delete(b.ctx, id); err != nil {
			t.Error(err)
		}
	}
	mail := must(out.Begin(b.ctx, b.account.ID, posted.ID, 1))(t)
	if len(mail.Due) != 1 || len(mail.Attachments) != 1 {
		t.Errorf("due %v with %v", mail.Due, mail.Attachments)
	}
	if _, err := out.Begin(b.ctx, b.account.ID, posted.ID, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("begun again: %v", err)
	}
}
