package ledger

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// ServerMails are messages in a folder of a mailbox's server.
type ServerMails struct {
	Folder    string              // "" for POP3
	Positions []string            // as in InboundMail.Position; at most 500, none for an empty folder
	At        []mailserver.Cursor // of Positions; nil if they have no order, as in POP3
	// Cursor is the name of the folder's cursor.
	Cursor string
	// Source, Prefix and Suffix identify the folder's ledger rows.
	Source, Prefix, Suffix string
}

// Reconciliation is a comparison of a mailbox's server with the ledger. It names the first 100 messages missing on either
// side.
type Reconciliation struct {
	Folders []ReconciledFolder
	// Elsewhere is the number of ledger rows without counterpart: from another server or folder, from before the server
	// renumbered its messages, or received by SMTP or LMTP.
	Elsewhere int
}

// ReconciledFolder is the comparison of one folder.
type ReconciledFolder struct {
	Name     string // "" for POP3
	OnServer int    // messages on the server
	InLedger int    // ledger rows
	Waiting  int    // messages on the server that the next fetch takes
	// Missing messages are on the server but will not be fetched automatically, such as those that ImportSince skips.
	// helpdesk.Desk.Backfill imports them.
	Missing          int
	MissingPositions []string
	// Gone messages are in the ledger and no longer on the server.
	Gone    int
	GoneIDs []int64
}

// Backfill is the payload of a job of kind helpdesk.JobBackfill.
type Backfill struct {
	Since time.Time `json:"since"`
}
