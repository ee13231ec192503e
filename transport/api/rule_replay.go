package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// ruleReplay as the API shows it.
type ruleReplay struct {
	ID         int64                `json:"id"`
	RuleID     *int64               `json:"rule_id" description:"The stored rule; null: it was not stored."`
	From       transport.Time       `json:"from" description:"The time that is looked at begins."`
	To         transport.Time       `json:"to" description:"It ends."`
	State      helpdesk.ReplayState `json:"state" enum:"running,done,failed" description:"How far it is."`
	Reason     *string              `json:"reason" description:"Why it failed."`
	Percent    int                  `json:"percent" description:"How much of the time it has looked at."`
	Examined   int                  `json:"examined" description:"Conversations in which something happened that the rule listens to."`
	Changed    int                  `json:"changed" description:"Those among them that the rule would have changed."`
	Unknown    int                  `json:"unknown" description:"Those of which that cannot be told any more, because fields in lost have changed since."`
	Gone       int                  `json:"gone" description:"Conversations that were deleted or merged since. They are not in examined."`
	Lost       []string             `json:"lost" description:"Fields of conditions whose values at the time are not known any more."`
	CreatedAt  transport.Time       `json:"created_at"`
	FinishedAt *transport.Time      `json:"finished_at" description:"Null: it is running."`
}

// replayedConversation is a conversation that a rule would have changed.
type replayedConversation struct {
	ConversationID int64                 `json:"conversation_id"`
	EventID        string                `json:"event_id" description:"Of the event, as in the log."`
	Event          string                `json:"event" description:"Its type; time: the hours after it had passed."`
	At             transport.Time        `json:"at" description:"When the rule would have acted first."`
	Changes        map[string]ruleChange `json:"changes" description:"By field."`
	Actions        []string              `json:"actions" description:"What it would have done besides, such as a reply."`
	OtherRules     []int64               `json:"other_rules" description:"Rules that did change the conversation then."`
}

type replayInput struct {
	RuleID  int64                     `json:"rule_id" description:"A stored rule. What else is given replaces parts of it."`
	On      storage.Opt[[]string]     `json:"on" maxItems:"50" description:"As of a rule; required without rule_id."`
	After   storage.Opt[ruleAfter]    `json:"after" description:"As of a rule."`
	Match   storage.Opt[ruleMatch]    `json:"match" description:"As of a rule."`
	Actions storage.Opt[[]ruleAction] `json:"actions" maxItems:"20" description:"As of a rule; required without rule_id."`
	Stop    storage.Opt[bool]         `json:"stop" description:"As of a rule."`
	From    storage.Opt[time.Time]    `json:"from" description:"At most 90 days ago. Default: 30 days before to."`
	To      storage.Opt[time.Time]    `json:"to" description:"Default: now."`
}

type replayID struct {
	ReplayID int64 `path:"replay_id"`
}

type replayedPage struct {
	replayID
	transport.Paging
}

const replayPath = rulesPath + "/replays/{replay_id}"

// addReplays registers the operations about replays of rules.
func (a *api) addReplays(t *transport.Table, op func(id, method, path, summary, description string) transport.Operation) {
	transport.Handle(t, a.desk, op("replayRule", http.MethodPost, rulesPath+"/replay", "Replay a rule",
		"Begins to find out which conversations a rule, stored or not, would have changed in some time, and changes nothing. Each conversation is taken as it "+
			"was then, with calendars, saved replies and fields as they are today. Get the replay to see how far it is; it is kept for seven days. At most five "+
			"run at a time: 409. Needs rules.view, conversations.view and what the rule would need."),
		func(ctx context.Context, d *helpdesk.Desk, in replayInput) (ruleReplay, error) {
			update := ruleUpdate{On: in.On, After: in.After, Match: in.Match, Actions: in.Actions, Stop: in.Stop}
			r, err := d.Rules().Replay(ctx, helpdesk.ReplayInput{
				RuleID: in.RuleID, Rule: update.input(), From: in.From.Or(time.Time{}), To: in.To.Or(time.Time{}),
			})
			return showReplay(r), err
		})
	transport.Handle(t, a.desk, op("getReplay", http.MethodGet, replayPath, "Get a replay", "One that the caller began. Needs rules.view."),
		func(ctx context.Context, d *helpdesk.Desk, in replayID) (ruleReplay, error) {
			r, err := d.Rules().ReplayOf(ctx, in.ReplayID)
			return showReplay(r), err
		})
	transport.HandlePage(t, a.desk, op("listReplayedConversations", http.MethodGet, replayPath+"/conversations", "List the conversations of a replay",
		"Those that the rule would have changed, as far as the replay is. Needs rules.view and conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in replayedPage) (storage.Page[replayedConversation], error) {
			page, err := d.Rules().Replayed(ctx, in.ReplayID, in.Request())
			return mapPage(page, showReplayed), err
		})
	transport.HandleEmpty(t, a.desk, slow(op("deleteReplay", http.MethodDelete, replayPath, "Delete a replay", "If it is running, it ends. Needs rules.view.")),
		func(ctx context.Context, d *helpdesk.Desk, in replayID) error {
			return d.Rules().CancelReplay(ctx, in.ReplayID)
		})
}

func showReplay(r helpdesk.RuleReplay) ruleReplay {
	return ruleReplay{
		ID: r.ID, RuleID: idOrNull(r.RuleID), From: transport.Time(r.From), To: transport.Time(r.To), State: r.State, Reason: textOrNull(r.Reason),
		Percent: r.Percent, Examined: r.Examined, Changed: r.Changed, Unknown: r.Unknown, Gone: r.Gone, Lost: listed(r.Lost),
		CreatedAt: transport.Time(r.CreatedAt), FinishedAt: transport.TimePtr(&r.FinishedAt),
	}
}

func showReplayed(c helpdesk.ReplayedConversation) replayedConversation {
	return replayedConversation{
		ConversationID: c.ConversationID, EventID: strconv.FormatInt(c.EventID, 10), Event: c.Event, At: transport.Time(c.At),
		Changes: showRuleChanges(c.Changes), Actions: listed(c.Actions), OtherRules: append([]int64{}, c.Others...),
	}
}
