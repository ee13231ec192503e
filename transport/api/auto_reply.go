package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// autoReply as the API shows it.
type autoReply struct {
	ID             int64               `json:"id"`
	Name           string              `json:"name"`
	MailboxIDs     []int64             `json:"mailbox_ids" description:"Answers mail of these mailboxes. Empty: of all."`
	CalendarID     *int64              `json:"calendar_id" description:"Whose hours when is about. Null: none."`
	When           helpdesk.AutoWhen   `json:"when" enum:"always,inside,outside" description:"Answers mail that arrives at any time, within the hours of the calendar, or outside them."`
	On             helpdesk.AutoOn     `json:"on" enum:"new,every" description:"Answers mail that begins a conversation, or every mail."`
	OncePer        int64               `json:"once_per" description:"Hours within which a customer gets it once. 0: with every mail."`
	Translations   map[string]autoText `json:"translations" description:"Texts by language code. The language of the customer's mail is chosen, else the account's default, else the first."`
	IsActive       bool                `json:"is_active"`
	DisabledReason *string             `json:"disabled_reason" enum:"orphaned" description:"Why it was switched off automatically: the member who last changed it has left the account, or could no longer create it. More values may be added."`
	Version        int                 `json:"version" description:"Grows with each change."`
	UserID         *int64              `json:"user_id" description:"Who last changed it. It acts with that member's rights."`
	CreatedAt      transport.Time      `json:"created_at"`
	UpdatedAt      transport.Time      `json:"updated_at"`
}

type autoText struct {
	Subject string `json:"subject" maxLength:"200" description:"Text with placeholders. Empty: the subject of the conversation." example:"We have your message"`
	Body    string `json:"body" required:"true" maxBytes:"65536" description:"HTML or text with placeholders." example:"<p>Hello {{customer.first_name}}, we answer tomorrow.</p>"`
}

type autoReplyInput struct {
	Name         string                         `json:"name" required:"true" maxLength:"100" example:"Nights"`
	MailboxIDs   storage.Opt[[]int64]           `json:"mailbox_ids" maxItems:"1000" description:"Default: all. A member limited to some mailboxes must list some of them."`
	CalendarID   storage.Opt[int64]             `json:"calendar_id" description:"Required unless when is always."`
	When         storage.Opt[helpdesk.AutoWhen] `json:"when" enum:"always,inside,outside" description:"Default: always."`
	On           storage.Opt[helpdesk.AutoOn]   `json:"on" enum:"new,every" description:"Default: new."`
	OncePer      storage.Opt[int64]             `json:"once_per" minimum:"0" maximum:"8760" description:"Hours within which a customer gets it once. Default: 24. 0: with every mail."`
	Translations map[string]autoText            `json:"translations" required:"true" description:"Texts by language code, at least one. Placeholders: {{customer.first_name}}, {{customer.name}}, {{conversation.number}}, {{conversation.subject}}, {{mailbox.name}}, {{agent.name}} (the name of the mailbox)."`
	IsActive     storage.Opt[bool]              `json:"is_active" description:"Default: true."`
}

type autoReplyUpdate struct {
	autoReplyID
	Name         storage.Opt[string]              `json:"name" maxLength:"100"`
	MailboxIDs   storage.Opt[[]int64]             `json:"mailbox_ids" maxItems:"1000" description:"Null or empty: all."`
	CalendarID   storage.Opt[int64]               `json:"calendar_id" description:"Null: none."`
	When         storage.Opt[helpdesk.AutoWhen]   `json:"when" enum:"always,inside,outside" description:"When it answers, by the hours of the calendar."`
	On           storage.Opt[helpdesk.AutoOn]     `json:"on" enum:"new,every" description:"Which mail it answers."`
	OncePer      storage.Opt[int64]               `json:"once_per" minimum:"0" maximum:"8760" description:"Hours."`
	Translations storage.Opt[map[string]autoText] `json:"translations" description:"Replaces all texts."`
	IsActive     storage.Opt[bool]                `json:"is_active"`
}

type autoReplyID struct {
	AutoReplyID int64 `path:"auto_reply_id"`
}

const (
	autoRepliesPath = accountPath + "/auto-replies"
	autoReplyPath   = autoRepliesPath + "/{auto_reply_id}"
)

func (a *api) addAutoReplies(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Automatic replies", Summary: summary, Description: description}
	}
	create := op("createAutoReply", http.MethodPost, autoRepliesPath, "Create an automatic reply",
		"It answers customers' mail by itself, marked as automatic (RFC 3834), and is shown in the conversation as a user's "+
			"interaction with source auto. It does not count as a reply: the customer still waits. A mail gets at most one automatic "+
			"reply: those for some hours come before those for always, those of some mailboxes before those of all, older ones before "+
			"newer. Mail that forbids it is not answered: automatic mail, mailing lists, bounces, addresses that nobody reads, blocked, "+
			"suppressed and our own addresses, spam, mail that is imported or older than a day, and whoever got 100 mails within the "+
			"hour. 422 if the name is taken, ignoring case. At most 100 per account. Needs auto_replies.create and interactions.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in autoReplyInput) (autoReply, error) {
		made, err := d.AutoReplies().Create(ctx, autoReplyUpdate{
			Name: storage.Some(in.Name), MailboxIDs: in.MailboxIDs, CalendarID: in.CalendarID, When: in.When, On: in.On, OncePer: in.OncePer,
			Translations: storage.Some(in.Translations), IsActive: in.IsActive,
		}.input())
		return showAutoReply(made), err
	})
	transport.HandlePage(t, a.desk, op("listAutoReplies", http.MethodGet, autoRepliesPath, "List automatic replies", "Oldest first. Needs auto_replies.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[autoReply], error) {
			page, err := d.AutoReplies().List(ctx, in.Request())
			return mapPage(page, showAutoReply), err
		})
	transport.Handle(t, a.desk, op("getAutoReply", http.MethodGet, autoReplyPath, "Retrieve an automatic reply", "Needs auto_replies.view."),
		func(ctx context.Context, d *helpdesk.Desk, in autoReplyID) (autoReply, error) {
			found, err := d.AutoReplies().Get(ctx, in.AutoReplyID)
			return showAutoReply(found), err
		})
	transport.Handle(t, a.desk, op("updateAutoReply", http.MethodPut, autoReplyPath, "Update an automatic reply",
		"From then on it acts with the rights of the caller. Needs auto_replies.update, and what createAutoReply needs for the former and the resulting one."),
		func(ctx context.Context, d *helpdesk.Desk, in autoReplyUpdate) (autoReply, error) {
			changed, err := d.AutoReplies().Update(ctx, in.AutoReplyID, in.input())
			return showAutoReply(changed), err
		})
	transport.HandleEmpty(t, a.desk, slow(op("deleteAutoReply", http.MethodDelete, autoReplyPath, "Delete an automatic reply",
		"What it has sent stays. Needs auto_replies.delete.")),
		func(ctx context.Context, d *helpdesk.Desk, in autoReplyID) error {
			return d.AutoReplies().Delete(ctx, in.AutoReplyID)
		})
}

func (in autoReplyUpdate) input() helpdesk.AutoReplyInput {
	out := helpdesk.AutoReplyInput{Name: in.Name, MailboxIDs: in.MailboxIDs, CalendarID: in.CalendarID, When: in.When, On: in.On, IsActive: in.IsActive}
	if in.OncePer.IsSet() {
		out.OncePer = storage.Some(time.Duration(in.OncePer.Or(0)) * time.Hour)
	}
	if in.Translations.IsSet() {
		texts := map[string]helpdesk.AutoText{}
		for locale, t := range in.Translations.Or(nil) {
			texts[locale] = helpdesk.AutoText{Subject: t.Subject, Body: t.Body}
		}
		out.Translations = storage.Some(texts)
	}
	return out
}

func showAutoReply(r helpdesk.AutoReply) autoReply {
	out := autoReply{
		ID: r.ID, Name: r.Name, MailboxIDs: append([]int64{}, r.MailboxIDs...), CalendarID: idOrNull(r.CalendarID), When: r.When, On: r.On,
		OncePer: int64(r.OncePer / time.Hour), Translations: map[string]autoText{}, IsActive: r.IsActive, Version: r.Version, UserID: idOrNull(r.UserID),
		CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
	for _, t := range r.Translations {
		out.Translations[t.Locale] = autoText{Subject: t.Subject, Body: t.Body}
	}
	if r.Reason != "" {
		reason := string(r.Reason)
		out.DisabledReason = &reason
	}
	return out
}
