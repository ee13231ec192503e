package deskfolder

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// named is an item of a setup.
type named interface{ name() string }

// work is what reading and changing a desk needs.
type work struct {
	*names
	problems Problems
}

func newWork(ctx context.Context, desk *helpdesk.Desk) (*work, error) {
	n, err := newNames(ctx, desk)
	return &work{names: n}, err
}

// kind is one file of a folder, and what it has of the desk.
type kind[D named] struct {
	noun   string // as names have it; "": nothing refers to it
	title  string
	file   string
	in     func(*Setup) *[]D
	read   func(w *work) ([]held[D], error)
	save   func(w *work, id int64, d D) (int64, error) // id 0: create
	remove func(w *work, id int64) error
	order  func(w *work, ids []int64) error // nil: items have no order
}

// held is an item of the desk.
type held[D named] struct {
	id  int64
	doc D
}

// anyKind is a [kind] of any items.
type anyKind interface {
	path() string
	decode(data []byte, into *Setup) error
	encode(from *Setup) ([]byte, error)
	export(w *work, into *Setup) error
	apply(w *work, from *Setup, only map[string]bool) error
	delete(w *work, from *Setup, only map[string]bool) error
	diff(before, after *Setup) []Change
	widowed(before, after *Setup) Problems
}

// kinds lists all kinds: each before those that refer to it.
func kinds() []anyKind {
	return []anyKind{
		tagKind(), fieldKind(), calendarKind(), teamKind(), savedReplyKind(), viewKind(), autoReplyKind(), surveyKind(), slaKind(), ruleKind(),
	}
}

func (k kind[D]) path() string { return k.file }

// keyed returns the keys of items, by which those of the folder and of the desk are compared: the name ignoring case, and a number if
// it is not the first one of that name.
func keyed[D named](docs []D) []string {
	seen, keys := map[string]int{}, make([]string, len(docs))
	for i, d := range docs {
		key := plain.Key(d.name())
		if seen[key]++; seen[key] > 1 {
			key = fmt.Sprintf("%s\x00%d", key, seen[key])
		}
		keys[i] = key
	}
	return keys
}

func (k kind[D]) export(w *work, into *Setup) error {
	all, err := k.read(w)
	if err == nil {
		err = w.err
	}
	docs := []D{}
	for _, one := range all {
		docs = append(docs, one.doc)
	}
	*k.in(into) = docs
	return err
}

// apply creates and changes what differs, among those whose keys are given; nil: all.
func (k kind[D]) apply(w *work, from *Setup, only map[string]bool) error {
	wanted := *k.in(from)
	if wanted == nil {
		return nil
	}
	now, err := k.read(w)
	if err != nil {
		return err
	}
	docs := make([]D, len(now))
	for i, one := range now {
		docs[i] = one.doc
	}
	known := keyed(docs)
	var ids []int64
	for i, key := range keyed(wanted) {
		at := slices.Index(known, key)
		id := int64(0)
		if at >= 0 {
			id = now[at].id
		}
		differs := at < 0 || !reflect.DeepEqual(docs[at], wanted[i])
		if differs && (only == nil || only[k.file+"/"+key]) {
			saved, err := k.save(w, id, wanted[i])
			if err := w.refused(k, wanted[i].name(), err); err != nil {
				return err
			}
			if id = saved; k.noun != "" {
				w.noteSaved(k.noun, id, wanted[i].name())
			}
		}
		if id != 0 {
			ids = append(ids, id)
		}
	}
	if k.order == nil || len(w.problems) > 0 {
		return nil
	}
	return k.reorder(w, ids)
}

// reorder puts the items of the folder in its order, at the places that they have together. Others keep theirs.
func (k kind[D]) reorder(w *work, ids []int64) error {
	all, err := k.read(w)
	if err != nil {
		return err
	}
	var before, after []int64
	next := ids
	for _, one := range all {
		id := one.id
		before = append(before, id)
		if slices.Contains(ids, id) {
			id, next = next[0], next[1:]
		}
		after = append(after, id)
	}
	if slices.Equal(before, after) {
		return nil
	}
	return w.refused(k, "the order", k.order(w, after))
}

// delete deletes what the folder does not have, among what has one of the given keys; nil: all.
func (k kind[D]) delete(w *work, from *Setup, only map[string]bool) error {
	wanted := *k.in(from)
	if wanted == nil {
		return nil
	}
	now, err := k.read(w)
	if err != nil {
		return err
	}
	docs := make([]D, len(now))
	for i, one := range now {
		docs[i] = one.doc
	}
	keep := keyed(wanted)
	for i, key := range keyed(docs) {
		if slices.Contains(keep, key) || only != nil && !only[k.file+"/"+key] {
			continue
		}
		if err := w.refused(k, docs[i].name(), k.remove(w, now[i].id)); err != nil {
			return err
		}
	}
	return nil
}

// refused notes why the desk does not take an item, so that all such problems are told together. Other errors end the work.
func (w *work) refused(k anyKind, name string, err error) error {
	if err == nil {
		return nil
	}
	message := ""
	if e, ok := errors.AsType[*fault.Error](err); ok {
		switch e.Kind {
		case fault.Invalid, fault.Malformed, fault.NotFound, fault.Conflict, fault.Forbidden, fault.TooLarge:
			if message = e.Text(); len(e.Fields) > 0 {
				message = e.Fields.String()
			}
		case fault.Internal, fault.Unauthenticated, fault.Precondition, fault.Unsupported, fault.RateLimited, fault.Unavailable, fault.Disabled,
			fault.OutcomeUnknown:
			return err
		}
	} else if e, ok := errors.AsType[*unresolved](err); ok {
		message = e.Error()
	} else {
		return err
	}
	if message == "" {
		return nil // the item that it names has the problem
	}
	w.problems = append(w.problems, Problem{Path: k.path(), Name: name, Message: message})
	return nil
}

// diff returns how two states of a kind differ.
func (k kind[D]) diff(before, after *Setup) []Change {
	old, now := *k.in(before), *k.in(after)
	oldKeys, nowKeys := keyed(old), keyed(now)
	var all []Change
	for i, key := range nowKeys {
		c := Change{Kind: k.title, Name: now[i].name(), key: k.file + "/" + key}
		if at := slices.Index(oldKeys, key); at < 0 {
			c.Action = Created
		} else if c.Fields = differing(old[at], now[i]); len(c.Fields) > 0 {
			c.Action = Updated
		}
		if c.Action != "" {
			all = append(all, c)
		}
	}
	for i, key := range oldKeys {
		if !slices.Contains(nowKeys, key) {
			all = append(all, Change{Action: Deleted, Kind: k.title, Name: old[i].name(), key: k.file + "/" + key})
		}
	}
	kept := func(keys, others []string) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !slices.Contains(others, key) })
	}
	if k.order != nil && !slices.Equal(kept(oldKeys, nowKeys), kept(nowKeys, oldKeys)) {
		all = append(all, Change{Action: Ordered, Kind: k.title, key: k.file})
	}
	return all
}

// widowed returns the items that stay, and of which something is deleted that they name.
func (k kind[D]) widowed(before, after *Setup) Problems {
	old, now := *k.in(before), *k.in(after)
	oldKeys := keyed(old)
	var all Problems
	for i, key := range keyed(now) {
		if at := slices.Index(oldKeys, key); at >= 0 && losses(now[i]) > losses(old[at]) {
			all = append(all, Problem{Path: k.file, Name: now[i].name(), Message: "names something that would be deleted"})
		}
	}
	return all
}

// losses counts what an item names and no longer exists.
func losses[D any](d D) int {
	text, _ := yaml.Marshal(d) // items are plain values
	return strings.Count(string(text), lost)
}

// differing returns the names of the fields, as in the file, in which two items differ.
func differing[D any](a, b D) []string {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	var fields []string
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("yaml"), ",")
			fields = append(fields, name)
		}
	}
	return fields
}
