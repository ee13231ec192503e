package kb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Counters counts the contents of a collection or a category. Stores keep them; only [CountWriter] changes them.
type Counters struct {
	Articles   int64
	Categories int64 // of a collection
	Views      int64 // of all revisions of the articles that are in it now
	// The same for published articles only.
	PublishedArticles int64
	PublishedViews    int64
}

// Add returns the sum of the counters.
func (c Counters) Add(o Counters) Counters {
	return Counters{
		Articles: c.Articles + o.Articles, Categories: c.Categories + o.Categories, Views: c.Views + o.Views,
		PublishedArticles: c.PublishedArticles + o.PublishedArticles, PublishedViews: c.PublishedViews + o.PublishedViews,
	}
}

// addCounts sums the changes per collection and category and adds them in a fixed order that prevents deadlocks: collections
// first, each noun by id.
func addCounts(ctx context.Context, tx CountWriter, counts []Counts) error {
	sums := map[[2]int64]Counters{}
	for _, c := range counts {
		at := [2]int64{c.CollectionID, c.CategoryID}
		sums[at] = sums[at].Add(c.Counters)
	}
	var all []Counts
	for at, sum := range sums {
		if sum != (Counters{}) {
			all = append(all, Counts{CollectionID: at[0], CategoryID: at[1], Counters: sum})
		}
	}
	slices.SortFunc(all, func(a, b Counts) int {
		return cmp.Or(cmp.Compare(a.CategoryID, b.CategoryID), cmp.Compare(a.CollectionID, b.CollectionID))
	})
	if len(all) == 0 {
		return nil
	}
	return tx.AddCounts(ctx, all)
}

// published returns the counters that visitors may see.
func (c Counters) published() Counters {
	return Counters{Articles: c.PublishedArticles, Categories: c.Categories, Views: c.PublishedViews, PublishedArticles: c.PublishedArticles, PublishedViews: c.PublishedViews}
}

// Collection is part of a site. It holds categories and articles.
type Collection struct {
	ID        int64
	SiteID    int64
	SortOrder SortOrder
	Icon      string // one of theme.Icons, or ""
	Text
	Counters
	CreatedAt time.Time
	UpdatedAt time.Time
}

// CollectionInput creates or changes a collection. In a change, absent fields stay as they are.
type CollectionInput struct {
	TextInput
	SortOrder storage.Opt[SortOrder] // null, or none for a new one: last
	Icon      storage.Opt[string]    // one of theme.Icons; null: none
	// ExchangeKey is the key of a new collection, see [ExchangeKey]; "": none yet.
	ExchangeKey string
}

// position is the place of a collection in lists.
func (c Collection) position() storage.Position {
	return storage.Position{Key: int64(c.SortOrder), ID: c.ID}
}

// checkSortOrder reports a sort order out of range.
func checkSortOrder(problems *fault.Collector, given storage.Opt[SortOrder]) {
	order, _ := given.Get()
	problems.Check(order >= -maxSortOrder && order <= maxSortOrder, "sort_order", "is out of range")
}

// apply validates in and applies it to c.
func (c *Collection) apply(ctx context.Context, tx Tx, in CollectionInput, now time.Time) error {
	var problems fault.Collector
	checkSortOrder(&problems, in.SortOrder)
	c.Icon = strings.TrimSpace(in.Icon.Or(c.Icon))
	checkIcon(&problems, c.Icon)
	c.Text.apply(&problems, in.TextInput, named, now)
	if err := problems.Err(); err != nil {
		return err
	}
	var err error
	c.SortOrder, err = place(in.SortOrder, c.SortOrder, c.ID == 0, func() (SortOrder, bool, error) {
		last, err := tx.Collections().List(ctx, storage.NoFilter{}, storage.Seek{Desc: true, Limit: 1})
		if len(last) == 0 {
			return 0, false, err
		}
		return last[0].SortOrder, true, err
	})
	c.UpdatedAt = now
	return err
}

// Collections lists the site's collections by sort order. It needs collections.view.
func (e *Editor) Collections(ctx context.Context, desc bool, req storage.PageRequest) (storage.Page[Collection], error) {
	r, err := e.guard.Read(CollectionsView)
	if err != nil {
		return storage.Page[Collection]{}, err
	}
	return listCollections(ctx, r, desc, req)
}

func listCollections(ctx context.Context, r shelves, desc bool, req storage.PageRequest) (storage.Page[Collection], error) {
	return storage.List(req, desc, Collection.position, func(seek storage.Seek) ([]Collection, error) {
		return r.Collections().List(ctx, storage.NoFilter{}, seek)
	})
}

// Collection returns a collection. It needs collections.view.
func (e *Editor) Collection(ctx context.Context, id int64) (Collection, error) {
	r, err := e.guard.Read(CollectionsView)
	if err != nil {
		return Collection{}, err
	}
	return r.Collections().Get(ctx, id)
}

// CollectionsByID returns the collections with these ids that exist. It needs collections.view.
func (e *Editor) CollectionsByID(ctx context.Context, ids []int64) ([]Collection, error) {
	r, err := e.guard.Read(CollectionsView)
	if err != nil {
		return nil, err
	}
	return r.Collections().ByIDs(ctx, ids)
}

// CreateCollection creates a collection. It needs collections.create.
func (e *Editor) CreateCollection(ctx context.Context, in CollectionInput) (Collection, error) {
	begin, err := e.guard.Write(CollectionsCreate)
	if err != nil {
		return Collection{}, err
	}
	var c Collection
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		now := e.svc.now()
		c = Collection{SiteID: e.site.ID, CreatedAt: now}
		if err := c.apply(ctx, tx, in, now); err != nil {
			return err
		}
		if err := tx.Collections().Insert(ctx, &c); err != nil {
			return err
		}
		if err := setKey(ctx, tx, CollectionKey, c.ID, in.ExchangeKey); err != nil {
			return err
		}
		return e.emit(ctx, tx, "collection.created", c.ID)
	})
	return c, err
}

// UpdateCollection changes a collection. It needs collections.update.
func (e *Editor) UpdateCollection(ctx context.Context, id int64, in CollectionInput) (Collection, error) {
	begin, err := e.guard.Write(CollectionsUpdate)
	if err != nil {
		return Collection{}, err
	}
	var c Collection
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = tx.Collections().Lock(ctx, id); err != nil {
			return err
		}
		if err := c.apply(ctx, tx, in, e.svc.now()); err != nil {
			return err
		}
		if err := tx.Collections().Update(ctx, &c); err != nil {
			return err
		}
		return e.emit(ctx, tx, "collection.updated", c.ID)
	})
	return c, err
}

// DeleteCollection deletes a collection with its categories. It needs collections.delete. A collection that still has
// articles, published or not, itself or in one of its categories, is a Conflict fault.
func (e *Editor) DeleteCollection(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(CollectionsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Collections().Lock(ctx, id)
		if err != nil {
			return err
		}
		if c.Articles > 0 {
			return fault.New(fault.Conflict, "The collection still holds articles.")
		}
		for {
			categories, err := tx.Categories().List(ctx, CategoryFilter{CollectionID: id}, storage.Seek{Limit: storage.MaxLimit})
			if err != nil {
				return err
			}
			for _, category := range categories {
				if err := tx.Categories().Delete(ctx, category.ID); err != nil {
					return err
				}
			}
			if len(categories) < storage.MaxLimit {
				break
			}
		}
		if err := tx.Collections().Delete(ctx, id); err != nil {
			return err
		}
		return e.emit(ctx, tx, "collection.deleted", id)
	})
}

// Collections lists the site's collections by sort order, counting only published articles.
func (v *Visitor) Collections(ctx context.Context, desc bool, req storage.PageRequest) (storage.Page[Collection], error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return storage.Page[Collection]{}, err
	}
	page, err := listCollections(ctx, r, desc, req)
	page.Items = shownCollections(page.Items)
	return page, err
}

// Collection returns a collection, counting only published articles.
func (v *Visitor) Collection(ctx context.Context, id int64) (Collection, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return Collection{}, err
	}
	c, err := r.Collections().Get(ctx, id)
	c.Counters = c.Counters.published()
	return c, err
}

// CollectionsByID returns the collections with these ids that exist.
func (v *Visitor) CollectionsByID(ctx context.Context, ids []int64) ([]Collection, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	list, err := r.Collections().ByIDs(ctx, ids)
	return shownCollections(list), err
}

func shownCollections(list []Collection) []Collection {
	list = slices.Clone(list)
	for i := range list {
		list[i].Counters = list[i].Counters.published()
	}
	return list
}
