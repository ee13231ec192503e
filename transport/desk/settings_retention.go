package desk

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// routeRetention registers the pages of retention policies.
func (h *Handler) routeRetention() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/retention":              (*visit).retentionsPage,
		"POST /settings/retention":             (*visit).createRetention,
		"GET /settings/retention/new":          (*visit).newRetentionPage,
		"GET /settings/retention/{id}":         (*visit).retentionPage,
		"POST /settings/retention/{id}":        (*visit).saveRetention,
		"POST /settings/retention/{id}/delete": (*visit).removeRetention,
	})
}

// retentionTexts name what a policy does.
var retentionTexts = map[helpdesk.RetentionAction]string{
	helpdesk.RetainNoContent: say("Erase the content"), helpdesk.RetainNothing: say("Delete the conversation"), helpdesk.RetainNoCustomer: say("Erase the customer"),
}

// retentionHints say what that means.
var retentionHints = map[helpdesk.RetentionAction]string{
	helpdesk.RetainNoContent:  say("Subject, messages, notes and files are gone. The closed conversation stays with its number, customer, tags and times."),
	helpdesk.RetainNothing:    say("Nothing of it stays. Its emails are not imported again."),
	helpdesk.RetainNoCustomer: say("The customer and the content of all their conversations, once all of these are old enough and meet the conditions."),
}

// retentionWords are ruleWords for the conditions of retention policies.
func (v *visit) retentionWords() (*ruleWords, error) {
	vocabulary, err := v.RetentionPolicies().Vocabulary(v.ctx())
	if err != nil {
		return nil, err
	}
	return v.conditionWords(vocabulary)
}

// mayRetain reports whether the member may change retention policies.
func (v *visit) mayRetain(p identity.Permission) bool {
	return v.may(p) && v.may(identity.ConversationsDelete)
}

type retentionsView struct {
	Rows      []retentionRow
	New       string
	CanCreate bool
}

// retentionRow is a retention policy in the list.
type retentionRow struct {
	Name, URL, Brief, For string
	Last, Full            string // what the last run did, and when
	On, Orphaned          bool
}

func (v *visit) retentionsPage() error {
	w, err := v.retentionWords()
	if err != nil {
		return err
	}
	page, err := v.RetentionPolicies().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	view := retentionsView{New: v.at("/settings/retention/new"), CanCreate: v.mayRetain(identity.RetentionPoliciesCreate)}
	for _, p := range page.Items {
		row := retentionRow{
			Name: p.Name, URL: v.at("/settings/retention/" + itoa(p.ID)), On: p.IsActive, Orphaned: p.Reason == helpdesk.RetentionOrphaned,
			Brief: v.words.T(retentionTexts[p.Action]) + " · " + v.words.T("after %s days", v.words.whole(int64(p.AfterDays))),
		}
		if row.For, err = w.conditionsText(p.All, p.Any); err != nil {
			return err
		}
		row.For = cmp.Or(row.For, v.words.T("Every conversation"))
		row.Last, row.Full = v.lastRun(p)
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("retention", v.words.T("Retention"), view, 0)
}

// lastRun says what the last run of a policy did.
func (v *visit) lastRun(p helpdesk.RetentionPolicy) (text, at string) {
	run := p.Run
	if run.At.UnixMicro() <= 0 {
		return "", ""
	}
	count := func(n int) string { return v.words.whole(int64(n)) }
	said := []string{v.words.T("Conversations: %s", count(run.Conversations))}
	if p.Action == helpdesk.RetainNoCustomer {
		said = append(said, v.words.T("Customers: %s", count(run.Customers)))
	}
	if run.Held > 0 {
		said = append(said, v.words.T("On hold, kept: %s", count(run.Held)))
	}
	if run.Failed > 0 {
		said = append(said, v.words.T("Failed: %s", count(run.Failed)))
	}
	return v.words.T("Last run %s", v.when(run.At)) + " · " + strings.Join(said, " · "), v.full(run.At)
}

// retentionView is the form of a retention policy.
type retentionView struct {
	Title, Action, List, Name, Days string
	Actions                         []retentionChoice
	Parts                           []rulePart
	Active, Orphaned                bool
	CanUpdate, CanDelete            bool
	Last, Full                      string
	Shown                           *retentionShown
	Confirm                         bool // it is to be switched on, and asks first
	Errors                          map[string]string
	Problem                         string
}

type retentionChoice struct {
	tick
	Hint string
}

// retentionShown is the preview of a policy.
type retentionShown struct {
	Said     string
	More     []string
	Examples []retentionExample
}

type retentionExample struct {
	Link
	Time, Full string
}

func (v *visit) newRetentionPage() error {
	w, err := v.retentionWords()
	if err != nil {
		return err
	}
	return w.showRetention(helpdesk.RetentionPolicy{AfterDays: 365, Action: helpdesk.RetainNoContent}, retentionView{}, 0)
}

func (v *visit) retentionPage() error {
	p, err := v.RetentionPolicies().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	w, err := v.retentionWords()
	if err != nil {
		return err
	}
	return w.showRetention(p, retentionView{}, 0)
}

// showRetention shows the form of a policy: a new one has no id.
func (w *ruleWords) showRetention(p helpdesk.RetentionPolicy, view retentionView, status int) error {
	view.List, view.Errors, view.Name, view.Active = w.at("/settings/retention"), orEmpty(view.Errors), p.Name, p.IsActive
	view.Title, view.Action, view.CanUpdate = w.words.T("New retention policy"), view.List, w.mayRetain(identity.RetentionPoliciesCreate)
	if p.AfterDays > 0 {
		view.Days = strconv.Itoa(p.AfterDays)
	}
	if p.ID != 0 {
		stored, err := w.RetentionPolicies().Get(w.ctx(), p.ID)
		if err != nil {
			return err
		}
		view.Title, view.Action, view.Orphaned = stored.Name, w.at("/settings/retention/"+itoa(p.ID)), stored.Reason == helpdesk.RetentionOrphaned
		view.CanUpdate, view.CanDelete = w.mayRetain(identity.RetentionPoliciesUpdate), w.may(identity.RetentionPoliciesDelete)
		view.Last, view.Full = w.lastRun(stored)
	}
	for _, a := range helpdesk.RetentionActions() {
		view.Actions = append(view.Actions, retentionChoice{tick{ID: string(a), Text: w.words.T(retentionTexts[a]), On: a == p.Action}, w.words.T(retentionHints[a])})
	}
	parts, err := w.parts(helpdesk.Rule{All: p.All, Any: p.Any}, view.Errors)
	if err != nil {
		return err
	}
	parts[0].Hint = w.words.T("Without conditions, it holds for every conversation.")
	view.Parts = parts[:2]
	return w.settingsPage("retention-policy", view.Title, view, status)
}

func (v *visit) createRetention() error { return v.putRetention(helpdesk.RetentionPolicy{}) }

func (v *visit) saveRetention() error {
	old, err := v.RetentionPolicies().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.putRetention(old)
}

// putRetention saves the form of a policy, or does what another button of it says. What switches it on shows first what that would do.
func (v *visit) putRetention(old helpdesk.RetentionPolicy) error {
	_ = v.r.ParseForm() // unreadable fields are empty
	w, err := v.retentionWords()
	if err != nil {
		return err
	}
	p, post := old, v.r.PostFormValue
	p.Name, p.Action, p.IsActive = post("name"), helpdesk.RetentionAction(post("does")), post("active") != ""
	p.AfterDays, _ = strconv.Atoi(post("days")) // anything else is refused below
	p.All, p.Any = w.conditionsIn(partAll), w.conditionsIn(partAny)
	conditions := helpdesk.Rule{All: p.All, Any: p.Any}
	if w.edit(&conditions) {
		p.All, p.Any = conditions.All, conditions.Any
		return w.showRetention(p, retentionView{}, 0)
	}
	in := helpdesk.RetentionPolicyInput{
		Name: storage.Some(p.Name), All: storage.Some(p.All), Any: storage.Some(p.Any), AfterDays: storage.Some(p.AfterDays), Action: storage.Some(p.Action),
		IsActive: storage.Some(p.IsActive),
	}
	do := post("do")
	var view retentionView
	if confirm := do == "save" && p.IsActive && !old.IsActive && v.may(identity.ConversationsView); confirm || do == "preview" {
		if view.Shown, err = w.previewed(p, in); err == nil {
			view.Confirm = confirm
			return w.showRetention(p, view, 0)
		}
	}
	done := v.words.T("Saved")
	switch {
	case err != nil:
	case old.ID == 0:
		_, err = v.RetentionPolicies().Create(v.ctx(), in)
		done = v.words.T("Added %s", p.Name)
	default:
		_, err = v.RetentionPolicies().Update(v.ctx(), old.ID, in)
	}
	problem, ok := asFault(err)
	switch {
	case ok && problem.Kind == fault.Invalid:
		view.Errors = w.ruleProblems(err)
		return w.showRetention(p, view, http.StatusUnprocessableEntity)
	case ok && problem.Kind == fault.NotFound:
		view.Problem = v.words.T("Something that the policy names has been deleted. Choose it again.")
		return w.showRetention(p, view, http.StatusUnprocessableEntity)
	case ok && problem.Code == "mailbox_limit":
		view.Problem = v.words.T("You are limited to some mailboxes, and this concerns all of them.")
		return w.showRetention(p, view, http.StatusForbidden)
	case ok && problem.Kind == fault.Conflict:
		view.Problem = v.words.T(problem.Message)
		return w.showRetention(p, view, http.StatusConflict)
	}
	return v.unless(err, "retention", done)
}

// previewed says what a policy would do now.
func (w *ruleWords) previewed(p helpdesk.RetentionPolicy, in helpdesk.RetentionPolicyInput) (*retentionShown, error) {
	found, err := w.RetentionPolicies().Preview(w.ctx(), p.ID, in)
	if err != nil {
		return nil, err
	}
	t := w.words
	count := func(n int) string {
		if found.AtLeast {
			return t.whole(int64(n)) + "+"
		}
		return t.whole(int64(n))
	}
	shown := &retentionShown{}
	switch {
	case found.Conversations == 0:
		shown.Said = t.T("Right now it would change nothing.")
	case p.Action == helpdesk.RetainNothing:
		shown.Said = t.T("Conversations that it would delete now: %s", count(found.Conversations))
	case p.Action == helpdesk.RetainNoCustomer:
		shown.Said = t.T("Customers whom it would erase now: %s, with conversations: %s", count(found.Customers), count(found.Conversations))
	default:
		shown.Said = t.T("Conversations whose content it would erase now: %s", count(found.Conversations))
	}
	if !found.Oldest.IsZero() {
		shown.More = append(shown.More, t.T("The oldest has not changed since %s.", w.day(found.Oldest.In(w.zone))))
	}
	if found.Held > 0 {
		shown.More = append(shown.More, t.T("On hold, kept: %s", count(found.Held)))
	}
	for _, c := range found.Examples {
		shown.Examples = append(shown.Examples, retentionExample{
			Link{Text: cmp.Or(c.Subject, t.T("(no subject)")), URL: w.at("/c/" + itoa(c.ID))}, w.when(c.UpdatedAt), w.full(c.UpdatedAt),
		})
	}
	return shown, nil
}

func (v *visit) removeRetention() error {
	return v.unless(v.RetentionPolicies().Delete(v.ctx(), v.number("id")), "retention", v.words.T("Retention policy deleted"))
}

// fillHold fills in whether a conversation is on hold.
func (v *visit) fillHold(c helpdesk.Conversation, view *conversationView) error {
	view.Held, view.HoldReason = c.IsHeld(), c.HoldReason
	if view.Held {
		view.HoldFull = v.words.T("On hold since %s", v.full(c.HeldAt))
		view.CanRelease = view.CanDelete
		view.CanDelete = false
	}
	return nil
}

// setHold puts a conversation on hold, or releases it.
func (v *visit) setHold() error {
	id := v.number("id")
	in := helpdesk.HoldInput{Held: v.r.PostFormValue("act") != "release"}
	done := v.words.T("Released")
	if in.Held {
		in.Reason, done = v.r.PostFormValue("reason"), v.words.T("Put on hold")
	}
	if _, err := v.Conversations().Hold(v.ctx(), id, in); err != nil {
		return v.instead(err, v.back(v.at("/c/"+itoa(id))))
	}
	v.say(toast{Text: done})
	return v.see(v.back(v.at("/c/" + itoa(id))))
}
