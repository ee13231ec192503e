package blobs

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// holdPrefix is the key prefix of the blobs that forbid deletions. They are in the folder of the mark: after a crash a
// folder of its own, created by another user, might be unreadable.
const holdPrefix = "helpwright/hold-"

// A hold left behind by a crash expires.
const (
	holdTime    = 10 * time.Minute
	holdRenewed = time.Minute
	holdLimit   = 20 * time.Second // for a single write
)

// CodeHeld is the code of the Unavailable fault of [Tie.Delete] while the blobs are held.
const CodeHeld = "blobs_held"

var errHeld = &fault.Error{Kind: fault.Unavailable, Code: CodeHeld, Message: "Files cannot be removed while a backup is running."}

// errHoldLost is the error when [Hold] cannot keep the hold.
var errHoldLost = &fault.Error{Kind: fault.Unavailable, Op: "blobs.Hold",
	Message: "The blob store lost the hold that keeps files from being removed. Some files may be gone."}

// Hold runs fn while no [Tie] of these blobs, in any process, deletes any. Since rows are deleted before their blobs, all
// blobs that a snapshot taken in fn refers to can be read until fn returns. When the hold cannot be kept, the context of fn
// ends and Hold returns an error that says so.
func Hold(ctx context.Context, b storage.Blobs, fn func(ctx context.Context) error) error {
	if err := endOldHolds(ctx, b); err != nil {
		return err
	}
	key := holdPrefix + strings.ToLower(rand.Text())
	if err := renewHold(ctx, b, key); err != nil {
		return err
	}
	held, lose := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { keepHold(held, b, key, lose) })
	err := fn(held)
	if lost := context.Cause(held); lost != nil && ctx.Err() == nil {
		err = lost
	}
	lose(nil)
	keeping.Wait()
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdLimit)
	defer cancel()
	_ = b.Delete(undo, key) // if this fails, the hold expires
	return err
}

// keepHold renews a hold until ctx ends, and gives it up after failing for too long.
func keepHold(ctx context.Context, b storage.Blobs, key string, lose context.CancelCauseFunc) {
	ticker := time.NewTicker(holdRenewed)
	defer ticker.Stop()
	wall := func() time.Time { return time.Now().Round(0) } // the monotonic clock stops while the machine sleeps
	for last := wall(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		before := wall()
		if renewHold(ctx, b, key) == nil && before.Sub(last) < holdTime-holdLimit {
			last = before
		} else if wall().Sub(last) > holdTime/2 {
			lose(errHoldLost)
			return
		}
	}
}

func renewHold(ctx context.Context, b storage.Blobs, key string) error {
	ctx, cancel := context.WithTimeout(ctx, holdLimit)
	defer cancel()
	_, err := b.Put(ctx, key, strings.NewReader("held\n"))
	return err
}

// isHeld reports whether the blobs are held.
func isHeld(ctx context.Context, b storage.Blobs) (bool, error) {
	for after := ""; ; {
		found, err := b.List(ctx, holdPrefix, after, walkedHolds)
		if err != nil || len(found) == 0 {
			return false, err
		}
		for _, hold := range found {
			if !ended(hold) {
				return true, nil
			}
			after = hold.Key
		}
	}
}

const walkedHolds = 20

// ended reports whether a hold has expired. One dated in the future is as invalid as an old one.
func ended(hold storage.BlobInfo) bool { return time.Since(hold.Modified).Abs() > holdTime }

func endOldHolds(ctx context.Context, b storage.Blobs) error {
	found, err := b.List(ctx, holdPrefix, "", walkedHolds)
	for _, hold := range found {
		if err == nil && ended(hold) {
			err = b.Delete(ctx, hold.Key)
		}
	}
	return err
}
