package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// savedReply as the API shows it.
type savedReply struct {
	ID        int64  `json:"id"`
	AccountID int64  `json:"account_id"`
	UserID    *int64 `json:"user_id" description:"Whose it is, who alone sees it; null: all members share it."`
	Name      string `json:"name"`
	Body      string `json:"body" description:"HTML that is safe to show, with placeholders."`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

type savedReplyInput struct {
	Name     string `json:"name" required:"true" maxLength:"100" example:"Thank you"`
	Body     string `json:"body" required:"true" example:"<p>Hello {{customer.first_name}}, thank you.</p>" description:"HTML or text, at most 64 KiB. {{customer.first_name}}, {{customer.name}}, {{agent.name}}, {{conversation.number}} and {{conversation.subject}} stand for what they say; others are refused."`
	IsShared bool   `json:"is_shared" description:"All members see it; the caller alone otherwise."`
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
	Paging
	Name string `query:"name" description:"What the names begin with, whatever its case."`
}

type savedReplyFill struct {
	conversationID
	savedReplyID
}

// filledReply is the body of a saved reply for an answer.
type filledReply struct {
	ID   int64  `json:"id"`
	Body string `json:"body" description:"HTML that is safe to show."`
}

const (
	savedRepliesPath = accountPath + "/saved-replies"
	savedReplyPath   = savedRepliesPath + "/{saved_reply_id}"
)

func (a *api) addSavedReplies(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Saved replies", Summary: summary, Description: description}
	}
	create := op("createSavedReply", http.MethodPost, savedRepliesPath, "Save a reply",
		"422 when one of the same owner has the name, whatever its case. Needs interactions.create, and views.create for one that is shared.")
	create.Status = http.StatusCreated
	Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in savedReplyInput) (savedReply, error) {
		r, err := d.CreateSavedReply(ctx, in.input())
		return showSavedReply(d, r), err
	})
	HandlePage(t, a.desk, op("listSavedReplies", http.MethodGet, savedRepliesPath, "List saved replies",
		"The caller's own and those that are shared, oldest first. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyList) (storage.Page[savedReply], error) {
			page, err := d.SavedReplies(ctx, in.Name, in.Request())
			return mapPage(page, func(r helpdesk.SavedReply) savedReply { return showSavedReply(d, r) }), err
		})
	Handle(t, a.desk, op("getSavedReply", http.MethodGet, savedReplyPath, "Retrieve a saved reply", "Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyID) (savedReply, error) {
			r, err := d.SavedReply(ctx, in.SavedReplyID)
			return showSavedReply(d, r), err
		})
	Handle(t, a.desk, op("updateSavedReply", http.MethodPut, savedReplyPath, "Update a saved reply",
		"Needs interactions.create, and views.update for one that is or becomes shared."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyUpdate) (savedReply, error) {
			r, err := d.UpdateSavedReply(ctx, in.SavedReplyID, in.input())
			return showSavedReply(d, r), err
		})
	HandleEmpty(t, a.desk, op("deleteSavedReply", http.MethodDelete, savedReplyPath, "Delete a saved reply",
		"Needs interactions.create, and views.delete for one that is shared."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyID) error {
			return d.DeleteSavedReply(ctx, in.SavedReplyID)
		})
	Handle(t, a.desk, op("fillSavedReply", http.MethodGet, conversationPath+"/saved-replies/{saved_reply_id}", "Fill a saved reply",
		"Its body with the placeholders filled for an answer by the caller. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyFill) (filledReply, error) {
			body, err := d.FillReply(ctx, in.ConversationID, in.SavedReplyID)
			return filledReply{ID: in.SavedReplyID, Body: body}, err
		})
}

func showSavedReply(d *helpdesk.Desk, r helpdesk.SavedReply) savedReply {
	return savedReply{
		ID: r.ID, AccountID: d.AccountID(), UserID: idOrNull(r.UserID), Name: r.Name, Body: r.Body,
		CreatedAt: Time(r.CreatedAt), UpdatedAt: Time(r.UpdatedAt),
	}
}
