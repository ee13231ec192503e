package bunstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// BenchmarkAccounts writes a job and an event in many accounts at once on PostgreSQL: through the store, by hand, and by hand with
// notifications in the transactions. They differ on a server whose commits take a while, as with a disk or a synchronous standby; set
// fsync=on, commit_delay=2000 and commit_siblings=0 for one that waits 2 ms.
func BenchmarkAccounts(b *testing.B) {
	url := testenv.Postgres(b)
	db, plain := open(b, url, bunstore.Config{}), plainPostgres(b, url)
	var accounts []int64
	for n := range 16 {
		account := identity.Account{Name: fmt.Sprint("Account ", n)}
		err := db.InSystemTx(b.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
		if err != nil {
			b.Fatal(err)
		}
		accounts = append(accounts, account.ID)
	}
	byHand := func(ctx context.Context, account int64, more string) error {
		_, err := plain.ExecContext(ctx, `WITH queued AS (INSERT INTO hw_jobs (kind, account_id, subject, unique_key, run_at, due_at) VALUES ('some kind', $1, 0, '', 0, 0)),
			counted AS (UPDATE hw_accounts SET last_event = last_event + 1 WHERE id = $1 RETURNING last_event)
			INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, time) SELECT $1, last_event, 'some type'`+more+`, 0, 0, 0, $2 FROM counted`,
			account, time.Now().UnixMicro())
		return err
	}
	for name, write := range map[string]func(ctx context.Context, account int64) error{
		"store": func(ctx context.Context, account int64) error {
			return db.InTx(ctx, helpdesk.Scope{AccountID: account}, func(ctx context.Context, tx helpdesk.Tx) error {
				if err := tx.Enqueue(ctx, storage.Job{Kind: "some kind", AccountID: account}); err != nil {
					return err
				}
				return tx.Emit(ctx, storage.Event{Type: "some type", Time: time.Now()})
			})
		},
		"by hand": func(ctx context.Context, account int64) error { return byHand(ctx, account, "") },
		"by hand, notified": func(ctx context.Context, account int64) error {
			return byHand(ctx, account, " || pg_notify('some_channel', $1::text)")
		},
	} {
		b.Run(name, func(b *testing.B) {
			var n atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				account := accounts[int(n.Add(1))%len(accounts)]
				for pb.Next() {
					if err := write(b.Context(), account); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
