package storage_test

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type item struct{ key, id int64 }

func positionOf(i item) storage.Position { return storage.Position{Key: i.key, ID: i.id} }

// fetchFrom returns the fetch function of a store with these rows.
func fetchFrom(rows []item) func(storage.Seek) ([]item, error) {
	return func(s storage.Seek) ([]item, error) {
		all := slices.Clone(rows)
		slices.SortFunc(all, func(a, b item) int {
			if s.Desc {
				a, b = b, a
			}
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
		})
		if s.From != nil {
			all = slices.DeleteFunc(all, func(i item) bool {
				c := cmp.Or(cmp.Compare(i.key, s.From.Key), cmp.Compare(i.id, s.From.ID))
				return !s.Desc && c <= 0 || s.Desc && c >= 0
			})
		}
		return all[:min(s.Limit, len(all))], nil
	}
}

func rows(n int) []item {
	var out []item
	for i := range n {
		out = append(out, item{key: int64(i/3) - 2, id: int64(100 - i)}) // many equal keys, some negative
	}
	return out
}

// A page whose rows are too large for one answer is shorter, and following the cursors misses no row.
func TestListOfLargeRows(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 3, 7} { // rows of one statement
		for _, desc := range []bool{false, true} {
			want, _ := fetchFrom(rows(12))(storage.Seek{Desc: desc, Limit: 1000})
			var got []item
			req := storage.PageRequest{Limit: 10}
			for pages := 0; pages < 20; pages++ {
				page, err := storage.List(req, desc, positionOf, func(s storage.Seek) ([]item, error) {
					found, err := fetchFrom(rows(12))(s)
					if len(found) > most {
						return nil, fmt.Errorf("of the store: %w", storage.ErrPageTooLarge)
					}
					return found, err
				})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, page.Items...)
				if req.Cursor = page.Next; page.Next == "" {
					break
				}
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(item{})); diff != "" {
				t.Errorf("%d rows at most, desc %v: %s", most, desc, diff)
			}
		}
	}
}

// Walking forward and back returns the same pages, for every page size and order.
func TestListWalksBothWays(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 4, 7, 12} {
		for _, limit := range []int{1, 2, 3, 5, 100} {
			for _, desc := range []bool{false, true} {
				want, _ := fetchFrom(rows(n))(storage.Seek{Desc: desc, Limit: 1000})
				var pages []storage.Page[item]
				req := storage.PageRequest{Limit: limit}
				for {
					page, err := storage.List(req, desc, positionOf, fetchFrom(rows(n)))
					if err != nil {
						t.Fatal(err)
					}
					pages = append(pages, page)
					if page.Next == "" {
						break
					}
					req.Cursor = page.Next
				}
				checkWalk(t, fmt.Sprintf("%d rows by %d, desc %v", n, limit, desc), want, limit, pages)
				for i := len(pages) - 1; i > 0; i-- {
					page, err := storage.List(storage.PageRequest{Limit: limit, Cursor: pages[i].Prev}, desc, positionOf, fetchFrom(rows(n)))
					if err != nil {
						t.Fatal(err)
					}
					if diff := gocmp.Diff(pages[i-1].Items, page.Items, gocmp.AllowUnexported(item{})); diff != "" {
						t.Fatalf("page before page %d: %s", i, diff)
					}
					if page.Next == "" || (page.Prev == "") != (i == 1) {
						t.Errorf("page %d reached backwards: %+v", i-1, page)
					}
				}
			}
		}
	}
}

func checkWalk(t *testing.T, what string, want []item, limit int, pages []storage.Page[item]) {
	t.Helper()
	var got []item
	for i, p := range pages {
		got = append(got, p.Items...)
		if (p.Prev == "") != (i == 0) {
			t.Errorf("%s: Prev of page %d is %q", what, i, p.Prev)
		}
	}
	if !slices.Equal(want, got) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
	if most := max(1, (len(want)+limit-1)/limit); len(pages) != most {
		t.Errorf("%s: %d pages, want %d", what, len(pages), most)
	}
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	page, err := storage.List(storage.PageRequest{Limit: 1}, false, positionOf, fetchFrom(rows(3)))
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(page.Next)
	raw[0] |= 0x80
	for name, test := range map[string]struct {
		req   storage.PageRequest
		desc  bool
		field string
	}{
		"negative limit":        {storage.PageRequest{Limit: -1}, false, "limit"},
		"limit too high":        {storage.PageRequest{Limit: storage.MaxLimit + 1}, false, "limit"},
		"no base64":             {storage.PageRequest{Cursor: "!"}, false, "cursor"},
		"padded":                {storage.PageRequest{Cursor: page.Next + "="}, false, "cursor"},
		"too short":             {storage.PageRequest{Cursor: page.Next[:20]}, false, "cursor"},
		"too long":              {storage.PageRequest{Cursor: page.Next + "AAAA"}, false, "cursor"},
		"unknown flags":         {storage.PageRequest{Cursor: base64.RawURLEncoding.EncodeToString(raw)}, false, "cursor"},
		"of the opposite order": {storage.PageRequest{Cursor: page.Next}, true, "cursor"},
	} {
		_, err := storage.List(test.req, test.desc, positionOf, func(storage.Seek) ([]item, error) {
			t.Errorf("%s: data were touched", name)
			return nil, nil
		})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Invalid || len(f.Fields[test.field]) == 0 {
			t.Errorf("%s: got %v, want an Invalid fault of %s", name, err, test.field)
		}
	}
	_, err = storage.List(storage.PageRequest{Limit: 900, Cursor: "!"}, false, positionOf, fetchFrom(nil))
	if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 2 {
		t.Errorf("both problems must be reported: %v", err)
	}
}

func TestListPassesErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := storage.List(storage.PageRequest{}, false, positionOf, func(s storage.Seek) ([]item, error) {
		if s.Limit != storage.DefaultLimit+1 {
			t.Errorf("asked for %d rows", s.Limit)
		}
		return nil, broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// For any cursor List returns sorted rows or refuses it.
func FuzzCursor(f *testing.F) {
	f.Add("", false)
	f.Add("AAAAAAAAAAAAAAAAAAAAAAA", false)
	f.Add("A_______________________", true)
	f.Add(strings.Repeat("_", 23), true)
	f.Fuzz(func(t *testing.T, cursor string, desc bool) {
		page, err := storage.List(storage.PageRequest{Cursor: cursor, Limit: 5}, desc, positionOf, fetchFrom(rows(12)))
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		for i := range page.Items[min(1, len(page.Items)):] {
			c := cmp.Or(cmp.Compare(page.Items[i].key, page.Items[i+1].key), cmp.Compare(page.Items[i].id, page.Items[i+1].id))
			if c == 0 || c > 0 != desc {
				t.Fatalf("out of order: %v", page.Items)
			}
		}
	})
}

func ExampleList() {
	names := []string{"Ada", "Grace", "Joan"}
	fetch := func(s storage.Seek) ([]int, error) { // a store asks its database
		start := 0
		if s.From != nil {
			start = int(s.From.ID) + 1
		}
		var ids []int
		for id := start; id < len(names) && len(ids) < s.Limit; id++ {
			ids = append(ids, id)
		}
		return ids, nil
	}
	position := func(id int) storage.Position { return storage.Position{ID: int64(id)} }
	req := storage.PageRequest{Limit: 2}
	for {
		page, err := storage.List(req, false, position, fetch)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, id := range page.Items {
			fmt.Println(names[id])
		}
		if page.Next == "" {
			return
		}
		req.Cursor = page.Next
		fmt.Println("---")
	}
	// Output:
	// Ada
	// Grace
	// ---
	// Joan
}

// numbers is a list of the numbers below n.
func numbers(n int) func(storage.PageRequest) (storage.Page[int64], error) {
	fetch := func(s storage.Seek) (all []int64, err error) {
		next := int64(0)
		if s.From != nil {
			next = s.From.ID + 1
		}
		for ; next < int64(n) && len(all) < s.Limit; next++ {
			all = append(all, next)
		}
		return all, nil
	}
	return func(req storage.PageRequest) (storage.Page[int64], error) {
		return storage.List(req, false, func(id int64) storage.Position { return storage.Position{ID: id} }, fetch)
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, storage.MaxLimit, storage.MaxLimit + 1, 250} {
		var got []int64
		for id, err := range storage.Each(numbers(n)) {
			if err != nil || id != int64(len(got)) {
				t.Fatalf("of %d, after %d came %d, %v", n, len(got), id, err)
			}
			got = append(got, id)
		}
		if len(got) != n {
			t.Errorf("%d of %d", len(got), n)
		}
	}
	pages, list := 0, numbers(250)
	counted := func(req storage.PageRequest) (storage.Page[int64], error) {
		if pages++; pages == 3 {
			return storage.Page[int64]{}, errors.New("the database is away")
		}
		return list(req)
	}
	for id := range storage.Each(counted) {
		if id == 42 {
			break
		}
	}
	if pages != 1 {
		t.Errorf("%d pages were read for 43 objects", pages)
	}
	seen, failed := 0, error(nil)
	for _, err := range storage.Each(counted) {
		if failed = err; err == nil {
			seen++
		}
	}
	if seen != storage.MaxLimit || failed == nil {
		t.Errorf("%d objects, %v", seen, failed)
	}
}

func ExampleEach() {
	sum := int64(0)
	for number, err := range storage.Each(numbers(250)) { // such as desk.Tags().List with its filter
		if err != nil {
			fmt.Println(err)
			return
		}
		sum += number
	}
	fmt.Println(sum)
	// Output: 31125
}
