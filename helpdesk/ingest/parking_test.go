package ingest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
)

// A mail at which the process dies is set aside after a few times, and all others are filed.
func TestMailAtWhichProcessesDie(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		deaths int // of processes at the second mail alone
		lost   int // attempts of the job that files them which left no result
		want   string
	}{
		{"none", 0, 0, "filed filed filed"},
		{"a process died at one of many", 0, 1, "filed filed filed"},
		{"one died at it alone", 1, 2, "filed filed filed"},
		{"three died at it alone", 3, 4, "filed filed filed"},
		{"four died at it alone", 4, 5, "filed quarantined filed"},
		{"four did, and there is another job", 4, 0, "filed quarantined filed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			b.take(letters("mail", 3)...)
			at := b.ledger()[1].ID
			for range tt.deaths {
				if ok := check(b.intake.StartMail(ctx, b.desk.AccountID(), at))(t); !ok {
					t.Fatal("it is set aside too early")
				}
			}
			job := b.job()
			job.Attempt, job.Lost = tt.lost+1, tt.lost
			if err := b.filer.Handle(ctx, job); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(tt.want), b.ledgerStates()); diff != "" {
				t.Error(diff)
			}
			if m := b.ledger()[1]; m.State == ledger.Quarantined && !strings.Contains(m.Reason, "has ended several times") {
				t.Errorf("the reason is %q", m.Reason)
			}
			// Whoever replays it gives it another chance.
			if slices.Contains(b.ledgerStates(), "quarantined") {
				check(b.desk.InboundMails().Replay(ctx, b.mailbox, at))(t)
				if err := b.filer.Handle(ctx, b.job()); err != nil || b.ledger()[1].State != ledger.Filed {
					t.Errorf("replayed: %v, %+v", err, b.ledger()[1])
				}
			}
		})
	}
}

func (b *bundle) ledgerStates() []string {
	var states []string
	for _, m := range b.ledger() {
		states = append(states, string(m.State))
	}
	return states
}

// An orderly end of the work on a mail is never counted as a death.
func TestEndsInOrderAreNoDeaths(t *testing.T) {
	t.Parallel()
	blobs := &away{Blobs: memblob.New(), fail: fault.Wrap(fault.Unavailable, "blobs", errors.New("no route"))}
	b := newBundle(t, blobs)
	b.take(letters("mail", 2)...)
	job := b.job()
	for n := range 10 {
		job.Attempt = n + 1
		if err := b.filer.Handle(t.Context(), job); !fault.Is(err, fault.Unavailable) {
			t.Errorf("with the blobs away: %v", err)
		}
	}
	blobs.fail = nil
	if err := b.filer.Handle(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.ledgerStates()); got != "[filed filed]" {
		t.Error(got)
	}
}
