package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"github.com/helpwright/helpwright/storage/fault"
)

// Canon makes archives comparable: an id becomes the place of its row among those of its noun, and the name of a file its
// content. It is for tests, and has the whole archive in memory.
type Canon struct {
	ids map[string]map[int64]int64
	// Rows are the rows by noun, as JSON objects.
	Rows  map[string][]string
	files map[string]*string // content by name, of the rows that were read last
}

// canonical is a part that makes rows comparable.
type canonical interface {
	Takes(noun string) bool
	Canonical(c *Chunk, canon *Canon) ([]string, error)
}

// NewCanon reads an archive. The parts have a method Canonical.
func NewCanon(r *Reader, parts []Part) (*Canon, error) {
	canon := &Canon{ids: map[string]map[int64]int64{}, Rows: map[string][]string{}}
	files := map[string]string{}
	var all []*Chunk
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case e.Rows != nil:
			all = append(all, e.Rows)
		case e.Content == nil:
			files[e.Name] = "missing"
		default:
			sum := sha256.New()
			if _, err := io.Copy(sum, e.Content); err != nil {
				return nil, err
			}
			files[e.Name] = hex.EncodeToString(sum.Sum(nil))
		}
	}
	canon.files = map[string]*string{}
	for name, content := range files {
		canon.files[name] = &content
	}
	for _, c := range all {
		for _, p := range parts {
			of, ok := p.(canonical)
			if !ok || !of.Takes(c.Noun) {
				continue
			}
			rows, err := of.Canonical(c, canon)
			if err != nil {
				return nil, err
			}
			canon.Rows[c.Noun] = append(canon.Rows[c.Noun], rows...)
		}
	}
	return canon, nil
}

// Canonical implements [Noun].
func (r *Rows[X, T]) Canonical(c *Chunk, canon *Canon) ([]string, error) {
	rows, err := r.read(c)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, t := range rows {
		r.walk(NewVisitor(func(noun string, id *int64) {
			if canon.ids[noun] == nil {
				canon.ids[noun] = map[int64]int64{}
			}
			canon.ids[noun][*id] = int64(len(canon.ids[noun]) + 1)
		}, nil), t)
	}
	for _, t := range rows {
		to := func(noun string, id *int64) { *id = canon.ids[noun][*id] }
		r.walk(NewVisitor(to, func(noun string, id *int64, _ bool) { to(noun, id) }), t)
		if r.File != nil {
			if content := canon.files[*r.File(t)]; content != nil {
				*r.File(t) = *content
			}
		}
		text, err := json.Marshal(t)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "Rows.Canonical", err)
		}
		all = append(all, string(text))
	}
	return all, nil
}
