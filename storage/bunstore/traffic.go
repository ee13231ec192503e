package bunstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

// quarter is the interval that traffic is counted by, in microseconds.
const quarter = int64(helpdesk.TrafficQuarter / time.Microsecond)

// MailTraffic implements [helpdesk.MailFlowReader]. Both statements are index-only.
func (r reader) MailTraffic(ctx context.Context, since time.Time) ([]helpdesk.MailTraffic, error) {
	type counted struct{ MailboxID, Quarter, N int64 }
	var in, out []counted
	from := max(micros(since), 0)
	err := r.selects((*inboundRow)(nil)).Column("mailbox_id").ColumnExpr("?TableName.received_at / ? AS quarter", quarter).ColumnExpr("COUNT(*) AS n").
		ApplyQueryBuilder(r.ledgerInScope).Where("?TableName.received_at >= ?", from).Group("mailbox_id", "quarter").Scan(ctx, &in)
	if err != nil {
		return nil, failure(ctx, err, "mail", 0)
	}
	// "> 0" is a literal, to match the condition of the index.
	err = r.selects((*interactionRow)(nil)).ColumnExpr("c.mailbox_id").ColumnExpr("?TableName.send_started_at / ? AS quarter", quarter).ColumnExpr("COUNT(*) AS n").
		Join("JOIN hw_conversations AS c ON c.account_id = ?TableName.account_id AND c.id = ?TableName.conversation_id").
		ApplyQueryBuilder(r.ofConversation).Where("?TableName.send_started_at > 0").Where("?TableName.send_started_at >= ?", from).
		Group("c.mailbox_id", "quarter").Scan(ctx, &out)
	if err != nil {
		return nil, failure(ctx, err, "interaction", 0)
	}
	all := map[counted]*helpdesk.MailTraffic{}
	at := func(c counted) *helpdesk.MailTraffic {
		c.N = 0
		if all[c] == nil {
			all[c] = &helpdesk.MailTraffic{MailboxID: c.MailboxID, Start: timeOf(c.Quarter * quarter)}
		}
		return all[c]
	}
	for _, c := range in {
		at(c).Received = c.N
	}
	for _, c := range out {
		at(c).Sent = c.N
	}
	var list []helpdesk.MailTraffic
	for _, one := range all {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b helpdesk.MailTraffic) int {
		return cmp.Or(cmp.Compare(a.MailboxID, b.MailboxID), a.Start.Compare(b.Start))
	})
	return list, nil
}

// MailQueues implements [helpdesk.MailFlowReader]. The states are literals, to match the conditions of indexes.
func (r reader) MailQueues(ctx context.Context) ([]helpdesk.MailQueue, error) {
	var lines []struct {
		MailboxID, N, Since int64
	}
	all := map[int64]*helpdesk.MailQueue{}
	at := func(mailbox int64) *helpdesk.MailQueue {
		if all[mailbox] == nil {
			all[mailbox] = &helpdesk.MailQueue{MailboxID: mailbox}
		}
		return all[mailbox]
	}
	for state, put := range map[string]func(*helpdesk.MailQueue, int64){
		"?TableName.state = 'received'":    func(q *helpdesk.MailQueue, n int64) { q.Filing = n },
		"?TableName.state = 'quarantined'": func(q *helpdesk.MailQueue, n int64) { q.Quarantined = n },
	} {
		lines = nil
		err := r.selects((*inboundRow)(nil)).Column("mailbox_id").ColumnExpr("COUNT(*) AS n").ApplyQueryBuilder(r.ledgerInScope).
			Where(state).Group("mailbox_id").Scan(ctx, &lines)
		if err != nil {
			return nil, failure(ctx, err, "mail", 0)
		}
		for _, l := range lines {
			put(at(l.MailboxID), l.N)
		}
	}
	lines = nil
	err := r.selects((*deliveryRow)(nil)).ColumnExpr("c.mailbox_id").ColumnExpr("COUNT(*) AS n").ColumnExpr("MIN(?TableName.created_at) AS since").
		Join("JOIN hw_interactions AS i ON i.account_id = ?TableName.account_id AND i.id = ?TableName.interaction_id").
		Join("JOIN hw_conversations AS c ON c.account_id = i.account_id AND c.id = i.conversation_id").
		ApplyQueryBuilder(r.ofInteraction).Where("?TableName.state IN ('queued', 'deferred')").Group("c.mailbox_id").Scan(ctx, &lines)
	if err != nil {
		return nil, failure(ctx, err, "delivery", 0)
	}
	for _, l := range lines {
		q := at(l.MailboxID)
		q.Sending, q.SendingSince = l.N, timeOf(l.Since)
	}
	var list []helpdesk.MailQueue
	for _, one := range all {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b helpdesk.MailQueue) int { return cmp.Compare(a.MailboxID, b.MailboxID) })
	return list, nil
}
