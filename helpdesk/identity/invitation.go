package identity

import (
	"time"
)

// Invitation lets the holder of its token become a member. The token is not stored: it is derived from Nonce with the
// service's signing key, for the mail, and looked up by Hash.
type Invitation struct {
	ID         int64
	AccountID  int64
	Email      string
	EmailKey   string
	Name       string
	RoleIDs    []int64
	MailboxIDs []int64 // empty: all mailboxes
	Nonce      []byte
	Hash       []byte // SHA-256 of the token
	UserID     int64  // who invited
	ExpiresAt  time.Time
	CreatedAt  time.Time
}

// InvitationFilter narrows invitations. The zero value selects all.
type InvitationFilter struct {
	Hash []byte
}

// InvitationPrefix begins every invitation's token.
const InvitationPrefix = "hwi_"

// InvitationInput is a new invitation.
type InvitationInput struct {
	Email      string // required
	Name       string // proposed, at most 200 characters
	RoleIDs    []int64
	MailboxIDs []int64
}

// AcceptInput is entered by whoever accepts an invitation. Users who are signed in leave it empty.
type AcceptInput struct {
	Name     string // "": the name in the invitation
	Password string // 8 to 200 characters
	// Code is a second-factor code, for a user who has a second factor and gives the password. Without it, the fault is that of
	// helpdesk.Service.SignIn.
	Code string
}

// Invited describes an invitation to the holder of its token.
type Invited struct {
	Account string // its name
	Email   string
	Name    string // proposed; may be ""
}

// Accepted is the result of accepting an invitation.
type Accepted struct {
	Membership Membership
	AccountID  int64
	Secret     string // of the member's new access token
}
