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
	Body      string         `json:"body" description:"Sanitized HTML with placeholders. May be empty with actions."`
	Actions   []ruleAction   `json:"actions" description:"What it does besides: with them, it is a macro."`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type savedReplyInput struct {
	Name     string            `json:"name" required:"true" maxLength:"100" example:"Thank you"`
	Body     string            `json:"body" example:"<p>Hello {{customer.first_name}}, thank you.</p>" description:"HTML, or text without tags, at most 64 KiB. body or text is required without actions. Placeholders: {{customer.first_name}}, {{customer.name}}, {{agent.name}}, {{conversation.number}}, {{conversation.subject}} and {{rating}}, which stays in a reply and becomes the links of a survey in its message; others are refused."`
	Text     string            `json:"text" description:"Plain text with placeholders, shown as it is. Not together with body."`
	IsShared storage.Opt[bool] `json:"is_shared" description:"True: all members see it. False: only the caller. Omitted, a new one is the caller's, and another stays as it is."`

	Actions storage.Opt[[]ruleAction] `json:"actions" maxItems:"20" description:"Makes it a macro: what is done with the answer, or alone. As of rules, except reply and webhook. Replaces all; omitted, they stay as they are."`
}

func (in savedReplyInput) input() helpdesk.SavedReplyInput {
	return helpdesk.SavedReplyInput{Name: in.Name, Body: in.Body, Text: in.Text, Shared: in.IsShared, Actions: actionsOf(in.Actions)}
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
	Body string `json:"body" description:"Sanitized HTML. Empty for a macro without text."`

	Actions []ruleAction `json:"actions" description:"What is done with the answer that names it as saved_reply_id."`
}

type macroApply struct {
	conversationID
	expanding
	SavedReplyID int64 `json:"saved_reply_id" required:"true" description:"Id of a saved reply with actions."`
}

type macroBulk struct {
	expanding
	Conversations []int64 `json:"conversations" required:"true" maxItems:"100" description:"Ids."`
	SavedReplyID  int64   `json:"saved_reply_id" required:"true" description:"Id of a saved reply with actions."`
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
		r, err := d.SavedReplies().Create(ctx, in.input())
		return showSavedReply(d, r), err
	})
	transport.HandlePage(t, a.desk, op("listSavedReplies", http.MethodGet, savedRepliesPath, "List saved replies",
		"The caller's own and the shared ones, oldest first. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyList) (storage.Page[savedReply], error) {
			page, err := d.SavedReplies().List(ctx, in.Name, in.Request())
			return mapPage(page, func(r helpdesk.SavedReply) savedReply { return showSavedReply(d, r) }), err
		})
	transport.Handle(t, a.desk, op("getSavedReply", http.MethodGet, savedReplyPath, "Retrieve a saved reply", "Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyID) (savedReply, error) {
			r, err := d.SavedReplies().Get(ctx, in.SavedReplyID)
			return showSavedReply(d, r), err
		})
	transport.Handle(t, a.desk, op("updateSavedReply", http.MethodPut, savedReplyPath, "Update a saved reply",
		"Needs interactions.create, and views.update if it is or becomes shared."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyUpdate) (savedReply, error) {
			r, err := d.SavedReplies().Update(ctx, in.SavedReplyID, in.input())
			return showSavedReply(d, r), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteSavedReply", http.MethodDelete, savedReplyPath, "Delete a saved reply",
		"Needs interactions.create, and views.delete for a shared one."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyID) error {
			return d.SavedReplies().Delete(ctx, in.SavedReplyID)
		})
	transport.Handle(t, a.desk, op("fillSavedReply", http.MethodGet, conversationPath+"/saved-replies/{saved_reply_id}", "Fill a saved reply",
		"Returns its body with the placeholders filled in for an answer by the caller. Needs interactions.view."),
		func(ctx context.Context, d *helpdesk.Desk, in savedReplyFill) (filledReply, error) {
			body, err := d.SavedReplies().Fill(ctx, in.ConversationID, in.SavedReplyID)
			if err != nil {
				return filledReply{}, err
			}
			r, err := d.SavedReplies().Get(ctx, in.SavedReplyID)
			return filledReply{ID: r.ID, Body: body, Actions: showActions(r.Actions)}, err
		})
	a.addMacros(t)
}

// addMacros adds the operations that do what saved replies do besides writing.
func (a *api) addMacros(t *transport.Table) {
	op := func(id, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: http.MethodPost, Path: path, Tag: "Saved replies", Summary: summary, Description: description,
			Expand: []string{"user", "team", "mailbox", "customer"}}
	}
	const needs = "403 or 409 with code macro if the caller may not do an action, or if what it names is gone; `errors` has its type as action, and " +
		"nothing is done. Events and history have the macro's id. Needs conversations.view, interactions.view and what the actions need."
	transport.Handle(t, a.desk, op("applyMacro", conversationPath+"/macro", "Apply a macro",
		"Does the actions of a saved reply, and sends nothing. To send its text as well, create an interaction with saved_reply_id. "+needs),
		func(ctx context.Context, d *helpdesk.Desk, in macroApply) (conversation, error) {
			if err := mayExpand(d, in.Expand); err != nil {
				return conversation{}, err
			}
			c, err := d.Conversations().ApplyMacro(ctx, in.ConversationID, in.SavedReplyID)
			return one(ctx, d, c, err, in.Expand, showConversations)
		})
	transport.HandlePage(t, a.desk, op("applyMacroToConversations", conversationsPath+"/bulk/macro", "Apply a macro to conversations",
		"To at most 100, all or none. Returns them by id. 422 if one does not exist; `errors` names it. "+needs),
		func(ctx context.Context, d *helpdesk.Desk, in macroBulk) (storage.Page[conversation], error) {
			if err := mayExpand(d, in.Expand); err != nil {
				return storage.Page[conversation]{}, err
			}
			all, err := d.Conversations().ApplyMacroToAll(ctx, in.Conversations, in.SavedReplyID)
			if err != nil {
				return storage.Page[conversation]{}, err
			}
			shown, err := showConversations(ctx, d, all, in.Expand)
			return storage.Page[conversation]{Items: shown}, err
		})
}

func showSavedReply(d *helpdesk.Desk, r helpdesk.SavedReply) savedReply {
	return savedReply{
		ID: r.ID, AccountID: d.AccountID(), UserID: idOrNull(r.UserID), IsShared: r.UserID == 0, Name: r.Name, Body: r.Body, Actions: showActions(r.Actions),
		CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
}
