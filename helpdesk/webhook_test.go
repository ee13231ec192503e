package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// hook makes a webhook of some types of events, of all without any.
func (b *bundle) hook(types ...string) subscription.Webhook {
	b.t.Helper()
	if len(types) == 0 {
		types = []string{subscription.AllEvents}
	}
	w, secret, err := b.desk.Webhooks().Create(b.ctx, subscription.WebhookInput{URL: storage.Some("https://example.org"), Events: storage.Some(types)})
	if err != nil || !strings.HasPrefix(secret, subscription.WebhookSecretPrefix) {
		b.t.Fatal(secret, err)
	}
	return w
}

// distribute makes deliveries of all events.
func (b *bundle) distribute() {
	b.t.Helper()
	for more := true; more; {
		var err error
		if more, err = b.svc.Dispatch().Distribute(b.ctx, b.account.ID); err != nil {
			b.t.Fatal(err)
		}
	}
}

// hooked are the deliveries of a webhook, newest first.
func (b *bundle) hooked(w subscription.Webhook) []subscription.WebhookDelivery {
	b.t.Helper()
	return must(b.desk.Webhooks().Deliveries(b.ctx, subscription.WebhookDeliveryFilter{WebhookID: w.ID}, storage.PageRequest{Limit: 100}))(b.t).Items
}

// take takes deliveries for a job.
func (b *bundle) take(w subscription.Webhook, job int64, parallel int) []subscription.WebhookCall {
	b.t.Helper()
	claimed := storage.ClaimedJob{ID: job, Job: storage.Job{AccountID: b.account.ID, Subject: w.ID}}
	return must(b.svc.Dispatch().Begin(b.ctx, claimed, parallel))(b.t)
}

func (b *bundle) report(call subscription.WebhookCall, status, parallel int) *subscription.WebhookCall {
	b.t.Helper()
	return must(b.svc.Dispatch().Report(b.ctx, call, subscription.WebhookOutcome{Status: status}, parallel))(b.t)
}

// hookJobs counts the jobs of webhooks that are due.
func (b *bundle) hookJobs() int {
	b.t.Helper()
	return len(must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobWebhook: 100}, b.clock.Now(), b.clock.Now()))(b.t))
}

func TestWebhookInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for name, test := range map[string]struct {
		url    string
		events []string
		want   fault.Fields
	}{
		"nothing":        {"", nil, fault.Fields{"url": {"is required"}, "events": {"is required: list event types, or *"}}},
		"no host":        {"https:///x", []string{"*"}, badURL},
		"no web address": {"gopher://example.org", []string{"*"}, badURL},
		"no address":     {"https://exa mple.org", []string{"*"}, badURL},
		"a password":     {"https://u:p@example.org", []string{"*"}, badURL},
		"long":           {"https://example.org/" + strings.Repeat("x", 1981), []string{"*"}, badURL},
		"no type":        {"https://example.org", []string{"tag.created", "tag"}, fault.Fields{"events[0]": {"is not an event type, such as conversation.created"}}},
		"all and more":   {"https://example.org", []string{"tag.created", "*"}, fault.Fields{"events": {"must be either * alone or event types"}}},
		"many":           {"https://example.org", many(51), fault.Fields{"events": {"has more than 50 types"}}},
	} {
		in := subscription.WebhookInput{URL: storage.Some(test.url), Events: storage.Some(test.events)}
		_, _, err := b.desk.Webhooks().Create(b.ctx, in)
		if diff := cmp.Diff(test.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	in := subscription.WebhookInput{
		URL: storage.Some(" http://example.org:8080/" + strings.Repeat("x", 1976) + " "), Events: storage.Some([]string{"tag.updated", "tag.created", "tag.updated"}),
		MailboxIDs: storage.Some([]int64{b.mailbox.ID, b.mailbox.ID}), IsActive: storage.Some(false),
	}
	w, _, err := b.desk.Webhooks().Create(b.ctx, in)
	if err != nil || len(w.URL) != 2000 || w.IsActive || w.SealedSecret != nil || !slices.Equal(w.Events, []string{"tag.created", "tag.updated"}) || len(w.MailboxIDs) != 1 {
		t.Errorf("%.300s %v", fmt.Sprintf("%+v", w), err)
	}
	// absent fields are unchanged, null and empty mean all mailboxes
	same := must(b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{}))(t)
	if diff := cmp.Diff(w, same); diff != "" {
		t.Error(diff)
	}
	if all := must(b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{MailboxIDs: storage.Null[[]int64]()}))(t); len(all.MailboxIDs) != 0 {
		t.Errorf("%+v", all)
	}
	if _, err := b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{MailboxIDs: storage.Some([]int64{99})}); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("an unknown mailbox: %v", err)
	}
	if _, err := b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{URL: storage.Null[string]()}); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("without an address: %v", err)
	}
}

var badURL = fault.Fields{"url": {"must be an http or https address of at most 2,000 bytes, without a username and password"}}

func many(n int) []string {
	var types []string
	for i := range n {
		types = append(types, "tag.x"+strings.Repeat("x", i))
	}
	return types
}

func TestWebhookNumber(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for range subscription.MaxWebhooks {
		b.hook()
	}
	in := subscription.WebhookInput{URL: storage.Some("https://example.org"), Events: storage.Some([]string{"*"})}
	if _, _, err := b.desk.Webhooks().Create(b.ctx, in); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("one more: %v", err)
	}
	all := must(b.desk.Webhooks().List(b.ctx, storage.PageRequest{Limit: 100}))(t).Items
	if err := b.desk.Webhooks().Delete(b.ctx, all[3].ID); err != nil {
		t.Fatal(err)
	}
	b.hook()
}

// Members never receive more by a webhook than they may see, whatever they do to it.
func TestWebhookReach(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other"), Email: storage.Some("other@example.org")}))(t)
	role := must(b.desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Hooks", Permissions: storage.Some([]identity.Permission{
		identity.WebhooksView, identity.WebhooksCreate, identity.WebhooksUpdate, identity.WebhooksDelete, identity.ConversationsView, identity.TagsView,
	})}))(t)
	all := b.joined("all", role.ID, nil)
	some := b.joined("some", role.ID, []int64{b.mailbox.ID})
	wide := b.hook()
	narrow := b.hook("conversation.created")
	narrow = must(b.desk.Webhooks().Update(b.ctx, narrow.ID, subscription.WebhookInput{MailboxIDs: storage.Some([]int64{b.mailbox.ID})}))(t)
	for name, test := range map[string]struct {
		desk      *helpdesk.Desk
		events    []string
		mailboxes []int64
		want      error // nil: it may
	}{
		"an area":                           {all, []string{"tag.created", "conversation.closed"}, nil, nil},
		"an area that is not shown":         {all, []string{"tag.created", "customer.created"}, nil, helpdesk.ErrForbidden},
		"all areas":                         {all, []string{"*"}, nil, helpdesk.ErrForbidden},
		"webhooks themselves":               {all, []string{"webhook.disabled"}, nil, nil},
		"own mailbox":                       {some, []string{"tag.created"}, []int64{b.mailbox.ID}, nil},
		"another mailbox":                   {some, []string{"tag.created"}, []int64{other.ID}, helpdesk.ErrNotFound},
		"own and another mailbox":           {some, []string{"tag.created"}, []int64{b.mailbox.ID, other.ID}, helpdesk.ErrNotFound},
		"all mailboxes, as a member of one": {some, []string{"tag.created"}, nil, helpdesk.ErrForbidden},
	} {
		in := subscription.WebhookInput{URL: storage.Some("https://example.org"), Events: storage.Some(test.events), MailboxIDs: storage.Some(test.mailboxes)}
		if _, _, err := test.desk.Webhooks().Create(b.ctx, in); !errors.Is(err, test.want) {
			t.Errorf("creating with %s: %v, want %v", name, err, test.want)
		}
		hook, want := wide, test.want
		if test.desk == some {
			if _, err := some.Webhooks().Update(b.ctx, wide.ID, in); !errors.Is(err, helpdesk.ErrForbidden) {
				t.Errorf("taking over, with %s: %v", name, err)
			}
			hook = narrow
		}
		if _, err := test.desk.Webhooks().Update(b.ctx, hook.ID, in); !errors.Is(err, want) {
			t.Errorf("updating to %s: %v, want %v", name, err, want)
		}
		restore := subscription.WebhookInput{Events: storage.Some([]string{"*"}), MailboxIDs: storage.Null[[]int64]()}
		must(b.desk.Webhooks().Update(b.ctx, wide.ID, restore))(t)
	}
	elsewhere := subscription.WebhookInput{URL: storage.Some("https://elsewhere.example")}
	for name, err := range map[string]error{
		"turning all events elsewhere": errOf(all.Webhooks().Update(b.ctx, wide.ID, elsewhere)),
		"the secret of all events":     errOf2(all.Webhooks().RotateSecret(b.ctx, wide.ID)),
	} {
		if !errors.Is(err, helpdesk.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errOf(some.Webhooks().Update(b.ctx, narrow.ID, elsewhere)); err != nil {
		t.Errorf("own events: %v", err)
	}
	if err := errOf2(some.Webhooks().RotateSecret(b.ctx, narrow.ID)); err != nil {
		t.Errorf("the secret of own events: %v", err)
	}
}

func errOf[T any](_ T, err error) error          { return err }
func errOf2[T, U any](_ T, _ U, err error) error { return err }

// joined is a member with a role and some mailboxes at work.
func (b *bundle) joined(name string, role int64, mailboxes []int64) *helpdesk.Desk {
	b.t.Helper()
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: name + "@example.org"}))(b.t)
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Memberships().Insert(ctx, &identity.Membership{UserID: user.ID, RoleIDs: []int64{role}, MailboxIDs: mailboxes})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return must(b.svc.Desk(b.ctx, b.svc.As(user.ID), b.account.ID))(b.t)
}

// Which events become deliveries, and who sees them.
func TestDistribute(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other"), Email: storage.Some("other@example.org")}))(t)
	b.tag("before")
	everything := b.hook()
	tags := b.hook("tag.created", "tag.deleted")
	of := b.hook("tag.created", "conversation.created")
	of = must(b.desk.Webhooks().Update(b.ctx, of.ID, subscription.WebhookInput{MailboxIDs: storage.Some([]int64{other.ID})}))(t)
	off := b.hook("tag.created")
	must(b.desk.Webhooks().Update(b.ctx, off.ID, subscription.WebhookInput{IsActive: storage.Some(false)}))(t)
	tag := b.tag("first")
	for _, mailbox := range []int64{b.mailbox.ID, other.ID} {
		must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", MailboxID: mailbox}))(t)
	}
	if err := b.desk.Tags().Delete(b.ctx, tag); err != nil {
		t.Fatal(err)
	}
	b.distribute()
	types := func(desk *helpdesk.Desk, w subscription.Webhook) (types []string) {
		for _, d := range must(desk.Webhooks().Deliveries(b.ctx, subscription.WebhookDeliveryFilter{WebhookID: w.ID}, storage.PageRequest{}))(t).Items {
			types = append(types, d.Type)
		}
		slices.Reverse(types)
		return types
	}
	if diff := cmp.Diff([]string{"tag.created", "tag.deleted"}, types(b.desk, tags)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"tag.created", "conversation.created"}, types(b.desk, of)); diff != "" {
		t.Error(diff)
	}
	if got := types(b.desk, off); got != nil {
		t.Errorf("delivered to a webhook that is off: %q", got)
	}
	// it is told of the webhooks that came after it, and of itself, and of nothing before
	got := types(b.desk, everything)
	if len(got) == 0 || got[0] != "webhook.created" || slices.Contains(got, "account.created") || len(got) < 10 {
		t.Errorf("delivered to a webhook of everything: %q", got)
	}
	if n := b.hookJobs(); n != 3 {
		t.Errorf("%d jobs", n)
	}
	admin := must(b.desk.Roles().All(b.ctx))(t)
	at := slices.IndexFunc(admin, func(r identity.Role) bool { return r.Key == identity.RoleAdmin })
	limited := b.joined("limited", admin[at].ID, []int64{b.mailbox.ID})
	if diff := cmp.Diff([]string{"tag.created"}, types(limited, of)); diff != "" {
		t.Errorf("as a member of another mailbox: %s", diff)
	}
	hidden := b.hooked(of)[0]
	if _, err := limited.Webhooks().Redeliver(b.ctx, of.ID, hidden.ID); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("redelivering what is out of reach: %v", err)
	}
}

// More events than one batch holds become deliveries, each once, whoever distributes.
func TestDistributeInBatches(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook("tag.created")
	for n := range 250 {
		b.tag(fmt.Sprint(n))
	}
	if behind := must(b.svc.Dispatch().Behind(b.ctx, 0))(t); !slices.Equal(behind, []int64{b.account.ID}) {
		t.Errorf("behind are %v", behind)
	}
	b.distribute()
	b.distribute()
	if behind := must(b.svc.Dispatch().Behind(b.ctx, 0))(t); len(behind) != 0 {
		t.Errorf("behind are %v", behind)
	}
	seqs := map[int64]bool{}
	all := must(b.store.Within(helpdesk.Scope{AccountID: b.account.ID}).WebhookDeliveries().List(b.ctx, subscription.WebhookDeliveryFilter{WebhookID: w.ID}, storage.Seek{Limit: 1000}))(t)
	for _, d := range all {
		seqs[d.Seq] = true
	}
	if len(all) != 250 || len(seqs) != 250 {
		t.Errorf("%d deliveries of %d events", len(all), len(seqs))
	}
	if err := b.desk.Webhooks().Delete(b.ctx, w.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first finds out, then nothing is kept of it
		if _, err := b.svc.Dispatch().Distribute(b.ctx, b.account.ID); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("without a webhook: %v", err)
		}
	}
}

// Switched off, a webhook misses events, and waiting deliveries are given up; switched on again, it starts anew, and the
// given up ones can be sent by hand.
func TestWebhookOffAndOn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook("tag.created")
	b.tag("waits")
	b.distribute()
	calls := b.take(w, 1, 4)
	b.tag("on the way")
	b.distribute()
	must(b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{IsActive: storage.Some(false)}))(t)
	for _, d := range b.hooked(w) {
		if d.State != subscription.WebhookFailed || d.Problem != "The webhook was switched off." || d.HeldBy != 0 {
			t.Errorf("%+v", d)
		}
	}
	// the delivery in flight has arrived
	if next := b.report(calls[0], 204, 4); next != nil {
		t.Errorf("off, it got %+v", next)
	}
	if d := b.hooked(w)[1]; d.State != subscription.WebhookDelivered || d.Problem != "" {
		t.Errorf("%+v", d)
	}
	b.tag("missed")
	if _, err := b.desk.Webhooks().Redeliver(b.ctx, w.ID, b.hooked(w)[0].ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("redelivering to what is off: %v", err)
	}
	must(b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{IsActive: storage.Some(true)}))(t)
	b.tag("heard")
	b.distribute()
	if got := b.hooked(w); len(got) != 3 || got[0].State != subscription.WebhookPending {
		t.Errorf("%d deliveries, the last %+v", len(got), got[0])
	}
	again := must(b.desk.Webhooks().Redeliver(b.ctx, w.ID, b.hooked(w)[1].ID))(t)
	if again.State != subscription.WebhookPending || again.MessageID() != b.hooked(w)[1].MessageID() {
		t.Errorf("%+v", again)
	}
	if calls := b.take(w, 2, 4); len(calls) != 2 {
		t.Errorf("%d calls", len(calls))
	}
	if _, err := b.desk.Webhooks().Redeliver(b.ctx, w.ID, again.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("redelivering what is being tried: %v", err)
	}
	for name, id := range map[string]int64{"nothing": 99, "another webhook's": again.ID} {
		hook := w.ID
		if name != "nothing" {
			hook = b.hook().ID
		}
		if _, err := b.desk.Webhooks().Redeliver(b.ctx, hook, id); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("redelivering %s: %v", name, err)
		}
	}
}

// An event that becomes a delivery at the moment its webhook is switched off is given up.
func TestDeliveryAfterOff(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook("tag.created")
	must(b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{IsActive: storage.Some(false)}))(t)
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		d := subscription.WebhookDelivery{WebhookID: w.ID, Seq: 1, Type: "tag.created", State: subscription.WebhookPending}
		return tx.WebhookDeliveries().Insert(ctx, &d)
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls := b.take(w, 1, 4); len(calls) != 0 || b.hooked(w)[0].State != subscription.WebhookFailed {
		t.Errorf("%d calls; %+v", len(calls), b.hooked(w)[0])
	}
}

// Jobs share a webhook's deliveries: no two have the same, together they have no more than may be in flight, and deliveries
// of a job that does not report come back.
func TestTaking(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook("tag.created")
	for n := range 6 {
		b.tag(fmt.Sprint(n))
	}
	b.distribute()
	ids := func(calls []subscription.WebhookCall) (ids []int64) {
		for _, c := range calls {
			ids = append(ids, c.DeliveryID)
		}
		slices.Sort(ids)
		return ids
	}
	step := func(what string, want []int64, calls []subscription.WebhookCall) {
		t.Helper()
		if diff := cmp.Diff(want, ids(calls)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	first := b.take(w, 1, 3)
	step("the first job", []int64{1, 2, 3}, first)
	step("the second", []int64{4}, b.take(w, 2, 4))
	step("the third", nil, b.take(w, 3, 4))
	step("the first, interrupted", []int64{1, 2, 3}, b.take(w, 1, 4))
	if next := b.report(first[0], 204, 4); next == nil || next.DeliveryID != 5 || next.Job != 1 {
		t.Errorf("next is %+v", next)
	}
	if next := b.report(first[1], 204, 0); next != nil {
		t.Errorf("next is %+v", next)
	}
	b.clock.Add(time.Minute)
	step("when their time is over", []int64{3, 4, 5, 6}, b.take(w, 4, 9))
	// too late: another has it
	if next := b.report(first[2], 500, 0); next != nil {
		t.Errorf("next is %+v", next)
	}
	if d := b.hooked(w)[3]; d.Attempts != 0 || d.HeldBy != 4 {
		t.Errorf("%+v", d)
	}
	// though not to succeed
	b.report(first[2], 200, 0)
	if d := b.hooked(w)[3]; d.State != subscription.WebhookDelivered {
		t.Errorf("%+v", d)
	}
	if err := b.desk.Webhooks().Delete(b.ctx, w.ID); err != nil {
		t.Fatal(err)
	}
	if next := b.report(first[2], 500, 4); next != nil {
		t.Errorf("of a webhook that is gone: %+v", next)
	}
	step("of a webhook that is gone", nil, b.take(w, 5, 4))
}

// A delivery whose event is not kept any more is given up, and holds no other up.
func TestLostEvent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook("tag.created")
	b.tag("one")
	lost := subscription.WebhookDelivery{WebhookID: w.ID, Seq: 1 << 40, Type: "tag.created", State: subscription.WebhookPending, CreatedAt: b.clock.Now(), UpdatedAt: b.clock.Now(), NextAttemptAt: b.clock.Now()}
	err := b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.WebhookDeliveries().Insert(ctx, &lost)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.tag("two")
	b.distribute()
	var got []string
	for range 2 {
		for _, call := range b.take(w, 1, 9) {
			b.report(call, 204, 9)
		}
	}
	for _, d := range b.hooked(w) {
		got = append(got, string(d.State)+d.Problem)
	}
	if diff := cmp.Diff([]string{"delivered", "delivered", "failedThe event is not kept any more."}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPruneDeliveries(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook("tag.created")
	for n := range 120 {
		b.tag(fmt.Sprint("old", n))
	}
	b.distribute()
	for calls := b.take(w, 1, 200)[1:]; len(calls) > 0; calls = calls[1:] {
		b.report(calls[0], 204, 0)
	}
	b.clock.Add(30 * 24 * time.Hour)
	b.tag("new")
	b.distribute()
	b.report(b.take(w, 2, 200)[1], 204, 0)
	prune := func() []int64 {
		t.Helper()
		if err := b.svc.Dispatch().Prune(b.ctx); err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, d := range b.hooked(w) {
			ids = append(ids, d.ID)
		}
		return ids
	}
	if got := len(prune()); got != 100 {
		t.Errorf("after 30 days %d of the first page are left", got)
	}
	b.clock.Add(time.Microsecond)
	if diff := cmp.Diff([]int64{121, 1}, prune()); diff != "" { // the first is pending
		t.Error(diff)
	}
}

// The audit log has all changes of a webhook with their users.
func TestWebhookAudit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.hook()
	must(b.desk.Webhooks().Update(b.ctx, w.ID, subscription.WebhookInput{IsActive: storage.Some(false)}))(t)
	if err := b.desk.Webhooks().Delete(b.ctx, w.ID); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.PageRequest{}))(t).Items {
		if strings.HasPrefix(e.Action, "webhook.") && e.Subject == w.ID && e.UserID == b.owner.ID {
			got = append(got, e.Action)
		}
	}
	if diff := cmp.Diff([]string{"webhook.deleted", "webhook.updated", "webhook.created"}, got); diff != "" {
		t.Error(diff)
	}
}
