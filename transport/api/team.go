package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// team as the API shows it.
type team struct {
	ID        int64          `json:"id"`
	Name      string         `json:"name"`
	Users     []int64        `json:"users" description:"Ids of its members, in order."`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type teamInput struct {
	Name  string               `json:"name" required:"true" maxLength:"100" example:"Repairs"`
	Users storage.Opt[[]int64] `json:"users" maxItems:"500" description:"Ids of its members. Omitted, they stay unchanged."`
}

type teamID struct {
	TeamID int64 `path:"team_id"`
}

type teamUpdate struct {
	teamID
	teamInput
}

// teamMembers is the input that changes the members of a team.
type teamMembers struct {
	teamID
	Users []int64 `json:"users" required:"true" maxItems:"500" description:"Ids of users."`
}

const (
	teamsPath = accountPath + "/teams"
	teamPath  = teamsPath + "/{team_id}"
)

func (a *api) addTeams(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Teams", Summary: summary, Description: description}
	}
	create := op("createTeam", http.MethodPost, teamsPath, "Create a team",
		"422 if the name is taken, ignoring case, and for users who are not members of the account. At most 200 per account. "+
			"Needs memberships.update and all mailboxes.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in teamInput) (team, error) {
		made, err := d.CreateTeam(ctx, helpdesk.TeamInput{Name: in.Name, MemberIDs: in.Users})
		return showTeam(made), err
	})
	transport.HandlePage(t, a.desk, op("listTeams", http.MethodGet, teamsPath, "List teams", "Oldest first. Needs memberships.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[team], error) {
			page, err := d.Teams(ctx, in.Request())
			return mapPage(page, showTeam), err
		})
	transport.Handle(t, a.desk, op("getTeam", http.MethodGet, teamPath, "Retrieve a team", "Needs memberships.view."),
		func(ctx context.Context, d *helpdesk.Desk, in teamID) (team, error) {
			found, err := d.Team(ctx, in.TeamID)
			return showTeam(found), err
		})
	transport.Handle(t, a.desk, op("updateTeam", http.MethodPut, teamPath, "Update a team",
		"To add or remove single members, use the operations for that. Needs memberships.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in teamUpdate) (team, error) {
			changed, err := d.UpdateTeam(ctx, in.TeamID, helpdesk.TeamInput{Name: in.Name, MemberIDs: in.Users})
			return showTeam(changed), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteTeam", http.MethodDelete, teamPath, "Delete a team",
		"Soon after, its conversations lose it and keep their users. Needs memberships.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in teamID) error { return d.DeleteTeam(ctx, in.TeamID) })
	const membersPath = teamPath + "/members"
	transport.Handle(t, a.desk, op("addTeamMembers", http.MethodPost, membersPath, "Add members to a team",
		"Returns the team. Users already in it are ignored. 422 for users who are not members of the account. Needs "+
			"memberships.update and all mailboxes."), changeTeam((*helpdesk.Desk).AddTeamMembers))
	remove := op("removeTeamMembers", http.MethodDelete, membersPath, "Remove members from a team",
		"Users who are not in it are ignored. Their assignments stay. Needs memberships.update and all mailboxes.")
	remove.BodyQuery = true
	transport.HandleEmpty(t, a.desk, remove, func(ctx context.Context, d *helpdesk.Desk, in teamMembers) error {
		_, err := d.RemoveTeamMembers(ctx, in.TeamID, in.Users)
		return err
	})
}

// changeTeam makes an operation from a method that changes the members of a team.
func changeTeam(change func(*helpdesk.Desk, context.Context, int64, []int64) (helpdesk.Team, error)) func(context.Context, *helpdesk.Desk, teamMembers) (team, error) {
	return func(ctx context.Context, d *helpdesk.Desk, in teamMembers) (team, error) {
		changed, err := change(d, ctx, in.TeamID, in.Users)
		return showTeam(changed), err
	}
}

func showTeam(t helpdesk.Team) team {
	return team{ID: t.ID, Name: t.Name, Users: append([]int64{}, t.MemberIDs...), CreatedAt: transport.Time(t.CreatedAt), UpdatedAt: transport.Time(t.UpdatedAt)}
}

// findTeams returns teams by id, for showing them.
func findTeams(ctx context.Context, d *helpdesk.Desk, ids []int64) (map[int64]team, error) {
	found, err := d.TeamsByID(ctx, ids)
	shown := make(map[int64]team, len(found))
	for _, t := range found {
		shown[t.ID] = showTeam(t)
	}
	return shown, err
}
