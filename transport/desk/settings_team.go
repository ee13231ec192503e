package desk

import (
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// tick is a checkbox.
type tick struct {
	ID   string
	Text string
	On   bool
}

type membersView struct {
	Rows                 []memberRow
	Invited              []invitedRow
	Next, Action         string
	CanInvite, CanRevoke bool
	CanRequire, Require  bool // a second factor, of all
	Roles, Boxes         []tick
	Address              string
	Rules                []ruleRow
	Providers            []tick // for which rules can be made
	RuleDomain           string
	RuleAction           string
	Errors               map[string]string
}

type memberRow struct {
	Person                  person
	Email, Roles, Seen, URL string
	Disabled, Factor        bool // whether the user is disabled, and has a second factor
}

type invitedRow struct{ Email, Until, Action string }

func (v *visit) membersPage() error { return v.listMembers("", nil, 0) }

func (v *visit) listMembers(address string, problems map[string]string, status int) error {
	page, err := v.Members().List(v.ctx(), v.pageOf(50))
	if err != nil {
		return err
	}
	roles, err := v.Desk.Roles().All(v.ctx())
	if err != nil {
		return err
	}
	view := membersView{
		Next: v.older("/settings/members", page.Next), Action: v.at("/settings/members"), CanInvite: v.may(identity.MembershipsCreate),
		CanRequire: v.may(identity.AccountsUpdate) && v.h.cfg.Authenticate == nil, Require: v.account.RequireSecondFactor,
		CanRevoke: v.may(identity.MembershipsDelete), Address: address, Errors: orEmpty(problems),
	}
	if view.Rows, err = v.memberRows(page.Items, roles); err != nil {
		return err
	}
	invited, err := v.Members().Invitations(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	for _, i := range invited.Items {
		until := v.words.T("until %s", v.when(i.ExpiresAt))
		if !i.ExpiresAt.After(v.now) {
			until = v.words.T("expired")
		}
		view.Invited = append(view.Invited, invitedRow{Email: i.Email, Until: until, Action: v.at("/settings/invitations/" + itoa(i.ID) + "/delete")})
	}
	if err := v.fillRules(&view, roles); err != nil {
		return err
	}
	if view.CanInvite {
		view.Roles = v.roleTicks(roles, nil)
		for i := range view.Roles {
			view.Roles[i].On = slices.ContainsFunc(roles, func(r identity.Role) bool { return r.Key == identity.RoleAgent && itoa(r.ID) == view.Roles[i].ID })
		}
		if view.Boxes, err = v.boxTicks(nil); err != nil {
			return err
		}
	}
	return v.settingsPage("members", v.words.T("Members"), view, status)
}

func (v *visit) memberRows(members []identity.Membership, roles []identity.Role) ([]memberRow, error) {
	var ids []int64
	for _, m := range members {
		ids = append(ids, m.UserID)
	}
	users, err := v.Members().Users(v.ctx(), ids)
	if err != nil {
		return nil, err
	}
	byID := map[int64]identity.User{}
	for _, u := range users {
		byID[u.ID] = u
	}
	var rows []memberRow
	for _, m := range members {
		u := byID[m.UserID]
		row := memberRow{Person: v.person(u), Email: u.Email, URL: v.at("/settings/members/" + itoa(m.ID)), Seen: v.since(m.LastActivity), Disabled: u.Disabled(), Factor: u.HasSecondFactor()}
		row.Person.Online = v.Members().Online(m)
		var names []string
		for _, r := range roles {
			if slices.Contains(m.RoleIDs, r.ID) {
				names = append(names, v.roleName(r))
			}
		}
		row.Roles = v.words.list(names)
		rows = append(rows, row)
	}
	return rows, nil
}

func (v *visit) roleTicks(roles []identity.Role, on []int64) []tick {
	var out []tick
	for _, r := range roles {
		out = append(out, tick{ID: itoa(r.ID), Text: v.roleName(r), On: slices.Contains(on, r.ID)})
	}
	return out
}

// boxTicks are the mailboxes to which a member can be limited; none without the permission.
func (v *visit) boxTicks(on []int64) ([]tick, error) {
	if !v.may(identity.MailboxesView) {
		return nil, nil
	}
	var out []tick
	boxes := func(req storage.PageRequest) (storage.Page[helpdesk.Mailbox], error) {
		return v.Mailboxes().List(v.ctx(), req)
	}
	for m, err := range storage.Each(boxes) { // all: one that is not shown could not stay ticked
		if err != nil {
			return nil, err
		}
		out = append(out, tick{ID: itoa(m.ID), Text: m.Name, On: slices.Contains(on, m.ID)})
	}
	return out, nil
}

// ticked returns the ids of a field with several checkboxes.
func (v *visit) ticked(name string) []int64 {
	_ = v.r.ParseForm() // unreadable fields are empty
	var ids []int64
	for _, text := range v.r.PostForm[name] {
		if id := number(text); id != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (v *visit) inviteMember() error {
	address := strings.TrimSpace(v.r.PostFormValue("email"))
	i, _, err := v.Members().Invite(v.ctx(), identity.InvitationInput{Email: address, RoleIDs: v.ticked("role"), MailboxIDs: v.ticked("mailbox")})
	if fault.Is(err, fault.Invalid) {
		return v.listMembers(address, v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "members", v.words.T("Invited %s", i.Email))
}

func (v *visit) withdrawInvitation() error {
	return v.unless(v.Members().DeleteInvitation(v.ctx(), v.number("id")), "members", v.words.T("Invitation withdrawn"))
}

type memberView struct {
	Row               memberRow
	Action, List      string
	Roles, Boxes      []tick
	CanUpdate, Remove bool
	Own               bool
	SignsIn           bool // the desk signs users in, not the application
	Passkeys          bool // members can have passkeys
	Disconnects       bool // there are identity providers
	NoBox             bool // the mailboxes that they are limited to were deleted
	Errors            map[string]string
}

func (v *visit) memberPage() error { return v.showMember(nil, 0) }

func (v *visit) showMember(problems map[string]string, status int) error {
	m, err := v.Members().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	roles, err := v.Desk.Roles().All(v.ctx())
	if err != nil {
		return err
	}
	rows, err := v.memberRows([]identity.Membership{m}, roles)
	if err != nil {
		return err
	}
	view := memberView{
		Row: rows[0], Action: v.at("/settings/members/" + itoa(m.ID)), List: v.at("/settings/members"), Roles: v.roleTicks(roles, m.RoleIDs),
		CanUpdate: v.may(identity.MembershipsUpdate), Remove: v.may(identity.MembershipsDelete), Own: m.UserID == v.user.ID, SignsIn: v.h.cfg.Authenticate == nil, Errors: orEmpty(problems),
	}
	view.Passkeys = view.SignsIn && v.service().SignIn().PasskeyOrigin() != ""
	view.Disconnects = view.SignsIn && len(v.service().SignIn().Providers()) > 0
	if view.Boxes, err = v.boxTicks(m.MailboxIDs); err != nil {
		return err
	}
	view.NoBox = len(m.MailboxIDs) > 0 && len(view.Boxes) > 0 && !slices.ContainsFunc(view.Boxes, func(t tick) bool { return t.On })
	return v.settingsPage("member", view.Row.Person.Name, view, status)
}

func (v *visit) saveMember() error {
	id := v.number("id")
	in := identity.MembershipUpdate{RoleIDs: v.ticked("role")}
	if v.may(identity.MailboxesView) { // otherwise the form has no mailboxes, which would mean all
		in.MailboxIDs = storage.Some(v.ticked("mailbox"))
	}
	_, err := v.Members().Update(v.ctx(), id, in)
	if fault.Is(err, fault.Invalid) {
		return v.showMember(v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "members/"+itoa(id), v.words.T("Saved"))
}

func (v *visit) removeMember() error {
	id := v.number("id")
	err := v.Members().Remove(v.ctx(), id)
	if fault.Is(err, fault.Conflict) {
		return v.unless(err, "members/"+itoa(id), "")
	}
	return v.unless(err, "members", v.words.T("Removed from the team"))
}

type rolesView struct {
	Rows      []roleRow
	CanCreate bool
	Action    string
	Name      string
	Errors    map[string]string
}

type roleRow struct {
	Name, Description, Count, URL string
	BuiltIn                       bool
}

func (v *visit) rolesPage() error { return v.listRoles("", nil, 0) }

func (v *visit) listRoles(name string, problems map[string]string, status int) error {
	page, err := v.Roles().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	view := rolesView{CanCreate: v.may(identity.RolesCreate), Action: v.at("/settings/roles"), Name: name, Errors: orEmpty(problems)}
	for _, r := range page.Items {
		row := roleRow{Name: v.roleName(r), Description: r.Description, URL: v.at("/settings/roles/" + itoa(r.ID)), BuiltIn: r.Key != "",
			Count: v.words.N(len(r.Permissions), "%s permission|%s permissions")}
		if row.BuiltIn {
			row.Description = v.words.T(r.Description)
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("roles", v.words.T("Roles"), view, status)
}

func (v *visit) addRole() error {
	name := v.r.PostFormValue("name")
	r, err := v.Roles().Create(v.ctx(), identity.RoleInput{Name: name})
	if fault.Is(err, fault.Invalid) {
		return v.listRoles(name, v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "roles/"+itoa(r.ID), v.words.T("Added %s. Choose what it can do.", r.Name))
}

type roleView struct {
	Name, Description, Action, List string
	BuiltIn, CanUpdate, CanDelete   bool
	Areas                           []choiceGroup
	Errors                          map[string]string
}

func (v *visit) rolePage() error { return v.showRole(nil, 0) }

func (v *visit) showRole(problems map[string]string, status int) error {
	r, err := v.Desk.Roles().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	view := roleView{
		Name: v.roleName(r), Description: r.Description, Action: v.at("/settings/roles/" + itoa(r.ID)), List: v.at("/settings/roles"), BuiltIn: r.Key != "",
		CanUpdate: r.Key == "" && v.may(identity.RolesUpdate), CanDelete: r.Key == "" && v.may(identity.RolesDelete), Errors: orEmpty(problems),
	}
	if view.BuiltIn {
		view.Description = v.words.T(r.Description)
	}
	if problems != nil {
		view.Name, view.Description = v.r.PostFormValue("name"), v.r.PostFormValue("description")
	}
	var all []tick
	for _, p := range v.service().Permissions() {
		_, action, _ := strings.Cut(string(p), ".")
		all = append(all, tick{ID: string(p), Text: v.permissionWord(action)})
	}
	chosen := texts(r.Permissions)
	if problems != nil {
		chosen = v.r.PostForm["permission"]
	}
	view.Areas = byArea(all, chosen, v.permissionWord)
	return v.settingsPage("role", view.Name, view, status)
}

// texts returns permissions as texts.
func texts(permissions []identity.Permission) []string {
	var out []string
	for _, p := range permissions {
		out = append(out, string(p))
	}
	return out
}

func (v *visit) saveRole() error {
	id := v.number("id")
	in := identity.RoleInput{Name: v.r.PostFormValue("name"), Description: storage.Some(v.r.PostFormValue("description"))}
	permissions := []identity.Permission{}
	for _, p := range expanded(v.r.PostForm["permission"], texts(v.service().Permissions())) {
		permissions = append(permissions, identity.Permission(p))
	}
	in.Permissions = storage.Some(permissions)
	_, err := v.Roles().Update(v.ctx(), id, in)
	if fault.Is(err, fault.Invalid) {
		return v.showRole(v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "roles/"+itoa(id), v.words.T("Saved"))
}

func (v *visit) deleteRole() error {
	id := v.number("id")
	err := v.Roles().Delete(v.ctx(), id)
	if fault.Is(err, fault.Conflict) {
		return v.unless(err, "roles/"+itoa(id), "")
	}
	return v.unless(err, "roles", v.words.T("Role deleted"))
}

type tagsView struct {
	Rows                            []tagRow
	Next, Action                    string
	CanCreate, CanUpdate, CanDelete bool
	Name                            string
	Errors                          map[string]string
}

type tagRow struct{ Name, Color, Action string }

func (v *visit) tagsPage() error { return v.listTags("", nil, 0) }

func (v *visit) listTags(name string, problems map[string]string, status int) error {
	page, err := v.Tags().List(v.ctx(), v.pageOf(100))
	if err != nil {
		return err
	}
	view := tagsView{
		Next: v.older("/settings/tags", page.Next), Action: v.at("/settings/tags"), CanCreate: v.may(identity.TagsCreate), CanUpdate: v.may(identity.TagsUpdate),
		CanDelete: v.may(identity.TagsDelete), Name: name, Errors: orEmpty(problems),
	}
	for _, t := range page.Items {
		view.Rows = append(view.Rows, tagRow{Name: t.Name, Color: t.Color, Action: v.at("/settings/tags/" + itoa(t.ID))})
	}
	return v.settingsPage("tags", v.words.T("Tags"), view, status)
}

func (v *visit) tagInput() helpdesk.TagInput {
	in := helpdesk.TagInput{Name: v.r.PostFormValue("name")}
	if color := v.r.PostFormValue("color"); color != "" && !v.r.PostForm.Has("auto") {
		in.Color = storage.Some(color)
	}
	return in
}

func (v *visit) addTag() error {
	in := v.tagInput()
	t, err := v.Tags().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		return v.listTags(in.Name, v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "tags", v.words.T("Added %s", t.Name))
}

func (v *visit) saveTag() error {
	_, err := v.Tags().Update(v.ctx(), v.number("id"), v.tagInput())
	return v.unless(err, "tags", v.words.T("Saved"))
}

func (v *visit) deleteTag() error {
	return v.unless(v.Tags().Delete(v.ctx(), v.number("id")), "tags", v.words.T("Tag deleted"))
}
