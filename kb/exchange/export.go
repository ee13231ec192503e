package exchange

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// Exchange exports and imports a site.
type Exchange struct {
	Service *kb.Service
	// Editor is the editor of the site. It needs the permissions for all changes, and for viewing everything.
	Editor *kb.Editor
}

// Export reads a site with its drafts, but without former revisions, and assigns keys to resources without one. That needs
// articles.update.
func (x Exchange) Export(ctx context.Context) (Site, error) {
	s, err := x.load(ctx)
	if err != nil || len(s.unnamed) == 0 {
		return s.folder, err
	}
	return s.folder, x.Editor.SetExchangeKeys(ctx, s.unnamed)
}

// state is the current content of a site.
type state struct {
	folder  Site
	unnamed []kb.ExchangeKey // assigned here, and not stored yet
	ids     map[kb.KeyKind]map[string]int64
	keys    map[kb.KeyKind]map[int64]string
	used    map[kb.KeyKind]*Keys
	files   map[int64]kb.File
	texts   map[place]textsAt
	loose   map[int64]bool // articles with paths whose targets the site now has
	// leaving are the keys of what an import will delete: nothing links to it.
	leaving map[kb.KeyKind]map[string]bool
}

// clone returns a copy whose ids can be changed.
func (s *state) clone() *state {
	own := *s
	own.ids = map[kb.KeyKind]map[string]int64{}
	for kind, ids := range s.ids {
		own.ids[kind] = maps.Clone(ids)
	}
	return &own
}

// load reads the whole site. Missing keys are made from titles in id order, so that they are always the same.
func (x Exchange) load(ctx context.Context) (*state, error) {
	s := &state{
		ids: map[kb.KeyKind]map[string]int64{}, keys: map[kb.KeyKind]map[int64]string{}, used: map[kb.KeyKind]*Keys{}, files: map[int64]kb.File{},
		texts: map[place]textsAt{}, loose: map[int64]bool{},
	}
	for _, kind := range []kb.KeyKind{kb.CollectionKey, kb.CategoryKey, kb.ArticleKey, kb.FileKey} {
		s.ids[kind], s.keys[kind], s.used[kind] = map[string]int64{}, map[int64]string{}, &Keys{}
	}
	site, err := x.Editor.Site(ctx)
	if err != nil {
		return nil, err
	}
	s.folder = Site{Name: site.Name, Visibility: string(site.Visibility), HTMLHead: lines(site.HTMLHead)}
	known, err := x.Editor.ExchangeKeys(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		if s.keys[k.Kind] != nil {
			s.keys[k.Kind][k.ID] = k.Key
			if k.Kind != kb.FileKey || validFileName(k.Key) { // another is replaced
				s.used[k.Kind].Take(k.Key)
			}
		}
	}
	files, err := everything(func(req storage.PageRequest) (storage.Page[kb.File], error) { return x.Editor.Files(ctx, req) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b kb.File) int { return cmp.Compare(a.ID, b.ID) })
	taken := make(map[string]bool, len(files))
	for _, f := range files {
		s.files[f.ID] = f
		s.nameFile(f, taken)
		s.folder.Files = append(s.folder.Files, File{Name: s.keys[kb.FileKey][f.ID], Size: f.Size, Open: x.open(ctx, f)})
	}
	s.folder.Look = s.look(site.Look)
	slices.SortFunc(s.folder.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return s, x.loadCollections(ctx, s)
}

// everything reads a list to its end.
func everything[T any](list func(req storage.PageRequest) (storage.Page[T], error)) ([]T, error) {
	var all []T
	for item, err := range storage.Each(list) {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// name assigns a key to a resource without one, and records the key.
func (s *state) name(kind kb.KeyKind, id int64, title string) string {
	key := s.keys[kind][id]
	if key == "" || !ValidKey(key) {
		key = s.used[kind].New(title, string(kind))
		s.given(kind, id, key)
	}
	s.ids[kind][key] = id
	return key
}

func (s *state) given(kind kb.KeyKind, id int64, key string) {
	s.keys[kind][id] = key
	s.unnamed = append(s.unnamed, kb.ExchangeKey{Kind: kind, ID: id, Key: key})
}

// nameFile names a file by its own name as far as every system takes it; taken has the folded names of the other files.
func (s *state) nameFile(f kb.File, taken map[string]bool) {
	key := s.keys[kb.FileKey][f.ID]
	if !validFileName(key) || taken[folded(key)] {
		key = s.used[kb.FileKey].NewFile(f.Filename)
		s.given(kb.FileKey, f.ID, key)
	}
	taken[folded(key)] = true
	s.ids[kb.FileKey][key] = f.ID
}

func (x Exchange) loadCollections(ctx context.Context, s *state) error {
	e := x.Editor
	collections, err := everything(func(req storage.PageRequest) (storage.Page[kb.Collection], error) {
		return e.Collections(ctx, false, req)
	})
	if err != nil {
		return err
	}
	categories, err := everything(func(req storage.PageRequest) (storage.Page[kb.Category], error) {
		return e.Categories(ctx, kb.CategoryFilter{}, false, req)
	})
	if err != nil {
		return err
	}
	articles, err := everything(func(req storage.PageRequest) (storage.Page[kb.ArticleRevision], error) {
		return e.Articles(ctx, kb.ArticleFilter{}, false, req)
	})
	if err != nil {
		return err
	}
	slices.SortFunc(collections, func(a, b kb.Collection) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(categories, func(a, b kb.Category) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(articles, func(a, b kb.ArticleRevision) int { return cmp.Compare(a.Article.ID, b.Article.ID) })
	drafts, err := e.Drafts(ctx, articles)
	if err != nil {
		return err
	}
	draftOf := map[int64]*Version{}
	at := map[int64]*Collection{}
	for _, c := range collections {
		at[c.ID] = &Collection{
			Key: s.name(kb.CollectionKey, c.ID, sourceTitle(c.Text)), SourceLocale: c.SourceLocale, SortOrder: Number(c.SortOrder.String()), Icon: c.Icon,
			Texts: texted(c.Text),
		}
	}
	for _, c := range categories {
		key := s.name(kb.CategoryKey, c.ID, sourceTitle(c.Text))
		in := at[c.CollectionID]
		in.Categories = append(in.Categories, Category{Key: key, SourceLocale: c.SourceLocale, SortOrder: Number(c.SortOrder.String()), Texts: texted(c.Text)})
	}
	for _, a := range articles {
		s.name(kb.ArticleKey, a.Article.ID, sourceTitle(a.Revision.Text))
	}
	s.noteAll(collections, categories, articles)
	for _, d := range drafts {
		v := s.version(s.keys[kb.CollectionKey][d.Article.CollectionID], d.Revision)
		v.Status = ""
		draftOf[d.Article.ID] = &v
	}
	for _, a := range articles {
		in := at[a.Article.CollectionID]
		out := Article{Key: s.keys[kb.ArticleKey][a.Article.ID], Live: s.version(in.Key, a.Revision), Draft: draftOf[a.Article.ID]}
		in.Articles = append(in.Articles, out)
	}
	for _, c := range collections {
		one := *at[c.ID]
		slices.SortFunc(one.Categories, func(a, b Category) int { return cmp.Compare(a.Key, b.Key) })
		slices.SortFunc(one.Articles, func(a, b Article) int { return cmp.Compare(a.Key, b.Key) })
		s.folder.Collections = append(s.folder.Collections, one)
	}
	slices.SortFunc(s.folder.Collections, func(a, b Collection) int { return cmp.Compare(a.Key, b.Key) })
	return nil
}

// noteAll records the paths of the texts of all resources with a key.
func (s *state) noteAll(collections []kb.Collection, categories []kb.Category, articles []kb.ArticleRevision) {
	folder := func(id int64) string { return "collections/" + s.keys[kb.CollectionKey][id] }
	for _, c := range collections {
		s.noteTexts(kb.CollectionKey, c.ID, folder(c.ID)+"/index", c.Text)
	}
	for _, c := range categories {
		s.noteTexts(kb.CategoryKey, c.ID, folder(c.CollectionID)+"/categories/"+s.keys[kb.CategoryKey][c.ID], c.Text)
	}
	for _, a := range articles {
		s.noteTexts(kb.ArticleKey, a.Article.ID, folder(a.Article.CollectionID)+"/articles/"+s.keys[kb.ArticleKey][a.Article.ID], a.Revision.Text)
	}
}

func sourceTitle(t kb.Text) string {
	source, _ := t.Translation(t.SourceLocale)
	return source.Title
}

func texted(t kb.Text) map[string]Text {
	all := map[string]Text{}
	for _, o := range t.Translations {
		all[o.Locale] = Text{Name: o.Title, Summary: lines(o.Summary)}
	}
	return all
}

// version converts a revision to the form in the folder of a collection.
func (s *state) version(collection string, r kb.Revision) Version {
	v := Version{Status: string(r.Status), SourceLocale: r.SourceLocale, SortOrder: Number(r.SortOrder.String()), Texts: map[string]ArticleText{}}
	for _, id := range r.CategoryIDs {
		if key := s.keys[kb.CategoryKey][id]; key != "" {
			v.Categories = append(v.Categories, key)
		}
	}
	slices.Sort(v.Categories)
	source, _ := r.Translation(r.SourceLocale)
	v.Unfinished = source.Title == "" || source.Content == ""
	for _, o := range r.Translations {
		t := ArticleText{Title: o.Title, Summary: lines(o.Summary), Format: HTML, Content: o.Content}
		if o.Markdown != "" || o.Content == "" {
			t.Format, t.Content = Markdown, o.Markdown
		}
		if s.toReferences(t.Format, t.Content, collection) != t.Content {
			s.loose[r.ArticleID] = true
		}
		t.Content = s.toPaths(t.Format, lines(t.Content), o.Locale)
		v.Texts[o.Locale] = t
	}
	return v
}

// open opens the content of a site's file.
func (x Exchange) open(ctx context.Context, f kb.File) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		content, err := x.Service.PublicFile(ctx, f.SiteID, f.ID, f.URLKey)
		if err != nil {
			return nil, err
		}
		return content.Open(ctx, 0)
	}
}
