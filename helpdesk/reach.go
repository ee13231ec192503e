package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage/fault"
)

// A member limited to some mailboxes creates nothing that reaches further: no key, role or webhook that shows what the
// member may not see, and no change to what other mailboxes use. The methods below enforce this; a test of all methods
// ensures that none is forgotten.
//
// What a member created is limited by the member's current permissions, see stillMay: after removal, limitation or loss of a
// permission, nothing that reaches further stays in effect.

// limited returns the fault for reaching further than the member does.
func limited(message string) error {
	return &fault.Error{Kind: fault.Forbidden, Code: "mailbox_limit", Message: message}
}

// reachesAll returns a fault for members limited to some mailboxes, for operations on the whole account.
func (d *desk) reachesAll() error {
	if d.scope.Mailboxes == nil {
		return nil
	}
	return limited("You are limited to some mailboxes, and this concerns all of them.")
}

// reachesWhole returns a fault for members limited to some mailboxes if a customer has written to others, because the portal
// shows all of a customer's conversations to the owner of any address.
func (d *desk) reachesWhole(ctx context.Context, r Reader, customers ...int64) error {
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

// stillMay reports whether the creator of a portal key, a webhook or an invitation could create it now. 0 stands for no
// creator, as for rows from an embedding application.
func (s *Service) stillMay(ctx context.Context, accountID, makerID int64, may func(*desk) error) (bool, error) {
	if makerID == 0 {
		return true, nil
	}
	maker, err := s.Desk(ctx, s.As(makerID), accountID)
	if err == nil {
		err = may(&maker.desk)
	}
	if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// lasting returns a fault for creating something that outlives the caller's token.
func (d *desk) lasting(what string) error {
	if d.caller.session || d.caller.expires.IsZero() {
		return nil
	}
	return &fault.Error{Kind: fault.Forbidden, Code: "token_expires", Message: "Your access token expires, and " + what + " would outlive it. Use a token that does not expire."}
}

// sameEmails reports whether two lists contain the same addresses.
func sameEmails(a, b []CustomerEmail) bool {
	return slices.EqualFunc(a, b, func(a, b CustomerEmail) bool { return a.ID == b.ID && a.Key == b.Key })
}
