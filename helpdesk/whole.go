package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// holdsEverything returns a fault for members who lack a permission or a mailbox, for operations on everything in the account.
func (d *desk) holdsEverything() error {
	if err := d.reachesAll(); err != nil {
		return err
	}
	if !d.holdsAll(d.svc.Permissions()) {
		return fault.New(fault.Forbidden, "This needs all permissions, as owners and admins have them.")
	}
	return nil
}

// HoldsAll reports whether the member has all permissions and reaches all mailboxes, which [Mailboxes.StartImport] and
// [Account.StartExport] need.
func (d *Desk) HoldsAll() bool { return d.holdsEverything() == nil }

// StartImport records in the audit log that the member starts an import into a mailbox by a [MoveIn] or an [Intake], which
// check no permissions. It needs all permissions and all mailboxes.
func (d Mailboxes) StartImport(ctx context.Context, mailboxID int64) error {
	begin, err := d.guard.Write(identity.AccountsUpdate)
	if err != nil {
		return err
	}
	if err := d.holdsEverything(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Mailboxes().Get(ctx, mailboxID); err != nil {
			return err
		}
		return d.emit(ctx, tx, "account.import_started", d.scope.AccountID, 0)
	})
}

// StartImport records in the audit log that the member starts an import of a table of customers, see
// [Customers.ImportRows], whose permissions it needs.
func (d Customers) StartImport(ctx context.Context) error {
	if _, err := d.guard.Write(identity.CustomersCreate); err != nil {
		return err
	}
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		return d.emit(ctx, tx, "account.customers_imported", d.scope.AccountID, 0)
	})
}

// StartExport records in the audit log that the member starts an export of the whole account. It needs all permissions and all
// mailboxes.
func (d Account) StartExport(ctx context.Context) error {
	begin, err := d.guard.Write(identity.AccountsExport)
	if err != nil {
		return err
	}
	if err := d.holdsEverything(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		return d.emit(ctx, tx, "account.exported", d.scope.AccountID, 0)
	})
}
