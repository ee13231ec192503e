package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/storage/fault"
)

// Results of SPF, DKIM and DMARC, in the words of RFC 8601 section 2.7; there are
// others. AuthUnknown is ours: the mail came through a relay that alone knew who
// delivered it.
const (
	AuthPass      = "pass"
	AuthFail      = "fail"
	AuthNone      = "none"
	AuthTempError = "temperror"
	AuthPermError = "permerror"
	AuthUnknown   = "unknown"
)

// Sources of a MailAuthentication.
const (
	AuthSourceIntake = "intake" // evaluated here while the mail was received
	AuthSourceHeader = "header" // read from what a trusted server wrote into the mail
)

// AuthCheck is the result of SPF, or of one DKIM signature.
type AuthCheck struct {
	Result string `json:"result"`
	Domain string `json:"domain,omitempty"` // that it speaks for
}

// AuthPolicy is the result of DMARC.
type AuthPolicy struct {
	Result string `json:"result"`
	Domain string `json:"domain,omitempty"` // of From
	// Policy is what the domain demands for mail that fails: "none", "quarantine" or
	// "reject"; "" when it is not known.
	Policy string `json:"policy,omitempty"`
}

// MailAuthentication says whether a mail comes from the domain that its From names.
// The zero value says that nothing is known.
type MailAuthentication struct {
	Source string      `json:"source,omitempty"` // "intake" or "header"; "" when nothing is known
	Server string      `json:"server,omitempty"` // that wrote the header
	SPF    AuthCheck   `json:"spf,omitzero"`
	DKIM   []AuthCheck `json:"dkim,omitempty"` // of each signature
	DMARC  AuthPolicy  `json:"dmarc,omitzero"`
	// FromAligned: the domain of From stands behind the mail, by SPF or by a signature
	// of it or of the same organization. It is so only of a mail whose one From field has
	// one address, which is the sender's that is shown.
	FromAligned bool `json:"from_aligned,omitempty"`
	// FromGuessed: the mail does not say beyond doubt who wrote it.
	FromGuessed bool `json:"from_guessed,omitempty"`
	// Relayed: our intake had the mail from a relay of ours, so that what a trusted
	// server wrote into its header counts.
	Relayed bool `json:"relayed,omitempty"`
}

// Refused reports whether the domain of From disowns the mail: DMARC fails, and the
// domain does not ask for such mail to be taken nevertheless.
func (a MailAuthentication) Refused() bool {
	return a.DMARC.Result == AuthFail && a.DMARC.Policy != "none"
}

// unattributed reports whether the mail can be read as from two senders: then nothing
// that a server found out is known to be about the one that is shown.
func (a MailAuthentication) unattributed() bool {
	return a.FromGuessed || a.Source != "" && a.DMARC.Result == AuthPermError && a.DMARC.Domain == ""
}

// authentication is what is known about where the mail comes from: what was found
// out while it was received, or what a trusted server wrote into it. That counts
// only when the mail came from where strangers do not reach: out of a mailbox, or
// through a relay of ours. At our own door anybody could write it.
func (f *filing) authentication(row InboundMail) MailAuthentication {
	a, header := row.Authentication, f.mail.Authentication
	direct := row.Source == sourceSMTP && !a.Relayed
	if !direct && header.Source != "" && a.DMARC.Result != AuthPass {
		header.Relayed = a.Relayed
		a = header
	}
	// What holds for another domain than the one that is shown says nothing.
	_, domain, _ := cutLast(EmailKey(f.mail.From.Email), "@")
	if a.Source != "" && (a.DMARC.Domain != domain || f.mail.Guessed) {
		a.DMARC, a.FromAligned = AuthPolicy{Result: AuthPermError}, false
	}
	a.FromGuessed = f.mail.Guessed
	return a
}

// Sources of mails that our intake received.
const (
	sourceSMTP = "smtp"
	sourceLMTP = "lmtp"
)

// findMember looks for a user with the sender's address. It is asked before the
// transaction, and whether the user is a member of the account inside of it.
func (in *Intake) findMember(ctx context.Context, email string) (int64, error) {
	dir, err := in.system.Read(receive)
	if err != nil {
		return 0, err
	}
	user, err := dir.UserByEmail(ctx, EmailKey(email))
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	return user.ID, err
}

// suspicion says why a mail must not join a conversation by what it claims, "" if it
// may. A mail never becomes a user's interaction, whoever it is from; it must not
// even stand among the messages of a conversation as a member's unless the domain of
// From stands behind it, not by a reply token either: who got an answer has one. Nor
// must one that the domain of its sender disowns, or that does not say beyond doubt who
// its sender is, unless a token shows that its sender got our mail.
func (f *filing) suspicion(ctx context.Context, tx Tx) (byToken, byReferences string, err error) {
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
	case f.auth.unattributed():
		return "", "it is not certain who wrote the mail: it has to name one address, in one From field", nil
	case f.auth.Refused():
		return "", "the domain of the sender's address disowns the mail (DMARC)", nil
	}
	return "", "", nil
}

// unproven are the users whose addresses the mail has where it has not proven to be
// theirs: nothing ever proves that of another one than From.
func (f *filing) unproven() []int64 {
	var users []int64
	if user := f.users[EmailKey(f.mail.From.Email)]; user != 0 && !f.auth.FromAligned {
		users = append(users, user)
	}
	if user := f.users[EmailKey(f.customer.Email)]; user != 0 && EmailKey(f.customer.Email) != EmailKey(f.mail.From.Email) {
		users = append(users, user)
	}
	return users
}
