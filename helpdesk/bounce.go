package helpdesk

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// DeliveryReport is what a mail says about the delivery of one of ours.
type DeliveryReport struct {
	MessageIDs []string // of the mail it may be about, the likeliest first
	Recipients []ReportedRecipient
}

// ReportedRecipient is what a report says about one recipient.
type ReportedRecipient struct {
	Address      string
	Original     string        // before it was rewritten on the way; "": not told
	State        DeliveryState // bounced; deferred: still on its way; sent: it arrived
	EnhancedCode string        // RFC 3463; "": not told
	Response     string
}

// bounce takes a mail as a report about an answer that was sent from the mailbox,
// and returns whether it is one. Nothing of a report that names no such answer, or
// none of its recipients, is believed: it is a mail as others.
//
// Who comes back is bounced, which reopens a closed conversation as other failures
// do, and what says that there is no such address suppresses it. A delay only shows
// as the response of the delivery.
func (f *filing) bounce(ctx context.Context, tx Tx, row *InboundMail, mailbox Mailbox) (bool, error) {
	report := f.mail.Report
	if report == nil {
		return false, nil
	}
	i, err := f.reported(ctx, tx, mailbox, cleanIDs(report.MessageIDs))
	if err != nil || i.ID == 0 {
		return false, err
	}
	c, i, err := posted(ctx, tx, i.ID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	deliveries, err := tx.Deliveries(ctx, []int64{i.ID})
	if err != nil {
		return false, err
	}
	known, changed := f.believe(deliveries, report.Recipients)
	if !known {
		return false, nil
	}
	if err := tx.UpdateDeliveries(ctx, changed); err != nil {
		return false, err
	}
	bounced := slices.DeleteFunc(slices.Clone(changed), func(d Delivery) bool { return d.State != DeliveryBounced })
	if err := (&Outgoing{svc: f.svc}).conclude(ctx, tx, c, i, bounced, f.now); err != nil {
		return false, err
	}
	if len(deliveries) == 1 { // of several recipients each could have made up that another one is gone
		if err := f.suppress(ctx, tx, i, bounced); err != nil {
			return false, err
		}
	}
	return true, f.fileReport(ctx, tx, row, i, len(bounced))
}

// reported finds the answer that a report is about.
func (f *filing) reported(ctx context.Context, tx Tx, mailbox Mailbox, ids []string) (Interaction, error) {
	if len(ids) == 0 {
		return Interaction{}, nil
	}
	found, err := tx.Messages(ctx, mailbox.ID, ids)
	if err != nil {
		return Interaction{}, err
	}
	for _, id := range ids {
		for _, m := range found {
			if m.MessageID == id && m.Type == TypeUser {
				return tx.Interaction(ctx, m.InteractionID)
			}
		}
	}
	return Interaction{}, nil
}

// believe puts a report into the deliveries of the answer that it is about. known
// tells whether it names one of their recipients; the only recipient of a mail is
// known by any name, as addresses are rewritten on the way.
func (f *filing) believe(all []Delivery, reports []ReportedRecipient) (known bool, changed []Delivery) {
	for _, r := range reports {
		keys := []string{EmailKey(cleanLine(r.Address)), EmailKey(cleanLine(r.Original))}
		at := slices.IndexFunc(all, func(d Delivery) bool { return slices.Contains(keys, d.AddressKey) })
		if at < 0 && len(all) == 1 && len(reports) == 1 {
			at = 0
		}
		if at < 0 {
			continue
		}
		known = true
		d := &all[at]
		if d.State != DeliverySent {
			continue // what was not sent cannot come back, and nothing comes back twice
		}
		if r.State == DeliveryBounced {
			d.State = DeliveryBounced
		}
		d.Code, d.EnhancedCode, d.Response = 0, cut(cleanLine(r.EnhancedCode), 20), cut(cleanLine(r.Response), 500)
		if r.State == DeliveryDeferred {
			d.Response = cut("Delayed on its way: "+d.Response, 500)
		}
		d.UpdatedAt = f.now
		changed = append(changed, *d)
	}
	return known, changed
}

// noSuchAddress are the codes (RFC 3463, RFC 5248) and, without one, the words that
// mean that no mail will ever reach the address. A full mailbox or a refused content
// are no such thing.
var (
	noSuchAddress = []string{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"}
	noSuchWords   = regexp.MustCompile(`(?i)user.{0,3}unknown|unknown.{0,3}(user|recipient|address)|no such (user|recipient|address|mailbox)|does ?n[o']t exist|(recipient|user|address).{0,12}not (found|recognized)|invalid (recipient|mailbox)`)
)

// suppress puts the addresses that are gone on the list of suppressions.
func (f *filing) suppress(ctx context.Context, tx Tx, i Interaction, bounced []Delivery) error {
	for _, d := range bounced {
		gone := slices.Contains(noSuchAddress, d.EnhancedCode) || d.EnhancedCode == "" && noSuchWords.MatchString(d.Response)
		if !gone {
			continue
		}
		there, err := tx.SuppressionsByKey(ctx, []string{d.AddressKey})
		if err != nil {
			return err
		}
		if len(there) > 0 {
			continue
		}
		s := Suppression{
			Email: d.Address, Key: d.AddressKey, Reason: SuppressedBounce, InteractionID: i.ID, CreatedAt: f.now,
			Detail: cut(strings.TrimSpace(d.EnhancedCode+" "+d.Response), 500),
		}
		if err := tx.InsertSuppression(ctx, &s); err != nil {
			return err
		}
		event := storage.Event{Type: "suppression.created", Subject: s.ID, Data: eventData(s.ID), Time: f.now}
		if err := tx.Emit(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// fileReport ends the way of a report: it is filed with the answer that it is about,
// and is no message of a customer.
func (f *filing) fileReport(ctx context.Context, tx Tx, row *InboundMail, i Interaction, bounced int) error {
	keys := make([]string, len(f.files))
	for n, a := range f.files {
		keys[n] = a.BlobKey
	}
	if err := tx.Enqueue(ctx, purgeKeys(f.accountID, keys)...); err != nil {
		return err
	}
	row.State, row.UpdatedAt, row.Reason = InboundFiled, f.now, fmt.Sprintf("it reports on a delivery of interaction %d: %d came back", i.ID, bounced)
	row.Identity, row.ConversationID, row.InteractionID = f.mail.Identity, i.ConversationID, i.ID
	return tx.UpdateInbound(ctx, row)
}
