package blobs

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// copyingMark is the prefix of the mark of incomplete copies. No database has such a mark.
const copyingMark = "copying-"

// copyAtOnce is the default for how many blobs are copied at a time.
const copyAtOnce = 8

// CopyConfig says what to copy. From and To are required.
type CopyConfig struct {
	From, To storage.Blobs // without a Tie
	// Since skips blobs stored before it; zero: copies all. It is a Conflict fault when To has never had a complete copy.
	Since    time.Time
	AtOnce   int          // default 8; each may hold a part of a file in memory, see the stores
	Progress func(Copied) // called after each blob, one call at a time; nil: no reports
}

// Copied is the result of a copy.
type Copied struct {
	Looked int   // blobs examined
	There  int   // of those, already present or stored before Since
	Copied int   // copied now
	Gone   int   // deleted before their turn
	Bytes  int64 // of the copied blobs
}

// Copy copies the blobs of a database to another store while servers may use From. Another Copy copies blobs that are stored
// meanwhile; it skips blobs that are present in the right size. After an error or a crash run it again.
//
// Until a Copy completes, To has a mark that every [Tie] refuses; then it gets the mark of From. Blobs deleted from From
// later stay in To, where a [Sweep] finds them. A From without a mark, and a To that has blobs or the mark of another
// database, are Conflict faults.
func Copy(ctx context.Context, cfg CopyConfig) (Copied, error) {
	var problems fault.Collector
	problems.Check(cfg.From != nil, "From", "is required")
	problems.Check(cfg.To != nil, "To", "is required")
	if err := problems.Err(); err != nil {
		return Copied{}, err
	}
	if cfg.AtOnce <= 0 {
		cfg.AtOnce = copyAtOnce
	}
	c := &copying{CopyConfig: cfg}
	mark, whole, err := c.prepareTarget(ctx)
	if err != nil {
		return Copied{}, err
	}
	err = storage.WalkBlobs(ctx, cfg.From, Prefix, func(found []storage.BlobInfo) error { return c.batch(ctx, found) })
	if err == nil && !whole {
		_, err = cfg.To.Put(ctx, MarkKey, strings.NewReader(mark+"\n"))
	}
	return c.done, err
}

type copying struct {
	CopyConfig
	mu   sync.Mutex
	done Copied
}

// prepareTarget checks that From may be copied to To, and marks To as incomplete.
func (c *copying) prepareTarget(ctx context.Context) (mark string, whole bool, err error) {
	if mark, err = markOf(ctx, c.From); err != nil {
		return "", false, err
	}
	if mark == "" || strings.HasPrefix(mark, copyingMark) {
		return "", false, fault.New(fault.Conflict, "The source is not a server's blob store: it has no database mark.")
	}
	there, err := markOf(ctx, c.To)
	if err != nil {
		return "", false, err
	}
	switch there {
	case mark:
		return mark, true, nil
	case copyingMark + mark, "":
	default:
		return "", false, fault.New(fault.Conflict, "The files cannot be copied there: the target belongs to another database.")
	}
	if !c.Since.IsZero() {
		return "", false, fault.New(fault.Conflict, "The target never received a complete copy. Copy all files first.")
	}
	if there != "" {
		return mark, false, nil
	}
	found, err := c.To.List(ctx, Prefix, "", 1)
	if err == nil && len(found) > 0 {
		err = fault.New(fault.Conflict, "The files cannot be copied there: the target contains files of unknown origin.")
	}
	if err == nil {
		_, err = c.To.Put(ctx, MarkKey, strings.NewReader(copyingMark+mark+"\n"))
	}
	return mark, false, err
}

// batch copies some blobs, several at a time.
func (c *copying) batch(ctx context.Context, found []storage.BlobInfo) error {
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(c.AtOnce)
	for _, info := range found {
		if each.Err() != nil {
			break
		}
		group.Go(func() error { return c.one(each, info) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// one copies a missing blob.
func (c *copying) one(ctx context.Context, info storage.BlobInfo) error {
	if info.Modified.Before(c.Since) {
		c.note(Copied{There: 1})
		return nil
	}
	there, err := c.To.Stat(ctx, info.Key)
	switch {
	case err == nil && there.Size == info.Size:
		c.note(Copied{There: 1})
		return nil
	case err != nil && !fault.Is(err, fault.NotFound):
		return err
	}
	r, err := c.From.Get(ctx, info.Key)
	if fault.Is(err, fault.NotFound) {
		c.note(Copied{Gone: 1})
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := c.To.Put(ctx, info.Key, r)
	if err == nil && n != info.Size {
		err = fault.Newf(fault.Unavailable, "%s changed while it was being copied. Try again.", info.Key)
	}
	if err != nil {
		return err
	}
	c.note(Copied{Copied: 1, Bytes: n})
	return nil
}

func (c *copying) note(one Copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done.Looked++
	c.done.There += one.There
	c.done.Copied += one.Copied
	c.done.Gone += one.Gone
	c.done.Bytes += one.Bytes
	if c.Progress != nil {
		c.Progress(c.done)
	}
}
