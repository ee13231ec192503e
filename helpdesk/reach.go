package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage/fault"
)

// Whoever is limited to mailboxes makes nothing that reaches further: no key, role or
// webhook that shows what the member may not see, and no change of what other
// mailboxes work with. The limit is a rule of the methods below; that no method is
// forgotten, a test of all of them makes sure.
//
// What was made before is worth what its maker may do now, see stillMay: whoever is
// removed from an account, limited, or loses a permission leaves nothing behind that
// reaches further.

// limited is the fault of what reaches further than the member does.
func limited(message string) error {
	return &fault.Error{Kind: fault.Forbidden, Code: "mailbox_limit", Message: message}
}

// reachesAll refuses members of some mailboxes what concerns the whole account.
func (d *Desk) reachesAll() error {
	if d.scope.Mailboxes == nil {
		return nil
	}
	return limited("You are limited to some mailboxes, and this concerns all of them.")
}

// reachesWhole refuses members of some mailboxes a customer who has written to others.
// What belongs to a customer, the portal shows to whoever has one of the addresses.
func (d *Desk) reachesWhole(ctx context.Context, r Reader, customers ...int64) error {
	if d.scope.Mailboxes == nil {
		return nil
	}
	for _, id := range customers {
		beyond, err := r.CustomerBeyond(ctx, id)
		if err != nil {
			return err
		}
		if beyond {
			return limited("The customer has conversations in mailboxes that you do not reach.")
		}
	}
	return nil
}

// stillMay reports whether the maker of something may make it now: a portal key, a
// webhook, an invitation. 0 is nobody, as of what an embedding application stores.
func (s *Service) stillMay(ctx context.Context, accountID, makerID int64, may func(*Desk) error) (bool, error) {
	if makerID == 0 {
		return true, nil
	}
	maker, err := s.Desk(ctx, s.As(makerID), accountID)
	if err == nil {
		err = may(maker)
	}
	if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// lasting refuses to make what outlives the token that the caller came with.
func (d *Desk) lasting(what string) error {
	if d.caller.session || d.caller.expires.IsZero() {
		return nil
	}
	return &fault.Error{Kind: fault.Forbidden, Code: "token_expires", Message: "Your access token expires, and " + what + " would outlive it: use one that does not."}
}

// sameEmails reports whether two lists hold the same addresses.
func sameEmails(a, b []CustomerEmail) bool {
	return slices.EqualFunc(a, b, func(a, b CustomerEmail) bool { return a.ID == b.ID && a.Key == b.Key })
}
