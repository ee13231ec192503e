package bunstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// New jobs wake the workers of their process once, and on PostgreSQL those of others, for jobs of their kinds.
func TestWokenKinds(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		writer, other := open(t, url, bunstore.Config{}), open(t, url, bunstore.Config{})
		all := []*bunstore.DB{writer}
		_, postgres := bunstore.Plain(writer)
		if postgres {
			all = append(all, other)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for _, db := range all {
			go func() { _ = db.Run(ctx) }()
			if postgres { // it listens
				<-db.Wake()
				if _, any := db.Woken(); !any {
					t.Error("at the beginning there may be jobs of any kind")
				}
			}
		}
		for _, kind := range []string{"one kind", "another"} {
			err := writer.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
				return tx.Within(helpdesk.Scope{}).Enqueue(ctx, storage.Job{Kind: kind}, storage.Job{Kind: kind})
			})
			if err != nil {
				t.Fatal(err)
			}
			for n, db := range all {
				select {
				case <-db.Wake():
				case <-time.After(testenv.Patience):
					t.Fatal("nothing woke", n)
				}
				got, any := db.Woken()
				if diff := cmp.Diff([]string{kind}, got); diff != "" || any {
					t.Errorf("%d: %v %s", n, any, diff)
				}
			}
		}
		select {
		case <-writer.Wake():
			t.Error("the writer was woken by itself again")
		default:
		}
	})
}
