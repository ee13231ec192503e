package identity

import (
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Account is a tenant. Everything but users belongs to exactly one account.
type Account struct {
	ID            int64
	Name          string
	NextNumber    int64    // number of the next conversation, from 1
	DefaultLocale string   // BCP 47; "en" by default
	Languages     []string // BCP 47 codes, in the order of the reader's menu
	// DefaultMailboxID is the mailbox for conversations that name none; 0 means the oldest one.
	DefaultMailboxID int64
	// SendHold is the delay before a reply is sent, during which it can be cancelled: whole seconds, up to [MaxSendHold].
	SendHold     time.Duration
	RemoteImages RemoteImages // default for showing messages; BlockImages in a new account
	TrackSeen    bool         // add a tracking image to replies, see helpdesk.Service.SeenByPixel
	// RequireSecondFactor admits members who sign in with a password or an identity provider only if they have a second factor,
	// or if the provider has asked for one.
	RequireSecondFactor bool
	// SealedErasureKeys are the keys of the account's tombstones, see helpdesk.Erasure; nil: none yet.
	SealedErasureKeys []byte
	Origin            Origin // where the account was imported from
	// Listens are the types of the events that its rules listen to, sorted: every transaction that emits events touches this row,
	// so that it misses no rule that is committed before it.
	Listens   []string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// AccountUpdate changes an account. Absent fields are unchanged.
type AccountUpdate struct {
	Name          string             // required, at most 200 characters
	NextNumber    storage.Opt[int64] // must be above all numbers taken
	DefaultLocale storage.Opt[string]
	Languages     storage.Opt[[]string]
	SendHold      storage.Opt[time.Duration] // whole seconds, 0 to [MaxSendHold]
	RemoteImages  storage.Opt[RemoteImages]  // BlockImages or ProxyImages
	TrackSeen     storage.Opt[bool]
	// RequireSecondFactor: see [Account].
	RequireSecondFactor storage.Opt[bool]
}

// MaxSendHold is the maximum delay before a reply is sent.
const MaxSendHold = 10 * time.Minute

// AccountInput is a new account.
type AccountInput struct {
	Name          string        // required, at most 200 characters
	NextNumber    int64         // of the first conversation; 0 means 1
	DefaultLocale string        // "" means "en"
	Languages     []string      // nil means the default locale alone
	SendHold      time.Duration // whole seconds, 0 to [MaxSendHold]
}

// RemoteImages determines what happens to images on other servers. Loading them would reveal to the sender when and where a
// message is read.
type RemoteImages string

// The ways to show remote images.
const (
	BlockImages RemoteImages = "block" // data-remote-src contains their address
	ProxyImages RemoteImages = "proxy" // loaded through BodyView.ProxyURL
)

// Origin says that an account was imported from an archive of package helpdesk/transfer.
type Origin struct {
	Archive    string    // the archive's id; "": the account was made here
	FinishedAt time.Time // zero: the import is still to be finished
}
