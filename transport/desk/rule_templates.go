package desk

import (
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
)

// ruleTemplate is a rule that many teams make. What it names of the account is chosen in its form.
type ruleTemplate struct {
	id, icon, name string
	rule           func(w *ruleWords) helpdesk.Rule
}

// ruleTemplates are the rules that everybody makes.
func ruleTemplates() []ruleTemplate {
	began, wrote := []string{"conversation.created"}, []string{"interaction.created"}
	customers := rules.Condition{Field: rules.FieldInteractionType, Op: rules.AnyOf, Values: []string{"customer"}}
	when := func(field string, op rules.Op, values ...string) rules.Condition {
		return rules.Condition{Field: field, Op: op, Values: values}
	}
	do := func(kind rules.ActionType, values ...string) rules.Action {
		return rules.Action{Type: kind, Values: values}
	}
	plainRule := func(on []string, all []rules.Condition, actions ...rules.Action) func(w *ruleWords) helpdesk.Rule {
		return func(*ruleWords) helpdesk.Rule { return helpdesk.Rule{On: on, All: all, Actions: actions} }
	}
	timed := func(since helpdesk.RuleSince, hours int, all []rules.Condition, actions ...rules.Action) func(w *ruleWords) helpdesk.Rule {
		return func(*ruleWords) helpdesk.Rule {
			return helpdesk.Rule{On: []string{helpdesk.RuleTime}, After: helpdesk.RuleAfter{Since: since, Hours: hours}, All: all, Actions: actions}
		}
	}
	return []ruleTemplate{
		{"urgent", "flag", say("Urgent words raise the priority"), func(w *ruleWords) helpdesk.Rule {
			words := strings.Split(w.words.T("urgent, emergency, immediately"), ", ")
			return helpdesk.Rule{On: wrote, All: []rules.Condition{customers}, Any: []rules.Condition{when(rules.FieldSubject, rules.Contains, words...), when(rules.FieldInteractionBody, rules.Contains, words...)},
				Actions: []rules.Action{do(rules.SetPriority, "urgent")}}
		}},
		{"company", "building", say("Important companies first"), plainRule(began, []rules.Condition{when(rules.FieldCompany, rules.AnyOf)}, do(rules.SetPriority, "high"), do(rules.AssignTeam))},
		{"hours", "clock", say("Another team outside business hours"), func(w *ruleWords) helpdesk.Rule {
			hours := when(rules.FieldInsideHours, rules.NoneOf)
			if all, err := w.choices("calendar"); err == nil && len(all) > 0 {
				hours.Values = []string{all[0].ID}
			}
			return helpdesk.Rule{On: wrote, All: []rules.Condition{customers, hours}, Actions: []rules.Action{do(rules.AssignTeam)}}
		}},
		{"invoices", "clip", say("Invoices to a team"), func(w *ruleWords) helpdesk.Rule {
			words := strings.Split(w.words.T("invoice, bill, receipt"), ", ")
			return helpdesk.Rule{On: began, All: []rules.Condition{when(rules.FieldInteractionHasAttachment, rules.Is, "true"), when(rules.FieldSubject, rules.Contains, words...)},
				Actions: []rules.Action{do(rules.AssignTeam)}}
		}},
		{"machines", "mail", say("Close mail from machines"), plainRule(began, []rules.Condition{when(rules.FieldInteractionAutoSubmitted, rules.Is, "true")}, do(rules.SetStatus, "closed"))},
		{"address", "tag", say("Tag by the address written to"), plainRule(began, []rules.Condition{when(rules.FieldInteractionTo, rules.Contains)}, do(rules.AddTags))},
		{"mailbox", "inbox", say("A mailbox to a team"), plainRule(began, []rules.Condition{when(rules.FieldMailbox, rules.AnyOf)}, do(rules.AssignTeam))},
		{"sender", "user", say("A customer to a member"), plainRule(began, []rules.Condition{when(rules.FieldCustomerEmail, rules.Contains)}, do(rules.AssignUser))},
		{"answer", "reply", say("Answer a frequent question"), plainRule(began, []rules.Condition{when(rules.FieldInteractionBody, rules.Contains)}, do(rules.Reply))},
		{"alarm", "bell", say("Tell somebody when it becomes urgent"), plainRule([]string{"conversation.prioritized"}, []rules.Condition{when(rules.FieldPriority, rules.ChangedTo, "urgent")}, do(rules.Notify))},
		{"reopened", "refresh", say("Tag what was reopened"), plainRule([]string{"conversation.reopened"}, nil, do(rules.AddTags))},
		{"unanswered", "clock", say("Remind of what is unanswered for a day"), timed(helpdesk.SinceCustomerWrote, 24, []rules.Condition{
			when(rules.FieldAwaiting, rules.Is, "true"), when(rules.FieldStatus, rules.NoneOf, "closed"),
		}, do(rules.Notify))},
		{"silence", "check", say("Close after seven days of silence"), timed(helpdesk.SinceWeWrote, 7*24, []rules.Condition{
			when(rules.FieldAwaiting, rules.Is, "false"), when(rules.FieldStatus, rules.NoneOf, "closed"),
		}, do(rules.SetStatus, "closed"))},
		{"spam", "ban", say("Spam by its words"), plainRule(began, []rules.Condition{when(rules.FieldSubject, rules.Contains)}, do(rules.MarkSpam))},
	}
}

// fromTemplate returns the rule that a template begins with; an empty one, if there is none of that id.
func (w *ruleWords) fromTemplate(id string) helpdesk.Rule {
	all := ruleTemplates()
	r := helpdesk.Rule{On: []string{"conversation.created"}}
	if n := slices.IndexFunc(all, func(t ruleTemplate) bool { return t.id == id }); n >= 0 {
		r = all[n].rule(w)
		r.Name = w.words.T(all[n].name)
	}
	r.State = helpdesk.RuleActive
	return r
}
