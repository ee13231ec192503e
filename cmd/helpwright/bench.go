package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/bench"
)

type benchCmd struct {
	Conversations int           `default:"1000000" help:"How many conversations, in all accounts."`
	Articles      int           `default:"100000" help:"How many articles."`
	Accounts      int           `default:"50" help:"How many accounts. The first has four fifths of the conversations."`
	Readers       int           `default:"500" help:"How many readers the stream of events has."`
	Time          time.Duration `default:"3s" help:"How long each figure is measured."`
	Quick         bool          `help:"A fiftieth of the conversations and articles, and a tenth of the accounts and readers."`
	Only          []string      `help:"Measure only the rows whose work contains one of these texts." placeholder:"TEXT"`
	Postgres      string        `help:"Measure PostgreSQL too: a URL of a server on which a database can be created, which is dropped at the end." placeholder:"URL"`
}

// Run measures, and prints the table.
func (c *benchCmd) Run(s *session) (err error) {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if cfg.Dir, err = os.MkdirTemp("", "helpwright-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cfg.Dir)) }()
	cfg.Idle = func(ctx context.Context) (int64, error) { return idleMemory(ctx, filepath.Join(cfg.Dir, "idle")) }
	cfg.Progress = func(text string) { s.log.Info(text) }
	if isTerminal(s.stderr) {
		cfg.Progress = func(text string) { fmt.Fprintf(s.stderr, "\r\x1b[K%s", text) }
		defer fmt.Fprint(s.stderr, "\r\x1b[K")
	}
	table, err := bench.Run(s.ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprint(s.stdout, table.Markdown())
	return nil
}

// config validates the flags.
func (c *benchCmd) config() (bench.Config, error) {
	cfg := bench.Config{Conversations: c.Conversations, Articles: c.Articles, Accounts: c.Accounts, Readers: c.Readers, Time: c.Time, Postgres: c.Postgres, Only: c.Only}
	if c.Quick {
		cfg.Conversations, cfg.Articles, cfg.Accounts, cfg.Readers = c.Conversations/50, c.Articles/50, max(1, c.Accounts/10), max(1, c.Readers/10)
	}
	if cfg.Conversations < 100 || cfg.Articles < 0 || cfg.Accounts < 1 || cfg.Conversations < 10*cfg.Accounts || cfg.Readers < 1 || cfg.Readers > 500 || cfg.Time <= 0 {
		return cfg, usageError{errors.New("there must be 100 conversations and 10 per account at least, one account at least, 1 to 500 readers, and a time above 0")}
	}
	return cfg, nil
}

// idleSettles is how long a server is left idle before its memory is read.
const idleSettles = 5 * time.Second

// idleMemory starts a separate server over an empty database, and returns its memory when it is idle; 0 if the system does
// not provide it.
func idleMemory(ctx context.Context, dir string) (_ int64, err error) {
	path, err := programCopy(dir)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "serve")
	cmd.Env = []string{"HELPWRIGHT_DATA=" + dir, "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_LOG_LEVEL=error"}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // if signals are not supported, the context ends it
		cancel()
		_ = cmd.Wait()
	}()
	if line := bufio.NewScanner(out); !line.Scan() { // it prints its address
		return 0, errors.New("the server does not start")
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(idleSettles):
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0, nil //nolint:nilerr // not on this system
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kilobytes int64
	_, _ = fmt.Sscan(rest, &kilobytes) // 0 if there is none
	return kilobytes << 10, nil
}

// programCopy copies the running program next to a folder. Linux may map far more of a file that the linker has just written than of
// a copy, which is what an installed program is.
func programCopy(dir string) (path string, err error) {
	path, err = os.Executable()
	if err != nil {
		return "", err
	}
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	path = dir + "-program" + filepath.Ext(path)
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return path, errors.Join(err, to.Close())
}
