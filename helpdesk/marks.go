package helpdesk

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/gather"
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
	answerSeen                    // id: interaction; the first time counts, of the others the last
)

type markEntry = gather.Entry[mark, time.Time]

func (s *Service) newMarks() *gather.Gatherer[mark, time.Time] {
	return gather.New(gather.Config[mark, time.Time]{
		Name: "marks",
		Compare: func(a, b mark) int {
			return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
		},
		Together: func(a, b mark) bool { return a.account == b.account },
		Merge: func(m mark, a, b time.Time) time.Time {
			if (m.kind == answerSeen) == a.Before(b) {
				return a
			}
			return b
		},
		Write: s.writeMarks, Now: s.cfg.Now, Logger: s.cfg.Logger,
	})
}

// Run writes marks every two seconds until ctx ends: the last use of tokens and portal keys, members' activity, which replies were
// seen, and what readers of help centres did. At the end it writes the remaining ones. Without Run, requests write them every half
// minute, and the program should call [Service.FlushMarks] before it exits. Killing the process loses the last seconds' marks.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.marks.Run(ctx) })
	group.Go(func() error { return s.readings.Run(ctx) })
	return group.Wait()
}

// FlushMarks writes all collected marks.
func (s *Service) FlushMarks(ctx context.Context) error {
	return errors.Join(s.marks.Flush(ctx), s.readings.Flush(ctx))
}

// writeMarks writes marks of one account, or of none.
func (s *Service) writeMarks(ctx context.Context, batch []markEntry) error {
	account := batch[0].Key.account
	if account == 0 {
		return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
			for _, m := range batch {
				if err := tx.TouchToken(ctx, m.Key.id, m.Value); err != nil && !fault.Is(err, fault.NotFound) {
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
		came, err := s.comeOnline(ctx, tx, account, batch)
		if err != nil {
			return err
		}
		for _, m := range batch {
			if err := gone(s.writeMark(ctx, tx, m.Key, m.Value)); err != nil {
				return err
			}
		}
		return s.handOutTo(ctx, tx, account, came...)
	})
}

// comeOnline returns the users who were offline and come online by marks. Without teams that hand out conversations it does not look.
func (s *Service) comeOnline(ctx context.Context, tx Tx, account int64, batch []markEntry) ([]int64, error) {
	active := map[int64]time.Time{}
	for _, m := range batch {
		if m.Key.kind == memberActive {
			active[m.Key.id] = m.Value
		}
	}
	if len(active) == 0 {
		return nil, nil
	}
	if teams, err := handingOut(ctx, tx); err != nil || len(teams) == 0 {
		return nil, err
	}
	members, err := tx.Memberships().ByIDs(ctx, slices.Collect(maps.Keys(active)))
	var came []int64
	for _, m := range members {
		before := m.Online(s.now())
		m.LastActivity = active[m.ID]
		if !before && m.Online(s.now()) {
			came = append(came, m.UserID)
		}
	}
	return came, err
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
		keys := portalKeyNoun().Rows(tx)
		key, err := keys.Lock(ctx, m.id)
		if err != nil {
			return err
		}
		key.LastUsedAt = at
		return keys.Update(ctx, &key)
	case memberActive:
		return tx.TouchMembership(ctx, m.id, at)
	case answerSeen:
		return s.seenByPixel(ctx, tx, m.id, at)
	}
	return nil
}
