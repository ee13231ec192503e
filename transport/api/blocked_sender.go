package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// blockedSender as the API shows it.
type blockedSender struct {
	ID        int64          `json:"id"`
	Sender    string         `json:"sender" example:"example.org" description:"An address, or a domain with its subdomains."`
	UserID    *int64         `json:"user_id" description:"Who blocked it."`
	CreatedAt transport.Time `json:"created_at"`
}

type blockedSenderInput struct {
	Sender string `json:"sender" required:"true" maxLength:"320" example:"example.org" description:"An address, or a domain with its subdomains."`
}

type blockedSenderID struct {
	BlockedSenderID int64 `path:"blocked_sender_id"`
}

type blockedSenderList struct {
	transport.Paging
	Email string `query:"email" description:"Entries that block this address."`
}

const (
	blockedSendersPath = accountPath + "/blocked-senders"
	blockedSenderPath  = blockedSendersPath + "/{blocked_sender_id}"
)

func (a *api) addBlockedSenders(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Blocked senders", Summary: summary, Description: description}
	}
	create := op("createBlockedSender", http.MethodPost, blockedSendersPath, "Block a sender",
		"Mail from the address, or from the domain and its subdomains, starts spam conversations. It reopens nothing and joins "+
			"only spam conversations. 422 if already blocked, and for addresses of mailboxes and members. Needs customers.update.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in blockedSenderInput) (blockedSender, error) {
		b, err := d.BlockedSenders().Block(ctx, in.Sender)
		return showBlockedSender(b), err
	})
	transport.HandlePage(t, a.desk, op("listBlockedSenders", http.MethodGet, blockedSendersPath, "List blocked senders", "Newest first. Needs customers.view."),
		func(ctx context.Context, d *helpdesk.Desk, in blockedSenderList) (storage.Page[blockedSender], error) {
			page, err := d.BlockedSenders().List(ctx, in.Email, in.Request())
			return mapPage(page, showBlockedSender), err
		})
	transport.Handle(t, a.desk, op("getBlockedSender", http.MethodGet, blockedSenderPath, "Retrieve a blocked sender", "Needs customers.view."),
		func(ctx context.Context, d *helpdesk.Desk, in blockedSenderID) (blockedSender, error) {
			b, err := d.BlockedSenders().Get(ctx, in.BlockedSenderID)
			return showBlockedSender(b), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteBlockedSender", http.MethodDelete, blockedSenderPath, "Unblock a sender",
		"Existing spam stays spam. Needs customers.update."),
		func(ctx context.Context, d *helpdesk.Desk, in blockedSenderID) error {
			return d.BlockedSenders().Unblock(ctx, in.BlockedSenderID)
		})
}

func showBlockedSender(b helpdesk.BlockedSender) blockedSender {
	return blockedSender{ID: b.ID, Sender: b.Sender, UserID: idOrNull(b.UserID), CreatedAt: transport.Time(b.CreatedAt)}
}
