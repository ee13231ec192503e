package blobs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
)

// rows is the set of keys that a database refers to.
type rows map[string]bool

func (r rows) NamedBlobs(_ context.Context, keys []string) ([]string, error) {
	var named []string
	for _, key := range keys {
		if r[key] {
			named = append(named, key)
		}
	}
	return named, nil
}

func (r rows) ListNamedBlobs(_ context.Context, after string, limit int) ([]string, error) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(r)), func(key string) bool { return key <= after })
	return keys[:min(limit, len(keys))], nil
}

// away is a database that does not answer.
type away struct{ rows }

func (away) NamedBlobs(context.Context, []string) ([]string, error) {
	return nil, fault.New(fault.Unavailable, "away")
}

func put(t testing.TB, b storage.Blobs, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, err := b.Put(t.Context(), key, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
}

func keysOf(t testing.TB, b storage.Blobs) []string {
	t.Helper()
	var keys []string
	err := storage.WalkBlobs(t.Context(), b, "", func(found []storage.BlobInfo) error {
		for _, i := range found {
			keys = append(keys, i.Key)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// later returns a clock that is ahead, so that all blobs are old.
func later(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }

func TestSweep(t *testing.T) {
	t.Parallel()
	all := []string{"accounts/1/a", "accounts/1/b", "accounts/2/a", "accounts/2/b/c", "doctor/probe", "other"}
	for name, test := range map[string]struct {
		cfg  blobs.SweepConfig
		want blobs.Swept
		left []string
	}{
		"old": {
			blobs.SweepConfig{Rows: []storage.BlobRows{rows{"accounts/1/a": true}, rows{"accounts/2/b/c": true}}, Now: later(25 * time.Hour)},
			blobs.Swept{Looked: 4, Removed: 2, Bytes: 8}, []string{"accounts/1/a", "accounts/2/b/c", "doctor/probe", "other"},
		},
		"dry": {
			blobs.SweepConfig{Rows: []storage.BlobRows{rows{"accounts/1/a": true}}, Now: later(25 * time.Hour), Dry: true},
			blobs.Swept{Looked: 4, Removed: 3, Bytes: 12}, all,
		},
		"young": {
			blobs.SweepConfig{Rows: []storage.BlobRows{rows{}}, Now: later(23 * time.Hour)},
			blobs.Swept{Looked: 4, Young: 4}, all,
		},
		"no grace at all is ten minutes": {
			blobs.SweepConfig{Rows: []storage.BlobRows{rows{}}, Grace: 1, Now: later(9 * time.Minute)},
			blobs.Swept{Looked: 4, Young: 4}, all,
		},
		"own grace": {
			blobs.SweepConfig{Rows: []storage.BlobRows{rows{}}, Grace: time.Hour, Now: later(61 * time.Minute)},
			blobs.Swept{Looked: 4, Removed: 4, Bytes: 16}, []string{"doctor/probe", "other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.cfg.Blobs = memblob.New()
			put(t, test.cfg.Blobs, all...)
			told := 0
			test.cfg.Each = func(storage.BlobInfo) { told++ }
			got, err := blobs.Sweep(t.Context(), test.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if told != got.Removed {
				t.Errorf("told of %d, removed %d", told, got.Removed)
			}
			if diff := cmp.Diff(test.left, keysOf(t, test.cfg.Blobs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// When one of the databases does not answer, nothing is deleted.
func TestSweepWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b := memblob.New()
	put(t, b, "accounts/1/a", "accounts/1/b")
	got, err := blobs.Sweep(t.Context(), blobs.SweepConfig{Blobs: b, Rows: []storage.BlobRows{rows{}, away{}}, Now: later(48 * time.Hour)})
	if !fault.Is(err, fault.Unavailable) || got.Removed != 0 || len(keysOf(t, b)) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := blobs.Sweep(t.Context(), blobs.SweepConfig{Blobs: b}); err == nil || len(keysOf(t, b)) != 2 {
		t.Errorf("a sweep without rows: %v", err)
	}
}

// stuck is a store with blobs that cannot be deleted.
type stuck struct {
	*memblob.Blobs
	err error
}

func (s stuck) Delete(ctx context.Context, key string) error {
	if strings.HasSuffix(key, "stuck") {
		return s.err
	}
	return s.Blobs.Delete(ctx, key)
}

// A blob that cannot be deleted does not end the sweep; an unreachable store does.
func TestSweepStuck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err   error
		stops bool
	}{{errors.New("is a directory"), false}, {fault.New(fault.Unavailable, "away"), true}} {
		b := stuck{memblob.New(), test.err}
		put(t, b, "accounts/1/a-stuck", "accounts/1/b")
		got, err := blobs.Sweep(t.Context(), blobs.SweepConfig{Blobs: b, Rows: []storage.BlobRows{rows{}}, Now: later(48 * time.Hour)})
		if (err != nil) != test.stops || !test.stops && (got.Failed != 1 || got.Removed != 1) {
			t.Errorf("%v: %+v, %v", test.err, got, err)
		}
	}
}

// Whatever happens meanwhile, blobs with a row are kept and blobs without a row are deleted.
func TestSweepRandomly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	b, named, dropped := memblob.New(), rows{}, map[string]bool{}
	for round := range 60 {
		for n := range r.IntN(40) {
			key := fmt.Sprintf("accounts/%d/x/%d-%d", r.IntN(3), round, n)
			put(t, b, key)
			if r.IntN(3) > 0 {
				named[key] = true
			} else {
				dropped[key] = true
			}
		}
		for key := range named {
			if r.IntN(10) == 0 {
				delete(named, key)
				dropped[key] = true
			}
		}
		if _, err := blobs.Sweep(t.Context(), blobs.SweepConfig{Blobs: b, Rows: []storage.BlobRows{named}, Now: later(48 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(named)), keysOf(t, b)); diff != "" {
			t.Fatal(diff)
		}
	}
	if len(dropped) == 0 {
		t.Error("nothing was dropped")
	}
}
