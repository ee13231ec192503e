package blobs_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// While the blobs are held nobody can delete any; afterwards deletions work again.
func TestHold(t *testing.T) {
	t.Parallel()
	b := memblob.New()
	tie := newTie(t, blobs.TieConfig{Blobs: b, Marks: memstore.New(), Rows: rows{}})
	put(t, tie, "accounts/1/x", "accounts/1/y")
	sweep := func() (blobs.Swept, error) {
		return blobs.Sweep(t.Context(), blobs.SweepConfig{
			Blobs: tie, Rows: []storage.BlobRows{rows{}}, Now: func() time.Time { return time.Now().Add(48 * time.Hour) },
		})
	}
	failed := errors.New("failed")
	err := blobs.Hold(t.Context(), tie, func(ctx context.Context) error {
		if err := tie.Delete(ctx, "accounts/1/x"); codeOf(t, err) != blobs.CodeHeld {
			t.Errorf("a file is removed: %v", err)
		}
		if found, err := sweep(); codeOf(t, err) != blobs.CodeHeld || found.Removed > 0 {
			t.Errorf("files are swept: %+v %v", found, err)
		}
		// a second holder does not end the first one's hold
		if err := blobs.Hold(ctx, tie, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if err := tie.Delete(ctx, "accounts/1/x"); codeOf(t, err) != blobs.CodeHeld {
			t.Errorf("a file is removed after a second holder: %v", err)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error of what ran: %v", err)
	}
	if found, err := sweep(); err != nil || found.Removed != 2 {
		t.Errorf("%+v %v", found, err)
	}
	if diff := cmp.Diff([]string{blobs.MarkKey}, keysOf(t, b)); diff != "" {
		t.Errorf("the hold has left something behind:\n%s", diff)
	}
}

// aged gives blobs the times of a synctest bubble, and fails to store on request.
type aged struct {
	*memblob.Blobs
	at     map[string]time.Time
	broken atomic.Bool
}

func (a *aged) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if a.broken.Load() {
		return 0, fault.New(fault.Unavailable, "away")
	}
	a.at[key] = time.Now()
	return a.Blobs.Put(ctx, key, r)
}

func (a *aged) List(ctx context.Context, prefix, after string, limit int) ([]storage.BlobInfo, error) {
	found, err := a.Blobs.List(ctx, prefix, after, limit)
	for i := range found {
		found[i].Modified = a.at[found[i].Key]
	}
	return found, err
}

// A hold lasts as long as its holder. A hold left behind by a crash expires, and one that cannot be kept cancels its work.
func TestHoldTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work   func(b *aged, ctx context.Context) error
		failed bool
	}{
		"renewed": {work: func(_ *aged, ctx context.Context) error {
			time.Sleep(3 * time.Hour)
			return ctx.Err()
		}},
		"cannot be kept": {failed: true, work: func(b *aged, ctx context.Context) error {
			b.broken.Store(true)
			<-ctx.Done()
			return ctx.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &aged{Blobs: memblob.New(), at: map[string]time.Time{}}
				tie := newTie(t, blobs.TieConfig{Blobs: b, Marks: memstore.New(), Rows: rows{}})
				put(t, tie, "accounts/1/x")
				began := time.Now()
				err := blobs.Hold(t.Context(), tie, func(ctx context.Context) error {
					err := test.work(b, ctx)
					if deleted := tie.Delete(t.Context(), "accounts/1/x"); codeOf(t, deleted) != blobs.CodeHeld {
						t.Errorf("a file is removed: %v", deleted)
					}
					return err
				})
				if (err != nil) != test.failed || err != nil && !fault.Is(err, fault.Unavailable) {
					t.Errorf("%v", err)
				}
				if test.failed && time.Since(began) > 10*time.Minute {
					t.Errorf("the hold was lost after %v", time.Since(began))
				}
			})
		})
	}
}

// A crash leaves a hold behind, which expires.
func TestHoldOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &aged{Blobs: memblob.New(), at: map[string]time.Time{}}
		tie := newTie(t, blobs.TieConfig{Blobs: b, Marks: memstore.New(), Rows: rows{}})
		put(t, tie, "accounts/1/x")
		if _, err := b.Put(t.Context(), "helpwright/hold-dead", strings.NewReader("held")); err != nil {
			t.Fatal(err)
		}
		if err := tie.Delete(t.Context(), "accounts/1/x"); codeOf(t, err) != blobs.CodeHeld {
			t.Errorf("%v", err)
		}
		time.Sleep(11 * time.Minute)
		if err := tie.Delete(t.Context(), "accounts/1/x"); err != nil {
			t.Errorf("%v", err)
		}
		if err := blobs.Hold(t.Context(), tie, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{blobs.MarkKey}, keysOf(t, b)); diff != "" {
			t.Errorf("%s", diff)
		}
	})
}
