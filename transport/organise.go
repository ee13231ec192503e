package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type bulkUpdate struct {
	expanding
	Conversations []int64              `json:"conversations" required:"true" maxItems:"100" description:"Ids."`
	Status        storage.Opt[string]  `json:"status" enum:"posted,draft,pending,closed"`
	UserID        storage.Opt[int64]   `json:"user_id" description:"Null or empty: none."`
	TeamID        storage.Opt[int64]   `json:"team_id" description:"Null or empty: none."`
	MailboxID     storage.Opt[int64]   `json:"mailbox_id"`
	Tags          storage.Opt[[]int64] `json:"tags" maxItems:"100" description:"Ids of tags that become the tags; empty: none."`

	SnoozedUntil storage.Opt[time.Time] `json:"snoozed_until" description:"Puts them off until then, or until the customer writes; null wakes them."`
	Priority     storage.Opt[string]    `json:"priority" enum:"low,normal,high,urgent"`
	Spam         storage.Opt[bool]      `json:"spam" description:"True closes them as spam; false opens those that were spam."`
}

type mergeInput struct {
	conversationID
	expanding
	Into int64 `json:"into" description:"Id of the conversation that takes everything; without it, that of refers_to."`
}

type splitInput struct {
	conversationID
	expanding
	Interaction  int64   `json:"interaction" description:"Id of an interaction that moves with all after it. Either this or interactions is required."`
	Interactions []int64 `json:"interactions" maxItems:"100" description:"Ids of the interactions that move."`
	Subject      string  `json:"subject" maxLength:"998" description:"That of the first mail that moves, or of the conversation, without it."`
}

// addOrganising adds what puts conversations into order.
func (a *api) addOrganising(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Conversations", Summary: summary, Description: description,
			Expand: []string{"user", "team", "mailbox", "customer"}}
	}
	HandlePage(t, a.desk, op("updateConversations", http.MethodPut, conversationsPath+"/bulk", "Update conversations",
		"All or none of at most 100; fields that are left out stay as they are. Answers with them by id. 404 when one of them does "+
			"not exist; `errors` names it. Needs conversations.update, and conversations.assign to set user_id or team_id."), a.updateConversations)
	Handle(t, a.desk, op("readConversation", http.MethodPost, conversationPath+"/read", "Mark a conversation as read",
		"For the caller: unread_count counts the customer's interactions that come from now on. Answering does so too, retrieving "+
			"does not. Needs conversations.view."), a.marking((*helpdesk.Desk).MarkRead))
	Handle(t, a.desk, op("unreadConversation", http.MethodPost, conversationPath+"/unread", "Mark a conversation as unread",
		"For the caller: unread_count counts all of the customer's interactions. Needs conversations.view."), a.marking((*helpdesk.Desk).MarkUnread))
	Handle(t, a.desk, op("mergeConversation", http.MethodPost, conversationPath+"/merge", "Merge a conversation into another one",
		"Its interactions, participants and tags move, answers to its mails come into the other one, and it is gone. The other one "+
			"keeps its customer, subject, mailbox and assignee, and is answered. Needs conversations.update."), a.mergeConversation)
	split := op("splitConversation", http.MethodPost, conversationPath+"/split", "Split a conversation in two",
		"An interaction and all after it, or those that are named, become a new conversation, which is answered: of the same mailbox and "+
			"assignee, open, with a number of its own, and with the sender of its first customer's message as its customer. Answers to "+
			"what has moved come into the new one. Something must stay. Needs conversations.update and conversations.create.")
	split.Status, split.Location = http.StatusCreated, conversationsPath+"/{id}"
	Handle(t, a.desk, split, a.splitConversation)
}

func (a *api) updateConversations(ctx context.Context, d *helpdesk.Desk, in bulkUpdate) (storage.Page[conversation], error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return storage.Page[conversation]{}, err
	}
	all, err := d.UpdateConversations(ctx, in.Conversations, helpdesk.BulkUpdate{
		Status: asNamed[helpdesk.Status](in.Status), UserID: in.UserID, TeamID: in.TeamID, MailboxID: in.MailboxID, TagIDs: in.Tags,
		SnoozedUntil: in.SnoozedUntil, Priority: asNamed[helpdesk.Priority](in.Priority), Spam: in.Spam,
	})
	if err != nil {
		return storage.Page[conversation]{}, err
	}
	shown, err := showConversations(ctx, d, all, in.Expand)
	return storage.Page[conversation]{Items: shown}, err
}

// marking makes an operation of a method that moves the caller's read mark.
func (a *api) marking(mark func(*helpdesk.Desk, context.Context, int64) (helpdesk.Conversation, error)) func(context.Context, *helpdesk.Desk, conversationGet) (conversation, error) {
	return func(ctx context.Context, d *helpdesk.Desk, in conversationGet) (conversation, error) {
		if err := mayExpand(d, in.Expand); err != nil {
			return conversation{}, err
		}
		c, err := mark(d, ctx, in.ConversationID)
		return one(ctx, d, c, err, in.Expand, showConversations)
	}
}

func (a *api) mergeConversation(ctx context.Context, d *helpdesk.Desk, in mergeInput) (conversation, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return conversation{}, err
	}
	c, err := d.MergeConversation(ctx, in.ConversationID, in.Into)
	return one(ctx, d, c, err, in.Expand, showConversations)
}

func (a *api) splitConversation(ctx context.Context, d *helpdesk.Desk, in splitInput) (conversation, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return conversation{}, err
	}
	c, err := d.SplitConversation(ctx, in.ConversationID, helpdesk.SplitInput{
		InteractionID: in.Interaction, InteractionIDs: in.Interactions, Subject: in.Subject,
	})
	return one(ctx, d, c, err, in.Expand, showConversations)
}
