package deskfolder

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// ChangeAction is what happens to an item.
type ChangeAction string

// What happens to items.
const (
	Created ChangeAction = "create"
	Updated ChangeAction = "change"
	Deleted ChangeAction = "delete"
	Ordered ChangeAction = "order" // items of a kind come in another order
)

// Change is what a folder changes.
type Change struct {
	Action ChangeAction
	Kind   string   // such as "rule"
	Name   string   // of the item; "" for Ordered
	Fields []string // that change, named as in the file

	key string
}

// String returns the change in words: change rule "VIP" (actions, events).
func (c Change) String() string {
	text := string(c.Action) + " " + c.Kind
	if c.Name == "" {
		return text + "s"
	}
	text += ` "` + c.Name + `"`
	if len(c.Fields) > 0 {
		text += " (" + strings.Join(c.Fields, ", ") + ")"
	}
	return text
}

// Options are how a folder is applied.
type Options struct {
	Delete bool // deletes what the folder does not have, of the kinds that it has a file of
}

// Export reads how a desk is set up. It needs the view permissions of all kinds, and sees what the member sees: of views and
// saved replies only those that are shared.
func Export(ctx context.Context, desk *helpdesk.Desk) (Setup, error) {
	var s Setup
	w, err := newWork(ctx, desk)
	if err != nil {
		return s, err
	}
	for _, k := range kinds() {
		if err := k.export(w, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// errTrial rolls back.
var errTrial = errors.New("deskfolder: only tried")

// Plan returns what [Apply] would change, and changes nothing: it applies the setup in a transaction of units, the store of
// the desk, and rolls it back. Errors are those of Apply.
func Plan(ctx context.Context, units storage.Units, desk *helpdesk.Desk, s Setup, o Options) ([]Change, error) {
	changes, _, err := try(ctx, units, desk, s, o)
	return changes, err
}

// try applies a setup, rolls it back, and returns the changes and the desk as it would be.
func try(ctx context.Context, units storage.Units, desk *helpdesk.Desk, s Setup, o Options) ([]Change, Setup, error) {
	var changes []Change
	var after Setup
	err := storage.Together(ctx, units, nil, func(ctx context.Context) error {
		before, err := Export(ctx, desk)
		if err != nil {
			return err
		}
		if err := change(ctx, desk, s, o, nil); err != nil {
			return err
		}
		if after, err = Export(ctx, desk); err != nil {
			return err
		}
		var problems Problems
		for _, k := range kinds() {
			changes = append(changes, k.diff(&before, &after)...)
			problems = append(problems, k.widowed(&before, &after)...)
		}
		if len(problems) > 0 {
			return problems
		}
		return errTrial
	})
	if !errors.Is(err, errTrial) {
		return nil, after, err
	}
	return changes, after, nil
}

// Apply sets up a desk as the setup says, in one transaction of units, the store of the desk, and returns what it changed. Items
// are found by their names: one with another name is another one. Rules act with the rights of the desk's member from then on. It
// needs the permissions of the changes. What the desk refuses, names that nothing has, and deleting what something names that stays,
// are [Problems], all of them, and nothing is changed then.
func Apply(ctx context.Context, units storage.Units, desk *helpdesk.Desk, s Setup, o Options) ([]Change, error) {
	changes, after, err := try(ctx, units, desk, s, o)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	only := map[string]bool{}
	for _, c := range changes {
		only[c.key] = true
	}
	return changes, storage.Together(ctx, units, nil, func(ctx context.Context) error { return change(ctx, desk, after, o, only) })
}

// change applies a setup within a transaction.
func change(ctx context.Context, desk *helpdesk.Desk, s Setup, o Options, only map[string]bool) error {
	w, err := newWork(ctx, desk)
	if err != nil {
		return err
	}
	all := kinds()
	for _, k := range all {
		if err := k.apply(w, &s, only); err != nil {
			return err
		}
	}
	if o.Delete && len(w.problems) == 0 {
		for _, k := range slices.Backward(all) {
			if err := k.delete(w, &s, only); err != nil {
				return err
			}
		}
	}
	if len(w.problems) > 0 {
		return w.problems
	}
	return w.err
}
