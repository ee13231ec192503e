package sse

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// client is a connection that records what is written, and how often it is flushed.
type client struct {
	header  http.Header
	written []string
	flushes int
}

func (c *client) Header() http.Header { return c.header }
func (c *client) WriteHeader(int)     {}
func (c *client) Flush()              { c.flushes++ }
func (c *client) Write(p []byte) (int, error) {
	c.written = append(c.written, string(p))
	return len(p), nil
}

func TestWriter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mostWaiting)
	type event struct{ id, name, data string }
	for name, tc := range map[string]struct {
		add  []event
		want []string
	}{
		"nothing":          {nil, nil},
		"one":              {[]event{{"7", "", "{}"}}, []string{"id: 7\ndata: {}\n\n"}},
		"several together": {[]event{{"7", "", "{}"}, {"8", "reset", "a"}}, []string{"id: 7\ndata: {}\n\nid: 8\nevent: reset\ndata: a\n\n"}},
		"several lines":    {[]event{{"", "", "a\nb"}}, []string{"data: a\ndata: b\n\n"}},
		"an id alone":      {[]event{{"9", "", ""}}, []string{"id: 9\n\n"}},
		"a long one":       {[]event{{"1", "", "a"}, {"2", "", long}, {"3", "", "b"}}, []string{"id: 1\ndata: a\n\nid: 2\ndata: " + long + "\n\n", "id: 3\ndata: b\n\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{header: http.Header{}}
			w := New(c)
			for _, e := range tc.add {
				var data []byte
				if e.data != "" {
					data = []byte(e.data)
				}
				if err := w.Add(e.id, e.name, data); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a second time there is nothing
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, c.written); diff != "" || c.flushes != len(tc.want) {
				t.Errorf("%d flushes, %s", c.flushes, diff)
			}
		})
	}
}
