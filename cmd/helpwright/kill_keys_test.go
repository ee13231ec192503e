package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/helpwright/helpwright/storage/testenv"
)

// keyedPost is a POST with an Idempotency-Key.
type keyedPost struct{ path, kind, body, key string }

// keyedForm is one with a form.
func keyedForm(path, key string, form url.Values) keyedPost {
	return keyedPost{path: path, kind: "application/x-www-form-urlencoded", body: form.Encode(), key: key}
}

// keyedFile is one with a file of a name.
func keyedFile(path, name string) keyedPost {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile("file", name)
	_, _ = part.Write([]byte("Text of " + name))
	_ = w.Close()
	return keyedPost{path: path, kind: w.FormDataContentType(), body: b.String(), key: name}
}

// keyedClient sends requests until they are answered, as clients do that lose connections: always with the same key, to one
// of several servers.
type keyedClient struct {
	servers           []*process
	tries, replays    atomic.Int64
	inUse, unanswered atomic.Int64
}

// try sends a request once; false means that it must be repeated.
func (c *keyedClient) try(ctx context.Context, p keyedPost) (location string, done bool, err error) {
	s := c.servers[rand.IntN(len(c.servers))]
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.http+apiBase+p.path, strings.NewReader(p.body))
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Content-Type", p.kind)
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Idempotency-Key", p.key)
	c.tries.Add(1)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.unanswered.Add(1)
		return "", false, ctx.Err()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil, res.StatusCode >= 500:
		c.unanswered.Add(1)
		return "", false, ctx.Err()
	case res.StatusCode == http.StatusConflict && strings.Contains(string(text), "idempotency_key_in_use"):
		c.inUse.Add(1)
		return "", false, ctx.Err()
	case res.StatusCode != http.StatusCreated:
		return "", false, fmt.Errorf("%s: %d %s", p.key, res.StatusCode, text)
	}
	if res.Header.Get("Idempotency-Replayed") == "true" {
		c.replays.Add(1)
	}
	return res.Header.Get("Location"), true, nil
}

// send sends requests from several goroutines and checks that each has one answer.
func (c *keyedClient) send(t *testing.T, posts []keyedPost) {
	var group sync.WaitGroup
	next := make(chan keyedPost)
	for range 6 {
		group.Go(func() {
			for p := range next {
				location, done := "", false
				for err := error(nil); !done; {
					if location, done, err = c.try(t.Context(), p); err != nil {
						t.Error(err)
						break
					}
					if !done {
						time.Sleep(20 * time.Millisecond)
					}
				}
				if again, known, err := c.try(t.Context(), p); known && again != location {
					t.Errorf("%s is at %s, then at %s: %v", p.key, location, again, err)
				}
			}
		})
	}
	for _, p := range posts {
		next <- p
	}
	close(next)
	group.Wait()
}

// keyedPosts are requests of many kinds: mails to customers, customers, uploads to an interaction and to a site.
func keyedPosts(s *process, n int) []keyedPost {
	s.t.Helper()
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	var site, conversation object[struct{ ID int64 }]
	s.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Help"}}, &site)
	s.ok("POST", "/accounts/1/conversations", url.Values{"channel": {"email"}, "to": {"files@example.com"}, "subject": {"Files"}}, &conversation)
	var note struct{ ID int64 }
	in := fmt.Sprintf("/accounts/1/conversations/%d/interactions", conversation.Data.ID)
	s.ok("POST", in, url.Values{"type": {"note"}, "body": {"Files"}}, &note)
	var posts []keyedPost
	for i := range n {
		posts = append(posts,
			keyedForm("/accounts/1/conversations", fmt.Sprintf("mail %d", i), url.Values{
				"channel": {"email"}, "to": {fmt.Sprintf("customer%d@example.com", i)}, "subject": {fmt.Sprintf("Answer %d", i)},
				"interactions[0][type]": {"user"}, "interactions[0][body]": {fmt.Sprintf("Text %d.", i)},
			}),
			keyedForm("/accounts/1/customers", fmt.Sprintf("customer %d", i), url.Values{"first_name": {fmt.Sprintf("Customer %d", i)}}),
			keyedFile(fmt.Sprintf("/sites/%d/files", site.Data.ID), fmt.Sprintf("site-%d.txt", i)),
		)
		if i < 12 { // an interaction has at most 15
			posts = append(posts, keyedFile(fmt.Sprintf("%s/%d/attachments", in, note.ID), fmt.Sprintf("attached-%d.txt", i)))
		}
	}
	rand.Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
	return posts
}

// doneOnce checks that each of n rounds of keyedPosts was done once, and that each of some mails was received once.
func doneOnce(t *testing.T, s *process, relay *sink, n, received int) {
	t.Helper()
	testenv.Moving(t, "every mail is sent", func() (string, bool) { mails, _ := relay.counts(); return fmt.Sprint(mails), mails >= n })
	count := map[string]int{}
	for _, c := range s.conversations() {
		count["conversation "+c.Subject]++
	}
	for _, c := range all[struct {
		FirstName string `json:"first_name"`
	}](s, "/accounts/1/customers") {
		if strings.HasPrefix(c.FirstName, "Customer ") {
			count["customer "+c.FirstName]++
		}
	}
	type file struct{ Filename string }
	for _, f := range append(all[file](s, "/sites/1/files"), all[file](s, "/accounts/1/conversations/1/interactions/1/attachments")...) {
		count["file "+f.Filename]++
	}
	for what, times := range count {
		if times != 1 {
			t.Errorf("%s is there %d times", what, times)
		}
	}
	if want := 3*n + min(n, 12) + 1 + received; len(count) != want {
		t.Errorf("%d things are there, want %d", len(count), want)
	}
	if mails, _ := relay.counts(); mails != n {
		t.Errorf("the relay accepted %d different mails, want %d", mails, n)
	}
}

// TestKillDuringKeyedPosts kills the server while clients POST with keys and repeat unanswered requests: everything is done
// once.
func TestKillDuringKeyedPosts(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const n = 120
		relay := newSink(t, 0)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
		client, posts := &keyedClient{servers: []*process{s}}, keyedPosts(s, n)
		var sending sync.WaitGroup
		var done atomic.Bool
		sending.Go(func() { client.send(t, posts); done.Store(true) })
		killed := 0
		for ; killed < 10 || !done.Load() && killed < kills; killed++ {
			time.Sleep(time.Duration(20+rand.IntN(400)) * time.Millisecond)
			s.kill()
			s.start()
		}
		sending.Wait()
		doneOnce(t, s, relay, n, 0)
		t.Logf("%d kills, %d tries of %d requests, %d without an answer, %d replays, %d in use", killed,
			client.tries.Load(), len(posts), client.unanswered.Load(), client.replays.Load(), client.inUse.Load())
	})
}

// TestKillDuringKeyedPostsToTwo runs two servers on one PostgreSQL; at random, one of them is killed, or its database
// connections end: work done by one is not repeated by the other.
func TestKillDuringKeyedPostsToTwo(t *testing.T) {
	t.Parallel()
	const n = 120
	relay, databaseURL := newSink(t, 0), testenv.Postgres(t)
	shared := sharing(t, databaseURL, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none")
	s, other := newServer(t, shared...), newServer(t, shared...)
	client, posts := &keyedClient{servers: []*process{s, other}}, keyedPosts(s, n)
	var sending sync.WaitGroup
	var done atomic.Bool
	sending.Go(func() { client.send(t, posts); done.Store(true) })
	killed, ended := 0, 0
	for ; killed < 10 || !done.Load() && killed < kills; killed++ {
		time.Sleep(time.Duration(20+rand.IntN(300)) * time.Millisecond)
		ended += endConnections(t, databaseURL)
		time.Sleep(time.Duration(20+rand.IntN(300)) * time.Millisecond)
		victim := []*process{s, other}[killed%2]
		victim.kill()
		victim.start()
	}
	sending.Wait()
	doneOnce(t, s, relay, n, 0)
	t.Logf("%d kills, %d ended connections, %d tries of %d requests, %d without an answer, %d replays, %d in use", killed, ended,
		client.tries.Load(), len(posts), client.unanswered.Load(), client.replays.Load(), client.inUse.Load())
}

// endConnections ends all connections to a database, as its restart does, and returns how many there were.
func endConnections(t *testing.T, databaseURL string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tag, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'helpwright'`)
	if err != nil {
		t.Fatal(err)
	}
	return int(tag.RowsAffected())
}
