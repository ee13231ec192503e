package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// historyEntry as the API shows it.
type historyEntry struct {
	Type          string                 `json:"type" enum:"change,interaction" description:"What entry it is. More may be added."`
	At            transport.Time         `json:"at" description:"When it happened, or when it was said."`
	Events        []string               `json:"events" description:"Of a change: the types of its events, such as conversation.updated and conversation.closed."`
	EventID       *string                `json:"event_id" description:"Of a change: the id of its first event." example:"42"`
	InteractionID *int64                 `json:"interaction_id" description:"The interaction that was added, or that the change is about. Null: the conversation changed."`
	Actor         actor                  `json:"actor"`
	UserID        *int64                 `json:"user_id" description:"The user who acted, also with a token."`
	Changes       map[string]fieldChange `json:"changes" description:"By field."`
	Why           *historyReason         `json:"why" description:"Why it happened, if it is not just somebody's decision."`
}

// actor is who or what caused something.
type actor struct {
	Type string `json:"type" enum:"user,customer,token,rule,sla,team,mail,system" description:"customer: who wrote, by mail or in a portal. token: a program with a user's access token. mail: a message without a customer, such as a delivery report. system: the server itself. More may be added."`
	ID   *int64 `json:"id" description:"Of the user, customer, token, rule, SLA or team, or of the message in the ledger. Null for system."`
}

// fieldChange is what became of a field.
type fieldChange subscription.Change

// MarshalJSON implements json.Marshaler.
func (c fieldChange) MarshalJSON() ([]byte, error) { return subscription.Change(c).MarshalJSON() }

// EncodedAs describes the JSON to the document's generator.
func (fieldChange) EncodedAs() any { return changedField{} }

// changedField is the JSON of a fieldChange.
type changedField struct {
	From    any     `json:"from,omitempty" description:"The former value; null: none. Absent with to if the values are not told, because they are personal or text: of subjects, bodies, recipients and customers. A mailbox out of reach is absent, too."`
	To      any     `json:"to,omitempty" description:"The new value."`
	Added   []int64 `json:"added,omitempty" description:"Of tags, instead of from and to."`
	Removed []int64 `json:"removed,omitempty" description:"Of tags, instead of from and to."`
}

// historyRating is a rating that was given or changed.
type historyRating struct {
	Score   int              `json:"score" description:"From 1 to scale."`
	Scale   int              `json:"scale" description:"2, 3 or 5. The best score."`
	Verdict helpdesk.Verdict `json:"verdict" enum:"good,neutral,bad" description:"What the score means, whatever the scale."`
}

// historyReason as the API shows it.
type historyReason struct {
	Reason        *string        `json:"reason" description:"Of a scheduled reply that was not sent: customer, answer, spam, merge or split." example:"customer"`
	Via           *string        `json:"via" description:"email: a member's mail to the help desk did it."`
	InteractionID *int64         `json:"interaction_id" description:"The interaction that caused it."`
	FromID        *int64         `json:"from_conversation_id" description:"The conversation that was merged into this one, or that the interaction came from."`
	FromNumber    *int64         `json:"from_conversation_number" description:"Number of the conversation that was merged into this one."`
	IntoID        *int64         `json:"into_conversation_id" description:"The conversation that interactions of this one became."`
	RuleVersion   *int64         `json:"rule_version" description:"Of the rule that is the actor."`
	Rating        *historyRating `json:"rating,omitempty" description:"The rating that was given or changed."`
	RuleRunID     *int64         `json:"rule_run_id" description:"The run of that rule, which has the conditions that held."`
	MacroID       *int64         `json:"macro_id" description:"The saved reply whose actions did it. It may be gone, or another member's own."`

	Target     *historyTarget    `json:"target" description:"Of an SLA that acted: the target that became due soon, was breached or was met."`
	Assignment *assignmentReason `json:"assignment" description:"Of what a team did by itself: why it gave the conversation to a member, or took it back, and the conditions that held."`
}

// historyTarget is a target of an SLA.
type historyTarget struct {
	Kind  sla.Kind        `json:"kind" enum:"first_reply,next_reply,resolution" description:"What it is about."`
	DueAt *transport.Time `json:"due_at" description:"When it was due."`
}

// assignmentReason as the API shows it.
type assignmentReason struct {
	Reason   string `json:"reason" enum:"turn,least_busy,known,away" description:"turn: it was the member's turn. least_busy: had the fewest open conversations. known: had the customer's last conversation. away: the member was away for too long, and lost it. More may be added."`
	Strategy string `json:"strategy" enum:"round_robin,balanced" description:"Of the team, then."`
	Who      string `json:"who" enum:"available,scheduled,all" description:"Of the team, then."`
	Capacity *int   `json:"capacity" description:"Of the team, then. Null: no limit."`
	Load     int    `json:"load" description:"Open conversations that the member had before."`
	Free     int    `json:"free" description:"Members who could take it."`
	Of       int    `json:"of" description:"Members of the team."`
	Hours    *int   `json:"hours" description:"Of away: the team's return_after."`
}

func showAssignmentReason(r helpdesk.AssignmentReason) *assignmentReason {
	if r == (helpdesk.AssignmentReason{}) {
		return nil
	}
	number := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	return &assignmentReason{
		Reason: string(r.Reason), Strategy: string(r.Strategy), Who: string(r.Who), Capacity: number(r.Capacity),
		Load: r.Load, Free: r.Free, Of: r.Of, Hours: number(r.Hours),
	}
}

type historyList struct {
	conversationID
	transport.Paging
	Type     string `query:"type" enum:"change,interaction" description:"Only these entries."`
	SortType string `query:"sort_type" enum:"asc,desc" default:"asc" description:"desc: newest first."`
}

// CheckInput refuses unknown types and orders.
func (in *historyList) CheckInput(problem func(field, text string)) {
	if in.Type != "" {
		among(problem, "type", in.Type, string(helpdesk.HistoryChange), string(helpdesk.HistoryInteraction))
	}
	if in.SortType != "" {
		among(problem, "sort_type", in.SortType, "asc", "desc")
	}
}

func (a *api) addHistory(t *transport.Table) {
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listConversationHistory", Method: http.MethodGet, Path: conversationPath + "/history", Tag: "Conversations",
		Summary: "List a conversation's history",
		Description: "Who changed what from what to what, and why, and the interactions in between, oldest first. Changes come from the log " +
			"of events: they go back as far as the server keeps it (90 days by default), and those of mailboxes out of reach are omitted. " +
			"Needs conversations.view; interactions are listed for those who may view them.",
	}, a.listConversationHistory)
}

func (a *api) listConversationHistory(ctx context.Context, d *helpdesk.Desk, in historyList) (storage.Page[historyEntry], error) {
	query := helpdesk.HistoryQuery{Type: helpdesk.HistoryType(in.Type), Newest: in.SortType == "desc"}
	page, err := d.Conversations().History(ctx, in.ConversationID, query, in.Request())
	return mapPage(page, showHistory), err
}

func showHistory(e helpdesk.HistoryEntry) historyEntry {
	out := historyEntry{
		Type: string(e.Type), At: transport.Time(e.At), Events: listed(e.Events), InteractionID: idOrNull(e.InteractionID),
		Actor: actor{string(e.Actor.Type), idOrNull(e.Actor.ID)}, UserID: idOrNull(e.UserID), Changes: map[string]fieldChange{},
	}
	if e.Seq != 0 {
		out.EventID = textOrNull(strconv.FormatInt(e.Seq, 10))
	}
	for field, c := range e.Changes {
		out.Changes[field] = fieldChange(c)
	}
	if why := e.Why; why != (helpdesk.HistoryReason{}) {
		out.Why = &historyReason{
			Reason: textOrNull(why.Reason), Via: textOrNull(why.Via), InteractionID: idOrNull(why.InteractionID), FromID: idOrNull(why.From),
			FromNumber: idOrNull(why.Number), IntoID: idOrNull(why.Into), RuleVersion: idOrNull(int64(why.RuleVersion)), RuleRunID: idOrNull(why.RuleRunID), MacroID: idOrNull(why.MacroID),
			Assignment: showAssignmentReason(why.Assignment),
		}
		if why.Score != 0 {
			out.Why.Rating = &historyRating{why.Score, why.Scale, why.Verdict}
		}
		if why.Target.Kind != "" {
			out.Why.Target = &historyTarget{why.Target.Kind, transport.TimePtr(&why.Target.DueAt)}
		}
	}
	return out
}
