package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Team is a set of members that conversations can be assigned to. It gives nobody any
// right: who is in it sees of its conversations what their roles and mailboxes show.
type Team struct {
	ID        int64
	Name      string
	Key       string  // Name with its case folded; unique in the account
	MemberIDs []int64 // ids of users, sorted
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UniqueTeam is the code of the Conflict fault of a store for a second team with the
// same (account, Key).
const UniqueTeam = "team"

const (
	// MaxTeams is how many teams an account has at most.
	MaxTeams = 200
	// MaxTeamMembers is how many members a team has at most.
	MaxTeamMembers = 500
)

// TeamInput makes or changes a team.
type TeamInput struct {
	Name string // required, at most 100 characters
	// MemberIDs become the members, by the ids of their users, at most 500; absent, they
	// stay. [Desk.AddTeamMembers] and [Desk.RemoveTeamMembers] leave the others alone.
	MemberIDs storage.Opt[[]int64]
}

// teamNoun declares how teams are kept.
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

// apply validates in and puts it into t.
func (t *Team) apply(in TeamInput) error {
	var problems fault.Collector
	t.Name = cleanLine(in.Name)
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

// checkUsers makes sure that users work in the account.
func checkUsers(ctx context.Context, r Reader, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	users, err := r.UsersByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(users, func(u User) bool { return u.ID == id }) {
			return fault.Missing("user", id)
		}
	}
	return nil
}

// Team returns a team. It needs memberships.view.
func (d *Desk) Team(ctx context.Context, id int64) (Team, error) {
	r, err := d.guard.Read(MembershipsView)
	if err != nil {
		return Team{}, err
	}
	return r.Teams().Get(ctx, id)
}

// Teams lists the account's teams, oldest first. It needs memberships.view.
func (d *Desk) Teams(ctx context.Context, req storage.PageRequest) (storage.Page[Team], error) {
	r, err := d.guard.Read(MembershipsView)
	if err != nil {
		return storage.Page[Team]{}, err
	}
	return storage.List(req, false, func(t Team) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]Team, error) { return r.Teams().List(ctx, storage.NoFilter{}, seek) })
}

// TeamsByID returns those of the teams that are there, for showing whose a conversation
// is.
func (d *Desk) TeamsByID(ctx context.Context, ids []int64) ([]Team, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.Teams().ByIDs(ctx, ids)
}

// CreateTeam makes a team. It needs memberships.update, and all mailboxes. A name that
// another team has, but for its case, is an Invalid fault on name; a user who is no
// member of the account is a NotFound fault; a 201st team is a Conflict.
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

// writesTeams is the right to change teams: that to change members, and to see all that
// they work on.
func (d *Desk) writesTeams() (func(context.Context, func(context.Context, Tx) error) error, error) {
	begin, err := d.guard.Write(MembershipsUpdate)
	if err != nil {
		return nil, err
	}
	return begin, d.reachesAll()
}

// UpdateTeam changes a team. It needs what CreateTeam needs, as all that changes teams.
func (d *Desk) UpdateTeam(ctx context.Context, id int64, in TeamInput) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error { return t.apply(in) })
}

// AddTeamMembers takes users into a team and returns it; those who are in it are passed
// over.
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

// RemoveTeamMembers takes users out of a team and returns it; those who are not in it are
// passed over. What is assigned to them stays theirs.
func (d *Desk) RemoveTeamMembers(ctx context.Context, id int64, userIDs []int64) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error {
		var problems fault.Collector
		checkTeamMembers(&problems, userIDs)
		t.MemberIDs = slices.DeleteFunc(slices.Clone(t.MemberIDs), func(id int64) bool { return slices.Contains(userIDs, id) })
		return problems.Err()
	})
}

// changeTeam changes a team as it is while nobody else changes it, or ends memberships.
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

// DeleteTeam removes a team; its conversations lose it soon after, by a job, and keep
// their users. It needs what CreateTeam needs.
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

// leaveTeams takes a user who is no member any more out of all teams. The account must be
// locked.
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

// checkTeam makes sure that a team to be assigned is there until the transaction ends:
// one that is deleted then finds the conversation.
func checkTeam(ctx context.Context, tx Tx, id int64) error {
	if id == 0 {
		return nil
	}
	_, err := tx.Teams().Lock(ctx, id)
	return err
}

// Disband does a job of kind [JobDisband]: the conversations of a team that is gone lose
// it, a hundred at a time. Doing it again is harmless.
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
