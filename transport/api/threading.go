package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport"
)

// threading explains why a mail is in its conversation.
type threading struct {
	Rule    string          `json:"rule" enum:"token,references,colleague,report,new" description:"Rule by which it was filed: a valid reply token, a reference to a mail in a conversation that its sender or a colleague takes part in, a delivery report on one of its answers, or none."`
	Matched *string         `json:"matched" description:"Message-ID that decided the match."`
	Refused []refusedThread `json:"refused" description:"Conversations that were candidates."`
}

type refusedThread struct {
	ConversationID int64  `json:"conversation_id"`
	Reason         string `json:"reason"`
}

func showRefused(all []helpdesk.RefusedThread) []refusedThread {
	out := make([]refusedThread, len(all))
	for n, r := range all {
		out[n] = refusedThread{ConversationID: r.ConversationID, Reason: r.Reason}
	}
	return out
}

// explanation lists everything that led to an interaction's place.
type explanation struct {
	ConversationID int64   `json:"conversation_id"`
	Rule           *string `json:"rule" enum:"token,references,colleague,report,new,split,rethread,merge" description:"How it came into its conversation. Null if it was written there."`
	Explanation    string  `json:"explanation" description:"The same in English sentences, one per line."`

	Filed          *filed              `json:"filed" description:"What the threading rules found. Null if it did not come by mail."`
	Moves          []move              `json:"moves" description:"Moves since it was filed or written, in order."`
	AutoSubmitted  bool                `json:"auto_submitted" description:"Whether a machine wrote it (RFC 3834)."`
	Authentication *mailAuthentication `json:"authentication" description:"Whether it comes from the domain in its From. Null if unknown."`
}

// filed is the result of the threading rules.
type filed struct {
	threading
	Token      *int64 `json:"token_conversation_id" description:"Conversation that a valid reply token names."`
	References int    `json:"references" description:"Message-IDs it refers to, at most 200."`
	Known      int    `json:"known" description:"Mails of the mailbox with one of these Message-IDs."`
}

// move is a move of an interaction into another conversation.
type move struct {
	Rule      string         `json:"rule" enum:"split,rethread,merge"`
	FromID    *int64         `json:"from_conversation_id" description:"Null if it is in a mailbox the member cannot reach."`
	IntoID    *int64         `json:"into_conversation_id" description:"Like from_conversation_id."`
	UserID    *int64         `json:"user_id" description:"Who did it."`
	CreatedAt transport.Time `json:"created_at"`
}

type rethreadInput struct {
	interactionID
	expanding
	Conversation int64 `json:"conversation" description:"Id of the conversation to move it to. Without it, the threading rules decide as if the mail arrived now."`
}

func (a *api) addThreading(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getThreading", Method: http.MethodGet, Path: interactionPath + "/threading", Tag: "Interactions",
		Summary: "Explain why an interaction is in its conversation",
		Description: "Which rule matched, which conversations were rejected and why, and who has moved it since. Conversations out of the " +
			"member's reach are omitted. Needs interactions.view.",
	}, a.getThreading)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "rethreadInteraction", Method: http.MethodPost, Path: interactionPath + "/rethread", Tag: "Interactions", Bare: true,
		Expand:  []string{"user", "posted_by", "customer", "attachments"},
		Summary: "Move an interaction to another conversation",
		Description: "Moves it to the given conversation, or to where the threading rules would file a customer's mail now: the conversation " +
			"it answers, or a new one. Answers to it follow. A conversation that becomes empty is merged into the other one. 409 to " +
			"apply the rules to something that did not come by mail. Needs conversations.update, and conversations.create if a new " +
			"one is created.",
	}, a.rethreadInteraction)
}

func (a *api) getThreading(ctx context.Context, d *helpdesk.Desk, in interactionID) (explanation, error) {
	e, err := d.Interactions().ExplainThreading(ctx, in.ConversationID, in.InteractionID)
	return showExplanation(e), err
}

func (a *api) rethreadInteraction(ctx context.Context, d *helpdesk.Desk, in rethreadInput) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	if in.Conversation == 0 {
		i, err := d.Interactions().Rethread(ctx, in.ConversationID, in.InteractionID)
		return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
	}
	i, err := d.Interactions().Move(ctx, in.ConversationID, in.InteractionID, in.Conversation)
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

func showExplanation(e helpdesk.ThreadingExplanation) explanation {
	out := explanation{
		ConversationID: e.ConversationID, Rule: textOrNull(e.Rule), Explanation: strings.Join(e.Words, "\n"),
		AutoSubmitted: e.AutoSubmitted, Authentication: showAuthentication(e.Authentication), Moves: make([]move, len(e.Moves)),
	}
	if t := e.Filed; t.Rule != "" {
		out.Filed = &filed{
			threading: *showThreading(t), Token: idOrNull(t.Token), References: t.References, Known: t.Known,
		}
	}
	for n, m := range e.Moves {
		out.Moves[n] = move{
			Rule: m.Rule, FromID: idOrNull(m.FromID), IntoID: idOrNull(m.IntoID), UserID: idOrNull(m.UserID), CreatedAt: transport.Time(m.CreatedAt),
		}
	}
	return out
}

func showThreading(t helpdesk.Threading) *threading {
	return &threading{Rule: t.Rule, Matched: textOrNull(t.Matched), Refused: showRefused(t.Refused)}
}
