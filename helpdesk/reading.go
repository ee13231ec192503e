package helpdesk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/gather"
	"github.com/helpwright/helpwright/storage/plain"
)

// Limits of what is kept of what readers search for.
const (
	// MaxSearchQuery is the maximum length of a query that is kept, in characters. Longer ones count, but are not kept.
	MaxSearchQuery = 100
	// MinSearches is how often a query must have been searched for before anybody sees it: what only one reader asks says
	// something of that reader.
	MinSearches = 3
	// MaxSearches is the maximum number of queries in a list.
	MaxSearches = 200

	maxDayQueries = 300      // of a site and a language, on one day
	rareFor       = 30 * day // how long a query with fewer than MinSearches is kept
	searchesFor   = 400 * day
)

// SiteReading is what the readers of a help centre did on a day. It has no mark of who they were. A row with neither query nor article
// counts all of a day.
type SiteReading struct {
	ID        int64
	SiteID    int64
	Day       string // of UTC, such as "2026-11-29"
	Locale    string
	Query     string // what was searched for, in lower case; ""
	ArticleID int64  // whose page they wrote to us from; 0
	Queries   int    // how many different ones a row that counts all of a day has
	ReadingCounts
}

// ReadingCounts counts what readers did.
type ReadingCounts struct {
	Views      int64 // of articles
	Searches   int64
	Unanswered int64 // searches that found nothing
	Clicks     int64 // articles that were opened from what a search found
	Contacts   int64 // messages that were written from there
}

func (c *ReadingCounts) add(o ReadingCounts) {
	c.Views += o.Views
	c.Searches += o.Searches
	c.Unanswered += o.Unanswered
	c.Clicks += o.Clicks
	c.Contacts += o.Contacts
}

// ReadingFilter narrows a list of readings. The zero value selects all.
type ReadingFilter struct {
	SiteIDs    []int64  // nil: of all sites, as below
	Days       []string // nil: of all days
	Queries    []string // "": those without a query
	ArticleIDs []int64  // 0: those without an article
}

// UniqueReading is the code of the Conflict fault for a second reading of the same.
const UniqueReading = "reading"

func readingNoun() storage.Declared[SiteReading, ReadingFilter] {
	return storage.Declared[SiteReading, ReadingFilter]{
		Noun: storage.Noun[SiteReading]{
			Name: "reading",
			ID:   func(t *SiteReading) *int64 { return &t.ID },
			Unique: []storage.Unique[SiteReading]{
				{Code: UniqueReading, Index: "key", Fields: func(t *SiteReading) []any { return []any{&t.Query, &t.ArticleID, &t.SiteID, &t.Day, &t.Locale} }},
			},
		},
		Key: "reading", Plural: "readings",
		Columns: []storage.Column[SiteReading]{
			{Name: "site_id", Field: func(t *SiteReading) any { return &t.SiteID }, Refers: "site", Loose: true},
			{Name: "day", Field: func(t *SiteReading) any { return &t.Day }},
			{Name: "locale", Field: func(t *SiteReading) any { return &t.Locale }},
			{Name: "query", Field: func(t *SiteReading) any { return &t.Query }},
			{Name: "article_id", Field: func(t *SiteReading) any { return &t.ArticleID }, Refers: "article", Loose: true},
			{Name: "queries", Field: func(t *SiteReading) any { return &t.Queries }},
			{Name: "views", Field: func(t *SiteReading) any { return &t.Views }},
			{Name: "searches", Field: func(t *SiteReading) any { return &t.Searches }},
			{Name: "unanswered", Field: func(t *SiteReading) any { return &t.Unanswered }},
			{Name: "clicks", Field: func(t *SiteReading) any { return &t.Clicks }},
			{Name: "contacts", Field: func(t *SiteReading) any { return &t.Contacts }},
		},
		Where: func(f ReadingFilter) []storage.Condition {
			var all []storage.Condition
			if f.SiteIDs != nil {
				all = append(all, storage.OneOf("site_id", f.SiteIDs))
			}
			if f.Days != nil {
				all = append(all, storage.OneOf("day", f.Days))
			}
			if f.Queries != nil {
				all = append(all, storage.OneOf("query", f.Queries))
			}
			if f.ArticleIDs != nil {
				all = append(all, storage.OneOf("article_id", f.ArticleIDs))
			}
			return all
		},
	}
}

// readBy identifies what was read.
type readBy struct {
	account, site      int64
	day, locale, query string
	article            int64
}

func (s *Service) newReadings() *gather.Gatherer[readBy, ReadingCounts] {
	return gather.New(gather.Config[readBy, ReadingCounts]{
		Name: "readings",
		Compare: func(a, b readBy) int {
			return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.site, b.site), cmp.Compare(a.day, b.day), cmp.Compare(a.locale, b.locale),
				cmp.Compare(a.query, b.query), cmp.Compare(a.article, b.article))
		},
		Together: func(a, b readBy) bool {
			return a.account == b.account && a.site == b.site && a.day == b.day && a.locale == b.locale
		},
		Merge: func(_ readBy, a, b ReadingCounts) ReadingCounts {
			a.add(b)
			return a
		},
		Write: s.writeReadings, Now: s.cfg.Now, Logger: s.cfg.Logger,
	})
}

// CountReading counts what a reader of a site did just now, see [Service.Run]. Of r it takes the site, the language, the counts,
// and the query that the reader had searched for, or the article they read. A query that looks like an address or a number of
// somebody counts without its words.
func (s *Service) CountReading(ctx context.Context, accountID int64, r SiteReading) {
	key := readBy{account: accountID, site: r.SiteID, day: s.now().Format(time.DateOnly), locale: r.Locale}
	s.readings.Add(ctx, key, r.ReadingCounts)
	if key.query = keptQuery(r.Query); key.query == "" {
		key.article = r.ArticleID
	}
	if key.query != "" || key.article != 0 && r.Contacts > 0 {
		s.readings.Add(ctx, key, r.ReadingCounts)
	}
}

// keptQuery returns a query in the form in which it is kept; "" if it is not.
func keptQuery(query string) string {
	query = strings.ToLower(plain.Line(strings.ToValidUTF8(query, "")))
	digits := 0
	for _, r := range query {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if len([]rune(query)) > MaxSearchQuery || strings.Contains(query, "@") || digits > 6 {
		return ""
	}
	return query
}

// writeReadings adds what was read in one language of a site on one day, unless the site was deleted.
func (s *Service) writeReadings(ctx context.Context, batch []gather.Entry[readBy, ReadingCounts]) error {
	first := batch[0].Key
	return gone(s.cfg.Store.InTx(ctx, Scope{AccountID: first.account}, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Account(ctx); err != nil {
			return err
		}
		rows := readingNoun().Rows(tx)
		found, err := lockReadings(ctx, rows, batch)
		if err != nil {
			return err
		}
		total, counted := found[readBy{account: first.account, site: first.site, day: first.day, locale: first.locale}]
		if !counted {
			total = &SiteReading{SiteID: first.site, Day: first.day, Locale: first.locale}
			if err := s.forgetRare(ctx, rows); err != nil {
				return err
			}
		}
		var fresh, known []*SiteReading
		for _, b := range batch {
			r := found[b.Key]
			switch {
			case b.Key.query == "" && b.Key.article == 0:
				total.add(b.Value)
				continue
			case r != nil:
				known = append(known, r)
			case b.Key.query != "" && total.Queries >= maxDayQueries:
				continue
			default:
				r = &SiteReading{SiteID: b.Key.site, Day: b.Key.day, Locale: b.Key.locale, Query: b.Key.query, ArticleID: b.Key.article}
				fresh = append(fresh, r)
				if r.Query != "" {
					total.Queries++
				}
			}
			r.add(b.Value)
		}
		if counted {
			known = append(known, total)
		} else {
			fresh = append(fresh, total)
		}
		if err := rows.Update(ctx, known...); err != nil {
			return err
		}
		return rows.Insert(ctx, fresh...)
	}))
}

// lockReadings returns the rows of a batch that there are already, and that of its day.
func lockReadings(ctx context.Context, rows storage.Rows[SiteReading, ReadingFilter], batch []gather.Entry[readBy, ReadingCounts]) (map[readBy]*SiteReading, error) {
	first := batch[0].Key
	queries, articles := []string{""}, []int64{0}
	for _, b := range batch {
		queries, articles = append(queries, b.Key.query), append(articles, b.Key.article)
	}
	slices.Sort(queries)
	all, err := rows.List(ctx, ReadingFilter{[]int64{first.site}, []string{first.day}, slices.Compact(queries), sortedSet(articles)}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, r := range all {
		if r.Locale == first.locale {
			ids = append(ids, r.ID)
		}
	}
	locked, err := rows.LockAll(ctx, sortedSet(ids))
	found := map[readBy]*SiteReading{}
	for i, r := range locked {
		found[readBy{first.account, r.SiteID, r.Day, r.Locale, r.Query, r.ArticleID}] = &locked[i]
	}
	return found, err
}

// forgetRare deletes queries that few readers searched for, after a while, and all of long ago. It runs when a day begins on a site.
func (s *Service) forgetRare(ctx context.Context, rows storage.Rows[SiteReading, ReadingFilter]) error {
	all, err := rows.List(ctx, ReadingFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	often := searchesOf(all) // a query of several sites counts once
	rare, old := s.now().Add(-rareFor).Format(time.DateOnly), s.now().Add(-searchesFor).Format(time.DateOnly)
	var ids []int64
	for _, r := range all {
		if r.Query == "" {
			continue
		}
		if of := often[asked{r.Locale, r.Query}]; of.Searches < MinSearches && of.Last < rare || r.Day < old {
			ids = append(ids, r.ID)
		}
	}
	for _, id := range sortedSet(ids) { // a few hundred in a day at most
		if err := rows.Delete(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Search is what the readers of a site searched for.
type Search struct {
	Query, Locale string
	First, Last   string // days on which they did
	Days          int    // how many
	ReadingCounts
}

type asked struct{ locale, query string }

// searchesOf adds up readings by query.
func searchesOf(all []SiteReading) map[asked]*Search {
	found := map[asked]*Search{}
	for _, r := range all {
		if r.Query == "" {
			continue
		}
		of := found[asked{r.Locale, r.Query}]
		if of == nil {
			of = &Search{Query: r.Query, Locale: r.Locale, First: r.Day, Last: r.Day}
			found[asked{r.Locale, r.Query}] = of
		}
		of.First, of.Last = min(of.First, r.Day), max(of.Last, r.Day)
		of.Days++
		of.add(r.ReadingCounts)
	}
	return found
}

// SearchQuery says which searches to list.
type SearchQuery struct {
	SiteID   int64
	From, To string // the first and the last day, such as "2026-11-29"; "": 30 days until today
	// Unanswered lists those that found nothing or led to no article, and those after which readers wrote to us: those that most
	// readers were left alone with first. Otherwise those that most readers searched for come first.
	Unanswered bool
}

// Searches lists what the readers of a site searched for, at most [MaxSearches]. What fewer than [MinSearches] readers searched for
// in the period is left out. It needs reports.view.
func (d Reports) Searches(ctx context.Context, q SearchQuery) ([]Search, error) {
	r, err := d.guard.Read(identity.ReportsView)
	if err != nil {
		return nil, err
	}
	days, err := d.daysOf(q)
	if err != nil {
		return nil, err
	}
	all, err := readingNoun().Reader(r).List(ctx, ReadingFilter{SiteIDs: []int64{q.SiteID}, Days: days}, storage.Seek{Limit: storage.NoLimit})
	var list []Search
	for _, s := range searchesOf(all) {
		if s.Searches >= MinSearches && (!q.Unanswered || s.alone() > 0) {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b Search) int {
		if q.Unanswered {
			if n := cmp.Compare(b.alone(), a.alone()); n != 0 {
				return n
			}
		}
		return cmp.Or(cmp.Compare(b.Searches, a.Searches), cmp.Compare(a.Query, b.Query), cmp.Compare(a.Locale, b.Locale))
	})
	return list[:min(len(list), MaxSearches)], err
}

// alone returns how many readers a search did not help, as far as is known.
func (s Search) alone() int64 {
	if s.Clicks == 0 {
		return s.Searches
	}
	return max(s.Unanswered, s.Contacts)
}

// daysOf checks the period of a query.
func (d Reports) daysOf(q SearchQuery) ([]string, error) {
	var problems fault.Collector
	today := d.svc.now().Truncate(day)
	to, err := time.Parse(time.DateOnly, cmp.Or(q.To, today.Format(time.DateOnly)))
	problems.Check(err == nil, "to", "is not a day, such as 2026-11-29")
	from, err := time.Parse(time.DateOnly, cmp.Or(q.From, to.AddDate(0, 0, -29).Format(time.DateOnly)))
	problems.Check(err == nil, "from", "is not a day, such as 2026-11-29")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	problems.Check(!to.Before(from), "to", "must not be before from")
	problems.Check(to.Sub(from) < searchesFor, "to", "must be at most 400 days after from")
	var days []string
	for at := from; !at.After(to) && problems.Err() == nil; at = at.AddDate(0, 0, 1) {
		days = append(days, at.Format(time.DateOnly))
	}
	return days, problems.Err()
}

// ContactsAfter returns how many messages were written to us from the pages of articles, by their ids. It needs reports.view.
func (d Reports) ContactsAfter(ctx context.Context, siteID int64, articleIDs []int64) (map[int64]int64, error) {
	r, err := d.guard.Read(identity.ReportsView)
	if err != nil {
		return nil, err
	}
	counts := map[int64]int64{}
	if len(articleIDs) == 0 {
		return counts, nil
	}
	all, err := readingNoun().Reader(r).List(ctx, ReadingFilter{SiteIDs: []int64{siteID}, Queries: []string{""}, ArticleIDs: articleIDs}, storage.Seek{Limit: storage.NoLimit})
	for _, one := range all {
		if one.ArticleID != 0 {
			counts[one.ArticleID] += one.Contacts
		}
	}
	return counts, err
}
