package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// AddressProbe is the state of the probe by which [Mailboxes.Test] tests whether a mailbox receives mail to its tagged
// address. The zero value means that none was sent.
type AddressProbe struct {
	SentAt  time.Time // of the latest probe
	SeenAt  time.Time // arrival of the latest probe that arrived
	Refused bool      // the latest probe was returned, or could not be sent
	Note    string    // a server's response, at most 500 characters
}

const (
	// probePatience is how long a probe may take, allowing for greylisting and polling.
	probePatience = 15 * time.Minute
	// probePause is the minimum time between two probes of a mailbox if the first has ended.
	probePause = time.Minute
)

func (p AddressProbe) state(now time.Time) ledger.ProbeState {
	switch {
	case p.SentAt.IsZero():
		return ledger.ProbeNone
	case p.Refused:
		return ledger.ProbeRefused
	case !p.SeenAt.Before(p.SentAt):
		return ledger.ProbeArrived
	case now.Sub(p.SentAt) <= probePatience:
		return ledger.ProbePending
	}
	return ledger.ProbeMissing
}

// works reports whether tagged addresses are known to work: the latest probe arrived, or an earlier one did and the latest
// is still on its way.
func (p AddressProbe) works(now time.Time) bool {
	state := p.state(now)
	return state == ledger.ProbeArrived || state == ledger.ProbePending && !p.SeenAt.IsZero()
}

// TaggedAddress returns the result of a mailbox's latest probe. It needs mailboxes.connection.
func (d Mailboxes) TaggedAddress(ctx context.Context, mailboxID int64) (ledger.TaggedAddress, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return ledger.TaggedAddress{}, err
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil {
		return ledger.TaggedAddress{}, err
	}
	return d.svc.taggedAddress(m), nil
}

// TaggedAddress is [Mailboxes.TaggedAddress] for the server's operator.
func (in *Intake) TaggedAddress(ctx context.Context, accountID, mailboxID int64) (ledger.TaggedAddress, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return ledger.TaggedAddress{}, err
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil {
		return ledger.TaggedAddress{}, err
	}
	return in.svc.taggedAddress(m), nil
}

func (s *Service) taggedAddress(m Mailbox) ledger.TaggedAddress {
	now := s.now()
	out := ledger.TaggedAddress{State: m.Probe.state(now), SentAt: m.Probe.SentAt, SeenAt: m.Probe.SeenAt}
	if out.State != ledger.ProbeNone {
		out.Address = s.probeAddress(m)
	}
	said := ""
	if m.Probe.Note != "" {
		said = " A server on its way said: " + m.Probe.Note
	}
	plainly := " Answers ask for replies to the plain address, and replies are matched by the mails that they refer to."
	switch s.repliesTo(m) {
	case ReplySubaddress:
		plainly = " Yet reply_address is subaddress: replies and bounces may be lost. Set it to plain, or null."
	case ReplyIntake:
		plainly = " Answers ask for replies to an address of the intake, which this does not concern."
	}
	switch out.State {
	case ledger.ProbeNone:
		out.Text = s.whyNoProbe(m)
		if out.Text == "" {
			out.Text = "Whether mail to the address with a tag arrives was not tried yet: test the mailbox."
		}
	case ledger.ProbePending:
		out.Text = fmt.Sprintf("A mail to %s is on its way, to see whether addresses with a tag work.%s", out.Address, said)
	case ledger.ProbeArrived:
		out.Text = fmt.Sprintf("A mail to %s has arrived: addresses with a tag work.", out.Address)
	case ledger.ProbeRefused:
		out.Text = fmt.Sprintf("A mail to %s did not arrive: the mail server seems to know no addresses with a tag (recipient_delimiter of Postfix, subaddressing of others).%s%s",
			out.Address, said, plainly)
	case ledger.ProbeMissing:
		out.Text = fmt.Sprintf("A mail to %s has not arrived within %d minutes: the mail server seems to know no addresses with a tag, or puts them into a folder that is not fetched.%s%s",
			out.Address, int(probePatience.Minutes()), said, plainly)
	}
	return out
}

// whyNoProbe returns the reason why a mailbox cannot be probed, or need not be; "" if it can.
func (s *Service) whyNoProbe(m Mailbox) string {
	switch {
	case m.Inbound.Type == ledger.InboundForward:
		return "Mail of this mailbox is forwarded: answers ask for replies to its internal address."
	case m.Email == "":
		return "The mailbox has no address of its own that a tag could be put into."
	case s.probeAddress(m) == "":
		return "The mailbox's address is too long for a tag."
	case m.ReplyAddress == ReplyPlain, m.ReplyAddress == ReplyIntake:
		return fmt.Sprintf("reply_address is %s: no address with a tag is used.", m.ReplyAddress)
	}
	return ""
}

// probeToken returns the tag of a probe. Its seconds distinguish a mailbox's probes, see probePause.
func (s *Service) probeToken(accountID int64, m Mailbox) string {
	return s.sign(probeTag, accountID, m.ID, m.Probe.SentAt.Unix())
}

// probeAddress returns the address of a mailbox's probe; "" if it would be too long.
func (s *Service) probeAddress(m Mailbox) string {
	return tagged(m.Email, s.probeToken(m.AccountID, m))
}

// probeID returns the Message-ID of a probe.
func (s *Service) probeID(m Mailbox) string {
	_, domain, _ := plain.CutLast(m.Email, "@")
	return s.probeToken(m.AccountID, m) + "@" + domain
}

// probe sends a message to the tagged address of a mailbox whose connection works, unless one is on its way.
func (d *desk) probe(ctx context.Context, id int64) (ledger.TaggedAddress, error) {
	begin, err := d.guard.Write(identity.MailboxesConnection)
	if err != nil {
		return ledger.TaggedAddress{}, err
	}
	var out ledger.TaggedAddress
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.Mailboxes().Lock(ctx, id)
		if err != nil {
			return err
		}
		now := d.svc.now()
		wait := probePause
		if m.Probe.state(now) == ledger.ProbePending {
			wait = probePatience
		}
		if d.svc.whyNoProbe(m) == "" && (m.Probe.SentAt.IsZero() || now.Sub(m.Probe.SentAt) > wait) {
			m.Probe = AddressProbe{SentAt: now, SeenAt: m.Probe.SeenAt}
			if err := tx.Mailboxes().Update(ctx, &m); err != nil {
				return err
			}
			job := storage.Job{
				Kind: JobProbe, AccountID: d.scope.AccountID, Subject: m.ID, RunAt: now,
				UniqueKey: fmt.Sprintf("probe/%d/%d/%d", d.scope.AccountID, m.ID, now.Unix()),
			}
			if err := tx.Enqueue(ctx, job); err != nil {
				return err
			}
			if err := d.emit(ctx, tx, "mailbox.updated", m.ID, m.ID); err != nil {
				return err
			}
		}
		out = d.svc.taggedAddress(m)
		return nil
	})
	return out, err
}

// probeMail returns the probe to send for a mailbox, if one is requested and has not ended. Other readers of the mailbox see
// it, too.
func (s *Service) probeMail(ctx context.Context, r Reader, mailboxID int64) (sending.SystemMail, error) {
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil {
		return sending.SystemMail{}, err
	}
	if m.Probe.state(s.now()) != ledger.ProbePending || s.whyNoProbe(m) != "" {
		return sending.SystemMail{}, fault.Missing("probe", mailboxID)
	}
	to := s.probeAddress(m)
	return sending.SystemMail{
		MessageID: s.probeID(m), Date: m.Probe.SentAt, From: mailaddr.Address{Name: fromName(m, ""), Email: m.Email}, To: mailaddr.Address{Email: to},
		Subject: "Test of addresses with a tag",
		Text: paragraphs(
			"The help desk sends this mail to",
			to,
			"to find out whether mail to addresses with a tag reaches this mailbox. It needs no answer and may be deleted.",
		),
	}, nil
}

// reportProbe records that a probe was deferred or failed. One that ended in the meantime is unchanged.
func (s *Service) reportProbe(ctx context.Context, tx Tx, mailboxID int64, sent sending.SystemMail, out Outcome) error {
	m, err := tx.Mailboxes().Lock(ctx, mailboxID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || s.probeID(m) != sent.MessageID || !m.Probe.end(out, s.now()) {
		return err
	}
	return s.saveProbe(ctx, tx, m)
}

// end records that a pending probe did not arrive, or not yet.
func (p *AddressProbe) end(out Outcome, now time.Time) bool {
	if p.state(now) != ledger.ProbePending || out.State == sending.Sent {
		return false
	}
	p.Refused = out.State == sending.Failed || out.State == sending.Bounced
	p.Note = plain.Cut(plain.Line(strings.TrimSpace(out.EnhancedCode+" "+out.Response)), 500)
	return true
}

func (s *Service) saveProbe(ctx context.Context, tx Tx, m Mailbox) error {
	if err := tx.Mailboxes().Update(ctx, &m); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{Type: "mailbox.updated", Subject: m.ID, MailboxID: m.ID, Data: eventData(m.ID), Time: s.now()})
}

// probeName is the content of a probe's tag.
type probeName struct{ account, mailbox, sent int64 }

// probe parses a probe's tag, of any account.
func (s *Service) probe(detail string) (probeName, bool) {
	n, ok := s.signed(probeTag, detail, 3)
	if !ok {
		return probeName{}, false
	}
	return probeName{account: n[0], mailbox: n[1], sent: n[2]}, true
}

// probed handles a message about one of our probes: the probe itself, a report on it, or an automatic reply to it. None of
// them is filed.
func (f *filing) probed(ctx context.Context, tx Tx, row *ledger.Mail) (bool, error) {
	if name, ok := f.isProbe(); ok {
		err := f.aboutProbe(ctx, tx, name, func(m *Mailbox) bool {
			if m.ID != row.MailboxID || !f.mail.Relayed {
				return false // delivered elsewhere, or a copy kept by its sender
			}
			m.Probe = AddressProbe{SentAt: m.Probe.SentAt, SeenAt: f.now}
			return true
		})
		if err != nil {
			return false, err
		}
		return true, f.drop(ctx, tx, row, ledger.Ignored, "it is our own test of addresses with a tag")
	}
	if name, out, ok := f.reportsProbe(); ok {
		err := f.aboutProbe(ctx, tx, name, func(m *Mailbox) bool { return m.Probe.end(out, f.now) })
		if err != nil {
			return false, err
		}
		return true, f.drop(ctx, tx, row, ledger.Ignored, "it reports on our own test of addresses with a tag")
	}
	if f.mail.AutoSubmitted && slices.ContainsFunc(f.candidates(), func(id string) bool { _, ok := f.svc.probe(idLocal(id)); return ok }) {
		return true, f.drop(ctx, tx, row, ledger.Ignored, "it is an automatic answer to our own test of addresses with a tag")
	}
	return false, nil
}

// isProbe reports whether the message is a probe: it is addressed to its tagged address and comes from the same address
// without the tag. Relays may have changed its Message-ID.
func (f *filing) isProbe() (probeName, bool) {
	from := mailaddr.Key(f.mail.FirstAuthor().Email)
	for _, address := range slices.Concat(emails(f.mail.DeliveredTo), emails(f.mail.To), emails(f.mail.Cc)) {
		local, domain, _ := plain.CutLast(mailaddr.Key(address), "@")
		base, detail := splitDetail(local)
		if name, ok := f.svc.probe(detail); ok && base+"@"+domain == from {
			return name, true
		}
	}
	return probeName{}, false
}

// reportsProbe reports whether the message is a report on a probe, and returns the result.
func (f *filing) reportsProbe() (name probeName, out Outcome, ok bool) {
	if f.mail.Report == nil {
		return name, out, false
	}
	for _, id := range cleanIDs(f.mail.Report.MessageIDs) {
		if name, ok = f.svc.probe(idLocal(id)); ok {
			break
		}
	}
	out.State = sending.Bounced
	for _, r := range f.mail.Report.Recipients {
		for _, address := range reportedKeys(r) {
			if one, is := f.svc.probe(detailOf(address)); is && (!ok || one == name) {
				name, ok = one, true
			}
		}
		out.State, out.EnhancedCode, out.Response = r.State, r.EnhancedCode, r.Response
	}
	return name, out, ok
}

// aboutProbe changes a probe's state if it is the latest one of its mailbox.
func (f *filing) aboutProbe(ctx context.Context, tx Tx, name probeName, change func(*Mailbox) bool) error {
	if name.account != f.accountID {
		return nil
	}
	m, err := tx.Mailboxes().Lock(ctx, name.mailbox)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil || m.Probe.SentAt.Unix() != name.sent || !change(&m) {
		return err
	}
	return f.svc.saveProbe(ctx, tx, m)
}

// idLocal returns the part of a Message-ID before its domain.
func idLocal(id string) string {
	local, _, _ := strings.Cut(id, "@")
	return local
}
