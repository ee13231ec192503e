package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

// TestPagesOfLargeRows checks that rows too large for one answer are split into several pages without a loss. If rows are
// not counted, as in memory, a page has the requested size.
func TestPagesOfLargeRows(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			fill(t, w, 1)
			const list = "/accounts/1/conversations/1/interactions"
			for n := range 12 {
				w.must(t, "POST", list, fmt.Sprintf("type=note&body=%d%s", n, strings.Repeat("x", 200<<10)))
			}
			whole := bodies(t, w, list)
			w.serve(t, api.Config{Service: w.svc, Config: transport.Config{Memory: 16 << 20}})
			got := bodies(t, w, list)
			if diff := cmp.Diff(slices.Concat(whole...), slices.Concat(got...)); diff != "" {
				t.Errorf("%d and %d pages: %.1000s", len(whole), len(got), diff)
			}
			if len(whole) != 1 || (len(got) > 1) != (b.name != "Memory") {
				t.Errorf("%d and %d pages", len(whole), len(got))
			}
		})
	}
}

// bodies are those of a list of interactions, page by page.
func bodies(t *testing.T, w *world, path string) (pages [][]string) {
	t.Helper()
	for at := path + "?limit=100"; at != ""; {
		res := w.must(t, "GET", at, "")
		var page struct{ Data []struct{ Body string } }
		if err := json.Unmarshal(res.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		var one []string
		for _, i := range page.Data {
			one = append(one, i.Body)
		}
		pages = append(pages, one)
		at, _, _ = strings.Cut(res.Header().Get("Link"), `>; rel="next"`)
		if _, at, _ = strings.Cut(at, "<"); strings.Contains(at, `rel=`) || !strings.Contains(res.Header().Get("Link"), `rel="next"`) {
			at = ""
		}
		at = strings.TrimPrefix(at, "/api/v1")
	}
	return pages
}
