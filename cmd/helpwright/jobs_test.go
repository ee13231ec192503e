package main

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestJobsCommand lists, retries and drops jobs that were given up, while the server runs, which does those that are
// retried.
func TestJobsCommand(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		box := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok && !filepath.IsAbs(path) {
			databaseURL = "sqlite:" + filepath.Join(s.dir, path)
		}
		db, err := both.Open(t.Context(), databaseURL, bunstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		far := time.Now().AddDate(1, 0, 0) // the server does not take them before they are given up
		bury := func(kind string, account, subject int64, reason string) (id int64) {
			t.Helper()
			err := db.InTx(t.Context(), helpdesk.Scope{AccountID: account}, func(ctx context.Context, tx helpdesk.Tx) error {
				return tx.Enqueue(ctx, storage.Job{Kind: kind, AccountID: account, Subject: subject, RunAt: far})
			})
			if err != nil {
				t.Fatal(err)
			}
			all, err := db.Claim(t.Context(), map[string]int{kind: 1}, far, far.Add(time.Hour))
			if err != nil || len(all) != 1 {
				t.Fatal(len(all), err)
			}
			if err := db.Fail(t.Context(), all[0], reason); err != nil {
				t.Fatal(err)
			}
			return all[0].ID
		}
		mail := bury(helpdesk.JobFileMail, 1, box.ID, "the disk was\n\x1b[31mfull")
		bury("test.old", 1, 5, "nobody does this any more")
		bury("test.old", 0, 6, "nor this")
		run := func(want int, args ...string) string {
			t.Helper()
			out, err := s.command(append([]string{"jobs"}, args...)...)
			code := 0
			if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec returns it as it is
				code = failed.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != want {
				t.Errorf("%q: exit code %d, want %d: %s", args, code, want, out)
			}
			return out
		}
		has := func(out string, parts ...string) {
			t.Helper()
			for _, part := range parts {
				if !strings.Contains(out, part) {
					t.Errorf("no %q in\n%s", part, out)
				}
			}
		}
		list := run(0, "list")
		has(list, "mail.file", "the disk was  [31mfull", "test.old", "nobody does this any more", "nor this")
		if lines := strings.Count(list, "\n"); lines != 4 || strings.Contains(list, "\x1b") {
			t.Errorf("%d lines:\n%q", lines, list)
		}
		if got := run(0, "list", "--kind", "test.old", "--account", "1"); strings.Count(got, "\n") != 2 {
			t.Errorf("of a kind and an account:\n%s", got)
		}
		run(exitUsage, "drop")
		run(exitUsage, "retry", "--all", "7")
		run(exitUsage, "drop", "7", "--kind", "test.old")
		has(run(exitIncomplete, "retry", "999999"), "job 999999: there is none", "retried 0 jobs")
		has(run(0, "retry", fmt.Sprint(mail)), "retried 1 jobs")
		testenv.Eventually(t, "the server has done the job", func() bool {
			g, err := db.Gauges(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range g.Jobs {
				if j.Kind == helpdesk.JobFileMail {
					return false
				}
			}
			return true
		})
		has(run(0, "drop", "--all", "--kind", "test.old"), "dropped 2 jobs")
		has(run(0, "drop", "--all"), "dropped 0 jobs")
		var log auditPage
		s.ok("GET", "/accounts/1/audit-log?limit=2", nil, &log)
		if len(log.Data) != 2 || log.Data[0].Action != "job.dropped" || log.Data[1].Action != "job.retried" || log.Data[1].ResourceID != mail || log.Data[1].UserID != nil {
			t.Errorf("audit log: %+v", log.Data)
		}
	})
}

// auditPage is the part of an audit log that TestJobsCommand checks.
type auditPage struct {
	Data []struct {
		Action     string `json:"action"`
		ResourceID int64  `json:"resource_id"`
		UserID     *int64 `json:"user_id"`
	} `json:"data"`
}
