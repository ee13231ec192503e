package bench_test

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright-bench/internal/bench"
	"github.com/helpwright/helpwright/storage/testenv"
)

// Every row of the table has a figure of each database, and nothing is left behind.
func TestRun(t *testing.T) {
	t.Parallel()
	cfg := bench.Config{
		Conversations: 300, Articles: 40, Accounts: 3, Readers: 5, Time: time.Millisecond, Dir: t.TempDir(),
		Postgres: os.Getenv(testenv.EnvPostgresURL),
		Progress: func(text string) { t.Log(text) },
	}
	table, err := bench.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	text := table.Markdown()
	t.Log(text)
	cell := ` [0-9][0-9., ]* ms \| [0-9][0-9., ]* \|`
	kinds := 1
	if cfg.Postgres != "" {
		kinds = 2
	}
	row := regexp.MustCompile(`^\| [^|]+ \|(` + cell + `){` + strconv.Itoa(kinds) + `}$`)
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| work") || strings.HasPrefix(line, "| ---") {
			continue
		}
		if n++; !row.MatchString(line) {
			t.Errorf("a row is not complete: %s", line)
		}
	}
	if n != 15 {
		t.Errorf("there are %d rows", n)
	}
}

// A text that is not a URL of PostgreSQL is refused before any connection.
func TestRunRefusesAddresses(t *testing.T) {
	t.Parallel()
	cfg := bench.Config{Conversations: 100, Accounts: 1, Readers: 1, Time: time.Millisecond, Dir: t.TempDir(), Postgres: "host=localhost"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := bench.Run(ctx, cfg); err == nil || !strings.Contains(err.Error(), "must be a URL") {
		t.Error(err)
	}
}

// Rows can be chosen by a part of their name, and a text that matches none is refused before anything is filled.
func TestRunOnly(t *testing.T) {
	t.Parallel()
	cfg := bench.Config{Conversations: 100, Accounts: 1, Readers: 1, Time: time.Millisecond, Dir: t.TempDir(), Only: []string{"bulk", "list of"}}
	table, err := bench.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if text := table.Markdown(); strings.Count(text, "\n| ") != 4 || !strings.Contains(text, "| bulk update") {
		t.Error(text)
	}
	cfg.Only = []string{"bulk", "no such row"}
	if _, err := bench.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `"no such row"`) {
		t.Error(err)
	}
}
