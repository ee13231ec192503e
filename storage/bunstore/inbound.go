package bunstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type inboundRow struct {
	bun.BaseModel  `bun:"table:hw_inbound_mails,alias:hw_inbound_mails"`
	ID             int64 `bun:",pk,autoincrement"`
	AccountID      int64
	MailboxID      int64
	Source         string
	Position       string
	State          string
	Reason         string
	UserID         int64
	Note           string
	Partial        bool
	Deaths         int
	RawKey         string
	Size           int64
	MessageID      string
	Subject        string
	FromName       string
	FromEmail      string
	Identity       []byte
	ConversationID int64 `bun:",nullzero"`
	InteractionID  int64 `bun:",nullzero"`
	Authentication object[ledger.Authentication]
	DeliveredAt    int64
	ReceivedAt     int64
	UpdatedAt      int64
}

func (r *inboundRow) mail() ledger.Mail {
	return ledger.Mail{
		ID: r.ID, MailboxID: r.MailboxID, Source: r.Source, Position: r.Position,
		State: ledger.State(r.State), Reason: r.Reason, UserID: r.UserID, Note: r.Note, Partial: r.Partial, Deaths: r.Deaths, RawKey: r.RawKey, Size: r.Size,
		MessageID: r.MessageID, Head: ledger.Head{Subject: r.Subject, From: mailaddr.Address{Name: r.FromName, Email: r.FromEmail}}, Identity: empty(r.Identity), ConversationID: r.ConversationID,
		InteractionID: r.InteractionID, Authentication: r.Authentication.Of, DeliveredAt: timeOf(r.DeliveredAt), ReceivedAt: timeOf(r.ReceivedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func inboundRowOf(account int64, m *ledger.Mail) inboundRow {
	return inboundRow{
		ID: m.ID, AccountID: account, MailboxID: m.MailboxID, Source: m.Source, Position: m.Position,
		State: string(m.State), Reason: m.Reason, UserID: m.UserID, Note: m.Note, Partial: m.Partial, Deaths: m.Deaths, RawKey: m.RawKey, Size: m.Size,
		MessageID: m.MessageID, Subject: m.Subject, FromName: m.From.Name, FromEmail: m.From.Email, Identity: empty(m.Identity), ConversationID: m.ConversationID,
		InteractionID: m.InteractionID, Authentication: object[ledger.Authentication]{m.Authentication}, DeliveredAt: micros(m.DeliveredAt), ReceivedAt: micros(m.ReceivedAt), UpdatedAt: micros(m.UpdatedAt),
	}
}

// ledgerInScope restricts a statement on the ledger to account and mailboxes.
func (r reader) ledgerInScope(q bun.QueryBuilder) bun.QueryBuilder { return r.inScope("mailbox_id")(q) }

func (r reader) inbound(ctx context.Context, id int64, lock bool) (ledger.Mail, error) {
	var row inboundRow
	q := r.selects(&row).ApplyQueryBuilder(r.ledgerInScope).Where("id = ?", id)
	if lock {
		r.forUpdate(q)
	}
	if err := one(ctx, q, "mail", id); err != nil {
		return ledger.Mail{}, err
	}
	return row.mail(), nil
}

// InboundMail implements [ledger.Reader].
func (r reader) InboundMail(ctx context.Context, id int64) (ledger.Mail, error) {
	return r.inbound(ctx, id, false)
}

// InboundForUpdate implements [ledger.Writer].
func (w writer) InboundForUpdate(ctx context.Context, id int64) (ledger.Mail, error) {
	return w.inbound(ctx, id, true)
}

// inState selects mails in one state, as a literal, to match the condition of an index.
func inState(q *bun.SelectQuery, state ledger.State) *bun.SelectQuery {
	switch state {
	case ledger.Received:
		return q.Where("?TableName.state = 'received'")
	case ledger.Ignored:
		return q.Where("?TableName.state = 'ignored'")
	case ledger.Quarantined:
		return q.Where("?TableName.state = 'quarantined'")
	}
	return q.Where("?TableName.state = ?", state)
}

// InboundMails implements [ledger.Reader].
func (r reader) InboundMails(ctx context.Context, f ledger.Filter, seek storage.Seek) ([]ledger.Mail, error) {
	if err := checkText(f.States); err != nil {
		return nil, err
	}
	all := func() *bun.SelectQuery {
		q := r.selects((*inboundRow)(nil)).ApplyQueryBuilder(r.ledgerInScope)
		if f.MailboxID != 0 {
			q.Where("mailbox_id = ?", f.MailboxID)
		}
		return q
	}
	states := slices.Compact(slices.Sorted(slices.Values(f.States)))
	aside := func(state ledger.State) bool { return state == ledger.Ignored || state == ledger.Quarantined }
	q := all()
	switch {
	case len(states) == 0:
	case len(states) == 1 && f.MailboxID != 0:
		inState(q, states[0])
	case f.MailboxID != 0: // each in the order of its index
		q = r.byID(r.selects((*inboundRow)(nil))).ApplyQueryBuilder(r.account)
		parts := make([]any, len(states))
		for i, state := range states {
			parts[i] = page(inState(all(), state), "id", seek).Column("id")
		}
		q.Where("?TableName.id IN (SELECT id FROM (?) AS s"+strings.Repeat(" UNION ALL SELECT id FROM (?) AS s", len(parts)-1)+")", parts...)
	default:
		if !slices.ContainsFunc(states, func(state ledger.State) bool { return !aside(state) }) {
			q.Where("?TableName.state IN ('ignored', 'quarantined')") // the condition of an index
		}
		q.Where("?TableName.state || '' IN (?)", bun.List(states))
	}
	var mails []ledger.Mail
	err := page(q, "id", seek).Scan(ctx, scanInto(r.db, func(row *inboundRow) { mails = append(mails, row.mail()) }))
	return mails, failure(ctx, err, "mail", 0)
}

// InboundByIdentity implements [ledger.Reader].
func (r reader) InboundByIdentity(ctx context.Context, identities [][]byte) ([]ledger.Mail, error) {
	wanted := slices.DeleteFunc(slices.Clone(identities), func(identity []byte) bool { return len(identity) == 0 })
	if len(wanted) == 0 {
		return nil, r.state()
	}
	var rows []inboundRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ledgerInScope).Where("identity IN (?)", bun.List(wanted)).OrderExpr("+?TableName.id").Scan(ctx)
	return mapped(rows, (*inboundRow).mail), failure(ctx, err, "mail", 0)
}

// InboundOf implements [ledger.Reader].
func (r reader) InboundOf(ctx context.Context, interactionID int64) ([]ledger.Mail, error) {
	if interactionID == 0 {
		return nil, r.state()
	}
	var rows []inboundRow
	// The sign keeps the planner from walking the ledger in its order.
	err := r.selects(&rows).ApplyQueryBuilder(r.ledgerInScope).Where("interaction_id = ?", interactionID).OrderExpr("+id").Scan(ctx)
	return mapped(rows, (*inboundRow).mail), failure(ctx, err, "mail", 0)
}

// InboundPositions implements [ledger.Reader].
func (r reader) InboundPositions(ctx context.Context, mailboxID int64, source string, positions []string) ([]string, error) {
	if len(positions) == 0 {
		return nil, r.state()
	}
	var found []string
	err := r.selects((*inboundRow)(nil)).Column("position").Err(checkText(source)).Err(checkText(positions)).ApplyQueryBuilder(r.ledgerInScope).
		Where("mailbox_id = ?", mailboxID).Where("source = ?", source).Where("position IN (?)", bun.List(positions)).
		Where("position <> ''"). // the index has no others
		Order("position").Scan(ctx, &found)
	return found, failure(ctx, err, "mail", 0)
}

// InboundCounts implements [ledger.Reader].
func (r reader) InboundCounts(ctx context.Context, mailboxID int64) (counts ledger.Counts, err error) {
	of := func(state ledger.State) *bun.SelectQuery {
		return inState(r.selects((*inboundRow)(nil)).ColumnExpr("COUNT(*)").ApplyQueryBuilder(r.ledgerInScope).Where("mailbox_id = ?", mailboxID), state)
	}
	err = r.db.NewSelect().Conn(r.conn()).Err(r.state()).
		ColumnExpr("(?), (?), (?)", of(ledger.Received), of(ledger.Quarantined), of(ledger.Ignored)).
		Scan(ctx, &counts.Received, &counts.Quarantined, &counts.Ignored)
	return counts, failure(ctx, err, "mail", 0)
}

// position is unique among mails, unless Position is empty.
type position struct {
	mailbox          int64
	source, position string
}

// InsertInbound implements [ledger.Writer].
func (w writer) InsertInbound(ctx context.Context, mails []*ledger.Mail) error {
	if len(mails) == 0 {
		return w.requireAccount(ctx)
	}
	rows := make([]inboundRow, len(mails))
	for i, m := range mails {
		if !w.sees(m.MailboxID) {
			return fault.Missing("mailbox", m.MailboxID)
		}
		rows[i] = inboundRowOf(w.scope.AccountID, m)
		rows[i].ID = 0
	}
	var inserted []inboundRow
	err := w.inserts(&rows).
		On("CONFLICT (account_id, mailbox_id, source, position) WHERE position <> '' DO NOTHING").
		Returning("id, mailbox_id, source, position").Scan(ctx, &inserted)
	if err != nil {
		return failure(ctx, err, "mail", 0)
	}
	// All rows without a position were inserted, so their ids follow their order; the others are found by position.
	var free []int64
	taken := make(map[position]int64, len(inserted))
	for _, row := range inserted {
		if row.Position == "" {
			free = append(free, row.ID)
		} else {
			taken[position{row.MailboxID, row.Source, row.Position}] = row.ID
		}
	}
	slices.Sort(free)
	for _, m := range mails {
		if m.Position == "" {
			m.ID, free = free[0], free[1:]
			continue
		}
		at := position{m.MailboxID, m.Source, m.Position}
		if id, ok := taken[at]; ok {
			m.ID = id
			delete(taken, at) // a duplicate in the same call was left out
		}
	}
	return nil
}

// UpdateInbound implements [ledger.Writer].
func (w writer) UpdateInbound(ctx context.Context, m *ledger.Mail) error {
	if !w.sees(m.MailboxID) {
		return fault.Missing("mail", m.ID)
	}
	row := inboundRowOf(w.scope.AccountID, m)
	res, err := w.updates(&row).ExcludeColumn("account_id").ApplyQueryBuilder(w.ledgerInScope).Where("id = ?", m.ID).Exec(ctx)
	return changed(ctx, res, err, "mail", m.ID)
}

// SetInboundState implements [ledger.Writer].
func (w writer) SetInboundState(ctx context.Context, ids []int64, from, to ledger.State, at time.Time) ([]int64, error) {
	if len(ids) == 0 {
		return nil, w.requireAccount(ctx)
	}
	var changed []int64
	err := w.updates((*inboundRow)(nil)).Err(checkText(string(from), string(to))).Set("state = ?", to).Set("updated_at = ?", micros(at)).
		Set("reason = ''").Set("note = ''").Set("user_id = 0").ApplyQueryBuilder(w.ledgerInScope).
		Where("id IN (?)", bun.List(ids)).Where("state || '' = ?", from). // an expression, so that no index of a state is walked
		Returning("id").Scan(ctx, &changed)
	slices.Sort(changed)
	return changed, failure(ctx, err, "mail", 0)
}

// leaveTombstones turns the ledger rows whose column is one of ids into tombstones.
func (w writer) leaveTombstones(ctx context.Context, column string, ids []int64) error {
	// A row may refer to a conversation and to an interaction of another one, so references through interactions count too.
	which := bun.SafeQuery("? IN (?)", bun.Ident(column), bun.List(ids))
	if column == "conversation_id" { // as a union, each half of which uses its index
		which = bun.SafeQuery(`id IN (SELECT m.id FROM hw_inbound_mails AS m WHERE m.account_id = ?0 AND m.conversation_id IN (?1) UNION ALL
			SELECT m.id FROM hw_interactions AS i CROSS JOIN hw_inbound_mails AS m
			WHERE m.account_id = i.account_id AND m.interaction_id = i.id AND i.account_id = ?0 AND i.conversation_id IN (?1))`, w.scope.AccountID, bun.List(ids))
	}
	_, err := w.raw(`UPDATE hw_inbound_mails SET conversation_id = NULL, interaction_id = NULL, raw_key = '', subject = '', from_name = '', from_email = ''
		WHERE account_id = ? AND ?`, w.scope.AccountID, which).Exec(ctx)
	return failure(ctx, err, "mail", 0)
}
