package bunstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
)

// process is a help desk on a database shared with others.
type process struct {
	db   *bunstore.DB
	svc  *helpdesk.Service
	desk *helpdesk.Desk
}

// processes returns two processes on one database, with an owner working in one account that has a mailbox.
func processes(t *testing.T, url string) (two [2]process, mailbox helpdesk.Mailbox) {
	t.Helper()
	ctx, blobs := t.Context(), memblob.New()
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for n := range two {
		two[n].db = open(t, url, bunstore.Config{})
		cfg := helpdesk.Config{Store: two[n].db, Blobs: blobs, Sealer: sealer, SigningKey: make([]byte, 32), MaxMailPerAddress: -1}
		if two[n].svc, err = helpdesk.New(cfg); err != nil {
			t.Fatal(err)
		}
	}
	owner, err := two[0].svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	account, err := two[0].svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	for n := range two {
		if two[n].desk, err = two[n].svc.Desk(ctx, two[n].svc.As(owner.ID), account.ID); err != nil {
			t.Fatal(err)
		}
	}
	mailbox, err = two[0].desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")})
	if err != nil {
		t.Fatal(err)
	}
	return two, mailbox
}

// take adds mails to the ledger and returns their rows, oldest first.
func (p process) take(t *testing.T, mailbox int64, n int) []ledger.Mail {
	t.Helper()
	raws := make([]ledger.Raw, n)
	for i := range raws {
		raws[i] = ledger.Raw{Raw: fmt.Appendf(nil, "mail %d", i)}
	}
	if err := p.svc.Intake().Take(t.Context(), p.desk.AccountID(), mailbox, "smtp", raws, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := p.svc.Intake().Waiting(t.Context(), p.desk.AccountID(), mailbox, 0, n)
	if err != nil || len(rows) != n {
		t.Fatalf("%d mails wait: %v", len(rows), err)
	}
	return rows
}

// inbound returns all rows of the ledger.
func (p process) inbound(t *testing.T) []ledger.Mail {
	t.Helper()
	rows, err := p.db.Within(p.desk.Scope()).InboundMails(t.Context(), ledger.Filter{}, storage.Seek{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// log counts the events of a type by subject.
func (p process) log(t *testing.T, kind string) map[int64]int {
	t.Helper()
	events, err := p.db.Events(t.Context(), p.desk.AccountID(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]int{}
	for _, e := range events {
		if e.Type == kind {
			seen[e.Subject]++
		}
	}
	return seen
}

// shuffle splits conversations, and moves interactions between them and back to where the rules put them, until it is
// stopped.
func (p process) shuffle(ctx context.Context, t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for ctx.Err() == nil {
		page, err := p.desk.Conversations().List(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{Limit: 100})
		if err != nil || len(page.Items) == 0 {
			continue // the context ended, or there is nothing yet
		}
		c, other := page.Items[random.IntN(len(page.Items))], page.Items[random.IntN(len(page.Items))]
		said, err := p.desk.Interactions().List(ctx, c.ID, storage.PageRequest{Limit: 100})
		if err != nil || len(said.Items) == 0 {
			continue // it was merged meanwhile
		}
		i := said.Items[random.IntN(len(said.Items))]
		switch random.IntN(4) {
		case 0:
			_, err = p.desk.Conversations().Split(ctx, c.ID, helpdesk.SplitInput{InteractionID: i.ID})
		case 1:
			_, err = p.desk.Conversations().Split(ctx, c.ID, helpdesk.SplitInput{InteractionIDs: []int64{i.ID}})
		case 2:
			_, err = p.desk.Interactions().Move(ctx, c.ID, i.ID, other.ID)
		default:
			_, err = p.desk.Interactions().Rethread(ctx, c.ID, i.ID)
		}
		// Another process was faster, or nothing would be left.
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
			t.Errorf("moving: %v", err)
		}
	}
}

// While two processes file replies to mails of a conversation, two others split it and move its contents: every mail is in
// one conversation, the one that the ledger names, and conversation numbers have no gaps or duplicates.
func TestFilingWhileSplitting(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		two, mailbox := processes(t, url)
		const n = 60
		rows := two[0].take(t, mailbox.ID, n)
		ctx, stop := context.WithCancel(t.Context())
		var filing, moving sync.WaitGroup
		for worker, p := range two {
			moving.Go(func() { p.shuffle(ctx, t, uint64(worker)) })
			filing.Go(func() {
				for i := worker; i < n; i += len(two) {
					mail := ledger.Incoming{
						Message: message.Message{
							MessageID: fmt.Sprintf("%d@example.com", i), From: []mailaddr.Address{{Email: "ada@example.com"}},
							References: []string{fmt.Sprintf("%d@example.com", i/2)}, Subject: "Doors", Text: fmt.Sprint("Mail ", i),
						}, Identity: fmt.Append(nil, i),
					}
					row, err := p.svc.Intake().File(ctx, p.desk.AccountID(), rows[i].ID, mail)
					if err != nil || row.State != ledger.Filed {
						t.Errorf("mail %d is %s: %v", i, row.State, err)
					}
				}
			})
		}
		filing.Wait()
		stop()
		moving.Wait()

		page, err := two[0].desk.Conversations().List(t.Context(), helpdesk.ConversationQuery{Sort: helpdesk.ByNumber}, storage.PageRequest{Limit: 100})
		if err != nil || page.Next != "" {
			t.Fatal(page.Next, err)
		}
		at := map[int64]int64{} // conversation by interaction
		numbers := map[int64]bool{}
		for _, c := range page.Items {
			said, err := two[1].desk.Interactions().List(t.Context(), c.ID, storage.PageRequest{Limit: 100})
			if err != nil || len(said.Items) == 0 {
				t.Errorf("conversation %d has %d interactions: %v", c.ID, len(said.Items), err)
			}
			starters := 0
			for _, i := range said.Items {
				if at[i.ID] != 0 {
					t.Errorf("interaction %d is in two conversations", i.ID)
				}
				if at[i.ID] = c.ID; i.IsStarter {
					starters++
				}
			}
			if numbers[c.Number] || starters != 1 {
				t.Errorf("conversation %d has the number %d and %d starters", c.ID, c.Number, starters)
			}
			numbers[c.Number] = true
		}
		filed := map[int64]int64{}
		for _, row := range two[0].inbound(t) {
			filed[row.InteractionID] = row.ConversationID
		}
		if diff := cmp.Diff(at, filed); diff != "" || len(at) != n {
			t.Errorf("%d mails in conversations; and in the ledger: %s", len(at), diff)
		}
		account, err := two[0].db.Within(two[0].desk.Scope()).Account(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		made := two[0].log(t, "conversation.created")
		if int64(len(made)) != account.NextNumber-1 || slices.Max(slices.Collect(maps.Keys(numbers))) >= account.NextNumber {
			t.Errorf("%d conversations were made, the next has the number %d", len(made), account.NextNumber)
		}
		t.Logf("%d conversations of %d are left, %d moves", len(page.Items), len(made), len(two[0].log(t, "interaction.moved")))
	})
}

// Two processes that replay the same failures concurrently, while a third mail fails again, replay each of them once.
func TestReplayInTwoProcesses(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		two, mailbox := processes(t, url)
		const n = 150
		rows := two[0].take(t, mailbox.ID, n)
		for _, row := range rows {
			if err := two[0].svc.Intake().Quarantine(t.Context(), two[0].desk.AccountID(), row.ID, "a bug"); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range two {
			if got, err := p.desk.InboundMails().ReplayAll(t.Context(), mailbox.ID); err != nil || got != n {
				t.Fatalf("%d mails are to be replayed: %v", got, err)
			}
		}
		payload, err := json.Marshal(helpdesk.Replay{Before: time.Now().UTC(), UserID: two[0].desk.UserID()})
		if err != nil {
			t.Fatal(err)
		}
		job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobReplayMail, AccountID: two[0].desk.AccountID(), Subject: mailbox.ID, Payload: payload}}
		var both sync.WaitGroup
		for _, p := range two {
			both.Go(func() {
				if err := p.svc.Jobs().ReplayMails(t.Context(), job); err != nil {
					t.Error(err)
				}
			})
			both.Go(func() { // meanwhile one mail is replayed by hand, and another is ignored
				_, errReplay := p.desk.InboundMails().Replay(t.Context(), mailbox.ID, rows[0].ID)
				_, errIgnore := p.desk.InboundMails().Ignore(t.Context(), mailbox.ID, rows[1].ID, "")
				if errReplay != nil || errIgnore != nil && !fault.Is(errIgnore, fault.Conflict) {
					t.Error(errReplay, errIgnore)
				}
			})
		}
		both.Wait()
		replayed := two[0].log(t, "mail.replayed")
		for _, row := range two[0].inbound(t) {
			ignored := row.ID == rows[1].ID && row.State == ledger.Ignored
			if row.State != ledger.Received && !ignored || replayed[row.ID] != 1 && !ignored {
				t.Errorf("mail %d is %s after %d replays", row.ID, row.State, replayed[row.ID])
			}
		}
	})
}
