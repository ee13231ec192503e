package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// atConversation is who is at a conversation, as the API shows it.
type atConversation struct {
	ConversationID int64  `json:"conversation_id"`
	UserID         int64  `json:"user_id"`
	Doing          string `json:"doing" enum:"reading,replying"`
	SeenAt         Time   `json:"seen_at" description:"When they said so last; 45 seconds later they are gone."`
}

type presenceInput struct {
	conversationID
	Doing string `json:"doing" required:"true" enum:"reading,replying,gone"`
}

type presenceList struct {
	ConversationID numbers `query:"conversation_id" required:"true" description:"At most 100 ids."`
	Paging
}

func (a *api) addPresence(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Conversations", Summary: summary, Description: description + " Needs conversations.view."}
	}
	HandlePage(t, a.desk, op("setPresence", http.MethodPut, conversationPath+"/presence", "Say what one does at a conversation",
		"Answers with who is there, the caller too. Who says nothing for 45 seconds is gone; a change makes the event conversation.presence, and is none of the conversation."),
		func(ctx context.Context, d *helpdesk.Desk, in presenceInput) (storage.Page[atConversation], error) {
			there, err := d.Present(ctx, in.ConversationID, helpdesk.Doing(in.Doing))
			return showPresence(there), err
		})
	HandlePage(t, a.desk, op("listPresence", http.MethodGet, accountPath+"/presence", "Tell who is at conversations",
		"By conversation and user; conversations out of reach are left out."),
		func(ctx context.Context, d *helpdesk.Desk, in presenceList) (storage.Page[atConversation], error) {
			there, err := d.PresenceOf(ctx, in.ConversationID)
			if err != nil {
				return storage.Page[atConversation]{}, err
			}
			return pageBy(in.Paging, showPresence(there).Items, func(p atConversation) storage.Position {
				return storage.Position{Key: p.ConversationID, ID: p.UserID}
			})
		})
}

func showPresence(there []helpdesk.Presence) storage.Page[atConversation] {
	shown := make([]atConversation, len(there))
	for i, p := range there {
		shown[i] = atConversation{ConversationID: p.ConversationID, UserID: p.UserID, Doing: string(p.Doing), SeenAt: Time(p.SeenAt)}
	}
	return storage.Page[atConversation]{Items: shown}
}
