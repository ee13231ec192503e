package kb

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Limits for writing views, by Run or by a reader who finds them overdue.
const (
	viewInterval = 2 * time.Second
	viewsOverdue = 30 * time.Second
	viewBatch    = 200 // articles per transaction
	maxViews     = 1000
)

// seen identifies what was viewed.
type seen struct {
	scope             Scope
	article, revision int64
}

// views holds the views that are not yet written.
type views struct {
	mu     sync.Mutex
	counts map[seen]int64
	since  time.Time // time of the first of them

	running  atomic.Int32
	flushing sync.Mutex // one at a time
}

// count counts a view. Views are gathered, because one transaction each would make readers wait for the row of a popular
// article.
func (s *Service) count(ctx context.Context, scope Scope, a Article) {
	v, now := s.views, s.cfg.Now()
	v.mu.Lock()
	if len(v.counts) == 0 {
		v.since = now
	}
	v.counts[seen{scope, a.ID, a.Live}]++
	overdue := v.running.Load() == 0 && (len(v.counts) >= maxViews || now.Sub(v.since) >= viewsOverdue)
	v.mu.Unlock()
	if !overdue || !v.flushing.TryLock() {
		return
	}
	defer v.flushing.Unlock()
	if err := s.flush(ctx); err != nil {
		s.cfg.Logger.WarnContext(ctx, "views are counted later", "error", err)
	}
}

// Run writes the counted views every two seconds until ctx ends, and the remaining ones then. Without it readers write them,
// every half minute or thousand articles; a program that does not call Run calls [Service.FlushViews] before it exits. Views
// of the last seconds are lost when the process is killed.
func (s *Service) Run(ctx context.Context) error {
	s.views.running.Add(1)
	defer s.views.running.Add(-1)
	tick := time.NewTicker(viewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return s.FlushViews(last)
		case <-tick.C:
			if err := s.FlushViews(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "views are counted later", "error", err)
			}
		}
	}
}

// FlushViews writes the views counted so far.
func (s *Service) FlushViews(ctx context.Context) error {
	s.views.flushing.Lock()
	defer s.views.flushing.Unlock()
	return s.flush(ctx)
}

// flush writes the gathered views and keeps those that it fails to write.
func (s *Service) flush(ctx context.Context) error {
	s.views.mu.Lock()
	counts := s.views.counts
	s.views.counts = map[seen]int64{}
	s.views.mu.Unlock()
	bySite := map[Scope][]View{}
	for k, n := range counts {
		bySite[k.scope] = append(bySite[k.scope], View{ArticleID: k.article, Revision: k.revision, N: n})
	}
	var failed error
	for scope, list := range bySite {
		slices.SortFunc(list, func(a, b View) int {
			return cmp.Or(cmp.Compare(a.ArticleID, b.ArticleID), cmp.Compare(a.Revision, b.Revision))
		})
		for batch := range slices.Chunk(list, viewBatch) {
			err := s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error { return addViews(ctx, tx, batch) })
			if err == nil || fault.Is(err, fault.NotFound) || !fault.Certain(err) { // the site was deleted, or the outcome is unknown: never count twice
				continue
			}
			failed = err
			s.keep(scope, batch)
		}
	}
	return failed
}

// keep puts views back.
func (s *Service) keep(scope Scope, batch []View) {
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	if len(s.views.counts) == 0 {
		s.views.since = s.cfg.Now()
	}
	for _, v := range batch {
		s.views.counts[seen{scope, v.ArticleID, v.Revision}] += v.N
	}
}

// addViews adds views to the articles that still exist, and to their current collections and categories.
func addViews(ctx context.Context, tx Tx, batch []View) error {
	ids := make([]int64, len(batch))
	for i, v := range batch {
		ids[i] = v.ArticleID
	}
	articles, err := tx.LockArticles(ctx, sortedSet(ids))
	if err != nil {
		return err
	}
	there := map[int64]Article{}
	for _, a := range articles {
		there[a.ID] = a
	}
	batch = slices.DeleteFunc(slices.Clone(batch), func(v View) bool { return there[v.ArticleID].ID == 0 })
	if err := tx.AddViews(ctx, batch); err != nil {
		return err
	}
	var counts []Counts
	for _, v := range batch {
		a := there[v.ArticleID]
		c := Counters{Views: v.N}
		if a.Published {
			c.PublishedViews = v.N
		}
		counts = append(counts, Counts{CollectionID: a.CollectionID, Counters: c})
		for _, id := range a.CategoryIDs {
			counts = append(counts, Counts{CategoryID: id, Counters: c})
		}
	}
	return addCounts(ctx, tx, counts)
}
