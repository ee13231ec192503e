package server_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
)

// Rules and macros move with an account: they name the new ids of what they are about, and act on the next mail.
func TestRulesMove(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	from := newHome(t, sqlStore(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db")))
	owner := must2(from.Service().Operator().CreateUser(ctx, identity.UserInput{Email: "owner@example.org", Name: "Olga"}))(t)
	account := must2(from.Service().Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID))(t)
	desk := must2(from.Service().Desk(ctx, from.Service().As(owner.ID), account.ID))(t)
	box := must2(desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")}))(t)
	tag := must2(desk.Tags().Create(ctx, helpdesk.TagInput{Name: "vip"}))(t)
	team := must2(desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Repairs"}))(t)
	actions := func(tag, team int64) []rules.Action {
		return []rules.Action{{Type: rules.AddTags, Values: []string{fmt.Sprint(tag)}}, {Type: rules.AssignTeam, Values: []string{fmt.Sprint(team)}}}
	}
	must2(desk.SavedReplies().Create(ctx, helpdesk.SavedReplyInput{Name: "VIP", Shared: storage.Some(true), Actions: storage.Some(actions(tag.ID, team.ID))}))(t)
	must2(desk.Rules().Create(ctx, helpdesk.RuleInput{
		Name: storage.Some("VIP"), On: storage.Some([]string{"interaction.created"}), Actions: storage.Some(actions(tag.ID, team.ID)),
		All: storage.Some([]rules.Condition{{Field: rules.FieldMailbox, Op: rules.Is, Values: []string{fmt.Sprint(box.ID)}}}),
	}))(t)
	archive := from.export(t, account.ID)
	for name, store := range map[string]whole{"SQLite": sqlStore(t, "sqlite:"+filepath.Join(t.TempDir(), "b.db")), "PostgreSQL": sqlStore(t, testenv.Postgres(t))} {
		t.Run(name, func(t *testing.T) {
			to := newHome(t, store)
			to.populate(t) // so that the ids are others
			done := to.take(t, archive)
			moved := must2(to.Service().Operator().UserByEmail(ctx, owner.Email))(t)
			desk := must2(to.Service().Desk(ctx, to.Service().As(moved.ID), done.Account))(t)
			box := must2(desk.Mailboxes().List(ctx, storage.PageRequest{}))(t).Items[0]
			tag, team := must2(desk.Tags().List(ctx, storage.PageRequest{}))(t).Items[0], must2(desk.Teams().List(ctx, storage.PageRequest{}))(t).Items[0]
			rule := must2(desk.Rules().List(ctx, storage.PageRequest{}))(t).Items[0]
			macro := must2(desk.SavedReplies().List(ctx, "", storage.PageRequest{}))(t).Items[0]
			want := actions(tag.ID, team.ID)
			if diff := cmp.Diff([][]rules.Action{want, want}, [][]rules.Action{rule.Actions, macro.Actions}); diff != "" || rule.All[0].Values[0] != fmt.Sprint(box.ID) || rule.UserID != moved.ID {
				t.Errorf("the rule is %+v %s", rule, diff)
			}
			c := to.receive(t, store, done.Account, box.ID)
			if got := must2(desk.Conversations().Get(ctx, c))(t); got.TeamID != team.ID {
				t.Errorf("the team is %d, not %d", got.TeamID, team.ID)
			}
			tagged := must2(desk.Conversations().List(ctx, helpdesk.ConversationQuery{TagIDs: []int64{tag.ID}}, storage.PageRequest{}))(t).Items
			if len(tagged) != 1 || tagged[0].ID != c {
				t.Errorf("the tag is at %+v", tagged)
			}
		})
	}
}

// receive files a mail in an account, runs the rules, and returns its conversation.
func (h *home) receive(t *testing.T, store whole, account, mailbox int64) int64 {
	t.Helper()
	ctx, intake := t.Context(), h.Service().Intake()
	if err := intake.Take(ctx, account, mailbox, "smtp", []ledger.Raw{{Raw: []byte("a mail")}}, nil); err != nil {
		t.Fatal(err)
	}
	waiting := must2(intake.Waiting(ctx, account, mailbox, 0, 10))(t)
	sum := sha256.Sum256([]byte("a mail"))
	mail := must2(intake.File(ctx, account, waiting[len(waiting)-1].ID, ledger.Incoming{Identity: sum[:], Message: message.Message{
		MessageID: "rules@customer.example", From: []mailaddr.Address{{Email: "ada@customer.example"}}, To: []mailaddr.Address{{Email: "support@example.org"}},
		Subject: "The door", Text: "It is stuck.",
	}}))(t)
	for _, job := range must2(store.Claim(ctx, map[string]int{helpdesk.JobRules: 100}, time.Now().Add(time.Minute), time.Now().Add(time.Hour)))(t) {
		if err := h.Service().Jobs().RunRules(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	return mail.ConversationID
}
