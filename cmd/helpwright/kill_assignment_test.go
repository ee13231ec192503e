package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestKillDuringAssignment kills servers, two of them on PostgreSQL, while conversations come to a team and its members close them:
// by the log nobody has ever had more than the team's capacity, and in the end every conversation was given to somebody, who closed it.
func TestKillDuringAssignment(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const conversations, members, capacity = 150, 3, 2
		env := []string{"HELPWRIGHT_DATABASE_URL=" + databaseURL}
		if strings.HasPrefix(databaseURL, "postgres") {
			env = sharing(t, databaseURL)
		}
		servers := []*process{newServer(t, env...)}
		if strings.HasPrefix(databaseURL, "postgres") {
			servers = append(servers, newServer(t, env...))
		}
		s := servers[0]
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		team, macro := assigningTeam(s, members, capacity)
		var wait sync.WaitGroup
		wait.Go(func() {
			for i := range conversations {
				on := servers[i%len(servers)]
				form := url.Values{
					"channel": {"email"}, "to": {fmt.Sprintf("customer%d@example.com", i)}, "subject": {fmt.Sprintf("Question %d", i)}, "team_id": {fmt.Sprint(team)},
					"interactions[0][type]": {"customer"}, "interactions[0][body]": {"Is it open?"},
				}
				insist(t, "a conversation", func() bool { return on.try("/accounts/1/conversations", form) == http.StatusCreated })
				time.Sleep(20 * time.Millisecond)
			}
		})
		for _, server := range servers {
			wait.Go(func() { killing(nil, server) })
		}
		came := make(chan struct{})
		go func() { wait.Wait(); close(came) }()
		for done := false; !done; time.Sleep(20 * time.Millisecond) {
			select {
			case <-came:
				done = true
			default:
			}
			closeSome(servers[rand.IntN(len(servers))], macro)
		}
		testenv.Moving(t, "every conversation was assigned, and is closed", func() (string, bool) {
			open := closeSome(s, macro)
			return fmt.Sprintf("%d are open", open), open == 0
		})
		all := s.conversations()
		if len(all) < conversations {
			t.Errorf("%d conversations of %d", len(all), conversations)
		}
		most, assigned := replayLoads(s, capacity)
		if assigned != len(all) {
			t.Errorf("%d of %d conversations were assigned", assigned, len(all))
		}
		t.Logf("%d kills of each of %d servers; %d conversations, at most %d of a member at once", kills, len(servers), len(all), most)
	})
}

// assigningTeam makes a team that hands out its conversations in turn, and a macro that closes one.
func assigningTeam(s *process, members, capacity int) (team, macro int64) {
	s.t.Helper()
	form := url.Values{
		"name": {"Repairs"}, "assignment[strategy]": {"round_robin"}, "assignment[who]": {"all"}, "assignment[capacity]": {fmt.Sprint(capacity)},
	}
	for i := range members {
		var made object[struct{ Token string }]
		s.ok("POST", "/accounts/1/invitations", url.Values{"email": {fmt.Sprintf("member%d@example.org", i)}, "name": {fmt.Sprint("Member ", i)}, "roles[]": {"3"}}, &made)
		res, err := http.PostForm("http://"+s.http+apiBase+"/invitations/"+made.Data.Token+"/accept", url.Values{"name": {fmt.Sprint("Member ", i)}, "password": {"correct horse"}}) //nolint:noctx // as nobody who is signed in
		if err != nil || res.StatusCode >= 300 {
			s.t.Fatal(res, err)
		}
		_ = res.Body.Close()
	}
	for _, m := range all[struct {
		UserID int64 `json:"user_id"`
	}](s, "/accounts/1/memberships") {
		if m.UserID != 1 {
			form.Add("users[]", fmt.Sprint(m.UserID))
		}
	}
	var made, saved object[struct{ ID int64 }]
	s.ok("POST", "/accounts/1/teams", form, &made)
	s.ok("POST", "/accounts/1/saved-replies", url.Values{"name": {"Close"}, "is_shared": {"1"}, "actions[0][type]": {"set_status"}, "actions[0][value]": {"closed"}}, &saved)
	return made.Data.ID, saved.Data.ID
}

// closeSome closes conversations that somebody has, and returns how many are open; -1 if the server does not answer.
func closeSome(s *process, macro int64) int {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.http+apiBase+"/accounts/1/conversations?status[]=posted&limit=100", nil)
	if err != nil {
		return -1
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return -1
	}
	defer func() { _ = res.Body.Close() }()
	var open struct {
		Data []struct {
			ID     int64
			UserID *int64 `json:"user_id"`
		}
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(res.Body).Decode(&open) != nil {
		return -1
	}
	for _, c := range open.Data {
		if c.UserID != nil && rand.IntN(3) == 0 {
			s.try(fmt.Sprintf("/accounts/1/conversations/%d/macro", c.ID), url.Values{"saved_reply_id": {fmt.Sprint(macro)}})
		}
	}
	return len(open.Data)
}

// replayLoads replays the log: it returns how many open conversations a member had at most, and how many were ever assigned.
func replayLoads(s *process, capacity int) (most, assigned int) {
	s.t.Helper()
	type side struct{ From, To any }
	type state struct {
		status string
		user   float64
	}
	now, had := map[string]state{}, map[string]bool{}
	for _, e := range all[struct {
		Type, Subject, ID string
		Data              struct{ Changes map[string]side }
	}](s, "/accounts/1/events") {
		if !strings.HasPrefix(e.Type, "conversation.") {
			continue
		}
		c := now[e.Subject]
		if change, ok := e.Data.Changes["status"]; ok {
			c.status, _ = change.To.(string)
		}
		if change, ok := e.Data.Changes["user_id"]; ok {
			c.user, _ = change.To.(float64)
		}
		now[e.Subject] = c
		had[e.Subject] = had[e.Subject] || c.user != 0
		loads := map[float64]int{}
		for _, c := range now {
			if c.user != 0 && c.status != "closed" {
				loads[c.user]++
			}
		}
		for user, n := range loads {
			if most = max(most, n); n > capacity {
				s.t.Errorf("event %s: member %v has %d", e.ID, user, n)
			}
		}
	}
	for _, was := range had {
		if was {
			assigned++
		}
	}
	return most, assigned
}
