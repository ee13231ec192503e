package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/deskfolder"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type deskCmd struct {
	Export deskExportCmd `cmd:"" help:"Write how a desk is set up into a folder, without secrets: tags, fields, calendars, teams, saved replies, views, automatic replies, surveys, SLAs and rules as YAML files."`
	Plan   deskPlanCmd   `cmd:"" help:"Print what applying such a folder would change, and change nothing."`
	Apply  deskApplyCmd  `cmd:"" help:"Set up a desk as such a folder says, in one transaction."`
}

// deskArgs are the arguments of all commands.
type deskArgs struct {
	Account int64  `help:"Account of the desk." default:"1"`
	As      string `help:"Member who does it, and with whose rights rules act from then on. Default: the account's first owner." placeholder:"EMAIL"`
	Folder  string `arg:"" help:"Folder of the files. Members and mailboxes are named by their addresses in them, the rest by name."`
}

type deskExportCmd struct{ deskArgs }

// Run exports. It works while a server runs.
func (c *deskExportCmd) Run(s *session) error {
	return c.open(s, func(_ *app, desk *helpdesk.Desk) error {
		setup, err := deskfolder.Export(s.ctx, desk)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(c.Folder, 0o777); err != nil {
			return err
		}
		root, err := os.OpenRoot(c.Folder)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }() // everything in it is written
		if err := deskfolder.Save(setup, root); err != nil {
			return fmt.Errorf("%s: %w", c.Folder, err)
		}
		fmt.Fprintf(s.stdout, "exported %s, %s, %s and the rest\n", some(len(setup.Rules), "rule"), some(len(setup.Fields), "field"),
			some(len(setup.SavedReplies), "saved reply"))
		return nil
	})
}

type deskChangeArgs struct {
	deskArgs
	Delete bool `help:"Also delete what the folder does not contain, of each kind that it has a file of."`
}

type deskPlanCmd struct{ deskChangeArgs }

// Run prints a line for each change.
func (c *deskPlanCmd) Run(s *session) error {
	return c.change(s, func(a *app, desk *helpdesk.Desk, setup deskfolder.Setup) error {
		changes, err := deskfolder.Plan(s.ctx, a.db, desk, setup, deskfolder.Options{Delete: c.Delete})
		return c.print(s, changes, err, ", none was made")
	})
}

type deskApplyCmd struct{ deskChangeArgs }

// Run applies, and prints a line for each change. It works while a server runs.
func (c *deskApplyCmd) Run(s *session) error {
	return c.change(s, func(a *app, desk *helpdesk.Desk, setup deskfolder.Setup) error {
		changes, err := deskfolder.Apply(s.ctx, a.db, desk, setup, deskfolder.Options{Delete: c.Delete})
		return c.print(s, changes, err, "")
	})
}

func (c *deskChangeArgs) change(s *session, do func(*app, *helpdesk.Desk, deskfolder.Setup) error) error {
	root, err := os.OpenRoot(c.Folder)
	if err != nil {
		return usageError{err}
	}
	defer func() { _ = root.Close() }() // only read
	setup, err := deskfolder.Read(root.FS())
	if err != nil {
		return fmt.Errorf("%s, nothing was changed:\n%w", c.Folder, err)
	}
	return c.open(s, func(a *app, desk *helpdesk.Desk) error { return do(a, desk, setup) })
}

func (c *deskChangeArgs) print(s *session, changes []deskfolder.Change, err error, note string) error {
	switch {
	case err != nil && !fault.Certain(err):
		return fmt.Errorf("the database did not confirm the changes, plan again to see whether they were made: %w", err)
	case err != nil:
		return fmt.Errorf("%s, nothing was changed:\n%w", c.Folder, err)
	case len(changes) == 0:
		fmt.Fprintln(s.stdout, "no changes")
		return nil
	}
	for _, change := range changes {
		fmt.Fprintln(s.stdout, change)
	}
	fmt.Fprintf(s.stdout, "%s%s\n", some(len(changes), "change"), note)
	return nil
}

// open opens the desk. The schema of the database must be up to date.
func (c *deskArgs) open(s *session, do func(*app, *helpdesk.Desk) error) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	user, err := c.member(s, a)
	if err != nil {
		return err
	}
	desk, err := a.Service().Desk(s.ctx, a.Service().As(user), c.Account)
	if fault.Is(err, fault.NotFound) {
		return fmt.Errorf("%s is not a member of account %d", c.As, c.Account)
	}
	if err != nil {
		return err
	}
	return do(a, desk)
}

// member returns the user who does it.
func (c *deskArgs) member(s *session, a *app) (int64, error) {
	if c.As != "" {
		user, err := userByEmail(a, c.As)
		return user.ID, err
	}
	members, err := a.db.Within(helpdesk.Scope{AccountID: c.Account}).Memberships().List(s.ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return 0, err
	}
	for _, m := range members {
		grant, err := a.db.Grant(s.ctx, m.UserID, c.Account)
		if err != nil {
			return 0, err
		}
		if !grant.Disabled && slices.ContainsFunc(grant.Roles, func(r identity.Role) bool { return r.Key == identity.RoleOwner }) {
			return m.UserID, nil
		}
	}
	if len(members) == 0 {
		return 0, fmt.Errorf("there is no account %d", c.Account)
	}
	return 0, errors.New("the account has no owner who may sign in: name a member with --as")
}
