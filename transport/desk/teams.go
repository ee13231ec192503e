package desk

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// teams returns the teams of the account that the member may see, by name. They are read once per page.
func (v *visit) teams() ([]helpdesk.Team, error) {
	if !v.may(identity.MembershipsView) {
		return nil, nil
	}
	return memoize(v.memo, &v.memo.teams, v.readTeams)
}

func (v *visit) readTeams() ([]helpdesk.Team, error) {
	all := []helpdesk.Team{}
	for cursor := ""; ; {
		page, err := v.Teams().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b helpdesk.Team) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return all, nil
}

// teamLinks returns the teams to which conversations can be assigned.
func (v *visit) teamLinks() ([]Link, error) {
	all, err := v.teams()
	var links []Link
	for _, t := range all {
		links = append(links, Link{Text: t.Name, URL: itoa(t.ID)})
	}
	return links, err
}

// teamNames returns the names of teams by id.
func (v *visit) teamNames(ids []int64) (map[int64]string, error) {
	names := map[int64]string{}
	if ids = without(ids, 0); len(ids) == 0 {
		return names, nil
	}
	if v.may(identity.MembershipsView) {
		all, err := v.teams()
		for _, t := range all {
			if slices.Contains(ids, t.ID) {
				names[t.ID] = t.Name
			}
		}
		return names, err
	}
	found, err := v.Teams().ByID(v.ctx(), ids)
	for _, t := range found {
		names[t.ID] = t.Name
	}
	return names, err
}

// teamNav returns the member's own teams; others are available as filters of lists.
func (v *visit) teamNav(counts helpdesk.Counts) (navGroup, error) {
	g := navGroup{Title: v.words.T("Teams")}
	all, err := v.teams()
	for _, t := range all {
		if t.Has(v.UserID()) {
			g.Items = append(g.Items, v.inboxItem(fmt.Sprintf("team-%d", t.ID), t.Name, "group", int(ofTeam(counts, t.ID).Open)))
		}
	}
	return g, err
}

// ofTeam returns the counts of one team.
func ofTeam(c helpdesk.Counts, id int64) helpdesk.TeamCounts {
	for _, t := range c.Teams {
		if t.TeamID == id {
			return t
		}
	}
	return helpdesk.TeamCounts{}
}

// teamTitle returns the heading of a team's list and its subtitle.
func (v *visit) teamTitle(counts helpdesk.Counts, id int64) (title, summary string, err error) {
	names, err := v.teamNames([]int64{id})
	if err == nil && names[id] == "" {
		err = v.missing()
	}
	n := ofTeam(counts, id)
	return names[id], v.words.list([]string{v.words.N(int(n.Open), "%s open"), v.words.N(int(n.Unassigned), "%s unassigned")}), err
}

// teamChoice returns the filter by team, if there are teams.
func (v *visit) teamChoice(l listing) (choice, bool, error) {
	all, err := v.teams()
	if err != nil || len(all) == 0 {
		return choice{}, false, err
	}
	c := choice{Text: v.words.T("Team"), Options: []option{{Text: v.words.T("Any team"), URL: v.listURL(l, "team", ""), Active: l.team == 0}}}
	for _, t := range all {
		if t.ID == l.team {
			c.Text, c.Active = t.Name, true
		}
		c.Options = append(c.Options, option{Text: t.Name, URL: v.listURL(l, "team", itoa(t.ID)), Active: t.ID == l.team})
	}
	return c, true, nil
}

type teamsView struct {
	Rows      []teamRow
	Action    string
	CanChange bool
	Name      string
	Errors    map[string]string
}

type teamRow struct {
	Name, Count, URL string
}

func (v *visit) teamsPage() error { return v.listTeams("", nil, 0) }

// changesTeams reports whether the member may change teams, which requires access to all mailboxes.
func (v *visit) changesTeams() (bool, error) {
	if !v.may(identity.MembershipsUpdate) {
		return false, nil
	}
	own, err := v.Membership(v.ctx())
	return len(own.MailboxIDs) == 0, err
}

func (v *visit) listTeams(name string, problems map[string]string, status int) error {
	all, err := v.teams()
	if err != nil {
		return err
	}
	view := teamsView{Action: v.at("/settings/teams"), Name: name, Errors: orEmpty(problems)}
	if view.CanChange, err = v.changesTeams(); err != nil {
		return err
	}
	for _, t := range all {
		view.Rows = append(view.Rows, teamRow{
			Name: t.Name, URL: v.at("/settings/teams/" + itoa(t.ID)), Count: v.words.N(len(t.MemberIDs), "%s member|%s members"),
		})
	}
	return v.settingsPage("teams", v.words.T("Teams"), view, status)
}

func (v *visit) addTeam() error {
	name := v.r.PostFormValue("name")
	in := helpdesk.TeamInput{Name: name}
	if v.r.PostFormValue("join") != "" {
		in.MemberIDs = storage.Some([]int64{v.UserID()})
	}
	t, err := v.Teams().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		return v.listTeams(name, v.problems(err), http.StatusUnprocessableEntity)
	}
	if err != nil {
		return v.unless(err, "teams", "")
	}
	return v.saved("teams/"+itoa(t.ID), v.words.T("Added %s", t.Name))
}

type teamView struct {
	Name, Action, List, Show string
	Members                  []teammate
	Others                   []person
	Queue                    *teamQueueView // nil: not to be seen
	Policy                   teamPolicy
	CanChange                bool
	Errors                   map[string]string
}

func (v *visit) teamPage() error { return v.showTeam("", nil, 0) }

// showTeam shows a team, with the name in a submitted form.
func (v *visit) showTeam(name string, problems map[string]string, status int) error {
	t, err := v.Teams().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	everybody, err := v.team()
	if err != nil {
		return err
	}
	view := teamView{
		Name: t.Name, Action: v.at("/settings/teams/" + itoa(t.ID)), List: v.at("/settings/teams"), Errors: orEmpty(problems),
	}
	if view.CanChange, err = v.changesTeams(); err != nil {
		return err
	}
	if v.may(identity.ConversationsView) {
		view.Show = v.at("/inbox/team-" + itoa(t.ID))
	}
	if problems != nil {
		view.Name = name
	}
	var members []person
	for _, p := range everybody {
		if t.Has(p.ID) {
			members = append(members, p)
		} else {
			view.Others = append(view.Others, p)
		}
	}
	if view.Members, err = v.teammates(t, members); err != nil {
		return err
	}
	if v.may(identity.ConversationsView) {
		if view.Queue, err = v.queueView(t); err != nil {
			return err
		}
	}
	view.Policy = v.policyView(t.Assignment)
	if problems != nil && v.r.PostFormValue("strategy") != "" { // as it was sent
		view.Policy = v.policyView(sentAs(v.sentPolicy()))
		view.Policy.Capacity, view.Policy.After = v.r.PostFormValue("capacity"), v.r.PostFormValue("return_after")
	}
	return v.settingsPage("team", t.Name, view, status)
}

func (v *visit) saveTeam() error {
	id, name := v.number("id"), v.r.PostFormValue("name")
	_, err := v.Teams().Update(v.ctx(), id, helpdesk.TeamInput{Name: name})
	if fault.Is(err, fault.Invalid) {
		return v.showTeam(name, v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "teams/"+itoa(id), v.words.T("Saved"))
}

// addToTeam adds one member, and leaves concurrent changes by others alone.
func (v *visit) addToTeam() error {
	id, user := v.number("id"), v.field("user")
	if user == 0 {
		v.say(toast{Text: v.words.T("Choose a member first"), Bad: true})
		return v.see(v.at("/settings/teams/" + itoa(id)))
	}
	_, err := v.Teams().AddMembers(v.ctx(), id, []int64{user})
	return v.unless(err, "teams/"+itoa(id), v.words.T("Added to the team"))
}

func (v *visit) takeFromTeam() error {
	id := v.number("id")
	_, err := v.Teams().RemoveMembers(v.ctx(), id, []int64{v.field("user")})
	return v.unless(err, "teams/"+itoa(id), v.words.T("Removed from the team"))
}

func (v *visit) deleteTeam() error {
	return v.unless(v.Teams().Delete(v.ctx(), v.number("id")), "teams", v.words.T("Team deleted"))
}
