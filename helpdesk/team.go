package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/assign"
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
	// Assignment is how the team hands out its conversations, see [Jobs.HandOut].
	Assignment assign.Policy
	TurnIDs    []int64 // members in the order of their last turns, the latest last; only the service changes it
	CreatedAt  time.Time
	UpdatedAt  time.Time
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
	// MemberIDs replace the members, by user id, at most 500; absent leaves them unchanged. [Teams.AddMembers] and
	// [Teams.RemoveMembers] change single members.
	MemberIDs  storage.Opt[[]int64]
	Assignment AssignmentInput
}

// AssignmentInput changes how a team hands out its conversations. Absent fields are unchanged, or those of [assign.Default] in a new
// team; null is the default.
type AssignmentInput struct {
	Strategy        storage.Opt[assign.Strategy]
	Capacity        storage.Opt[int] // up to [assign.MaxCapacity]; null or 0: no limit
	Who             storage.Opt[assign.Who]
	WhenUnavailable storage.Opt[assign.WhenUnavailable]
	ReturnAfter     storage.Opt[int] // hours, up to [assign.MaxReturnAfter]
	Sticky          storage.Opt[bool]
}

// apply writes the input into a policy.
func (in AssignmentInput) apply(p *assign.Policy) {
	d := assign.Default()
	set(&p.Strategy, in.Strategy, d.Strategy)
	set(&p.Capacity, in.Capacity, d.Capacity)
	set(&p.Who, in.Who, d.Who)
	set(&p.WhenUnavailable, in.WhenUnavailable, d.WhenUnavailable)
	set(&p.ReturnAfter, in.ReturnAfter, d.ReturnAfter)
	set(&p.Sticky, in.Sticky, d.Sticky)
}

// set sets a field to what is given, or to a default if that is null.
func set[T any](field *T, in storage.Opt[T], standard T) {
	if in.IsSet() {
		*field = in.Or(standard)
	}
}

// teamNoun declares the rows of teams.
func teamNoun() storage.Declared[Team, storage.NoFilter] {
	return storage.Declared[Team, storage.NoFilter]{
		Noun: storage.Noun[Team]{
			Name: "team",
			ID:   func(t *Team) *int64 { return &t.ID },
			Unique: []storage.Unique[Team]{
				{Code: UniqueTeam, Index: "key", Fields: func(t *Team) []any { return []any{&t.Key} }},
			},
		},
		Key: "team", Plural: "teams",
		Columns: []storage.Column[Team]{
			{Name: "name", Field: func(t *Team) any { return &t.Name }},
			{Name: "name_key", Field: func(t *Team) any { return &t.Key }},
			{Name: "member_ids", Field: func(t *Team) any { return storage.IDs(&t.MemberIDs) }, Refers: "user", Loose: true},
			{Name: "strategy", Field: func(t *Team) any { return (*string)(&t.Assignment.Strategy) }},
			{Name: "capacity", Field: func(t *Team) any { return &t.Assignment.Capacity }},
			{Name: "takers", Field: func(t *Team) any { return (*string)(&t.Assignment.Who) }},
			{Name: "when_unavailable", Field: func(t *Team) any { return (*string)(&t.Assignment.WhenUnavailable) }},
			{Name: "return_after", Field: func(t *Team) any { return &t.Assignment.ReturnAfter }},
			{Name: "sticky", Field: func(t *Team) any { return &t.Assignment.Sticky }},
			{Name: "turn_ids", Field: func(t *Team) any { return storage.IDs(&t.TurnIDs) }, Refers: "user", Loose: true},
			{Name: "created_at", Field: func(t *Team) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *Team) any { return &t.UpdatedAt }},
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
	t.Assignment = t.Assignment.WithDefaults()
	in.Assignment.apply(&t.Assignment)
	t.Assignment.Check(&problems)
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

// Teams are groups of members that conversations are assigned to.
type Teams struct{ *desk }

// Teams returns the handle of teams.
func (d *Desk) Teams() Teams { return Teams{&d.desk} }

// Get returns a team. It needs memberships.view.
func (d Teams) Get(ctx context.Context, id int64) (Team, error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return Team{}, err
	}
	return teamNoun().Reader(r).Get(ctx, id)
}

// List lists the account's teams, oldest first. It needs memberships.view.
func (d Teams) List(ctx context.Context, req storage.PageRequest) (storage.Page[Team], error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return storage.Page[Team]{}, err
	}
	return storage.List(req, false, func(t Team) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]Team, error) {
			return teamNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
		})
}

// ByID returns the existing ones of the given teams, for showing assignments.
func (d Teams) ByID(ctx context.Context, ids []int64) ([]Team, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return teamNoun().Reader(r).ByIDs(ctx, ids)
}

// Create creates a team. It needs memberships.update and all mailboxes. A name that another team has, ignoring case, is
// an Invalid fault on name; a user who is not a member of the account is a NotFound fault, an
// assignment beyond its limits an Invalid one; more than 200 teams are a
// Conflict fault.
func (d Teams) Create(ctx context.Context, in TeamInput) (Team, error) {
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
		some, err := teamNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxTeams})
		if err != nil {
			return err
		}
		if len(some) >= MaxTeams {
			return fault.Newf(fault.Conflict, "An account has at most %d teams.", MaxTeams)
		}
		if err := checkUsers(ctx, tx.Reader(), t.MemberIDs); err != nil {
			return err
		}
		if err := teamNoun().Rows(tx).Insert(ctx, &t); err != nil {
			return err
		}
		if err := d.svc.handOutSoon(ctx, tx, d.scope.AccountID, t); err != nil {
			return err
		}
		return d.emit(ctx, tx, "team.created", t.ID, 0)
	})
	return t, takenField(err, UniqueTeam, "name")
}

// writesTeams checks the permission to change teams: memberships.update and all mailboxes.
func (d *desk) writesTeams() (func(context.Context, func(context.Context, Tx) error) error, error) {
	begin, err := d.guard.Write(identity.MembershipsUpdate)
	if err != nil {
		return nil, err
	}
	return begin, d.reachesAll()
}

// Update changes a team. Like all changes of teams, it needs the permissions of CreateTeam.
func (d Teams) Update(ctx context.Context, id int64, in TeamInput) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error { return t.apply(in) })
}

// AddMembers adds users to a team and returns it; existing members are ignored.
func (d Teams) AddMembers(ctx context.Context, id int64, userIDs []int64) (Team, error) {
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

// RemoveMembers removes users from a team and returns it; users who are not in it are ignored. Conversations assigned to
// them stay theirs.
func (d Teams) RemoveMembers(ctx context.Context, id int64, userIDs []int64) (Team, error) {
	return d.changeTeam(ctx, id, func(t *Team) error {
		var problems fault.Collector
		checkTeamMembers(&problems, userIDs)
		t.MemberIDs = slices.DeleteFunc(slices.Clone(t.MemberIDs), func(id int64) bool { return slices.Contains(userIDs, id) })
		return problems.Err()
	})
}

// changeTeam changes a team while changes of it and the end of memberships are locked out.
func (d *desk) changeTeam(ctx context.Context, id int64, change func(*Team) error) (Team, error) {
	begin, err := d.writesTeams()
	if err != nil {
		return Team{}, err
	}
	var t Team
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := teamNoun().Rows(tx).Lock(ctx, id)
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
		if t.Name == old.Name && t.Assignment == old.Assignment && slices.Equal(t.MemberIDs, old.MemberIDs) {
			return nil
		}
		t.UpdatedAt = d.svc.now()
		if err := teamNoun().Rows(tx).Update(ctx, &t); err != nil {
			return err
		}
		if err := d.svc.handOutSoon(ctx, tx, d.scope.AccountID, t); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "team.updated", t.ID, 0, ofTeam(old, t))
	})
	return t, takenField(err, UniqueTeam, "name")
}

// Delete removes a team; a job soon removes it from its conversations, which keep their users. Its views are left to
// their creators. It needs the permissions of CreateTeam.
func (d Teams) Delete(ctx context.Context, id int64) error {
	begin, err := d.writesTeams()
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := teamNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		if err := keepViewsOf(ctx, tx, id, d.svc.now()); err != nil {
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
	all, err := teamNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, t := range all {
		if !t.Has(userID) {
			continue
		}
		t.MemberIDs = slices.DeleteFunc(t.MemberIDs, func(id int64) bool { return id == userID })
		t.UpdatedAt = s.now()
		if err := teamNoun().Rows(tx).Update(ctx, &t); err != nil {
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
	_, err := teamNoun().Rows(tx).Lock(ctx, id)
	return err
}

// lockTeam locks a team that a new conversation takes over from another one, if it still exists. Teams are locked before the
// account, whose numbers new conversations take.
func lockTeam(ctx context.Context, tx Tx, id int64) error {
	return gone(checkTeam(ctx, tx, id))
}

// Disband runs a [JobDisband] job: it removes a deleted team from its conversations, a hundred at a time. It is idempotent.
func (j Jobs) Disband(ctx context.Context, job storage.ClaimedJob) error {
	back := func(ctx context.Context, tx Tx) (bool, error) {
		there, err := teamNoun().Rows(tx).ByIDs(ctx, []int64{job.Subject})
		return len(there) > 0, err
	}
	return j.svc.takeAllBack(ctx, job.AccountID, back, ConversationFilter{TeamID: storage.Some(job.Subject)}, func(c *Conversation) bool {
		was := c.TeamID == job.Subject
		if was {
			c.TeamID = 0
		}
		return was
	})
}
