package transfer

import (
	"context"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/transfer"
)

type (
	rows[T any]       = transfer.Rows[*target, T]
	insertFunc[T any] = func(ctx context.Context, x *target, rows []*T) error
	visit             = *transfer.Visitor
)

// views are those of an article whose revisions are gone.
type views struct {
	SiteID    int64
	ArticleID int64
	N         int64
}

// key is an exchange key.
type key struct {
	SiteID int64
	Kind   kb.KeyKind
	ID     int64
	Key    string
}

// revision is a revision with the site that it is in.
type revision struct {
	SiteID int64
	Live   bool // it is what readers see
	kb.Revision
}

// nouns declares how the rows of each noun travel, in the order of an archive.
type nouns struct {
	sites       *rows[kb.Site]
	files       *rows[kb.File]
	collections *rows[kb.Collection]
	categories  *rows[kb.Category]
	articles    *rows[kb.Article]
	revisions   *rows[revision]
	views       *rows[views]
	feedback    *rows[kb.Feedback]
	themes      *rows[kb.Theme]
	themeFiles  *rows[kb.ThemeFile]
	keys        *rows[key]
	looks       *rows[look]
}

// look is the look of a site, which names files.
type look struct {
	SiteID int64
	kb.Look
	Search kb.SearchSettings
}

func (n *nouns) all() []transfer.Noun[*target] {
	return []transfer.Noun[*target]{
		n.sites, n.files, n.collections, n.categories, n.articles, n.revisions, n.views, n.feedback, n.themes, n.themeFiles, n.keys, n.looks,
	}
}

func newNouns() *nouns {
	n := &nouns{}
	n.shelf()
	n.rest()
	return n
}

func (n *nouns) shelf() {
	n.sites = &rows[kb.Site]{Noun: "sites", Insert: insertSites, Walk: func(v visit, s *kb.Site) {
		v.Own("site", &s.ID)
		v.Loose("mailbox", &s.MailboxID)
	}}
	n.collections = &rows[kb.Collection]{
		Noun: "collections", Insert: inserted(kb.Tx.Collections), Group: func(c *kb.Collection) int64 { return c.SiteID },
		Walk: func(v visit, c *kb.Collection) {
			v.Own("collection", &c.ID)
			v.To("site", &c.SiteID)
			walkText(v, &c.Text)
		},
	}
	n.categories = &rows[kb.Category]{
		Noun: "categories", Insert: insertCategories, Group: func(c *kb.Category) int64 { return c.SiteID },
		Walk: func(v visit, c *kb.Category) {
			v.Own("category", &c.ID)
			v.To("site", &c.SiteID)
			v.To("collection", &c.CollectionID)
			walkText(v, &c.Text)
		},
	}
	n.articles = &rows[kb.Article]{
		Noun: "articles", Insert: insertArticles, Group: func(a *kb.Article) int64 { return a.SiteID },
		Walk: func(v visit, a *kb.Article) {
			v.Own("article", &a.ID)
			v.To("site", &a.SiteID)
			v.To("collection", &a.CollectionID)
			v.Each("category", a.CategoryIDs)
		},
	}
	n.revisions = &rows[revision]{
		Noun: "revisions", Insert: insertRevisions, Group: func(r *revision) int64 { return r.SiteID },
		Walk: func(v visit, r *revision) {
			v.To("site", &r.SiteID)
			v.To("article", &r.ArticleID)
			v.Loose("collection", &r.CollectionID)
			v.LooseEach("category", &r.CategoryIDs)
			walkText(v, &r.Text)
		},
	}
	n.views = &rows[views]{
		Noun: "article_views", Insert: insertViews, Group: func(o *views) int64 { return o.SiteID },
		Walk: func(v visit, o *views) {
			v.To("site", &o.SiteID)
			v.To("article", &o.ArticleID)
		},
	}
	n.feedback = &rows[kb.Feedback]{
		Noun: "feedback", Insert: inserted(kb.Tx.Feedback), Group: func(f *kb.Feedback) int64 { return f.SiteID },
		Walk: func(v visit, f *kb.Feedback) {
			v.Own("feedback", &f.ID)
			v.To("site", &f.SiteID)
			v.To("article", &f.ArticleID)
		},
	}
}

// rest are files, themes and what names them.
func (n *nouns) rest() {
	n.files = &rows[kb.File]{
		Noun: "files", Insert: inserted(kb.Tx.Files), Group: func(f *kb.File) int64 { return f.SiteID }, File: func(f *kb.File) *string { return &f.BlobKey },
		Key: func(x *target, f *kb.File, name string) string { return x.key(f.SiteID, "files", name) },
		Walk: func(v visit, f *kb.File) {
			v.Own("file", &f.ID)
			v.To("site", &f.SiteID)
		},
	}
	n.themes = &rows[kb.Theme]{Noun: "themes", Insert: inserted(kb.Tx.Themes), Group: func(t *kb.Theme) int64 { return t.SiteID }, Walk: func(v visit, t *kb.Theme) {
		v.Own("theme", &t.ID)
		v.To("site", &t.SiteID)
	}}
	n.themeFiles = &rows[kb.ThemeFile]{
		Noun: "theme_files", Insert: inserted(kb.Tx.ThemeFiles), Group: func(f *kb.ThemeFile) int64 { return f.SiteID },
		File: func(f *kb.ThemeFile) *string { return &f.BlobKey },
		Key:  func(x *target, f *kb.ThemeFile, name string) string { return x.key(f.SiteID, "themes", name) },
		Walk: func(v visit, f *kb.ThemeFile) {
			v.Own("theme_file", &f.ID)
			v.To("site", &f.SiteID)
			v.To("theme", &f.ThemeID)
		},
	}
	n.keys = &rows[key]{Noun: "exchange_keys", Insert: insertKeys, Group: func(k *key) int64 { return k.SiteID }, Walk: func(v visit, k *key) {
		v.To("site", &k.SiteID)
		v.Loose(string(k.Kind), &k.ID)
	}}
	n.looks = &rows[look]{Noun: "looks", Insert: insertLooks, Group: func(l *look) int64 { return l.SiteID }, Walk: func(v visit, l *look) {
		v.To("site", &l.SiteID)
		for _, id := range []*int64{&l.LogoID, &l.LogoDarkID, &l.FaviconID, &l.SocialImageID} {
			v.Loose("file", id)
		}
		for _, p := range l.Search.Pins {
			for i := range p.Articles {
				v.Loose("article", &p.Articles[i])
			}
		}
	}}
}

// nounOf are the nouns of what references in contents name.
var nounOf = map[string]string{kb.ArticlePages: "article", kb.CollectionPages: "collection", kb.CategoryPages: "category", kb.FilePages: "file"}

// walkText shows what contents refer to.
func walkText(v visit, t *kb.Text) {
	for i, one := range t.Translations {
		t.Translations[i] = one.Linked(func(r kb.Reference) string {
			v.Loose(nounOf[r.Kind], &r.ID)
			return r.String()
		})
	}
}

// inserted is the Insert of a noun whose rows are stored as they are.
func inserted[T, F any](of func(tx kb.Tx) storage.Rows[T, F]) insertFunc[T] {
	return func(ctx context.Context, x *target, rows []*T) error { return of(x.Tx).Insert(ctx, rows...) }
}

// insertSites gives a site whose address is taken another one. Its look follows, when its files are there.
func insertSites(ctx context.Context, x *target, all []*kb.Site) error {
	for _, s := range all {
		s.Look, s.Search = kb.Look{}, kb.SearchSettings{}
		if x.of.taken[s.HostKey+"/"+s.Path] {
			s.CustomDomain, s.Subdomain, s.HostKey = "", "", kb.SharedHost
			s.Path = x.of.freePath(s)
		}
	}
	return x.Sites().Insert(ctx, all...)
}

func insertCategories(ctx context.Context, x *target, all []*kb.Category) error {
	if err := x.Categories().Insert(ctx, all...); err != nil {
		return err
	}
	return kb.CountCategories(ctx, x.Tx, values(all))
}

func values[T any](all []*T) []T {
	out := make([]T, len(all))
	for i, v := range all {
		out[i] = *v
	}
	return out
}

// insertArticles counts articles without views: these come with their revisions.
func insertArticles(ctx context.Context, x *target, all []*kb.Article) error {
	for _, a := range all {
		a.Views, a.Feedbacks = 0, 0
	}
	if err := x.Articles().Insert(ctx, all...); err != nil {
		return err
	}
	return kb.CountArticles(ctx, x.Tx, values(all))
}

func insertRevisions(ctx context.Context, x *target, all []*revision) error {
	var seen []kb.View
	var thought []kb.Reactions
	for _, r := range all {
		if err := x.InsertRevision(ctx, &r.Revision); err != nil {
			return err
		}
		if r.Live {
			if err := kb.IndexRevision(ctx, x.Tx, r.Revision); err != nil {
				return err
			}
		}
		if r.Views > 0 {
			seen = append(seen, kb.View{ArticleID: r.ArticleID, Revision: r.Number, N: r.Views})
		}
		if r.Positive > 0 || r.Negative > 0 {
			thought = append(thought, kb.Reactions{ArticleID: r.ArticleID, Revision: r.Number, Positive: r.Positive, Negative: r.Negative})
		}
	}
	if err := kb.CountViews(ctx, x.Tx, seen); err != nil || len(thought) == 0 {
		return err
	}
	return x.AddReactions(ctx, thought)
}

func insertViews(ctx context.Context, x *target, all []*views) error {
	var seen []kb.View
	for _, v := range all {
		seen = append(seen, kb.View{ArticleID: v.ArticleID, N: v.N})
	}
	return kb.CountViews(ctx, x.Tx, seen)
}

func insertKeys(ctx context.Context, x *target, all []*key) error {
	var keys []kb.ExchangeKey
	for _, k := range all {
		if k.ID != 0 { // what it was of is gone otherwise
			keys = append(keys, kb.ExchangeKey{Kind: k.Kind, ID: k.ID, Key: k.Key})
		}
	}
	return x.SetExchangeKeys(ctx, keys)
}

func insertLooks(ctx context.Context, x *target, all []*look) error {
	for _, l := range all {
		s, err := x.Sites().Get(ctx, l.SiteID)
		if err != nil {
			return err
		}
		s.Look, s.Search = l.Look, l.Search
		if err := x.Sites().Update(ctx, &s); err != nil {
			return err
		}
	}
	return nil
}
