package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Team is a set of members that conversations can be assigned to. It grants nothing: its members see its conversations only
// as far as their roles and mailboxes allow.
type Team struct {
	ID        int64
	Name      string
	Key       string  // case-folded Name; unique in the account
	MemberIDs []int64 // ids of users, sorted
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UniqueTeam is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueTeam = "team"

const (
	// MaxTeams is the maximum number of teams in an account.
	MaxTeams = 200
	// MaxTeamMembers is the maximum number of members of a team.
	MaxTeamMembers = 500
)

// TeamInput creates or changes a team.
type TeamInput struct {
	Name string // required, at most 100 characters
	// MemberIDs replace the members, by user id, at most 500; absent leaves them unchanged. [Desk.AddTeamMembers] and
	// [Desk.RemoveTeamMembers] change single members.
	MemberIDs storage.Opt[[]int64]
}

// teamNoun declares the rows of teams.
func teamNoun() storage.Noun[Team] {
	return storage.Noun[Team]{
		Name: "team",
		ID:   func(t *Team) *int64 { return &t.ID },
		Unique: []storage.Unique[Team]{
			{Code: UniqueTeam, Fields: func(t *Team) []any { return []any{&t.Key} }},
		},
	}
}

// Has reports whether a user is in the team.
func (t Team) Has(userID int64) bool { return slices.Contains(t.MemberIDs, userID) }

// apply validates in and copies it into t.
func (t *Team) apply(in TeamInput) error {
	var problems fault.Collector
	t.Name = plain.Line(in.Name)
	t.Key = tagKey(t.Name)
	required(&problems, "name", t.Name, 100)
	checkTeamMembers(&problems, in.MemberIDs.Or(nil))
	if in.MemberIDs.IsSet() {
		t.MemberIDs = sortedSet(in.MemberIDs.Or(nil))
	}
	return problems.Err()
}

func checkTeamMembers(problems *fault.Collector, ids []int64) {
	problems.Check(len(ids) <= MaxTeamMembers, "users", fmt.Sprintf("has more than %d ids", MaxTeamMembers))
}

// checkUsers verifies that users are members of the account.
func checkUsers(ctx context.Context, r Reader, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	users, err := r.UsersByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(users, func(u identity.User) bool { return u.ID == id }) {
			return fault.Missing("user", id)
		}
	}
	return nil
}

// Team returns a team. It needs memberships.view.
func (d *Desk) Team(ctx context.Context, id int64) (Team, error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return Team{}, err
	}
	return r.Teams().Get(ctx, id)
}

// Teams lists the account's teams, oldest first. It needs memberships.view.
func (d *Desk) Teams(ctx context.Context, req storage.PageRequest) (storage.Page[Team], error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return storage.Page[Team]{}, err
	}
	return storage.List(req, false, func(t Team) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]Team, error) { return r.Teams().List(ctx, storage.NoFilter{}, seek) })
}

// TeamsByID returns the existing ones of the given teams, for showing assignments.
func (d *Desk) TeamsByID(ctx context.Context, ids []int64) ([]Team, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.Teams().ByIDs(ctx, ids)
}

// CreateTeam creates a team. It needs memberships.update and all mailboxes. A name that another team has, ignoring case, is
// an Invalid fault on name; a user who is not a member of the account is a NotFound fault; more than 200 teams are a
// Conflict fault.
func (d *Desk) CreateTeam(ctx context.Context, in TeamInput) (Team, error) {
	begin, err := d.writesTeams()
	if err != nil {
		return Team{}, err
	}
	now := d.svc.now()
	t := Team{CreatedAt: now, UpdatedAt: now}
	if err := t.apply(in); err != nil {
		return Team{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		some, err := tx.Teams().List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxTeams})
		if err != nil {
			return err
		}
		if len(some) >= MaxTeams {
			return fault.Newf(fault.Conflict, "An account has at most %d teams.", MaxTeams)
		}
		if err := checkUsers(ctx, tx.Reader(), t.MemberIDs); err != nil {
			return err
		}
		if err := tx.Teams().Insert(ctx, &t); err != nil {
			return err
		}
		return d.emit(ctx, tx, "team.created", t.ID, 0)
	})
	return t, takenField(err, UniqueTeam, "name")
}

// writesTeams checks the permission to change teams: memberships.update and all mailboxes.
func (d *Desk) writesTeams() (func(context.Context, func(context.Context, Tx) error) error, error) {
	begin, err := d.guard.Write(identity.MembershipsUpdate)
	if err != nil {
		return nil, err
	}
	return begin, d.reachesAll()
}

// UpdateTeam changes a team. Like all changes of teams, it needs the permissions of CreateTeam.
func (d *Desk) UpdateTeam(ctx context.Context, id int64, in TeamInput) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error { return t.apply(in) })
}

// AddTeamMembers adds users to a team and returns it; existing members are ignored.
func (d *Desk) AddTeamMembers(ctx context.Context, id int64, userIDs []int64) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error {
		var problems fault.Collector
		checkTeamMembers(&problems, userIDs)
		if problems.Err() == nil {
			t.MemberIDs = sortedSet(slices.Concat(t.MemberIDs, userIDs))
			checkTeamMembers(&problems, t.MemberIDs)
		}
		return problems.Err()
	})
}

// RemoveTeamMembers removes users from a team and returns it; users who are not in it are ignored. Conversations assigned to
// them stay theirs.
func (d *Desk) RemoveTeamMembers(ctx context.Context, id int64, userIDs []int64) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error {
		var problems fault.Collector
		checkTeamMembers(&problems, userIDs)
		t.MemberIDs = slices.DeleteFunc(slices.Clone(t.MemberIDs), func(id int64) bool { return slices.Contains(userIDs, id) })
		return problems.Err()
	})
}

// changeTeam changes a team while changes of it and the end of memberships are locked out.
func (d *Desk) changeTeam(ctx context.Context, id int64, change func(*Team) error) (Team, error) {
	begin, err := d.writesTeams()
	if err != nil {
		return Team{}, err
	}
	var t Team
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := tx.Teams().Lock(ctx, id)
		if err != nil {
			return err
		}
		t = old
		if err := change(&t); err != nil {
			return err
		}
		joined := slices.DeleteFunc(slices.Clone(t.MemberIDs), old.Has)
		if err := checkUsers(ctx, tx.Reader(), joined); err != nil {
			return err
		}
		if t.Name == old.Name && slices.Equal(t.MemberIDs, old.MemberIDs) {
			return nil
		}
		t.UpdatedAt = d.svc.now()
		if err := tx.Teams().Update(ctx, &t); err != nil {
			return err
		}
		return d.emit(ctx, tx, "team.updated", t.ID, 0)
	})
	return t, takenField(err, UniqueTeam, "name")
}

// DeleteTeam removes a team; a job soon removes it from its conversations, which keep their users. It needs the permissions
// of CreateTeam.
func (d *Desk) DeleteTeam(ctx context.Context, id int64) error {
	begin, err := d.writesTeams()
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Teams().Delete(ctx, id); err != nil {
			return err
		}
		job := storage.Job{Kind: JobDisband, AccountID: d.scope.AccountID, Subject: id, RunAt: d.svc.now()}
		if err := tx.Enqueue(ctx, job); err != nil {
			return err
		}
		return d.emit(ctx, tx, "team.deleted", id, 0)
	})
}

// leaveTeams removes a former member from all teams. The account must be locked.
func (s *Service) leaveTeams(ctx context.Context, tx Tx, userID int64, emit func(kind string, subject int64) error) error {
	all, err := tx.Teams().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, t := range all {
		if !t.Has(userID) {
			continue
		}
		t.MemberIDs = slices.DeleteFunc(t.MemberIDs, func(id int64) bool { return id == userID })
		t.UpdatedAt = s.now()
		if err := tx.Teams().Update(ctx, &t); err != nil {
			return err
		}
		if err := emit("team.updated", t.ID); err != nil {
			return err
		}
	}
	return nil
}

// checkTeam verifies that a team to be assigned exists until the transaction ends. If it is deleted afterwards, the deletion
// includes the conversation.
func checkTeam(ctx context.Context, tx Tx, id int64) error {
	if id == 0 {
		return nil
	}
	_, err := tx.Teams().Lock(ctx, id)
	return err
}

// Disband runs a [JobDisband] job: it removes a deleted team from its conversations, a hundred at a time. It is idempotent.
func (s *Service) Disband(ctx context.Context, job storage.ClaimedJob) error {
	back := func(ctx context.Context, tx Tx) (bool, error) {
		there, err := tx.Teams().ByIDs(ctx, []int64{job.Subject})
		return len(there) > 0, err
	}
	return s.takeAllBack(ctx, job.AccountID, back, ConversationFilter{TeamID: storage.Some(job.Subject)}, func(c *Conversation) bool {
		was := c.TeamID == job.Subject
		if was {
			c.TeamID = 0
		}
		return was
	})
}
