package ledger

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
)

// Codes of the Conflict faults that a store returns for uniqueness violations.
const (
	UniqueIdentity     = "mail_identity" // (account, mailbox, Identity) of ledger rows, when not empty
	UniqueMailPosition = "mail_position" // (account, mailbox, Source, Position) of ledger rows, when not empty
)

// FetchReader reads the state of fetching.
type FetchReader interface {
	// FetchStatus returns a mailbox's status, or the zero value if nothing was reported yet.
	FetchStatus(ctx context.Context, mailboxID int64) (FetchStatus, error)
	// FetchCursor returns a folder's cursor, or the zero value if nothing was fetched yet.
	FetchCursor(ctx context.Context, mailboxID int64, folder string) (mailserver.Cursor, error)
}

// Reader reads the ledger of received messages.
type Reader interface {
	InboundMail(ctx context.Context, id int64) (Mail, error)
	// InboundMails lists rows by id.
	InboundMails(ctx context.Context, filter Filter, seek storage.Seek) ([]Mail, error)
	// InboundByIdentity returns the rows of all mailboxes that have one of the identities, by id. The empty identity matches
	// nothing.
	InboundByIdentity(ctx context.Context, identities [][]byte) ([]Mail, error)
	// InboundOf returns the rows that an interaction was filed from, by id.
	InboundOf(ctx context.Context, interactionID int64) ([]Mail, error)
	// InboundPositions returns the given positions that the ledger of a mailbox contains for the source, in bytewise order. The
	// empty position matches nothing.
	InboundPositions(ctx context.Context, mailboxID int64, source string, positions []string) ([]string, error)
	// InboundCounts counts a mailbox's unfiled rows.
	InboundCounts(ctx context.Context, mailboxID int64) (Counts, error)
}

// FetchWriter records the state of fetching.
type FetchWriter interface {
	SaveFetchStatus(ctx context.Context, s FetchStatus) error
	SaveFetchCursor(ctx context.Context, mailboxID int64, folder string, c mailserver.Cursor) error
}

// Writer changes the ledger of received messages.
type Writer interface {
	// InsertInbound stores rows and sets their IDs. A row whose (mailbox, Source, Position) already exists is skipped and keeps
	// ID 0.
	InsertInbound(ctx context.Context, mails []*Mail) error
	// UpdateInbound writes all fields. An Identity that another row of the mailbox already has is a Conflict fault with code
	// UniqueIdentity.
	UpdateInbound(ctx context.Context, m *Mail) error
	// InboundForUpdate reads a row and locks it until the transaction ends.
	InboundForUpdate(ctx context.Context, id int64) (Mail, error)
	// SetInboundState moves rows from state from to state to. It sets UpdatedAt and clears Reason, UserID and Note. It returns
	// the IDs of the changed rows in order; rows in other states are ignored.
	SetInboundState(ctx context.Context, ids []int64, from, to State, at time.Time) ([]int64, error)
}
