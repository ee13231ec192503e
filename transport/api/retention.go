package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// retentionPolicy as the API shows it.
type retentionPolicy struct {
	ID             int64                    `json:"id"`
	Name           string                   `json:"name"`
	Match          ruleMatch                `json:"match" description:"Its conditions. None: every conversation."`
	AfterDays      int                      `json:"after_days" description:"Days since the conversation last changed in any way, see its updated_at."`
	Action         helpdesk.RetentionAction `json:"action" enum:"erase_content,delete,erase_customer" description:"erase_content: subjects, texts, files and recipients are erased, and the conversation stays, closed, with its number, customer, assignee, tags and times. delete: the conversation is deleted. erase_customer: its customer is erased with all conversations, once all of them are due and match."`
	IsActive       bool                     `json:"is_active"`
	DisabledReason *string                  `json:"disabled_reason" enum:"orphaned" description:"Why it was switched off automatically: the member who last changed it has left the account, or could no longer create it. More values may be added."`
	Version        int                      `json:"version" description:"Grows with each change."`
	UserID         *int64                   `json:"user_id" description:"Who last changed it. It acts with that member's rights, within that member's mailboxes."`
	LastRun        *retentionRun            `json:"last_run" description:"Null: it has not run yet."`
	CreatedAt      transport.Time           `json:"created_at"`
	UpdatedAt      transport.Time           `json:"updated_at"`
}

type retentionRun struct {
	At            transport.Time  `json:"at" description:"The night, of which the time counts."`
	EndedAt       *transport.Time `json:"ended_at" description:"Null: it runs."`
	Examined      int             `json:"examined" description:"Conversations whose time was over."`
	Conversations int             `json:"conversations" description:"Conversations that it erased or deleted, with those of customers."`
	Customers     int             `json:"customers" description:"Customers that it erased."`
	Held          int             `json:"held" description:"Conversations that match and stay because they are on hold."`
	Failed        int             `json:"failed" description:"Conversations or customers that could not be erased or deleted."`
}

type retentionInput struct {
	Name      string                 `json:"name" required:"true" maxLength:"100" example:"Old spam"`
	Match     storage.Opt[ruleMatch] `json:"match" description:"At most 50 conditions, about the conversation, its customer and the company. Default: every conversation."`
	AfterDays int                    `json:"after_days" required:"true" minimum:"1" maximum:"36500" description:"Days since the conversation last changed." example:"30"`
	Action    string                 `json:"action" required:"true" enum:"erase_content,delete,erase_customer" description:"What it does, see the policy's action."`
	IsActive  storage.Opt[bool]      `json:"is_active" description:"Default: false. Preview it first."`
}

type retentionUpdate struct {
	retentionID
	Name      storage.Opt[string]    `json:"name" maxLength:"100"`
	Match     storage.Opt[ruleMatch] `json:"match" description:"Replaces all conditions."`
	AfterDays storage.Opt[int]       `json:"after_days" minimum:"1" maximum:"36500" description:"Days since the conversation last changed."`
	Action    storage.Opt[string]    `json:"action" enum:"erase_content,delete,erase_customer" description:"What it does, see the policy's action."`
	IsActive  storage.Opt[bool]      `json:"is_active"`
}

// retentionTrial is a policy that is not stored.
type retentionTrial struct {
	Match     storage.Opt[ruleMatch] `json:"match" description:"At most 50 conditions. Default: every conversation."`
	AfterDays int                    `json:"after_days" required:"true" minimum:"1" maximum:"36500" description:"Days since the conversation last changed." example:"30"`
	Action    string                 `json:"action" required:"true" enum:"erase_content,delete,erase_customer" description:"What it does, see the policy's action."`
}

// retentionChange is a stored policy, with changes that are not.
type retentionChange struct {
	retentionID
	Match     storage.Opt[ruleMatch] `json:"match" description:"Instead of its conditions."`
	AfterDays storage.Opt[int]       `json:"after_days" minimum:"1" maximum:"36500" description:"Instead of its days."`
	Action    storage.Opt[string]    `json:"action" enum:"erase_content,delete,erase_customer" description:"Instead of its action."`
}

type retentionID struct {
	PolicyID int64 `path:"retention_policy_id"`
}

// retentionPreview is what a policy would do now.
type retentionPreview struct {
	Conversations int             `json:"conversations" description:"Conversations that it would erase or delete, of those that the caller reaches."`
	Customers     int             `json:"customers" description:"Customers that it would erase."`
	Held          int             `json:"held" description:"Conversations that match and would stay because they are on hold."`
	Oldest        *transport.Time `json:"oldest" description:"When the conversation that is unchanged for longest last changed. Null: there is none."`
	AtLeast       bool            `json:"at_least" description:"There may be more: the preview looks at the 20,000 conversations unchanged for longest, and at 500 customers."`
	Examples      []conversation  `json:"examples" description:"Ten of them, those unchanged for longest."`
}

const (
	retentionsPath = accountPath + "/retention-policies"
	retentionPath  = retentionsPath + "/{retention_policy_id}"
)

func (a *api) addRetention(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Retention", Summary: summary, Description: description}
	}
	create := op("createRetentionPolicy", http.MethodPost, retentionsPath, "Create a retention policy",
		"While it is active, it erases or deletes conversations every night that have not changed for some days, or erases their customers. "+
			"Conversations on hold and snoozed ones stay. Each has its own event and audit log entry, and retention.ran tells what a run did. "+
			"422 if the name is taken, ignoring case. At most 50 per account. Needs retention_policies.create and conversations.delete, and for "+
			"erase_customer also customers.delete and all mailboxes.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in retentionInput) (retentionPolicy, error) {
		made, err := d.RetentionPolicies().Create(ctx, retentionUpdate{
			Name: storage.Some(in.Name), Match: in.Match, AfterDays: storage.Some(in.AfterDays), Action: storage.Some(in.Action), IsActive: in.IsActive,
		}.input())
		return showRetention(made), err
	})
	transport.HandlePage(t, a.desk, op("listRetentionPolicies", http.MethodGet, retentionsPath, "List retention policies",
		"Oldest first, in the order in which they run. Needs retention_policies.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[retentionPolicy], error) {
			page, err := d.RetentionPolicies().List(ctx, in.Request())
			return mapPage(page, showRetention), err
		})
	transport.Handle(t, a.desk, op("getRetentionPolicy", http.MethodGet, retentionPath, "Retrieve a retention policy", "Needs retention_policies.view."),
		func(ctx context.Context, d *helpdesk.Desk, in retentionID) (retentionPolicy, error) {
			found, err := d.RetentionPolicies().Get(ctx, in.PolicyID)
			return showRetention(found), err
		})
	transport.Handle(t, a.desk, op("updateRetentionPolicy", http.MethodPut, retentionPath, "Update a retention policy",
		"From then on it acts with the rights of the caller; a run that goes on ends. Needs retention_policies.update and what createRetentionPolicy needs. "+
			"A member limited to some mailboxes changes only their own."),
		func(ctx context.Context, d *helpdesk.Desk, in retentionUpdate) (retentionPolicy, error) {
			changed, err := d.RetentionPolicies().Update(ctx, in.PolicyID, in.input())
			return showRetention(changed), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteRetentionPolicy", http.MethodDelete, retentionPath, "Delete a retention policy",
		"What it has erased stays so. Needs retention_policies.delete."),
		func(ctx context.Context, d *helpdesk.Desk, in retentionID) error {
			return d.RetentionPolicies().Delete(ctx, in.PolicyID)
		})
	a.addRetentionPreviews(t, op)
}

func (a *api) addRetentionPreviews(t *transport.Table, op func(id, method, path, summary, description string) transport.Operation) {
	const needs = "Changes nothing, whether the policy is active or not. Tells only about conversations that the caller reaches. Needs retention_policies.view " +
		"and conversations.view, and all mailboxes for erase_customer."
	stored := op("previewRetentionPolicy", http.MethodPost, retentionPath+"/preview", "Preview a retention policy",
		"Tells what a stored policy would do now, or would do with some changes. "+needs)
	transport.Handle(t, a.desk, stored, func(ctx context.Context, d *helpdesk.Desk, in retentionChange) (retentionPreview, error) {
		return previewRetention(ctx, d, in.PolicyID, retentionUpdate{Match: in.Match, AfterDays: in.AfterDays, Action: in.Action})
	})
	fresh := op("previewNewRetentionPolicy", http.MethodPost, retentionsPath+"/preview", "Preview a retention policy that is not stored", "Tells what it would do now. "+needs)
	transport.Handle(t, a.desk, fresh, func(ctx context.Context, d *helpdesk.Desk, in retentionTrial) (retentionPreview, error) {
		return previewRetention(ctx, d, 0, retentionUpdate{Match: in.Match, AfterDays: storage.Some(in.AfterDays), Action: storage.Some(in.Action)})
	})
}

func previewRetention(ctx context.Context, d *helpdesk.Desk, id int64, in retentionUpdate) (retentionPreview, error) {
	p, err := d.RetentionPolicies().Preview(ctx, id, in.input())
	if err != nil {
		return retentionPreview{}, err
	}
	shown, err := showConversations(ctx, d, p.Examples, nil)
	return retentionPreview{
		Conversations: p.Conversations, Customers: p.Customers, Held: p.Held, Oldest: transport.TimePtr(&p.Oldest), AtLeast: p.AtLeast, Examples: shown,
	}, err
}

func (in retentionUpdate) input() helpdesk.RetentionPolicyInput {
	out := helpdesk.RetentionPolicyInput{Name: in.Name, AfterDays: in.AfterDays, Action: asNamed[helpdesk.RetentionAction](in.Action), IsActive: in.IsActive}
	if in.Match.IsSet() {
		match := in.Match.Or(ruleMatch{})
		out.All, out.Any = storage.Some(conditionsOf(match.All)), storage.Some(conditionsOf(match.Any))
	}
	return out
}

func showRetention(p helpdesk.RetentionPolicy) retentionPolicy {
	out := retentionPolicy{
		ID: p.ID, Name: p.Name, Match: ruleMatch{showConditions(p.All), showConditions(p.Any)}, AfterDays: p.AfterDays, Action: p.Action, IsActive: p.IsActive,
		DisabledReason: textOrNull(string(p.Reason)), Version: p.Version, UserID: idOrNull(p.UserID), CreatedAt: transport.Time(p.CreatedAt), UpdatedAt: transport.Time(p.UpdatedAt),
	}
	if run := p.Run; run.At.UnixMicro() > 0 {
		out.LastRun = &retentionRun{
			At: transport.Time(run.At), EndedAt: transport.TimePtr(&run.EndedAt), Examined: run.Examined, Conversations: run.Conversations, Customers: run.Customers,
			Held: run.Held, Failed: run.Failed,
		}
	}
	return out
}

// conversationHold is the hold of a conversation.
type conversationHold struct {
	At     transport.Time `json:"at" description:"Since when."`
	UserID *int64         `json:"user_id" description:"Who put it on hold."`
	Reason string         `json:"reason" description:"For members. Empty: none was given."`
}

type holdInput struct {
	conversationID
	Held   bool                `json:"held" required:"true" description:"False releases it."`
	Reason storage.Opt[string] `json:"reason" maxLength:"200" description:"Plain text, for members. Replaces the former one. Only with held." example:"Case 7"`
}

func (a *api) addHold(t *transport.Table) {
	hold := transport.Operation{
		ID: "holdConversation", Method: http.MethodPut, Path: conversationPath + "/hold", Tag: "Retention", Summary: "Put a conversation on hold, or release it",
		Description: "While it is on hold, no retention policy touches it, and deleting it, its messages or its mailbox, or erasing its customer, is refused with " +
			"409 and the code on_hold. All else goes on; what it is merged into or split from it is on hold, too. A release counts as a change, so that the time of " +
			"a policy begins anew. Needs conversations.update, and to release it conversations.delete.",
	}
	transport.Handle(t, a.desk, hold, func(ctx context.Context, d *helpdesk.Desk, in holdInput) (conversation, error) {
		c, err := d.Conversations().Hold(ctx, in.ConversationID, helpdesk.HoldInput{Held: in.Held, Reason: in.Reason.Or("")})
		return one(ctx, d, c, err, nil, showConversations)
	})
}

func showHold(c helpdesk.Conversation) *conversationHold {
	if !c.IsHeld() {
		return nil
	}
	return &conversationHold{At: transport.Time(c.HeldAt), UserID: idOrNull(c.HeldByID), Reason: c.HoldReason}
}
