// Command helpwright-bench measures typical work of a help desk on databases that it creates, fills and removes, and how the
// cost of the work grows with them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/alecthomas/kong"

	"github.com/helpwright/helpwright/cmd/helpwright-bench/internal/bench"
)

type flags struct {
	Conversations int           `default:"1000000" help:"How many conversations, in all accounts."`
	Articles      int           `default:"100000" help:"How many articles."`
	Accounts      int           `default:"50" help:"How many accounts. The first has four fifths of the conversations."`
	Readers       int           `default:"500" help:"How many readers the stream of events has."`
	Time          time.Duration `default:"3s" help:"How long each figure is measured."`
	Quick         bool          `help:"A fiftieth of the conversations and articles, and a tenth of the accounts and readers."`
	Only          []string      `help:"Measure only the rows whose work contains one of these texts." placeholder:"TEXT"`
	Postgres      string        `help:"Measure PostgreSQL too: a URL of a server on which a database can be created, which is dropped at the end." placeholder:"URL"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "helpwright-bench:", err)
		os.Exit(1)
	}
}

// errUsage is the error of flags that do not fit together.
var errUsage = errors.New("there must be 100 conversations and 10 per account at least, one account at least, 1 to 500 readers, and a time above 0")

// run measures, and prints the table.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var f flags
	parser, err := kong.New(&f, kong.Name("helpwright-bench"), kong.Description("Measures typical work on databases that are made for it."), kong.Writers(stdout, stderr))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	cfg, err := f.config()
	if err != nil {
		return err
	}
	if cfg.Dir, err = os.MkdirTemp("", "helpwright-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cfg.Dir)) }()
	cfg.Progress = func(text string) { fmt.Fprintln(stderr, text) }
	table, err := bench.Run(ctx, cfg)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, table.Markdown())
	return err
}

// config validates the flags.
func (f flags) config() (bench.Config, error) {
	cfg := bench.Config{Conversations: f.Conversations, Articles: f.Articles, Accounts: f.Accounts, Readers: f.Readers, Time: f.Time, Postgres: f.Postgres, Only: f.Only}
	if f.Quick {
		cfg.Conversations, cfg.Articles, cfg.Accounts, cfg.Readers = f.Conversations/50, f.Articles/50, max(1, f.Accounts/10), max(1, f.Readers/10)
	}
	if cfg.Conversations < 100 || cfg.Articles < 0 || cfg.Accounts < 1 || cfg.Conversations < 10*cfg.Accounts || cfg.Readers < 1 || cfg.Readers > 500 || cfg.Time <= 0 {
		return cfg, errUsage
	}
	return cfg, nil
}
