package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type customersCmd struct {
	Erase  customersEraseCmd `cmd:"" help:"Permanently erase a customer's personal data. Their conversations stay, but without content."`
	Erased erasedCmd         `cmd:"" help:"Erased customers."`
}

type customersEraseCmd struct {
	Account  int64  `help:"Account of the customer." default:"1"`
	Customer string `arg:"" help:"An address of the customer, or their id."`
}

// Run erases. It works while a server runs, and can be interrupted and repeated.
func (c *customersEraseCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	id, err := strconv.ParseInt(c.Customer, 10, 64)
	if err != nil {
		found, err := a.db.Within(helpdesk.Scope{AccountID: c.Account}).CustomerByEmail(s.ctx, mailaddr.Key(c.Customer))
		if fault.Is(err, fault.NotFound) {
			return errors.New("no customer of the account has this address")
		}
		if err != nil {
			return err
		}
		id = found.ID
	}
	if err := a.Service().Operator().EraseCustomer(s.ctx, c.Account, id); err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "customer %d is erased; backups and exports from before still have their data\n", id)
	return nil
}

type erasedCmd struct {
	List   erasedListCmd   `cmd:"" help:"Print whom was erased and when, newest first: one line for each address, without the address."`
	Export erasedExportCmd `cmd:"" help:"Write the tombstones of erased customers to a file, to be applied to a restored backup. It contains no addresses, but whoever has it can test whether an address was erased."`
	Apply  erasedApplyCmd  `cmd:"" help:"Erase again whom an older backup or archive has brought back. Run it before the restored server."`
}

type erasedListCmd struct {
	Account int64  `help:"Account of the customers." default:"1"`
	Email   string `help:"Only this address." placeholder:"ADDRESS"`
	Limit   int    `help:"Maximum number of lines." default:"100" placeholder:"N"`
}

// Run lists.
func (c *erasedListCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ERASED\tCUSTOMER\tBY USER")
	erasures := func(req storage.PageRequest) (storage.Page[helpdesk.Erasure], error) {
		return a.Service().Operator().Erasures(s.ctx, c.Account, c.Email, req)
	}
	left := c.Limit
	for e, err := range storage.Each(erasures) {
		if err != nil {
			return err
		}
		if left--; left < 0 {
			break
		}
		by := "the operator"
		if e.UserID != 0 {
			by = strconv.FormatInt(e.UserID, 10)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", e.ErasedAt.Format(time.RFC3339), e.CustomerID, by)
	}
	return w.Flush()
}

type erasedExportCmd struct {
	Account int64  `help:"Account of the customers." default:"1"`
	File    string `arg:"" help:"File to write. It must not exist."`
}

// Run exports.
func (c *erasedExportCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	file, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usageError{err}
	}
	n, err := a.Service().Operator().WriteErasures(s.ctx, c.Account, file)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(c.File))
	}
	fmt.Fprintf(s.stdout, "%s written to %s\n", some(n, "tombstone"), c.File)
	return nil
}

type erasedApplyCmd struct {
	Account int64  `help:"Account that the tombstones are applied to." default:"1"`
	DryRun  bool   `help:"Only print how many customers would be erased."`
	File    string `arg:"" help:"File that helpwright customers erased export has written."`
}

// Run applies.
func (c *erasedApplyCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	file, err := os.Open(c.File)
	if err != nil {
		return usageError{err}
	}
	defer func() { _ = file.Close() }() // only read
	done, err := a.Service().Operator().ApplyErasures(s.ctx, c.Account, file, c.DryRun)
	if err != nil {
		return fmt.Errorf("%s erased, run the command again for the rest: %w", some(done.Customers, "customer"), err)
	}
	if c.DryRun {
		fmt.Fprintf(s.stdout, "%s in the file; to erase: %s; nothing was changed\n", some(done.Tombstones, "tombstone"), some(done.Customers, "customer"))
		return nil
	}
	fmt.Fprintf(s.stdout, "%s in the file, %d of them new here; erased: %s\n", some(done.Tombstones, "tombstone"), done.New, some(done.Customers, "customer"))
	return nil
}
