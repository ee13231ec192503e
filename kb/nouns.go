package kb

import "github.com/helpwright/helpwright/storage"

// Declarations holds the declarations of all nouns whose rows a store keeps.
type Declarations struct {
	Articles    storage.Noun[Article]
	Categories  storage.Noun[Category]
	Collections storage.Noun[Collection]
	Feedback    storage.Noun[Feedback]
	Files       storage.Noun[File]
	Sites       storage.Noun[Site]
	Themes      storage.Noun[Theme]
	ThemeFiles  storage.Noun[ThemeFile]
}

// Nouns returns the declarations for [Rows], for stores and storagetest.
func Nouns() Declarations {
	return Declarations{
		Articles: storage.Noun[Article]{
			Name: "article",
			ID:   func(a *Article) *int64 { return &a.ID },
			Site: func(a *Article) *int64 { return &a.SiteID },
			Kept: func(a, old *Article) { a.Views, a.Feedbacks = old.Views, old.Feedbacks },
		},
		Categories: storage.Noun[Category]{
			Name: "category",
			ID:   func(c *Category) *int64 { return &c.ID },
			Site: func(c *Category) *int64 { return &c.SiteID },
			Kept: func(c, old *Category) { c.Counters = old.Counters },
		},
		Collections: storage.Noun[Collection]{
			Name: "collection",
			ID:   func(c *Collection) *int64 { return &c.ID },
			Site: func(c *Collection) *int64 { return &c.SiteID },
			Kept: func(c, old *Collection) { c.Counters = old.Counters },
		},
		Feedback: storage.Noun[Feedback]{
			Name: "feedback",
			ID:   func(f *Feedback) *int64 { return &f.ID },
			Site: func(f *Feedback) *int64 { return &f.SiteID },
			Kept: func(f, old *Feedback) { f.ArticleID = old.ArticleID },
		},
		Files: storage.Noun[File]{
			Name: "file",
			ID:   func(f *File) *int64 { return &f.ID },
			Site: func(f *File) *int64 { return &f.SiteID },
		},
		Sites: storage.Noun[Site]{
			Name:    "site",
			ID:      func(s *Site) *int64 { return &s.ID },
			Account: func(s *Site) *int64 { return &s.AccountID },
			Unique: []storage.Unique[Site]{
				{Code: UniqueSitePath, Fields: func(s *Site) []any { return []any{&s.HostKey, &s.Path} }, Everywhere: true},
			},
		},
		Themes: storage.Noun[Theme]{
			Name: "theme",
			ID:   func(t *Theme) *int64 { return &t.ID },
			Site: func(t *Theme) *int64 { return &t.SiteID },
			Unique: []storage.Unique[Theme]{
				{Code: UniqueActiveTheme, Fields: func(t *Theme) []any { return []any{&t.SiteID, &t.IsActive} }, Optional: true},
			},
		},
		ThemeFiles: storage.Noun[ThemeFile]{
			Name: "file",
			ID:   func(f *ThemeFile) *int64 { return &f.ID },
			Site: func(f *ThemeFile) *int64 { return &f.SiteID },
			Unique: []storage.Unique[ThemeFile]{
				{Code: UniqueThemeFile, Fields: func(f *ThemeFile) []any { return []any{&f.ThemeID, &f.Path} }},
			},
		},
	}
}
