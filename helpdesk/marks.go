package helpdesk

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Intervals of writing marks: by Run, or by a request that finds them overdue if Run is not running.
const (
	markInterval = 2 * time.Second
	marksOverdue = 30 * time.Second
	markBatch    = 200 // marks per transaction
	maxMarks     = 100_000
)

// mark is an observation to be written later, such as the use of a token.
type mark struct {
	kind    markKind
	account int64 // 0 for tokens
	id      int64
}

type markKind uint8

const (
	tokenUsed     markKind = iota // id: access token
	portalKeyUsed                 // id: portal key
	memberActive                  // id: membership
	answerSeen                    // id: interaction
)

// marks collects marks until they are written, so that readers need not wait for a write.
type marks struct {
	mu    sync.Mutex
	at    map[mark]time.Time
	since time.Time // time of the first mark

	running  atomic.Int32
	flushing sync.Mutex // one at a time
}

// mark collects a mark to be written later.
func (s *Service) mark(ctx context.Context, m mark, at time.Time) {
	marks := s.marks
	marks.mu.Lock()
	if len(marks.at) == 0 {
		marks.since = at
	}
	old, known := marks.at[m]
	switch {
	case known && (m.kind == answerSeen || !at.After(old)): // keeps the first time, or the last
	case known || len(marks.at) < maxMarks:
		marks.at[m] = at
	}
	overdue := marks.running.Load() == 0 && at.Sub(marks.since) >= marksOverdue
	marks.mu.Unlock()
	if !overdue || !marks.flushing.TryLock() {
		return
	}
	defer marks.flushing.Unlock()
	if err := s.flushMarks(ctx); err != nil {
		s.cfg.Logger.WarnContext(ctx, "marks are written later", "error", err)
	}
}

// Run writes marks every two seconds until ctx ends: the last use of tokens and portal keys, members' activity, and which
// replies were seen. At the end it writes the remaining ones. Without Run, requests write them every half minute, and the
// program should call [Service.FlushMarks] before it exits. Killing the process loses the last seconds' marks.
func (s *Service) Run(ctx context.Context) error {
	s.marks.running.Add(1)
	defer s.marks.running.Add(-1)
	tick := time.NewTicker(markInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return s.FlushMarks(last)
		case <-tick.C:
			if err := s.FlushMarks(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "marks are written later", "error", err)
			}
		}
	}
}

// FlushMarks writes all collected marks.
func (s *Service) FlushMarks(ctx context.Context) error {
	s.marks.flushing.Lock()
	defer s.marks.flushing.Unlock()
	return s.flushMarks(ctx)
}

// flushMarks writes the collected marks and keeps those that fail.
func (s *Service) flushMarks(ctx context.Context) error {
	s.marks.mu.Lock()
	gathered := s.marks.at
	s.marks.at = map[mark]time.Time{}
	s.marks.mu.Unlock()
	byAccount := map[int64][]mark{}
	for m := range gathered {
		byAccount[m.account] = append(byAccount[m.account], m)
	}
	var failed error
	for _, account := range slices.Sorted(maps.Keys(byAccount)) {
		list := byAccount[account]
		slices.SortFunc(list, func(a, b mark) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id)) })
		for batch := range slices.Chunk(list, markBatch) {
			err := failed // if the database is unavailable, try only once
			if err == nil {
				err = s.writeMarks(ctx, account, batch, gathered)
			}
			if err == nil || !fault.Certain(err) { // writing them again is idempotent
				continue
			}
			if !fault.Passes(err) && ctx.Err() == nil {
				s.cfg.Logger.ErrorContext(ctx, "marks were lost", "account_id", account, "error", err)
				continue
			}
			failed = err
			s.keepMarks(batch, gathered)
		}
	}
	return failed
}

// keepMarks puts marks back.
func (s *Service) keepMarks(batch []mark, at map[mark]time.Time) {
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	for _, m := range batch {
		if len(s.marks.at) == 0 {
			s.marks.since = s.now()
		}
		if now, known := s.marks.at[m]; !known || m.kind == answerSeen && at[m].Before(now) {
			s.marks.at[m] = at[m]
		}
	}
}

// writeMarks writes marks of one account, or of none if 0.
func (s *Service) writeMarks(ctx context.Context, account int64, batch []mark, at map[mark]time.Time) error {
	if account == 0 {
		return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
			for _, m := range batch {
				if err := tx.TouchToken(ctx, m.id, at[m]); err != nil && !fault.Is(err, fault.NotFound) {
					return err
				}
			}
			return nil
		})
	}
	return s.cfg.Store.InTx(ctx, Scope{AccountID: account}, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Account(ctx); err != nil {
			return gone(err)
		}
		for _, m := range batch {
			if err := gone(s.writeMark(ctx, tx, m, at[m])); err != nil {
				return err
			}
		}
		return nil
	})
}

// gone drops NotFound errors, since the marked row may have been removed.
func gone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (s *Service) writeMark(ctx context.Context, tx Tx, m mark, at time.Time) error {
	switch m.kind {
	case portalKeyUsed:
		return tx.TouchPortalKey(ctx, m.id, at)
	case memberActive:
		return tx.TouchMembership(ctx, m.id, at)
	case answerSeen:
		return s.seenByPixel(ctx, tx, m.id, at)
	}
	return nil
}
