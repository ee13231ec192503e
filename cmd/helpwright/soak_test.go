package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// soakTime is the duration of the load: a few seconds prove the test itself, and HELPWRIGHT_TEST_SOAK=20m looks for growth.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HELPWRIGHT_TEST_SOAK")
	if text == "" {
		return 4 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d > time.Hour {
		t.Fatalf("HELPWRIGHT_TEST_SOAK=%s: want a duration of at most 1h, such as 20m", text)
	}
	return d
}

// TestSoak puts honest and hostile load on a server side by side. No honest request fails, no mail and no answer is lost or
// doubled, and when everything was deleted again the server is as small as it was.
func TestSoak(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		k := newSoak(t, databaseURL)
		k.round(time.Second) // every part has worked once, and has filled its caches
		before := k.size()
		k.round(soakTime(t))
		after := k.size()
		t.Logf("after %v: %+v; %+v before, %+v after; %v", soakTime(t), &k.done, before, after, &k.taken)
		if after.goroutines > before.goroutines+10 {
			t.Errorf("%d goroutines, %d before", after.goroutines, before.goroutines)
		}
		if limit := before.heap + before.heap/2 + 8<<20; after.heap > limit {
			t.Errorf("%d bytes of heap, %d before", after.heap, before.heap)
		}
		if after.files != before.files {
			t.Errorf("%d files in the blob folder, %d before", after.files, before.files)
		}
		k.server.stop()
	})
}

// soak is a server under load.
type soak struct {
	*testing.T
	server  *process
	relay   *sink
	metrics string
	imap    testenv.DovecotServer
	user    string
	rounds  int
	done    soakCounts
	taken   latencies
}

// latencies are how long honest requests took. They are told, and nothing depends on them.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

func (l *latencies) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.all)
	at := func(part float64) time.Duration {
		if len(l.all) == 0 {
			return 0
		}
		return l.all[int(part*float64(len(l.all)-1))].Round(time.Millisecond)
	}
	return fmt.Sprintf("half of %d honest requests within %v, 99 of 100 within %v, all within %v", len(l.all), at(0.5), at(0.99), at(1))
}

// soakCounts counts the work done.
type soakCounts struct{ mails, fetched, answers, uploads, reads, attacks atomic.Int64 }

func (c *soakCounts) String() string {
	return fmt.Sprintf("%d mails submitted, %d fetched, %d answers, %d uploads, %d reads, %d attacks",
		c.mails.Load(), c.fetched.Load(), c.answers.Load(), c.uploads.Load(), c.reads.Load(), c.attacks.Load())
}

func newSoak(t *testing.T, databaseURL string) *soak {
	t.Helper()
	k := &soak{T: t, relay: newSink(t, 0), metrics: freeAddress(t), imap: testenv.Dovecot(t), user: testenv.Name("soak")}
	k.server = newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_METRICS_LISTEN="+k.metrics,
		"HELPWRIGHT_SMTP_URL=smtp://"+k.relay.address+"?tls=none", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true",
		"HELPWRIGHT_PUBLIC_RATE_LIMIT=1200", "HELPWRIGHT_MAIL_PER_ADDRESS=0", "HELPWRIGHT_FETCH_INTERVAL=1s")
	return k
}

// round makes two mailboxes, works and attacks for a time, checks that all arrived, and deletes everything.
func (k *soak) round(d time.Duration) {
	k.Helper()
	k.rounds++
	forward := k.server.mailbox(url.Values{"name": {"Forwarded"}, "email": {fmt.Sprintf("forwarded%d@example.org", k.rounds)}})
	fetched := k.server.mailbox(imapForm(k.imap, k.user, fmt.Sprintf("fetched%d@example.org", k.rounds)))
	var mails, fetches, answers atomic.Int64
	ctx, cancel := context.WithTimeout(k.Context(), d)
	defer cancel()
	var load sync.WaitGroup
	every := func(pause time.Duration, act func(n int)) {
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				act(n)
				time.Sleep(pause) // a bounded load: no worker acts more often
			}
		})
	}
	every(20*time.Millisecond, func(n int) { k.mail(forward, n); mails.Add(1) })
	every(100*time.Millisecond, func(n int) { k.append(n); fetches.Add(1) })
	every(50*time.Millisecond, func(n int) { k.answer(forward, n); answers.Add(1) })
	every(30*time.Millisecond, k.read)
	for _, attack := range k.attacks() {
		every(50*time.Millisecond, func(n int) {
			attack(ctx, n)
			k.done.attacks.Add(1)
		})
	}
	load.Wait()
	k.settle(forward, int(mails.Load()))
	k.settle(fetched, int(fetches.Load()))
	testenv.Eventually(k.T, "all answers are sent", func() bool { n, _ := k.relay.counts(); return int64(n) == k.done.answers.Load() })
	if _, again := k.relay.counts(); again != 0 {
		k.Errorf("%d answers were sent again", again)
	}
	for _, m := range []mailboxView{forward, fetched} {
		k.server.ok("DELETE", mailboxPath(m.ID)+"?force=true", nil, nil)
	}
	k.empty()
}

// settle waits until a mailbox has filed all its mails, each once.
func (k *soak) settle(m mailboxView, want int) {
	k.Helper()
	testenv.Eventually(k.T, "all mails are filed", func() bool { return len(ledgerOf(k.server, m.ID, "filed")) == want })
	if rest := ledgerOf(k.server, m.ID, "ignored", "quarantined", "received"); len(rest) > 0 {
		k.Errorf("%d mails were not filed, the first: %+v", len(rest), rest[0])
	}
}

// empty removes all mail from the IMAP server, so that the next mailbox starts empty.
func (k *soak) empty() {
	k.Helper()
	conn, r := signIn(k.T, k.imap, k.user)
	defer conn.Close()
	for n, command := range []string{"SELECT INBOX", `STORE 1:* +FLAGS (\Deleted)`, "EXPUNGE", "LOGOUT"} {
		fmt.Fprintf(conn, "e%d %s\r\n", n, command)
		answerTo(k.T, r, fmt.Sprintf("e%d", n))
	}
}

// The honest load.

func (k *soak) subject(kind string, n int) string {
	return fmt.Sprintf("%s %d of round %d", kind, n, k.rounds)
}

func (k *soak) mail(to mailboxView, n int) {
	raw := crlf(fmt.Sprintf("From: Customer <customer%d@example.com>\nTo: support@example.org\nSubject: %s\nMessage-ID: <soak-%d-%d@example.com>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nText.\n--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=a.bin\n\n%s\n--b--\n",
		n%50, k.subject("Mail", n), k.rounds, n, strings.Repeat("data ", 2000)))
	for try := 0; ; try++ { // as a relay does
		err := smtp.SendMail(k.server.intake, nil, "a@example.com", []string{to.InternalEmailAddress}, []byte(raw))
		if err == nil {
			break
		}
		if try == 100 {
			k.Errorf("a mail was refused for too long: %v", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.done.mails.Add(1)
}

func (k *soak) append(n int) {
	raw := crlf(fmt.Sprintf("From: reader%d@example.com\nTo: support@example.org\nSubject: %s\nMessage-ID: <fetch-%d-%d@example.com>\n\nText.\n", n%50, k.subject("Fetched", n), k.rounds, n))
	appendAll(k.T, k.imap, k.user, []folderMail{{"INBOX", raw}})
	k.done.fetched.Add(1)
}

// answer begins a conversation with a file, which is cut off now and then before it is sent whole.
func (k *soak) answer(m mailboxView, n int) {
	var c object[conversationView]
	form := url.Values{
		"channel": {"email"}, "mailbox_id": {strconv.FormatInt(m.ID, 10)}, "to": {fmt.Sprintf("answered%d@example.com", n)}, "subject": {k.subject("Answer", n)},
		"interactions[0][type]": {"note"}, "interactions[0][body]": {"We looked."},
	}
	k.honest("POST", "/accounts/1/conversations", form, &c)
	var i object[interactionView]
	path := fmt.Sprintf("/accounts/1/conversations/%d/interactions", c.Data.ID)
	k.honest("POST", path, url.Values{"type": {"user"}, "body": {"Done."}}, &i)
	k.done.answers.Add(1)
	var notes struct{ Data []interactionView }
	k.honest("GET", path, nil, &notes)
	for _, note := range notes.Data {
		if note.Type == "note" {
			k.upload(fmt.Sprintf("%s/%d/attachments", path, note.ID), n%3 == 0)
		}
	}
}

func (k *soak) upload(path string, cut bool) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	file, _ := w.CreateFormFile("file", "notes.txt") // a buffer takes everything
	_, _ = io.WriteString(file, strings.Repeat("text ", 20_000))
	_ = w.Close()
	ctx := k.Context()
	if cut {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(8000))*time.Microsecond)
		defer cancel()
	}
	req := k.request(ctx, "POST", path, &body)
	req.Header.Set("Content-Type", w.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if !cut {
			k.Errorf("POST %s: %v", path, err)
		}
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated && !cut {
		k.Errorf("POST %s: status %d", path, res.StatusCode)
	}
	k.done.uploads.Add(1)
}

func (k *soak) read(n int) {
	k.done.reads.Add(1)
	paths := []string{"/accounts/1/conversations", "/accounts/1/conversations?status[]=posted&limit=10", "/accounts/1/customers", "/accounts/1/conversations?query=text", "/accounts/1/mailboxes"}
	var page struct{ Data []json.RawMessage }
	k.honest("GET", paths[n%len(paths)], nil, &page)
}

func (k *soak) request(ctx context.Context, method, path string, body io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+k.server.http+apiBase+path, body)
	if err != nil {
		panic(err) // the test's own mistake
	}
	req.Header.Set("Authorization", "Bearer "+k.server.token)
	return req
}

// honest is a request that must work, from several goroutines at once.
func (k *soak) honest(method, path string, form url.Values, out any) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req := k.request(k.Context(), method, path, body)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	began := time.Now()
	defer func() { k.taken.add(time.Since(began)) }()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		k.Errorf("%s %s: %v", method, path, err)
		return
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		k.Errorf("%s %s: %d %v %.300s", method, path, res.StatusCode, err, data)
		return
	}
	if err := json.Unmarshal(data, out); err != nil {
		k.Errorf("%s %s: %v", method, path, err)
	}
}

// attacks are the actions of strangers. Each ends by itself within seconds.
func (k *soak) attacks() []func(ctx context.Context, n int) {
	return []func(ctx context.Context, n int){k.hang, k.garbage, k.guess, k.deep, k.hangSMTP, k.cutMail, k.hostileMail}
}

// hang opens a connection and reads nothing of a large answer.
func (k *soak) hang(ctx context.Context, n int) {
	k.talk(ctx, k.server.http, fmt.Sprintf("GET %s/openapi.json HTTP/1.1\r\nHost: x\r\nX-Number: %d\r\n\r\n", apiBase, n), 300*time.Millisecond)
}

func (k *soak) garbage(ctx context.Context, n int) {
	texts := []string{"\x16\x03\x01\x02\x00\x01\x00", "GET / HTTP/9.9\r\n\r\n", "POST " + apiBase + "/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\nshort", "GET /" + strings.Repeat("a", 70_000), "GET " + apiBase + "/%00/../..//etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"}
	k.talk(ctx, k.server.http, texts[n%len(texts)], 50*time.Millisecond)
}

func (k *soak) guess(ctx context.Context, n int) {
	body := url.Values{"email": {"owner@localhost"}, "password": {fmt.Sprintf("guess %d", n)}}.Encode()
	k.talk(ctx, k.server.http, fmt.Sprintf("POST %s/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", apiBase, len(body), body), 200*time.Millisecond)
}

// deep sends a body that is nested or wide beyond all limits.
func (k *soak) deep(ctx context.Context, n int) {
	bodies := []string{strings.Repeat("[", 100_000), `{"a":` + strings.Repeat(`{"b":`, 5000) + "1", "[" + strings.Repeat("1,", 200_000) + "1]"}
	req := k.request(ctx, "POST", "/accounts/1/tags", strings.NewReader(bodies[n%len(bodies)]))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if res.StatusCode < 400 || res.StatusCode >= 500 {
		k.Errorf("a hostile body was answered with %d", res.StatusCode)
	}
}

func (k *soak) hangSMTP(ctx context.Context, _ int) {
	k.talk(ctx, k.server.intake, "EHLO hostile.example\r\n", 500*time.Millisecond)
}

// cutMail leaves in the middle of a mail.
func (k *soak) cutMail(ctx context.Context, n int) {
	k.talk(ctx, k.server.intake, fmt.Sprintf("EHLO hostile.example\r\nMAIL FROM:<a%d@example.com>\r\nRCPT TO:<nobody@localhost>\r\nDATA\r\nSubject: cut\r\n\r\nText", n), 50*time.Millisecond)
}

// hostileMail is refused, as its recipient does not exist, whatever its size and form.
func (k *soak) hostileMail(_ context.Context, n int) {
	raw := "Subject: " + strings.Repeat("=?utf-8?q?a?= ", 1000) + "\r\n" + strings.Repeat("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n", n%200+1)
	if err := smtp.SendMail(k.server.intake, nil, "a@example.com", []string{"nobody@localhost"}, []byte(raw)); err == nil {
		k.Error("a mail to nobody was taken")
	}
}

// talk sends something to a port and stays connected for a time without reading.
func (k *soak) talk(ctx context.Context, address, text string, stay time.Duration) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return // the server may refuse a known attacker
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, text)
	select {
	case <-ctx.Done():
	case <-time.After(stay):
	}
}

// serverSize has the sizes that must not grow.
type serverSize struct {
	goroutines, heap, files int
}

var (
	goroutineCount = regexp.MustCompile(`goroutine profile: total (\d+)`)
	heapAlloc      = regexp.MustCompile(`# HeapAlloc = (\d+)`)
)

// size waits until the server has finished deleting, and measures it.
func (k *soak) size() serverSize {
	k.Helper()
	var s serverSize
	last := -1
	testenv.Eventually(k.T, "the server comes to rest", func() bool {
		s = serverSize{goroutines: k.profile("goroutine?debug=1", goroutineCount), heap: k.profile("heap?gc=1&debug=1", heapAlloc), files: k.files()}
		still := s.files == last && s.goroutines < 150
		last = s.files
		if !still {
			time.Sleep(500 * time.Millisecond)
		}
		return still
	})
	return s
}

func (k *soak) profile(name string, figure *regexp.Regexp) int {
	k.Helper()
	http.DefaultClient.CloseIdleConnections()
	res, err := http.Get("http://" + k.metrics + "/debug/pprof/" + name)
	if err != nil {
		k.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		k.Fatal(err)
	}
	m := figure.FindSubmatch(text)
	if m == nil {
		k.Fatalf("no %v in %.200s", figure, text)
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	return n
}

func (k *soak) files() int {
	k.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(k.server.dir, "data", "blobs"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil // deleted meanwhile
	})
	if err != nil {
		k.Fatal(err)
	}
	return n
}
