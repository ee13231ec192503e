package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// atConversation is a member present at a conversation, as the API shows it.
type atConversation struct {
	ConversationID int64          `json:"conversation_id"`
	UserID         int64          `json:"user_id"`
	Doing          string         `json:"doing" enum:"reading,replying"`
	SeenAt         transport.Time `json:"seen_at" description:"When they last reported it. They count as gone after 45 seconds."`
}

type presenceInput struct {
	conversationID
	Doing string `json:"doing" required:"true" enum:"reading,replying,gone"`
}

type presenceList struct {
	ConversationID numbers `query:"conversation_id" required:"true" description:"At most 100 ids."`
	transport.Paging
}

func (a *api) addPresence(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Conversations", Summary: summary, Description: description + " Needs conversations.view."}
	}
	transport.HandlePage(t, a.desk, op("setPresence", http.MethodPut, conversationPath+"/presence", "Report presence in a conversation",
		"Returns who is present, including the caller. Presence expires after 45 seconds. Changes emit the event conversation.presence; the conversation itself does not change."),
		func(ctx context.Context, d *helpdesk.Desk, in presenceInput) (storage.Page[atConversation], error) {
			there, err := d.Conversations().Present(ctx, in.ConversationID, helpdesk.Doing(in.Doing))
			return showPresence(there), err
		})
	transport.HandlePage(t, a.desk, op("listPresence", http.MethodGet, accountPath+"/presence", "List who is present in conversations",
		"By conversation and user. Conversations out of reach are omitted."),
		func(ctx context.Context, d *helpdesk.Desk, in presenceList) (storage.Page[atConversation], error) {
			there, err := d.Conversations().PresenceOf(ctx, in.ConversationID)
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
		shown[i] = atConversation{ConversationID: p.ConversationID, UserID: p.UserID, Doing: string(p.Doing), SeenAt: transport.Time(p.SeenAt)}
	}
	return storage.Page[atConversation]{Items: shown}
}
