package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

func (r reader) MailTraffic(ctx context.Context, since time.Time) ([]helpdesk.MailTraffic, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.MailTraffic, error) {
		var list []helpdesk.MailTraffic
		count := func(mailbox int64, when time.Time, in, out int64) {
			if !sees(r.scope, mailbox) || when.Before(since) || when.UnixMicro() <= 0 {
				return
			}
			start := when.Truncate(helpdesk.TrafficQuarter)
			i := slices.IndexFunc(list, func(t helpdesk.MailTraffic) bool { return t.MailboxID == mailbox && t.Start.Equal(start) })
			if i < 0 {
				i, list = len(list), append(list, helpdesk.MailTraffic{MailboxID: mailbox, Start: start})
			}
			list[i].Received, list[i].Sent = list[i].Received+in, list[i].Sent+out
		}
		for _, m := range db.ledger.all(r.scope.AccountID) {
			count(m.MailboxID, m.ReceivedAt, 1, 0)
		}
		for _, i := range db.interactions.all(r.scope.AccountID) {
			if c, err := db.conversations.get(r.scope.AccountID, i.ConversationID); err == nil {
				count(c.MailboxID, i.SendStartedAt, 0, 1)
			}
		}
		slices.SortFunc(list, func(a, b helpdesk.MailTraffic) int {
			return cmp.Or(cmp.Compare(a.MailboxID, b.MailboxID), a.Start.Compare(b.Start))
		})
		return list, nil
	})
}

func (r reader) MailQueues(ctx context.Context) ([]helpdesk.MailQueue, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.MailQueue, error) {
		all := map[int64]*helpdesk.MailQueue{}
		at := func(mailbox int64) *helpdesk.MailQueue {
			if all[mailbox] == nil {
				all[mailbox] = &helpdesk.MailQueue{MailboxID: mailbox}
			}
			return all[mailbox]
		}
		for _, m := range db.ledger.all(r.scope.AccountID) {
			switch {
			case !sees(r.scope, m.MailboxID):
			case m.State == ledger.Received:
				at(m.MailboxID).Filing++
			case m.State == ledger.Quarantined:
				at(m.MailboxID).Quarantined++
			}
		}
		for _, d := range db.deliveries.all(r.scope.AccountID) {
			if d.State != sending.Queued && d.State != sending.Deferred {
				continue
			}
			i, err := db.interactions.get(r.scope.AccountID, d.InteractionID)
			if err != nil {
				continue
			}
			c, err := db.conversations.get(r.scope.AccountID, i.ConversationID)
			if err != nil || !sees(r.scope, c.MailboxID) {
				continue
			}
			q := at(c.MailboxID)
			if q.Sending++; q.SendingSince.IsZero() || d.CreatedAt.Before(q.SendingSince) {
				q.SendingSince = d.CreatedAt
			}
		}
		var list []helpdesk.MailQueue
		for _, one := range all {
			list = append(list, *one)
		}
		slices.SortFunc(list, func(a, b helpdesk.MailQueue) int { return cmp.Compare(a.MailboxID, b.MailboxID) })
		return list, nil
	})
}
