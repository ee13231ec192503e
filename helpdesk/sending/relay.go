package sending

import "github.com/helpwright/helpwright/helpdesk/mailserver"

// OutboundType is the way in which a mailbox's mail leaves.
type OutboundType string

// The ways in which a mailbox's mail leaves.
const (
	OutboundServer OutboundType = "SERVER" // by the relay of the server; the zero value means the same
	OutboundSMTP   OutboundType = "SMTP"   // by a relay of the mailbox's own
)

// OutboundAuth is the way in which a mailbox authenticates to its relay.
type OutboundAuth string

// The authentication methods.
const (
	OutboundPassword OutboundAuth = "PASSWORD" // the zero value means the same
	OutboundOAuth2   OutboundAuth = "OAUTH2"   // access tokens of the mailbox's inbound connection, by OAUTHBEARER or XOAUTH2
	OutboundNone     OutboundAuth = "NONE"     // no authentication
)

// Outbound configures how a mailbox's mail leaves. The fields after Type are unused for OutboundServer.
type Outbound struct {
	Type                OutboundType
	Host                string
	Port                int
	Username            string // empty for OutboundNone
	SealedPassword      []byte // for OutboundPassword; never leaves the service
	HasPassword         bool   `json:"-"` // set by the service; stores ignore it
	Encryption          mailserver.Encryption
	ValidateCertificate bool
	Auth                OutboundAuth
}

// Relay is a mailbox's own relay, with its unsealed secrets.
type Relay struct {
	AccountID, MailboxID int64
	Outbound             Outbound
	Password             string // for OutboundPassword
	OAuth                OAuth  // for OutboundOAuth2
	// Problem is set when the stored secrets cannot be unsealed, for instance because the secret key changed. Nothing can be
	// sent until they are entered again.
	Problem string
}

// OAuth is what access tokens are obtained with (RFC 6749 section 6).
type OAuth struct{ ClientID, ClientSecret, TokenURL, Scope, RefreshToken string }

// OutboundTest is the result of a test of a mailbox's relay.
type OutboundTest struct {
	Failure     string // the step that failed, and why; "": none
	NeedsReauth bool   // it failed because the credentials were rejected
}
