package helpdesk

import (
	"context"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// CodeMacro is the code of a fault about an action of a macro that is not possible. Fields has its type as "action".
const CodeMacro = "macro"

// macroWhenPosted is the problem of a macro with anything but a posted answer or note.
const macroWhenPosted = "is only allowed for answers and notes that are posted"

// MacroActions lists the types of the actions that macros may have: those of rules, except [rules.Reply], as the macro is a reply
// itself, and [rules.Webhook], as webhooks get its events anyway.
func MacroActions() []rules.ActionType {
	return slices.DeleteFunc(rules.ActionTypes(), func(t rules.ActionType) bool { return t == rules.Reply || t == rules.Webhook })
}

// actionParts returns the texts of an action.
func actionParts(a rules.Action) []string {
	return append([]string{string(a.Type), a.Field}, a.Values...)
}

// setsFieldJSON is part of the JSON of actions that set a field.
func setsFieldJSON(key string) string {
	return fmt.Sprintf(`{"type":%q,"field":%q`, rules.SetField, key)
}

// checkMacro cleans the actions of a macro and adds problems.
func (d *desk) checkMacro(problems *fault.Collector, actions []rules.Action, fields []Field) []rules.Action {
	for i, a := range actions {
		not := slices.Contains(rules.ActionTypes(), a.Type) && !slices.Contains(MacroActions(), a.Type)
		problems.Check(!not, fmt.Sprintf("actions[%d][type]", i), "is not an action of macros")
	}
	_, _, clean := rules.Check(problems, ruleVocabulary(fields), nil, nil, cloneActions(actions))
	d.checkRuleTexts(problems, clean, fields)
	return clean
}

// EachID calls visit for each id that the actions name, as [Rule.EachID] does.
func (r *SavedReply) EachID(visit func(noun string, id *int64)) {
	of := Rule{Actions: r.Actions}
	of.EachID(visit)
}

// macrosSetting names the macros that set a field; those of single members only say that they are.
func macrosSetting(ctx context.Context, r Reader, f Field) ([]string, error) {
	if f.AppliesTo != FieldOfConversation {
		return nil, nil
	}
	found, err := savedReplyNoun().Reader(r).List(ctx, SavedReplyFilter{Sets: f.Key}, storage.Seek{Limit: storage.NoLimit})
	var names []string
	for _, one := range found {
		name := one.Name
		if one.UserID != 0 {
			name = "a member's own saved reply"
		}
		names = append(names, name)
	}
	return names, err
}

// byMacro adds the macro to the data of an event that its actions caused.
func byMacro(e storage.Event, id int64) storage.Event {
	if area := areaOf(e.Type); area != "conversation" && area != "interaction" {
		return e
	}
	return withReason(e, map[string]int64{"macro_id": id})
}

// ApplyMacro does what the actions of a saved reply say, and returns the conversation as it is then. The caller acts, with their
// own permissions; events and histories name the macro. An action that the caller may not do, or that names something that is
// gone, is a fault with [CodeMacro]: nothing is done. To send its text as well, see [InteractionInput.MacroID]. A conversation
// that does not exist, or that the macro moved out of the caller's mailboxes, is NotFound. It needs conversations.view,
// interactions.view and what the actions need.
func (d Conversations) ApplyMacro(ctx context.Context, id, replyID int64) (Conversation, error) {
	changed, err := d.applyMacro(ctx, []int64{id}, replyID, nil, func(ctx context.Context, tx Tx) error {
		_, err := tx.Conversations().Lock(ctx, id)
		return err
	})
	if err == nil && len(changed) == 0 {
		err = fault.Missing("conversation", id)
	}
	if err != nil {
		return Conversation{}, err
	}
	return changed[0], nil
}

// ApplyMacroToAll is [Conversations.ApplyMacro] for at most 100 conversations, all or none. It returns them by id; a fault on
// conversations names those that do not exist.
func (d Conversations) ApplyMacroToAll(ctx context.Context, ids []int64, replyID int64) ([]Conversation, error) {
	var problems fault.Collector
	checkBulk(&problems, ids)
	return d.applyMacro(ctx, sortedSet(ids), replyID, problems.Err(), func(ctx context.Context, tx Tx) error {
		_, err := lockAll(ctx, tx, ids)
		return err
	})
}

// applyMacro does the actions of a macro in conversations that lock locks, unless the request is invalid.
func (d Conversations) applyMacro(
	ctx context.Context, ids []int64, replyID int64, invalid error, lock func(context.Context, Tx) error,
) ([]Conversation, error) {
	if _, err := d.guard.Read(identity.ConversationsView); err != nil {
		return nil, err
	}
	begin, err := d.guard.Write(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	if invalid != nil {
		return nil, invalid
	}
	var changed []Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := lock(ctx, tx); err != nil {
			return err
		}
		reply, err := d.ownOrShared(savedReplyNoun().Rows(tx).Get(ctx, replyID))
		if err == nil && len(reply.Actions) == 0 {
			err = fault.Field("saved_reply_id", "has no actions")
		}
		if err != nil {
			return err
		}
		if err := d.doMacro(ctx, tx, reply, ids); err != nil {
			return err
		}
		changed, err = tx.Conversations().ByIDs(ctx, ids)
		return err
	})
	if err == nil {
		d.afterHandOut(ctx, storage.Pointers(changed)...)
	}
	return changed, err
}

// withMacro does the actions of a macro after an interaction was posted, and returns that as it is then.
func (d *desk) withMacro(ctx context.Context, tx Tx, replyID int64, i Interaction) (Interaction, error) {
	reply, err := d.ownOrShared(savedReplyNoun().Rows(tx).Get(ctx, replyID))
	if err != nil || len(reply.Actions) == 0 {
		return i, err
	}
	if err := d.doMacro(ctx, tx, reply, []int64{i.ConversationID}); err != nil {
		return i, err
	}
	return tx.Interactions().Get(ctx, i.ID)
}

// doMacro does the actions of a macro in conversations, as a change of its own in each history.
func (d *desk) doMacro(ctx context.Context, tx Tx, reply SavedReply, conversationIDs []int64) error {
	for _, a := range reply.Actions {
		if err := d.mayDo(ctx, tx, a); err != nil {
			return macroFault(a, err)
		}
	}
	fields, err := allFields(ctx, tx.Reader())
	if err != nil {
		return err
	}
	if err := endOperation(ctx, tx); err != nil {
		return err
	}
	record := recordOf(tx)
	if record == nil {
		return fault.New(fault.Internal, "Macros are applied in recorded transactions only.")
	}
	record.macro = reply.ID
	acts := &ruleActs{desk: d, tx: tx, run: &RuleRun{}}
	for _, id := range conversationIDs {
		if err := acts.applyMacro(ctx, id, reply.Actions, fields); err != nil {
			return err
		}
	}
	if err := endOperation(ctx, tx); err != nil {
		return err
	}
	record.macro = 0
	return nil
}

// mayDo returns a fault unless the member may do an action, and reaches what it names.
func (d *desk) mayDo(ctx context.Context, tx Tx, a rules.Action) error {
	for _, p := range d.neededFor(a) {
		if _, err := d.guard.Write(p); err != nil {
			return err
		}
	}
	return d.findRuleReferences(ctx, tx, Rule{Actions: cloneActions([]rules.Action{a})}, Rule{})
}

// macroFault names the action that is not possible.
func macroFault(a rules.Action, err error) error {
	why, refused := refused(err)
	if !refused {
		return err
	}
	kind := fault.Conflict
	if fault.Is(err, fault.Forbidden) {
		kind = fault.Forbidden
	}
	return &fault.Error{
		Kind: kind, Code: CodeMacro, Resource: "saved reply",
		Message: fmt.Sprintf("The macro's action %s is not possible: %s", a.Type, why), Fields: fault.Fields{"action": {string(a.Type)}},
	}
}

// applyMacro does actions in one conversation: the changes of its fields first, then all else in order.
func (a *ruleActs) applyMacro(ctx context.Context, conversationID int64, actions []rules.Action, fields []Field) error {
	c, err := a.tx.Conversations().Get(ctx, conversationID)
	if err != nil {
		return err
	}
	facts := rules.NewFacts(nil, nil)
	if err := setConversationFacts(ctx, a.tx.Reader(), fields, facts, c); err != nil {
		return err
	}
	plan := rules.PlanOf(facts, actions, a.svc.now())
	if err := a.changeFields(ctx, conversationID, plan); err != nil {
		return err
	}
	for _, action := range plan.Does {
		switch action.Type {
		case rules.AddNote:
			p, err := a.prepare(InteractionInput{Type: TypeNote, Body: action.Values[0]}, "")
			if err == nil {
				_, err = a.contribute(ctx, a.tx, conversationID, p)
			}
			if err != nil {
				return err
			}
		case rules.Notify:
			err = a.svc.notifyAfterCommit(ctx, a.tx, a.scope.AccountID, occurrence{
				Kind: NotifyRule, ConversationID: conversationID, ActorID: a.userID, UserIDs: idsOfTexts(action.Values),
			})
		case rules.Follow:
			_, err = a.addFollowers(ctx, conversationID, action)
		default: // changes of fields, and what macros do not have
		}
		if err != nil {
			return err
		}
	}
	return nil
}
