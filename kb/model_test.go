package kb_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// backends are the stores that the service is tested on.
var backends = map[string]func(t testing.TB) backend{
	"Memory":     func(testing.TB) backend { return memstore.New() },
	"SQLite":     func(t testing.TB) backend { return open(t, "sqlite:"+filepath.Join(t.TempDir(), "kb.db")) },
	"PostgreSQL": func(t testing.TB) backend { return open(t, testenv.Postgres(t)) },
}

func open(t testing.TB, url string) *bunstore.DB {
	t.Helper()
	db, err := both.Open(t.Context(), url, bunstore.Config{SyncNormal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// edition is the model of a revision.
type edition struct {
	Title      string
	Published  bool
	Collection int64
	Categories []int64
	Views      int64
}

// page is the model of an article.
type page struct {
	Live, Draft, Last int64
	Revisions         map[int64]edition
}

func (p *page) live() edition { return p.Revisions[p.Live] }

func (p *page) views() (n int64) {
	for _, e := range p.Revisions {
		n += e.Views
	}
	return n
}

// model is the expected state of a site.
type model struct {
	t       *testing.T
	rand    *rand.Rand
	b       *bundle
	editor  *kb.Editor
	visitor *kb.Visitor

	collections, categories []int64
	pages                   map[int64]*page
	pending                 map[[2]int64]int64
	count                   int
}

// After any sequence of operations no visitor sees a draft in any list, count or expansion, and everything else is as in the
// specification's table of states.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				m := newModel(t, newBundle(t, open(t)), seed)
				steps := 150
				if name == "Memory" {
					steps = 600
				}
				for range steps {
					m.step()
					if m.rand.IntN(5) == 0 {
						m.check()
					}
					if t.Failed() {
						t.FailNow()
					}
				}
				m.flush()
				m.check()
			})
		}
	}
}

func newModel(t *testing.T, b *bundle, seed uint64) *model {
	m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 7)), b: b, pages: map[int64]*page{}, pending: map[[2]int64]int64{}}
	site := b.site(t, kb.SiteInput{})
	var err error
	if m.editor, err = b.Editor(t.Context(), erin, site.ID); err != nil {
		t.Fatal(err)
	}
	if m.visitor, err = b.Visitor(t.Context(), nil, site.ID); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		text := kb.TextInput{SourceLocale: "en", Translations: title(fmt.Sprint("part ", n))}
		c, err := m.editor.CreateCollection(t.Context(), kb.CollectionInput{TextInput: text})
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.editor.CreateCategory(t.Context(), kb.CategoryInput{TextInput: text, CollectionID: c.ID})
		if err != nil {
			t.Fatal(err)
		}
		m.collections, m.categories = append(m.collections, c.ID), append(m.categories, g.ID)
	}
	return m
}

func title(text string) map[string]storage.Opt[kb.TranslationInput] {
	return map[string]storage.Opt[kb.TranslationInput]{
		"en": storage.Some(kb.TranslationInput{Title: storage.Some(text), Content: storage.Some("<p>" + text + "</p>")}),
	}
}

// input generates the next edition of a revision.
func (m *model) input(old edition) (kb.ArticleInput, edition) {
	m.count++
	e := edition{Title: fmt.Sprint("text ", m.count), Published: old.Published, Collection: m.collections[m.rand.IntN(3)], Categories: old.Categories}
	in := kb.ArticleInput{TextInput: kb.TextInput{SourceLocale: "en", Translations: title(e.Title)}, CollectionID: e.Collection}
	if m.rand.IntN(2) == 0 {
		e.Categories = nil
		for _, id := range m.categories {
			if m.rand.IntN(2) == 0 {
				e.Categories = append(e.Categories, id)
			}
		}
		in.CategoryIDs = storage.Some(e.Categories)
	}
	switch m.rand.IntN(3) {
	case 0:
		in.Status, e.Published = storage.Some(kb.Published), true
	case 1:
		in.Status, e.Published = storage.Some(kb.Unpublished), false
	}
	return in, e
}

// step runs a random operation on the site and on the model.
func (m *model) step() {
	ctx := m.t.Context()
	m.b.advance(time.Second)
	ids := slices.Sorted(maps.Keys(m.pages))
	if len(ids) < 2 || m.rand.IntN(10) == 0 && len(ids) < 8 {
		in, e := m.input(edition{Published: true})
		a, err := m.editor.CreateArticle(ctx, in)
		m.ok(err)
		m.pages[a.Article.ID] = &page{Live: 1, Last: 1, Revisions: map[int64]edition{1: e}}
		return
	}
	id := ids[m.rand.IntN(len(ids))]
	p := m.pages[id]
	switch m.rand.IntN(12) {
	case 0, 1, 2:
		in, e := m.input(p.live())
		_, err := m.editor.UpdateArticle(ctx, id, in)
		m.ok(err)
		e.Views = p.live().Views
		p.Revisions[p.Live] = e
	case 3, 4, 5:
		m.draft(id, p)
	case 6:
		err := m.editor.DeleteDraft(ctx, id)
		if p.Draft == 0 {
			m.is(err, kb.ErrNotFound)
			return
		}
		m.ok(err)
		delete(p.Revisions, p.Draft)
		p.Draft = 0
	case 7:
		number := 1 + m.rand.Int64N(p.Last)
		_, err := m.editor.Restore(ctx, id, number)
		former, there := p.Revisions[number]
		switch {
		case !there:
			m.is(err, kb.ErrNotFound)
		case number == p.Live || number == p.Draft:
			m.is(err, kb.ErrConflict)
		default:
			m.ok(err)
			e := p.live()
			e.Title, e.Views = former.Title, 0
			p.Last++
			p.Live = p.Last
			p.Revisions[p.Live] = e
		}
	case 8:
		if m.rand.IntN(4) == 0 {
			m.ok(m.editor.DeleteArticle(ctx, id))
			delete(m.pages, id)
		}
	case 9, 10:
		got, err := m.visitor.Article(ctx, id)
		if !p.live().Published {
			m.is(err, kb.ErrNotFound)
			return
		}
		m.ok(err)
		if got.Revision.Number != p.Live || got.Article.Draft != 0 {
			m.t.Errorf("article %d is shown with revision %d and draft %d", id, got.Revision.Number, got.Article.Draft)
		}
		m.pending[[2]int64{id, p.Live}]++
	default:
		m.flush()
	}
}

// draft changes a draft, creates one, or publishes it.
func (m *model) draft(id int64, p *page) {
	old := p.live()
	old.Published = false
	if p.Draft != 0 {
		old = p.Revisions[p.Draft]
	}
	in, e := m.input(old)
	_, err := m.editor.UpdateDraft(m.t.Context(), id, in)
	m.ok(err)
	if p.Draft == 0 {
		p.Last++
		p.Draft = p.Last
	}
	p.Revisions[p.Draft] = e
	if e.Published {
		p.Live, p.Draft = p.Draft, 0
	}
}

// flush writes the counted views.
func (m *model) flush() {
	m.ok(m.b.FlushViews(m.t.Context()))
	for k, n := range m.pending {
		if p, there := m.pages[k[0]]; there {
			e := p.Revisions[k[1]]
			e.Views += n
			p.Revisions[k[1]] = e
		}
	}
	clear(m.pending)
}

// counts returns the counters that a visitor or an editor should see, by collection and category.
func (m *model) counts(published bool) (collections, categories map[int64]kb.Counters) {
	collections, categories = map[int64]kb.Counters{}, map[int64]kb.Counters{}
	for i, id := range m.collections {
		collections[id], categories[m.categories[i]] = kb.Counters{Categories: 1}, kb.Counters{}
	}
	for _, p := range m.pages {
		e, one := p.live(), kb.Counters{Articles: 1, Views: p.views()}
		if e.Published {
			one.PublishedArticles, one.PublishedViews = one.Articles, one.Views
		} else if published {
			continue
		}
		collections[e.Collection] = collections[e.Collection].Add(one)
		for _, id := range e.Categories {
			categories[id] = categories[id].Add(one)
		}
	}
	return collections, categories
}

// check compares everything that visitors and editors can see.
func (m *model) check() {
	m.flush()
	for _, who := range []struct {
		name      string
		published bool
		read      library
	}{{"visitor", true, m.visitor}, {"editor", false, m.editor}} {
		want := map[int64]edition{}
		for id, p := range m.pages {
			if p.live().Published || !who.published {
				want[id] = p.live()
			}
		}
		m.same(who.name+"'s articles", want, m.list(who.read, kb.ArticleFilter{}))
		for _, id := range m.collections {
			m.same(who.name+"'s articles of a collection", only(want, func(e edition) bool { return e.Collection == id }),
				m.list(who.read, kb.ArticleFilter{CollectionID: id}))
		}
		for _, id := range m.categories {
			m.same(who.name+"'s articles of a category", only(want, func(e edition) bool { return slices.Contains(e.Categories, id) }),
				m.list(who.read, kb.ArticleFilter{CategoryID: id}))
		}
		collections, categories := m.counts(who.published)
		for id, c := range collections {
			got, err := who.read.Collection(m.t.Context(), id)
			m.ok(err)
			m.same(who.name+"'s counts of a collection", c, got.Counters)
		}
		found, err := who.read.CategoriesByID(m.t.Context(), m.categories)
		m.ok(err)
		for _, c := range found {
			m.same(who.name+"'s counts of a category", categories[c.ID], c.Counters)
		}
	}
	for id, p := range m.pages {
		m.revisions(id, p)
	}
}

// library is the interface shared by editors and visitors.
type library interface {
	Articles(ctx context.Context, f kb.ArticleFilter, desc bool, req storage.PageRequest) (storage.Page[kb.ArticleRevision], error)
	Collection(ctx context.Context, id int64) (kb.Collection, error)
	CategoriesByID(ctx context.Context, ids []int64) ([]kb.Category, error)
}

func only(all map[int64]edition, match func(edition) bool) map[int64]edition {
	out := map[int64]edition{}
	for id, e := range all {
		if match(e) {
			out[id] = e
		}
	}
	return out
}

// list reads a list in small pages.
func (m *model) list(read library, f kb.ArticleFilter) map[int64]edition {
	out := map[int64]edition{}
	req := storage.PageRequest{Limit: 3}
	for {
		found, err := read.Articles(m.t.Context(), f, false, req)
		m.ok(err)
		for _, a := range found.Items {
			out[a.Article.ID] = known(a.Revision)
		}
		if req.Cursor = found.Next; req.Cursor == "" {
			return out
		}
	}
}

// known returns the model of a revision.
func known(r kb.Revision) edition {
	t, _ := r.Translation("en")
	if t.Content != "<p>"+t.Title+"</p>" {
		t.Title += " with the content of another"
	}
	return edition{Title: t.Title, Published: r.Status == kb.Published, Collection: r.CollectionID, Categories: r.CategoryIDs, Views: r.Views}
}

// revisions compares all revisions of an article as an editor sees them.
func (m *model) revisions(id int64, p *page) {
	a, list, err := m.editor.Revisions(m.t.Context(), id, storage.PageRequest{Limit: 100})
	m.ok(err)
	got := page{Live: a.Live, Draft: a.Draft, Last: a.LastRevision, Revisions: map[int64]edition{}}
	for _, r := range list.Items {
		got.Revisions[r.Number] = known(r)
	}
	m.same("revisions", *p, got)
	draft, err := m.editor.Draft(m.t.Context(), id)
	m.ok(err)
	if want := p.Draft; want == 0 && draft.Revision.Number != p.Live || want != 0 && draft.Revision.Number != want {
		m.t.Errorf("the draft of %d is revision %d", id, draft.Revision.Number)
	}
}

func (m *model) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) is(err, want error) {
	m.t.Helper()
	if !errors.Is(err, want) {
		m.t.Fatalf("got %v, want %v", err, want)
	}
}

func (m *model) same(what string, want, got any) {
	m.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		m.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
