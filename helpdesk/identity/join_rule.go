package identity

import (
	"time"
)

// JoinRule makes members of people who sign in with an identity provider: whoever has a verified address of the domain
// joins the account with these roles and mailboxes. See helpdesk.Service.FinishSignInWith for when it applies.
//
// A rule is worth what its maker may do now: it pauses while they could not grant what it grants.
type JoinRule struct {
	ID         int64
	AccountID  int64
	Issuer     string // of the identity provider, see [Provider]
	Domain     string // of the address, in its ASCII form; domains below it are others
	RoleIDs    []int64
	MailboxIDs []int64 // empty: all mailboxes
	UserID     int64   // who made or changed it last
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// JoinRuleInput is what a rule says.
type JoinRuleInput struct {
	Provider   string // key of one of helpdesk.Service.IdentityProviders; may be left out where there is one only
	Domain     string // such as example.org; not one where anybody can have an address
	RoleIDs    []int64
	MailboxIDs []int64 // empty: all mailboxes
}
