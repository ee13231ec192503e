package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// bury gives a job up, and returns its id.
func bury(ctx context.Context, store interface {
	helpdesk.Store
	storage.Jobs
}, j storage.Job) (int64, error) {
	err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.Within(helpdesk.Scope{AccountID: j.AccountID}).Enqueue(ctx, j)
	})
	if err != nil {
		return 0, err
	}
	far := time.Now().AddDate(1, 0, 0)
	claimed, err := store.Claim(ctx, map[string]int{j.Kind: 1}, far, far.Add(time.Hour))
	if err != nil || len(claimed) != 1 {
		return 0, fmt.Errorf("claimed %d: %w", len(claimed), err)
	}
	return claimed[0].ID, store.Fail(ctx, claimed[0], "the receiver is gone")
}

// Members with the permission decide about the failed jobs of their own account only; the decisions are in the audit log.
func TestFailedJobs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	mine := must(bury(b.ctx, b.store, storage.Job{Kind: "test.one", AccountID: b.account.ID, Subject: 7, UniqueKey: "seven"}))(t)
	other := must(bury(b.ctx, b.store, storage.Job{Kind: "test.two", AccountID: b.account.ID}))(t)
	foreign := must(bury(b.ctx, b.store, storage.Job{Kind: "test.one", AccountID: b.account.ID + 1}))(t)
	nobodys := must(bury(b.ctx, b.store, storage.Job{Kind: "test.one"}))(t)
	list := func(f helpdesk.FailedJobFilter) (ids []int64) {
		t.Helper()
		for _, j := range must(b.desk.Account().FailedJobs(b.ctx, f, storage.PageRequest{}))(t).Items {
			ids = append(ids, j.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]int64{other, mine}, list(helpdesk.FailedJobFilter{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{mine}, list(helpdesk.FailedJobFilter{Kind: "test.one"})); diff != "" {
		t.Error(diff)
	}
	for what, err := range map[string]error{
		"an agent lists":     errOf(b.member(identity.RoleAgent).Account().FailedJobs(b.ctx, helpdesk.FailedJobFilter{}, storage.PageRequest{})),
		"an agent retries":   b.member(identity.RoleAgent).Account().RetryJob(b.ctx, mine),
		"an agent drops":     b.member(identity.RoleAgent).Account().DropJob(b.ctx, mine),
		"of another account": b.desk.Account().RetryJob(b.ctx, foreign),
		"of no account":      b.desk.Account().DropJob(b.ctx, nobodys),
	} {
		if !fault.Is(err, fault.Forbidden) && !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := storage.Job{Kind: "test.one", AccountID: b.account.ID, Subject: 7, UniqueKey: "seven"}
	if err := b.store.InTx(b.ctx, b.desk.Scope(), func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, same) }); err != nil {
		t.Fatal(err)
	}
	if err := b.desk.Account().RetryJob(b.ctx, mine); !fault.Is(err, fault.Conflict) {
		t.Errorf("while another does the same: %v", err)
	}
	for _, err := range []error{
		b.desk.Account().DropJob(b.ctx, mine), b.desk.Account().RetryJob(b.ctx, other),
		b.svc.Operator().DropJob(b.ctx, b.account.ID+1, foreign), b.svc.Operator().RetryJob(b.ctx, 0, nobodys),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if left := must(b.store.FailedJobs(b.ctx, storage.Seek{Limit: 9}))(t); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	var log []string
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.PageRequest{Limit: 2}))(t).Items {
		log = append(log, fmt.Sprint(e.Action, " ", e.Subject, " by ", e.UserID == b.owner.ID))
	}
	if diff := cmp.Diff([]string{fmt.Sprint("job.retried ", other, " by true"), fmt.Sprint("job.dropped ", mine, " by true")}, log); diff != "" {
		t.Error(diff)
	}
}

// Jobs that were given up are run again once the cause of their failure is fixed.
func ExampleAccount_RetryJob() {
	ctx, store := context.Background(), memstore.New()
	sealer, _ := storage.NewSealer(storage.NewSecretKey())
	svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey()})
	if err != nil {
		panic(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)
	_, _ = bury(ctx, store, storage.Job{Kind: helpdesk.JobWebhook, AccountID: account.ID, Subject: 3})
	page, err := desk.Account().FailedJobs(ctx, helpdesk.FailedJobFilter{Kind: helpdesk.JobWebhook}, storage.PageRequest{})
	for _, j := range page.Items {
		fmt.Println(j.Subject, j.Reason, desk.Account().RetryJob(ctx, j.ID))
	}
	page, _ = desk.Account().FailedJobs(ctx, helpdesk.FailedJobFilter{}, storage.PageRequest{})
	fmt.Println(len(page.Items), "left", err)
	// Output:
	// 3 the receiver is gone <nil>
	// 0 left <nil>
}
