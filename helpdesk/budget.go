package helpdesk

import (
	"context"
	"time"
)

// budgetWindow is the time that Config.MaxMailPerAddress is about.
const budgetWindow = time.Hour

// overBudget is the response of deliveries that wait for the budget of an address.
const overBudget = "Not sent yet: this address got too many mails within the last hour."

// sentTooMuch reports whether an address got all that it may get within an hour.
func (s *Service) sentTooMuch(ctx context.Context, r Reader, key string) (bool, error) {
	most := s.cfg.MaxMailPerAddress
	if most < 0 {
		return false, nil
	}
	n, err := r.SentTo(ctx, key, s.now().Add(-budgetWindow), most)
	return n >= most, err
}

// receivedTooMuch reports whether a customer's address sent all that it may send
// within an hour.
func (s *Service) receivedTooMuch(ctx context.Context, r Reader, emailID int64) (bool, error) {
	most := s.cfg.MaxMailPerAddress
	if most < 0 || emailID == 0 {
		return false, nil
	}
	n, err := r.Received(ctx, emailID, s.now().Add(-budgetWindow), most)
	return n >= most, err
}

// tooManyMails is the reason in the ledger of mails over the budget of their sender.
const tooManyMails = "its sender sent too many mails within an hour: it reopens nothing, and a new conversation begins closed"

// overBudget reports whether a mail's sender sent too much just now. An old mail, fetched
// with the history of a mailbox, is none of a loop. Of what was sent to us just now, the
// Date says nothing: a program in a loop may write any.
func (f *filing) overBudget(ctx context.Context, r Reader, row InboundMail, emailID int64) (bool, error) {
	if row.ofAnyAge() && !f.mail.Date.IsZero() && f.now.Sub(f.mail.Date) > 24*time.Hour {
		return false, nil
	}
	return f.svc.receivedTooMuch(ctx, r, emailID)
}
