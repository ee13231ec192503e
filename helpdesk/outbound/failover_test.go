package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// deadRelay is a port where nothing listens.
func deadRelay(t testing.TB) outbound.RelayConfig {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return outbound.RelayConfig{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Encryption: mailserver.None}
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

// Recipients that one relay defers go to the next; permanent rejections do not.
func TestFailover(t *testing.T) {
	t.Parallel()
	to := []string{"a@example.com", "b@example.com", "c@example.com"}
	states := func(s ...sending.State) []sending.State { return s }
	for name, test := range map[string]struct {
		first         map[string]string
		extensions    []string
		want          []sending.State
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
			var got []sending.State
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

// A mail that is too large for all relays fails at once with the reason.
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

// A relay without SMTPUTF8 gets the same mail in ASCII: reachable recipients get it, and the others fail with the reason.
func TestInternational(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		extensions []string
		want       []sending.State
		header     string
	}{
		"offered": {[]string{"8BITMIME", "SMTPUTF8"}, []sending.State{sent, sent}, "To: jörg@example.com, carl@example.com\r\n"},
		"not offered": {[]string{"8BITMIME"}, []sending.State{failed, sent},
			"To: =?utf-8?q?j=C3=B6rg=40example=2Ecom?= :;, carl@example.com\r\n"},
		"nothing offered": {nil, []sending.State{failed, sent}, "To: =?utf-8?q?j=C3=B6rg=40example=2Ecom?= :;, carl@example.com\r\n"},
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
			var got []sending.State
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

// patience is how long mails wait for a silent relay: long enough for a good one to answer on a busy machine.
const patience = 2 * time.Second

// A relay that accepts connections but is silent delays one mail: the others go to the next relay, or are deferred soon.
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
			relays := []outbound.RelayConfig{{Host: host, Port: number, Encryption: mailserver.None}}
			for range others {
				relays = append(relays, answering(t, nil).config())
			}
			f := newFailover(t, outbound.FailoverConfig{Relays: relays, Patience: patience})
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

// A relay becomes silent while mails are under way: those not completely received end soon and go to another relay, if there
// is one; the outcome of the others is unknown, and no other relay gets them.
func TestRelayFallsSilent(t *testing.T) {
	t.Parallel()
	type states map[sending.State]int
	for name, c := range map[string]struct {
		at     string // the command, or ".", that gets no answer
		others int    // relays to turn to
		want   states // of 8 mails under way
	}{
		"in the beginning":                   {"EHLO", 1, states{sent: 8}},
		"before the sender":                  {"MAIL", 1, states{sent: 8}},
		"before a recipient":                 {"RCPT", 1, states{sent: 8}},
		"before the mail":                    {"DATA", 1, states{sent: 8}},
		"with the whole mail":                {".", 1, states{deferred: 8}},
		"in the beginning, with no other":    {"EHLO", 0, states{"": 8}},
		"before a recipient, with no other":  {"RCPT", 0, states{"": 8}},
		"with the whole mail, with no other": {".", 0, states{deferred: 8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var silenced atomic.Bool
			first := (&sink{answer: func(line string) string {
				if silenced.Load() && line != "" && strings.HasPrefix(line, c.at) {
					return silent
				}
				return ""
			}}).start(t)
			cfg := first.config()
			cfg.Silence, cfg.CommandTimeout, cfg.SubmitTimeout = 300*time.Millisecond, time.Hour, 2*time.Second
			cfg.MaxIdle = -1 // each mail begins with a greeting
			relays := []outbound.RelayConfig{cfg}
			var second *sink
			for range c.others {
				second = answering(t, nil)
				relays = append(relays, second.config())
			}
			f := newFailover(t, outbound.FailoverConfig{Relays: relays, Patience: patience})
			send := func() ([]outbound.Result, error) {
				return f.Send(t.Context(), "desk@example.org", []string{"a@example.com"}, newMail(t, text(body)))
			}
			for range 3 {
				if results, err := send(); err != nil || results[0].State != sent {
					t.Fatalf("%v, %v", results, err)
				}
			}
			silenced.Store(true)
			got := states{}
			var mu sync.Mutex
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					results, err := send()
					state := sending.State("")
					if err == nil {
						state = results[0].State
					} else if !strings.Contains(err.Error(), "no answer") {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					got[state]++
				})
			}
			wait.Wait()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			_, whole, _ := first.seen()
			wantWhole, wantOthers := 3, c.want[sent]
			if c.at == "." {
				wantWhole += 8
			}
			var others []string
			if second != nil {
				_, others, _ = second.seen()
			}
			if len(whole) != wantWhole || len(others) != wantOthers {
				t.Errorf("the relays took %d and %d mails, not %d and %d", len(whole), len(others), wantWhole, wantOthers)
			}
		})
	}
}

// One mail that waits for long is no evidence about a relay.
func TestSlowRelayIsNotSilent(t *testing.T) {
	t.Parallel()
	slow := (&sink{answer: func(line string) string {
		if strings.HasPrefix(line, "RCPT") {
			time.Sleep(time.Second)
		}
		return ""
	}}).start(t)
	cfg := slow.config()
	cfg.Silence = 100 * time.Millisecond
	relay := newRelay(t, cfg)
	results, err := relay.Send(t.Context(), "desk@example.org", []string{"a@example.com"}, newMail(t, text(body)))
	if err != nil || results[0].State != sent {
		t.Errorf("%v, %v", results, err)
	}
}

// A mail that tries a silent relay does not keep others from trying it forever, and those that wait for it give it up
// together.
func TestTrialIsSucceeded(t *testing.T) {
	t.Parallel()
	var silenced atomic.Bool
	silenced.Store(true)
	first := (&sink{answer: func(line string) string {
		if silenced.Load() && line == "." {
			return silent
		}
		return ""
	}}).start(t)
	cfg := first.config()
	cfg.SubmitTimeout = time.Hour
	f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{cfg}, Patience: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	send := func() ([]outbound.Result, error) {
		return f.Send(ctx, "desk@example.org", []string{"a@example.com"}, newMail(t, text(body)))
	}
	ended := make(chan struct{})
	go func() { _, _ = send(); close(ended) }()
	for mails := 0; mails == 0; time.Sleep(time.Millisecond) {
		_, whole, _ := first.seen()
		mails = len(whole)
	}
	silenced.Store(false)
	refused := 0
	for {
		results, err := send()
		if err == nil && results[0].State == sent {
			break
		}
		if refused++; err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Fatalf("%v, %v", results, err)
		}
	}
	if refused == 0 {
		t.Error("nobody waited for the one that tried")
	}
	cancel()
	<-ended
}

// Mails whose answers a relay owes for long leave their workers to others, which go to another relay meanwhile.
func TestSilentRelayHoldsNoWorkers(t *testing.T) {
	t.Parallel()
	const workers, others = 2, 6
	var silenced atomic.Bool
	first := (&sink{answer: func(line string) string {
		if silenced.Load() && line == "." {
			return silent
		}
		return ""
	}}).start(t)
	second := answering(t, nil)
	cfg := first.config()
	cfg.Silence, cfg.SubmitTimeout = 60*time.Millisecond, time.Hour
	f := newFailover(t, outbound.FailoverConfig{Relays: []outbound.RelayConfig{cfg, second.config()}, Patience: 20 * time.Millisecond})
	var done atomic.Int64
	store := memstore.New()
	runner := must[*jobs.Runner](t)(jobs.New(jobs.Config{
		Jobs: store, Drain: time.Millisecond,
		Handlers: map[string]jobs.Handler{"send": {Workers: workers, Func: func(ctx context.Context, _ storage.ClaimedJob) error {
			results, err := f.Send(ctx, "desk@example.org", []string{"a@example.com"}, newMail(t, text(body)))
			if err == nil && results[0].State == sent {
				done.Add(1)
			}
			return err
		}}},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	send := func(n int) {
		t.Helper()
		err := store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
			return tx.Within(helpdesk.Scope{}).Enqueue(ctx, slices.Repeat([]storage.Job{{Kind: "send"}}, n)...)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	send(1)
	testenv.Eventually(t, "the relay has proven itself", func() bool { return done.Load() == 1 })
	silenced.Store(true)
	send(workers)
	testenv.Eventually(t, "all workers wait", func() bool { _, mails, _ := first.seen(); return len(mails) == 1+workers })
	send(others)
	testenv.Eventually(t, "the others have got their answers or went elsewhere", func() bool {
		_, here, _ := first.seen()
		_, there, _ := second.seen()
		return len(here)+len(there) == 1+workers+others
	})
}
