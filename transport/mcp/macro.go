package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// addMacros adds the tools for saved replies with their actions, and for what acts by itself.
func (v *visit) addMacros(s *mcp.Server) {
	if v.may(identity.InteractionsView) {
		add(v, s, reads("list_saved_replies", "List saved replies",
			"Lists the texts that the team answers with again and again, and what is done with each: those with actions are macros."), v.listSavedReplies)
	}
	if v.may(identity.ConversationsView, identity.InteractionsView, identity.ConversationsUpdate) {
		add(v, s, writes("apply_macro", "Apply a macro",
			"Does the actions of a saved reply in a conversation, such as closing it. The customer gets nothing. Nothing is done if one action is not possible."), v.applyMacro)
	}
	if v.may(identity.RulesView) {
		add(v, s, reads("list_rules", "List rules",
			"Lists the rules that act by themselves, in their order: at which events, under which conditions, and what they do."), v.listRules)
	}
}

// action is what a macro or a rule does.
type action struct {
	Type   string   `json:"type" jsonschema:"such as set_status, set_priority, add_tags or assign_team"`
	Field  string   `json:"field,omitempty" jsonschema:"key of the field that set_field sets"`
	Values []string `json:"values,omitempty" jsonschema:"the value, or ids of users, teams, tags, mailboxes"`
}

func showActions(all []rules.Action) []action {
	out := make([]action, len(all))
	for i, a := range all {
		values := a.Values
		if a.Type == rules.AddNote && len(values) > 0 {
			values = []string{cut(mailhtml.Text(values[0]), maxMessage)}
		}
		out[i] = action{Type: string(a.Type), Field: a.Field, Values: values}
	}
	return out
}

type cursorInput struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type savedReplyRow struct {
	ID      int64    `json:"id"`
	Name    string   `json:"name"`
	Text    string   `json:"text" jsonschema:"with placeholders; absent in a macro of actions only"`
	Actions []action `json:"actions"`
	Shared  bool     `json:"shared" jsonschema:"false: only you have it"`
}

type savedReplyPage struct {
	SavedReplies []savedReplyRow `json:"saved_replies"`
	NextCursor   string          `json:"next_cursor,omitempty" jsonschema:"absent: there are no more"`
}

func (v *visit) listSavedReplies(ctx context.Context, in cursorInput) (out savedReplyPage, err error) {
	page, err := v.desk.SavedReplies().List(ctx, "", storage.PageRequest{Limit: pageSize, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out = savedReplyPage{SavedReplies: make([]savedReplyRow, len(page.Items)), NextCursor: page.Next}
	for i, r := range page.Items {
		out.SavedReplies[i] = savedReplyRow{ID: r.ID, Name: r.Name, Text: cut(mailhtml.Text(r.Body), maxMessage), Actions: showActions(r.Actions), Shared: r.UserID == 0}
	}
	return out, nil
}

type macroInput struct {
	ConversationID int64 `json:"conversation_id"`
	SavedReplyID   int64 `json:"saved_reply_id" jsonschema:"one of list_saved_replies that has actions"`
}

func (v *visit) applyMacro(ctx context.Context, in macroInput) (out conversation, err error) {
	c, err := v.desk.Conversations().ApplyMacro(ctx, in.ConversationID, in.SavedReplyID)
	if err != nil {
		return out, err
	}
	return v.conversation(c), nil
}

type condition struct {
	Field  string   `json:"field"`
	Op     string   `json:"op"`
	Values []string `json:"values,omitempty"`
}

type ruleRow struct {
	ID      int64       `json:"id"`
	Name    string      `json:"name"`
	State   string      `json:"state" jsonschema:"active, dry (it only watches) or off"`
	On      []string    `json:"on" jsonschema:"types of events"`
	All     []condition `json:"all" jsonschema:"all of these must hold"`
	Any     []condition `json:"any" jsonschema:"at least one of these must hold, unless there are none"`
	Actions []action    `json:"actions"`
	Stop    bool        `json:"stop,omitempty" jsonschema:"no later rule runs"`
}

type rulePage struct {
	Rules      []ruleRow `json:"rules"`
	NextCursor string    `json:"next_cursor,omitempty" jsonschema:"absent: there are no more"`
}

func (v *visit) listRules(ctx context.Context, in cursorInput) (out rulePage, err error) {
	page, err := v.desk.Rules().List(ctx, storage.PageRequest{Limit: pageSize, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out = rulePage{Rules: make([]ruleRow, len(page.Items)), NextCursor: page.Next}
	for i, r := range page.Items {
		out.Rules[i] = showRule(r)
	}
	return out, nil
}

func showRule(r helpdesk.Rule) ruleRow {
	conditions := func(all []rules.Condition) []condition {
		out := make([]condition, len(all))
		for i, c := range all {
			out[i] = condition{Field: c.Field, Op: string(c.Op), Values: c.Values}
		}
		return out
	}
	return ruleRow{
		ID: r.ID, Name: r.Name, State: string(r.State), On: r.On, All: conditions(r.All), Any: conditions(r.Any), Actions: showActions(r.Actions), Stop: r.Stop,
	}
}
