package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// Inbound configures how a mailbox's mail is fetched. The fields after Type are unused for InboundForward. A helpdesk.Desk
// returns the zero value to members who may not view it.
type Inbound struct {
	Type                InboundType
	Host                string
	Port                int
	Username            string
	SealedPassword      []byte // never leaves the service
	HasPassword         bool   // set by the service; stores ignore it
	Encryption          mailserver.Encryption
	ValidateCertificate bool
	Folders             []string // empty: INBOX

	Auth  InboundAuth
	OAuth OAuth // for AuthOAuth2
	// ImportSince skips messages that the server received before that day, until helpdesk.Desk.Backfill requests them; zero
	// imports all. IMAP only.
	ImportSince time.Time
	// Epoch counts changes of the server or its user. Positions and cursors of one epoch are meaningless in another.
	Epoch int
}

// InboundType is the way in which mail reaches a mailbox.
type InboundType string

// The ways mail reaches a mailbox.
const (
	InboundForward InboundType = "FWD" // forwarded to the internal address
	InboundIMAP    InboundType = "IMAP"
	InboundPOP3    InboundType = "POP3"
)

// InboundAuth is the way in which a mailbox authenticates to its server.
type InboundAuth string

// The authentication methods.
const (
	AuthPassword InboundAuth = "PASSWORD" // the zero value means the same
	AuthOAuth2   InboundAuth = "OAUTH2"   // an access token, by OAUTHBEARER (RFC 7628) or XOAUTH2
)

// OAuth configures how access tokens for a mail server are obtained with a refresh token (RFC 6749 section 6).
type OAuth struct {
	ClientID        string
	TokenURL        string
	Scope           string // separated by spaces; empty: the originally granted scope
	SealedSecrets   []byte // client secret and refresh token; never leaves the service
	HasRefreshToken bool   // set by the service; stores ignore it
}

// FetchStatus is the state of fetching a mailbox.
type FetchStatus struct {
	MailboxID     int64
	Connected     bool
	LastSuccessAt time.Time
	LastErrorAt   time.Time
	LastError     string // last failure, safe to show to members who may view the connection
	// NeedsReauth reports that the server or the token endpoint rejects the password or the grant. Nothing is fetched until it
	// is replaced.
	NeedsReauth bool
	// Worker is the process that currently runs a step on the mailbox that could crash it, see helpdesk.Intake.BeginFetch; ""
	// if none. Deaths are the times of such crashes that still count, newest first. Fruitless is how many of them happened in a
	// row without anything fetched in between.
	Worker    string
	Deaths    []time.Time
	Fruitless int
	// ParkedAt is when the mailbox was parked after too many crashes; zero: not parked. It is retried after a minute, and the
	// delay doubles with each further crash, up to a day. Parking ends with a successful fetch, with a successful
	// helpdesk.Desk.TestMailbox, or with a changed connection.
	ParkedAt  time.Time
	UpdatedAt time.Time
}

// FetchState summarizes the state of fetching a mailbox.
type FetchState string

// The states of fetching.
const (
	FetchWaiting    FetchState = "waiting"    // no attempt since the mailbox was created
	FetchConnecting FetchState = "connecting" // an attempt is under way, and the server has not answered yet
	FetchConnected  FetchState = "connected"
	FetchFailing    FetchState = "failing" // LastError has the reason; it is retried
	FetchParked     FetchState = "parked"  // LastError has the reason; it is retried at growing intervals
)

// State returns the summary of the status.
func (s FetchStatus) State() FetchState {
	switch {
	case !s.ParkedAt.IsZero():
		return FetchParked
	case s.Connected:
		return FetchConnected
	case s.LastErrorAt.After(s.LastSuccessAt):
		return FetchFailing
	case s.UpdatedAt.IsZero():
		return FetchWaiting
	}
	return FetchConnecting
}

// FailingLong is how long fetching a mailbox may fail before members are notified.
const FailingLong = 30 * time.Minute

// FolderCursor is a cursor that moves together with taking messages.
type FolderCursor struct {
	Folder string
	Cursor mailserver.Cursor
}

// FetchSource is a mailbox to fetch, with its unsealed secrets.
type FetchSource struct {
	AccountID int64
	MailboxID int64
	Email     string // the mailbox's address; may be ""
	Inbound   Inbound
	Password  string // for AuthPassword
	// ClientSecret and RefreshToken are for AuthOAuth2.
	ClientSecret, RefreshToken string
	// Problem is set when the stored secrets cannot be unsealed, for instance because the secret key changed. The mailbox
	// cannot be fetched until they are entered again.
	Problem string
}

// FetchLeave is the result of helpdesk.Intake.BeginFetch.
type FetchLeave struct {
	Parked bool // no work is allowed yet: see [FetchStatus].ParkedAt
	// Suspect: a process has crashed at work on the mailbox, possibly for another reason. Working on one such mailbox at a time
	// shows which one caused it.
	Suspect bool
}

// ErrReauth means that a mail server or its token endpoint rejects a mailbox's password or grant. Nothing is fetched until
// it is replaced.
var ErrReauth = errors.New("the mail server refuses the credentials")

// MailServers connects to the servers that mailboxes are fetched from. Package ingest implements it. Its errors name the
// failed step and may be shown to members who may view the connection. An error that is [ErrReauth] means that other
// credentials are needed.
type MailServers interface {
	// Test connects, signs in and opens each folder.
	Test(ctx context.Context, source FetchSource) error
	// List calls each with the messages of every folder, folder by folder. A non-zero since omits those that the server
	// received before that day, if the protocol has dates. An error from each ends it.
	List(ctx context.Context, source FetchSource, since time.Time, each func(context.Context, ServerMails) error) error
}

// ConnectionTest is the result of testing a mailbox's connection.
type ConnectionTest struct {
	Failure     string // the failed step and the reason; "" if none failed
	NeedsReauth bool   // other credentials are needed
	// Tagged reports whether tagged addresses work, as far as known.
	Tagged TaggedAddress
}

// TaggedAddress is the result of testing a mailbox's tagged address.
type TaggedAddress struct {
	State   ProbeState
	Address string // address of the probe; "" for ProbeNone
	SentAt  time.Time
	SeenAt  time.Time // latest arrival of a probe
	Text    string    // the result and its consequence, for people
}

// ProbeState is the state of a probe.
type ProbeState string

// The states of probes. More may be added.
const (
	ProbeNone    ProbeState = "none"    // none was sent
	ProbePending ProbeState = "pending" // on its way
	ProbeArrived ProbeState = "arrived" // tagged addresses work
	ProbeRefused ProbeState = "refused" // returned, or could not be sent
	ProbeMissing ProbeState = "missing" // did not arrive in time
)
