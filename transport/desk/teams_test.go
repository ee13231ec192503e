package desk_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Teams are made, filled and deleted in the settings.
func TestTeamSettings(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	if page := b.get("/settings/teams").body; !strings.Contains(page, "There is no team yet.") {
		t.Error("there is a team at first")
	}
	next := b.goOn(b.post("/settings/teams", url.Values{"name": {"Repairs"}, "join": {"1"}}))
	if !strings.Contains(next, "Added Repairs") || !strings.Contains(next, `action="/desk/a/1/settings/teams/1/remove"`) {
		t.Error("the new team has not its maker in it")
	}
	if page := b.post("/settings/teams", url.Values{"name": {"REPAIRS"}}); page.status != 422 || !strings.Contains(page.body, "aria-invalid") {
		t.Errorf("a second one: %d", page.status)
	}
	if next := b.goOn(b.post("/settings/teams/1", url.Values{"name": {"Doors"}})); !strings.Contains(next, "Saved") || !strings.Contains(next, "Doors") {
		t.Error("it was not renamed")
	}
	if page := b.post("/settings/teams/1", url.Values{"name": {""}}); page.status != 422 {
		t.Errorf("without a name: %d", page.status)
	}
	if next := b.goOn(b.post("/settings/teams/1/remove", url.Values{"user": {"1"}})); !strings.Contains(next, "Nobody is in this team yet.") {
		t.Error("its member was not taken out")
	}
	if next := b.goOn(b.post("/settings/teams/1/add", nil)); !strings.Contains(next, "Choose a member first") {
		t.Error("nobody was added without a word")
	}
	if next := b.goOn(b.post("/settings/teams/1/add", url.Values{"user": {"1"}})); !strings.Contains(next, "Added to the team") {
		t.Error("nobody was added")
	}
	if next := b.goOn(b.post("/settings/teams/1/delete", nil)); !strings.Contains(next, "Team deleted") || !strings.Contains(next, "There is no team yet.") {
		t.Error("it was not deleted")
	}
}

// A conversation assigned to a team appears in its list, is no longer unassigned, and can be returned.
func TestAssignTeam(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	for name, members := range map[string][]int64{"Repairs": {1}, "Sales": nil} {
		if _, err := b.desk.CreateTeam(t.Context(), helpdesk.TeamInput{Name: name, MemberIDs: storage.Some(members)}); err != nil {
			t.Fatal(err)
		}
	}
	teams := map[string]string{}
	page, err := b.desk.Teams(t.Context(), storage.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range page.Items {
		teams[team.Name] = strconv.FormatInt(team.ID, 10)
	}
	repairs := teams["Repairs"]
	for name, send := range map[string]func() string{
		"in the conversation": func() string { return b.goOn(b.post("/c/1/assign", url.Values{"team": {repairs}})) },
		"in the list":         func() string { return b.goOn(b.post("/bulk", url.Values{"id": {"1"}, "act": {"team-" + repairs}})) },
	} {
		next := send()
		if !strings.Contains(next, "Assigned 1 conversation") {
			t.Errorf("%s: nothing is said", name)
		}
		for _, tt := range []struct {
			path string
			want bool
		}{
			{"/inbox/unassigned", false}, {"/inbox/all", true}, {"/inbox/team-" + repairs, true}, {"/inbox/team-" + teams["Sales"], false},
			{"/inbox/all?team=" + repairs, true}, {"/inbox/all?team=" + teams["Sales"], false}, {"/inbox/unassigned?team=" + repairs, true},
		} {
			page := b.get(tt.path)
			if got := strings.Contains(page.body, ">The door<"); got != tt.want || page.status != 200 {
				t.Errorf("%s, %s: in the list %t, status %d", name, tt.path, got, page.status)
			}
		}
		sidebar := b.get("/inbox/all").body
		if !strings.Contains(sidebar, "/inbox/team-"+repairs+`"`) || strings.Contains(sidebar, `href="/desk/a/1/inbox/team-`+teams["Sales"]+`"`) {
			t.Errorf("%s: the sidebar has other teams than the member", name)
		}
		b.goOn(b.post("/undo", url.Values{"undo": {value(next, "undo")}}))
		if page := b.get("/inbox/unassigned").body; !strings.Contains(page, ">The door<") {
			t.Errorf("%s: undone, it is not nobody's again", name)
		}
	}
	b.goOn(b.post("/c/1/assign", url.Values{"team": {repairs}}))
	b.goOn(b.post("/c/1/assign", url.Values{"user": {"me"}}))
	if page := b.get("/c/1").body; !strings.Contains(page, "<bdi>Repairs</bdi>") || !strings.Contains(page, `name="team" value="0"`) {
		t.Error("who takes it over takes it from the team")
	}
	if next := b.goOn(b.post("/c/1/assign", url.Values{"team": {"0"}})); !strings.Contains(next, "Took 1 conversation out of its team") {
		t.Error("it stays in the team")
	}
	saved := b.goOn(b.post("/views", url.Values{"list": {"team-" + repairs}, "user": {"none"}, "view_name": {"Free"}}))
	if !strings.Contains(saved, "Saved as Free") {
		t.Error("the list of a team was not saved as a view")
	}
	view, err := b.desk.View(t.Context(), 1)
	if err != nil || strconv.FormatInt(view.Filter.TeamID, 10) != repairs || view.Filter.Agent != helpdesk.AgentUnassigned {
		t.Errorf("view %+v: %v", view.Filter, err)
	}
	if page := b.get("/inbox/team-99"); page.status != 404 {
		t.Errorf("a team that is not there: %d", page.status)
	}
}
