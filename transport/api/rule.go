package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// rule as the API shows it.
type rule struct {
	ID             int64              `json:"id"`
	Name           string             `json:"name"`
	State          helpdesk.RuleState `json:"state" enum:"active,dry,off" description:"dry: it notes what it would do, and changes nothing."`
	DisabledReason *string            `json:"disabled_reason" enum:"orphaned" description:"Why it was switched off automatically: the member who last changed it has left the account, or could no longer create it. More values may be added."`
	Position       int64              `json:"position" description:"Rules run in this order."`
	On             []string           `json:"on" description:"Types of the events that it listens to, or time." example:"[\"interaction.created\"]"`
	After          *ruleAfter         `json:"after" description:"When it acts if it listens to time; otherwise null."`
	Match          ruleMatch          `json:"match" description:"Its conditions. None: it acts at each of its events."`
	Actions        []ruleAction       `json:"actions" description:"What it does."`
	Stop           bool               `json:"stop" description:"No later rule runs at the event."`
	Version        int                `json:"version" description:"Grows with each change of what it does."`
	UserID         *int64             `json:"user_id" description:"Who last changed it. It acts with that member's rights, within that member's mailboxes."`
	CreatedAt      transport.Time     `json:"created_at"`
	UpdatedAt      transport.Time     `json:"updated_at"`
}

// ruleAfter says when a rule acts that listens to time.
type ruleAfter struct {
	Since      helpdesk.RuleSince `json:"since" required:"true" enum:"created,customer_wrote,we_wrote,status_changed,assigned" description:"The moment from which the hours count. When it comes again, they begin anew. Messages from machines are none." example:"customer_wrote"`
	Hours      int                `json:"hours" required:"true" minimum:"1" maximum:"8784" description:"How many hours later it acts, once. They end before events are deleted from the log." example:"24"`
	CalendarID *int64             `json:"calendar_id" description:"Only the business hours of this calendar count. Null: all hours."`
}

type ruleMatch struct {
	All []ruleCondition `json:"all" description:"All of these hold."`
	Any []ruleCondition `json:"any" description:"At least one of these holds, unless there are none."`
}

type ruleCondition struct {
	Field string     `json:"field" required:"true" description:"status, user_id, team_id, mailbox_id, customer_id, priority, subject, snoozed_until, spam, tags, awaiting, inside_hours; fields.<key>; customer.email, .name, .first_name, .last_name, .company, .note, .fields.<key>; company.id, .name, .domains, .external_id, .note, .fields.<key>; interaction.type, .body, .subject, .from, .to, .has_attachment, .auto_submitted." example:"priority"`
	Op    rules.Op   `json:"op" required:"true" enum:"is,is_not,any_of,none_of,contains,not_contains,starts_with,matches,greater,less,before,after,empty,not_empty,changed,changed_to,changed_from" description:"Each field has those that fit it. matches: a regular expression (RE2), of at most 500 characters." example:"any_of"`
	Value fieldTexts `json:"value" description:"A value, or a list of which any applies with any_of, none_of, contains, not_contains, starts_with, changed_to and changed_from. Absent with empty, not_empty and changed. Ids of tags, users, teams, mailboxes, customers, companies; of calendars with inside_hours."`
}

type ruleAction struct {
	Type  rules.ActionType `json:"type" required:"true" enum:"set_status,set_priority,assign_user,assign_team,unassign,add_tags,remove_tags,set_field,snooze,mark_spam,move,add_note,reply,notify,webhook,follow" description:"snooze: for hours. move: to a mailbox. reply: with a saved reply, marked as automatic. notify and follow: users. webhook: gets the event, whatever it subscribes to." example:"set_priority"`
	Field string           `json:"field,omitempty" description:"Of set_field: the key of a field of conversations."`
	Value fieldTexts       `json:"value" description:"A value, or a list of ids with add_tags, remove_tags, notify and follow. Absent with unassign and mark_spam. None clears a field."`
}

// EncodedAs describes the JSON of the values to the document's generator.
func (fieldTexts) EncodedAs() any { return []string(nil) }

type ruleInput struct {
	Name     string                          `json:"name" required:"true" maxLength:"100" example:"VIP"`
	State    storage.Opt[helpdesk.RuleState] `json:"state" enum:"active,dry,off" description:"Default: active."`
	Position storage.Opt[int64]              `json:"position" minimum:"1" description:"Rules behind it move. Default: the last."`
	On       []string                        `json:"on" required:"true" maxItems:"50" description:"Types of events of conversations and interactions, sla.due_soon and sla.breached; or only time."`
	After    storage.Opt[ruleAfter]          `json:"after" description:"Required if it listens to time. It acts on what becomes due from then on."`
	Match    storage.Opt[ruleMatch]          `json:"match" description:"At most 50 conditions."`
	Actions  []ruleAction                    `json:"actions" required:"true" maxItems:"20" description:"What it does, at least one."`
	Stop     storage.Opt[bool]               `json:"stop" description:"Default: false."`
}

type ruleUpdate struct {
	ruleID
	Name     storage.Opt[string]             `json:"name" maxLength:"100"`
	State    storage.Opt[helpdesk.RuleState] `json:"state" enum:"active,dry,off" description:"Whether it acts."`
	Position storage.Opt[int64]              `json:"position" minimum:"1" description:"Other rules move."`
	On       storage.Opt[[]string]           `json:"on" maxItems:"50" description:"Types of events of conversations and interactions, sla.due_soon and sla.breached; or only time."`
	After    storage.Opt[ruleAfter]          `json:"after" description:"With time. If it changes, the rule acts on what becomes due from then on."`
	Match    storage.Opt[ruleMatch]          `json:"match" description:"Replaces all conditions."`
	Actions  storage.Opt[[]ruleAction]       `json:"actions" maxItems:"20" description:"Replaces all actions."`
	Stop     storage.Opt[bool]               `json:"stop" description:"No later rule runs at the event."`
}

type ruleID struct {
	RuleID int64 `path:"rule_id"`
}

type ruleOrder struct {
	Rules []int64 `json:"rules" required:"true" maxItems:"1000" description:"Ids of all rules, in their new order."`
}

type ruleRuns struct {
	ruleID
	transport.Paging
}

type ruleTest struct {
	ruleID
	ConversationID int64  `json:"conversation_id" required:"true"`
	Event          string `json:"event" description:"Type of the event, or time. Default: the first one that the rule listens to." example:"interaction.created"`
}

// heldCondition is a condition, and whether it held.
type heldCondition struct {
	ruleCondition
	Any  bool `json:"any" description:"Of match[any]."`
	Held bool `json:"held" description:"Whether it held."`
}

type ruleChange struct {
	From []string `json:"from" description:"Of tags: what was removed. Texts are not told."`
	To   []string `json:"to" description:"Of tags: what was added."`
}

// ruleRun as the API shows it.
type ruleRun struct {
	ID             int64                 `json:"id"`
	RuleID         int64                 `json:"rule_id" description:"Id of the rule."`
	Version        int                   `json:"version" description:"Of the rule."`
	EventID        *string               `json:"event_id" description:"Of the event, as in the log."`
	Event          string                `json:"event" description:"Its type; time: the hours after it had passed."`
	ConversationID *int64                `json:"conversation_id" description:"Null if it is out of reach; then only rule, outcome and time are told."`
	Outcome        helpdesk.RuleOutcome  `json:"outcome" enum:"changed,nothing,failed,skipped" description:"nothing: all was as the rule wants it. skipped: it had led to the event itself, or its maker does not reach the mailbox."`
	Dry            bool                  `json:"dry" description:"It would have."`
	Reason         *string               `json:"reason" description:"Why it failed or was skipped, or which action was left out."`
	Chain          []int64               `json:"chain" description:"Rules whose changes led to the event, the first one first."`
	Conditions     []heldCondition       `json:"conditions" description:"All of them, with whether each held."`
	Changes        map[string]ruleChange `json:"changes" description:"By field."`
	Actions        []string              `json:"actions" description:"What it did besides, such as a reply."`
	At             transport.Time        `json:"at" description:"When it ran."`
}

// ruleTrial is what a rule would do.
type ruleTrial struct {
	Outcome    *string               `json:"outcome" enum:"changed,nothing,failed,skipped" description:"Null: its conditions do not hold."`
	Reason     *string               `json:"reason" description:"Why it would fail or be skipped, or which action it would leave out."`
	Conditions []heldCondition       `json:"conditions" description:"All of them, with whether each held."`
	Changes    map[string]ruleChange `json:"changes" description:"By field."`
	Actions    []string              `json:"actions" description:"What it would do besides, such as a reply."`
}

const (
	rulesPath = accountPath + "/rules"
	rulePath  = rulesPath + "/{rule_id}"
)

func (a *api) addRules(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Rules", Summary: summary, Description: description}
	}
	create := op("createRule", http.MethodPost, rulesPath, "Create a rule",
		"It acts by itself at later events, once each: rules run in the order of positions, each over what the former ones left, in one "+
			"transaction. The history and the events name the rule as actor. Events that rules cause run rules again, at most five times "+
			"in a row, and no rule twice. A rule that cannot do all that it is to do does nothing, and its run says why. 422 if the name is "+
			"taken, ignoring case. A rule that listens to time acts once for each moment after which some hours have passed, at most a "+
			"minute late; one that begins to do so leaves alone what was due before. At most 1,000 per account. Needs rules.create, and what the rule needs to read and to act.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in ruleInput) (rule, error) {
		made, err := d.Rules().Create(ctx, ruleUpdate{
			Name: storage.Some(in.Name), State: in.State, Position: in.Position, On: storage.Some(in.On), After: in.After, Match: in.Match,
			Actions: storage.Some(in.Actions), Stop: in.Stop,
		}.input())
		return showRule(made), err
	})
	transport.HandlePage(t, a.desk, op("listRules", http.MethodGet, rulesPath, "List rules", "By position. Needs rules.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[rule], error) {
			page, err := d.Rules().List(ctx, in.Request())
			return mapPage(page, showRule), err
		})
	transport.Handle(t, a.desk, op("getRule", http.MethodGet, rulePath, "Retrieve a rule", "Needs rules.view."),
		func(ctx context.Context, d *helpdesk.Desk, in ruleID) (rule, error) {
			found, err := d.Rules().Get(ctx, in.RuleID)
			return showRule(found), err
		})
	transport.Handle(t, a.desk, op("updateRule", http.MethodPut, rulePath, "Update a rule",
		"From then on it acts with the rights of the caller. Needs rules.update, and what createRule needs."),
		func(ctx context.Context, d *helpdesk.Desk, in ruleUpdate) (rule, error) {
			changed, err := d.Rules().Update(ctx, in.RuleID, in.input())
			return showRule(changed), err
		})
	transport.HandleEmpty(t, a.desk, slow(op("deleteRule", http.MethodDelete, rulePath, "Delete a rule",
		"Its runs are deleted; what it has done stays. Needs rules.delete.")),
		func(ctx context.Context, d *helpdesk.Desk, in ruleID) error { return d.Rules().Delete(ctx, in.RuleID) })
	transport.HandleEmpty(t, a.desk, op("orderRules", http.MethodPut, rulesPath+"/order", "Order rules",
		"422 unless each rule is listed once. Needs rules.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in ruleOrder) error {
			_, err := d.Rules().Order(ctx, in.Rules)
			return err
		})
	transport.HandlePage(t, a.desk, op("listRuleRuns", http.MethodGet, rulePath+"/runs", "List a rule's runs",
		"Newest first, of the last 90 days: the events at which its conditions held. Needs rules.view."),
		func(ctx context.Context, d *helpdesk.Desk, in ruleRuns) (storage.Page[ruleRun], error) {
			page, err := d.Rules().Runs(ctx, in.RuleID, in.Request())
			return mapPage(page, showRuleRun), err
		})
	a.addReplays(t, op)
	test := op("testRule", http.MethodPost, rulePath+"/test", "Test a rule",
		"Tells what the rule would do to a conversation now, and changes nothing. The event is taken to have changed nothing; one of an "+
			"interaction is about the last one that a person wrote. Needs rules.view and conversations.view.")
	transport.Handle(t, a.desk, test, func(ctx context.Context, d *helpdesk.Desk, in ruleTest) (ruleTrial, error) {
		trial, err := d.Rules().Test(ctx, in.RuleID, in.ConversationID, in.Event)
		return ruleTrial{
			Outcome: textOrNull(string(trial.Outcome)), Reason: textOrNull(trial.Reason), Conditions: showHeld(trial.Conditions),
			Changes: showRuleChanges(trial.Changes), Actions: listed(trial.Actions),
		}, err
	})
}

func (in ruleUpdate) input() helpdesk.RuleInput {
	out := helpdesk.RuleInput{Name: in.Name, State: in.State, Position: in.Position, On: in.On, Stop: in.Stop}
	if after, given := in.After.Get(); given {
		out.After = storage.Some(helpdesk.RuleAfter{Since: after.Since, Hours: after.Hours, CalendarID: zeroIfNil(after.CalendarID)})
	} else if in.After.IsNull() {
		out.After = storage.Null[helpdesk.RuleAfter]()
	}
	if in.Match.IsSet() {
		match := in.Match.Or(ruleMatch{})
		out.All, out.Any = storage.Some(conditionsOf(match.All)), storage.Some(conditionsOf(match.Any))
	}
	out.Actions = actionsOf(in.Actions)
	return out
}

func conditionsOf(all []ruleCondition) []rules.Condition {
	var out []rules.Condition
	for _, c := range all {
		out = append(out, rules.Condition{Field: c.Field, Op: c.Op, Values: c.Value})
	}
	return out
}

func showConditions(all []rules.Condition) []ruleCondition {
	out := []ruleCondition{}
	for _, c := range all {
		out = append(out, ruleCondition{c.Field, c.Op, append(fieldTexts{}, c.Values...)})
	}
	return out
}

func showRule(r helpdesk.Rule) rule {
	out := rule{
		ID: r.ID, Name: r.Name, State: r.State, DisabledReason: textOrNull(string(r.Reason)), Position: r.Position, On: listed(r.On),
		Match: ruleMatch{showConditions(r.All), showConditions(r.Any)}, Stop: r.Stop, Version: r.Version,
		UserID: idOrNull(r.UserID), CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
	if r.After.Since != "" {
		out.After = &ruleAfter{r.After.Since, r.After.Hours, idOrNull(r.After.CalendarID)}
	}
	out.Actions = showActions(r.Actions)
	return out
}

func showActions(all []rules.Action) []ruleAction {
	out := []ruleAction{}
	for _, a := range all {
		out = append(out, ruleAction{a.Type, a.Field, append(fieldTexts{}, a.Values...)})
	}
	return out
}

func actionsOf(in storage.Opt[[]ruleAction]) storage.Opt[[]rules.Action] {
	if !in.IsSet() {
		return storage.Opt[[]rules.Action]{}
	}
	var all []rules.Action
	for _, a := range in.Or(nil) {
		all = append(all, rules.Action{Type: a.Type, Field: a.Field, Values: a.Value})
	}
	return storage.Some(all)
}

func showHeld(all []rules.Held) []heldCondition {
	out := []heldCondition{}
	for _, h := range all {
		out = append(out, heldCondition{ruleCondition{h.Field, h.Op, append(fieldTexts{}, h.Values...)}, h.Any, h.Held})
	}
	return out
}

func showRuleChanges(all []helpdesk.RuleChange) map[string]ruleChange {
	out := map[string]ruleChange{}
	for _, c := range all {
		out[c.Field] = ruleChange{listed(c.From), listed(c.To)}
	}
	return out
}

func showRuleRun(r helpdesk.RuleRun) ruleRun {
	out := ruleRun{
		ID: r.ID, RuleID: r.RuleID, Version: r.Version, Event: r.Event, ConversationID: idOrNull(r.ConversationID), Outcome: r.Outcome, Dry: r.Dry,
		Reason: textOrNull(r.Reason), Chain: append([]int64{}, r.Chain...), Conditions: showHeld(r.Conditions), Changes: showRuleChanges(r.Changes),
		Actions: listed(r.Actions), At: transport.Time(r.CreatedAt),
	}
	if r.EventID != 0 {
		out.EventID = textOrNull(strconv.FormatInt(r.EventID, 10))
	}
	return out
}

// zeroIfNil returns an id that may be absent.
func zeroIfNil(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}
