package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// bounce handles a message as a delivery report on one of our replies, and reports whether it needs no further processing. A
// report that identifies no such reply, or none of its recipients, is handled as an ordinary message.
//
// A failure marks the delivery as bounced, which reopens a closed conversation. A status that means the address does not
// exist also suppresses the address. A delay only updates the delivery's response.
//
// A report parsed from text may be misread, and a complaint has no delivery state. Both are also filed in the reply's
// conversation, for people to read.
func (f *filing) bounce(ctx context.Context, tx Tx, row *ledger.Mail, mailbox Mailbox) (bool, error) {
	report := f.mail.Report
	f.about = returned{}
	if report == nil {
		return false, nil
	}
	about, err := f.reported(ctx, tx, mailbox)
	if err != nil || about.interactionID == 0 {
		return false, err
	}
	c, i, err := posted(ctx, tx, about.interactionID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if report.Complaint {
		f.mail.AutoSubmitted, f.about = true, about
		return false, nil
	}
	deliveries, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return false, err
	}
	known, changed := f.believe(deliveries, about)
	if !known {
		if slices.ContainsFunc(report.Recipients, func(r sending.ReportedRecipient) bool { return r.Address == "" }) {
			f.mail.AutoSubmitted, f.about = true, about // people can tell whom it means
		}
		return false, nil
	}
	if err := tx.Deliveries().Update(ctx, storage.Pointers(changed)...); err != nil {
		return false, err
	}
	ended := slices.DeleteFunc(slices.Clone(changed), func(d sending.Delivery) bool { return d.State == sending.Sent })
	if err := (&Outgoing{svc: f.svc}).conclude(ctx, tx, f.accountID, c, i, ended, f.now); err != nil {
		return false, err
	}
	bounced := slices.DeleteFunc(ended, func(d sending.Delivery) bool { return d.State != sending.Bounced })
	// With several recipients, any one could forge a report about another, unless the report came to an address that only one
	// recipient's servers have seen.
	if len(deliveries) == 1 || about.deliveryID != 0 {
		if err := f.suppress(ctx, tx, i, bounced); err != nil {
			return false, err
		}
	}
	if report.InWords {
		f.mail.AutoSubmitted, f.about = true, about
		return false, nil
	}
	return true, f.fileReport(ctx, tx, row, i, len(bounced))
}

// reported finds the reply that a report is about, and the recipient if an address identifies it: by the tag of the envelope
// sender, by Message-ID, or by the conversation's reply token and the reported recipients. The zero value means none.
func (f *filing) reported(ctx context.Context, tx Tx, mailbox Mailbox) (returned, error) {
	for _, address := range f.addressed() {
		if one, ok := f.svc.tokenDelivery(f.accountID, address); ok {
			return one, nil
		}
	}
	ids := cleanIDs(f.mail.Report.MessageIDs)
	if len(ids) > 0 {
		found, err := messages(ctx, tx, mailbox.ID, ids)
		if err != nil {
			return returned{}, err
		}
		for _, id := range ids {
			for _, m := range found {
				if m.MessageID == id && m.Type == TypeUser {
					return returned{interactionID: m.InteractionID}, nil
				}
			}
		}
	}
	return f.reportedIn(ctx, tx)
}

// addressed returns the addresses that a report was sent to, and the senders of the reported message.
func (f *filing) addressed() []string {
	all := slices.Concat(emails(f.mail.DeliveredTo), emails(f.mail.To), emails(f.mail.Cc))
	if f.mail.Report != nil {
		senders := f.mail.Report.Senders
		all = append(all, senders[:min(len(senders), maxThread)]...)
	}
	return all
}

// reportedIn finds the latest reply to a reported recipient in the conversations that reply tokens name, among their last
// hundred interactions.
func (f *filing) reportedIn(ctx context.Context, tx Tx) (returned, error) {
	var keys []string
	for _, r := range f.mail.Report.Recipients {
		keys = append(keys, reportedKeys(r)...)
	}
	for _, address := range f.addressed() {
		id, genuine := f.svc.tokenConversation(f.accountID, address)
		if !genuine || len(keys) == 0 {
			continue
		}
		last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: id, Brief: true}, storage.Seek{Desc: true, Limit: 100})
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return returned{}, err
		}
		var answers []int64 // latest first
		for _, i := range last {
			if i.Type == TypeUser && i.Status == StatusPosted {
				answers = append(answers, i.ID)
			}
		}
		deliveries, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: answers}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return returned{}, err
		}
		for _, answer := range answers {
			for _, d := range deliveries {
				if d.InteractionID == answer && d.State.Accepted() && slices.Contains(keys, d.AddressKey) {
					return returned{interactionID: answer}, nil
				}
			}
		}
	}
	return returned{}, nil
}

// keys returns the keys of the recipient's reported addresses.
func reportedKeys(r sending.ReportedRecipient) []string {
	var keys []string
	for _, name := range []string{r.Address, r.Original} {
		if key := mailaddr.Key(plain.Line(name)); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// believe applies a report to the deliveries of its reply. known reports whether it names one of their recipients.
func (f *filing) believe(all []sending.Delivery, about returned) (known bool, changed []sending.Delivery) {
	reports := f.mail.Report.Recipients
	if about.deliveryID != 0 {
		at := slices.IndexFunc(all, func(d sending.Delivery) bool { return d.ID == about.deliveryID })
		if at < 0 {
			return false, nil
		}
		all, reports = all[at:at+1], []sending.ReportedRecipient{f.returned(all[at], reports)}
	}
	for _, r := range reports {
		at := slices.IndexFunc(all, func(d sending.Delivery) bool { return slices.Contains(reportedKeys(r), d.AddressKey) })
		if at < 0 && len(all) == 1 && len(reports) == 1 && (about.deliveryID != 0 || !f.mail.Report.InWords) {
			at = 0 // the only recipient matches any address, since addresses are rewritten in transit
		}
		if at < 0 {
			continue
		}
		known = true
		d := &all[at]
		if !d.State.Accepted() || d.State == sending.Delivered && r.State != sending.Bounced {
			continue // only sent messages can bounce, and only once; what was delivered is no longer on its way
		}
		if r.State == sending.Bounced || r.State == sending.Delivered {
			d.State = r.State
		}
		d.Code, d.EnhancedCode, d.Response = 0, plain.Cut(plain.Line(r.EnhancedCode), 20), plain.Cut(plain.Line(r.Response), 500)
		if r.State == sending.Deferred {
			d.Response = plain.Cut("Delayed on its way: "+d.Response, 500)
		}
		d.UpdatedAt = f.now
		changed = append(changed, *d)
	}
	return known, changed
}

// returned returns the result of a report that was sent to the address of one delivery; it is about that recipient, whatever
// address it names. A report on one of several others, such as the members of a list, has no consequence for the address
// itself.
func (f *filing) returned(d sending.Delivery, reports []sending.ReportedRecipient) sending.ReportedRecipient {
	for _, r := range reports {
		if slices.Contains(reportedKeys(r), d.AddressKey) {
			return r
		}
	}
	if len(reports) == 1 {
		return reports[0]
	}
	for _, r := range reports {
		if r.State == sending.Bounced {
			r.Response, r.EnhancedCode = fmt.Sprintf("For %s: %s %s", cmp.Or(r.Address, "a recipient"), r.EnhancedCode, r.Response), undefinedStatus
			return r
		}
	}
	if len(reports) > 0 {
		return reports[0]
	}
	return sending.ReportedRecipient{State: sending.Bounced, Response: f.mail.Subject}
}

// undefinedStatus (RFC 3463 section 3.1) is the status of a permanent failure without a reason.
const undefinedStatus = "5.0.0"

// noSuchAddress are the codes (RFC 3463, RFC 5248) and, without a code, the phrases that mean that no mail will ever reach
// the address. A full mailbox or rejected content are not among them.
var (
	noSuchAddress = []string{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"}
	noSuchWords   = regexp.MustCompile(`(?i)user.{0,3}unknown|unknown.{0,3}(user|recipient|address)|no such (user|recipient|address|mailbox)|does ?n[o']t exist|(recipient|user|address).{0,12}not (found|recognized)|invalid (recipient|mailbox)`)
)

// suppress adds the addresses that no longer exist to the suppressions.
func (f *filing) suppress(ctx context.Context, tx Tx, i Interaction, bounced []sending.Delivery) error {
	for _, d := range bounced {
		gone := slices.Contains(noSuchAddress, d.EnhancedCode) || d.EnhancedCode == "" && noSuchWords.MatchString(d.Response)
		if !gone {
			continue
		}
		there, err := suppressionsOf(ctx, suppressionNoun().Rows(tx), []string{d.AddressKey})
		if err != nil {
			return err
		}
		if len(there) > 0 {
			continue
		}
		s := sending.Suppression{
			Email: d.Address, Key: d.AddressKey, Reason: sending.SuppressedBounce, InteractionID: i.ID, CreatedAt: f.now,
			Detail: plain.Cut(strings.TrimSpace(d.EnhancedCode+" "+d.Response), 500),
		}
		if err := suppressionNoun().Rows(tx).Insert(ctx, &s); err != nil {
			return err
		}
		event := storage.Event{Type: "suppression.created", Subject: s.ID, Data: eventData(s.ID), Time: f.now}
		if err := tx.Emit(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// reportThread returns the conversation of the reply that a message reports on.
func (f *filing) reportThread(ctx context.Context, tx Tx) (match, error) {
	m := match{why: Threading{Rule: RuleReport}}
	i, err := tx.Interactions().Get(ctx, f.about.interactionID)
	if err != nil {
		return m, err
	}
	m.why.Matched = i.MessageID
	m.conversation, err = tx.Conversations().Lock(ctx, i.ConversationID)
	return m, err
}

// fileReport finishes a report: its ledger row refers to the reply, and it does not become a customer's message.
func (f *filing) fileReport(ctx context.Context, tx Tx, row *ledger.Mail, i Interaction, bounced int) error {
	keys := make([]string, len(f.files))
	for n, a := range f.files {
		keys[n] = a.BlobKey
	}
	if err := tx.Enqueue(ctx, purgeKeys(f.accountID, keys)...); err != nil {
		return err
	}
	row.State, row.UpdatedAt, row.Reason = ledger.Filed, f.now, fmt.Sprintf("it reports on a delivery of interaction %d: %d came back", i.ID, bounced)
	row.Identity, row.ConversationID, row.InteractionID = f.mail.Identity, i.ConversationID, i.ID
	return tx.UpdateInbound(ctx, row)
}
