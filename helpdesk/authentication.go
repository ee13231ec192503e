package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// unattributed reports whether different readers could see different senders. A server's results may then not apply to the
// displayed one.
func unattributed(a ledger.Authentication) bool {
	return a.FromGuessed || a.Source != "" && a.DMARC.Result == ledger.AuthPermError && a.DMARC.Domain == ""
}

// authentication returns the results of the checks during receipt, or those that a trusted server added to the header. The
// latter count only if strangers could not deliver the message directly: if it was fetched from a mailbox or came through
// one of our relays. At our own intake, anybody could forge them.
func (f *filing) authentication(row ledger.Mail) ledger.Authentication {
	a, header := row.Authentication, f.mail.Authentication
	direct := row.Source == sourceSMTP && !a.Relayed
	if !direct && header.Source != "" && a.DMARC.Result != ledger.AuthPass {
		header.Relayed = a.Relayed
		a = header
	}
	// Results for another domain than the displayed one are worthless.
	_, domain, _ := plain.CutLast(mailaddr.Key(f.mail.FirstAuthor().Email), "@")
	if a.Source != "" && (a.DMARC.Domain != domain || f.mail.Guessed) {
		a.DMARC, a.FromAligned = ledger.AuthPolicy{Result: ledger.AuthPermError}, false
	}
	a.FromGuessed = f.mail.Guessed
	return a
}

// Sources of messages that our intake received.
const (
	sourceSMTP = "smtp"
	sourceLMTP = "lmtp"
)

// findMember finds the user with the sender's address. It runs before the transaction, which then checks that the user is a
// member of the account.
func (in *Intake) findMember(ctx context.Context, email string) (int64, error) {
	dir, err := in.system.Read(receive)
	if err != nil {
		return 0, err
	}
	user, err := dir.UserByEmail(ctx, mailaddr.Key(email))
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	return user.ID, err
}

// suspicion returns the reason why a message must not join a conversation by its token or references, "" if it may. A
// message never becomes a user interaction. It must not even appear as a member's message unless the domain of From
// authenticates it; a reply token is no proof, since every recipient of a reply has one. A message that its sender's domain
// disowns, or whose sender is ambiguous, may join only with a token, which shows that its sender received our mail.
func (f *filing) suspicion(ctx context.Context, tx Tx) (byToken, byReferences string, err error) {
	if f.claimsUs {
		const why = "the sender's address is our own, and nothing shows that we sent the mail"
		return why, why, nil
	}
	if users := f.unproven(); len(users) > 0 {
		members, err := tx.UsersByID(ctx, users)
		if err != nil {
			return "", "", err
		}
		if len(members) > 0 {
			const why = "the sender's address is a member's, and nothing shows that the mail is the member's"
			return why, why, nil
		}
	}
	switch {
	case unattributed(f.auth):
		return "", "it is not certain who wrote the mail: it has to name one address, in one From field", nil
	case f.auth.Refused():
		return "", "the domain of the sender's address disowns the mail (DMARC)", nil
	}
	return "", "", nil
}

// unproven returns the users whose addresses the message contains without proof that they sent it. Only From can be proven.
func (f *filing) unproven() []int64 {
	var users []int64
	if user := f.users[mailaddr.Key(f.mail.FirstAuthor().Email)]; user != 0 && !f.auth.FromAligned {
		users = append(users, user)
	}
	if user := f.users[mailaddr.Key(f.customer.Email)]; user != 0 && mailaddr.Key(f.customer.Email) != mailaddr.Key(f.mail.FirstAuthor().Email) {
		users = append(users, user)
	}
	return users
}

// sentByUs reports whether a message from an address of our own really is: its domain authenticates it, or it is a copy that
// a mail program kept on the server that it was fetched from. Such a copy lies in a folder for sent mail, or never passed
// through a server. Archives are trusted as a whole.
func (f *filing) sentByUs(row ledger.Mail) bool {
	switch {
	case f.mail.Archived:
		return true
	case f.auth.Refused() || f.mail.Guessed:
		return false
	case f.auth.FromAligned:
		return true
	}
	return wasFetched(row) && (f.mail.KeptAsSent || !f.mail.Relayed && f.auth.Source == "")
}
