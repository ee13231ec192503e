package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// savedReply as the API shows it.
type savedReply struct {
	ID        int64          `json:"id"`
	AccountID int64          `json:"account_id"`
	UserID    *int64         `json:"user_id" description:"Owner, the only one who sees it. Null: shared by all members."`
	IsShared  bool           `json:"is_shared" description:"Whether all members see it."`
	Name      string         `json:"name"`
	Body      string         `json:"body" description:"Sanitized HTML with placeholders."`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type savedReplyInput struct {
	Name     string            `json:"name" required:"true" maxLength:"100" example:"Thank you"`
	Body     string            `json:"body" required:"true" example:"<p>Hello {{customer.first_name}}, thank you.</p>" description:"HTML or text, at most 64 KiB. Placeholders: {{customer.first_name}}, {{customer.name}}, {{agent.name}}, {{conversation.number}} and {{conversation.subject}}; others are refused."`
	IsShared storage.Opt[bool] `json:"is_shared" description:"True: all members see it. False: only the caller. Omitted, a new one is the caller's, and another stays as it is."`
}

func (in savedReplyInput) input() helpdesk.SavedReplyInput {
	return helpdesk.SavedReplyInput{Name: in.Name, Body: in.Body, Shared: in.IsShared}
}

type savedReplyID struct {
	SavedReplyID int64 `path:"saved_reply_id"`
}

type savedReplyUpdate struct {
	savedReplyID
	savedReplyInput
}

type savedReplyList struct {
	transport.Paging
	Name string `query:"name" description:"Prefix of the names, ignoring case."`
}

type savedReplyFill struct {
	conversationID
	savedReplyID
}

// filledReply is the body of a saved reply, filled in for an answer.
type filledReply struct {
	ID   int64  `json:"id"`
	Body string `json:"body" description:"Sanitized HTML."`
}

const (
	savedRepliesPath = accountPath + "/saved-replies"
	savedReplyPath   = savedRepliesPath + "/{saved_reply_id}"
)

func (a *api) addSavedReplies(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Saved replies", Summary: summary, Description: description}
	}
	create := op("createSavedReply", http.MethodPost, savedRepliesPath, "Create a saved reply",
		"422 if the owner already has one with this name, ignoring case. Needs interactions.create, and views.create for a shared one.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in savedReplyInput) (savedReply, error) {
		r, err := d.CreateSavedReply(ctx, in.input())
		return showSavedReply(d, r), err
	})
	transport.HandlePage(t, a.desk, op("listSavedReplies", http.MethodGet, savedRepliesPath, "List saved replies",
		"The caller's own and the shared ones, oldest first. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyList) (storage.Page[savedReply], error) {
			page, err := d.SavedReplies(ctx, in.Name, in.Request())
			return mapPage(page, func(r helpdesk.SavedReply) savedReply { return showSavedReply(d, r) }), err
		})
	transport.Handle(t, a.desk, op("getSavedReply", http.MethodGet, savedReplyPath, "Retrieve a saved reply", "Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyID) (savedReply, error) {
			r, err := d.SavedReply(ctx, in.SavedReplyID)
			return showSavedReply(d, r), err
		})
	transport.Handle(t, a.desk, op("updateSavedReply", http.MethodPut, savedReplyPath, "Update a saved reply",
		"Needs interactions.create, and views.update if it is or becomes shared."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyUpdate) (savedReply, error) {
			r, err := d.UpdateSavedReply(ctx, in.SavedReplyID, in.input())
			return showSavedReply(d, r), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteSavedReply", http.MethodDelete, savedReplyPath, "Delete a saved reply",
		"Needs interactions.create, and views.delete for a shared one."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyID) error {
			return d.DeleteSavedReply(ctx, in.SavedReplyID)
		})
	transport.Handle(t, a.desk, op("fillSavedReply", http.MethodGet, conversationPath+"/saved-replies/{saved_reply_id}", "Fill a saved reply",
		"Returns its body with the placeholders filled in for an answer by the caller. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyFill) (filledReply, error) {
			body, err := d.FillReply(ctx, in.ConversationID, in.SavedReplyID)
			return filledReply{ID: in.SavedReplyID, Body: body}, err
		})
}

func showSavedReply(d *helpdesk.Desk, r helpdesk.SavedReply) savedReply {
	return savedReply{
		ID: r.ID, AccountID: d.AccountID(), UserID: idOrNull(r.UserID), IsShared: r.UserID == 0, Name: r.Name, Body: r.Body,
		CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
}
