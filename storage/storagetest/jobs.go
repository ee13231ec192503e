package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func jobTests() []testCase {
	return []testCase{
		{"Order", testClaimOrder},
		{"Kinds", testClaimKinds},
		{"Lease", testLease},
		{"Fence", testFence},
		{"Retry", testRetry},
		{"Outcomes", testOutcomes},
		{"Fail", testFail},
		{"FailedJobs", testFailedJobs},
		{"ClaimLimits", testClaimLimits},
		{"ReviveJob", testReviveJob},
		{"UniqueKey", testUniqueKey},
		{"FinishBatch", testFinishBatch},
		{"ConcurrentClaims", testConcurrentClaims},
		{"Payload", testPayload},
		{"Trace", testTrace},
		{"Listens", testJobListens},
		{"Wake", testWake},
	}
}

func (w *world) enqueue(t *testing.T, jobs ...storage.Job) {
	t.Helper()
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, jobs...) })
}

// job returns a job of this world that is due n minutes after base.
func (w *world) job(subject int64, n int) storage.Job {
	return storage.Job{Kind: w.kind(), AccountID: w.account.ID, Subject: subject, RunAt: at(n)}
}

func subjects(jobs []storage.ClaimedJob) []int64 {
	return ids(jobs, func(j storage.ClaimedJob) int64 { return j.Subject })
}

// The oldest due job is claimed first; jobs that are not due are not claimed.
func testClaimOrder(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.enqueue(t, w.job(1, 5), w.job(2, 3), w.job(3, 4), w.job(4, 3), w.job(5, 10))
	same(t, "nothing due", []int64{}, subjects(w.claim(t, 10, at(2), at(99))))
	same(t, "claims none", []int64{}, subjects(w.claim(t, 0, at(9), at(99))))
	same(t, "due, two at most", []int64{2, 4}, subjects(w.claim(t, 2, at(9), at(99))))
	same(t, "the rest that is due", []int64{3, 1}, subjects(w.claim(t, 10, at(9), at(99))))
	same(t, "due at this very time", []int64{5}, subjects(w.claim(t, 10, at(10), at(99))))
	at0 := w.job(6, 0)
	at0.RunAt = time.Time{}
	w.enqueue(t, at0)
	soon := time.Now().Add(time.Hour)
	if first := w.claim(t, 10, soon, soon.Add(time.Hour)); !slices.Contains(subjects(first), 6) {
		t.Errorf("a job without a time is not due: %+v", first)
	}
}

func testClaimKinds(t *testing.T, b Backend) {
	w := newAccount(t, b)
	other := w.job(2, 0)
	other.Kind += ".other"
	w.enqueue(t, w.job(1, 0), other)
	claim := func(kinds ...string) []int64 {
		most := map[string]int{}
		for _, kind := range kinds {
			most[kind] = 10
		}
		jobs, err := b.Jobs.Claim(t.Context(), most, at(1), at(99))
		ok(t, err)
		return subjects(jobs)
	}
	same(t, "no kinds", []int64{}, claim())
	same(t, "unknown kind", []int64{}, claim("nothing."+w.mark))
	same(t, "one kind", []int64{2}, claim("nothing."+w.mark, other.Kind))
	same(t, "both kinds", []int64{1}, claim(w.kind(), other.Kind))
}

// Each kind has a limit of its own, and a queue that is longer leaves the others their jobs.
func testClaimLimits(t *testing.T, b Backend) {
	w := newAccount(t, b)
	long, short, none := w.kind(), w.kind()+".short", w.kind()+".none"
	for n := range int64(4) {
		other := w.job(10+n, 3)
		other.Kind = short
		unwanted := w.job(20+n, 0)
		unwanted.Kind = none
		w.enqueue(t, w.job(n, int(n)), other, unwanted)
	}
	claim := func() []int64 {
		jobs, err := b.Jobs.Claim(t.Context(), map[string]int{long: 1, short: 3, none: 0}, at(9), at(99))
		ok(t, err)
		return subjects(jobs)
	}
	same(t, "first", []int64{0, 10, 11, 12}, claim())
	same(t, "next", []int64{1, 13}, claim())
	same(t, "then", []int64{2}, claim())
	same(t, "last", []int64{3}, claim())
	same(t, "no more", []int64{}, claim())
}

func testLease(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.enqueue(t, w.job(1, 0))
	first := w.claim(t, 10, at(1), at(5))
	same(t, "first", 1, len(first))
	same(t, "while the lease lasts", 0, len(w.claim(t, 10, at(4), at(9))))
	ok(t, b.Jobs.Extend(t.Context(), first[0], at(7)))
	same(t, "while the longer lease lasts", 0, len(w.claim(t, 10, at(6), at(9))))
	second := w.claim(t, 10, at(7), at(20))
	if len(second) != 1 || second[0].Attempt != 2 || second[0].ID != first[0].ID {
		t.Errorf("after the lease: %+v", second)
	}
}

// Results of an attempt whose job was taken over have no effect.
func testFence(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.enqueue(t, w.job(1, 0))
	old := w.claim(t, 1, at(1), at(2))[0]
	current := w.claim(t, 1, at(3), at(10))[0]
	ok(t, b.Jobs.Finish(t.Context(), old))
	ok(t, b.Jobs.Retry(t.Context(), old, at(3), "late"))
	ok(t, b.Jobs.Fail(t.Context(), old, "late"))
	fails(t, "extending another's lease", b.Jobs.Extend(t.Context(), old, at(99)), fault.Conflict)
	same(t, "claimed by nobody else", 0, len(w.claim(t, 10, at(9), at(20))))
	same(t, "buried", 0, len(w.buried(t)))
	ok(t, b.Jobs.Extend(t.Context(), current, at(11)))
	ok(t, b.Jobs.Finish(t.Context(), current))
	ok(t, b.Jobs.Finish(t.Context(), current)) // repeating it is not an error
	same(t, "after the end", 0, len(w.claim(t, 10, at(1000), at(2000))))
	fails(t, "extending a finished job", b.Jobs.Extend(t.Context(), current, at(99)), fault.Conflict)
}

func testRetry(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.enqueue(t, w.job(1, 0), w.job(2, 0))
	jobs := w.claim(t, 10, at(1), at(100))
	ok(t, b.Jobs.Retry(t.Context(), jobs[0], at(8), "refused: ü"))
	same(t, "before its time", 0, len(w.claim(t, 10, at(7), at(100))))
	again := w.claim(t, 10, at(8), at(100))
	if len(again) != 1 || again[0].Subject != 1 || again[0].Attempt != 2 {
		t.Errorf("after the retry: %+v", again)
	}
}

// A job records the results of its attempts, and counts separately those without one.
func testOutcomes(t *testing.T, b Backend) {
	type outcome struct{ Attempt, Failed, Away, Lost int }
	w := newAccount(t, b)
	w.enqueue(t, w.job(1, 0))
	claim := func(n int) storage.ClaimedJob {
		t.Helper()
		got := w.claim(t, 1, at(n), at(n+1))
		if len(got) != 1 {
			t.Fatalf("claimed %+v", got)
		}
		return got[0]
	}
	is := func(want outcome, j storage.ClaimedJob) {
		t.Helper()
		same(t, "outcome", want, outcome{j.Attempt, j.Failed, j.Away, j.Lost})
	}
	first := claim(1)
	is(outcome{Attempt: 1}, first)
	is(outcome{Attempt: 2, Lost: 1}, claim(3)) // the lease of the first has expired
	third := claim(5)
	is(outcome{Attempt: 3, Lost: 2}, third)
	third.Failed, third.Away = 4, 5
	ok(t, b.Jobs.Retry(t.Context(), third, at(6), "failed"))
	ok(t, b.Jobs.Retry(t.Context(), first, at(6), "late")) // too late to count
	fourth := claim(7)
	is(outcome{Attempt: 4, Failed: 4, Away: 5}, fourth)
	ok(t, b.Jobs.Extend(t.Context(), fourth, at(9)))
	is(outcome{Attempt: 5, Failed: 4, Away: 5, Lost: 1}, claim(10))
}

// buried lists the failed jobs of this world, newest first.
func (w *world) buried(t *testing.T) []storage.FailedJob {
	t.Helper()
	var mine []storage.FailedJob
	seek := storage.Seek{Desc: true, Limit: 2}
	for {
		page, err := w.Jobs.FailedJobs(t.Context(), seek)
		ok(t, err)
		if len(page) == 0 {
			return mine
		}
		for _, j := range page {
			if j.Kind == w.kind() {
				mine = append(mine, j)
			}
		}
		seek.From = &storage.Position{ID: page[len(page)-1].ID}
	}
}

func testFail(t *testing.T, b Backend) {
	w := newAccount(t, b)
	unique := w.job(3, 2)
	unique.UniqueKey = "bury " + w.mark
	w.enqueue(t, w.job(1, 0), w.job(2, 1), unique)
	for _, j := range w.claim(t, 10, at(5), at(6)) {
		ok(t, b.Jobs.Fail(t.Context(), j, fmt.Sprint("reason ", j.Subject)))
	}
	same(t, "claimed", 0, len(w.claim(t, 10, at(1000), at(2000))))
	got := w.buried(t)
	for i := range got {
		got[i].ID = 0
	}
	same(t, "buried", []storage.FailedJob{
		{Job: unique, Attempt: 1, Reason: "reason 3"}, {Job: w.job(2, 1), Attempt: 1, Reason: "reason 2"}, {Job: w.job(1, 0), Attempt: 1, Reason: "reason 1"}}, got)
	w.enqueue(t, unique) // a failed job does not occupy its key
	same(t, "the same key again", []int64{3}, subjects(w.claim(t, 10, at(5), at(6))))
}

// bury gives up a job of the account.
func (w *world) bury(t *testing.T, j storage.Job) storage.FailedJob {
	t.Helper()
	j.AccountID = w.account.ID
	w.enqueue(t, j)
	claimed, err := w.Jobs.Claim(t.Context(), map[string]int{j.Kind: 10}, at(5), at(6))
	ok(t, err)
	same(t, "claimed", 1, len(claimed))
	ok(t, w.Jobs.Fail(t.Context(), claimed[0], "reason "+w.mark))
	return storage.FailedJob{ID: claimed[0].ID, Job: j, Attempt: claimed[0].Attempt, Reason: "reason " + w.mark}
}

func testFailedJobs(t *testing.T, b Backend) {
	w := newAccount(t, b)
	one := w.bury(t, storage.Job{Kind: "one-" + w.mark, Subject: 1, RunAt: base})
	two := w.bury(t, storage.Job{Kind: "two-" + w.mark, Subject: 2, RunAt: base})
	three := w.bury(t, storage.Job{Kind: "one-" + w.mark, Subject: 3, RunAt: base})
	w.enqueue(t, storage.Job{Kind: "one-" + w.mark, AccountID: w.account.ID, Subject: 4, RunAt: base}) // not failed
	read := func(f helpdesk.FailedJobFilter, seek storage.Seek) []storage.FailedJob {
		t.Helper()
		got, err := w.in().FailedJobs(t.Context(), f, seek)
		ok(t, err)
		return got
	}
	same(t, "newest first", []storage.FailedJob{three, two, one}, read(helpdesk.FailedJobFilter{}, storage.Seek{Desc: true, Limit: 9}))
	same(t, "first page", []storage.FailedJob{three}, read(helpdesk.FailedJobFilter{}, storage.Seek{Desc: true, Limit: 1}))
	same(t, "second page", []storage.FailedJob{two}, read(helpdesk.FailedJobFilter{}, storage.Seek{Desc: true, Limit: 1, From: &storage.Position{ID: three.ID}}))
	same(t, "of a kind", []storage.FailedJob{one, three}, read(helpdesk.FailedJobFilter{Kind: one.Kind}, all()))
	same(t, "of none", 0, len(read(helpdesk.FailedJobFilter{Kind: "none"}, all())))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DropJob(ctx, two.ID) })
	same(t, "without the dropped one", []storage.FailedJob{one, three}, read(helpdesk.FailedJobFilter{}, all()))
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.DropJob(ctx, one.ID))
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) {
		t.Error(err)
	}
	same(t, "after a rollback", []storage.FailedJob{one, three}, read(helpdesk.FailedJobFilter{}, all()))
	for what, do := range map[string]func(ctx context.Context, tx helpdesk.Tx) error{
		"dropped": func(ctx context.Context, tx helpdesk.Tx) error { return tx.DropJob(ctx, two.ID) },
		"gone":    func(ctx context.Context, tx helpdesk.Tx) error { return tx.ReviveJob(ctx, two.ID, base) },
	} {
		fails(t, what, w.try(t, do), fault.NotFound)
	}
}

func testReviveJob(t *testing.T, b Backend) {
	w := newAccount(t, b)
	j := storage.Job{Kind: "revived-" + w.mark, Subject: 1, UniqueKey: "revived " + w.mark, Payload: []byte("{}"), RunAt: base}
	buried := w.bury(t, j)
	revive := func() error {
		return w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.ReviveJob(ctx, buried.ID, at(10)) })
	}
	claim := func(now int) []storage.ClaimedJob {
		t.Helper()
		got, err := b.Jobs.Claim(t.Context(), map[string]int{j.Kind: 10}, at(now), at(now+1))
		ok(t, err)
		return got
	}
	w.enqueue(t, j) // it does the same
	err := revive()
	fails(t, "while another is queued", err, fault.Conflict)
	if f, is := errors.AsType[*fault.Error](err); !is || f.Code != helpdesk.UniqueJob {
		t.Errorf("code: %v", err)
	}
	ok(t, b.Jobs.Finish(t.Context(), claim(1)...))
	ok(t, revive())
	fails(t, "what is not given up", revive(), fault.NotFound)
	same(t, "before its time", 0, len(claim(9)))
	got := claim(10)
	want := buried.Job
	want.RunAt = at(10)
	same(t, "revived", []storage.ClaimedJob{{ID: buried.ID, Job: want, Attempt: buried.Attempt + 1}}, got)
	w.enqueue(t, j) // its key is taken again
	same(t, "while it runs", 0, len(claim(10)))
	ok(t, b.Jobs.Fail(t.Context(), got[0], "again"))
	list, err := w.in().FailedJobs(t.Context(), helpdesk.FailedJobFilter{}, all())
	ok(t, err)
	same(t, "given up again", []storage.FailedJob{{ID: buried.ID, Job: want, Attempt: buried.Attempt + 1, Reason: "again"}}, list)
}

func testUniqueKey(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	first, twin, free := w.job(1, 0), w.job(2, 0), w.job(3, 0)
	first.UniqueKey, twin.UniqueKey = "key "+w.mark, "key "+w.mark
	w.enqueue(t, first, twin, free, free)
	other.enqueue(t, twin) // keys are shared by all accounts
	jobs := w.claim(t, 10, at(1), at(10))
	same(t, "jobs", []int64{1, 3, 3}, subjects(jobs))
	same(t, "key", first.UniqueKey, jobs[0].UniqueKey)
	w.enqueue(t, twin)
	same(t, "while the first runs", 0, len(w.claim(t, 10, at(2), at(10))))
	ok(t, b.Jobs.Finish(t.Context(), jobs...))
	w.enqueue(t, twin)
	same(t, "after the first has ended", []int64{2}, subjects(w.claim(t, 10, at(2), at(10))))
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
		j := w.job(4, 0)
		j.UniqueKey = "undone " + w.mark
		ok(t, tx.Enqueue(ctx, j))
		return errOnPurpose
	})
	same(t, "error", errOnPurpose.Error(), err.Error())
	undone := w.job(5, 0)
	undone.UniqueKey = "undone " + w.mark
	w.enqueue(t, undone)
	same(t, "after a rollback with the same key", []int64{5}, subjects(w.claim(t, 10, at(2), at(10))))
}

func testFinishBatch(t *testing.T, b Backend) {
	w := newAccount(t, b)
	var all []storage.Job
	for n := range 120 {
		all = append(all, w.job(int64(n), 0))
	}
	w.enqueue(t, all...)
	jobs := w.claim(t, 1000, at(1), at(2))
	same(t, "claimed", 120, len(jobs))
	stale := jobs[119]
	stale.Attempt = 0
	ok(t, b.Jobs.Finish(t.Context(), append(jobs[:100:100], stale)...))
	ok(t, b.Jobs.Finish(t.Context()))
	left := w.claim(t, 1000, at(3), at(4))
	same(t, "left", 20, len(left))
}

// Concurrent claims return every job exactly once.
func testConcurrentClaims(t *testing.T, b Backend) {
	const total, workers = 200, 8
	w := newAccount(t, b)
	var jobs []storage.Job
	for n := range total {
		jobs = append(jobs, w.job(int64(n), n%3))
	}
	w.enqueue(t, jobs...)
	var mu sync.Mutex
	times := map[int64]int{}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for empty := 0; empty < 3; { // a concurrent claim may hide the rest for a moment
				got, err := b.Jobs.Claim(t.Context(), map[string]int{w.kind(): 7}, at(10), at(100))
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				if len(got) == 0 {
					empty++
				}
				mu.Lock()
				for _, j := range got {
					times[j.Subject]++
				}
				mu.Unlock()
				if err := b.Jobs.Finish(t.Context(), got...); err != nil {
					t.Errorf("finish: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	for _, j := range w.claim(t, total, at(10), at(100)) {
		times[j.Subject]++
	}
	for n := range int64(total) {
		if times[n] != 1 {
			t.Errorf("job %d was handed out %d times", n, times[n])
		}
	}
}

func testPayload(t *testing.T, b Backend) {
	w := newAccount(t, b)
	long := append(append([]byte(`{"a":"`), make64k()...), `"}`...)
	for _, payload := range [][]byte{nil, []byte(`{}`), []byte(`{"z":1,"a":"\u0041","b":[1.50,null]}`), long} {
		j := w.job(1, 0)
		j.Payload = payload
		w.enqueue(t, j)
		got := w.claim(t, 1, at(1), at(2))
		if len(got) != 1 {
			t.Fatalf("claimed %d jobs", len(got))
		}
		same(t, "payload", payload, got[0].Payload)
		ok(t, b.Jobs.Finish(t.Context(), got...))
	}
}

// A job keeps the trace that it was enqueued in, through every state of the queue.
func testTrace(t *testing.T, b Backend) {
	w := newAccount(t, b)
	const within, own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	ctx := storage.WithTraceparent(t.Context(), func() string { return within })
	other := w.job(2, 1)
	other.Trace = own
	ok(t, b.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, w.job(1, 0), other) }))
	w.enqueue(t, w.job(3, 2))
	ok(t, b.Store.InTx(storage.WithTraceparent(t.Context(), func() string { return strings.Repeat("x", storage.MaxTraceparent+1) }), w.scope,
		func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, w.job(4, 3)) }))
	traces := func(jobs []storage.ClaimedJob) []string {
		all := make([]string, len(jobs))
		for i, j := range jobs {
			all[i] = j.Trace
		}
		return all
	}
	want := []string{within, own, "", ""}
	got := w.claim(t, 10, at(5), at(6))
	same(t, "claimed", want, traces(got))
	same(t, "claimed after a crash", want, traces(w.claim(t, 10, at(7), at(8))))
	got = w.claim(t, 10, at(9), at(10))
	for _, j := range got {
		ok(t, b.Jobs.Retry(t.Context(), j, at(10+int(j.Subject)), "later"))
	}
	got = w.claim(t, 10, at(20), at(30))
	same(t, "retried", want, traces(got))
	ok(t, b.Jobs.Fail(t.Context(), got[0], "why"))
	buried, err := b.Store.Within(w.scope).FailedJobs(t.Context(), helpdesk.FailedJobFilter{}, storage.Seek{Limit: 5})
	ok(t, err)
	same(t, "buried", []string{within}, []string{buried[0].Trace})
	long := w.job(5, 0)
	long.Trace = strings.Repeat("x", storage.MaxTraceparent+1)
	err = b.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, long) })
	fails(t, "a long trace", err, fault.Invalid)
}

// A job for those who listen to some events is kept if the account does when the transaction commits, with events or without.
func testJobListens(t *testing.T, b Backend) {
	w := newAccount(t, b)
	listen := func(types ...string) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			a, err := tx.Reader().Account(ctx)
			ok(t, err)
			a.Listens = types
			return tx.UpdateAccount(ctx, &a)
		})
	}
	listening := func(subject int64, types ...string) storage.Job {
		j := w.job(subject, 0)
		j.Listens = types
		return j
	}
	emit := func(subject int64) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.Enqueue(ctx, listening(subject, "b", "c"), listening(subject+1, "x"), w.job(subject+2, 0)))
			return tx.Emit(ctx, storage.Event{Type: "tag.created", Subject: 1, Time: at(1)})
		})
	}
	listen()
	emit(10)
	listen("a", "c")
	emit(20)
	w.enqueue(t, listening(30, "a"), listening(31, "b"))
	got := subjects(w.claim(t, 100, at(1), at(2)))
	slices.Sort(got)
	same(t, "enqueued", []int64{12, 20, 22, 30}, got)
	keyed := listening(40, "a")
	keyed.UniqueKey = "key"
	err := b.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Enqueue(ctx, keyed) })
	fails(t, "with a key", err, fault.Invalid)
}

// make64k fills a JSON string, so that the payload has 64 KiB.
func make64k() []byte {
	b := make([]byte, 64<<10-8)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

// Wake need not send anything, but it must not delay a commit.
func testWake(t *testing.T, b Backend) {
	w := newAccount(t, b)
	if b.Jobs.Wake() == nil {
		t.Error("no channel")
	}
	for n := range 5 {
		w.enqueue(t, w.job(int64(n), 0))
	}
}
