package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// crowd is how many clients come at once: few prove the bounds, and HELPWRIGHT_TEST_MEASURE=1 brings as many as once took
// gigabytes.
func crowd(few, many int) int {
	if measuring() {
		return many
	}
	return few
}

// measuring reports whether tests are to take their time.
func measuring() bool { return os.Getenv("HELPWRIGHT_TEST_MEASURE") != "" }

// mostMemory is the maximum memory of a server in MiB under load by a crowd.
const mostMemory = 768

// TestMemoryOfPasswords measures the memory of a server where many accept invitations, sign in and change their passwords at
// once. Each password that is hashed takes 64 MiB, and the time of a processor: TestGate shows the same for next to nothing.
func TestMemoryOfPasswords(t *testing.T) {
	t.Parallel()
	n := crowd(6, 118)
	s := newServer(t, "HELPWRIGHT_DATABASE_URL=sqlite:data/helpwright.db", "HELPWRIGHT_PUBLIC_RATE_LIMIT=0")
	people := make([]person, n)
	for i := range people {
		people[i].email = fmt.Sprintf("user%d@example.org", i)
		var made object[struct{ Token string }]
		s.ok("POST", "/accounts/1/invitations", url.Values{"email": {people[i].email}, "name": {"U"}, "roles[]": {"3"}}, &made)
		people[i].invitation = made.Data.Token
	}
	for _, step := range []struct {
		name, method string
		path         func(p person) string
		form         url.Values
	}{
		{"accept", "POST", func(p person) string { return "/invitations/" + p.invitation + "/accept" }, url.Values{"password": {"correct horse"}}},
		{"sign in", "POST", func(person) string { return "/auth/login" }, url.Values{"password": {"correct horse"}}},
		{"change", "PUT", func(person) string { return "/user" }, url.Values{"current_password": {"correct horse"}, "password": {"battery staple"}}},
	} {
		s.stop() // a process of its own, for its peak
		s.start()
		var all sync.WaitGroup
		var mu sync.Mutex
		statuses := map[int]int{}
		for i := range people {
			all.Go(func() {
				form := maps.Clone(step.form)
				if step.name == "sign in" {
					form.Set("email", people[i].email)
				}
				status, token := people[i].ask(t, s, i, step.method, step.path(people[i]), form)
				if token != "" {
					people[i].token = token
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
			})
		}
		all.Wait()
		most := s.peak()
		t.Logf("%d at once, %s: statuses %v, at most %d MiB", n, step.name, statuses, most)
		if most > mostMemory {
			t.Errorf("%s: %d MiB", step.name, most)
		}
		if statuses[http.StatusInternalServerError] > 0 { // whom a busy server puts off is told so with 503
			t.Errorf("%s: %v", step.name, statuses)
		}
	}
}

// person is somebody with an address, and later with a password.
type person struct{ email, invitation, token string }

// ask sends a request from an address of the person's own, and returns the token in the answer, if any.
func (p person) ask(t *testing.T, s *process, i int, method, path string, form url.Values) (status int, token string) {
	t.Helper()
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}}
	client := &http.Client{Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.http+apiBase+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	var got object[struct{ Token string }]
	_ = json.NewDecoder(res.Body).Decode(&got) // of an error, nothing
	return res.StatusCode, got.Data.Token
}

// TestMemoryOfClientsThatDoNotRead bounds the memory of a server while clients request its largest answers and do not read
// them, from one address and from many. Meanwhile others get small and large answers.
func TestMemoryOfClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		n := crowd(16, 150)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		large := s.largeList(40, 256<<10)
		for _, c := range []struct {
			name, path string
			from       func(i int) byte // where the i-th deaf client comes from
		}{
			{"the API's description, from one address", "/openapi.json", func(int) byte { return 1 }},
			{"a list of 10 MB, from one address", large, func(int) byte { return 1 }},
			{"a list of 10 MB, from many addresses", large, func(i int) byte { return byte(i + 1) }},
		} {
			s.stop() // a process of its own, for its peak
			s.start()
			before := s.peak()
			answered, wait := s.deaf(n, c.path, c.from)
			for range crowd(3, 10) {
				s.ok("GET", "/accounts/1/conversations", nil, nil)
				testenv.Eventually(t, "a large answer among clients that do not read", func() bool { return s.call("GET", large, nil, nil) == http.StatusOK })
			}
			wait()
			most := s.peak()
			t.Logf("%d clients that do not read %s: %v, from %d to at most %d MiB", n, c.name, answered, before, most)
			if most > mostMemory {
				t.Errorf("%s: %d MiB", c.name, most)
			}
			if answered.count(http.StatusInternalServerError) > 0 {
				t.Errorf("%s: %v", c.name, answered)
			}
		}
	})
}

// largeList makes a conversation with n notes of so many bytes, and returns the path of the list of them.
func (s *process) largeList(n, size int) string {
	s.t.Helper()
	box := s.mailbox(url.Values{"name": {"Box"}, "email_address": {"box@example.org"}})
	var made object[struct{ ID int64 }]
	s.ok("POST", "/accounts/1/conversations", url.Values{
		"mailbox_id": {strconv.FormatInt(box.ID, 10)}, "channel": {"email"}, "to": {"ada@example.org"},
		"interactions[0][type]": {"note"}, "interactions[0][body]": {"x"},
	}, &made)
	list := fmt.Sprintf("/accounts/1/conversations/%d/interactions", made.Data.ID)
	const line = "<p>much text</p>"
	for range n {
		s.ok("POST", list, url.Values{"type": {"note"}, "body": {strings.Repeat(line, size/len(line))}}, nil)
	}
	return list + "?limit=100"
}

// statuses counts answers by status; 0 means no answer.
type statuses struct {
	mu sync.Mutex
	of map[int]int
}

func (c *statuses) add(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[int]int{}
	}
	c.of[status]++
}

func (c *statuses) count(status int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[status]
}

func (c *statuses) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.of)
}

// deaf lets clients request an answer and read only its beginning. wait ends when each has it or has failed; the connections
// stay open until the end of the test.
func (s *process) deaf(n int, path string, from func(i int) byte) (answered *statuses, wait func()) {
	s.t.Helper()
	answered = &statuses{}
	var asked sync.WaitGroup
	for i := range n {
		asked.Go(func() {
			dialer := &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, from(i))}}
			conn, err := dialer.DialContext(s.t.Context(), "tcp", s.http)
			if err != nil {
				s.t.Error(err)
				return
			}
			s.t.Cleanup(func() { _ = conn.Close() })
			_ = conn.(*net.TCPConn).SetReadBuffer(4096)
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := fmt.Fprintf(conn, "GET %s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", apiBase, path, s.token); err != nil {
				s.t.Error(err)
				return
			}
			head := make([]byte, len("HTTP/1.1 200"))
			_, _ = io.ReadFull(conn, head)
			status, _ := strconv.Atoi(string(head[len("HTTP/1.1 "):])) // 0 of one that was cut off
			answered.add(status)
		})
	}
	return answered, asked.Wait
}

// peak is the most memory that the process had, in MiB.
func (s *process) peak() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		testenv.Skip(s.t, "the system does not tell the memory of a process")
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var kb int
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kb); err == nil {
			return kb >> 10
		}
	}
	s.t.Fatal("no VmHWM")
	return 0
}
