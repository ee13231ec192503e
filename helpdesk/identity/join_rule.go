package identity

import (
	"time"
)

// JoinRule makes members of people who sign in with an identity provider: users with a verified address of the domain join
// the account with these roles and mailboxes. See helpdesk.Service.FinishSignInWith for when it applies.
//
// A rule has no effect while the member who last changed it could not grant what it grants.
type JoinRule struct {
	ID         int64
	AccountID  int64
	Issuer     string // of the identity provider, see [Provider]
	Domain     string // of the address, in its ASCII form; domains below it are others
	RoleIDs    []int64
	MailboxIDs []int64 // empty: all mailboxes
	UserID     int64   // last changed it
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// JoinRuleFilter narrows rules. The zero value selects all.
type JoinRuleFilter struct {
	Issuer, Domain string // both or none
}

// JoinRuleInput creates or changes a rule.
type JoinRuleInput struct {
	Provider   string // key of one of helpdesk.Service.IdentityProviders; may be omitted if there is only one
	Domain     string // such as example.org; not a public mail provider's
	RoleIDs    []int64
	MailboxIDs []int64 // empty: all mailboxes
}
