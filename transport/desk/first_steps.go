package desk

import (
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// firstSteps lists what a team needs to work, for those who can set it up; nil when all of it is done.
func (v *visit) firstSteps() ([]check, error) {
	if !v.may(identity.AccountsUpdate) || !v.may(identity.MailboxesView) || !v.may(identity.MailboxesConnection) {
		return nil, nil
	}
	boxes, err := v.readMailboxes()
	if err != nil {
		return nil, err
	}
	steps, err := v.mailSteps(boxes)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() (check, bool, error){v.domainStep, v.colleaguesStep, v.helpStep} {
		c, shown, err := step()
		if err != nil {
			return nil, err
		}
		if shown {
			steps = append(steps, c)
		}
	}
	if !slices.ContainsFunc(steps, func(c check) bool { return c.Class != "ok" }) {
		return nil, nil
	}
	return steps, nil
}

// step is a line of the list: done, or a link to where it is done.
func (v *visit) step(name, text string, done bool, link Link) check {
	if done {
		return good(name, text, "")
	}
	c := waits(name, text, "")
	c.Link = link
	return c
}

// mailSteps are the steps about mail in and out.
func (v *visit) mailSteps(boxes []helpdesk.Mailbox) ([]check, error) {
	w := v.words
	if len(boxes) == 0 {
		return []check{v.step(w.T("Incoming mail"), w.T("No mailboxes yet."), false, Link{Text: w.T("Connect"), URL: v.at("/setup/mailbox")})}, nil
	}
	in := v.step(w.T("Incoming mail"), boxes[0].Name, false, Link{Text: w.T("View"), URL: v.at("/settings/mailboxes")})
	sends := false
	for _, m := range boxes {
		sends = sends || !v.sendsNothing(m)
		state, err := v.liveState(m)
		if err != nil {
			return nil, err
		}
		if state.Class == "ok" {
			in = good(w.T("Incoming mail"), m.Name, "")
		} else if in.Class != "ok" {
			in.Text, in.Link.URL = m.Name+": "+state.Name, v.at("/settings/mailboxes/"+itoa(m.ID))
		}
	}
	out := v.step(w.T("Outgoing mail"), w.T("Replies are being sent."), true, Link{})
	if !sends {
		out = v.step(w.T("Outgoing mail"), w.T("No outgoing mail is set up. Replies stay on this server."), false,
			Link{Text: w.T("Set up outgoing mail"), URL: v.at("/settings/mailboxes/"+itoa(boxes[0].ID)) + "#sending"})
	}
	return []check{in, out}, nil
}

func (v *visit) domainStep() (check, bool, error) {
	if !v.may(identity.DomainsView) {
		return check{}, false, nil
	}
	page, err := v.Domains().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	signs := func(d sending.Domain) bool {
		return slices.ContainsFunc(d.Records, func(r sending.DNSRecord) bool { return r.Label == sending.LabelDKIM && r.Verified })
	}
	done := slices.ContainsFunc(page.Items, signs)
	return v.step(v.words.T("Sending domain"), v.words.T("Signed mail is less likely to be treated as spam."), done, Link{Text: v.words.T("Set up"), URL: v.at("/settings/domains")}), true, err
}

func (v *visit) colleaguesStep() (check, bool, error) {
	if !v.may(identity.MembershipsView) {
		return check{}, false, nil
	}
	page, err := v.Members().List(v.ctx(), storage.PageRequest{Limit: 2})
	return v.step(v.words.T("Colleagues"), v.words.T("Invite people to reply with you."), len(page.Items) > 1, Link{Text: v.words.T("Invite"), URL: v.at("/setup/colleagues")}), true, err
}

func (v *visit) helpStep() (check, bool, error) {
	if !v.seesHelp() {
		return check{}, false, nil
	}
	sites, err := v.sites()
	return v.step(v.words.T("Help centre"), v.words.T("Answers your customers can find on their own."), len(sites) > 0, Link{Text: v.words.T("Get started"), URL: v.at("/help")}), true, err
}

// forwardingState describes a mailbox to which mail is forwarded.
func (v *visit) forwardingState(m helpdesk.Mailbox) (check, error) {
	w := v.words
	last, err := v.InboundMails().List(v.ctx(), ledger.Filter{MailboxID: m.ID}, storage.PageRequest{Limit: 1})
	if err != nil || len(last.Items) > 0 {
		return good(w.T("Forwarding"), v.Mailboxes().InternalAddress(m), ""), err
	}
	return waits(w.T("Waiting for its first email"), w.T("Forward its mail to %s, then send it a test email.", v.Mailboxes().InternalAddress(m)), ""), nil
}

// skipMailbox goes on without the first mailbox. One that never worked receives forwarded mail from then on, so that nothing
// fails.
func (v *visit) skipMailbox(m helpdesk.Mailbox) error {
	if m.Inbound.Type != ledger.InboundForward {
		status, err := v.Mailboxes().FetchStatus(v.ctx(), m.ID)
		if err != nil {
			return err
		}
		if status.LastSuccessAt.IsZero() && !status.Connected {
			var in helpdesk.MailboxInput
			in.Inbound.SetNull()
			in.Outbound.SetNull()
			if _, err := v.Mailboxes().Update(v.ctx(), m.ID, in); err != nil {
				return err
			}
		}
	}
	return v.see(v.at("/setup/colleagues"))
}

// firstVisit leads a visitor who is not signed in to the set-up while nobody can sign in; else it returns err.
func (v *visit) firstVisit(err error) error {
	if v.h.cfg.Authenticate != nil || !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	ready, failed := v.service().SetUp(v.ctx())
	if failed != nil || ready {
		return err
	}
	return v.see(v.h.url("/setup"))
}
