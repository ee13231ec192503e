package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// Reactions are numbers of what visitors thought of a revision.
type Reactions struct{ ArticleID, Revision, Positive, Negative int64 }

// TransferWriter writes what otherwise only comes about by what people do. It is for imports.
type TransferWriter interface {
	storage.IDMap
	// AddReactions adds to the numbers of revisions, without visitors. A revision that is not there is NotFound.
	AddReactions(ctx context.Context, all []Reactions) error
}

// CountCategories counts categories in their collections. It is for imports, in a transaction that has just inserted them.
func CountCategories(ctx context.Context, tx Tx, categories []Category) error {
	var counts []Counts
	for _, c := range categories {
		counts = append(counts, Counts{CollectionID: c.CollectionID, Counters: Counters{Categories: 1}})
	}
	return addCounts(ctx, tx, counts)
}

// CountArticles counts articles, with the views that they have, in their collections and categories. It is for imports, in a
// transaction that has just inserted them.
func CountArticles(ctx context.Context, tx Tx, articles []Article) error {
	var counts []Counts
	for _, a := range articles {
		counts = append(counts, a.counts(1)...)
	}
	return addCounts(ctx, tx, counts)
}

// CountViews adds views to revisions, to their articles and to what these are in. It is for imports.
func CountViews(ctx context.Context, tx Tx, views []View) error { return addViews(ctx, tx, views) }

// IndexRevision makes an article findable by its live revision. It is for imports.
func IndexRevision(ctx context.Context, tx Tx, live Revision) error {
	return index(ctx, tx, live.ArticleID, documents(live))
}
