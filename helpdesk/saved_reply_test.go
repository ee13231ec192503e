package helpdesk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Values in the placeholders of a saved reply are text, whatever the names of customers.
func TestFillReply(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := opening()
	m.From[0].Name, m.Subject = `<img src=x onerror="alert(1)"> "Bob" {{agent.name}}`, "a & <b>b</b>"
	id := b.receive(m).ConversationID
	c := b.conversation(id)
	for _, tt := range []struct{ name, body, want string }{
		{"nothing to fill", "Thank you.", "Thank you."},
		{"the agent", "{{agent.name}}, {{ agent.name }}", "Olga Owner, Olga Owner"},
		{"the number", "<p>No. {{conversation.number}}</p>", "<p>No. 1</p>"},
		{"a subject with a tag", "On {{conversation.subject}}", "On a &amp; &lt;b&gt;b&lt;/b&gt;"},
		{"braces that are no place", "{ {{agent.name}} } {{", "{ Olga Owner } {{"},
	} {
		r := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: tt.name, Body: tt.body}))(t)
		if diff := cmp.Diff(tt.want, must(b.desk.SavedReplies().Fill(b.ctx, id, r.ID))(t)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	r := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{
		Name: "hostile", Body: `<p>Dear {{customer.first_name}}</p><p title="{{customer.name}}">{{customer.name}}</p><a href="{{customer.name}}">x</a>`,
	}))(t)
	body := must(b.desk.SavedReplies().Fill(b.ctx, id, r.ID))(t)
	if strings.Contains(body, "<img") || strings.Contains(body, "Olga") || !strings.Contains(body, "&lt;img") {
		t.Errorf("filled: %s", body)
	}
	customer := must(b.desk.Customers().Get(b.ctx, c.CustomerID))(t)
	must(b.desk.Customers().Update(b.ctx, customer.ID, helpdesk.CustomerInput{FirstName: storage.Some("javascript:alert(1)")}))(t)
	if body := must(b.desk.SavedReplies().Fill(b.ctx, id, r.ID))(t); strings.Contains(body, `href="javascript`) {
		t.Errorf("filled: %s", body)
	}
}

func TestSavedReplyProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Thanks", Body: "Thank you."}))(t)
	must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Thanks", Body: "Thank you.", Shared: storage.Some(true)}))(t)
	known := "known are customer.first_name, customer.name, agent.name, conversation.number, conversation.subject, rating"
	for _, tt := range []struct {
		name string
		in   helpdesk.SavedReplyInput
		want fault.Fields
	}{
		{"nothing", helpdesk.SavedReplyInput{}, fault.Fields{"name": {"is required"}, "body": {"is required"}}},
		{"the same name", helpdesk.SavedReplyInput{Name: "THANKS", Body: "x"}, fault.Fields{"name": {"is already taken"}}},
		{"the same shared name", helpdesk.SavedReplyInput{Name: "thanks", Body: "x", Shared: storage.Some(true)}, fault.Fields{"name": {"is already taken"}}},
		{"unknown places", helpdesk.SavedReplyInput{Name: "x", Body: "<p>{{customer.email}} {{ customer.name }}</p>"},
			fault.Fields{"body": {"has the unknown placeholder {{customer.email}}; " + known}}},
		{"too large", helpdesk.SavedReplyInput{Name: "x", Body: strings.Repeat("x", 64<<10+1)}, fault.Fields{"body": {"is larger than 64 KiB"}}},
	} {
		_, err := b.desk.SavedReplies().Create(b.ctx, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// Private saved replies are invisible to others; shared ones are visible to all and changed like views.
func TestSavedRepliesOfOthers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent, collaborator := b.member(identity.RoleAgent), b.member(identity.RoleCollaborator)
	own := must(agent.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Own", Body: "<script>x</script>Mine"}))(t)
	shared := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Ours", Body: "Ours", Shared: storage.Some(true)}))(t)
	if own.Body != "Mine" || own.UserID != agent.UserID() || shared.UserID != 0 {
		t.Errorf("made %+v and %+v", own, shared)
	}
	list := func(d *helpdesk.Desk, prefix string) (names []string) {
		for _, r := range must(d.SavedReplies().List(b.ctx, prefix, storage.PageRequest{}))(t).Items {
			names = append(names, r.Name)
		}
		return names
	}
	for _, tt := range []struct {
		name   string
		desk   *helpdesk.Desk
		prefix string
		want   []string
	}{
		{"the agent's", agent, "", []string{"Own", "Ours"}}, {"the owner's", b.desk, "", []string{"Ours"}},
		{"by name", agent, "OW", []string{"Own"}}, {"the collaborator's", collaborator, "o", []string{"Ours"}},
	} {
		if diff := cmp.Diff(tt.want, list(tt.desk, tt.prefix)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	in := helpdesk.SavedReplyInput{Name: "New", Body: "New"}
	id := b.receive(opening()).ConversationID
	for what, err := range map[string]error{
		"reading": errOf(b.desk.SavedReplies().Get(b.ctx, own.ID)), "changing": errOf(b.desk.SavedReplies().Update(b.ctx, own.ID, in)),
		"deleting": b.desk.SavedReplies().Delete(b.ctx, own.ID), "filling": errOf(b.desk.SavedReplies().Fill(b.ctx, id, own.ID)),
	} {
		if !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s another's own: %v", what, err)
		}
	}
	if err := errOf(collaborator.SavedReplies().Update(b.ctx, shared.ID, in)); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("a collaborator changes a shared one: %v", err)
	}
	in.Shared = storage.Some(true)
	must(agent.SavedReplies().Update(b.ctx, shared.ID, in))(t)
	must(agent.SavedReplies().Update(b.ctx, own.ID, helpdesk.SavedReplyInput{Name: "Own", Body: "Still mine"}))(t)
	if err := agent.SavedReplies().Delete(b.ctx, shared.ID); err != nil {
		t.Error(err)
	}
	want := []string{"saved_reply.created", "saved_reply.updated", "saved_reply.deleted"}
	if diff := cmp.Diff(want, b.kinds("saved_reply.")); diff != "" {
		t.Errorf("events: %s", diff)
	}
	members := must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t).Items
	at := slices.IndexFunc(members, func(m identity.Membership) bool { return m.UserID == agent.UserID() })
	if err := b.desk.Members().Remove(b.ctx, members[at].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := helpdesk.Nouns().SavedReplies.Reader(b.store.Within(helpdesk.Scope{AccountID: b.account.ID})).Get(b.ctx, own.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("what the member had saved: %v", err)
	}
}
