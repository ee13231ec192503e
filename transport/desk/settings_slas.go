package desk

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// routeSLAs registers the pages of SLAs.
func (h *Handler) routeSLAs() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/slas":              (*visit).slasPage,
		"POST /settings/slas":             (*visit).createSLA,
		"GET /settings/slas/new":          (*visit).newSLAPage,
		"GET /settings/slas/{id}":         (*visit).slaPage,
		"POST /settings/slas/{id}":        (*visit).saveSLA,
		"POST /settings/slas/{id}/move":   (*visit).moveSLA,
		"POST /settings/slas/{id}/delete": (*visit).removeSLA,
	})
}

// slaWords are ruleWords for the conditions of SLAs.
func (v *visit) slaWords() (*ruleWords, error) {
	vocabulary, err := v.SLAs().Vocabulary(v.ctx())
	if err != nil {
		return nil, err
	}
	return v.conditionWords(vocabulary)
}

// allSLAs returns all SLAs in order, of which there are at most [helpdesk.MaxSLAs].
func (v *visit) allSLAs() ([]helpdesk.SLA, error) {
	return memoize(v.memo, &v.memo.slas, func() ([]helpdesk.SLA, error) {
		page, err := v.SLAs().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
		return page.Items, err
	})
}

type slasView struct {
	Rows               []slaOverview
	New                string
	CanCreate, CanMove bool
}

// slaOverview is an SLA in the list.
type slaOverview struct {
	Name, URL   string
	For         string   // which conversations
	Promises    []string // "First reply in 2 h"
	First, Last bool
}

func (v *visit) slasPage() error {
	w, err := v.slaWords()
	if err != nil {
		return err
	}
	all, err := v.allSLAs()
	if err != nil {
		return err
	}
	view := slasView{New: v.at("/settings/slas/new")}
	if view.CanCreate, err = v.changesHours(identity.SLAsCreate); err != nil {
		return err
	}
	if view.CanMove, err = v.changesHours(identity.SLAsUpdate); err != nil {
		return err
	}
	for i, s := range all {
		row := slaOverview{Name: s.Name, URL: v.at("/settings/slas/" + itoa(s.ID)), First: i == 0, Last: i == len(all)-1, Promises: v.promises(s)}
		if row.For, err = w.conditionsText(s.All, s.Any); err != nil {
			return err
		}
		row.For = cmp.Or(row.For, v.words.T("Every conversation"))
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("slas", v.words.T("SLAs"), view, 0)
}

// conditionsText says conditions in one line.
func (w *ruleWords) conditionsText(all, some []rules.Condition) (string, error) {
	var parts, either []string
	for _, c := range all {
		text, err := w.said(c)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	for _, c := range some {
		text, err := w.said(c)
		if err != nil {
			return "", err
		}
		either = append(either, text)
	}
	if len(either) > 0 {
		parts = append(parts, strings.Join(either, " "+w.words.T("or")+" "))
	}
	return strings.Join(parts, " · "), nil
}

// promises says what an SLA promises.
func (v *visit) promises(s helpdesk.SLA) []string {
	var all []string
	for _, p := range []struct {
		kind    sla.Kind
		minutes int
	}{{sla.FirstReply, s.FirstReply}, {sla.NextReply, s.NextReply}, {sla.Resolution, s.Resolution}} {
		if p.minutes > 0 {
			all = append(all, v.targetName(p.kind)+": "+v.words.span(time.Duration(p.minutes)*time.Minute))
		}
	}
	return all
}

// slaView is the form of an SLA.
type slaView struct {
	Title, Name, Action, List string
	Times                     []slaTime
	Calendars, Pauses         []tick
	Parts                     []rulePart
	Soon                      int
	CanUpdate, CanDelete      bool
	Errors                    map[string]string
	Problem                   string
}

// slaTime is a time in the form, of hours and minutes.
type slaTime struct {
	ID, Label, Hours, Minutes, Problem string
}

func (v *visit) newSLAPage() error {
	w, err := v.slaWords()
	if err != nil {
		return err
	}
	s := helpdesk.SLA{Name: v.words.T("Standard"), FirstReply: 120, NextReply: 240, DueSoon: 80, Pauses: []helpdesk.SLAPause{helpdesk.PausePending, helpdesk.PauseSnoozed}}
	if all, err := v.calendarTicks(0); err == nil && len(all) > 0 {
		s.CalendarID = number(all[0].ID)
	}
	return w.showSLA(s, slaView{}, 0)
}

func (v *visit) slaPage() error {
	s, err := v.SLAs().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	w, err := v.slaWords()
	if err != nil {
		return err
	}
	return w.showSLA(s, slaView{}, 0)
}

// showSLA shows the form of an SLA: a new one has no id.
func (w *ruleWords) showSLA(s helpdesk.SLA, view slaView, status int) error {
	view.List, view.Errors, view.Name, view.Soon = w.at("/settings/slas"), orEmpty(view.Errors), s.Name, s.DueSoon
	view.Title, view.Action = w.words.T("New SLA"), view.List
	change := identity.SLAsCreate
	var err error
	if s.ID != 0 {
		change = identity.SLAsUpdate
		stored, err := w.SLAs().Get(w.ctx(), s.ID)
		if err != nil {
			return err
		}
		view.Title, view.Action = stored.Name, w.at("/settings/slas/"+itoa(s.ID))
		if view.CanDelete, err = w.changesHours(identity.SLAsDelete); err != nil {
			return err
		}
	}
	if view.CanUpdate, err = w.changesHours(change); err != nil {
		return err
	}
	for _, one := range []struct {
		id, label string
		minutes   int
	}{
		{"first_reply", w.targetName(sla.FirstReply), s.FirstReply}, {"next_reply", w.targetName(sla.NextReply), s.NextReply}, {"resolution", w.targetName(sla.Resolution), s.Resolution},
	} {
		t := slaTime{ID: one.id, Label: one.label, Problem: view.Errors[one.id]}
		if one.minutes > 0 {
			t.Hours, t.Minutes = strconv.Itoa(one.minutes/60), strconv.Itoa(one.minutes%60)
		}
		view.Times = append(view.Times, t)
	}
	calendars, err := w.calendarTicks(s.CalendarID)
	if err != nil {
		return err
	}
	view.Calendars = append([]tick{{Text: w.words.T("All hours"), On: s.CalendarID == 0}}, calendars...)
	view.Pauses = []tick{
		{ID: string(helpdesk.PausePending), Text: w.words.T("Pending"), On: slices.Contains(s.Pauses, helpdesk.PausePending)},
		{ID: string(helpdesk.PauseSnoozed), Text: w.words.T("Snoozed"), On: slices.Contains(s.Pauses, helpdesk.PauseSnoozed)},
	}
	parts, err := w.parts(helpdesk.Rule{All: s.All, Any: s.Any}, view.Errors)
	if err != nil {
		return err
	}
	parts[0].Hint = w.words.T("Without conditions, it holds for every conversation.")
	view.Parts = parts[:2]
	return w.settingsPage("sla", view.Title, view, status)
}

func (v *visit) createSLA() error { return v.putSLA(helpdesk.SLA{}) }

func (v *visit) saveSLA() error {
	old, err := v.SLAs().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.putSLA(old)
}

// putSLA saves the form of an SLA, or adds or removes a condition.
func (v *visit) putSLA(s helpdesk.SLA) error {
	_ = v.r.ParseForm() // unreadable fields are empty
	w, err := v.slaWords()
	if err != nil {
		return err
	}
	w.submittedSLA(&s)
	conditions := helpdesk.Rule{All: s.All, Any: s.Any}
	if w.edit(&conditions) {
		s.All, s.Any = conditions.All, conditions.Any
		return w.showSLA(s, slaView{}, 0)
	}
	done := v.words.T("Saved")
	if s.ID == 0 {
		_, err = v.SLAs().Create(v.ctx(), slaInput(s))
		done = v.words.T("Added %s", s.Name)
	} else {
		_, err = v.SLAs().Update(v.ctx(), s.ID, slaInput(s))
	}
	f, ok := asFault(err)
	switch {
	case ok && f.Kind == fault.Invalid:
		problems := w.ruleProblems(err)
		if problems["first_reply"] != "" && s.FirstReply == 0 {
			problems["first_reply"] = v.words.T("Promise at least one of these.")
		}
		return w.showSLA(s, slaView{Errors: problems}, http.StatusUnprocessableEntity)
	case ok && f.Kind == fault.NotFound:
		return w.showSLA(s, slaView{Problem: v.words.T("Something that the SLA names has been deleted. Choose it again.")}, http.StatusUnprocessableEntity)
	case ok && f.Kind == fault.Conflict:
		return w.showSLA(s, slaView{Problem: v.words.T(f.Message)}, http.StatusConflict)
	}
	return v.unless(err, "slas", done)
}

// submittedSLA reads the form of an SLA.
func (w *ruleWords) submittedSLA(s *helpdesk.SLA) {
	post := w.r.PostFormValue
	minutes := func(id string) int {
		h, _ := strconv.Atoi(strings.TrimSpace(post(id + "-hours")))
		m, _ := strconv.Atoi(strings.TrimSpace(post(id + "-minutes")))
		return max(0, min(h, helpdesk.MaxSLAMinutes))*60 + max(0, min(m, helpdesk.MaxSLAMinutes))
	}
	s.Name, s.CalendarID, s.Pauses = post("name"), w.field("calendar"), nil
	s.FirstReply, s.NextReply, s.Resolution = minutes("first_reply"), minutes("next_reply"), minutes("resolution")
	for _, p := range w.r.PostForm["pauses"] {
		s.Pauses = append(s.Pauses, helpdesk.SLAPause(p))
	}
	s.DueSoon, _ = strconv.Atoi(post("soon"))
	s.All, s.Any = w.conditionsIn(partAll), w.conditionsIn(partAny)
}

func slaInput(s helpdesk.SLA) helpdesk.SLAInput {
	orNull := func(n int) storage.Opt[int] {
		if n == 0 {
			return storage.Null[int]()
		}
		return storage.Some(n)
	}
	in := helpdesk.SLAInput{
		Name: storage.Some(s.Name), All: storage.Some(s.All), Any: storage.Some(s.Any), CalendarID: storage.Null[int64](), FirstReply: orNull(s.FirstReply),
		NextReply: orNull(s.NextReply), Resolution: orNull(s.Resolution), Pauses: storage.Some(s.Pauses), DueSoon: storage.Some(s.DueSoon),
	}
	if s.CalendarID != 0 {
		in.CalendarID = storage.Some(s.CalendarID)
	}
	return in
}

func (v *visit) removeSLA() error {
	return v.unless(v.SLAs().Delete(v.ctx(), v.number("id")), "slas", v.words.T("SLA deleted"))
}

// moveSLA puts an SLA before or behind its neighbour.
func (v *visit) moveSLA() error {
	all, err := v.allSLAs()
	if err != nil {
		return err
	}
	ids := make([]int64, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	return v.moveRow(ids, "/settings/slas", func(ids []int64) error {
		_, err := v.SLAs().Order(v.ctx(), ids)
		return err
	})
}
