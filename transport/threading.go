package transport

import (
	"context"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
)

// threading explains why a mail is in its conversation.
type threading struct {
	Rule    string          `json:"rule" enum:"token,references,colleague,report,new" description:"By which it was filed: a genuine reply token, a reference to a mail of a conversation that its sender or a colleague takes part in, a report on one of its answers, or none of these."`
	Matched *string         `json:"matched" description:"Message-ID that decided."`
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

// explanation tells all that led an interaction to where it is.
type explanation struct {
	ConversationID int64   `json:"conversation_id"`
	Rule           *string `json:"rule" enum:"token,references,colleague,report,new,split,rethread,merge" description:"How it came to be in its conversation; null when it was written there."`
	Explanation    string  `json:"explanation" description:"All that follows, in English sentences, one on each line."`

	Filed          *filed              `json:"filed" description:"What the rules of threading found; null when it came by no mail."`
	Moves          []move              `json:"moves" description:"Since it was filed or written, in order."`
	AutoSubmitted  bool                `json:"auto_submitted" description:"A machine wrote it (RFC 3834)."`
	Authentication *mailAuthentication `json:"authentication" description:"Whether it comes from the domain that its From names; null when that is not known."`
}

// filed is what the rules of threading found.
type filed struct {
	threading
	Token      *int64 `json:"token_conversation_id" description:"Conversation that a genuine reply token names."`
	References int    `json:"references" description:"Message-IDs that it refers to, at most 200."`
	Known      int    `json:"known" description:"Mails of the mailbox that have one of them."`
}

// move is what took an interaction into another conversation.
type move struct {
	Rule      string `json:"rule" enum:"split,rethread,merge"`
	FromID    *int64 `json:"from_conversation_id" description:"Null when it is of a mailbox that the member does not reach."`
	IntoID    *int64 `json:"into_conversation_id" description:"As from_conversation_id."`
	UserID    *int64 `json:"user_id" description:"Who did it."`
	CreatedAt Time   `json:"created_at"`
}

type rethreadInput struct {
	interactionID
	expanding
	Conversation int64 `json:"conversation" description:"Id of the conversation that takes it. Without it the rules of threading decide, as if the mail came now."`
}

func (a *api) addThreading(t *Table) {
	Handle(t, a.desk, Operation{
		ID: "getThreading", Method: http.MethodGet, Path: interactionPath + "/threading", Tag: "Interactions",
		Summary: "Explain why an interaction is in its conversation",
		Description: "Which rule matched, which conversations were refused and why, and who has moved it since. Conversations that the " +
			"member does not reach are left out. Needs interactions.view.",
	}, a.getThreading)
	Handle(t, a.desk, Operation{
		ID: "rethreadInteraction", Method: http.MethodPost, Path: interactionPath + "/rethread", Tag: "Interactions", Bare: true,
		Expand:  []string{"user", "posted_by", "customer", "attachments"},
		Summary: "Move an interaction into another conversation",
		Description: "Into the one that is named, or to where the rules of threading put a customer's mail now: a conversation that it " +
			"answers, or a new one. Answers to it come there. A conversation in which nothing is left is merged into the other one. " +
			"409 to apply rules to what came by no mail. Needs conversations.update, and conversations.create when it becomes a new one.",
	}, a.rethreadInteraction)
}

func (a *api) getThreading(ctx context.Context, d *helpdesk.Desk, in interactionID) (explanation, error) {
	e, err := d.ExplainThreading(ctx, in.ConversationID, in.InteractionID)
	return showExplanation(e), err
}

func (a *api) rethreadInteraction(ctx context.Context, d *helpdesk.Desk, in rethreadInput) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	if in.Conversation == 0 {
		i, err := d.Rethread(ctx, in.ConversationID, in.InteractionID)
		return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
	}
	i, err := d.MoveInteraction(ctx, in.ConversationID, in.InteractionID, in.Conversation)
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
			Rule: m.Rule, FromID: idOrNull(m.FromID), IntoID: idOrNull(m.IntoID), UserID: idOrNull(m.UserID), CreatedAt: Time(m.CreatedAt),
		}
	}
	return out
}

func showThreading(t helpdesk.Threading) *threading {
	return &threading{Rule: t.Rule, Matched: textOrNull(t.Matched), Refused: showRefused(t.Refused)}
}
