package desk

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type viewsView struct {
	Rows []viewRow
	Next string
	Make string // a list of conversations, where views are made
}

type viewRow struct{ Name, URL, Conditions, Seen, Edit string }

// viewsPage lists the saved views that the member sees. They are made from a list, and changed and deleted on their own page.
func (v *visit) viewsPage() error {
	page, err := v.Views().List(v.ctx(), v.pageOf(100))
	if err != nil {
		return err
	}
	view := viewsView{Next: v.older("/settings/views", page.Next)}
	if v.may(identity.ViewsCreate) && v.may(identity.ConversationsView) {
		view.Make = v.at("/inbox/all")
	}
	filters := make([]helpdesk.ViewFilter, len(page.Items))
	for i, one := range page.Items {
		filters[i] = one.Filter
	}
	conditions, err := v.conditions(filters...)
	if err != nil {
		return err
	}
	for i, one := range page.Items {
		row := viewRow{Name: one.Name, URL: v.at("/inbox/view-" + itoa(one.ID)), Edit: v.at("/settings/views/" + itoa(one.ID)), Conditions: conditions[i]}
		if row.Seen, err = v.seenBy(one); err != nil {
			return err
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("views", v.words.T("Saved views"), view, 0)
}

// seenBy says who sees a view.
func (v *visit) seenBy(one helpdesk.View) (string, error) {
	switch one.Visibility {
	case helpdesk.ViewPrivate:
		return v.words.T("only you"), nil
	case helpdesk.ViewOfTeam:
		names, err := v.teamNames([]int64{one.TeamID})
		return cmp.Or(names[one.TeamID], v.words.T("a team")), err
	}
	return v.words.T("everybody"), nil
}

type viewView struct {
	Name, Action, List, Show, Conditions, Creator string
	Seen                                          []tick
	CanUpdate, CanDelete                          bool
	Form                                          *conditionsForm // nil if the member may not change them
	Columns                                       []tick
	Errors                                        map[string]string
}

func (v *visit) viewPage() error {
	one, err := v.Views().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.showView(one, nil, 0)
}

// showView shows a view. After a form, problems is not nil, and what was typed is shown; more are conditions without a value.
func (v *visit) showView(one helpdesk.View, problems map[string]string, status int, more ...string) error {
	view := viewView{
		Name: one.Name, Action: v.at("/settings/views/" + itoa(one.ID)), List: v.at("/settings/views"), Show: v.at("/inbox/view-" + itoa(one.ID)),
		CanUpdate: v.Views().CanChange(one), CanDelete: v.Views().CanDelete(one), Errors: orEmpty(problems),
	}
	conditions, err := v.conditions(one.Filter)
	if err != nil {
		return err
	}
	view.Conditions = conditions[0]
	if view.CanUpdate {
		if view.Form, err = v.conditionsForm(one.Filter, more...); err != nil {
			return err
		}
	}
	fields, err := v.conversationFields()
	if err != nil {
		return err
	}
	for _, f := range fields {
		view.Columns = append(view.Columns, tick{ID: f.Key, Text: f.Label, On: slices.Contains(one.Columns, f.Key)})
	}
	who, err := v.people([]int64{one.UserID})
	if err != nil {
		return err
	}
	view.Creator = cmp.Or(who[one.UserID].Name, v.words.T("Former member"))
	chosen := shownValue(one)
	if problems != nil {
		view.Name, chosen = v.r.PostFormValue("name"), v.r.PostFormValue("shown")
	}
	teams, err := v.teamLinks()
	if err != nil {
		return err
	}
	view.Seen = append(view.Seen, tick{ID: string(helpdesk.ViewShared), Text: v.words.T("Everybody")})
	if one.UserID == v.UserID() {
		view.Seen = append(view.Seen, tick{ID: string(helpdesk.ViewPrivate), Text: v.words.T("Only you")})
	}
	for _, t := range teams {
		view.Seen = append(view.Seen, tick{ID: t.URL, Text: t.Text})
	}
	for i := range view.Seen {
		view.Seen[i].On = view.Seen[i].ID == chosen
	}
	return v.settingsPage("view", one.Name, view, status)
}

// shownValue is the choice of who sees a view, in a form: shared, private or a team's id.
func shownValue(one helpdesk.View) string {
	if one.Visibility == helpdesk.ViewOfTeam {
		return itoa(one.TeamID)
	}
	return string(one.Visibility)
}

// shown reads the choice of who sees a view. None leaves it as it is.
func (v *visit) shown(in *helpdesk.ViewInput) {
	switch value := v.r.PostFormValue("shown"); {
	case value == "":
	case number(value) > 0:
		in.Visibility, in.TeamID = storage.Some(helpdesk.ViewOfTeam), number(value)
	default:
		in.Visibility = storage.Some(helpdesk.ViewVisibility(value))
	}
}

func (v *visit) changeView() error {
	id := v.number("id")
	old, err := v.Views().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	in := helpdesk.ViewInput{Name: v.r.PostFormValue("name"), Filter: old.Filter}
	var more []string
	if v.r.PostFormValue("conditions") != "" {
		in.Filter, more = v.formConditions(old.Filter)
	}
	tried := old
	tried.Filter = in.Filter
	if v.r.PostFormValue("columns") != "" {
		tried.Columns = slices.Clone(v.r.PostForm["column"])
		in.Columns = storage.Some(tried.Columns)
	}
	if do := v.r.PostFormValue("do"); do != "" && do != "save" {
		return v.showView(tried, map[string]string{}, 0, more...)
	}
	v.shown(&in)
	_, err = v.Views().Update(v.ctx(), id, in)
	if fault.Is(err, fault.Invalid) {
		return v.showView(tried, v.problems(err), http.StatusUnprocessableEntity, more...)
	}
	return v.unless(err, "views", v.words.T("Saved"))
}

func (v *visit) deleteView() error {
	return v.unless(v.Views().Delete(v.ctx(), v.number("id")), "views", v.words.T("View deleted"))
}

// conditions says in words what each filter selects. What it names but is gone, or is out of the member's sight, is "deleted".
func (v *visit) conditions(filters ...helpdesk.ViewFilter) ([]string, error) {
	var agents, customers []int64
	for _, f := range filters {
		agents, customers = append(agents, number(f.Agent)), append(customers, f.CustomerID)
	}
	if _, err := v.people(agents); err != nil { // remembered for all filters
		return nil, err
	}
	names := map[int64]string{}
	if customers = without(customers, 0); len(customers) > 0 && v.may(identity.CustomersView) {
		found, err := v.Customers().ByID(v.ctx(), customers)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			names[c.ID] = customerName(c)
		}
	}
	said := make([]string, len(filters))
	for i, f := range filters {
		var err error
		if said[i], err = v.condition(f, names); err != nil {
			return nil, err
		}
	}
	return said, nil
}

// condition says what one filter selects, with the names of customers.
func (v *visit) condition(f helpdesk.ViewFilter, customers map[int64]string) (string, error) {
	w := v.words
	var said []string
	add := func(format string, values ...string) {
		said = append(said, w.T(format, w.list(values)))
	}
	if len(f.Statuses) > 0 {
		var names []string
		for _, s := range f.Statuses {
			names = append(names, v.statusName(s))
		}
		add(say("Status: %s"), names...)
	}
	if f.CompanyID != 0 && v.may(identity.CompaniesView) {
		found, err := v.Companies().ByID(v.ctx(), []int64{f.CompanyID})
		if err != nil {
			return "", err
		}
		name := w.T("deleted")
		for _, c := range found {
			name = c.Name
		}
		add(say("Company: %s"), name)
	}
	if err := v.namedConditions(f, customers, add); err != nil {
		return "", err
	}
	if len(f.Priorities) > 0 {
		var names []string
		for _, p := range f.Priorities {
			names = append(names, urgencyOf(w, p).Text)
		}
		add(say("Priority: %s"), names...)
	}
	if f.Words != "" {
		add(say("Contains: %s"), f.Words)
	}
	if !f.UpdatedSince.IsZero() {
		add(say("Changed since: %s"), v.full(f.UpdatedSince))
	}
	flag := func(set *bool, yes, no string) {
		switch {
		case set == nil:
		case *set:
			said = append(said, yes)
		default:
			said = append(said, no)
		}
	}
	flag(f.Awaiting, w.T("Customer waits for an answer"), w.T("Customer does not wait"))
	flag(f.Snoozed, w.T("Snoozed"), w.T("Not snoozed"))
	flag(f.Spam, w.T("Spam"), w.T("No spam"))
	flag(f.Held, w.T("On hold"), w.T("Not on hold"))
	if f.Draft != "" {
		said = append(said, w.T("Has a draft of yours"))
	}
	if f.Undelivered {
		said = append(said, w.T("Undelivered"))
	}
	for _, r := range verdictTexts {
		if slices.Contains(f.Ratings, helpdesk.Verdict(r.ID)) {
			add(say("Rating: %s"), w.T(r.Text))
		}
	}
	for _, d := range dueTexts {
		if string(f.Due) == d.ID {
			add(say("Due: %s"), w.T(d.Text))
		}
	}
	fields, err := v.saidFields(f.Fields)
	if err != nil {
		return "", err
	}
	said = append(said, fields...)
	if len(said) == 0 {
		return w.T("All conversations"), nil
	}
	return strings.Join(said, " · "), nil
}

// namedConditions adds the conditions that name something of the account.
func (v *visit) namedConditions(f helpdesk.ViewFilter, customers map[int64]string, add func(format string, values ...string)) error {
	gone := v.words.T("deleted")
	switch f.Agent {
	case "":
	case helpdesk.AgentMe:
		add(say("Assigned to: %s"), v.words.T("Me"))
	case helpdesk.AgentUnassigned:
		add(say("Assigned to: %s"), v.words.T("Nobody"))
	default:
		who, err := v.people([]int64{number(f.Agent)})
		if err != nil {
			return err
		}
		add(say("Assigned to: %s"), cmp.Or(who[number(f.Agent)].Name, gone))
	}
	if f.TeamID != 0 {
		names, err := v.teamNames([]int64{f.TeamID})
		if err != nil {
			return err
		}
		add(say("Team: %s"), cmp.Or(names[f.TeamID], gone))
	}
	if len(f.TagIDs) > 0 {
		if err := v.tagCondition(f.TagIDs, add); err != nil {
			return err
		}
	}
	if f.MailboxID != 0 {
		boxes, err := v.mailboxes()
		if err != nil {
			return err
		}
		name := gone
		for _, m := range boxes {
			if m.ID == f.MailboxID {
				name = m.Name
			}
		}
		add(say("Mailbox: %s"), name)
	}
	if f.CustomerID != 0 {
		add(say("Customer: %s"), cmp.Or(customers[f.CustomerID], gone))
	}
	return nil
}

func (v *visit) tagCondition(ids []int64, add func(format string, values ...string)) error {
	var names []string
	if v.may(identity.TagsView) {
		tags, err := v.allTags()
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, t := range tags {
				if t.ID == id {
					names = append(names, t.Name)
				}
			}
		}
	}
	if len(names) == 0 {
		names = []string{v.words.T("deleted")}
	}
	add(say("Tag: %s"), names...)
	return nil
}

// statusName names a status of a conversation.
func (v *visit) statusName(s helpdesk.Status) string {
	switch s {
	case helpdesk.StatusPosted:
		return v.words.T("Open")
	case helpdesk.StatusPending:
		return v.words.T("Pending")
	case helpdesk.StatusClosed:
		return v.words.T("Closed")
	}
	return v.words.T("Draft")
}
