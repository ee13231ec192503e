// Package bench fills databases with many conversations and articles and measures typical work on them, and how its cost
// grows with their number.
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
)

// Config configures [Run]. All fields are required except Postgres, Only and Progress.
type Config struct {
	Conversations int // in all accounts; four fifths of them in the measured one
	Articles      int // of one site
	Accounts      int
	Readers       int           // of the stream of events
	Time          time.Duration // approximate time for each figure
	Dir           string        // an empty folder for the SQLite database and the files
	Postgres      string        // URL of a server on which a database may be created; "": not measured
	Only          []string      // measure only rows whose work contains one of these texts; empty: all
	// Progress is called with the current step.
	Progress func(text string)
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

// fraction is how much larger the large database is than the small one, and part its name.
const (
	fraction = 10
	part     = "tenth"
)

// measure fills two databases, a large and a small one, and measures all rows on both.
func (t *Table) measure(ctx context.Context, kind string, create func(name string) (address, error)) (err error) {
	t.kinds = append(t.kinds, kind)
	few := t.cfg
	few.Conversations, few.Articles, few.Accounts = max(few.Conversations/fraction, 20), few.Articles/fraction, max(1, few.Accounts/fraction)
	if t.cfg.Articles > 0 {
		few.Articles = max(1, few.Articles)
	}
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
	t.filled = append(t.filled, fmt.Sprintf("%s in %s", kind, time.Since(began).Round(time.Second)))
	for _, r := range chosen(t.cfg.Only) {
		var f figure
		for _, of := range []struct {
			world *world
			to    *[]time.Duration
		}{{small, &f.few}, {w, &f.many}} {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.cfg.Progress(kind + ": " + r.work)
			if *of.to, err = r.measure(ctx, of.world); err != nil {
				return fmt.Errorf("%s: %s: %w", kind, r.work, err)
			}
		}
		t.add(kind, r.work, f)
	}
	return nil
}

// row is a row of the table: work to be measured, in parts.
type row struct {
	work    string
	measure func(ctx context.Context, w *world) ([]time.Duration, error)
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
		{"customer's reply filed among all conversations", reply},
		{"list: all, by status, user, tag, view; p50, 8 at once", lists},
		{"search, p99: no hit, rare, frequent, two words", searches},
		{"list of 25", list},
		{"conversation", conversation},
		{"mail filed, processor time", filing},
		{"mail of an import", importing},
		{"answer until the relay has it, 8 at once", answers},
		{"bulk update of 100", bulk},
		{"public file of 20 KB", publicFile},
		{"article, not kept", uncachedArticle},
		{"article, kept", cachedArticle},
		{"knowledge base search, p99: frequent, rare, misspelt", articleSearches},
		{"note, p50: alone, while an import runs", notes},
		{"event to all readers of a stream, processor time", stream},
	}
}
