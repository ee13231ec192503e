package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// follow runs the hub of the world and a server before it.
func (w *world) follow(t *testing.T) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := w.hub.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(w.handler)
	t.Cleanup(func() {
		cancel()
		wait.Wait()
		server.Close() // waits for the streams, which the hub has ended
	})
	return server.URL + "/api/v1"
}

// block is one event of a stream.
type block struct{ id, name, data string }

// listener reads a stream.
type listener struct {
	*http.Response
	lines *bufio.Scanner
}

func listen(t *testing.T, url, token, lastEventID string) *listener {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return &listener{Response: res, lines: bufio.NewScanner(res.Body)}
}

// next returns the next block with content; ok is false at the end of the stream.
func (l *listener) next() (b block, ok bool) {
	for l.lines.Scan() {
		name, value, _ := strings.Cut(l.lines.Text(), ": ")
		switch name {
		case "id":
			b.id = value
		case "event":
			b.name = value
		case "data":
			b.data = value
		case "":
			if b != (block{}) {
				return b, true
			}
		}
	}
	return b, false
}

// types reads n events.
func (l *listener) types(t *testing.T, n int) (ids []int64, types []string) {
	t.Helper()
	for len(ids) < n {
		b, ok := l.next()
		if !ok {
			t.Fatalf("the stream ended after %v", types)
		}
		if b.data == "" {
			continue
		}
		var e subscription.CloudEvent
		if err := json.Unmarshal([]byte(b.data), &e); err != nil || e.ID != b.id {
			t.Fatalf("%+v: %v", b, err)
		}
		id, _ := strconv.ParseInt(e.ID, 10, 64)
		ids, types = append(ids, id), append(types, e.Type)
	}
	return ids, types
}

// ended reads until the server ends the stream.
func (l *listener) ended() (blocks []block) {
	for {
		b, ok := l.next()
		if !ok {
			return blocks
		}
		blocks = append(blocks, b)
	}
}

// A stream begins now, and goes on where a client was cut off; the list has the same.
func TestRealtime(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			account := fmt.Sprintf("/accounts/%d", w.account.ID)
			w.must(t, "POST", account+"/mailboxes", "name=Support&email=support@acme.example", "Content-Type", "application/x-www-form-urlencoded")
			url := w.follow(t)
			channel := fmt.Sprintf("%s/realtime?channel=accounts.%d", url, w.account.ID)
			l := listen(t, channel, w.tokens["owner"], "")
			if l.StatusCode != http.StatusOK || l.Header.Get("Content-Type") != "text/event-stream" {
				t.Fatal(l.StatusCode, l.Header)
			}
			begin, _ := l.next()
			form := []string{"Content-Type", "application/x-www-form-urlencoded"}
			w.must(t, "POST", account+"/conversation-tags", "tag=One", form...)
			ids, types := l.types(t, 1)
			if diff := cmp.Diff([]string{"tag.created"}, types); diff != "" || begin.id != strconv.FormatInt(ids[0]-1, 10) {
				t.Fatalf("%s begins at %+v: %s", types, begin, diff)
			}
			_ = l.Body.Close()
			w.must(t, "POST", account+"/conversations", "channel=email&to=ada@example.com&interactions[0][type]=note&interactions[0][body]=Hm", form...)
			w.must(t, "POST", account+"/conversations", "channel=email&to=ada@example.com", form...)
			want := []string{"customer.created", "conversation.created", "interaction.created", "conversation.created"}
			for _, again := range []*listener{
				listen(t, channel, w.tokens["owner"], strconv.FormatInt(ids[0], 10)),
				listen(t, channel+fmt.Sprintf("&after=%d", ids[0]), w.tokens["owner"], ""),
			} {
				more, types := again.types(t, 4)
				if diff := cmp.Diff(want, types); diff != "" || more[0] != ids[0]+1 {
					t.Error(more, diff)
				}
			}
			one := listen(t, fmt.Sprintf("%s/realtime?channel=conversations.%d", url, 1), w.tokens["owner"], "0")
			if _, types := one.types(t, 2); !cmp.Equal(types, []string{"conversation.created", "interaction.created"}) {
				t.Error(types)
			}
			reset, _ := listen(t, channel, w.tokens["owner"], "1000000").next()
			if reset.name != "reset" || reset.id != strconv.FormatInt(ids[0]+4, 10) {
				t.Errorf("%+v", reset)
			}
			rec := w.must(t, "GET", fmt.Sprintf("%s/events?after=%d&types[]=interaction.created&types[]=conversation.created&limit=2", account, ids[0]), "")
			if link := rec.Header().Get("Link"); !strings.Contains(link, `rel="next"`) || strings.Count(rec.Body.String(), `"specversion":"1.0"`) != 2 {
				t.Error(link, rec.Body)
			}
		})
	}
}

// Channels of others and channels that do not exist are indistinguishable.
func TestRealtimeRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	ids := settled(t, w)
	for _, tt := range []struct {
		who, query, header string
		want               int
	}{
		{"", "?channel=accounts.1", "", 401},
		{"owner", "", "", 422},
		{"owner", "?channel=accounts.1", "x", 422},
		{"owner", "?channel=accounts.1", "-1", 422},
		{"owner", "?channel=accounts.1&after=-1", "", 422},
		{"owner", "?channel=accounts.2", "", 404},
		{"owner", "?channel=accounts.999", "", 404},
		{"owner", "?channel=accounts.01", "", 404},
		{"owner", "?channel=nonsense", "", 404},
		{"stranger", "?channel=conversations." + ids["conversation_id"], "", 404},
		{"stranger", "?channel=conversations.999", "", 404},
		{"powerless", "?channel=accounts.1", "", 403},
		{"powerless", "?channel=conversations." + ids["conversation_id"], "", 404},
	} {
		rec := w.do(t, tt.who, "GET", "/realtime"+tt.query, "", "Last-Event-ID", tt.header)
		if rec.Code != tt.want {
			t.Errorf("%s %s %s: %d %s", tt.who, tt.query, tt.header, rec.Code, rec.Body)
		}
	}
	if rec := w.do(t, "owner", "HEAD", "/realtime?channel=accounts.1", ""); rec.Code != 200 || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Error(rec.Code, rec.Header())
	}
}

// A member who loses the membership, or some of its mailboxes, gets no more events from them.
func TestRealtimeFollowsRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	ids := settled(t, w)
	url := w.follow(t)
	ctx := t.Context()
	owner := w.desk(t)
	members, err := owner.Members().List(ctx, storage.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	agent := members.Items[1]
	account := "/accounts/" + ids["account_id"]
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	second := w.must(t, "POST", account+"/mailboxes", "name=Second", form...)
	var made struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(second.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	l := listen(t, url+"/realtime?channel=accounts."+ids["account_id"], w.tokens["agent"], "")
	if _, ok := l.next(); !ok {
		t.Fatal("no stream")
	}
	_, err = owner.Members().Update(ctx, agent.ID, identity.MembershipUpdate{RoleIDs: agent.RoleIDs, MailboxIDs: storage.Some([]int64{made.Data.ID})})
	if err != nil {
		t.Fatal(err)
	}
	w.must(t, "PUT", account+"/conversations/"+ids["conversation_id"], "subject=Hidden", form...)
	w.must(t, "POST", account+"/conversation-tags", "tag=Shown", form...)
	_, types := l.types(t, 2)
	if diff := cmp.Diff([]string{"membership.updated", "tag.created"}, types); diff != "" {
		t.Error(diff)
	}
	if err := owner.Members().Remove(ctx, agent.ID); err != nil {
		t.Fatal(err)
	}
	w.must(t, "POST", account+"/conversation-tags", "tag=Late", form...)
	for _, b := range l.ended() {
		if b.data != "" {
			t.Errorf("saw %+v", b)
		}
	}
}

// The stream of a disabled member ends at once, without another event.
func TestDisabledUserStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	l := listen(t, w.follow(t)+fmt.Sprintf("/realtime?channel=accounts.%d", w.account.ID), w.tokens["agent"], "")
	if _, ok := l.next(); !ok {
		t.Fatal("no stream")
	}
	agent, err := w.svc.Operator().UserByEmail(t.Context(), "agent@example.org")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.svc.Operator().DisableUser(t.Context(), agent.ID); err != nil {
		t.Fatal(err)
	}
	w.must(t, "POST", fmt.Sprintf("/accounts/%d/conversation-tags", w.account.ID), "tag=Late", "Content-Type", "application/x-www-form-urlencoded")
	for _, b := range l.ended() {
		if b.data != "" {
			t.Errorf("saw %+v", b)
		}
	}
}

// One user cannot hold all connections of a server.
func TestRealtimeCountsStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	url := w.follow(t) + fmt.Sprintf("/realtime?channel=accounts.%d", w.account.ID)
	for range 50 {
		if l := listen(t, url, w.tokens["owner"], ""); l.StatusCode != 200 {
			t.Fatal(l.StatusCode)
		}
	}
	if l := listen(t, url, w.tokens["owner"], ""); l.StatusCode != http.StatusTooManyRequests || l.Header.Get("Retry-After") == "" {
		t.Error(l.StatusCode, l.Header)
	}
	if l := listen(t, url, w.tokens["agent"], ""); l.StatusCode != 200 {
		t.Error(l.StatusCode)
	}
}
