package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

type bulkUpdate struct {
	expanding
	Conversations []int64              `json:"conversations" required:"true" maxItems:"100" description:"Ids."`
	Status        storage.Opt[string]  `json:"status" enum:"posted,draft,pending,closed"`
	UserID        storage.Opt[int64]   `json:"user_id" description:"Null or empty: none."`
	TeamID        storage.Opt[int64]   `json:"team_id" description:"Null or empty: none."`
	MailboxID     storage.Opt[int64]   `json:"mailbox_id"`
	Tags          storage.Opt[[]int64] `json:"tags" maxItems:"100" description:"Ids of the tags to set. Empty: none."`

	SnoozedUntil storage.Opt[time.Time] `json:"snoozed_until" description:"Snoozes them until then or until the customer writes. Null wakes them."`
	Priority     storage.Opt[string]    `json:"priority" enum:"low,normal,high,urgent"`
	Fields       fieldValues            `json:"fields" description:"Values of fields. By key: a text, a number, true or false, the value of an option, a date such as 2026-01-31, a time, or a list for a multiselect. Null or empty: none. Omitted keys stay unchanged."`
	Spam         storage.Opt[bool]      `json:"spam" description:"True closes them as spam; false reopens those that were spam."`
}

type mergeInput struct {
	conversationID
	expanding
	Into int64 `json:"into" description:"Id of the conversation to merge into. Default: that of refers_to."`
}

type splitInput struct {
	conversationID
	expanding
	Interaction  int64   `json:"interaction" description:"Id of the first interaction to move; all later ones move too. Either this or interactions is required."`
	Interactions []int64 `json:"interactions" maxItems:"100" description:"Ids of the interactions to move."`
	Subject      string  `json:"subject" maxLength:"998" description:"Subject of the new conversation. Default: that of the first moved mail, or of the conversation."`
}

// addOrganising adds the operations that organise conversations.
func (a *api) addOrganising(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Conversations", Summary: summary, Description: description,
			Expand: []string{"user", "team", "mailbox", "customer"}}
	}
	transport.HandlePage(t, a.desk, op("updateConversations", http.MethodPut, conversationsPath+"/bulk", "Update conversations",
		"At most 100, all or none. Omitted fields stay unchanged. Returns them by id. 404 if one does not exist; `errors` names "+
			"it. Needs conversations.update, and conversations.assign to set user_id or team_id."), a.updateConversations)
	transport.Handle(t, a.desk, op("readConversation", http.MethodPost, conversationPath+"/read", "Mark a conversation as read",
		"For the caller: unread_count then counts only later customer interactions. Answering also marks it as read; retrieving "+
			"does not. Needs conversations.view."), a.marking(helpdesk.Conversations.MarkRead))
	transport.Handle(t, a.desk, op("unreadConversation", http.MethodPost, conversationPath+"/unread", "Mark a conversation as unread",
		"For the caller: unread_count then counts all customer interactions. Needs conversations.view."), a.marking(helpdesk.Conversations.MarkUnread))
	transport.Handle(t, a.desk, op("mergeConversation", http.MethodPost, conversationPath+"/merge", "Merge a conversation into another one",
		"Moves its interactions, participants and tags to the other conversation and removes it. Answers to its mails go to the "+
			"other one, which keeps its customer, subject, mailbox and assignee. Returns the other conversation. Needs "+
			"conversations.update."), a.mergeConversation)
	split := op("splitConversation", http.MethodPost, conversationPath+"/split", "Split a conversation in two",
		"Moves an interaction and all later ones, or the listed ones, to a new open conversation with the same mailbox and "+
			"assignee. Its customer is the sender of its first customer message. Answers to what has moved go to the new one. At "+
			"least one interaction must stay. Returns the new conversation. Needs conversations.update and conversations.create.")
	split.Status, split.Location = http.StatusCreated, conversationsPath+"/{id}"
	transport.Handle(t, a.desk, split, a.splitConversation)
}

func (a *api) updateConversations(ctx context.Context, d *helpdesk.Desk, in bulkUpdate) (storage.Page[conversation], error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return storage.Page[conversation]{}, err
	}
	all, err := d.Conversations().UpdateAll(ctx, in.Conversations, helpdesk.BulkUpdate{
		Status: asNamed[helpdesk.Status](in.Status), UserID: in.UserID, TeamID: in.TeamID, MailboxID: in.MailboxID, TagIDs: in.Tags,
		SnoozedUntil: in.SnoozedUntil, Priority: asNamed[helpdesk.Priority](in.Priority), Spam: in.Spam, Fields: in.Fields.texts(),
	})
	if err != nil {
		return storage.Page[conversation]{}, err
	}
	shown, err := showConversations(ctx, d, all, in.Expand)
	return storage.Page[conversation]{Items: shown}, err
}

// marking makes an operation from a method that moves the caller's read mark.
func (a *api) marking(mark func(helpdesk.Conversations, context.Context, int64) (helpdesk.Conversation, error)) func(context.Context, *helpdesk.Desk, conversationGet) (conversation, error) {
	return func(ctx context.Context, d *helpdesk.Desk, in conversationGet) (conversation, error) {
		if err := mayExpand(d, in.Expand); err != nil {
			return conversation{}, err
		}
		c, err := mark(d.Conversations(), ctx, in.ConversationID)
		return one(ctx, d, c, err, in.Expand, showConversations)
	}
}

func (a *api) mergeConversation(ctx context.Context, d *helpdesk.Desk, in mergeInput) (conversation, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return conversation{}, err
	}
	c, err := d.Conversations().Merge(ctx, in.ConversationID, in.Into)
	return one(ctx, d, c, err, in.Expand, showConversations)
}

func (a *api) splitConversation(ctx context.Context, d *helpdesk.Desk, in splitInput) (conversation, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return conversation{}, err
	}
	c, err := d.Conversations().Split(ctx, in.ConversationID, helpdesk.SplitInput{
		InteractionID: in.Interaction, InteractionIDs: in.Interactions, Subject: in.Subject,
	})
	return one(ctx, d, c, err, in.Expand, showConversations)
}
