package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage/storagetest/testnet"
)

// deadRelay is a port on which nobody listens.
func deadRelay(t testing.TB) outbound.RelayConfig {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return outbound.RelayConfig{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Encryption: outbound.EncryptionNone}
}

func answering(t testing.TB, answers map[string]string, extensions ...string) *sink {
	t.Helper()
	return (&sink{extensions: extensions, answer: func(line string) string {
		for prefix, answer := range answers {
			if strings.HasPrefix(line, prefix) {
				return answer
			}
		}
		return ""
	}}).start(t)
}

func newFailover(t testing.TB, cfg outbound.FailoverConfig) *outbound.Failover {
	t.Helper()
	f := must[*outbound.Failover](t)(outbound.NewFailover(cfg))
	t.Cleanup(func() { f.Close() })
	return f
}

// What one relay does not take goes to the next, what one refuses for good does not.
func TestFailover(t *testing.T) {
	t.Parallel()
	to := []string{"a@example.com", "b@example.com", "c@example.com"}
	states := func(s ...helpdesk.DeliveryState) []helpdesk.DeliveryState { return s }
	for name, test := range map[string]struct {
		first         map[string]string
		extensions    []string
		want          []helpdesk.DeliveryState
		second        []string // recipients whom the second relay is told
		mails, others int      // that the relays took whole
	}{
		"the first works": {nil, nil, states(sent, sent, sent), nil, 1, 0},
		"some deferred": {map[string]string{"RCPT TO:<a@": "450 4.2.0 greylisted", "RCPT TO:<b@": "550 5.1.1 unknown"}, nil,
			states(sent, failed, sent), []string{"a@example.com"}, 1, 1},
		"sender deferred":   {map[string]string{"MAIL": "451 4.3.0 busy"}, nil, states(sent, sent, sent), to, 0, 1},
		"mail deferred":     {map[string]string{".": "451 4.3.0 disk"}, nil, states(sent, sent, sent), to, 1, 1},
		"mail refused":      {map[string]string{".": "554 5.7.1 spam"}, nil, states(failed, failed, failed), nil, 1, 0},
		"leaves early":      {map[string]string{"DATA": drop}, nil, states(sent, sent, sent), to, 0, 1},
		"leaves in doubt":   {map[string]string{".": drop}, nil, states(deferred, deferred, deferred), nil, 1, 0},
		"does not greet":    {map[string]string{"": "554 no"}, nil, states(sent, sent, sent), to, 0, 1},
		"wants a login":     {map[string]string{"MAIL": "530 5.7.0 log in"}, nil, states(sent, sent, sent), to, 0, 1},
		"has little room":   {nil, []string{"SIZE 5"}, states(sent, sent, sent), to, 0, 1},
		"refuses the login": {map[string]string{"EHLO": "421 4.3.2 closing"}, nil, states(sent, sent, sent), to, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := answering(t, test.first, test.extensions...), answering(t, nil)
			f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{first.config(), second.config()}})
			results := must[[]outbound.Result](t)(f.Send(t.Context(), "desk@example.org", to, newMail(t, text(body))))
			var got []helpdesk.DeliveryState
			for _, r := range results {
				got = append(got, r.State)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s%+v", diff, results)
			}
			_, mails, _ := first.seen()
			commands, others, _ := second.seen()
			var told []string
			for _, c := range commands {
				if address, ok := strings.CutPrefix(c, "RCPT TO:<"); ok {
					told = append(told, strings.TrimSuffix(address, ">"))
				}
			}
			if diff := cmp.Diff(test.second, told); diff != "" || len(mails) != test.mails || len(others) != test.others {
				t.Errorf("the relays took %d and %d mails; %s", len(mails), len(others), diff)
			}
		})
	}
}

// A mail that no relay has room for fails at once and says why.
func TestFailoverTooLarge(t *testing.T) {
	t.Parallel()
	a, b := answering(t, nil, "SIZE 5"), answering(t, nil, "SIZE 6")
	f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{a.config(), b.config()}})
	results := must[[]outbound.Result](t)(f.Send(t.Context(), "desk@example.org", []string{"a@example.com"}, newMail(t, text(body))))
	want := []outbound.Result{{State: failed, EnhancedCode: "5.3.4", Response: "The mail has 30 bytes, and the mail relay takes at most 6."}}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Error(diff)
	}
}

// A relay that is down is tried by one mail at a time, and only after a rest.
func TestFailoverRest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Unix(1e9, 0)
	advance := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	var dials atomic.Int32
	down := deadRelay(t)
	up := answering(t, nil)
	dialed := up.config()
	down.Dial = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, errors.New("unreachable")
	}
	f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{down, dialed}, Rest: time.Minute, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	send := func() {
		t.Helper()
		results, err := f.Send(t.Context(), "desk@example.org", []string{"a@example.com"}, newMail(t, text(body)))
		if err != nil || results[0].State != sent {
			t.Errorf("%+v, %v", results, err)
		}
	}
	for n, step := range []struct {
		wait  time.Duration
		dials int32
	}{{0, 1}, {0, 1}, {59 * time.Second, 1}, {2 * time.Second, 2}, {61 * time.Second, 2}, {60 * time.Second, 3}, {0, 3}} {
		advance(step.wait)
		send()
		if got := dials.Load(); got != step.dials {
			t.Errorf("step %d: tried %d times, not %d", n, got, step.dials)
		}
	}
}

func TestFailoverAllDown(t *testing.T) {
	t.Parallel()
	f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{deadRelay(t), deadRelay(t)}})
	for range 2 { // the second time they rest
		_, err := f.Send(t.Context(), "desk@example.org", []string{"a@example.com"}, newMail(t, text(body)))
		if relay, ok := errors.AsType[*outbound.RelayError](err); !ok || !strings.Contains(relay.Reason(), "refused") {
			t.Errorf("%v", err)
		}
	}
	if _, err := outbound.NewFailover(outbound.FailoverConfig{}); err == nil {
		t.Error("there is a failover without relays")
	}
}

// To a relay without SMTPUTF8 goes the same mail in ASCII: who can be reached is,
// and who cannot fails with the reason.
func TestInternational(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		extensions []string
		want       []helpdesk.DeliveryState
		header     string
	}{
		"offered": {[]string{"8BITMIME", "SMTPUTF8"}, []helpdesk.DeliveryState{sent, sent}, "To: jörg@example.com, carl@example.com\r\n"},
		"not offered": {[]string{"8BITMIME"}, []helpdesk.DeliveryState{failed, sent},
			"To: =?utf-8?q?j=C3=B6rg=40example=2Ecom?= :;, carl@example.com\r\n"},
		"nothing offered": {nil, []helpdesk.DeliveryState{failed, sent}, "To: =?utf-8?q?j=C3=B6rg=40example=2Ecom?= :;, carl@example.com\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answering(t, nil, test.extensions...)
			w := newWorld(t)
			zone := w.publish("example.org")
			i := w.answer(helpdesk.InteractionInput{Body: "Größe", To: []string{"jörg@example.com", "carl@example.com"}})
			if err := w.handle(w.sender(s.relay(t))); err != nil {
				t.Fatal(err)
			}
			var got []helpdesk.DeliveryState
			for _, d := range w.deliveries(i) {
				got = append(got, d.State)
				if d.State == failed && (d.EnhancedCode != "5.6.7" || !strings.Contains(d.Response, "SMTPUTF8")) {
					t.Errorf("failed with %+v", d)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			_, mails, _ := s.seen()
			if len(mails) != strings.Count(fmt.Sprint(got), string(sent)) || !strings.Contains(mails[0], test.header) || len(verdicts(t, mails[0], zone)) != 2 {
				t.Errorf("sent %q", mails) // each recipient has an envelope, as the mail is signed
			}
			if eightBit := strings.ContainsFunc(mails[0], func(r rune) bool { return r > 127 }); eightBit != (name == "offered") {
				t.Errorf("bytes beyond ASCII: %v", eightBit)
			}
		})
	}
}

// A relay that takes connections and says nothing holds one mail: the others go to the
// next relay, or come back soon.
func TestSilentRelayHoldsOneMail(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"another relay": 1, "no other relay": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, port, err := net.SplitHostPort(testnet.Silent(t))
			if err != nil {
				t.Fatal(err)
			}
			number, err := strconv.Atoi(port)
			if err != nil {
				t.Fatal(err)
			}
			relays := []outbound.RelayConfig{{Host: host, Port: number, Encryption: outbound.EncryptionNone}}
			for range others {
				relays = append(relays, answering(t, nil).config())
			}
			f := newFailover(t, outbound.FailoverConfig{Relays: relays, Patience: 20 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			type outcome struct {
				results []outbound.Result
				err     error
			}
			outcomes := make(chan outcome)
			const mails = 8
			for range mails {
				m := newMail(t, text(body))
				go func() {
					results, err := f.Send(ctx, "desk@example.org", []string{"a@example.com"}, m)
					outcomes <- outcome{results, err}
				}()
			}
			for range mails - 1 {
				got := <-outcomes
				if others == 1 && (got.err != nil || got.results[0].State != sent) {
					t.Errorf("%v, %v", got.results, got.err)
				}
				if others == 0 && (got.err == nil || !strings.Contains(got.err.Error(), "gives no answer")) {
					t.Errorf("%v, %v", got.results, got.err)
				}
			}
			cancel()
			<-outcomes
		})
	}
}

// Mails that come at the same time all go to a relay that answers.
func TestBurst(t *testing.T) {
	t.Parallel()
	first, second := answering(t, nil), answering(t, nil)
	f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{first.config(), second.config()}})
	var wait sync.WaitGroup
	for range 20 {
		m := newMail(t, text(body))
		wait.Go(func() {
			results, err := f.Send(t.Context(), "desk@example.org", []string{"a@example.com"}, m)
			if err != nil || results[0].State != sent {
				t.Errorf("%v, %v", results, err)
			}
		})
	}
	wait.Wait()
	if _, mails, _ := second.seen(); len(mails) > 0 {
		t.Errorf("%d mails went to the second relay", len(mails))
	}
}
