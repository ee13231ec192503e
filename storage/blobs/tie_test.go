package blobs_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// mount is a store on a disk that can be replaced at any time.
type mount struct{ atomic.Pointer[memblob.Blobs] }

func newMount(b *memblob.Blobs) *mount {
	m := &mount{}
	m.Store(b)
	return m
}

func (m *mount) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	return m.Load().Put(ctx, key, r)
}
func (m *mount) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return m.Load().Get(ctx, key)
}
func (m *mount) GetRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	return m.Load().GetRange(ctx, key, offset, length)
}
func (m *mount) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	return m.Load().Stat(ctx, key)
}
func (m *mount) Delete(ctx context.Context, key string) error { return m.Load().Delete(ctx, key) }
func (m *mount) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	return m.Load().List(ctx, prefix, after, limit)
}

func newTie(t *testing.T, cfg blobs.TieConfig) *blobs.Tie {
	t.Helper()
	tie, err := blobs.NewTie(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tie
}

func TestNewTieNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := blobs.NewTie(blobs.TieConfig{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || len(f.Fields) != 3 {
		t.Errorf("%v", err)
	}
}

// codeOf returns the code of a fault, or "" for nil.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Unavailable {
		t.Fatalf("no Unavailable fault: %v", err)
	}
	return f.Code
}

func markOf(t *testing.T, b storage.Blobs) string {
	t.Helper()
	r, err := b.Get(t.Context(), blobs.MarkKey)
	if fault.Is(err, fault.NotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestTie tests all combinations of present and missing marks, rows and blobs.
func TestTie(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ofDatabase, ofBlobs string
		rows                rows
		there               []string
		want                string // code
		mark                string // of both afterwards, where it is tied; "new": any
	}{
		"first start":                          {want: "", mark: "new"},
		"same mark":                            {ofDatabase: "a", ofBlobs: "a", rows: rows{"accounts/1/x": true}, mark: "a"},
		"other mark":                           {ofDatabase: "a", ofBlobs: "b", want: blobs.CodeOther},
		"older installation":                   {rows: rows{"accounts/1/x": true}, there: []string{"accounts/1/x"}, mark: "new"},
		"older installation, some files lost":  {rows: rows{"accounts/1/x": true, "accounts/1/y": true}, there: []string{"accounts/1/x"}, mark: "new"},
		"older installation, folder empty":     {rows: rows{"accounts/1/x": true}, want: blobs.CodeLost},
		"older installation, database lost":    {there: []string{"accounts/1/x"}, want: blobs.CodeNewDatabase},
		"folder empty":                         {ofDatabase: "a", rows: rows{"accounts/1/x": true}, want: blobs.CodeLost},
		"folder empty, nothing to lose":        {ofDatabase: "a", mark: "a"},
		"mark alone lost":                      {ofDatabase: "a", rows: rows{"accounts/1/x": true}, there: []string{"accounts/1/x"}, mark: "a"},
		"killed between the marks":             {ofDatabase: "a", there: []string{"accounts/1/orphan"}, mark: "a"},
		"database lost":                        {ofBlobs: "b", there: []string{"accounts/1/x"}, want: blobs.CodeNewDatabase},
		"database new, blobs with a mark only": {ofBlobs: "b", mark: "b"},
		"older database restored":              {ofBlobs: "b", rows: rows{"accounts/1/x": true}, there: []string{"accounts/1/x", "accounts/1/y"}, mark: "b"},
		"another's folder":                     {ofBlobs: "b", rows: rows{"accounts/1/x": true}, there: []string{"accounts/1/y"}, want: blobs.CodeOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marks, b := memstore.New(), memblob.New()
			if test.ofDatabase != "" {
				if err := marks.SetMark(t.Context(), "", test.ofDatabase); err != nil {
					t.Fatal(err)
				}
			}
			if test.ofBlobs != "" {
				if _, err := b.Put(t.Context(), blobs.MarkKey, strings.NewReader(test.ofBlobs)); err != nil {
					t.Fatal(err)
				}
			}
			put(t, b, test.there...)
			tie := newTie(t, blobs.TieConfig{Blobs: b, Marks: marks, Rows: test.rows})
			before := keysOf(t, b)
			if got := codeOf(t, tie.Look(t.Context())); got != test.want {
				t.Errorf("Look: %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(before, keysOf(t, b)); diff != "" {
				t.Errorf("Look has changed the blobs:\n%s", diff)
			}
			if got := codeOf(t, tie.Check(t.Context())); got != test.want || codeOf(t, tie.Err()) != test.want {
				t.Errorf("Check: %q, want %q; Err: %v", got, test.want, tie.Err())
			}
			if test.want != "" {
				if diff := cmp.Diff(before, keysOf(t, b)); diff != "" {
					t.Errorf("Check has changed the blobs:\n%s", diff)
				}
				if err := tie.Adopt(t.Context()); err != nil || tie.Err() != nil {
					t.Errorf("Adopt: %v, %v", err, tie.Err())
				}
			}
			ofDatabase, err := marks.Mark(t.Context())
			if err != nil || ofDatabase == "" || ofDatabase != markOf(t, b) || test.mark != "" && test.mark != "new" && ofDatabase != test.mark {
				t.Errorf("marks %q and %q, want %q", ofDatabase, markOf(t, b), test.mark)
			}
			again := newTie(t, blobs.TieConfig{Blobs: b, Marks: marks, Rows: test.rows})
			if err := again.Check(t.Context()); err != nil {
				t.Errorf("after the next start: %v", err)
			}
		})
	}
}

// TestTieOfManyProcesses ties the same blobs to the same database concurrently: all agree on the mark.
func TestTieOfManyProcesses(t *testing.T) {
	t.Parallel()
	for _, named := range []rows{{}, {"accounts/1/x": true}} {
		marks, b := memstore.New(), memblob.New()
		put(t, b, keysIn(named)...)
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				if err := newTie(t, blobs.TieConfig{Blobs: b, Marks: marks, Rows: named}).Check(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if mark, err := marks.Mark(t.Context()); err != nil || mark != markOf(t, b) {
			t.Errorf("marks %q and %q, %v", mark, markOf(t, b), err)
		}
	}
}

func keysIn(r rows) []string {
	keys, _ := r.ListNamedBlobs(context.Background(), "", len(r))
	return keys
}

// TestLostMount removes the disk while it is in use: nothing is written to what is there instead, no file is taken for lost,
// and everything continues when it is back.
func TestLostMount(t *testing.T) {
	t.Parallel()
	disk, empty := memblob.New(), memblob.New()
	m := newMount(disk)
	named := rows{"accounts/1/x": true}
	put(t, disk, "accounts/1/x")
	tie := newTie(t, blobs.TieConfig{Blobs: m, Marks: memstore.New(), Rows: named})
	if err := tie.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, use := range map[string]func(key string) error{
		"Put": func(string) error {
			_, err := tie.Put(t.Context(), "accounts/1/y", strings.NewReader("text"))
			return err
		},
		"Get":      func(key string) error { return errOf(tie.Get(t.Context(), key)) },
		"GetRange": func(key string) error { return errOf(tie.GetRange(t.Context(), key, 0, 1)) },
		"Stat":     func(key string) error { return errOf(tie.Stat(t.Context(), key)) },
		"Walk": func(string) error {
			return tie.Walk(t.Context(), "", func([]storage.BlobInfo) error { return nil })
		},
	} {
		if err := use("accounts/1/x"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m.Store(empty)
		if err := use("accounts/1/x"); codeOf(t, err) != blobs.CodeLost {
			t.Errorf("%s without the disk: %v", name, err)
		}
		for what, err := range map[string]error{
			"Delete": tie.Delete(t.Context(), "accounts/1/x"),
			"List":   errOf(tie.List(t.Context(), "", "", 1)),
			"Tidy":   errOf(tie.Tidy(t.Context(), time.Now(), false)),
		} {
			if what != "Tidy" && codeOf(t, err) != blobs.CodeLost { // these blobs have nothing to tidy
				t.Errorf("%s without the disk: %v", what, err)
			}
		}
		if keys := keysOf(t, empty); len(keys) != 0 {
			t.Errorf("%s has written %v to the wrong place", name, keys)
		}
		m.Store(disk)
		if err := tie.Check(t.Context()); err != nil {
			t.Fatalf("the disk is back: %v", err)
		}
	}
	if err := errOf(tie.Get(t.Context(), "accounts/1/none")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func errOf[T any](_ T, err error) error { return err }

// mute keeps the marks of a database that can be made unreachable.
type mute struct{ away atomic.Bool }

func (m *mute) Mark(context.Context) (string, error) {
	if m.away.Load() {
		return "", fault.New(fault.Unavailable, "away")
	}
	return "a", nil
}

func (*mute) SetMark(context.Context, string, string) error {
	return fault.New(fault.Conflict, "another")
}

// An unreachable database says nothing about the blobs.
func TestTieWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	marks, b := &mute{}, memblob.New()
	if _, err := b.Put(t.Context(), blobs.MarkKey, strings.NewReader("b")); err != nil {
		t.Fatal(err)
	}
	tie := newTie(t, blobs.TieConfig{Blobs: b, Marks: marks, Rows: rows{}})
	marks.away.Store(true)
	if err := tie.Check(t.Context()); !fault.Is(err, fault.Unavailable) || tie.Err() != nil {
		t.Errorf("before anything is known: %v, %v", err, tie.Err())
	}
	marks.away.Store(false)
	if err := tie.Check(t.Context()); codeOf(t, err) != blobs.CodeOther {
		t.Error(err)
	}
	marks.away.Store(true)
	if err := tie.Check(t.Context()); codeOf(t, err) != "" || codeOf(t, tie.Err()) != blobs.CodeOther {
		t.Errorf("%v, %v", err, tie.Err())
	}
}
