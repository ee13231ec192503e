package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// budgetWindow is the period of Config.MaxMailPerAddress.
const budgetWindow = time.Hour

// overBudget is the response of deliveries delayed by the budget of an address.
const overBudget = "Not sent yet: this address got too many mails within the last hour."

// spent counts the mail sent to the addresses of deliveries within the last hour; nil if nothing is limited.
func (s *Service) spent(ctx context.Context, r Reader, due []sending.Delivery) (map[string]int, error) {
	if s.cfg.MaxMailPerAddress < 0 {
		return nil, nil //nolint:nilnil // nothing is limited
	}
	return r.SentTo(ctx, addressesOf(due), s.now().Add(-budgetWindow))
}

// over reports whether an address has reached the hourly limit.
func (s *Service) over(spent map[string]int, key string) bool {
	most := s.cfg.MaxMailPerAddress
	return most >= 0 && spent[key] >= most
}

// addressesOf returns the different addresses of deliveries.
func addressesOf(list []sending.Delivery) []string {
	keys := make([]string, len(list))
	for n, d := range list {
		keys[n] = d.AddressKey
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// receivedTooMuch reports whether the mail from a customer's address has reached the hourly limit.
func (s *Service) receivedTooMuch(ctx context.Context, r Reader, emailID int64) (bool, error) {
	most := s.cfg.MaxMailPerAddress
	if most < 0 || emailID == 0 {
		return false, nil
	}
	n, err := r.Received(ctx, emailID, s.now().Add(-budgetWindow), most)
	return n >= most, err
}

// tooManyMails is the ledger reason of messages over their sender's budget.
const tooManyMails = "its sender sent too many mails within an hour: it reopens nothing, and a new conversation begins closed"

// overBudget reports whether a message's sender just exceeded the budget. An old message, fetched with a mailbox's history,
// is not part of a loop. For a message just sent to us, the Date is no evidence of age, since a looping program may write
// any.
func (f *filing) overBudget(ctx context.Context, r Reader, row ledger.Mail, emailID int64) (bool, error) {
	if ofAnyAge(row) && !f.mail.Date.IsZero() && f.now.Sub(f.mail.Date) > 24*time.Hour {
		return false, nil
	}
	return f.svc.receivedTooMuch(ctx, r, emailID)
}
