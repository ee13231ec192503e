package site

import (
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// maxKnown bounds how many facts are remembered of all accounts. Each is a list that one page shows at most.
const maxKnown = 500

// fact names what is remembered of a site.
type fact struct {
	site int64
	what string
}

// known is what is remembered of a state of an account's sites.
func (c *cache) known(at stamp, f fact) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.accounts[at.account]
	if a == nil || a.state != at.state {
		return nil, false
	}
	value, ok := a.known[f]
	return value, ok
}

// know remembers what was read at a state, unless that has passed.
func (c *cache) know(at stamp, f fact, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.accounts[at.account]
	if a == nil || a.state != at.state {
		return
	}
	if _, again := a.known[f]; !again {
		c.facts++
	}
	if c.facts > maxKnown {
		for _, other := range c.accounts {
			other.known = nil
		}
		c.facts = 1
	}
	if a.known == nil {
		a.known = map[fact]any{}
	}
	a.known[f] = value
}

// remembered reads what many pages of a site show, once for each state of its account: as long as pages are kept, and
// for the same reasons. What it returns belongs to all: nobody changes it.
func remembered[T any](v *visit, what string, read func() (T, error)) (T, error) {
	f := fact{v.site.ID, what}
	if v.stamp == (stamp{}) {
		return read()
	}
	if value, ok := v.h.cache.known(v.stamp, f); ok {
		if t, ok := value.(T); ok {
			return t, nil
		}
	}
	t, err := read()
	if err == nil {
		v.h.cache.know(v.stamp, f, t)
	}
	return t, err
}

// shelf is a collection with its categories.
type shelf struct {
	kb.Collection
	categories []kb.Category
}

// shelf reads the collection of an article.
func (v *visit) shelf(id int64) (shelf, error) {
	return remembered(v, "shelf "+strconv.FormatInt(id, 10), func() (s shelf, err error) {
		if s.Collection, err = v.Collection(v.ctx(), id); err != nil {
			return s, err
		}
		page, err := v.Categories(v.ctx(), kb.CategoryFilter{CollectionID: id}, false, storage.PageRequest{Limit: storage.MaxLimit})
		s.categories = page.Items
		return s, err
	})
}

// siblings reads the articles of a category, or those of a collection that are in none.
func (v *visit) siblings(filter kb.ArticleFilter) (storage.Page[kb.ArticleRevision], error) {
	what := "siblings " + strconv.FormatInt(filter.CollectionID, 10) + " " + strconv.FormatInt(filter.CategoryID, 10)
	return remembered(v, what, func() (storage.Page[kb.ArticleRevision], error) {
		return v.Articles(v.ctx(), filter, false, storage.PageRequest{Limit: railArticles})
	})
}

// firstOfEach reads the first articles of categories for the rail of an article.
func (v *visit) firstOfEach(ids []int64) (map[int64][]kb.ArticleRevision, error) {
	var what strings.Builder
	what.WriteString("first")
	for _, id := range ids {
		what.WriteString(" " + strconv.FormatInt(id, 10))
	}
	return remembered(v, what.String(), func() (map[int64][]kb.ArticleRevision, error) {
		return v.FirstOfEach(v.ctx(), ids, shelfArticles+1)
	})
}
