package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// team as the API shows it.
type team struct {
	ID         int64          `json:"id"`
	Name       string         `json:"name"`
	Users      []int64        `json:"users" description:"Ids of its members, in order."`
	Assignment assignment     `json:"assignment" description:"How it hands out its conversations."`
	CreatedAt  transport.Time `json:"created_at"`
	UpdatedAt  transport.Time `json:"updated_at"`
}

// assignment is how a team hands out its conversations.
type assignment struct {
	Strategy        string `json:"strategy" enum:"none,round_robin,balanced" description:"none: members take conversations themselves. round_robin: to the member whose last turn is longest ago. balanced: to the member with the fewest open conversations."`
	Capacity        *int   `json:"capacity" description:"Open conversations per member, of any team, up to which a member gets more. Null: no limit."`
	Who             string `json:"who" enum:"available,scheduled,all" description:"Members who get conversations. available: who are online. scheduled: within their working hours, and not away. all: at any time."`
	WhenUnavailable string `json:"when_unavailable" enum:"keep,return" description:"What happens to open conversations of a member who is away. keep: they stay with the member. return: they go back to the team after return_after hours."`
	ReturnAfter     int    `json:"return_after" description:"Hours."`
	Sticky          bool   `json:"sticky" description:"Whoever had the customer's last conversation comes first, if available."`
}

type assignmentInput struct {
	Strategy        storage.Opt[assign.Strategy]        `json:"strategy" enum:"none,round_robin,balanced" description:"How it chooses. Default: none."`
	Capacity        storage.Opt[int]                    `json:"capacity" minimum:"1" maximum:"1000" description:"Open conversations per member, of any team, up to which a member gets more. Null: no limit, the default."`
	Who             storage.Opt[assign.Who]             `json:"who" enum:"available,scheduled,all" description:"Members who get conversations. Default: available."`
	WhenUnavailable storage.Opt[assign.WhenUnavailable] `json:"when_unavailable" enum:"keep,return" description:"What happens to open conversations of a member who is away. Default: keep."`
	ReturnAfter     storage.Opt[int]                    `json:"return_after" minimum:"1" maximum:"720" description:"Hours. Default: 24."`
	Sticky          storage.Opt[bool]                   `json:"sticky" description:"Whoever had the customer's last conversation comes first. Default: false."`
}

// teamMember is a member of a team as its assignment sees them.
type teamMember struct {
	UserID      int64 `json:"user_id" description:"The member."`
	Load        int   `json:"load" description:"Open conversations of the member, of any team and in all mailboxes."`
	IsAvailable bool  `json:"is_available" description:"Counts as available for the team's assignment, by its who."`
	IsOnline    bool  `json:"is_online" description:"Is online now."`
	IsFull      bool  `json:"is_full" description:"Has reached the team's capacity."`
	CanAnswer   bool  `json:"can_answer" description:"May see and answer conversations. Others get none."`
	IsNext      bool  `json:"is_next" description:"Would get the next conversation, if it is in a mailbox within reach."`
}

func showTeamMember(m helpdesk.TeamMember) teamMember {
	return teamMember{
		UserID: m.UserID, Load: m.Load, IsAvailable: m.Here, IsOnline: m.Online, IsFull: m.Full, CanAnswer: m.Able, IsNext: m.Next,
	}
}

type teamMemberList struct {
	teamID
	transport.Paging
}

type teamQueue struct {
	teamID
	transport.Paging
	expanding
}

type teamInput struct {
	Name       string               `json:"name" required:"true" maxLength:"100" example:"Repairs"`
	Users      storage.Opt[[]int64] `json:"users" maxItems:"500" description:"Ids of its members. Omitted, they stay unchanged."`
	Assignment assignmentInput      `json:"assignment" description:"How it hands out its conversations. Fields that are left out stay unchanged."`
}

func (in teamInput) input() helpdesk.TeamInput {
	return helpdesk.TeamInput{Name: in.Name, MemberIDs: in.Users, Assignment: helpdesk.AssignmentInput(in.Assignment)}
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
		made, err := d.Teams().Create(ctx, in.input())
		return showTeam(made), err
	})
	transport.HandlePage(t, a.desk, op("listTeams", http.MethodGet, teamsPath, "List teams", "Oldest first. Needs memberships.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[team], error) {
			page, err := d.Teams().List(ctx, in.Request())
			return mapPage(page, showTeam), err
		})
	transport.Handle(t, a.desk, op("getTeam", http.MethodGet, teamPath, "Retrieve a team", "Needs memberships.view."),
		func(ctx context.Context, d *helpdesk.Desk, in teamID) (team, error) {
			found, err := d.Teams().Get(ctx, in.TeamID)
			return showTeam(found), err
		})
	transport.Handle(t, a.desk, op("updateTeam", http.MethodPut, teamPath, "Update a team",
		"To add or remove single members, use the operations for that. Needs memberships.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in teamUpdate) (team, error) {
			changed, err := d.Teams().Update(ctx, in.TeamID, in.input())
			return showTeam(changed), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteTeam", http.MethodDelete, teamPath, "Delete a team",
		"Soon after, its conversations lose it and keep their users. Needs memberships.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in teamID) error { return d.Teams().Delete(ctx, in.TeamID) })
	queue := op("listTeamQueue", http.MethodGet, teamPath+"/queue", "List the queue of a team",
		"The open conversations of the team without a user, in the order in which they are handed out: the most urgent first, and of these "+
			"those that wait longest, by customer_awaiting_reply_since or else created_at. Needs conversations.view and memberships.view.")
	queue.Expand = []string{"user", "team", "mailbox", "customer"}
	transport.HandlePage(t, a.desk, queue, a.listTeamQueue)
	const membersPath = teamPath + "/members"
	transport.HandlePage(t, a.desk, op("listTeamMembers", http.MethodGet, membersPath, "List the members of a team with their loads",
		"By user id, as the team's assignment sees them now. Needs memberships.view."),
		func(ctx context.Context, d *helpdesk.Desk, in teamMemberList) (storage.Page[teamMember], error) {
			all, err := d.Teams().Members(ctx, in.TeamID)
			if err != nil {
				return storage.Page[teamMember]{}, err
			}
			page, err := pageOf(in.Paging, all, func(m helpdesk.TeamMember) int64 { return m.UserID })
			return mapPage(page, showTeamMember), err
		})
	transport.Handle(t, a.desk, op("addTeamMembers", http.MethodPost, membersPath, "Add members to a team",
		"Returns the team. Users already in it are ignored. 422 for users who are not members of the account. Needs "+
			"memberships.update and all mailboxes."), changeTeam(helpdesk.Teams.AddMembers))
	remove := op("removeTeamMembers", http.MethodDelete, membersPath, "Remove members from a team",
		"Users who are not in it are ignored. Their assignments stay. Needs memberships.update and all mailboxes.")
	remove.BodyQuery = true
	transport.HandleEmpty(t, a.desk, remove, func(ctx context.Context, d *helpdesk.Desk, in teamMembers) error {
		_, err := d.Teams().RemoveMembers(ctx, in.TeamID, in.Users)
		return err
	})
}

func (a *api) listTeamQueue(ctx context.Context, d *helpdesk.Desk, in teamQueue) (storage.Page[conversation], error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return storage.Page[conversation]{}, err
	}
	page, err := d.Teams().Queue(ctx, in.TeamID, in.Request())
	if err != nil {
		return storage.Page[conversation]{}, err
	}
	shown, err := showConversations(ctx, d, page.Items, in.Expand)
	return storage.Page[conversation]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

// changeTeam makes an operation from a method that changes the members of a team.
func changeTeam(change func(helpdesk.Teams, context.Context, int64, []int64) (helpdesk.Team, error)) func(context.Context, *helpdesk.Desk, teamMembers) (team, error) {
	return func(ctx context.Context, d *helpdesk.Desk, in teamMembers) (team, error) {
		changed, err := change(d.Teams(), ctx, in.TeamID, in.Users)
		return showTeam(changed), err
	}
}

func showTeam(t helpdesk.Team) team {
	p := t.Assignment.WithDefaults()
	shown := assignment{
		Strategy: string(p.Strategy), Who: string(p.Who), WhenUnavailable: string(p.WhenUnavailable), ReturnAfter: p.ReturnAfter, Sticky: p.Sticky,
	}
	if p.Capacity > 0 {
		shown.Capacity = &p.Capacity
	}
	return team{
		ID: t.ID, Name: t.Name, Users: append([]int64{}, t.MemberIDs...), Assignment: shown,
		CreatedAt: transport.Time(t.CreatedAt), UpdatedAt: transport.Time(t.UpdatedAt),
	}
}

// findTeams returns teams by id, for showing them.
func findTeams(ctx context.Context, d *helpdesk.Desk, ids []int64) (map[int64]team, error) {
	found, err := d.Teams().ByID(ctx, ids)
	shown := make(map[int64]team, len(found))
	for _, t := range found {
		shown[t.ID] = showTeam(t)
	}
	return shown, err
}
