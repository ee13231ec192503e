package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
)

const pageSize = 100

// LeftOut are the nouns that an archive does not have, with the reason.
func LeftOut() map[string]string { return map[string]string{} }

// Tables are the tables of bunstore whose rows an archive has, by the noun that has them.
func Tables() map[string]string {
	return map[string]string{
		"hw_sites": "sites", "hw_site_hosts": "sites", "hw_site_files": "files", "hw_collections": "collections", "hw_categories": "categories",
		"hw_articles": "articles", "hw_article_categories": "articles", "hw_article_revisions": "revisions", "hw_article_feedback": "feedback",
		"hw_themes": "themes", "hw_theme_files": "theme_files", "hw_exchange_keys": "exchange_keys",
	}
}

// Export writes the sites of an account into an archive: all of one moment, while others work.
func Export(ctx context.Context, store kb.Store, accountID int64, w *transfer.Writer) error {
	return store.InSnapshot(ctx, func(ctx context.Context, within func(kb.Scope) kb.Reader) error {
		sites, err := within(kb.Scope{AccountID: accountID}).Sites().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		n := newNouns()
		for _, s := range sites {
			e := &export{w: w, n: n, site: s.ID, r: within(kb.Scope{AccountID: accountID, SiteID: s.ID})}
			bare := s
			bare.AccountID, bare.Look, bare.Search, bare.DefaultLocale, bare.Languages = 0, kb.Look{}, kb.SearchSettings{}, "", nil
			if err := n.sites.Write(ctx, w, []kb.Site{bare}); err != nil {
				return err
			}
			for _, step := range []func(context.Context) error{e.shelf, e.articles, e.rest} {
				if err := step(ctx); err != nil {
					return err
				}
			}
			if err := n.looks.Write(ctx, w, []look{{s.ID, s.Look, s.Search}}); err != nil {
				return err
			}
		}
		return nil
	})
}

type export struct {
	w    *transfer.Writer
	n    *nouns
	site int64
	r    kb.Reader
}

// all writes the rows of a noun.
func all[T, F any](ctx context.Context, e *export, of *rows[T], from storage.RowReader[T, F], f F, at func(T) storage.Position) error {
	list := func(ctx context.Context, seek storage.Seek) ([]T, error) { return from.List(ctx, f, seek) }
	return pages(ctx, list, at, func(some []T) error { return of.Write(ctx, e.w, some) })
}

// pages reads all rows of a list, some at a time.
func pages[T any](ctx context.Context, list func(context.Context, storage.Seek) ([]T, error), at func(T) storage.Position, each func([]T) error) error {
	seek := storage.Seek{Limit: pageSize}
	for {
		some, err := list(ctx, seek)
		if err != nil {
			return err
		}
		if len(some) > 0 {
			last := at(some[len(some)-1])
			seek.From = &last
			if err := each(some); err != nil {
				return err
			}
		}
		if len(some) < pageSize {
			return nil
		}
	}
}

func (e *export) shelf(ctx context.Context) error {
	err := all(ctx, e, e.n.files, e.r.Files(), storage.NoFilter{}, func(f kb.File) storage.Position { return storage.Position{ID: f.ID} })
	if err != nil {
		return err
	}
	err = all(ctx, e, e.n.collections, e.r.Collections(), storage.NoFilter{}, func(c kb.Collection) storage.Position {
		return storage.Position{Key: int64(c.SortOrder), ID: c.ID}
	})
	if err != nil {
		return err
	}
	return all(ctx, e, e.n.categories, e.r.Categories(), kb.CategoryFilter{}, func(c kb.Category) storage.Position {
		return storage.Position{Key: int64(c.SortOrder), ID: c.ID}
	})
}

func (e *export) everyArticle(ctx context.Context, each func([]kb.Article) error) error {
	list := func(ctx context.Context, seek storage.Seek) ([]kb.Article, error) {
		return e.r.Articles().List(ctx, kb.ArticleFilter{}, seek)
	}
	at := func(a kb.Article) storage.Position { return storage.Position{Key: int64(a.SortOrder), ID: a.ID} }
	return pages(ctx, list, at, each)
}

// articles writes all articles before the first revision, as contents refer to any of them.
func (e *export) articles(ctx context.Context) error {
	err := e.everyArticle(ctx, func(some []kb.Article) error { return e.n.articles.Write(ctx, e.w, some) })
	if err != nil {
		return err
	}
	return e.everyArticle(ctx, func(some []kb.Article) error { return e.revisions(ctx, some) })
}

// keysAtOnce is of how many revisions the contents are read at a time.
const keysAtOnce = 50

func (e *export) revisions(ctx context.Context, some []kb.Article) error {
	left := map[int64]int64{} // views of revisions that are gone
	live := map[int64]int64{}
	var keys []kb.RevisionKey
	for _, a := range some {
		left[a.ID], live[a.ID] = a.Views, a.Live
		for number := range a.LastRevision {
			keys = append(keys, kb.RevisionKey{ArticleID: a.ID, Number: number + 1})
		}
	}
	for part := range slices.Chunk(keys, keysAtOnce) {
		found, err := e.r.RevisionsByKey(ctx, part)
		if err != nil {
			return err
		}
		var revisions []revision
		for _, f := range found {
			r := f.Revision
			left[r.ArticleID] -= r.Views
			revisions = append(revisions, revision{e.site, r.Number == live[r.ArticleID], r})
		}
		slices.SortFunc(revisions, func(a, b revision) int {
			return slices.Index(part, a.key()) - slices.Index(part, b.key())
		})
		if err := e.n.revisions.Write(ctx, e.w, revisions); err != nil {
			return err
		}
	}
	var rest []views
	for _, a := range some {
		if left[a.ID] > 0 {
			rest = append(rest, views{e.site, a.ID, left[a.ID]})
		}
	}
	return e.n.views.Write(ctx, e.w, rest)
}

func (r revision) key() kb.RevisionKey {
	return kb.RevisionKey{ArticleID: r.ArticleID, Number: r.Number}
}

func (e *export) rest(ctx context.Context) error {
	err := all(ctx, e, e.n.feedback, e.r.Feedback(), kb.FeedbackFilter{}, func(f kb.Feedback) storage.Position { return storage.Position{ID: f.ID} })
	if err != nil {
		return err
	}
	themes, err := e.r.Themes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, t := range themes {
		if err := e.n.themes.Write(ctx, e.w, []kb.Theme{t}); err != nil {
			return err
		}
		files, err := e.r.ThemeFiles().List(ctx, kb.ThemeFileFilter{ThemeID: t.ID}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		if err := e.n.themeFiles.Write(ctx, e.w, files); err != nil {
			return err
		}
	}
	found, err := e.r.ExchangeKeys(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b kb.ExchangeKey) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	keys := make([]key, len(found))
	for i, k := range found {
		keys[i] = key{e.site, k.Kind, k.ID, k.Key}
	}
	return e.n.keys.Write(ctx, e.w, keys)
}

// Importer takes the sites of one archive. It is a [transfer.Part], for one goroutine.
type Importer struct {
	cfg     Config
	archive transfer.Manifest
	nouns   map[string]transfer.Noun[*target]
	taken   map[string]bool // addresses that the sites of the rows cannot have, by host key and path
}

// Config is what taking sites needs.
type Config struct {
	Store kb.Store // required
	// Account is the account that takes the sites, once its first row was taken. Required.
	Account func() int64
}

var _ transfer.Part = (*Importer)(nil)

// target is what rows are written with.
type target struct {
	kb.Tx
	of *Importer
}

// NewImporter returns an importer of an archive.
func NewImporter(cfg Config, archive transfer.Manifest) (*Importer, error) {
	var problems fault.Collector
	problems.Check(cfg.Store != nil, "Store", "is required")
	problems.Check(cfg.Account != nil, "Account", "is required")
	im := &Importer{cfg: cfg, archive: archive, nouns: map[string]transfer.Noun[*target]{}}
	for _, n := range newNouns().all() {
		im.nouns[n.Name()] = n
	}
	return im, problems.Err()
}

// Takes implements [transfer.Part].
func (im *Importer) Takes(noun string) bool { return im.nouns[noun] != nil }

// Check implements [transfer.Part].
func (im *Importer) Check(c *transfer.Chunk, seen *transfer.Seen) error {
	return im.nouns[c.Noun].Check(c, seen)
}

// Canonical makes rows comparable, see [transfer.Canon].
func (im *Importer) Canonical(c *transfer.Chunk, canon *transfer.Canon) ([]string, error) {
	return im.nouns[c.Noun].Canonical(c, canon)
}

// scope is the account, or the site that rows are in.
func (im *Importer) scope(ctx context.Context, c *transfer.Chunk) (s kb.Scope, err error) {
	s.AccountID = im.cfg.Account()
	if c.Noun == "sites" {
		return s, nil
	}
	var row struct{ SiteID int64 }
	if err := json.Unmarshal(c.Lines[0], &row); err != nil {
		return s, fault.Newf(fault.Invalid, "%s cannot be read.", c.At(0))
	}
	err = im.cfg.Store.InTx(ctx, s, func(ctx context.Context, tx kb.Tx) error {
		known, err := tx.NewIDs(ctx, "site", []int64{row.SiteID})
		s.SiteID = known[row.SiteID]
		return err
	})
	if err == nil && s.SiteID == 0 {
		err = fault.Newf(fault.Invalid, "%s refers to the site %d, which is not there.", c.At(0), row.SiteID)
	}
	return s, err
}

// Files implements [transfer.Part].
func (im *Importer) Files(ctx context.Context, c *transfer.Chunk) (files map[string]string, done bool, err error) {
	s, err := im.scope(ctx, c)
	if err != nil {
		return nil, false, err
	}
	if err := im.findTaken(ctx, c); err != nil {
		return nil, false, err
	}
	err = im.cfg.Store.InTx(ctx, s, func(ctx context.Context, tx kb.Tx) (err error) {
		if done, err = transfer.Taken(ctx, tx, c); done || err != nil {
			return err
		}
		files, err = im.nouns[c.Noun].Files(ctx, &target{tx, im}, c)
		return err
	})
	return files, done, err
}

// Take implements [transfer.Part].
func (im *Importer) Take(ctx context.Context, c *transfer.Chunk) error {
	s, err := im.scope(ctx, c)
	if err != nil {
		return err
	}
	return im.cfg.Store.InTx(ctx, s, func(ctx context.Context, tx kb.Tx) error {
		return im.nouns[c.Noun].Take(ctx, &target{tx, im}, c)
	})
}

// findTaken finds out which addresses of sites others have: within the transaction nobody else can be asked.
func (im *Importer) findTaken(ctx context.Context, c *transfer.Chunk) error {
	if c.Noun != "sites" {
		return nil
	}
	im.taken = map[string]bool{}
	for n, line := range c.Lines {
		var s kb.Site
		if err := json.Unmarshal(line, &s); err != nil {
			return fault.Newf(fault.Invalid, "%s cannot be read.", c.At(n))
		}
		there, err := im.cfg.Store.SiteByAddress(ctx, s.HostKey, s.Path)
		taken := err == nil && (there.Path == s.Path || s.HostKey != kb.SharedHost)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if !taken && s.HostKey != kb.SharedHost {
			if taken, err = im.ofAnother(ctx, s.HostKey); err != nil {
				return err
			}
		}
		im.taken[s.HostKey+"/"+s.Path] = taken
	}
	return nil
}

// ofAnother reports whether a host is another account's.
func (im *Importer) ofAnother(ctx context.Context, hostKey string) (bool, error) {
	has, err := im.cfg.Store.HasHost(ctx, hostKey)
	if err != nil || !has {
		return false, err
	}
	own, err := im.cfg.Store.Within(kb.Scope{AccountID: im.cfg.Account()}).Sites().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	return !slices.ContainsFunc(own, func(s kb.Site) bool { return s.HostKey == hostKey }), err
}

// hash is the same whenever the archive is taken again.
func (im *Importer) hash(name string) string {
	sum := sha256.Sum256([]byte(im.archive.ID + "/" + name))
	return hex.EncodeToString(sum[:16])
}

func (x *target) key(siteID int64, folder, name string) string {
	return fmt.Sprintf("accounts/%d/sites/%d/%s/%s", x.of.cfg.Account(), siteID, folder, x.of.hash(name))
}

// freePath is a path that nobody has.
func (im *Importer) freePath(s *kb.Site) string {
	path := s.Path + "-" + im.hash("site " + s.HostKey + s.Path)[:8]
	return path[max(0, len(path)-60):]
}
