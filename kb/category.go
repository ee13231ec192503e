package kb

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Category is part of a collection. An article can be in several categories, also in those of other collections.
type Category struct {
	ID           int64
	SiteID       int64
	CollectionID int64
	SortOrder    SortOrder
	Text
	Counters
	CreatedAt time.Time
	UpdatedAt time.Time
}

// CategoryInput creates or changes a category. In a change, absent fields stay as they are.
type CategoryInput struct {
	TextInput
	CollectionID int64                  // required; a change moves the category, but not its articles
	SortOrder    storage.Opt[SortOrder] // null, or none for a new one: last
	// ExchangeKey is the key of a new category, see [ExchangeKey]; "": none yet.
	ExchangeKey string
}

// CategoryFilter filters a list of categories. The zero value matches all.
type CategoryFilter struct {
	CollectionID int64
}

// position is the place of a category in lists.
func (c Category) position() storage.Position {
	return storage.Position{Key: int64(c.SortOrder), ID: c.ID}
}

// apply validates in and applies it to c.
func (c *Category) apply(ctx context.Context, tx Tx, in CategoryInput, now time.Time) error {
	var problems fault.Collector
	problems.Check(in.CollectionID != 0, "collection_id", "is required")
	checkSortOrder(&problems, in.SortOrder)
	c.Text.apply(&problems, in.TextInput, named, now)
	if err := problems.Err(); err != nil {
		return err
	}
	if _, err := tx.Collections().Get(ctx, in.CollectionID); err != nil {
		return err
	}
	c.CollectionID = in.CollectionID
	var err error
	c.SortOrder, err = place(in.SortOrder, c.SortOrder, c.ID == 0, func() (SortOrder, bool, error) {
		last, err := tx.Categories().List(ctx, CategoryFilter{CollectionID: c.CollectionID}, storage.Seek{Desc: true, Limit: 1})
		if len(last) == 0 {
			return 0, false, err
		}
		return last[0].SortOrder, true, err
	})
	c.UpdatedAt = now
	return err
}

// Categories lists categories by sort order. It needs categories.view.
func (e *Editor) Categories(ctx context.Context, filter CategoryFilter, desc bool, req storage.PageRequest) (storage.Page[Category], error) {
	r, err := e.guard.Read(CategoriesView)
	if err != nil {
		return storage.Page[Category]{}, err
	}
	return listCategories(ctx, r, filter, desc, req)
}

// listCategories lists categories. A filter for a collection that does not exist is a NotFound fault.
func listCategories(ctx context.Context, r shelves, filter CategoryFilter, desc bool, req storage.PageRequest) (storage.Page[Category], error) {
	page, err := storage.List(req, desc, Category.position, func(seek storage.Seek) ([]Category, error) { return r.Categories().List(ctx, filter, seek) })
	if filter.CollectionID != 0 && (err != nil || len(page.Items) == 0) { // a category in it proves that the collection exists
		if _, missing := r.Collections().Get(ctx, filter.CollectionID); missing != nil {
			return storage.Page[Category]{}, missing
		}
	}
	return page, err
}

// Category returns a category. It needs categories.view.
func (e *Editor) Category(ctx context.Context, id int64) (Category, error) {
	r, err := e.guard.Read(CategoriesView)
	if err != nil {
		return Category{}, err
	}
	return r.Categories().Get(ctx, id)
}

// CategoriesByID returns the categories with these ids that exist. It needs categories.view.
func (e *Editor) CategoriesByID(ctx context.Context, ids []int64) ([]Category, error) {
	r, err := e.guard.Read(CategoriesView)
	if err != nil {
		return nil, err
	}
	return r.Categories().ByIDs(ctx, ids)
}

// CreateCategory creates a category. It needs categories.create. A collection that is not in the site is a NotFound fault.
func (e *Editor) CreateCategory(ctx context.Context, in CategoryInput) (Category, error) {
	begin, err := e.guard.Write(CategoriesCreate)
	if err != nil {
		return Category{}, err
	}
	var c Category
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		now := e.svc.now()
		c = Category{SiteID: e.site.ID, CreatedAt: now}
		if err := c.apply(ctx, tx, in, now); err != nil {
			return err
		}
		if err := tx.Categories().Insert(ctx, &c); err != nil {
			return err
		}
		if err := addCounts(ctx, tx, []Counts{{CollectionID: c.CollectionID, Counters: Counters{Categories: 1}}}); err != nil {
			return err
		}
		if err := setKey(ctx, tx, CategoryKey, c.ID, in.ExchangeKey); err != nil {
			return err
		}
		return e.emit(ctx, tx, "category.created", c.ID)
	})
	return c, err
}

// UpdateCategory changes a category. It needs categories.update.
func (e *Editor) UpdateCategory(ctx context.Context, id int64, in CategoryInput) (Category, error) {
	begin, err := e.guard.Write(CategoriesUpdate)
	if err != nil {
		return Category{}, err
	}
	var c Category
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if c, err = tx.Categories().Lock(ctx, id); err != nil {
			return err
		}
		from := c.CollectionID
		if err := c.apply(ctx, tx, in, e.svc.now()); err != nil {
			return err
		}
		if err := tx.Categories().Update(ctx, &c); err != nil {
			return err
		}
		if from != c.CollectionID {
			err := addCounts(ctx, tx, []Counts{
				{CollectionID: from, Counters: Counters{Categories: -1}}, {CollectionID: c.CollectionID, Counters: Counters{Categories: 1}},
			})
			if err != nil {
				return err
			}
		}
		return e.emit(ctx, tx, "category.updated", c.ID)
	})
	return c, err
}

// DeleteCategory deletes a category. It needs categories.delete. A category that still has articles, published or not, is a
// Conflict fault.
func (e *Editor) DeleteCategory(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(CategoriesDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Categories().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := tx.Categories().Delete(ctx, id); err != nil {
			return err
		}
		if err := addCounts(ctx, tx, []Counts{{CollectionID: c.CollectionID, Counters: Counters{Categories: -1}}}); err != nil {
			return err
		}
		return e.emit(ctx, tx, "category.deleted", id)
	})
}

// Categories lists categories by sort order, counting only published articles.
func (v *Visitor) Categories(ctx context.Context, filter CategoryFilter, desc bool, req storage.PageRequest) (storage.Page[Category], error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return storage.Page[Category]{}, err
	}
	page, err := listCategories(ctx, r, filter, desc, req)
	page.Items = shownCategories(page.Items)
	return page, err
}

// Category returns a category, counting only published articles.
func (v *Visitor) Category(ctx context.Context, id int64) (Category, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return Category{}, err
	}
	c, err := r.Categories().Get(ctx, id)
	c.Counters = c.Counters.published()
	return c, err
}

// CategoriesByID returns the categories with these ids that exist.
func (v *Visitor) CategoriesByID(ctx context.Context, ids []int64) ([]Category, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	list, err := r.Categories().ByIDs(ctx, ids)
	return shownCategories(list), err
}

func shownCategories(list []Category) []Category {
	list = slices.Clone(list)
	for i := range list {
		list[i].Counters = list[i].Counters.published()
	}
	return list
}
