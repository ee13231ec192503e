package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestPagesOfTwoServers changes an article through one of two servers on one database, both of which cache its page and are
// read all the time, and kills servers in the middle of changes: within seconds both show the current content.
func TestPagesOfTwoServers(t *testing.T) {
	t.Parallel()
	shared := sharing(t, testenv.Postgres(t))
	servers := []*process{newServer(t, shared...), newServer(t, shared...)}
	api := fmt.Sprintf("/sites/%d/articles/1", servers[0].knowledge())
	const page = "/help/en/articles/1-how-to-pay"
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for _, s := range servers {
		address := "http://" + s.http + page
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					if status, _ := read(address); status != 0 && status != http.StatusOK {
						t.Errorf("a reader got %d", status)
					}
				}
			}
		})
	}
	kills, committed := 0, 0
	for round := range 12 {
		writer, other := servers[round%2], servers[(round+1)%2]
		form := url.Values{"source_locale": {"en"}, "collection_id": {"1"}, "translations[en][content]": {fmt.Sprintf("<p>Version %d.</p>", round)}}
		var writing sync.WaitGroup
		writing.Go(func() { put(writer, api, form) })
		if killed := round%3 > 0; killed {
			time.Sleep(time.Duration(rand.IntN(12_000)) * time.Microsecond)
			writer.kill()
			kills++
		}
		writing.Wait()
		if writer.cmd == nil {
			writer.start()
		}
		version := fmt.Sprintf("Version %d.", round)
		var content string
		testenv.Eventually(t, fmt.Sprintf("round %d: both show what the database has", round), func() bool {
			content = articleText(other, api) // a change whose server was killed may be committed afterwards
			for _, s := range servers {
				if _, body := read("http://" + s.http + page); !strings.Contains(body, content) {
					return false
				}
			}
			return articleText(other, api) == content
		})
		if strings.Contains(content, version) {
			committed++
		}
	}
	close(stop)
	readers.Wait()
	if committed < 4 || kills != 8 {
		t.Errorf("%d of the changes were made, with %d kills", committed, kills)
	}
}

// articleText is an article's English text, as a server's database has it.
func articleText(s *process, api string) string {
	var now object[struct {
		Translations map[string]struct{ Content string }
	}]
	s.ok("GET", api, nil, &now)
	return now.Data.Translations["en"].Content
}

// read gets a page; a server that is not there has the status 0.
func read(address string) (status int, body string) {
	res, err := http.Get(address) // of the tests
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(text)
}

// put changes something through a server that may be killed.
func put(s *process, path string, form url.Values) {
	req, err := http.NewRequest(http.MethodPut, "http://"+s.http+apiBase+path, strings.NewReader(form.Encode()))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+s.token)
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
	}
}
