package main

import (
	"errors"
	"fmt"
)

type reportsCmd struct {
	Rebuild reportsRebuildCmd `cmd:"" help:"Make again what reports know of all conversations, from the conversations themselves and the log of events. What was right stays the same."`
}

type reportsRebuildCmd struct {
	Account int64 `help:"Only this account. Default: all." placeholder:"ID"`
}

// Run rebuilds. It works while a server runs, and can be interrupted: the server does the rest.
func (c *reportsRebuildCmd) Run(s *session) error {
	if c.Account < 0 {
		return usageError{errors.New("--account must be the id of an account")}
	}
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	n, err := a.Service().RebuildFacts(s.ctx, c.Account)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "reports know %d conversations\n", n)
	return nil
}
