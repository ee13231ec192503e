// Package bench fills databases with many conversations and articles and measures typical work on them. Next to each figure
// it measures a floor: the lowest cost of the same work when it is written by hand, in the same run and on the same machine.
//
// It uses only databases that it creates itself, and removes them.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/storagetest/testenv/nginx"
)

// Config configures [Run]. All fields are required except Postgres, Only, Idle and Progress.
type Config struct {
	Conversations int // in all accounts; four fifths of them in the measured one
	Articles      int // of one site
	Accounts      int
	Readers       int           // of the stream of events
	Time          time.Duration // approximate time for each figure
	Dir           string        // an empty folder for the SQLite database and the files
	Postgres      string        // URL of a server on which a database may be created; "": not measured
	Only          []string      // measure only rows whose work contains one of these texts; empty: all
	// Idle returns the resident memory of a whole server process over an empty database. nil: not measured.
	Idle func(ctx context.Context) (bytes int64, err error)
	// Progress is called with the current step.
	Progress func(text string)

	nginx string // the program; "": it is not installed
}

// Run fills and measures each database in turn.
func Run(ctx context.Context, cfg Config) (*Table, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	if err := checkPostgres(cfg.Postgres); err != nil {
		return nil, err
	}
	for _, text := range cfg.Only {
		if len(chosen([]string{text})) == 0 {
			return nil, fmt.Errorf("no row is named %q: %s", text, strings.Join(names(rows()), "; "))
		}
	}
	cfg.nginx = nginx.Find()
	t := &Table{cfg: cfg}
	if err := t.measure(ctx, "SQLite", func(name string) (address, error) { return sqliteAddress(cfg.Dir, name), nil }); err != nil {
		return nil, err
	}
	if cfg.Postgres == "" {
		return t, nil
	}
	err := t.measure(ctx, "PostgreSQL", func(string) (address, error) { return createPostgres(ctx, cfg.Postgres) })
	return t, err
}

// measure fills two databases, a large and a small one, and measures all rows.
func (t *Table) measure(ctx context.Context, kind string, create func(name string) (address, error)) (err error) {
	t.kinds = append(t.kinds, kind)
	few := t.cfg
	few.Conversations, few.Articles, few.Accounts = min(1000, few.Conversations), 0, 1
	began := time.Now()
	small, err := newWorld(ctx, few, kind, "small", create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, small.close()) }()
	w, err := newWorld(ctx, t.cfg, kind, "large", create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	w.small = small
	t.filled = append(t.filled, fmt.Sprintf("%s in %s", kind, time.Since(began).Round(time.Second)))
	for _, r := range chosen(t.cfg.Only) {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.cfg.Progress(kind + ": " + r.work)
		figure, err := r.measure(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", kind, r.work, err)
		}
		t.add(kind, r, figure)
	}
	return nil
}

// row is a row of the table: work to be measured.
type row struct {
	work, goal string
	measure    func(ctx context.Context, w *world) (figure, error)
}

// chosen returns the rows whose work contains one of the texts, or all if there are none.
func chosen(only []string) []row {
	if len(only) == 0 {
		return rows()
	}
	return slices.DeleteFunc(rows(), func(r row) bool {
		return !slices.ContainsFunc(only, func(text string) bool { return strings.Contains(r.work, text) })
	})
}

func names(rows []row) []string {
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r.work
	}
	return all
}

// rows returns all rows, in the order of the table.
func rows() []row {
	return []row{
		{"customer's reply filed among all conversations", "as among 1,000 (floor)", reply},
		{"list filtered by status, user, tag, view (p50, 8 at once)", "<= 2x the unfiltered page (floor)", filteredLists},
		{"search, p99: no hit, rare, frequent, two words", "< 50 ms", searches},
		{"list of 25 / bare handler with one query and Marshal", ">= 0.7 of the floor", list},
		{"conversation / bare handler", ">= 0.6 of the floor", conversation},
		{"filing one mail, CPU of this process / parse and the same rows by hand", "<= 3x the floor", filing},
		{"mails imported / parsed and inserted by hand", ">= 0.5 of the floor", importing},
		{"answers to an SMTP sink, 8 at once / rows inserted by hand", ">= 0.5 of the floor", answers},
		{"answers to an SMTP sink, 8 at once / all that they write by hand", ">= 0.5 of the floor", wholeAnswers},
		{"bulk update of 100 / the same in plain SQL", "100/s", bulk},
		{"public file of 20 KB / nginx", ">= 0.5 of the floor", publicFile},
		{"article, not cached / bare page with one query", ">= 0.3 of the floor", uncachedArticle},
		{"article, cached / nginx", ">= 0.5 of the floor", cachedArticle},
		{"knowledge base search, p99: frequent, rare, misspelt", "< 50 ms", articleSearches},
		{"note while an import runs, p50 / without one", "<= 3x the floor", notes},
		{"event to all readers of a stream, CPU / encoded once and copied", "<= 3 ms for 500", stream},
		{"idle memory of a whole process", "< 40 MB", idle},
	}
}
