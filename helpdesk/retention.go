package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Retention contains the retention periods of growing data. 0 is the default, a negative period means forever.
type Retention struct {
	Audit time.Duration // entries of audit logs; default two years
	// Events of the logs, from which the histories of conversations are made; default 90 days. The period is at least Deliveries, since these refer to events. Events that webhooks
	// still need, and the newest of each account, are kept.
	Events     time.Duration
	Deliveries time.Duration // finished webhook deliveries, at most the newest 10,000 of each webhook; default 30 days
	Sessions   time.Duration // after expiry; default one day
	FailedJobs time.Duration // given-up jobs, after they were due; default 180 days
	// RawMails are the raw bytes of received messages that were filed or ignored; default forever. Texts and attachments of the
	// conversations remain, but [Interactions.Source], [InboundMails.Open] and a replay find nothing. Messages that wait or could not be
	// filed are kept.
	RawMails time.Duration
}

// day is a day of a retention period.
const day = 24 * time.Hour

// withDefaults fills in what is not set.
func (r Retention) withDefaults() Retention {
	for _, one := range []struct {
		of  *time.Duration
		own time.Duration
	}{{&r.Audit, 730 * day}, {&r.Events, 90 * day}, {&r.Deliveries, 30 * day}, {&r.Sessions, day}, {&r.FailedJobs, 180 * day}, {&r.RawMails, -1}} {
		if *one.of == 0 {
			*one.of = one.own
		}
	}
	return r
}

// check adds problems for invalid periods.
func (r Retention) check(problems *fault.Collector) {
	r = r.withDefaults()
	problems.Check(r.Events < 0 || r.Deliveries > 0 && r.Events >= r.Deliveries, "Retention.Events",
		"must be at least Retention.Deliveries: webhook deliveries refer to events")
}

// pruneBatch is the number of rows removed per transaction, during which other writers wait.
const pruneBatch = 500

// Pruned contains the numbers of rows removed by [Service.Prune].
type Pruned struct {
	Audit, Events, Sessions, FailedJobs, RawMails int
	// AutoResponses say why automatic replies were sent. They are kept for 90 days, or as long as a customer gets no other one.
	AutoResponses int
	RuleRuns      int // of rules, with what records that they ran; kept for 90 days
	// Periods were dropped whole, see [PeriodDropper]; the other numbers do not include their rows.
	Periods int
}

// prune is a store method that removes old rows.
type prune = func(ctx context.Context, before time.Time, n int) (int, error)

// Prune removes data older than [Retention] allows, in small transactions. After an interruption, calling it again
// continues. [Dispatch.Prune] removes deliveries to webhooks.
func (s *Service) Prune(ctx context.Context) (Pruned, error) {
	var done Pruned
	keep := s.cfg.Retention
	err := s.pruneAll(ctx, keep.Sessions, &done.Sessions, func(tx SystemTx) prune { return tx.PruneSessions })
	if err == nil {
		err = s.pruneAll(ctx, keep.FailedJobs, &done.FailedJobs, func(tx SystemTx) prune { return tx.PruneFailedJobs })
	}
	if err == nil {
		done.Periods, err = s.dropPeriods(ctx)
	}
	if err != nil {
		return done, err
	}
	list := func(seek storage.Seek) ([]identity.Account, error) { return s.cfg.Store.Accounts(ctx, seek) }
	return done, each(list, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error {
		scope := Scope{AccountID: a.ID}
		err := s.pruneAll(ctx, keep.Audit, &done.Audit, func(tx SystemTx) prune { return tx.Within(scope).PruneAudit })
		if err == nil {
			err = s.pruneAll(ctx, keep.Events, &done.Events, func(tx SystemTx) prune { return tx.Within(scope).PruneEvents })
		}
		if err == nil {
			err = s.pruneAll(ctx, keep.RawMails, &done.RawMails, func(tx SystemTx) prune { return pruneRaw(tx.Within(scope), a.ID) })
		}
		if err == nil {
			err = s.pruneResponses(ctx, scope, &done.AutoResponses)
		}
		if err == nil {
			err = s.pruneAll(ctx, keepRuleRuns, &done.RuleRuns, func(tx SystemTx) prune { return pruneRuns(tx.Within(scope)) })
		}
		if err == nil {
			err = s.pruneReplays(ctx, scope)
		}
		if fault.Is(err, fault.NotFound) {
			return nil // deleted in the meantime
		}
		return err
	})
}

// autoResponsesFor is how long it is kept why an automatic reply was sent.
const autoResponsesFor = 90 * day

// pruneResponses removes old responses of each automatic reply, but not those by which it knows whom it has answered.
func (s *Service) pruneResponses(ctx context.Context, scope Scope, removed *int) error {
	all, err := autoReplyNoun().Reader(s.cfg.Store.Within(scope)).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, a := range all {
		before := s.now().Add(-max(autoResponsesFor, a.OncePer))
		for n := pruneBatch; n == pruneBatch; {
			err := s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
				n = 0
				oldest, err := autoResponseNoun().Rows(tx).List(ctx, AutoResponseFilter{AutoReplyID: a.ID}, storage.Seek{Limit: pruneBatch})
				for _, one := range oldest {
					if err != nil || !one.CreatedAt.Before(before) {
						break
					}
					err = autoResponseNoun().Rows(tx).Delete(ctx, one.ID)
					n++
				}
				return err
			})
			if err != nil {
				return err
			}
			*removed += n
		}
	}
	return nil
}

// dropPeriods drops old periods, in a store that has such.
func (s *Service) dropPeriods(ctx context.Context) (int, error) {
	store, ok := unrecorded(s.cfg.Store).(PeriodDropper)
	if !ok {
		return 0, nil
	}
	before := func(kept time.Duration) time.Time {
		if kept < 0 {
			return time.Time{}
		}
		return s.now().Add(-kept)
	}
	return store.DropPeriods(ctx, Periods{Audit: before(s.cfg.Retention.Audit), Events: before(s.cfg.Retention.Events)})
}

// pruneRaw removes raw mails: the rows forget them, and a job deletes the blobs.
func pruneRaw(tx Tx, accountID int64) prune {
	return func(ctx context.Context, before time.Time, n int) (int, error) {
		keys, err := tx.PruneRawMails(ctx, before, n)
		if err != nil || len(keys) == 0 {
			return 0, err
		}
		return len(keys), tx.Enqueue(ctx, purgeKeys(accountID, keys)...)
	}
}

// pruneAll removes batches until nothing old is left, each in its own transaction.
func (s *Service) pruneAll(ctx context.Context, kept time.Duration, removed *int, of func(tx SystemTx) prune) error {
	if kept < 0 {
		return nil
	}
	before := s.now().Add(-kept)
	for n := pruneBatch; n == pruneBatch; {
		err := s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) (err error) {
			n, err = of(tx)(ctx, before, pruneBatch)
			return err
		})
		if err != nil {
			return err
		}
		*removed += n
	}
	return nil
}

// eventsLost reports whether events between after and last, the newest, were pruned.
func (s *Service) eventsLost(ctx context.Context, accountID, after, last int64) (bool, error) {
	if after >= last {
		return false, nil
	}
	next, err := s.cfg.Store.Within(Scope{AccountID: accountID}).EventsBySeq(ctx, []int64{after + 1})
	return len(next) == 0, err
}
