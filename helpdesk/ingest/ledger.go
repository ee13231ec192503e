package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The names of the sources in the ledger.
const (
	sourceIMAP = "imap"
	sourcePOP3 = "pop3"
)

// mailboxLedger is a mailbox's ledger as seen by sources.
type mailboxLedger struct {
	intake               *helpdesk.Intake
	accountID, mailboxID int64
	epoch                int
	log                  *slog.Logger
	suspects             *suspects
	tracer               storage.Tracer // nil: no tracing
	last                 ledger.FetchStatus
}

// place qualifies a folder or a position with the server's epoch.
func place(epoch int, name string) string {
	if epoch == 0 {
		return name
	}
	return fmt.Sprintf("%d\t%s", epoch, name)
}

// placed parses the result of place; false: it belongs to another server.
func placed(epoch int, name string) (string, bool) {
	if epoch == 0 {
		return name, !strings.Contains(name, "\t")
	}
	return strings.CutPrefix(name, place(epoch, ""))
}

// imapPosition returns the position of a folder's message.
func imapPosition(epoch int, folder string, at mailserver.Cursor) string {
	return place(epoch, fmt.Sprintf("%d:%d:%s", at.UIDValidity, at.UID, folder))
}

// imapFolder returns the folder of a position that imapPosition wrote.
func imapFolder(position string) string {
	if epoch, rest, found := strings.Cut(position, "\t"); found && !strings.Contains(epoch, ":") {
		position = rest
	}
	_, rest, _ := strings.Cut(position, ":")
	_, folder, _ := strings.Cut(rest, ":")
	return folder
}

// sentFolders are names of folders in which mail programs and servers keep sent mail, in lower case.
var sentFolders = []string{
	"sent", "sent items", "sent messages", "sent mail", "sent-mail", "sent objects", // English
	"gesendet", "gesendete elemente", "gesendete objekte", "gesendete nachrichten", "gesendete mails",
	"envoyés", "éléments envoyés", "messages envoyés", "objets envoyés", "enviados", "elementos enviados", "mensajes enviados",
	"correo enviado", "e-mails enviados", "itens enviados", "mensagens enviadas", "inviata", "inviati", "posta inviata",
	"elementi inviati", "messaggi inviati", "verzonden", "verzonden items", "verzonden objecten", "verzonden berichten",
	"skickat", "skickade", "skickade objekt", "skickade meddelanden", "sendt", "sendte elementer", "sendt post", "lähetetyt",
	"wysłane", "elementy wysłane", "wysłane wiadomości", "odeslané", "odeslaná pošta", "отправленные", "надіслані", "gönderilmiş öğeler", //nolint:misspell // Polish
	"gönderilenler", "送信済み", "送信済みアイテム", "送信済みメール", "已发送", "已发送邮件", "已傳送郵件", "보낸편지함",
}

// isSentFolder reports whether a folder is for sent mail, by the last part of its name.
func isSentFolder(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.Contains(sentFolders, name[strings.LastIndexAny(name, "/.\\")+1:])
}

// problem returns the reason why a message is incomplete, "" if it is complete.
func problem(text string, oversize bool, size int64) string {
	if !oversize {
		return text
	}
	if size < 0 {
		return "it is too large; only its header was fetched"
	}
	return fmt.Sprintf("it is too large: %d bytes; only its header was fetched", size)
}

// head returns the header fields that the list of failures shows.
func head(raw []byte) ledger.Head {
	subject, from := mail.Head(raw)
	return ledger.Head{Subject: subject, From: from}
}

// imapLedger is the sink of an IMAP source.
type imapLedger struct{ *mailboxLedger }

// Cursor implements [imap.Sink].
func (l imapLedger) Cursor(ctx context.Context, folder string) (mailserver.Cursor, error) {
	return l.intake.Cursor(ctx, l.accountID, l.mailboxID, place(l.epoch, folder))
}

// Take implements [imap.Sink].
func (l imapLedger) Take(ctx context.Context, folder string, mails []imap.Mail, next mailserver.Cursor) error {
	return l.storeMails(ctx, sourceIMAP, l.raw(mails), &ledger.FolderCursor{Folder: place(l.epoch, folder), Cursor: next})
}

// storeMails stores the fetched messages.
func (l *mailboxLedger) storeMails(ctx context.Context, source string, mails []ledger.Raw, next *ledger.FolderCursor) (err error) {
	if l.tracer != nil {
		var span storage.Span
		ctx, span = l.tracer.Start(ctx, "take mails from "+source, storage.SpanConsumer,
			slog.Int64("helpwright.mailbox.id", l.mailboxID), slog.Int("helpwright.mail.count", len(mails)))
		defer func() { span.End(err) }()
	}
	return l.intake.Take(ctx, l.accountID, l.mailboxID, source, mails, next)
}

func (l imapLedger) raw(mails []imap.Mail) []ledger.Raw {
	raw := make([]ledger.Raw, len(mails))
	for i, m := range mails {
		raw[i] = ledger.Raw{
			Position: imapPosition(l.epoch, m.Folder, mailserver.Cursor{UIDValidity: m.UIDValidity, UID: m.UID}),
			Raw:      m.Raw, DeliveredAt: m.Arrived, Problem: problem(m.Problem, m.Oversize, m.Size), Head: head(m.Raw),
		}
	}
	return raw
}

// Status implements [imap.Sink].
func (l imapLedger) Status(ctx context.Context, st imap.Status) { l.report(ctx, st.Status) }

// pop3Ledger is the sink of a POP3 source.
type pop3Ledger struct{ *mailboxLedger }

// Known implements [pop3.Sink].
func (l pop3Ledger) Known(ctx context.Context, ids []string) ([]string, error) {
	positions := make([]string, len(ids))
	for i, id := range ids {
		positions[i] = place(l.epoch, id)
	}
	taken, err := l.intake.Taken(ctx, l.accountID, l.mailboxID, sourcePOP3, positions)
	for i, position := range taken {
		taken[i], _ = placed(l.epoch, position)
	}
	return taken, err
}

// Take implements [pop3.Sink].
func (l pop3Ledger) Take(ctx context.Context, mails []pop3.Mail) error {
	raw := make([]ledger.Raw, len(mails))
	for i, m := range mails {
		raw[i] = ledger.Raw{
			Position: place(l.epoch, m.ID), Raw: m.Raw, Problem: problem(m.Problem, m.Oversize, m.Size), Head: head(m.Raw),
		}
	}
	return l.storeMails(ctx, sourcePOP3, raw, nil)
}

// Status implements [pop3.Sink].
func (l pop3Ledger) Status(ctx context.Context, st pop3.Status) { l.report(ctx, st.Status) }

// recordStart records that fetching starts, before a slow server replies.
func (l *mailboxLedger) recordStart(ctx context.Context) {
	err := l.intake.ReportFetch(ctx, l.accountID, ledger.FetchStatus{MailboxID: l.mailboxID})
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		l.log.WarnContext(ctx, "the state of fetching was not recorded", "error", err)
	}
}

// report records the result of fetching. Repeated successes, which come with every poll, are written at most once a minute.
func (l *mailboxLedger) report(ctx context.Context, st wire.Status) {
	next := ledger.FetchStatus{
		MailboxID: l.mailboxID, Connected: st.Connected, LastSuccessAt: st.LastSuccess.UTC(), LastErrorAt: st.LastErrorAt.UTC(),
	}
	if st.LastError != nil {
		next.LastError, next.NeedsReauth = st.LastError.Error(), wire.NeedsReauth(st.LastError)
	}
	same := next.Connected == l.last.Connected && next.LastError == l.last.LastError && next.LastErrorAt.Equal(l.last.LastErrorAt)
	if same && next.LastSuccessAt.Sub(l.last.LastSuccessAt) < time.Minute {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := l.intake.ReportFetch(ctx, l.accountID, next); err != nil {
		if !fault.Is(err, fault.NotFound) { // the mailbox may have been deleted
			l.log.WarnContext(ctx, "the state of fetching was not recorded", "error", err)
		}
		return
	}
	if !same && st.LastError != nil {
		l.log.WarnContext(ctx, "fetching failed", "error", st.LastError)
	}
	l.last = next
}
