package desk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// macroView is a macro that goes with what the member writes.
type macroView struct {
	ID   int64
	Name string
	Does string
}

// macroTexts says what saved replies do besides writing, by id.
func (v *visit) macroTexts(all ...helpdesk.SavedReply) (map[int64][]string, error) {
	said := map[int64][]string{}
	if !slices.ContainsFunc(all, func(r helpdesk.SavedReply) bool { return len(r.Actions) > 0 }) {
		return said, nil
	}
	w, err := v.ruleWords()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		for _, a := range r.Actions {
			text, err := w.does(a)
			if err != nil {
				return nil, err
			}
			said[r.ID] = append(said[r.ID], text)
		}
	}
	return said, nil
}

// macroWith returns the macro that goes with the text in the composer; nil if it is gone, or if id is 0.
func (v *visit) macroWith(id int64) (*macroView, error) {
	if id == 0 || !v.may(identity.InteractionsView) {
		return nil, nil //nolint:nilnil // as said above
	}
	r, err := v.SavedReplies().Get(v.ctx(), id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // likewise
	}
	if err != nil {
		return nil, err
	}
	acts, err := v.macroTexts(r)
	if err != nil || len(acts[id]) == 0 {
		return nil, err
	}
	return &macroView{ID: id, Name: r.Name, Does: v.words.list(acts[id])}, nil
}

// macroProblem says which action of a macro is not possible.
func (v *visit) macroProblem(f *fault.Error) string {
	w := &ruleWords{visit: v}
	for _, kind := range f.Fields["action"] {
		return v.words.T("Not possible: %s. You may not do this, or something that it names has been deleted.", w.actionText(kind, "…"))
	}
	return v.words.T(f.Message)
}

// fillActions fills in the builder of a saved reply's actions.
func (v *visit) fillActions(view *replyView) error {
	w, err := v.ruleWords()
	if err != nil {
		return err
	}
	if view.Then, err = w.actionsPart(view.Actions, view.Errors); err != nil {
		return err
	}
	view.Then.Title, view.Then.Hint = v.words.T("Actions"), v.words.T("What is done when the reply is sent. A saved reply with actions is a macro, which works without text, too.")
	view.Then.Others = slices.DeleteFunc(view.Then.Others, func(t tick) bool {
		return t.ID == string(rules.Reply) || t.ID == string(rules.Webhook)
	})
	for _, a := range view.Actions {
		text, err := w.does(a)
		if err != nil {
			return err
		}
		view.Acts = append(view.Acts, text)
	}
	return nil
}

// replyActions adds the actions of the form to the input of a saved reply; edited says that a button added or removed one.
func (v *visit) replyActions(in helpdesk.SavedReplyInput, old []rules.Action) (_ helpdesk.SavedReplyInput, edited bool, err error) {
	w, err := v.ruleWords()
	if err != nil {
		return in, false, err
	}
	r := helpdesk.Rule{Actions: w.actionsIn(old)}
	edited = w.edit(&r)
	in.Actions = storage.Some(r.Actions)
	return in, edited, nil
}

// replyRefused shows the form of a saved reply again, with what is wrong with it.
func (v *visit) replyRefused(view replyView, in helpdesk.SavedReplyInput, err error) error {
	w := &ruleWords{visit: v}
	problems := v.problems(err)
	delete(problems, "actions") // which are told beside each
	if fault.Is(err, fault.NotFound) {
		problems = map[string]string{"actions": v.words.T("Something that an action names has been deleted, or is not yours to see. Choose it again.")}
	}
	for field, text := range w.ruleProblems(err) {
		if strings.HasPrefix(field, "actions[") {
			problems[field] = text
		}
	}
	return v.showReply(view.with(in, problems), http.StatusUnprocessableEntity)
}

// applyView is the page on which a macro is chosen.
type applyView struct {
	Title, Back, Action string
	IDs                 []string
	Macros              []savedReply
	New                 string // where macros are made; "" if the member may not
}

// macroPageURL is the address of the page on which a macro for conversations is chosen.
func (v *visit) macroPageURL(ids []int64, back string) string {
	q := url.Values{"back": {back}}
	for _, id := range ids[:min(len(ids), helpdesk.MaxBulk)] {
		q.Add("id", itoa(id))
	}
	return v.at("/macro") + "?" + q.Encode()
}

// macroPage shows the macros that can be applied to conversations, with what each does.
func (v *visit) macroPage() error { return v.applyPage(v.r.URL.Query()["id"]) }

func (v *visit) applyPage(ids []string) error {
	view := applyView{Back: v.safe(v.r.URL.Query().Get("back"), v.at("/inbox/unassigned")), Action: v.at("/bulk")}
	for _, id := range ids {
		if number(id) != 0 && len(view.IDs) < helpdesk.MaxBulk {
			view.IDs = append(view.IDs, itoa(number(id)))
		}
	}
	if len(view.IDs) == 0 {
		return v.see(view.Back)
	}
	all, err := v.savedReplies()
	if err != nil {
		return err
	}
	view.Macros = slices.DeleteFunc(all, func(r savedReply) bool { return len(r.Acts) == 0 })
	if v.may(identity.InteractionsCreate) {
		view.New = v.at("/settings/replies/new")
	}
	view.Title = v.words.T("Apply a macro")
	if n := len(view.IDs); n > 1 {
		view.Title = v.words.N(n, "Apply a macro to %s conversation|Apply a macro to %s conversations")
	}
	return v.show(screen{template: "apply-macro", title: view.Title, data: view, nav: "inbox/all"})
}

// macroAll applies a macro to conversations.
func (v *visit) macroAll(ids []int64, macro int64) error {
	old, err := v.Conversations().ByID(v.ctx(), ids)
	if err != nil {
		return err
	}
	changed, err := v.Conversations().ApplyMacroToAll(v.ctx(), ids, macro)
	if f, ok := asFault(err); ok && f.Code == helpdesk.CodeMacro {
		v.say(toast{Text: v.macroProblem(f), Bad: true})
		return nil
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.N(len(changed), acts["macro"]), Undo: pack(before(old, changed))})
	return nil
}

// actingMacros are the macros that changed something, with their names as far as the member sees them.
func (v *visit) actingMacros(all []helpdesk.HistoryEntry) (map[int64]Link, error) {
	found := map[int64]Link{}
	for _, e := range all {
		id := e.Why.MacroID
		if _, known := found[id]; id == 0 || known || !v.may(identity.InteractionsView) {
			continue
		}
		found[id] = Link{}
		r, err := v.SavedReplies().Get(v.ctx(), id)
		if err == nil {
			found[id] = Link{Text: v.words.T("macro “%s”", r.Name), URL: v.at("/settings/replies/" + itoa(id))}
		} else if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return found, nil
}

// byMacro adds to a line what did it.
func (v *visit) byMacro(text string, by Link) string {
	if by.Text == "" {
		return v.words.T("%s, by a macro", text)
	}
	return v.words.T("%s, by %s", text, by.Text)
}
