package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// A view says in words what it shows and who sees it, in the list of views, on its page and above its conversations.
func TestViewInWords(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	tag, err := b.desk.Tags().Create(ctx, helpdesk.TagInput{Name: "VIP"})
	if err != nil {
		t.Fatal(err)
	}
	team, err := b.desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Repairs", MemberIDs: storage.Some([]int64{b.owner.ID})})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	_, err = b.desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Important", Filter: helpdesk.ViewFilter{
		Statuses: []helpdesk.Status{helpdesk.StatusPosted}, TagIDs: []int64{tag.ID}, Agent: helpdesk.AgentUnassigned, Snoozed: &no, TeamID: team.ID, Priorities: []helpdesk.Priority{helpdesk.PriorityHigh},
	}})
	if err != nil {
		t.Fatal(err)
	}
	const said = "Status: Open · Assigned to: Nobody · Team: Repairs · Tag: VIP · Priority: High · Not snoozed"
	for _, path := range []string{"/settings/views", "/settings/views/1", "/inbox/view-1"} {
		if got := b.get(path); got.status != http.StatusOK || !strings.Contains(got.body, said) {
			t.Errorf("%s: %d, without %q", path, got.status, said)
		}
	}
	for _, tt := range []struct {
		shown string
		want  helpdesk.View
	}{
		{"1", helpdesk.View{Visibility: helpdesk.ViewOfTeam, TeamID: team.ID}},
		{"", helpdesk.View{Visibility: helpdesk.ViewOfTeam, TeamID: team.ID}},
		{"private", helpdesk.View{Visibility: helpdesk.ViewPrivate}},
		{"shared", helpdesk.View{Visibility: helpdesk.ViewShared}},
	} {
		b.post("/settings/views/1", url.Values{"name": {"Important"}, "shown": {tt.shown}})
		if got, err := b.desk.Views().Get(ctx, 1); err != nil || got.Visibility != tt.want.Visibility || got.TeamID != tt.want.TeamID {
			t.Errorf("%q: %+v, %v", tt.shown, got, err)
		}
	}
	if got := b.post("/settings/views/1", url.Values{"name": {""}, "shown": {"private"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `value="private" selected`) {
		t.Errorf("without a name: %d", got.status)
	}
	if err := b.desk.Tags().Delete(ctx, tag.ID); err != nil {
		t.Fatal(err)
	}
	if got := b.get("/settings/views/1"); !strings.Contains(got.body, "Tag: deleted") {
		t.Error("a deleted tag is not said")
	}
}

// The audit log is read in words, and narrowed to a member, an action and a day.
func TestAuditPage(t *testing.T) {
	t.Parallel()
	b := office(t)
	if _, err := b.desk.Teams().Create(t.Context(), helpdesk.TeamInput{Name: "Night shift"}); err != nil {
		t.Fatal(err)
	}
	const line = "Team added: <bdi>Night shift</bdi>"
	for query, want := range map[string]bool{
		"": true, "?action=team.created": true, "?action=team.deleted": false, "?who=1": true, "?who=operator": false, "?who=99": false,
		"?since=2001-01-01": true, "?since=2999-01-01": false, "?since=nonsense": true,
	} {
		got := b.get("/settings/audit" + query)
		if got.status != http.StatusOK || strings.Contains(got.body, line) != want || !want && strings.Contains(got.body, `<li title="team.created"`) {
			t.Errorf("%q: %d, not %t", query, got.status, want)
		}
	}
	if got := b.get("/settings/audit?since=2999-01-01"); !strings.Contains(got.body, "Nothing matches.") {
		t.Error("an empty log does not say why")
	}
}

// The conditions of a view are added, changed and removed on its page, which counts what they find, before they are saved.
func TestViewConditions(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	start := helpdesk.ViewFilter{Statuses: []helpdesk.Status{helpdesk.StatusPosted}, Agent: helpdesk.AgentMe, Snoozed: &no, Sort: helpdesk.ByUpdated, Ascending: true}
	form := func(do string, more ...string) url.Values {
		f := url.Values{"name": {"Mine"}, "shown": {"shared"}, "conditions": {"1"}, "has": {"status", "agent", "snoozed"},
			"c_status": {"posted"}, "c_agent": {"me"}, "c_snoozed": {"no"}}
		if do != "" {
			f.Set("do", do)
		}
		for i := 0; i+1 < len(more); i += 2 {
			f.Add(more[i], more[i+1])
		}
		return f
	}
	set := func(f url.Values, name string, values ...string) url.Values {
		f[name] = values
		return f
	}
	with := func(change func(f *helpdesk.ViewFilter)) helpdesk.ViewFilter {
		f := start
		change(&f)
		return f
	}
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		want   helpdesk.ViewFilter // stored
		says   []string            // the page that is shown
	}{
		"saved unchanged":  {form("save"), http.StatusSeeOther, start, nil},
		"only the name":    {url.Values{"name": {"Mine"}}, http.StatusSeeOther, start, nil},
		"Enter in a field": {form(""), http.StatusSeeOther, start, nil},
		"one added": {form("add", "add", "spam"), http.StatusOK, start, []string{
			`name="has" value="spam"`, `name="c_spam"`, "Status: Open · Assigned to: Me · Not snoozed · Spam", "0 conversations"}},
		"one added, without a value": {form("add", "add", "mailbox"), http.StatusOK, start, []string{
			`name="has" value="mailbox"`, `<option value="" selected>Choose</option>`, `<option value="1">Support</option>`, "1 conversation<"}},
		"one removed": {form("drop-status"), http.StatusOK, start, []string{"Assigned to: Me · Not snoozed", "2 conversations", `<option value="status">Status</option>`}},
		"counted":     {set(form("count"), "c_agent", "unassigned"), http.StatusOK, start, []string{"Assigned to: Nobody", "1 conversation<"}},
		"changed": {set(set(form("save", "has", "words", "c_words", " door "), "c_status", "posted", "pending"), "c_agent", "2"), http.StatusSeeOther,
			with(func(f *helpdesk.ViewFilter) {
				f.Statuses, f.Agent, f.Words = []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, "2", "door"
			}), nil},
		"all of them": {form("save", "has", "tag", "c_tag", "1", "has", "mailbox", "c_mailbox", "1", "has", "priority", "c_priority", "high", "has", "since", "c_since", "2026-05-04",
			"has", "awaiting", "c_awaiting", "yes", "has", "spam", "c_spam", "no", "has", "draft", "has", "undelivered", "has", "team", "c_team", "1"), http.StatusSeeOther,
			with(func(f *helpdesk.ViewFilter) {
				f.TagIDs, f.MailboxID, f.Priorities, f.Awaiting, f.Spam = []int64{1}, 1, []helpdesk.Priority{helpdesk.PriorityHigh}, &yes, &no
				f.Draft, f.Undelivered, f.TeamID = helpdesk.AgentMe, true, 1
				f.UpdatedSince = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
			}), nil},
		"none left":     {url.Values{"name": {"Mine"}, "conditions": {"1"}, "do": {"save"}}, http.StatusSeeOther, helpdesk.ViewFilter{Sort: helpdesk.ByUpdated, Ascending: true}, nil},
		"nonsense":      {set(form("save"), "c_status", "lost"), http.StatusUnprocessableEntity, start, []string{`class="wrong"`}},
		"no such agent": {set(form("save"), "c_agent", "<b>"), http.StatusUnprocessableEntity, start, []string{`class="wrong"`}},
		"an empty one":  {form("save", "has", "words", "c_words", "", "has", "since", "c_since", "x"), http.StatusSeeOther, start, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			ctx := t.Context()
			if _, err := b.desk.Tags().Create(ctx, helpdesk.TagInput{Name: "VIP"}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Repairs"}); err != nil {
				t.Fatal(err)
			}
			for i, subject := range []string{"The door", "The gate", "The key"} {
				c := b.asks("ada@example.com", subject, "It sticks.")
				in := helpdesk.ConversationUpdate{UserID: storage.Some(b.owner.ID)}
				if i == 1 {
					in.Status = storage.Some(helpdesk.StatusClosed)
				}
				if i == 2 {
					continue
				}
				if _, err := b.desk.Conversations().Update(ctx, c.ID, in); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Mine", Filter: start}); err != nil {
				t.Fatal(err)
			}
			got := b.post("/settings/views/1", tt.form)
			if got.status != tt.status {
				t.Errorf("%d, want %d", got.status, tt.status)
			}
			for _, says := range tt.says {
				if !strings.Contains(got.body, says) {
					t.Errorf("the page lacks %q", says)
				}
			}
			stored, err := b.desk.Views().Get(ctx, 1)
			if diff := cmp.Diff(tt.want, stored.Filter); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// The audit log says what changed, from what to what, with the names of members however many there are.
func TestAuditInWords(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 110 {
		u, err := b.service.Operator().CreateUser(ctx, identity.UserInput{Name: "Member " + itoa(int64(n)), Email: "m" + itoa(int64(n)) + "@example.org"})
		check(nil, err)
		_, err = b.service.Operator().AddMember(ctx, 1, u.ID, identity.RoleAgent)
		check(nil, err)
	}
	members, err := b.desk.Members().ByID(ctx, []int64{112})
	check(nil, err)
	roles, err := b.desk.Roles().All(ctx)
	check(nil, err)
	role := func(key string) []int64 {
		for _, r := range roles {
			if r.Key == key {
				return []int64{r.ID}
			}
		}
		return nil
	}
	last := members[0].ID
	check(b.desk.Members().Update(ctx, last, identity.MembershipUpdate{RoleIDs: role(identity.RoleAdmin)}))
	check(b.desk.Members().Update(ctx, last, identity.MembershipUpdate{RoleIDs: role(identity.RoleAdmin), MailboxIDs: storage.Some([]int64{1})}))
	check(b.desk.Members().SetAvailability(ctx, last, identity.AvailabilityInput{ForceOffline: storage.Some(true), WhileInApp: storage.Some(true), UseSchedule: storage.Some(false)}))
	check(nil, b.desk.Members().Disable(ctx, last))
	made, err := b.desk.Roles().Create(ctx, identity.RoleInput{Name: "Readers", Permissions: storage.Some([]identity.Permission{identity.ConversationsView})})
	check(nil, err)
	check(b.desk.Roles().Update(ctx, made.ID, identity.RoleInput{Name: "Writers", Permissions: storage.Some([]identity.Permission{identity.ConversationsCreate})}))
	check(b.desk.Account().Update(ctx, identity.AccountUpdate{Name: "Halden", RequireSecondFactor: storage.Some(false), SendHold: storage.Some(10 * time.Second), Languages: storage.Some([]string{"en", "de"})}))
	check(b.desk.Mailboxes().Update(ctx, 1, helpdesk.MailboxInput{From: storage.Some("{{agent.name}}, Halden"), Signature: storage.Some("Secret words")}))
	page := b.get("/settings/audit").body
	for _, says := range []string{
		"Role of a member changed: <bdi>Member 109</bdi>", "Role: from Agent to Admin", "Mailboxes of a member changed: <bdi>Member 109</bdi>", "Mailboxes: from all to Support",
		"Availability of a member changed", "Away: from off to on", "Access suspended: <bdi>Member 109</bdi>",
		"Name: from Readers to Writers", "Permissions: added Conversations – Add", "Permissions: removed Conversations – See",
		"Time to undo sending: from 0 s to 10 s", "Languages: added Deutsch", "From name: now {{agent.name}}, Halden", "Signature: changed",
	} {
		if !strings.Contains(page, says) {
			t.Errorf("the log lacks %q", says)
		}
	}
	if strings.Contains(page, "Secret words") {
		t.Error("the log has what a signature says")
	}
}
