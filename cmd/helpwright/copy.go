package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/blobs"
)

type blobsCopyCmd struct {
	From   string        `arg:"" help:"Where the files are: file:FOLDER or s3://BUCKET/PREFIX, as HELPWRIGHT_BLOB_URL has it."`
	To     string        `arg:"" help:"Where to copy them: an empty store, or the target of an earlier copy."`
	Follow bool          `help:"Keep running and copy new files at each --every interval, until interrupted."`
	Every  time.Duration `help:"Interval of --follow." default:"10s" placeholder:"TIME"`
	Since  time.Time     `help:"Copy only files stored since this time, such as 2026-01-31T12:00:00Z. Each copy ends by printing the value for the next one."`
	AtOnce int           `name:"at-once" help:"Number of files to copy in parallel, at most 64. Each takes up to 8 MB of memory." default:"8" placeholder:"N"`
}

// copyMargin is the overlap between a copy and the next one: clocks differ, and a file may have been stored for some time
// before it was listed.
const copyMargin = time.Hour

// Run copies.
func (c *blobsCopyCmd) Run(s *session) error {
	if c.AtOnce < 1 || c.AtOnce > 64 {
		return usageError{errors.New("--at-once must be from 1 to 64")}
	}
	if c.Every < time.Second {
		return usageError{errors.New("--every must be at least 1s")}
	}
	if c.From == c.To {
		return usageError{errors.New("FROM and TO are the same")}
	}
	from, err := s.openCopied("FROM", c.From)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := s.openCopied("TO", c.To)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	for since := c.Since; ; {
		began := time.Now().UTC().Truncate(time.Second)
		err := c.pass(s, from, to, since)
		if !c.Follow {
			if err == nil {
				fmt.Fprintf(s.stdout, "what is stored from now on: the same again, or faster with --since=%s\n", began.Add(-copyMargin).Format(time.RFC3339))
			}
			return err
		}
		switch {
		case err == nil:
			since = began.Add(-copyMargin)
		case s.ctx.Err() != nil:
			return err
		default:
			fmt.Fprintln(s.stderr, "helpwright: tried again soon:", shown(err))
		}
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// openCopied opens one side of a copy.
func (s *session) openCopied(side, address string) (blobStore, error) {
	if err := s.settings.checkAddress(address); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", side, err)}
	}
	if folder := blobFolder(address); folder != "" && side == "FROM" {
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("%s: %w", side, err)
		}
	}
	files, err := s.openReachable(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", side, err)
	}
	return files, nil
}

// pass copies the missing files once, and prints the result.
func (c *blobsCopyCmd) pass(s *session, from, to blobStore, since time.Time) error {
	began := time.Now()
	p := newProgress(s.stderr, "copied")
	done, err := blobs.Copy(s.ctx, blobs.CopyConfig{
		From: from, To: to, Since: since, AtOnce: c.AtOnce,
		Progress: func(d blobs.Copied) {
			p.reportFiles(backup.Totals{Blobs: int64(d.Copied), Missing: int64(d.There + d.Gone), Bytes: d.Bytes})
		},
	})
	p.done()
	fmt.Fprintf(s.stdout, "%s copied %d of %d files (%s); %d were there, %d were removed meanwhile\n",
		began.UTC().Format(time.RFC3339), done.Copied, done.Looked, megabytes(done.Bytes), done.There, done.Gone)
	if err != nil {
		return fmt.Errorf("the copy is incomplete, run the same command again to continue: %w", err)
	}
	return nil
}
