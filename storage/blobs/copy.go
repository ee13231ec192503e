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

// copyingMark begins the mark of blobs that are not all there yet. It is no database's.
const copyingMark = "copying-"

// copyAtOnce is how many blobs are copied at a time where nothing else is said.
const copyAtOnce = 8

// CopyConfig says what is copied. From and To are required.
type CopyConfig struct {
	From, To storage.Blobs // without a Tie
	// Since leaves out blobs that were stored before; zero: none. Where To has never had all of them it is a Conflict fault.
	Since    time.Time
	AtOnce   int          // default 8; each may have a part of a file in memory, see the stores
	Progress func(Copied) // is told after each blob, one call at a time; nil: nobody
}

// Copied is what a copy has done.
type Copied struct {
	Looked int   // blobs that were looked at
	There  int   // of those, the ones that were there already, or stored before Since
	Copied int   // that are there now
	Gone   int   // that were removed before their turn
	Bytes  int64 // of those copied
}

// Copy copies the blobs of a database to another store, while servers may use From: what is stored there behind its back is
// copied by another Copy, which passes over what is there in the right size. After an error or a crash it is done again.
//
// To belongs to nobody until a Copy came to its end: it has a mark by which every [Tie] refuses it. Then it has the mark of
// From. Blobs that are removed from From later stay in To, where a [Sweep] finds them. A From without a mark, and a To that
// has blobs or the mark of another database, are Conflict faults.
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
	mark, whole, err := c.begin(ctx)
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

// begin sees whether From may be copied to To, and has To refused until it is whole.
func (c *copying) begin(ctx context.Context) (mark string, whole bool, err error) {
	if mark, err = markOf(ctx, c.From); err != nil {
		return "", false, err
	}
	if mark == "" || strings.HasPrefix(mark, copyingMark) {
		return "", false, fault.New(fault.Conflict, "What is to be copied is not the store of files of a server: it has no mark of a database.")
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
		return "", false, fault.New(fault.Conflict, "The files cannot be copied there: that store belongs to another database.")
	}
	if !c.Since.IsZero() {
		return "", false, fault.New(fault.Conflict, "The files were never copied there as a whole: copy all of them first.")
	}
	if there != "" {
		return mark, false, nil
	}
	found, err := c.To.List(ctx, Prefix, "", 1)
	if err == nil && len(found) > 0 {
		err = fault.New(fault.Conflict, "The files cannot be copied there: that store has files that belong to nobody known.")
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

// one copies a blob that is not there.
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
		err = fault.Newf(fault.Unavailable, "%s has changed while it was copied: try again.", info.Key)
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
