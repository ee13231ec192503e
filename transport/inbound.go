package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/form"
)

// failure is a received mail that could not be filed, or, when other states are
// asked for, any row of a mailbox's ledger.
type failure struct {
	ID         int64   `json:"id"`
	State      string  `json:"state" enum:"received,filed,ignored,quarantined"`
	Reason     string  `json:"reason"`
	Source     string  `json:"source"`
	Size       int64   `json:"size" description:"Bytes of the raw mail."`
	MessageID  *string `json:"message_id"`
	ReceivedAt Time    `json:"received_at"`
	URL        *string `json:"url" description:"The raw mail; null when it was deleted with its conversation."`
}

type failureList struct {
	mailboxID
	Paging
	State words `query:"state" enum:"received,filed,ignored,quarantined" description:"Any of these; quarantined without it."`
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

// among refuses a value that is not one of the known.
func among(problem func(field, text string), field, value string, known ...string) {
	if !slices.Contains(known, value) {
		last := len(known) - 1
		problem(field, "must be "+strings.Join(known[:last], ", ")+" or "+known[last])
	}
}

// words are values of a query parameter: `a=x,y`, `a[]=x&a[]=y` or `a=x`.
type words []string

// BindNode reads the values; which of them are known the operation checks.
func (w *words) BindNode(n *form.Node) (problem string) {
	*w = expandNames(n)
	return ""
}

// numbers are ids given as [words] are.
type numbers []int64

// BindNode reads the ids.
func (w *numbers) BindNode(n *form.Node) (problem string) {
	*w = nil
	for _, name := range expandNames(n) {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || id < 1 {
			return "must be ids"
		}
		*w = append(*w, id)
	}
	return ""
}

func (a *api) addInbound(t *Table) {
	const path = mailboxPath + "/failures"
	HandlePage(t, a.desk, Operation{
		ID: "listFailures", Method: http.MethodGet, Path: path, Tag: "Mailboxes",
		Summary:     "List mails that could not be imported",
		Description: "Newest first. Nothing that reached the mailbox is lost: it can be read raw and replayed. Needs mailboxes.connection.",
	}, a.listFailures)
	HandleContent(t, a.desk, Operation{
		ID: "getRawMail", Method: http.MethodGet, Path: path + "/{failure_id}/raw", Tag: "Mailboxes",
		Summary:     "Download a received mail as it came",
		Description: "Media type message/rfc822. Needs mailboxes.connection.",
	}, a.getRawMail)
	Handle(t, a.desk, Operation{
		ID: "replayMail", Method: http.MethodPost, Path: path + "/{failure_id}/replay", Tag: "Mailboxes",
		Summary:     "Import a mail once more",
		Description: "After what stood against it was mended. 409 for one that was imported. Needs mailboxes.connection.",
	}, a.replayMail)
}

func (a *api) listFailures(ctx context.Context, d *helpdesk.Desk, in failureList) (storage.Page[failure], error) {
	filter := helpdesk.InboundFilter{MailboxID: in.MailboxID, States: []helpdesk.InboundState{helpdesk.InboundQuarantined}}
	if len(in.State) > 0 {
		filter.States = nil
	}
	for _, state := range in.State {
		filter.States = append(filter.States, helpdesk.InboundState(state))
	}
	page, err := d.InboundMails(ctx, filter, in.Request())
	return mapPage(page, func(m helpdesk.InboundMail) failure { return a.showFailure(d, m) }), err
}

func (a *api) getRawMail(ctx context.Context, d *helpdesk.Desk, in failureID) (Content, error) {
	m, err := d.InboundMail(ctx, in.MailboxID, in.FailureID)
	if err != nil {
		return Content{}, err
	}
	body, err := openStored(m.Size, func(offset int64) (io.ReadCloser, error) {
		raw, err := d.OpenRaw(ctx, in.MailboxID, in.FailureID)
		if err != nil {
			return nil, err
		}
		if _, err := io.CopyN(io.Discard, raw, offset); err != nil {
			_ = raw.Close() // only read
			return nil, err
		}
		return raw, nil
	})
	return Content{
		Name: fmt.Sprintf("mail-%d.eml", m.ID), Type: "message/rfc822", ModTime: m.ReceivedAt,
		ETag: fmt.Sprintf("mail-%d", m.ID), Body: body,
	}, err
}

func (a *api) replayMail(ctx context.Context, d *helpdesk.Desk, in failureID) (failure, error) {
	m, err := d.ReplayInbound(ctx, in.MailboxID, in.FailureID)
	return a.showFailure(d, m), err
}

func (a *api) showFailure(d *helpdesk.Desk, m helpdesk.InboundMail) failure {
	out := failure{
		ID: m.ID, State: string(m.State), Reason: m.Reason, Source: m.Source, Size: m.Size,
		MessageID: textOrNull(m.MessageID), ReceivedAt: Time(m.ReceivedAt),
	}
	if m.RawKey != "" {
		url := fmt.Sprintf("%s/accounts/%d/mailboxes/%d/failures/%d/raw", a.base, d.AccountID(), m.MailboxID, m.ID)
		out.URL = &url
	}
	return out
}
