package transfer

import (
	"context"
	"errors"
	"io"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Part takes the rows of some nouns into a store.
type Part interface {
	// Takes reports whether the part takes the rows of a noun.
	Takes(noun string) bool
	// Check looks for what is wrong with rows, and changes nothing.
	Check(c *Chunk, seen *Seen) error
	// Files returns where the files go that rows name, by their names in the archive; done says that the rows were taken
	// before.
	Files(ctx context.Context, c *Chunk) (files map[string]string, done bool, err error)
	// Take takes rows in one transaction. Their files are there.
	Take(ctx context.Context, c *Chunk) error
}

// Progress is how far a [Check] or an [Apply] is.
type Progress struct {
	Rows, Files, Bytes int64
	Known              int64 // rows that were taken before
}

// Check reads an archive to its end and finds out whether it could be imported: it is whole and unchanged, nothing in it is
// unknown, and all that its rows refer to is there. Memory grows by about a bit for each row.
func Check(ctx context.Context, r *Reader, parts []Part, tell func(Progress)) (Progress, error) {
	seen := newSeen()
	var p Progress
	for {
		e, err := next(ctx, r)
		if errors.Is(err, io.EOF) {
			err = noFiles(seen)
			return p, err
		}
		if err != nil {
			return p, err
		}
		p.Bytes = r.end.Bytes
		if e.Rows == nil {
			if len(seen.files) == 0 || seen.files[0] != e.Name {
				return p, damaged("no row names %s", e.Path)
			}
			seen.files = seen.files[1:]
			p.Files++
			continue
		}
		if err := noFiles(seen); err != nil {
			return p, err
		}
		part, err := partOf(parts, e.Rows)
		if err != nil {
			return p, err
		}
		if err := part.Check(e.Rows, seen); err != nil {
			return p, err
		}
		p.Rows += int64(len(e.Rows.Lines))
		tell(p)
	}
}

func noFiles(seen *Seen) error {
	if len(seen.files) > 0 {
		return damaged("it lacks the file %s", seen.files[0])
	}
	return nil
}

func next(ctx context.Context, r *Reader) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	return r.Next()
}

func partOf(parts []Part, c *Chunk) (Part, error) {
	for _, p := range parts {
		if p.Takes(c.Noun) {
			return p, nil
		}
	}
	f := fault.Newf(fault.Unsupported, "%s has rows of %q, which this program does not know.", c.Path, c.Noun)
	return nil, f
}

// Apply takes an archive, which [Check] has found good. It may be ended at any moment, and goes on where it was when it is
// called again.
func Apply(ctx context.Context, r *Reader, parts []Part, blobs storage.Blobs, tell func(Progress)) (Progress, error) {
	a := &applying{ctx: ctx, blobs: blobs}
	for {
		e, err := next(ctx, r)
		if err != nil && !errors.Is(err, io.EOF) {
			return a.p, err
		}
		a.p.Bytes = r.end.Bytes
		if err == nil && e.Rows == nil {
			if err := a.file(e); err != nil {
				return a.p, err
			}
			continue
		}
		if err := a.applyWaiting(); err != nil {
			return a.p, err
		}
		tell(a.p)
		if err != nil {
			return a.p, nil //nolint:nilerr // it is the end
		}
		if err := a.openTargets(parts, e.Rows); err != nil {
			return a.p, err
		}
	}
}

type applying struct {
	ctx   context.Context //nolint:containedctx // lives as long as one call
	blobs storage.Blobs
	p     Progress
	rows  *Chunk // to be taken when their files are there
	part  Part
	files map[string]string
}

// openTargets finds out where the files of rows go, which follow.
func (a *applying) openTargets(parts []Part, c *Chunk) (err error) {
	if a.part, err = partOf(parts, c); err != nil {
		return err
	}
	files, done, err := a.part.Files(a.ctx, c)
	if err != nil {
		return err
	}
	a.p.Rows += int64(len(c.Lines))
	if done {
		a.p.Known += int64(len(c.Lines))
		a.rows, a.files = nil, nil
		return nil
	}
	a.rows, a.files = c, files
	return nil
}

func (a *applying) file(e Entry) error {
	a.p.Files++
	key, wanted := a.files[e.Name]
	if !wanted || e.Content == nil {
		return nil
	}
	n, err := a.blobs.Put(a.ctx, key, e.Content)
	if err == nil && n != e.Size {
		err = damaged("%s is cut short", e.Path)
	}
	return err
}

// applyWaiting takes the rows that are waiting.
func (a *applying) applyWaiting() error {
	if a.rows == nil {
		return nil
	}
	c := a.rows
	a.rows = nil
	return a.part.Take(a.ctx, c)
}
