package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// holiday is a plain noun.
type holiday struct {
	ID        int64
	Name      string
	Day       time.Time
	Hours     int
	Off       bool
	Hash      []byte
	TeamIDs   []int64
	Languages []string
	Place     place
}

type place struct{ Town string }

func (p place) texts() []string { return []string{p.Town} }

func holidays() storage.Declared[holiday, storage.NoFilter] {
	return storage.Declared[holiday, storage.NoFilter]{
		Noun: storage.Noun[holiday]{
			Name:   "holiday",
			ID:     func(h *holiday) *int64 { return &h.ID },
			Unique: []storage.Unique[holiday]{{Code: "holiday", Index: "day", Fields: func(h *holiday) []any { return []any{&h.Day, &h.Name} }}},
		},
		Key: "holiday", Plural: "holidays",
		Columns: []storage.Column[holiday]{
			{Name: "name", Field: func(h *holiday) any { return &h.Name }},
			{Name: "day", Field: func(h *holiday) any { return &h.Day }},
			{Name: "hours", Field: func(h *holiday) any { return &h.Hours }},
			{Name: "off", Field: func(h *holiday) any { return &h.Off }},
			{Name: "hash", Field: func(h *holiday) any { return &h.Hash }},
			{Name: "team_ids", Field: func(h *holiday) any { return storage.IDs(&h.TeamIDs) }, Refers: "team"},
			{Name: "languages", Field: func(h *holiday) any { return storage.Texts(&h.Languages) }},
			{Name: "place", Field: func(h *holiday) any { return storage.Object(&h.Place, place.texts) }},
		},
	}
}

func ExampleDeclared() {
	table := holidays().Table()
	fmt.Println(table.Name)
	for _, c := range table.Columns {
		fmt.Println(c.Name, c.Kind)
	}
	fmt.Println(table.Unique[0].Index, table.Unique[0].Columns)
	// Output:
	// hw_holidays
	// name text
	// day number
	// hours number
	// off flag
	// hash binary
	// team_ids list
	// languages list
	// place list
	// hw_holidays_day [day name]
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 12, 24, 1, 2, 3, 456789, time.UTC)
	for name, test := range map[string]struct {
		row  holiday
		want storage.Record
	}{
		"everything": {
			holiday{7, "Eve", day, 4, true, []byte{1}, []int64{3, 2}, []string{"de", "\"é"}, place{"Kiel"}},
			storage.Record{ID: 7, Values: []any{"Eve", day.UnixMicro(), int64(4), true, []byte{1}, "[3,2]", `["de","\"é"]`, `{"Town":"Kiel"}`}},
		},
		"nothing": {
			holiday{},
			storage.Record{Values: []any{"", time.Time{}.UnixMicro(), int64(0), false, []byte{}, "[]", "[]", `{"Town":""}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := holidays().Record(&test.row)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
			test.row.Day = test.row.Day.Truncate(time.Microsecond)
			row, err := holidays().Of(got)
			if diff := cmp.Diff(test.row, row); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
	for what, row := range map[string]holiday{"a list": {Languages: []string{"a\x00"}}, "an object": {Place: place{"a\x00"}}} {
		if _, err := holidays().Record(&row); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s with NUL: %v", what, err)
		}
	}
	if _, err := holidays().Of(storage.Record{Values: []any{"", int64(0), int64(0), false, []byte{}, "{", "[]", "{}"}}); !fault.Is(err, fault.Internal) {
		t.Error("a damaged list:", err)
	}
}

func TestTableMatches(t *testing.T) {
	t.Parallel()
	table := holidays().Table()
	row := storage.Record{Values: []any{"Évening", int64(5), int64(4), true, []byte{1, 2}, "[]", "[]", "{}"}}
	for name, test := range map[string]struct {
		where []storage.Condition
		want  bool
	}{
		"no condition":  {nil, true},
		"one of":        {[]storage.Condition{storage.OneOf("hours", []int64{3, 4})}, true},
		"none of":       {[]storage.Condition{storage.OneOf("hours", []int64{3, 5})}, false},
		"of nothing":    {[]storage.Condition{storage.OneOf[int64]("hours", nil)}, false},
		"any of none":   {storage.AnyOf[string]("name", nil), true},
		"bytes":         {storage.AnyOf("hash", [][]byte{{9}, {1, 2}}), true},
		"prefix":        {[]storage.Condition{{Column: "name", Prefix: "Év"}}, true},
		"other prefix":  {[]storage.Condition{{Column: "name", Prefix: "év"}}, false},
		"either":        {[]storage.Condition{storage.Either([]storage.Condition{{Column: "name", Prefix: "x"}}, []storage.Condition{storage.OneOf("hours", []int64{4})})}, true},
		"neither":       {[]storage.Condition{storage.Either([]storage.Condition{storage.OneOf("hours", []int64{4}), {Column: "name", Prefix: "x"}})}, false},
		"of no groups":  {[]storage.Condition{storage.Either()}, false},
		"two, one true": {[]storage.Condition{storage.OneOf("hours", []int64{4}), {Column: "name", Prefix: "x"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := table.Matches(row, test.where); got != test.want {
				t.Error(got)
			}
		})
	}
}
