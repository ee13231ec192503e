package helpdesk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// pushService records what is sent to devices, or answers with a fault.
type pushService struct {
	mu   sync.Mutex
	sent []string // the device and the message
	err  error
}

func (*pushService) PublicKey(context.Context) (string, error) { return "key", nil }

func (p *pushService) Push(_ context.Context, d helpdesk.PushDevice, message []byte, _ time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.sent = append(p.sent, strings.TrimPrefix(d.Endpoint, "https://push.example.org/")+" "+string(message))
	}
	return p.err
}

// phone is a device with a name.
func phone(name string) helpdesk.PushDeviceInput {
	return helpdesk.PushDeviceInput{Endpoint: "https://push.example.org/" + name, PublicKey: append([]byte{4}, make([]byte, 64)...), Auth: make([]byte, 16), Name: name}
}

// push runs the jobs that send to devices and returns what was sent since the last time, without the numbers of notifications.
func (b *bundle) push() []string {
	b.t.Helper()
	b.tell()
	now := b.clock.Now()
	for _, job := range must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobPush: 1000}, now, now.Add(time.Minute)))(b.t) {
		if err := b.svc.Jobs().Push(b.ctx, job); err != nil && !fault.Is(err, fault.Unavailable) {
			b.t.Fatal(err)
		}
		if err := b.store.Finish(b.ctx, job); err != nil {
			b.t.Fatal(err)
		}
	}
	var sent []string
	for _, one := range b.pushes.sent {
		name, text, _ := strings.Cut(one, " ")
		var message helpdesk.PushMessage
		if err := json.Unmarshal([]byte(text), &message); err != nil || message.AccountID != b.account.ID {
			b.t.Errorf("%s: %v", text, err)
		}
		if message.NotificationID == 0 {
			name += " (test)"
		}
		sent = append(sent, name)
	}
	b.pushes.sent = nil
	return sent
}

// devices are the names of a member's devices.
func (b *bundle) devices(d *helpdesk.Desk) (names []string) {
	b.t.Helper()
	for _, one := range must(d.Notifications().Devices(b.ctx))(b.t) {
		names = append(names, one.Name)
	}
	return names
}

// inBrowser is a member's desk in a browser where they have signed in.
func (b *bundle) inBrowser(d *helpdesk.Desk) (*helpdesk.Desk, helpdesk.Caller) {
	b.t.Helper()
	session := must(b.svc.SignIn().StartSession(b.ctx, b.svc.As(d.UserID()), "Firefox"))(b.t)
	caller := must(b.svc.Authenticate(b.ctx, session.Secret))(b.t)
	return must(b.svc.Desk(b.ctx, caller, b.account.ID))(b.t), caller
}

// Devices are told exactly of what the member has chosen for the browser and has not read, each once.
func TestPushFollowsTheSettings(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	must(agent.Notifications().AddDevice(b.ctx, phone("phone")))(t)
	must(agent.Notifications().AddDevice(b.ctx, phone("laptop")))(t)
	must(b.desk.Notifications().AddDevice(b.ctx, phone("owner")))(t)
	c := b.receive(opening()).ConversationID
	if diff := cmp.Diff([]string{"phone", "laptop", "owner"}, b.push(), sorted()); diff != "" {
		t.Error(diff)
	}
	must(agent.Notifications().Choose(b.ctx, []helpdesk.NotifyChoice{{Kind: helpdesk.NotifyMentioned, Channels: []helpdesk.NotificationChannel{helpdesk.ChannelDesk}}}))(t)
	b.jot(b.desk, c, mention(agent))
	if got := b.push(); got != nil {
		t.Errorf("told of what the browser is not to tell: %v", got)
	}
	b.assign(c, agent)
	b.tell()
	if err := agent.Notifications().MarkAllRead(b.ctx, 0, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.push(); got != nil {
		t.Errorf("told of what was read: %v", got)
	}
	if err := agent.Notifications().RemoveDevice(b.ctx, phone("phone").Endpoint); err != nil {
		t.Fatal(err)
	}
	if err := b.desk.Notifications().RemoveDevice(b.ctx, phone("laptop").Endpoint); err != nil || len(b.devices(agent)) != 1 {
		t.Error("another member's device is removed:", err)
	}
	if err := agent.Notifications().TestDevice(b.ctx, phone("laptop").Endpoint); err != nil {
		t.Fatal(err)
	}
	if err := b.desk.Notifications().TestDevice(b.ctx, phone("laptop").Endpoint); !fault.Is(err, fault.NotFound) {
		t.Errorf("a test to another member's device: %v", err)
	}
	if diff := cmp.Diff([]string{"laptop (test)"}, b.push()); diff != "" {
		t.Error(diff)
	}
}

// sorted compares lists in any order.
func sorted() cmp.Option {
	return cmp.Transformer("sorted", func(all []string) map[string]int {
		seen := map[string]int{}
		for _, one := range all {
			seen[one]++
		}
		return seen
	})
}

// A device ends with the session that added it, with the membership, and when its push service says that it is gone.
func TestPushDevicesEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(b *bundle, agent *helpdesk.Desk, caller helpdesk.Caller) error
		sent []string
		left []string
	}{
		"nothing": {func(*bundle, *helpdesk.Desk, helpdesk.Caller) error { return nil }, []string{"phone (test)"}, []string{"phone"}},
		"signed out": {func(b *bundle, _ *helpdesk.Desk, caller helpdesk.Caller) error {
			return b.svc.SignIn().EndSession(b.ctx, caller)
		}, nil, nil},
		"gone": {func(b *bundle, _ *helpdesk.Desk, _ helpdesk.Caller) error {
			b.pushes.err = fault.Missing("browser", 0)
			return nil
		}, nil, nil},
		"busy": {func(b *bundle, _ *helpdesk.Desk, _ helpdesk.Caller) error {
			b.pushes.err = fault.New(fault.Unavailable, "Busy.")
			return nil
		}, nil, []string{"phone"}},
		"refused": {func(b *bundle, _ *helpdesk.Desk, _ helpdesk.Caller) error {
			b.pushes.err = fault.New(fault.Invalid, "Too long.")
			return nil
		}, nil, []string{"phone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			agent := b.member(identity.RoleAgent)
			browser, caller := b.inBrowser(agent)
			must(browser.Notifications().AddDevice(b.ctx, phone("phone")))(t)
			if err := browser.Notifications().TestDevice(b.ctx, phone("phone").Endpoint); err != nil {
				t.Fatal(err)
			}
			if err := tt.end(b, agent, caller); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.sent, b.push()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.left, b.devices(agent)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A former member's devices are gone, and a session that is over ends its device before anything is sent.
func TestPushDevicesOfFormerMembers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	browser, _ := b.inBrowser(agent)
	must(browser.Notifications().AddDevice(b.ctx, phone("phone")))(t)
	if err := browser.Notifications().TestDevice(b.ctx, phone("phone").Endpoint); err != nil {
		t.Fatal(err)
	}
	err := b.store.InSystemTx(b.ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.DeleteOtherSessions(ctx, agent.UserID(), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, left := b.push(), b.devices(agent); got != nil || left != nil {
		t.Errorf("without a session: %v, %v", got, left)
	}
	must(agent.Notifications().AddDevice(b.ctx, phone("phone")))(t)
	for _, m := range must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t).Items {
		if m.UserID == agent.UserID() {
			if err := b.desk.Members().Remove(b.ctx, m.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	left, err := helpdesk.Nouns().PushDevices.Reader(b.store.Within(helpdesk.Scope{AccountID: b.account.ID})).List(b.ctx, helpdesk.PushDeviceFilter{UserIDs: []int64{agent.UserID()}}, storage.Seek{Limit: 10})
	if err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A member has a limited number of devices, of which each is there once.
func TestPushDevicesAreLimited(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var want []string
	for n := range helpdesk.MaxPushDevices + 2 {
		name := fmt.Sprint("phone ", n)
		for range 2 {
			in := phone(name)
			in.Endpoint = strings.ReplaceAll(in.Endpoint, " ", "-")
			must(b.desk.Notifications().AddDevice(b.ctx, in))(t)
		}
		want = append(want, name)
	}
	if diff := cmp.Diff(want[2:], b.devices(b.desk)); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*helpdesk.PushDeviceInput){
		"endpoint":   func(in *helpdesk.PushDeviceInput) { in.Endpoint = "http://push.example.org/x" },
		"public_key": func(in *helpdesk.PushDeviceInput) { in.PublicKey = in.PublicKey[1:] },
		"auth":       func(in *helpdesk.PushDeviceInput) { in.Auth = nil },
	} {
		in := phone("x")
		change(&in)
		var problem *fault.Error
		if _, err := b.desk.Notifications().AddDevice(b.ctx, in); !asFault(err, &problem) || problem.Fields[name] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func asFault(err error, to **fault.Error) bool {
	e, ok := err.(*fault.Error) //nolint:errorlint // the service wraps none of them
	*to = e
	return ok
}
