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
	if page := b.get("/settings/teams").body; !strings.Contains(page, "No teams yet.") {
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
	if next := b.goOn(b.post("/settings/teams/1/remove", url.Values{"user": {"1"}})); !strings.Contains(next, "This team has no members yet.") {
		t.Error("its member was not taken out")
	}
	if next := b.goOn(b.post("/settings/teams/1/add", nil)); !strings.Contains(next, "Choose a member first") {
		t.Error("nobody was added without a word")
	}
	if next := b.goOn(b.post("/settings/teams/1/add", url.Values{"user": {"1"}})); !strings.Contains(next, "Added to the team") {
		t.Error("nobody was added")
	}
	if next := b.goOn(b.post("/settings/teams/1/delete", nil)); !strings.Contains(next, "Team deleted") || !strings.Contains(next, "No teams yet.") {
		t.Error("it was not deleted")
	}
}

// A conversation assigned to a team appears in its list, is no longer unassigned, and can be returned.
func TestAssignTeam(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	for name, members := range map[string][]int64{"Repairs": {1}, "Sales": nil} {
		if _, err := b.desk.Teams().Create(t.Context(), helpdesk.TeamInput{Name: name, MemberIDs: storage.Some(members)}); err != nil {
			t.Fatal(err)
		}
	}
	teams := map[string]string{}
	page, err := b.desk.Teams().List(t.Context(), storage.PageRequest{})
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
	if next := b.goOn(b.post("/c/1/assign", url.Values{"team": {"0"}})); !strings.Contains(next, "Removed 1 conversation from its team") {
		t.Error("it stays in the team")
	}
	saved := b.goOn(b.post("/views", url.Values{"list": {"team-" + repairs}, "user": {"none"}, "view_name": {"Free"}}))
	if !strings.Contains(saved, "Saved as Free") {
		t.Error("the list of a team was not saved as a view")
	}
	view, err := b.desk.Views().Get(t.Context(), 1)
	if err != nil || strconv.FormatInt(view.Filter.TeamID, 10) != repairs || view.Filter.Agent != helpdesk.AgentUnassigned {
		t.Errorf("view %+v: %v", view.Filter, err)
	}
	if page := b.get("/inbox/team-99"); page.status != 404 {
		t.Errorf("a team that is not there: %d", page.status)
	}
}

// A team's page shows its queue, its members with what they have to do, and how it hands out conversations; the history of a
// conversation says why.
func TestTeamAssignment(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	if _, err := b.desk.Teams().Create(t.Context(), helpdesk.TeamInput{Name: "Repairs", MemberIDs: storage.Some([]int64{b.desk.UserID()})}); err != nil {
		t.Fatal(err)
	}
	for n, subject := range []string{"The door", "The window"} {
		b.asks("ada@example.com", subject, "It is stuck.")
		if _, err := b.desk.Conversations().Update(t.Context(), int64(n+1), helpdesk.ConversationUpdate{
			TeamID: storage.Some[int64](1), Priority: storage.Some([]helpdesk.Priority{helpdesk.PriorityNormal, helpdesk.PriorityUrgent}[n]),
		}); err != nil {
			t.Fatal(err)
		}
	}
	page := b.get("/settings/teams/1").body
	if door, window := strings.Index(page, "The door"), strings.Index(page, "The window"); window < 0 || door < window {
		t.Errorf("the queue has the urgent conversation at %d, the other at %d", window, door)
	}
	for name, tt := range map[string]struct {
		sent url.Values
		want string
	}{
		"capacity":     {url.Values{"strategy": {"round_robin"}, "who": {"all"}, "capacity": {"many"}}, "Enter a number from 1 to 1000, or leave it empty"},
		"return_after": {url.Values{"strategy": {"round_robin"}, "who": {"all"}, "returns": {"1"}, "return_after": {"1000"}}, "Enter a number from 1 to 720"},
	} {
		if page := b.post("/settings/teams/1/assignment", tt.sent); page.status != 422 || !strings.Contains(page.body, tt.want) || !strings.Contains(page.body, `value="round_robin" checked`) {
			t.Errorf("a wrong %s: %d", name, page.status)
		}
	}
	next := b.goOn(b.post("/settings/teams/1/assignment", url.Values{
		"strategy": {"balanced"}, "who": {"all"}, "capacity": {"1"}, "sticky": {"1"}, "returns": {"1"}, "return_after": {"8"},
	}))
	for _, want := range []string{"Saved", `value="balanced" checked`, `name="capacity" value="1"`, `name="return_after" value="8"`, "0 of 1 open", "Gets the next one"} {
		if !strings.Contains(next, want) {
			t.Errorf("after saving, the page lacks %q", want)
		}
	}
	b.asks("bob@example.com", "The gate", "It is stuck.")
	if _, err := b.desk.Conversations().Update(t.Context(), 3, helpdesk.ConversationUpdate{Priority: storage.Some(helpdesk.PriorityUrgent), TeamID: storage.Some[int64](1)}); err != nil {
		t.Fatal(err)
	}
	if err := b.service.Jobs().HandOut(t.Context(), storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: 1}}); err != nil {
		t.Fatal(err)
	}
	if page := b.get("/settings/teams/1").body; !strings.Contains(page, "1 of 1 open") || !strings.Contains(page, "Full") || strings.Contains(page, "The window</b>") {
		t.Error("the most urgent one was not handed out")
	}
	if page := b.get("/c/2").body; !strings.Contains(page, "Repairs gave this to ") || !strings.Contains(page, "who had the fewest open conversations (0)") {
		t.Error("the history does not say why")
	}
	b.post("/settings/teams/1/assignment", url.Values{"strategy": {"none"}, "who": {"available"}})
	team, err := b.desk.Teams().Get(t.Context(), 1)
	if err != nil || team.Assignment.On() || team.Assignment.Capacity != 0 || team.Assignment.Sticky || team.Assignment.WhenUnavailable != "keep" {
		t.Errorf("switched off it is %+v, %v", team.Assignment, err)
	}
}
