package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport"
)

// reconciliation compares a mailbox's server with the ledger.
type reconciliation struct {
	Folders   []reconciledFolder `json:"folders"`
	Elsewhere int                `json:"elsewhere" description:"Imported mails that cannot be compared: from another server or folder, from before a change of UIDVALIDITY, or received by SMTP or LMTP."`
}

type reconciledFolder struct {
	Name     string   `json:"name" description:"Empty for POP3."`
	OnServer int      `json:"on_server" description:"Mails on the server."`
	InLedger int      `json:"in_ledger" description:"Mails received from the folder, whatever became of them."`
	Waiting  int      `json:"waiting" description:"Mails on the server that the next fetch imports."`
	Missing  int      `json:"missing" description:"Mails on the server that will not be fetched automatically. A backfill imports them."`
	Missed   []string `json:"missing_positions" description:"The first 100 of them: UIDVALIDITY, UID and folder, or UIDL."`
	Gone     int      `json:"gone" description:"Imported mails that are no longer on the server."`
	GoneIDs  []int64  `json:"gone_ids" description:"The first 100 of them, by their ids in the list of failures."`
}

type backfillInput struct {
	mailboxID
	Since time.Time `json:"since" required:"true" description:"A time in the past. Imports mails that the server received on that day or later." example:"2026-01-01T00:00:00+00:00"`
}

func (a *api) addReconcile(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "reconcileMailbox", Method: http.MethodPost, Path: mailboxPath + "/reconcile", Tag: "Mailboxes", Slow: true,
		Summary: "Compare the mails on the server with the imported ones",
		Description: "Reports what is missing on either side and changes nothing. Takes as long as the server needs to list its mails. 409 " +
			"for a mailbox of type FWD, 503 if the server cannot be reached. Needs mailboxes.connection.",
	}, a.reconcileMailbox)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "backfillMailbox", Method: http.MethodPost, Path: mailboxPath + "/backfill", Tag: "Mailboxes",
		Summary: "Import older mails",
		Description: "Imports, in the background, all mails that the server received on or after a day. Mails imported before are recognised. " +
			"409 for mailboxes of type FWD and POP3. Needs mailboxes.connection.",
	}, a.backfillMailbox)
}

func (a *api) reconcileMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxID) (reconciliation, error) {
	r, err := d.Mailboxes().Reconcile(ctx, in.MailboxID)
	out := reconciliation{Folders: []reconciledFolder{}, Elsewhere: r.Elsewhere}
	for _, f := range r.Folders {
		out.Folders = append(out.Folders, reconciledFolder{
			Name: f.Name, OnServer: f.OnServer, InLedger: f.InLedger, Waiting: f.Waiting, Missing: f.Missing,
			Missed: listed(f.MissingPositions), Gone: f.Gone, GoneIDs: listed(f.GoneIDs),
		})
	}
	return out, err
}

func (a *api) backfillMailbox(ctx context.Context, d *helpdesk.Desk, in backfillInput) error {
	return d.Mailboxes().Backfill(ctx, in.MailboxID, in.Since)
}
