package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Visitor is shown the ids in a row, and may change them.
type Visitor struct {
	own func(noun string, id *int64)
	ref func(noun string, id *int64, loose bool)
}

// NewVisitor returns one that calls own for ids that rows have, and ref for those by which they refer to others; nil
// functions are skipped. 0 is no id.
func NewVisitor(own func(noun string, id *int64), ref func(noun string, id *int64, loose bool)) *Visitor {
	return &Visitor{own, ref}
}

// Own shows an id that the row has itself.
func (v *Visitor) Own(noun string, id *int64) {
	if v.own != nil {
		v.own(noun, id)
	}
}

// To shows a reference to a row that must have come before.
func (v *Visitor) To(noun string, id *int64) { v.refer(noun, id, false) }

// Loose shows a reference to what may be gone: it becomes 0 then.
func (v *Visitor) Loose(noun string, id *int64) { v.refer(noun, id, true) }

func (v *Visitor) refer(noun string, id *int64, loose bool) {
	if v.ref != nil && *id != 0 {
		v.ref(noun, id, loose)
	}
}

// Each is To for all of some ids.
func (v *Visitor) Each(noun string, ids []int64) {
	for i := range ids {
		v.To(noun, &ids[i])
	}
}

// LooseEach is Loose for all of some ids, of which those that are gone are left out.
func (v *Visitor) LooseEach(noun string, ids *[]int64) {
	*ids = slices.Clone(*ids)
	for i := range *ids {
		v.Loose(noun, &(*ids)[i])
	}
	*ids = slices.DeleteFunc(*ids, func(id int64) bool { return id == 0 })
}

// Rows declares how the rows of a noun travel. X is what they are written with.
type Rows[X storage.IDMap, T any] struct {
	Noun string
	// Walk shows all ids of a row. nil: there are none.
	Walk func(v *Visitor, t *T)
	// File is where a row has the key of its file. nil: it has none.
	File func(t *T) *string
	// Group is what all rows of one file have in common. nil: nothing.
	Group func(t *T) int64
	// Valid says what is wrong with a row, beside its ids; nil: nothing is.
	Valid func(t *T) error
	// Key is where the file of a row goes, from the name that it has in the archive.
	Key func(x X, t *T, name string) string
	// Arrive changes a row that arrives, before Insert and before Update. nil: it stays as it is.
	Arrive func(t *T)
	// Insert stores rows whose references are those of here, and sets their own ids.
	Insert func(ctx context.Context, x X, rows []*T) error
	// Update stores rows again after references within one file became known. nil: those are lost.
	Update func(ctx context.Context, x X, rows []*T) error
}

// Noun is [Rows] of whatever type.
type Noun[X storage.IDMap] interface {
	Name() string
	// Check looks for what is wrong with rows.
	Check(c *Chunk, seen *Seen) error
	// Files returns where the files of rows go, by the names that they have in the archive.
	Files(ctx context.Context, x X, c *Chunk) (map[string]string, error)
	// Take stores rows, and notes that it did: see [Taken].
	Take(ctx context.Context, x X, c *Chunk) error
	// Canonical are rows as they are in every archive of the same account: see [Canon].
	Canonical(c *Chunk, canon *Canon) ([]string, error)
	// Sample is a row with nothing in it, and shows its ids to a visitor.
	Sample() (row any, walk func(*Visitor))
}

// Name implements [Noun].
func (r *Rows[X, T]) Name() string { return r.Noun }

// Sample implements [Noun].
func (r *Rows[X, T]) Sample() (any, func(*Visitor)) {
	t := new(T)
	return t, func(v *Visitor) { r.walk(v, t) }
}

func (r *Rows[X, T]) walk(v *Visitor, t *T) {
	if r.Walk != nil {
		r.Walk(v, t)
	}
}

// Write writes rows.
func (r *Rows[X, T]) Write(ctx context.Context, w *Writer, rows []T) error {
	for i := range rows {
		var group int64
		if r.Group != nil {
			group = r.Group(&rows[i])
		}
		var key *string
		if r.File != nil {
			key = r.File(&rows[i])
		}
		if err := w.Row(ctx, r.Noun, group, &rows[i], key); err != nil {
			return err
		}
	}
	return nil
}

// read reads the rows of a file.
func (r *Rows[X, T]) read(c *Chunk) ([]*T, error) {
	rows := make([]*T, len(c.Lines))
	for n, line := range c.Lines {
		rows[n] = new(T)
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(rows[n]); err != nil {
			return nil, wrong(c, n, "cannot be read: "+err.Error())
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, wrong(c, n, "has more than one object")
		}
	}
	return rows, nil
}

// wrong is the fault of a row that cannot be taken.
func wrong(c *Chunk, line int, text string) error { return damaged("%s %s", c.At(line), text) }

// Check implements [Noun].
func (r *Rows[X, T]) Check(c *Chunk, seen *Seen) error {
	rows, err := r.read(c)
	if err != nil {
		return err
	}
	for n, t := range rows {
		if r.Valid != nil {
			if err := r.Valid(t); err != nil {
				return wrong(c, n, shownFault(err))
			}
		}
		if r.Group != nil && r.Group(t) != r.Group(rows[0]) {
			return wrong(c, n, "does not belong to those before it")
		}
		if r.File != nil {
			seen.file(c, n, *r.File(t))
		}
		r.walk(NewVisitor(func(noun string, id *int64) { seen.add(c, n, noun, *id) }, func(noun string, id *int64, loose bool) {
			if !loose {
				seen.need(c, n, noun, *id)
			}
		}), t)
		if seen.problem != nil {
			return seen.problem
		}
	}
	return nil
}

func shownFault(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Text() + " " + f.Fields.String()
	}
	return err.Error()
}

// resolved are the rows of a file with the references that they have here, and those whose references are to rows of the
// same file.
func (r *Rows[X, T]) resolved(ctx context.Context, x X, c *Chunk, within map[string]map[int64]int64) (rows []*T, late []int, err error) {
	if rows, err = r.read(c); err != nil {
		return nil, nil, err
	}
	asked := map[string][]int64{}
	own := map[string]map[int64]bool{}
	for _, t := range rows {
		r.walk(NewVisitor(func(noun string, id *int64) {
			if own[noun] == nil {
				own[noun] = map[int64]bool{}
			}
			own[noun][*id] = true
		}, func(noun string, id *int64, _ bool) { asked[noun] = append(asked[noun], *id) }), t)
	}
	known := map[string]map[int64]int64{}
	for noun, ids := range asked {
		known[noun] = map[int64]int64{}
		slices.Sort(ids)
		for some := range slices.Chunk(slices.Compact(ids), 500) {
			found, err := x.NewIDs(ctx, noun, some)
			if err != nil {
				return nil, nil, err
			}
			maps.Copy(known[noun], found)
		}
		maps.Copy(known[noun], within[noun])
	}
	for n, t := range rows {
		var problem error
		r.walk(NewVisitor(nil, func(noun string, id *int64, loose bool) {
			to, ok := known[noun][*id]
			switch {
			case ok:
			case !loose:
				problem = wrong(c, n, fmt.Sprintf("refers to the %s %d, which is not there", noun, *id))
			case own[noun][*id] && (len(late) == 0 || late[len(late)-1] != n):
				late = append(late, n)
			}
			*id = to
		}), t)
		if problem != nil {
			return nil, nil, problem
		}
	}
	return rows, late, nil
}

// Files implements [Noun].
func (r *Rows[X, T]) Files(ctx context.Context, x X, c *Chunk) (map[string]string, error) {
	if r.File == nil {
		return nil, nil //nolint:nilnil // these rows have no files
	}
	rows, _, err := r.resolved(ctx, x, c, nil)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, t := range rows {
		if name := *r.File(t); name != "" {
			files[name] = r.Key(x, t, name)
		}
	}
	return files, nil
}

// Take implements [Noun].
func (r *Rows[X, T]) Take(ctx context.Context, x X, c *Chunk) error {
	if err := mark(ctx, x, c); err != nil {
		return err
	}
	rows, late, err := r.resolved(ctx, x, c, nil)
	if err != nil {
		return err
	}
	old := r.ids(rows)
	if err := r.insert(ctx, x, rows); err != nil {
		return located(c, err)
	}
	within := map[string]map[int64]int64{}
	for noun, ids := range r.ids(rows) {
		if len(ids) != len(old[noun]) {
			return damaged("rows of %s are not those that were checked", c.Path)
		}
		within[noun] = map[int64]int64{}
		for i, id := range ids {
			within[noun][old[noun][i]] = id
		}
		if err := x.SaveNewIDs(ctx, noun, within[noun]); err != nil {
			return err
		}
	}
	if len(late) == 0 || r.Update == nil {
		return nil
	}
	again, _, err := r.resolved(ctx, x, c, within)
	if err != nil {
		return err
	}
	var some []*T
	for _, n := range late {
		was := rows[n]
		var ids []int64
		r.walk(NewVisitor(func(_ string, id *int64) { ids = append(ids, *id) }, nil), was)
		r.walk(NewVisitor(func(_ string, id *int64) { *id, ids = ids[0], ids[1:] }, nil), again[n])
		some = append(some, again[n])
	}
	r.arrive(x, some)
	return r.Update(ctx, x, some)
}

func (r *Rows[X, T]) insert(ctx context.Context, x X, rows []*T) error {
	r.arrive(x, rows)
	return r.Insert(ctx, x, rows)
}

// arrive makes rows those of here.
func (r *Rows[X, T]) arrive(x X, rows []*T) {
	for _, t := range rows {
		if r.Arrive != nil {
			r.Arrive(t)
		}
		if r.File != nil && *r.File(t) != "" {
			*r.File(t) = r.Key(x, t, *r.File(t))
		}
	}
}

// ids are the own ids of rows, by noun.
func (r *Rows[X, T]) ids(rows []*T) map[string][]int64 {
	all := map[string][]int64{}
	for _, t := range rows {
		r.walk(NewVisitor(func(noun string, id *int64) { all[noun] = append(all[noun], *id) }, nil), t)
	}
	return all
}

// located says in a fault of a store which rows it is about.
func located(c *Chunk, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Invalid && f.Kind != fault.NotFound && f.Kind != fault.Conflict || f.Code == CodeDamaged {
		return err
	}
	return damaged("rows of %s are refused: %s", c.Path, shownFault(err))
}

// chunks is the noun under which files of rows are noted that were taken.
const chunks = "chunk"

// Taken reports whether a file of rows was taken before.
func Taken(ctx context.Context, x storage.IDMap, c *Chunk) (bool, error) {
	found, err := x.NewIDs(ctx, chunks, []int64{c.Number})
	return len(found) > 0, err
}

// mark notes that a file of rows is taken. Who does so at the same time gets a Conflict fault.
func mark(ctx context.Context, x storage.IDMap, c *Chunk) error {
	err := x.SaveNewIDs(ctx, chunks, map[int64]int64{c.Number: 1})
	if fault.Is(err, fault.Conflict) {
		return &fault.Error{Kind: fault.Conflict, Code: CodeBusy, Message: "The archive is being imported by another process."}
	}
	return err
}

// Mark notes that something was done, under a number that no file of rows has; done says that it was before.
func Mark(ctx context.Context, x storage.IDMap, step int64) (done bool, err error) {
	c := &Chunk{Number: -step}
	if done, err = Taken(ctx, x, c); done || err != nil {
		return done, err
	}
	return false, mark(ctx, x, c)
}
