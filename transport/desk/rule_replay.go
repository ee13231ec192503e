package desk

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ruleReplay is what the rule in the form would have done in the last 30 days.
type ruleReplay struct {
	Active  bool
	Said    string // in short
	Problem string
	More    []string // what is not in the number
	Rows    []ruleRunView
	Next    string
}

// replayRule begins to find out what the rule of the form would have done, and comes back to the form, which is kept in the replay.
func (w *ruleWords) replayRule(old, r helpdesk.Rule) error {
	in := ruleInput(r)
	in.State = storage.Opt[helpdesk.RuleState]{}
	replay, err := w.Rules().Replay(w.ctx(), helpdesk.ReplayInput{RuleID: old.ID, Rule: in})
	if err != nil {
		return w.unlessWrong(err, r)
	}
	to := w.at("/settings/rules/new")
	if old.ID != 0 {
		to = w.at("/settings/rules/" + itoa(old.ID))
	}
	return w.see(to + "?" + url.Values{"replay": {itoa(replay.ID)}, "state": {string(r.State)}}.Encode())
}

// withReplay fills in the form as it was when a replay of it began, and what that has found. A replay that is gone is left out.
func (w *ruleWords) withReplay(r helpdesk.Rule, view *ruleView) (helpdesk.Rule, error) {
	query := w.r.URL.Query()
	id := number(query.Get("replay"))
	if id == 0 {
		return r, nil
	}
	replay, err := w.Rules().ReplayOf(w.ctx(), id)
	if fault.Is(err, fault.NotFound) || err == nil && replay.RuleID != r.ID {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Name, r.On, r.After, r.All, r.Any, r.Actions, r.Stop = replay.Name, replay.On, replay.After, replay.All, replay.Any, replay.Actions, replay.Stop
	r.State = helpdesk.RuleState(cmp.Or(query.Get("state"), string(r.State)))
	view.Replay, err = w.showReplay(replay)
	return r, err
}

func (w *ruleWords) showReplay(replay helpdesk.RuleReplay) (*ruleReplay, error) {
	t := w.words
	view := &ruleReplay{Active: replay.State == helpdesk.ReplayRunning}
	examined, changed := t.whole(int64(replay.Examined)), t.whole(int64(replay.Changed))
	switch replay.State {
	case helpdesk.ReplayRunning:
		view.Said = t.T("Looking at the last 30 days: %s %%", itoa(int64(replay.Percent)))
		return view, nil
	case helpdesk.ReplayFailed:
		view.Problem = t.T("The last 30 days could not be looked at. Try again.")
		return view, nil
	case helpdesk.ReplayDone:
		view.Said = t.T("Last 30 days: %s of %s conversations", changed, examined)
	}
	if replay.Unknown > 0 {
		view.More = append(view.More, t.T("Cannot be told, because %s changed since: %s", w.fieldNames(replay.Lost), t.whole(int64(replay.Unknown))))
	}
	if replay.Gone > 0 {
		view.More = append(view.More, t.T("Deleted or merged since: %s", t.whole(int64(replay.Gone))))
	}
	return view, w.fillReplayed(replay.ID, view)
}

func (w *ruleWords) fieldNames(fields []string) string {
	var names []string
	for _, f := range fields {
		names = append(names, w.fieldName(f))
	}
	return strings.Join(names, ", ")
}

// fillReplayed lists the conversations that the rule would have changed.
func (w *ruleWords) fillReplayed(id int64, view *ruleReplay) error {
	if !w.may(identity.ConversationsView) {
		return nil
	}
	query := w.r.URL.Query()
	page, err := w.Rules().Replayed(w.ctx(), id, storage.PageRequest{Limit: 20, Cursor: query.Get("replayed")})
	if err != nil {
		return err
	}
	var ids []int64
	for _, c := range page.Items {
		ids = append(ids, c.ConversationID)
	}
	found, err := w.conversationsByID(ids)
	if err != nil {
		return err
	}
	for _, c := range page.Items {
		row := ruleRunView{Time: w.when(c.At), Full: w.full(c.At)}
		row.Conversation, row.URL = w.conversationLink(found, c.ConversationID)
		if row.Done, err = w.done(c.Changes, c.Actions); err != nil {
			return err
		}
		for _, rule := range c.Others {
			name, err := w.named("rule", itoa(rule))
			if err != nil {
				return err
			}
			row.Failed = append(row.Failed, w.words.T("“%s” changed it then.", name))
		}
		view.Rows = append(view.Rows, row)
	}
	if page.Next != "" {
		query.Set("replayed", page.Next)
		view.Next = "?" + query.Encode() + "#replayed"
	}
	return nil
}

// conversationsByID returns the conversations among some that the member sees.
func (w *ruleWords) conversationsByID(ids []int64) (map[int64]helpdesk.Conversation, error) {
	found := map[int64]helpdesk.Conversation{}
	if ids = without(ids, 0); len(ids) == 0 || !w.may(identity.ConversationsView) {
		return found, nil
	}
	all, err := w.Conversations().ByID(w.ctx(), ids)
	for _, c := range all {
		found[c.ID] = c
	}
	return found, err
}

// conversationLink returns how a conversation is called and where it is, if the member sees it.
func (w *ruleWords) conversationLink(seen map[int64]helpdesk.Conversation, id int64) (text, url string) {
	c, is := seen[id]
	if !is {
		return w.words.T("A conversation that you do not see"), ""
	}
	return "#" + itoa(c.Number) + " " + cmp.Or(c.Subject, w.words.T("(no subject)")), w.at("/c/" + itoa(c.ID))
}

// unlessWrong shows the form again with what is wrong with it.
func (w *ruleWords) unlessWrong(err error, r helpdesk.Rule) error {
	f, ok := asFault(err)
	switch {
	case ok && f.Kind == fault.Invalid:
		return w.show(r, ruleView{Errors: w.ruleProblems(err)}, http.StatusUnprocessableEntity)
	case ok && f.Kind == fault.NotFound:
		problem := w.words.T("Something that the rule names has been deleted, or is not yours to see. Choose it again.")
		return w.show(r, ruleView{Problem: problem}, http.StatusUnprocessableEntity)
	case ok && f.Kind == fault.Forbidden && w.may(identity.RulesView):
		return w.show(r, ruleView{Problem: w.words.T("A rule does only what you may do yourself. You may not do all of this.")}, http.StatusForbidden)
	case ok && f.Kind == fault.Conflict:
		return w.show(r, ruleView{Problem: w.words.T(f.Message)}, http.StatusConflict)
	}
	return err
}
