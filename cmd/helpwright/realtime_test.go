package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestRealtimeOverServers writes on two servers of one database while clients follow on both, cut off again and again: each
// event comes once and in order, also after one server was killed, and an open stream does not keep the other from stopping.
func TestRealtimeOverServers(t *testing.T) {
	t.Parallel()
	shared := sharing(t, testenv.Postgres(t))
	s, other := newServer(t, shared...), newServer(t, shared...)
	const total = 120
	begin := lastEvent(s)
	var wait sync.WaitGroup
	for n, from := range []*process{s, other} {
		wait.Go(func() {
			last := begin
			for connections := 0; last < begin+total; connections++ {
				on := []*process{s, other}[(n+connections)%2]
				got, err := on.follow(last, 1+(connections*7)%20, begin+total)
				if err != nil {
					t.Errorf("following on %s: %v", on.http, err)
					return
				}
				for _, id := range got {
					if id != last+1 {
						t.Errorf("after event %d came %d", last, id)
						return
					}
					last = id
				}
			}
		})
		wait.Go(func() {
			for i := range total / 2 {
				if status := from.call("POST", "/accounts/1/conversation-tags", url.Values{"tag": {fmt.Sprintf("Tag %d of %d", i, n)}}, nil); status != http.StatusCreated {
					t.Errorf("creating a tag: %d", status)
				}
			}
		})
	}
	wait.Wait()
	s.kill()
	open, err := other.stream(begin + total)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	other.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {"After the kill"}}, nil)
	if got, err := other.follow(begin+total, 1, begin+total+1); err != nil || len(got) != 1 || got[0] != begin+total+1 {
		t.Errorf("after the kill: %v %v", got, err)
	}
	other.stop() // with the stream open
}

// lastEvent is the id of the newest event.
func lastEvent(s *process) int64 {
	s.t.Helper()
	events := all[struct{ ID string }](s, "/accounts/1/events")
	last, _ := strconv.ParseInt(events[len(events)-1].ID, 10, 64)
	return last
}

// stream begins to follow after an event.
func (s *process) stream(after int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.http+apiBase+"/realtime?channel=accounts.1", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	res, err := http.DefaultClient.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	return res, err
}

// follow reads n events that come after one, or up to the last there will be, and goes away.
func (s *process) follow(after int64, n int, last int64) (ids []int64, err error) {
	res, err := s.stream(after)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var id int64
	for lines := bufio.NewScanner(res.Body); len(ids) < n && after+int64(len(ids)) < last && lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			id, err = strconv.ParseInt(value, 10, 64)
		case "data":
			ids = append(ids, id)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}
