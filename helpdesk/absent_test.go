package helpdesk_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage/fault"
)

// TestUpdatesKeepWhatIsAbsent gives every update an empty input: it changes nothing, or says what is missing.
func TestUpdatesKeepWhatIsAbsent(t *testing.T) {
	t.Parallel()
	w := newBeyond(t)
	ctx, d := w.ctx, w.desk
	user := must(w.svc.Admin(ctx, w.svc.As(w.owner.ID)))(t)
	for name, tt := range map[string]struct {
		read   func() (any, error)
		update func() error
	}{
		"account": {
			func() (any, error) { return d.Account().Get(ctx) },
			func() error { _, err := d.Account().Update(ctx, identity.AccountUpdate{}); return err },
		},
		"conversation": {
			func() (any, error) { return d.Conversations().Get(ctx, w.conversation.ID) },
			func() error {
				_, err := d.Conversations().Update(ctx, w.conversation.ID, helpdesk.ConversationUpdate{})
				return err
			},
		},
		"conversations": {
			func() (any, error) { return d.Conversations().Get(ctx, w.conversation.ID) },
			func() error {
				_, err := d.Conversations().UpdateAll(ctx, []int64{w.conversation.ID}, helpdesk.BulkUpdate{})
				return err
			},
		},
		"customer": {
			func() (any, error) { return d.Customers().Get(ctx, w.grace.ID) },
			func() error { _, err := d.Customers().Update(ctx, w.grace.ID, helpdesk.CustomerInput{}); return err },
		},
		"interaction": {
			func() (any, error) { return d.Interactions().Get(ctx, w.conversation.ID, w.answer.ID) },
			func() error {
				_, err := d.Interactions().Update(ctx, w.conversation.ID, w.answer.ID, helpdesk.InteractionUpdate{})
				return err
			},
		},
		"join rule": {
			func() (any, error) { return d.JoinRules().Get(ctx, w.joinRule.ID) },
			func() error {
				_, err := d.JoinRules().Update(ctx, w.joinRule.ID, identity.JoinRuleInput{})
				return err
			},
		},
		"mailbox": {
			func() (any, error) { return d.Mailboxes().Get(ctx, w.box.ID) },
			func() error { _, err := d.Mailboxes().Update(ctx, w.box.ID, helpdesk.MailboxInput{}); return err },
		},
		"member": {
			func() (any, error) { return d.Members().Get(ctx, w.member.ID) },
			func() error { _, err := d.Members().Update(ctx, w.member.ID, identity.MembershipUpdate{}); return err },
		},
		"role": {
			func() (any, error) { return d.Roles().Get(ctx, w.role.ID) },
			func() error { _, err := d.Roles().Update(ctx, w.role.ID, identity.RoleInput{}); return err },
		},
		"saved reply": {
			func() (any, error) { return d.SavedReplies().Get(ctx, w.reply.ID) },
			func() error {
				_, err := d.SavedReplies().Update(ctx, w.reply.ID, helpdesk.SavedReplyInput{})
				return err
			},
		},
		"tag": {
			func() (any, error) { return d.Tags().Get(ctx, w.tag) },
			func() error { _, err := d.Tags().Update(ctx, w.tag, helpdesk.TagInput{}); return err },
		},
		"team": {
			func() (any, error) { return d.Teams().Get(ctx, w.team.ID) },
			func() error { _, err := d.Teams().Update(ctx, w.team.ID, helpdesk.TeamInput{}); return err },
		},
		"user": {
			func() (any, error) { return user.Me(ctx) },
			func() error { _, err := user.UpdateMe(ctx, identity.UserUpdate{}); return err },
		},
		"view": {
			func() (any, error) { return d.Views().Get(ctx, w.view.ID) },
			func() error { _, err := d.Views().Update(ctx, w.view.ID, helpdesk.ViewInput{}); return err },
		},
		"webhook": {
			func() (any, error) { return d.Webhooks().Get(ctx, w.hook.ID) },
			func() error { _, err := d.Webhooks().Update(ctx, w.hook.ID, subscription.WebhookInput{}); return err },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := func() map[string]any {
				got, err := tt.read()
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(got)
				var fields map[string]any
				if err == nil {
					err = json.Unmarshal(text, &fields)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, changes := range []string{"UpdatedAt", "Version"} {
					delete(fields, changes)
				}
				return fields
			}
			before := state()
			if err := tt.update(); err != nil && !fault.Is(err, fault.Invalid) {
				t.Error(err)
			}
			if diff := cmp.Diff(before, state()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
