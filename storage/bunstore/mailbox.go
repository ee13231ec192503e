package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type mailboxRow struct {
	bun.BaseModel       `bun:"table:hw_mailboxes,alias:hw_mailboxes"`
	ID                  int64 `bun:",pk,autoincrement"`
	AccountID           int64
	Name                string
	Email               string
	EmailKey            string
	FromName            string
	InternalLocal       string
	InboundType         string
	Host                string
	Port                int
	Username            string
	SealedPassword      []byte
	Encryption          string
	ValidateCertificate bool
	Folders             list[string]
	InboundAuth         string
	OAuthClientID       string `bun:"oauth_client_id"`
	OAuthTokenURL       string `bun:"oauth_token_url"`
	OAuthScope          string `bun:"oauth_scope"`
	SealedOAuth         []byte `bun:"sealed_oauth"`
	ImportSince         int64
	InboundEpoch        int
	Outbound            object[sending.Outbound]
	ReplyAddress        string
	ProbeSentAt         int64
	ProbeSeenAt         int64
	ProbeRefused        bool
	ProbeNote           string
	Signature           string
	Quotes              string
	FormFields          list[string]
	CreatedAt           int64
	UpdatedAt           int64
}

func (r *mailboxRow) mailbox() helpdesk.Mailbox {
	return helpdesk.Mailbox{
		ID: r.ID, AccountID: r.AccountID, Name: r.Name, Email: r.Email, EmailKey: r.EmailKey, From: r.FromName,
		InternalLocal: r.InternalLocal,
		Inbound: ledger.Inbound{
			Type: ledger.InboundType(r.InboundType), Host: r.Host, Port: r.Port, Username: r.Username,
			SealedPassword: empty(r.SealedPassword), Encryption: mailserver.Encryption(r.Encryption),
			ValidateCertificate: r.ValidateCertificate, Folders: r.Folders, Auth: ledger.InboundAuth(r.InboundAuth),
			OAuth: ledger.OAuth{
				ClientID: r.OAuthClientID, TokenURL: r.OAuthTokenURL, Scope: r.OAuthScope, SealedSecrets: empty(r.SealedOAuth),
			},
			ImportSince: timeOf(r.ImportSince), Epoch: r.InboundEpoch,
		},
		Outbound:     r.Outbound.Of,
		ReplyAddress: helpdesk.ReplyAddress(r.ReplyAddress),
		Probe: helpdesk.AddressProbe{
			SentAt: timeOf(r.ProbeSentAt), SeenAt: timeOf(r.ProbeSeenAt), Refused: r.ProbeRefused, Note: r.ProbeNote,
		},
		Signature: r.Signature, Quotes: helpdesk.QuotePolicy(r.Quotes), FormFields: r.FormFields, CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func mailboxRowOf(account int64, m *helpdesk.Mailbox) mailboxRow {
	return mailboxRow{
		ID: m.ID, AccountID: account, Name: m.Name, Email: m.Email, EmailKey: m.EmailKey, FromName: m.From,
		InternalLocal: m.InternalLocal,
		InboundType:   string(m.Inbound.Type), Host: m.Inbound.Host, Port: m.Inbound.Port, Username: m.Inbound.Username,
		SealedPassword: empty(m.Inbound.SealedPassword), Encryption: string(m.Inbound.Encryption),
		ValidateCertificate: m.Inbound.ValidateCertificate, Folders: m.Inbound.Folders, InboundAuth: string(m.Inbound.Auth),
		OAuthClientID: m.Inbound.OAuth.ClientID, OAuthTokenURL: m.Inbound.OAuth.TokenURL, OAuthScope: m.Inbound.OAuth.Scope,
		SealedOAuth: empty(m.Inbound.OAuth.SealedSecrets), ImportSince: micros(m.Inbound.ImportSince), InboundEpoch: m.Inbound.Epoch,
		Outbound:     object[sending.Outbound]{m.Outbound},
		ReplyAddress: string(m.ReplyAddress), ProbeSentAt: micros(m.Probe.SentAt), ProbeSeenAt: micros(m.Probe.SeenAt),
		ProbeRefused: m.Probe.Refused, ProbeNote: m.Probe.Note,
		Signature: m.Signature, Quotes: string(m.Quotes), FormFields: m.FormFields, CreatedAt: micros(m.CreatedAt), UpdatedAt: micros(m.UpdatedAt),
	}
}

// MailboxByLocal implements [helpdesk.Directory].
func (d directory) MailboxByLocal(ctx context.Context, local string) (helpdesk.Mailbox, error) {
	var row mailboxRow
	q := d.selects(&row).Err(checkText(local)).Where("internal_local = ?", local)
	if err := one(ctx, q, "mailbox", 0); err != nil {
		return helpdesk.Mailbox{}, err
	}
	return row.mailbox(), nil
}

// MailboxesToFetch implements [helpdesk.Directory].
func (d directory) MailboxesToFetch(ctx context.Context, seek storage.Seek) ([]helpdesk.Mailbox, error) {
	var rows []mailboxRow
	err := page(d.selects(&rows).Where("inbound_type <> 'FWD'"), "id", seek).Scan(ctx)
	return mapped(rows, (*mailboxRow).mailbox), failure(ctx, err, "mailbox", 0)
}

var mailboxes = table[writer, helpdesk.Mailbox, storage.NoFilter, mailboxRow]{
	Noun: nouns.Mailboxes, row: mailboxRowOf, item: (*mailboxRow).mailbox, stays: true,
	scope: func(w writer, q bun.QueryBuilder) bun.QueryBuilder { return w.inScope("id")(q) },
	remove: func(ctx context.Context, w writer, id int64) error { // clears the mailbox of sites
		_, err := w.raw("UPDATE hw_sites SET mailbox_id = NULL WHERE account_id = ? AND mailbox_id = ?", w.scope.AccountID, id).Exec(ctx)
		return failure(ctx, err, "mailbox", id)
	},
	// Only tombstones: should the mailbox stay, no other mail may be lost or filed twice.
	dependents: []dependent{{table: "hw_inbound_mails", of: "mailbox_id", only: "conversation_id IS NULL AND interaction_id IS NULL AND state = 'filed'"}},
}

// Mailboxes implements [helpdesk.Reader].
func (r reader) Mailboxes() storage.RowReader[helpdesk.Mailbox, storage.NoFilter] {
	return rowsOf(r.placed(), &mailboxes)
}

// Mailboxes implements [helpdesk.Rows].
func (w writer) Mailboxes() storage.Rows[helpdesk.Mailbox, storage.NoFilter] {
	return storedOf(w, &mailboxes)
}

type fetchStatusRow struct {
	bun.BaseModel `bun:"table:hw_fetch_status,alias:hw_fetch_status"`
	AccountID     int64
	MailboxID     int64
	Connected     bool
	LastSuccessAt int64
	LastErrorAt   int64
	LastError     string
	NeedsReauth   bool
	Worker        string
	Deaths        object[[]time.Time]
	Fruitless     int
	ParkedAt      int64
	UpdatedAt     int64
}

// fetchStatusColumns are those of a mailbox that may have no status yet.
const fetchStatusColumns = "s.mailbox_id, s.connected, s.last_success_at, s.last_error_at, s.last_error, s.needs_reauth, s.worker, COALESCE(s.deaths, '[]') AS deaths, s.fruitless, s.parked_at, s.updated_at"

// FetchStatus implements [ledger.FetchReader].
func (r reader) FetchStatus(ctx context.Context, mailboxID int64) (ledger.FetchStatus, error) {
	var row fetchStatusRow
	err := r.selects((*mailboxRow)(nil)).ColumnExpr(fetchStatusColumns).ApplyQueryBuilder(r.inScope("id")).Where("?TableName.id = ?", mailboxID).
		Join("LEFT JOIN hw_fetch_status AS s ON s.account_id = ?TableName.account_id AND s.mailbox_id = ?TableName.id").Scan(ctx, &row)
	if err != nil || row.MailboxID == 0 { // 0: it has none yet
		return ledger.FetchStatus{}, failure(ctx, err, "mailbox", mailboxID)
	}
	return ledger.FetchStatus{
		MailboxID: row.MailboxID, Connected: row.Connected, LastSuccessAt: timeOf(row.LastSuccessAt),
		LastErrorAt: timeOf(row.LastErrorAt), LastError: row.LastError, NeedsReauth: row.NeedsReauth,
		Worker: row.Worker, Deaths: row.Deaths.Of, Fruitless: row.Fruitless, ParkedAt: timeOf(row.ParkedAt), UpdatedAt: timeOf(row.UpdatedAt),
	}, nil
}

// SaveFetchStatus implements [ledger.FetchWriter].
func (w writer) SaveFetchStatus(ctx context.Context, s ledger.FetchStatus) error {
	if !w.sees(s.MailboxID) {
		return fault.Missing("mailbox", s.MailboxID)
	}
	row := fetchStatusRow{
		AccountID: w.scope.AccountID, MailboxID: s.MailboxID, Connected: s.Connected,
		LastSuccessAt: micros(s.LastSuccessAt), LastErrorAt: micros(s.LastErrorAt), LastError: s.LastError,
		NeedsReauth: s.NeedsReauth, Worker: s.Worker, Deaths: object[[]time.Time]{s.Deaths}, Fruitless: s.Fruitless,
		ParkedAt: micros(s.ParkedAt), UpdatedAt: micros(s.UpdatedAt),
	}
	_, err := w.inserts(&row).On("CONFLICT (account_id, mailbox_id) DO UPDATE").Exec(ctx)
	return failure(ctx, err, "mailbox", s.MailboxID)
}

type fetchCursorRow struct {
	bun.BaseModel `bun:"table:hw_fetch_cursors,alias:hw_fetch_cursors"`
	AccountID     int64
	MailboxID     int64
	Folder        string
	UIDValidity   int64 `bun:"uid_validity"`
	UID           int64 `bun:"uid"`
}

// FetchCursor implements [ledger.FetchReader].
func (r reader) FetchCursor(ctx context.Context, mailboxID int64, folder string) (mailserver.Cursor, error) {
	var row fetchCursorRow
	err := r.selects(&row).Err(checkText(folder)).ApplyQueryBuilder(r.inScope("mailbox_id")).
		Where("mailbox_id = ?", mailboxID).Where("folder = ?", folder).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		_, err := r.Mailboxes().Get(ctx, mailboxID)
		return mailserver.Cursor{}, err
	}
	return mailserver.Cursor{UIDValidity: uint32(row.UIDValidity), UID: uint32(row.UID)},
		failure(ctx, err, "mailbox", mailboxID)
}

// SaveFetchCursor implements [ledger.FetchWriter].
func (w writer) SaveFetchCursor(ctx context.Context, mailboxID int64, folder string, c mailserver.Cursor) error {
	if !w.sees(mailboxID) {
		return fault.Missing("mailbox", mailboxID)
	}
	row := fetchCursorRow{
		AccountID: w.scope.AccountID, MailboxID: mailboxID, Folder: folder,
		UIDValidity: int64(c.UIDValidity), UID: int64(c.UID),
	}
	_, err := w.inserts(&row).On("CONFLICT (account_id, mailbox_id, folder) DO UPDATE").Exec(ctx)
	return failure(ctx, err, "mailbox", mailboxID)
}
