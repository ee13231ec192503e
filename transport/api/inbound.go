package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/form"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// failure is a received mail that could not be filed or, if other states are requested, any row of a mailbox's ledger.
type failure struct {
	ID         int64          `json:"id"`
	State      string         `json:"state" enum:"received,filed,ignored,quarantined"`
	Reason     string         `json:"reason" description:"Why it could not be imported, or was ignored by a rule."`
	Source     string         `json:"source"`
	IsPartial  bool           `json:"is_partial" description:"Whether only part of the raw mail is stored. Replaying fetches it again."`
	Size       int64          `json:"size" description:"Size of the raw mail in bytes."`
	MessageID  *string        `json:"message_id"`
	Subject    *string        `json:"subject" description:"Subject, if the header is readable. Null if the mail was deleted with its conversation."`
	FromName   *string        `json:"from_name"`
	FromEmail  *string        `json:"from_email"`
	ReceivedAt transport.Time `json:"received_at"`
	UpdatedAt  transport.Time `json:"updated_at" description:"When it entered its state."`
	IgnoredBy  *int64         `json:"ignored_by_id" description:"User who ignored it. Null if a rule did."`
	Note       *string        `json:"note" description:"Note of the user who ignored it."`

	ConversationID *int64 `json:"conversation_id" description:"Conversation it was imported into. Null if it was not imported, or if the conversation is gone."`
	InteractionID  *int64 `json:"interaction_id"`

	URL *string `json:"url" description:"URL of the raw mail. Null if it was deleted with its conversation."`
}

type failureList struct {
	mailboxID
	transport.Paging
	State words `query:"state" enum:"received,filed,ignored,quarantined" description:"Any of these states. Default: quarantined."`
}

// CheckInput refuses unknown states.
func (in *failureList) CheckInput(problem func(field, text string)) {
	for i, state := range in.State {
		among(problem, fmt.Sprintf("state[%d]", i), state, "received", "filed", "ignored", "quarantined")
	}
}

type failureID struct {
	MailboxID int64 `path:"mailbox_id"`
	FailureID int64 `path:"failure_id"`
}

type failureIgnore struct {
	failureID
	Note string `json:"note" maxLength:"500" description:"Reason, for the other members."`
}

// replayOrder selects the mails that a replay of all includes.
type replayOrder struct {
	Mails int64 `json:"mails" description:"Number of mails being replayed in the background."`
}

// among refuses a value that is not one of the known ones.
func among(problem func(field, text string), field, value string, known ...string) {
	if !slices.Contains(known, value) {
		last := len(known) - 1
		problem(field, "must be "+strings.Join(known[:last], ", ")+" or "+known[last])
	}
}

// words are the values of a query parameter: `a=x,y`, `a[]=x&a[]=y` or `a=x`.
type words []string

// BindNode reads the values; the operation checks that they are known.
func (w *words) BindNode(n *form.Node) (problem string) {
	var names transport.Expand
	problem = names.BindNode(n)
	*w = words(names)
	return problem
}

// numbers are ids in the form of [words].
type numbers []int64

// BindNode reads the ids.
func (w *numbers) BindNode(n *form.Node) (problem string) {
	var names words
	if problem := names.BindNode(n); problem != "" {
		return problem
	}
	*w = nil
	for _, name := range names {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || id < 1 {
			return "must be ids"
		}
		*w = append(*w, id)
	}
	return ""
}

func (a *api) addInbound(t *transport.Table) {
	const path = mailboxPath + "/failures"
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listFailures", Method: http.MethodGet, Path: path, Tag: "Mailboxes",
		Summary: "List mails that could not be imported",
		Description: "Newest first; with state=ignored, the ignored ones. No mail is lost: each can be downloaded and replayed. The mailbox's " +
			"status has their number. Needs mailboxes.connection.",
	}, a.listFailures)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getFailure", Method: http.MethodGet, Path: path + "/{failure_id}", Tag: "Mailboxes",
		Summary:     "Retrieve a received mail",
		Description: "Works in any state. Needs mailboxes.connection.",
	}, a.getFailure)
	transport.HandleContent(t, a.desk, transport.Operation{
		ID: "getRawMail", Method: http.MethodGet, Path: path + "/{failure_id}/raw", Tag: "Mailboxes",
		Summary:     "Download a received mail",
		Description: "Media type message/rfc822. Needs mailboxes.connection.",
	}, a.getRawMail)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "replayMail", Method: http.MethodPost, Path: path + "/{failure_id}/replay", Tag: "Mailboxes",
		Summary: "Replay a mail",
		Description: "Use it after fixing the cause; it also undoes ignoring. A partial mail is fetched again first. 409 if it was imported. " +
			"Needs mailboxes.connection.",
	}, a.replayMail)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "ignoreMail", Method: http.MethodPost, Path: path + "/{failure_id}/ignore", Tag: "Mailboxes",
		Summary: "Ignore a mail that could not be imported",
		Description: "The mail is kept and listed with state=ignored; a replay undoes this. An ignored mail stays unchanged. 409 if it was " +
			"imported or is waiting to be. Needs mailboxes.connection.",
	}, a.ignoreMail)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "replayMails", Method: http.MethodPost, Path: path + "/replay", Tag: "Mailboxes", Status: http.StatusAccepted,
		Summary: "Replay all mails that could not be imported",
		Description: "Replays, in the background, the mails in quarantine and returns their number. A mail that fails again is listed with " +
			"its new reason. Repeating the request does nothing twice. Needs mailboxes.connection.",
	}, a.replayMails)
}

func (a *api) listFailures(ctx context.Context, d *helpdesk.Desk, in failureList) (storage.Page[failure], error) {
	filter := ledger.Filter{MailboxID: in.MailboxID, States: []ledger.State{ledger.Quarantined}}
	if len(in.State) > 0 {
		filter.States = nil
	}
	for _, state := range in.State {
		filter.States = append(filter.States, ledger.State(state))
	}
	page, err := d.InboundMails().List(ctx, filter, in.Request())
	return mapPage(page, func(m ledger.Mail) failure { return a.showFailure(d, m) }), err
}

func (a *api) getFailure(ctx context.Context, d *helpdesk.Desk, in failureID) (failure, error) {
	m, err := d.InboundMails().Get(ctx, in.MailboxID, in.FailureID)
	return a.showFailure(d, m), err
}

func (a *api) ignoreMail(ctx context.Context, d *helpdesk.Desk, in failureIgnore) (failure, error) {
	m, err := d.InboundMails().Ignore(ctx, in.MailboxID, in.FailureID, in.Note)
	return a.showFailure(d, m), err
}

func (a *api) replayMails(ctx context.Context, d *helpdesk.Desk, in mailboxID) (replayOrder, error) {
	n, err := d.InboundMails().ReplayAll(ctx, in.MailboxID)
	return replayOrder{Mails: n}, err
}

func (a *api) getRawMail(ctx context.Context, d *helpdesk.Desk, in failureID) (transport.Content, error) {
	m, err := d.InboundMails().Get(ctx, in.MailboxID, in.FailureID)
	if err != nil {
		return transport.Content{}, err
	}
	body, err := file.Open(m.Size, func(offset int64) (io.ReadCloser, error) {
		raw, err := d.InboundMails().Open(ctx, in.MailboxID, in.FailureID)
		if err != nil {
			return nil, err
		}
		if _, err := io.CopyN(io.Discard, raw, offset); err != nil {
			_ = raw.Close() // only read
			return nil, err
		}
		return raw, nil
	})
	return transport.Content{
		Name: fmt.Sprintf("mail-%d.eml", m.ID), Type: "message/rfc822", ModTime: m.ReceivedAt,
		ETag: fmt.Sprintf("mail-%d", m.ID), Body: body,
	}, err
}

func (a *api) replayMail(ctx context.Context, d *helpdesk.Desk, in failureID) (failure, error) {
	m, err := d.InboundMails().Replay(ctx, in.MailboxID, in.FailureID)
	return a.showFailure(d, m), err
}

func (a *api) showFailure(d *helpdesk.Desk, m ledger.Mail) failure {
	out := failure{
		ID: m.ID, State: string(m.State), Reason: m.Reason, Source: m.Source, Size: m.Size,
		MessageID: textOrNull(m.MessageID), Subject: textOrNull(m.Subject), FromName: textOrNull(m.From.Name), FromEmail: textOrNull(m.From.Email), ReceivedAt: transport.Time(m.ReceivedAt), UpdatedAt: transport.Time(m.UpdatedAt), IsPartial: m.Partial,
		IgnoredBy: idOrNull(m.UserID), Note: textOrNull(m.Note), ConversationID: idOrNull(m.ConversationID), InteractionID: idOrNull(m.InteractionID),
	}
	if m.RawKey != "" {
		url := fmt.Sprintf("%s/accounts/%d/mailboxes/%d/failures/%d/raw", a.base, d.AccountID(), m.MailboxID, m.ID)
		out.URL = &url
	}
	return out
}
