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

// holdPrefix begins the keys of the blobs that say: remove nothing now. They lie where the mark does: a folder of their own,
// made by another user and left by a crash, could not be looked into.
const holdPrefix = "helpwright/hold-"

// A hold that was left behind by a crash ends by itself.
const (
	holdTime    = 10 * time.Minute
	holdRenewed = time.Minute
	holdLimit   = 20 * time.Second // of one write
)

// CodeHeld is the code of the Unavailable fault that [Tie.Delete] answers while somebody holds the blobs.
const CodeHeld = "blobs_held"

var errHeld = &fault.Error{Kind: fault.Unavailable, Code: CodeHeld, Message: "No file is removed while a backup is taken."}

// errHoldLost ends what [Hold] runs.
var errHoldLost = &fault.Error{Kind: fault.Unavailable, Op: "blobs.Hold",
	Message: "The store of blobs did not take what keeps files from being removed: files may have gone meanwhile."}

// Hold runs fn while no [Tie] of these blobs, in whatever process, removes any. Rows are gone before their blobs are:
// whatever the rows of a snapshot name that is taken in fn can be read until fn returns. The context of fn ends when the
// hold cannot be kept, and the error says so then.
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
	_ = b.Delete(undo, key) // what stays ends in its time
	return err
}

// keepHold renews a hold until ctx ends, and loses it when that has failed for too long.
func keepHold(ctx context.Context, b storage.Blobs, key string, lose context.CancelCauseFunc) {
	ticker := time.NewTicker(holdRenewed)
	defer ticker.Stop()
	wall := func() time.Time { return time.Now().Round(0) } // the other clock stands still while a machine sleeps
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

// isHeld reports whether somebody holds the blobs.
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

// ended reports a hold that nobody has renewed. One of the future is as wrong as one that is old.
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
