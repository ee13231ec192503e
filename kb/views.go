package kb

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/gather"
)

// seen identifies what was viewed.
type seen struct {
	scope             Scope
	article, revision int64
}

// newViews gathers views, because one transaction each would make readers wait for the row of a popular article.
func (s *Service) newViews() *gather.Gatherer[seen, int64] {
	return gather.New(gather.Config[seen, int64]{
		Name: "views",
		Compare: func(a, b seen) int {
			return cmp.Or(cmp.Compare(a.scope.AccountID, b.scope.AccountID), cmp.Compare(a.scope.SiteID, b.scope.SiteID),
				cmp.Compare(a.article, b.article), cmp.Compare(a.revision, b.revision))
		},
		Together: func(a, b seen) bool { return a.scope == b.scope },
		Merge:    func(_ seen, a, b int64) int64 { return a + b },
		Write:    s.writeViews, Now: s.cfg.Now, Logger: s.cfg.Logger,
	})
}

// countView counts a view of an article's live revision.
func (s *Service) countView(ctx context.Context, site Site, a Article) {
	s.views.Add(ctx, seen{Scope{AccountID: site.AccountID, SiteID: site.ID}, a.ID, a.Live}, 1)
}

// Run writes the counted views every two seconds until ctx ends, and the remaining ones then. Without it readers write them,
// every half minute or thousand articles; a program that does not call Run calls [Service.FlushViews] before it exits. Views
// of the last seconds are lost when the process is killed.
func (s *Service) Run(ctx context.Context) error { return s.views.Run(ctx) }

// FlushViews writes the views counted so far.
func (s *Service) FlushViews(ctx context.Context) error { return s.views.Flush(ctx) }

// writeViews writes views of one site, unless it was deleted.
func (s *Service) writeViews(ctx context.Context, batch []gather.Entry[seen, int64]) error {
	views := make([]View, len(batch))
	for i, v := range batch {
		views[i] = View{ArticleID: v.Key.article, Revision: v.Key.revision, N: v.Value}
	}
	err := s.cfg.Store.InTx(ctx, batch[0].Key.scope, func(ctx context.Context, tx Tx) error { return addViews(ctx, tx, views) })
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
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
