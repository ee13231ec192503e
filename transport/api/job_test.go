package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// bury gives a job of the account up, and returns its id.
func (w *world) bury(t testing.TB, kind string, subject int64) int64 {
	t.Helper()
	scope, far := helpdesk.Scope{AccountID: w.account.ID}, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	j := storage.Job{Kind: kind, AccountID: w.account.ID, Subject: subject, RunAt: w.clock.now()}
	if err := w.store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, j) }); err != nil {
		t.Fatal(err)
	}
	queue := w.store.(storage.Jobs) //nolint:forcetypeassert // all that are tested are one
	claimed, err := queue.Claim(t.Context(), map[string]int{kind: 100}, far, far.Add(time.Hour))
	if err != nil || len(claimed) != 1 {
		t.Fatal(len(claimed), err)
	}
	if err := queue.Fail(t.Context(), claimed[0], "the receiver is gone"); err != nil {
		t.Fatal(err)
	}
	return claimed[0].ID
}
