package bunstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxMessages is the most mails that Messages returns.
const maxMessages = 100

type interactionRow struct {
	bun.BaseModel   `bun:"table:hw_interactions,alias:hw_interactions"`
	ID              int64 `bun:",pk,autoincrement"`
	AccountID       int64
	ConversationID  int64
	Type            string
	Status          string
	Body            string
	Subject         string
	UserID          int64
	PostedByID      int64
	CustomerID      int64 `bun:",nullzero"`
	CustomerEmailID int64 `bun:",nullzero"`
	CustomerEmail   string
	ToAddresses     list[string]
	CcAddresses     list[string]
	BccAddresses    list[string]
	Source          string
	IsStarter       bool
	IsForward       bool
	AutoSubmitted   bool
	SeenAt          int64
	PostedAt        int64
	SendAt          int64
	SendStartedAt   int64
	MessageID       string
	MessageRefs     list[string]
	MailHeader      object[helpdesk.MailHeader]
	Threading       object[helpdesk.Threading]
	Ending          object[helpdesk.Ending]
	Security        object[ledger.Security]
	Authentication  object[ledger.Authentication]
	At              int64
	ReceivedAt      int64
	CreatedAt       int64
	UpdatedAt       int64
	Audience        string
}

func (r *interactionRow) interaction() helpdesk.Interaction {
	return helpdesk.Interaction{
		ID: r.ID, ConversationID: r.ConversationID, Type: helpdesk.InteractionType(r.Type),
		Status: helpdesk.Status(r.Status), Body: r.Body, Subject: r.Subject, UserID: r.UserID, PostedByID: r.PostedByID,
		CustomerID: r.CustomerID, CustomerEmailID: r.CustomerEmailID, CustomerEmail: r.CustomerEmail,
		To: r.ToAddresses, Cc: r.CcAddresses, Bcc: r.BccAddresses, Source: r.Source,
		IsStarter: r.IsStarter, IsForward: r.IsForward, AutoSubmitted: r.AutoSubmitted,
		SeenAt: timeOf(r.SeenAt), PostedAt: timeOf(r.PostedAt), SendAt: timeOf(r.SendAt), SendStartedAt: timeOf(r.SendStartedAt),
		MessageID: r.MessageID, References: r.MessageRefs, Mail: r.MailHeader.Of, Threading: r.Threading.Of,
		Ending: r.Ending.Of, Security: r.Security.Of, Authentication: r.Authentication.Of,
		At: timeOf(r.At), ReceivedAt: timeOf(r.ReceivedAt), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func interactionRowOf(account int64, i *helpdesk.Interaction) interactionRow {
	return interactionRow{
		ID: i.ID, AccountID: account, ConversationID: i.ConversationID, Type: string(i.Type),
		Status: string(i.Status), Body: i.Body, Subject: i.Subject, UserID: i.UserID, PostedByID: i.PostedByID,
		CustomerID: i.CustomerID, CustomerEmailID: i.CustomerEmailID, CustomerEmail: i.CustomerEmail,
		ToAddresses: i.To, CcAddresses: i.Cc, BccAddresses: i.Bcc, Source: i.Source,
		IsStarter: i.IsStarter, IsForward: i.IsForward, AutoSubmitted: i.AutoSubmitted,
		SeenAt: micros(i.SeenAt), PostedAt: micros(i.PostedAt), SendAt: micros(i.SendAt), SendStartedAt: micros(i.SendStartedAt),
		MessageID: i.MessageID, MessageRefs: i.References, MailHeader: object[helpdesk.MailHeader]{storedHeader(i.Mail)}, Threading: object[helpdesk.Threading]{i.Threading},
		Ending: object[helpdesk.Ending]{i.Ending}, Security: object[ledger.Security]{i.Security}, Authentication: object[ledger.Authentication]{i.Authentication},
		At: micros(i.At), ReceivedAt: micros(i.ReceivedAt), CreatedAt: micros(i.CreatedAt), UpdatedAt: micros(i.UpdatedAt), Audience: audience(i),
	}
}

// storedHeader returns a header with times truncated to the precision of columns.
func storedHeader(h helpdesk.MailHeader) helpdesk.MailHeader {
	h.Date, h.Forwarded.Date = timeOf(micros(h.Date)), timeOf(micros(h.Forwarded.Date))
	return h
}

var interactions = table[writer, helpdesk.Interaction, helpdesk.InteractionFilter, interactionRow]{
	sparse: true,
	Noun:   nouns.Interactions, row: interactionRowOf, item: (*interactionRow).interaction,
	scope: func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.ofConversation(q) },
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f helpdesk.InteractionFilter) error {
		q.Where("conversation_id = ?", f.ConversationID)
		if f.Brief {
			q.ExcludeColumn("body")
		}
		if f.WrittenBy != 0 { // expressions, so that the planner walks the conversation by time instead of sorting what another index finds
			q.Where("+customer_id = ?", f.WrittenBy).Where("type || '' = ?", helpdesk.TypeCustomer).Where("is_forward = ?", false)
		}
		return nil
	},
	order: func(helpdesk.InteractionFilter) string { return "at" },
	admit: func(ctx context.Context, w writer, all []*helpdesk.Interaction) error {
		for _, i := range all {
			if err := w.requireConversation(ctx, i.ConversationID); err != nil {
				return err
			}
		}
		return nil
	},
	remove: func(ctx context.Context, w writer, id int64) error {
		return w.leaveTombstones(ctx, "interaction_id", []int64{id})
	},
}

// Interactions implements [helpdesk.Reader].
func (r reader) Interactions() storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return rowsOf(r.placed(), &interactions)
}

// Interactions implements [helpdesk.Rows].
func (w writer) Interactions() storage.Rows[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return storedOf(w, &interactions)
}

// LastArrived implements [helpdesk.InteractionReader].
func (r reader) LastArrived(ctx context.Context, conversationID int64) (int64, error) {
	var last int64
	err := r.selects((*interactionRow)(nil)).ColumnExpr("COALESCE(MAX(?TableName.id), 0)").ApplyQueryBuilder(r.ofConversation).
		Where("?TableName.conversation_id = ?", conversationID).Scan(ctx, &last)
	return last, failure(ctx, err, "interaction", 0)
}

func (r *interactionRow) ref() helpdesk.MessageRef {
	return helpdesk.MessageRef{
		MessageID: r.MessageID, InteractionID: r.ID, ConversationID: r.ConversationID,
		Type: helpdesk.InteractionType(r.Type), IsForward: r.IsForward,
	}
}

// Messages implements [helpdesk.InteractionReader].
func (r reader) Messages(ctx context.Context, mailboxID int64, messageIDs []string) ([]helpdesk.MessageRef, error) {
	if err := checkText(messageIDs); err != nil || len(messageIDs) == 0 {
		return nil, err
	}
	ids, account := bun.List(messageIDs), r.scope.AccountID
	var rows []interactionRow
	q := r.selects(&rows).Column("id", "conversation_id", "type", "is_forward").
		ColumnExpr(`CASE WHEN ?TableName.message_id IN (?) THEN ?TableName.message_id ELSE (SELECT s.message_id
			FROM hw_deliveries AS s WHERE s.account_id = ? AND s.interaction_id = ?TableName.id AND s.message_id <> ''
			AND s.message_id IN (?) ORDER BY s.id LIMIT 1) END AS message_id`, ids, account, ids).
		ApplyQueryBuilder(r.ofConversation).Where("?TableName.message_id <> ''").
		Where(`?TableName.id IN (SELECT m.id FROM hw_interactions AS m WHERE m.account_id = ? AND m.message_id <> ''
			AND m.message_id IN (?) UNION ALL SELECT s.interaction_id FROM hw_deliveries AS s WHERE s.account_id = ?
			AND s.message_id <> '' AND s.message_id IN (?))`, account, ids, account, ids).
		Where(`EXISTS (SELECT 1 FROM hw_conversations AS b WHERE b.account_id = ?TableName.account_id
			AND b.id = ?TableName.conversation_id AND (b.mailbox_id = ? OR EXISTS (SELECT 1
			FROM hw_conversation_redirects AS d WHERE d.account_id = b.account_id AND d.into_id = b.id
			AND d.mailbox_id = ?) OR EXISTS (SELECT 1 FROM hw_moves AS v WHERE v.account_id = b.account_id
			AND v.interaction_id = ?TableName.id AND v.mailbox_id = ?)))`, mailboxID, mailboxID, mailboxID)
	// The sign keeps the planner from walking all interactions in order: a mail refers to only a few.
	err := page(q, "+id", storage.Seek{Desc: true, Limit: maxMessages}).Scan(ctx)
	return mapped(rows, (*interactionRow).ref), failure(ctx, err, "interaction", 0)
}

// Thread implements [helpdesk.InteractionReader].
func (r reader) Thread(ctx context.Context, conversationID int64, n int) ([]helpdesk.MessageRef, error) {
	if n <= 0 {
		return nil, r.state()
	}
	var rows []interactionRow
	q := r.selects(&rows).Column("id", "conversation_id", "type", "message_id", "is_forward").
		ApplyQueryBuilder(r.ofConversation).Where("message_id <> ''").Where("conversation_id = ?", conversationID).
		Where("status <> ?", helpdesk.StatusDraft).Where("is_forward = ?", false)
	err := page(q, "at", storage.Seek{Desc: true, Limit: n}).Scan(ctx)
	slices.Reverse(rows)
	return mapped(rows, (*interactionRow).ref), failure(ctx, err, "interaction", 0)
}

// requireInteractions refuses interactions outside the scope.
func (w writer) requireInteractions(ctx context.Context, ids ...int64) error {
	_, err := w.conversationsOf(ctx, ids)
	return err
}

// conversationsOf returns the conversation of each interaction; an interaction outside the scope is a NotFound fault.
func (w writer) conversationsOf(ctx context.Context, ids []int64) (map[int64]int64, error) {
	if len(ids) == 0 {
		return nil, w.requireAccount(ctx)
	}
	var rows []interactionRow
	err := w.byID(w.selects(&rows).Column("id", "conversation_id")).ApplyQueryBuilder(w.ofConversation).
		Where("id IN (?)", bun.List(ids)).Scan(ctx)
	if err != nil {
		return nil, failure(ctx, err, "interaction", 0)
	}
	of := make(map[int64]int64, len(rows))
	for _, row := range rows {
		of[row.ID] = row.ConversationID
	}
	for _, id := range ids {
		if _, ok := of[id]; !ok {
			return nil, fault.Missing("interaction", id)
		}
	}
	return of, nil
}
