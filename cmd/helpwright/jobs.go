package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type jobsCmd struct {
	List  jobsListCmd  `cmd:"" help:"Print the failed jobs with the reasons, newest first."`
	Retry jobsRetryCmd `cmd:"" help:"Run failed jobs again, once their cause is fixed."`
	Drop  jobsDropCmd  `cmd:"" help:"Remove failed jobs. They will never run."`
}

// failed selects jobs that were given up.
type buried struct {
	Kind    string `help:"Only jobs of this kind, such as mail.send." placeholder:"KIND"`
	Account int64  `help:"Only jobs of this account." placeholder:"ID"`
}

// each calls fn with the selected jobs, newest first, and at most limit of them.
func (b buried) each(a *app, limit int, fn func(storage.FailedJob) error) error {
	seek := storage.Seek{Desc: true, Limit: 100}
	for found := 0; ; {
		page, err := a.db.FailedJobs(a.ctx, seek)
		if err != nil {
			return err
		}
		for _, j := range page {
			seek.From = &storage.Position{ID: j.ID}
			if b.Kind != "" && j.Kind != b.Kind || b.Account != 0 && j.AccountID != b.Account {
				continue
			}
			if found++; found > limit {
				return nil
			}
			if err := fn(j); err != nil {
				return err
			}
		}
		if len(page) < seek.Limit {
			return nil
		}
	}
}

type jobsListCmd struct {
	buried
	Limit int `help:"Maximum number of jobs." default:"100" placeholder:"N"`
}

// Run prints the jobs: their ids, kinds, accounts and subjects, the number of attempts, and the reasons for giving up.
func (c *jobsListCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tACCOUNT\tSUBJECT\tATTEMPTS\tREASON")
	err = c.each(a, c.Limit, func(j storage.FailedJob) error {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%s\n", j.ID, printable(j.Kind), j.AccountID, j.Subject, j.Attempt, printable(j.Reason))
		return nil
	})
	return errors.Join(err, w.Flush())
}

// printable returns a text on one line without terminal control characters: a reason may quote untrusted text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// decided selects the jobs for a command.
type decided struct {
	IDs []int64 `arg:"" optional:"" name:"id" help:"The jobs' ids."`
	All bool    `help:"All failed jobs, or all that match --kind and --account."`
	buried
}

// run performs an action on each job, and prints their number.
func (d decided) run(s *session, did string, do func(a *app, accountID, id int64) error) error {
	if (len(d.IDs) > 0) == d.All || len(d.IDs) > 0 && d.buried != (buried{}) {
		return usageError{errors.New("name jobs by their ids, or all with --all, and of these some with --kind and --account")}
	}
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	named := map[int64]bool{}
	for _, id := range d.IDs {
		named[id] = true
	}
	var jobs []storage.FailedJob
	err = d.each(a, int(^uint(0)>>1), func(j storage.FailedJob) error {
		if d.All || named[j.ID] {
			delete(named, j.ID)
			jobs = append(jobs, storage.FailedJob{ID: j.ID, Job: storage.Job{AccountID: j.AccountID}})
		}
		return nil
	})
	done, failed := 0, 0
	for _, j := range jobs {
		switch doing := do(a, j.AccountID, j.ID); {
		case doing == nil:
			done++
		case fault.Is(doing, fault.NotFound), fault.Is(doing, fault.Conflict): // another process was faster, or does the same
			failed++
			fmt.Fprintf(s.stderr, "job %d: %s\n", j.ID, shown(doing))
		default:
			return doing
		}
	}
	for id := range named {
		failed++
		fmt.Fprintf(s.stderr, "job %d: there is none that was given up\n", id)
	}
	fmt.Fprintf(s.stdout, "%s %d jobs\n", did, done)
	if err == nil && failed > 0 {
		err = incompleteError{fmt.Errorf("%d jobs were left alone", failed)}
	}
	return err
}

type jobsRetryCmd struct{ decided }

// Run makes the jobs due: a running server runs them within a second.
func (c *jobsRetryCmd) Run(s *session) error {
	return c.run(s, "retried", func(a *app, accountID, id int64) error {
		return a.Service().Operator().RetryJob(a.ctx, accountID, id)
	})
}

type jobsDropCmd struct{ decided }

// Run removes the jobs.
func (c *jobsDropCmd) Run(s *session) error {
	return c.run(s, "dropped", func(a *app, accountID, id int64) error {
		return a.Service().Operator().DropJob(a.ctx, accountID, id)
	})
}
