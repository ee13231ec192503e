package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/server"
)

// BenchmarkInbox reads pages of the desk's inbox over 500,000 conversations of an account with ten members, and the API's
// list of the same conversations, alternately: it compares the cost of a page with that of its list, in time and in
// processor time of this process. In a busy account there is an event before each of them, so that the counts are read
// again.
func BenchmarkInbox(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		inboxBench(b, "sqlite:"+path, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		url := testenv.Postgres(b)
		inboxBench(b, url, "pgx", url)
	})
}

func inboxBench(b *testing.B, url, driver, dsn string) {
	store, err := both.Open(b.Context(), url, bunstore.Config{SyncNormal: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	cfg := config()
	cfg.Store, cfg.RateLimit = store, -1
	srv, err := server.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	desk, secret := busyAccount(b, srv.Service())
	plain, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = plain.Close() })
	manyConversations(b, plain, 500_000)
	const list = "/api/v1/accounts/1/conversations?limit=50&spam=false&snoozed=false&status[]=posted&status[]=pending"
	const waiting = "&awaiting=true&sort_by=customer_awaiting_reply_since&sort_type=asc"
	for _, tt := range []struct{ name, page, targets, list string }{
		{"Open", "/inbox/all", "", list + waiting},
		{"OpenBusy", "/inbox/all", "", list + waiting},
		{"OpenSwapped", "/inbox/all", "main sidebar tabs toast", list + waiting},
		{"Older", "/inbox/all?sort=newest", "more", list + "&sort_by=updated_at"},
		{"Unassigned", "/inbox/unassigned", "", list + waiting + "&user_id=unassigned"},
		{"Closed", "/inbox/closed", "", "/api/v1/accounts/1/conversations?limit=50&spam=false&status[]=closed&sort_by=updated_at"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var took, busy [2]time.Duration
			n := 0
			for b.Loop() {
				n++
				for i, path := range []string{tt.list, "/desk/a/1" + tt.page} {
					if tt.name == "OpenBusy" {
						happen(b, desk, i+n)
					}
					req := httptest.NewRequest(http.MethodGet, path, nil)
					req.Header.Set("Cookie", "helpwright_session="+secret)
					if tt.targets != "" {
						req.Header.Set("Desk-Target", tt.targets)
					}
					rec := &counter{header: http.Header{}}
					begun, before := time.Now(), processTime(b)
					srv.Handler().ServeHTTP(rec, req)
					took[i] += time.Since(begun)
					busy[i] += processTime(b) - before
					if rec.code != http.StatusOK || rec.size < 50*200 {
						b.Fatalf("%s: %d, %d bytes", path, rec.code, rec.size)
					}
				}
			}
			total := float64(n)
			b.ReportMetric(float64(took[0].Microseconds())/total, "list-µs/op")
			b.ReportMetric(float64(took[1].Microseconds())/total, "page-µs/op")
			b.ReportMetric(float64(busy[0].Microseconds())/total, "list-cpu-µs/op")
			b.ReportMetric(float64(busy[1].Microseconds())/total, "page-cpu-µs/op")
			b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
			b.ReportMetric(float64(busy[1])/float64(busy[0]), "cpu-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// counter counts the bytes of an answer. A recorder would spend time on keeping them.
type counter struct {
	header http.Header
	code   int
	size   int
}

func (c *counter) Header() http.Header { return c.header }

func (c *counter) WriteHeader(code int) { c.code = code }

func (c *counter) Write(p []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	c.size += len(p)
	return len(p), nil
}

// happen changes a conversation: parks it, or takes it up again.
func happen(b *testing.B, desk *helpdesk.Desk, n int) {
	b.Helper()
	status := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}[n%2]
	if _, err := desk.Conversations().UpdateAll(b.Context(), []int64{1}, helpdesk.BulkUpdate{Status: storage.Some(status)}); err != nil {
		b.Fatal(err)
	}
}

// processTime is how long this process has kept processors busy.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busyAccount returns an account with typical data, its owner's desk, and the secret of one of the owner's sessions.
func busyAccount(b *testing.B, svc *helpdesk.Service) (desk *helpdesk.Desk, secret string) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, operator := b.Context(), svc.Operator()
	owner, err := operator.CreateUser(ctx, identity.UserInput{Name: "Maja Lindqvist", Email: "maja@example.org"})
	must(err)
	account, err := operator.CreateAccount(ctx, identity.AccountInput{Name: "Halden"}, owner.ID)
	must(err)
	members := []int64{owner.ID}
	for i := range 9 {
		u, err := operator.CreateUser(ctx, identity.UserInput{Name: fmt.Sprintf("Agent Number%d", i), Email: fmt.Sprintf("agent%d@example.org", i)})
		must(err)
		_, err = operator.AddMember(ctx, account.ID, u.ID, "admin")
		must(err)
		members = append(members, u.ID)
	}
	desk, err = svc.Desk(ctx, svc.As(owner.ID), account.ID)
	must(err)
	for i := range 3 {
		_, err := desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some(fmt.Sprintf("Box %d", i)), Email: storage.Some(fmt.Sprintf("box%d@example.org", i))})
		must(err)
		_, err = desk.Teams().Create(ctx, helpdesk.TeamInput{Name: fmt.Sprintf("Team %d", i), MemberIDs: storage.Some(members[i : i+4])})
		must(err)
		_, err = desk.Views().Create(ctx, helpdesk.ViewInput{Name: fmt.Sprintf("View %d", i)})
		must(err)
	}
	for i := range 20 {
		_, err := desk.Tags().Create(ctx, helpdesk.TagInput{Name: fmt.Sprintf("tag-%d", i)})
		must(err)
	}
	for i := range 100 {
		_, err := desk.Customers().Create(ctx, helpdesk.CustomerInput{FirstName: storage.Some(fmt.Sprintf("Nora%d", i)), LastName: storage.Some("Finch"),
			Emails: storage.Some([]helpdesk.Item{{Value: fmt.Sprintf("nora%d@example.com", i)}})})
		must(err)
	}
	_, err = desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "nora1@example.com", Subject: "The grinder stopped in the middle of the night",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "It makes a noise and smells. We have tried to turn it off and on again, and to clean it as the manual says."}},
	})
	must(err)
	begun, err := svc.SignIn().StartSession(context.WithoutCancel(ctx), svc.As(owner.ID), "")
	must(err)
	return desk, begun.Secret
}

// manyConversations copies the one conversation. Every fiftieth is open, and waits as every second one does.
func manyConversations(b *testing.B, plain *sql.DB, n int) {
	b.Helper()
	const same = `c.account_id, c.channel, c.subject, c.preview, c.priority`
	for _, statement := range []string{
		`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ` + strconv.Itoa(n) + `)
		INSERT INTO hw_conversations (account_id, channel, subject, preview, priority, number, mailbox_id, customer_id, customer_email_id, customer_email,
			user_id, status, awaiting_since, created_at, updated_at)
		SELECT ` + same + `, n.i, 1 + n.i % 3, e.customer_id, e.id, e.email, CASE WHEN n.i % 100 = 0 THEN 0 ELSE 1 + (n.i / 50) % 10 END,
			CASE WHEN n.i % 50 = 0 THEN 'posted' ELSE 'closed' END,
			CASE WHEN n.i % 200 < 100 THEN -62135596800000000 ELSE c.awaiting_since - CAST(n.i AS BIGINT) * 1000000 END,
			c.created_at - CAST(n.i AS BIGINT) * 1000000, c.updated_at - CAST(n.i AS BIGINT) * 1000000
		FROM n, hw_conversations c, hw_customer_emails e WHERE c.id = 1 AND e.id = 1 + (n.i / 50) % 100`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id)
		SELECT account_id, id, 1 + number / 50 % 20 FROM hw_conversations WHERE status = 'posted'`,
		"ANALYZE",
	} {
		if _, err := plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatalf("%v\n%s", err, statement)
		}
	}
}
