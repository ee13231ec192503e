package demo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// labelled is a question with the articles that answer it, the best first.
type labelled struct {
	site, locale, text string
	answers            []string
}

// questions returns the labelled questions: those that are looked at when the ranking is tuned, and those that are not.
func questions(t *testing.T) (tuning, held []labelled) {
	t.Helper()
	text, err := os.ReadFile("testdata/search/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, "\t")
		q := labelled{f[0], f[1], f[2], strings.Split(f[3], ",")}
		if i%2 == 0 {
			tuning = append(tuning, q)
		} else {
			held = append(held, q)
		}
	}
	return tuning, held
}

// searchStore is a store that knowledge bases are in.
type searchStore interface {
	InSystemTx(ctx context.Context, fn func(ctx context.Context, tx helpdesk.SystemTx) error) error
	KB() kb.Store
}

type author struct{}

func (author) UserID() int64  { return 1 }
func (author) TokenID() int64 { return 0 }

// searchSites are sites by name: how readers search them, and the keys of their articles.
type searchSites struct {
	visitors map[string]*kb.Visitor
	keys     map[string]map[int64]string
}

func newSearchSites(t *testing.T, store searchStore) searchSites {
	t.Helper()
	halden, err := exchange.Read(content())
	if err != nil {
		t.Fatal(err)
	}
	s := searchSites{map[string]*kb.Visitor{}, map[string]map[int64]string{}}
	s.add(t, store, "halden", "en", halden)
	s.add(t, store, "manual", "en", manualSite(t))
	s.add(t, store, "carnet", "fr", carnetSite(t))
	return s
}

func (s searchSites) add(t *testing.T, store searchStore, name, locale string, site exchange.Site) {
	t.Helper()
	ctx := t.Context()
	account := identity.Account{Name: name, NextNumber: 1, DefaultLocale: locale, Languages: []string{locale}}
	err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error { return tx.InsertAccount(ctx, &account) })
	if err != nil {
		t.Fatal(err)
	}
	all := []kb.Permission{}
	for _, p := range kb.Domain().Permissions {
		all = append(all, kb.Permission(p))
	}
	service, err := kb.New(kb.Config{Store: store.KB(), Blobs: memblob.New(), Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) {
		return kb.Membership{Permissions: all}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	sites, err := service.Sites(author{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := sites.Create(ctx, kb.SiteInput{AccountID: account.ID, Name: name, Path: storage.Some(name)})
	if err != nil {
		t.Fatal(err)
	}
	editor, err := service.Editor(ctx, author{}, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (exchange.Exchange{Service: service, Editor: editor}).Import(ctx, site, exchange.Options{}); err != nil {
		t.Fatal(name, err)
	}
	keys, err := editor.ExchangeKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.keys[name] = map[int64]string{}
	for _, k := range keys {
		if k.Kind == kb.ArticleKey {
			s.keys[name][k.ID] = path.Base(k.Key)
		}
	}
	if s.visitors[name], err = service.Visitor(ctx, nil, made.ID); err != nil {
		t.Fatal(err)
	}
}

// manualSite is the manual of the program as a site.
func manualSite(t *testing.T) exchange.Site {
	t.Helper()
	files, err := filepath.Glob("../../manual/*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := map[string]exchange.ArticleText{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
		title, body, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(body), "# "), "\n")
		body = regexp.MustCompile(`\]\([^)]*\)|<[^>]*>|\{[^}]*\}`).ReplaceAllString(body, "]")
		texts[strings.TrimSuffix(path.Base(name), ".md")] = exchange.ArticleText{Title: title, Format: exchange.Markdown, Content: body}
	}
	return siteOf("en", texts)
}

// carnetSite is the help centre of a service that does not exist.
func carnetSite(t *testing.T) exchange.Site {
	t.Helper()
	text, err := os.ReadFile("testdata/search/carnet.fr.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]exchange.ArticleText{}
	for _, article := range strings.Split(string(text), "\n# ") {
		head, body, _ := strings.Cut(strings.TrimPrefix(article, "# "), "\n")
		f := strings.Split(head, " | ")
		texts[f[0]] = exchange.ArticleText{Title: f[1], Summary: f[2], Format: exchange.Markdown, Content: body}
	}
	return siteOf("fr", texts)
}

func siteOf(locale string, texts map[string]exchange.ArticleText) exchange.Site {
	c := exchange.Collection{Key: "all", SourceLocale: locale, SortOrder: "1", Texts: map[string]exchange.Text{locale: {Name: "All"}}}
	for i, key := range slices.Sorted(maps.Keys(texts)) {
		c.Articles = append(c.Articles, exchange.Article{Key: key, Live: exchange.Version{
			Status: "published", SourceLocale: locale, SortOrder: exchange.Number(fmt.Sprint(i + 1)), Texts: map[string]exchange.ArticleText{locale: texts[key]},
		}})
	}
	return exchange.Site{Name: "Site", Collections: []exchange.Collection{c}}
}

// ask returns the keys of the first articles that answer a question.
func (s searchSites) ask(t *testing.T, q labelled) (keys []string) {
	t.Helper()
	page, err := s.visitors[q.site].Search(t.Context(), q.text, []string{q.locale}, kb.ArticleFilter{}, storage.PageRequest{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range page.Items {
		keys = append(keys, s.keys[q.site][f.Article.ID])
	}
	return keys
}

// gain returns how good a list of answers is (nDCG@10), and whether one of the first three is among the right ones. The best
// answer of a question counts three times as much as others.
func (q labelled) gain(found []string) (ndcg float64, hit bool) {
	worth := func(key string) float64 {
		switch slices.Index(q.answers, key) {
		case -1:
			return 0
		case 0:
			return 3
		}
		return 1
	}
	var got, best float64
	for i, key := range found {
		got += worth(key) / math.Log2(float64(i)+2)
		hit = hit || i < 3 && worth(key) > 0
	}
	for i, key := range q.answers {
		best += worth(key) / math.Log2(float64(i)+2)
	}
	return got / best, hit
}

// measure returns the average gain of questions and the share of those with a hit among the first three. Each question that
// has none is reported to missed.
func (s searchSites) measure(t *testing.T, all []labelled, missed func(q labelled, found []string)) (ndcg, hits float64) {
	t.Helper()
	for _, q := range all {
		found := s.ask(t, q)
		gain, hit := q.gain(found)
		ndcg += gain / float64(len(all))
		if hit {
			hits += 1 / float64(len(all))
		}
		if gain < .99 {
			missed(q, found)
		}
	}
	return ndcg, hits
}

// Readers find what they ask for: the figures hold for questions that were not looked at when the ranking was made, too.
func TestSearchQuality(t *testing.T) {
	t.Parallel()
	tuning, held := questions(t)
	memory := newSearchSites(t, memstore.New())
	for name, all := range map[string][]labelled{"tuning": tuning, "held": held} {
		ndcg, hits := memory.measure(t, all, func(q labelled, found []string) {
			if name == "tuning" {
				t.Logf("%s %s %q: %v, not %v", q.site, q.locale, q.text, found[:min(len(found), 4)], q.answers)
			}
		})
		t.Logf("%s: nDCG@10 %.3f, hits in the first three %.1f %%", name, ndcg, 100*hits)
		if ndcg < .85 || hits < .95 {
			t.Errorf("%s: nDCG@10 %.3f, hits in the first three %.1f %%", name, ndcg, 100*hits)
		}
	}
}

// All databases find the same.
func TestSearchSame(t *testing.T) {
	t.Parallel()
	tuning, held := questions(t)
	memory := newSearchSites(t, memstore.New())
	for kind, url := range map[string]string{"SQLite": "sqlite:" + filepath.Join(t.TempDir(), "search.db"), "PostgreSQL": testenv.Postgres(t)} {
		db, err := both.Open(t.Context(), url, bunstore.Config{SyncNormal: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		sites := newSearchSites(t, db)
		for _, q := range append(tuning, held...) {
			if want, got := memory.ask(t, q), sites.ask(t, q); !slices.Equal(want, got) {
				t.Errorf("%s finds by %q %v, not %v", kind, q.text, got, want)
			}
		}
	}
}
