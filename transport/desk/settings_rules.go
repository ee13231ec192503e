package desk

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// routeRules registers the pages of rules.
func (h *Handler) routeRules() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/rules":              (*visit).rulesPage,
		"POST /settings/rules":             (*visit).createRule,
		"GET /settings/rules/new":          (*visit).newRulePage,
		"GET /settings/rules/{id}":         (*visit).rulePage,
		"POST /settings/rules/{id}":        (*visit).saveRule,
		"POST /settings/rules/{id}/move":   (*visit).moveRule,
		"POST /settings/rules/{id}/test":   (*visit).tryRule,
		"POST /settings/rules/{id}/delete": (*visit).removeRule,
	})
}

type rulesView struct {
	Rows      []ruleOverview
	Templates []Link
	New       string
	CanCreate bool
	CanMove   bool
}

// ruleOverview is a rule in the list.
type ruleOverview struct {
	Name, URL   string
	Said        ruleSaid
	On, Dry     bool
	Orphaned    bool
	First, Last bool
}

// allRules reads all rules in order.
func (v *visit) allRules() ([]helpdesk.Rule, error) {
	var all []helpdesk.Rule
	rules := func(req storage.PageRequest) (storage.Page[helpdesk.Rule], error) {
		return v.Rules().List(v.ctx(), req)
	}
	for r, err := range storage.Each(rules) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (v *visit) rulesPage() error {
	w, err := v.ruleWords()
	if err != nil {
		return err
	}
	all, err := v.allRules()
	if err != nil {
		return err
	}
	view := rulesView{New: v.at("/settings/rules/new"), CanCreate: v.may(identity.RulesCreate)}
	if view.CanMove, err = v.changesHours(identity.RulesUpdate); err != nil {
		return err
	}
	for i, r := range all {
		row := ruleOverview{
			Name: r.Name, URL: v.at("/settings/rules/" + itoa(r.ID)), On: r.State == helpdesk.RuleActive, Dry: r.State == helpdesk.RuleDry,
			Orphaned: r.Reason == helpdesk.RuleOrphaned, First: i == 0, Last: i == len(all)-1,
		}
		if row.Said, err = w.sentence(r); err != nil {
			return err
		}
		view.Rows = append(view.Rows, row)
	}
	if view.CanCreate {
		for _, t := range ruleTemplates() {
			view.Templates = append(view.Templates, Link{Text: v.words.T(t.name), URL: view.New + "?template=" + t.id, Icon: t.icon})
		}
	}
	return v.settingsPage("rules", v.words.T("Rules"), view, 0)
}

// ruleView is the page of a rule.
type ruleView struct {
	Title, Name, Action, List string
	Said                      ruleSaid
	Events, States            []tick
	Clock                     ruleClock
	Parts                     []rulePart
	Stop, Orphaned, New       bool
	Maker                     string // with whose rights it acts
	CanUpdate, CanDelete      bool
	Errors                    map[string]string
	Problem                   string // of the whole rule
	Runs                      []ruleRunView
	Older                     string // older runs
	Test                      *ruleTest
	CanReplay                 bool
	Replay                    *ruleReplay // nil: there is none
}

func (v *visit) newRulePage() error {
	w, err := v.ruleWords()
	if err != nil {
		return err
	}
	var view ruleView
	r, err := w.withReplay(w.fromTemplate(v.r.URL.Query().Get("template")), &view)
	if err != nil {
		return err
	}
	return w.show(r, view, 0)
}

func (v *visit) rulePage() error {
	r, err := v.Rules().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	w, err := v.ruleWords()
	if err != nil {
		return err
	}
	var view ruleView
	if r, err = w.withReplay(r, &view); err != nil {
		return err
	}
	return w.show(r, view, 0)
}

// show shows the page of a rule: a new one has no id.
func (w *ruleWords) show(r helpdesk.Rule, view ruleView, status int) error {
	view.List, view.Errors, view.Stop, view.Name, view.New = w.at("/settings/rules"), orEmpty(view.Errors), r.Stop, r.Name, r.ID == 0
	view.Title, view.Action, view.CanUpdate = cmp.Or(view.Title, w.words.T("New rule")), view.List, w.may(identity.RulesCreate)
	if r.ID != 0 {
		if err := w.fillStored(r, &view); err != nil {
			return err
		}
	}
	var err error
	if view.Said, err = w.sentence(r); err != nil {
		return err
	}
	for _, t := range ruleEventTexts {
		view.Events = append(view.Events, tick{ID: t.ID, Text: w.words.T(t.Text), On: slices.Contains(r.On, t.ID)})
	}
	if view.Clock, err = w.clock(r, view.Errors); err != nil {
		return err
	}
	for _, on := range r.On {
		if on != helpdesk.RuleTime && !slices.ContainsFunc(view.Events, func(t tick) bool { return t.ID == on }) {
			view.Events = append(view.Events, tick{ID: on, Text: on, On: true})
		}
	}
	view.States = w.chosen([]tick{
		{ID: string(helpdesk.RuleActive), Text: say("On")}, {ID: string(helpdesk.RuleDry), Text: say("Watches only")}, {ID: string(helpdesk.RuleOff), Text: say("Off")},
	}, string(r.State))
	if view.Parts, err = w.parts(r, view.Errors); err != nil {
		return err
	}
	view.CanReplay = view.CanUpdate && w.may(identity.ConversationsView)
	return w.visit.show(screen{
		template: "settings-rule", title: view.Title, data: view, nav: w.sectionOf("rule"), settings: true, status: status,
		parts: map[string]string{"errand": "rule-replay", "replayed": "rule-replayed"},
	})
}

// fillStored fills in what only a stored rule has.
func (w *ruleWords) fillStored(r helpdesk.Rule, view *ruleView) error {
	stored, err := w.Rules().Get(w.ctx(), r.ID)
	if err != nil {
		return err
	}
	view.Title, view.Action, view.Orphaned = stored.Name, w.at("/settings/rules/"+itoa(r.ID)), stored.Reason == helpdesk.RuleOrphaned
	whole, err := w.changesHours(identity.RulesView)
	if err != nil {
		return err
	}
	own := whole || stored.UserID == w.UserID()
	view.CanUpdate, view.CanDelete = own && w.may(identity.RulesUpdate), own && w.may(identity.RulesDelete)
	if stored.UserID != 0 {
		if view.Maker, err = w.named("user", itoa(stored.UserID)); err != nil {
			return err
		}
	}
	if view.Test == nil && w.may(identity.ConversationsView) {
		view.Test = &ruleTest{}
	}
	return w.fillRuns(r.ID, view)
}

func (v *visit) createRule() error { return v.putRule(helpdesk.Rule{}) }

func (v *visit) saveRule() error {
	old, err := v.Rules().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.putRule(old)
}

// putRule saves the form of a rule, or does what another button of it does.
func (v *visit) putRule(old helpdesk.Rule) error {
	_ = v.r.ParseForm() // unreadable fields are empty
	w, err := v.ruleWords()
	if err != nil {
		return err
	}
	r := w.submitted(old)
	if w.edit(&r) {
		return w.show(r, ruleView{}, 0)
	}
	if v.r.PostFormValue("do") == "replay" {
		return w.replayRule(old, r)
	}
	done := v.words.T("Saved")
	if old.ID == 0 {
		_, err = v.Rules().Create(v.ctx(), ruleInput(r))
		done = v.words.T("Added %s", r.Name)
	} else {
		_, err = v.Rules().Update(v.ctx(), old.ID, ruleInput(r))
	}
	if err != nil {
		return w.unlessWrong(err, r)
	}
	return v.saved("rules", done)
}

// ruleProblems are the problems of a rule by the names that the service has for its parts.
func (w *ruleWords) ruleProblems(err error) map[string]string {
	said := map[string]string{
		"is required: one value": say("Choose or write a value."), "must be 1 to 100 values": say("Choose or write a value."),
		"is not a regular expression (RE2)": say("This is not a regular expression."), "must be an id": say("Choose or write a value."),
		"must be 1 to 43920 hours": say("Write a number of hours, at least 1."),
		"must be 1 to 8784 hours":  say("Write a number of hours, from 1 to 8784."), "must have nothing besides time": say("A rule about time listens to nothing else."),
		"must end before the events are deleted from the log": say("What happened so long ago is no longer known. Choose fewer hours."),
	}
	out := map[string]string{}
	for field, text := range wholeFields(err) {
		out[field] = w.words.T(cmp.Or(said[text], plain[text], text))
	}
	if out["actions"] != "" {
		out["actions"] = w.words.T("Add at least one action.")
	}
	if out["on"] != "" {
		out["on"] = w.words.T("Choose at least one")
	}
	out["on"] = cmp.Or(out["on"], out["on[0]"])
	return out
}

func (v *visit) removeRule() error {
	return v.unless(v.Rules().Delete(v.ctx(), v.number("id")), "rules", v.words.T("Rule deleted"))
}

// moveRule puts a rule before or behind its neighbour.
func (v *visit) moveRule() error {
	all, err := v.allRules()
	if err != nil {
		return err
	}
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return v.moveRow(ids, "/settings/rules", func(ids []int64) error {
		_, err := v.Rules().Order(v.ctx(), ids)
		return err
	})
}

// moveRow puts the row of the address before or behind its neighbour among all rows, and returns to their list.
func (v *visit) moveRow(ids []int64, list string, order func(ids []int64) error) error {
	at := slices.Index(ids, v.number("id"))
	if at < 0 {
		return v.missing()
	}
	to := at + 1
	if v.r.PostFormValue("do") == "up" {
		to = at - 1
	}
	if to < 0 || to >= len(ids) {
		return v.see(v.at(list))
	}
	ids[at], ids[to] = ids[to], ids[at]
	if err := order(ids); err != nil {
		return v.instead(err, v.at(list))
	}
	return v.see(v.at(list))
}

// ruleTest is the test of a rule.
type ruleTest struct {
	Number  string
	Problem string
	Said    string // what would happen
	Outcome string
	Reason  string
	URL     string
	Done    []string
	Held    []ruleHeld
}

// ruleHeld is a condition with whether it held.
type ruleHeld struct {
	Text string
	Held bool
	Any  bool
}

// ruleRunView is a run of a rule.
type ruleRunView struct {
	Time, Full   string
	Conversation string
	URL          string
	Outcome      string
	State        string // how it looks
	Icon         string
	Dry          bool
	Done         []string
	Failed       []string // conditions that did not hold
	Reason       string
}

// fillRuns fills in the last runs.
func (w *ruleWords) fillRuns(id int64, view *ruleView) error {
	page, err := w.Rules().Runs(w.ctx(), id, storage.PageRequest{Limit: 20, Cursor: w.r.URL.Query().Get("runs")})
	if err != nil {
		return err
	}
	var ids []int64
	for _, run := range page.Items {
		ids = append(ids, run.ConversationID)
	}
	found, err := w.conversationsByID(ids)
	if err != nil {
		return err
	}
	for _, run := range page.Items {
		row := ruleRunView{Time: w.when(run.CreatedAt), Full: w.full(run.CreatedAt), Dry: run.Dry, Reason: w.reason(run.Reason)}
		row.Conversation, row.URL = w.conversationLink(found, run.ConversationID)
		row.Outcome, row.State, row.Icon = w.outcome(run.Outcome, run.Dry)
		if row.Done, err = w.done(run.Changes, run.Actions); err != nil {
			return err
		}
		for _, h := range run.Conditions {
			if h.Held {
				continue
			}
			text, err := w.said(h.Condition)
			if err != nil {
				return err
			}
			row.Failed = append(row.Failed, text)
		}
		view.Runs = append(view.Runs, row)
	}
	if page.Next != "" {
		view.Older = view.Action + "?runs=" + page.Next + "#runs"
	}
	return nil
}

// reason says why a rule failed, was left out, or left something out. Names in it, and what a service refused, stay as they are.
func (w *ruleWords) reason(text string) string {
	for _, chained := range []struct{ begins, text string }{
		{"The rule has led to this event itself: ", say("The rule has led to this event itself: %s.")},
		{fmt.Sprintf("Rules have led to this event %d times in a row: ", helpdesk.MaxRuleDepth), say("Rules have led to this event five times in a row: %s.")},
	} {
		if names, is := strings.CutPrefix(text, chained.begins); is {
			return w.words.T(chained.text, strings.TrimSuffix(names, "."))
		}
	}
	known := []string{
		say("The member who made the rule does not reach the mailbox."), say("The member who made the rule is gone, or may no longer do what it does."),
		say("The reply was left out: the message is spam, was passed on, or is from a machine or a list."), say("The reply was left out: the message is older than a day."), say("The reply was left out: the address must not be written to, or has got too much mail."),
		say("The webhook is switched off."), say("Everybody follows already, or does not want to."), say("Too many rules have failed at this event before it."),
	}
	if slices.Contains(known, text) {
		return w.words.T(text)
	}
	return text
}

// outcome says what came of a run, with how it looks.
func (w *ruleWords) outcome(o helpdesk.RuleOutcome, dry bool) (text, state, sign string) {
	switch {
	case o == helpdesk.RunChanged && dry:
		return w.words.T("would have acted"), "info", "eye"
	case o == helpdesk.RunChanged:
		return w.words.T("acted"), "ok", "check"
	case o == helpdesk.RunFailed:
		return w.words.T("Failed"), "bad", "alert"
	case o == helpdesk.RunSkipped:
		return w.words.T("left out"), "warn", "alert"
	case o == "":
		return w.words.T("conditions not met"), "", "x"
	}
	return w.words.T("nothing to change"), "", "check"
}

// done says what a run changed.
func (w *ruleWords) done(changes []helpdesk.RuleChange, actions []string) ([]string, error) {
	var all []string
	for _, c := range changes {
		from, err := w.valuesText(c.Field, c.From)
		if err != nil {
			return nil, err
		}
		to, err := w.valuesText(c.Field, c.To)
		if err != nil {
			return nil, err
		}
		name := w.fieldName(c.Field)
		switch {
		case c.Field == rules.FieldTags && from == "":
			all = append(all, name+": +"+to)
		case c.Field == rules.FieldTags && to == "":
			all = append(all, name+": −"+from)
		case from == "" && to == "":
			all = append(all, name+": "+w.words.T("changed"))
		default:
			all = append(all, name+": "+cmp.Or(from, "–")+" → "+cmp.Or(to, "–"))
		}
	}
	for _, kind := range actions {
		all = append(all, w.actionText(kind, "…"))
	}
	return all, nil
}

// tryRule shows what the rule would do to a conversation.
func (v *visit) tryRule() error {
	id := v.number("id")
	r, err := v.Rules().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	w, err := v.ruleWords()
	if err != nil {
		return err
	}
	n := conversationNumber(v.r.PostFormValue("number"))
	test := &ruleTest{Number: v.r.PostFormValue("number")}
	at, err := v.numbered(n)
	if f, ok := asFault(err); ok && f.Kind == fault.Invalid {
		test.Problem = f.Message
		return w.show(r, ruleView{Test: test}, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	trial, err := v.Rules().Test(v.ctx(), id, at, "")
	if err != nil {
		return err
	}
	test.URL, test.Reason = v.at("/c/"+itoa(at)), w.reason(trial.Reason)
	if test.Done, err = w.done(trial.Changes, trial.Actions); err != nil {
		return err
	}
	switch trial.Outcome {
	case helpdesk.RunChanged:
		test.Said, test.Outcome = v.words.T("The rule would do this:"), "ok"
	case helpdesk.RunNothing:
		test.Said = v.words.T("The conditions are met, and everything is as the rule wants it already.")
	case helpdesk.RunFailed:
		test.Said, test.Outcome = v.words.T("The rule would fail."), "bad"
	case helpdesk.RunSkipped:
		test.Said, test.Outcome = v.words.T("The rule would be left out."), "warn"
	default:
		test.Said = v.words.T("Nothing would happen: not all conditions are met.")
	}
	for _, h := range trial.Conditions {
		text, err := w.said(h.Condition)
		if err != nil {
			return err
		}
		test.Held = append(test.Held, ruleHeld{text, h.Held, h.Any})
	}
	return w.show(r, ruleView{Test: test}, 0)
}
