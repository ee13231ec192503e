package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ordered is a noun with few rows in an account, which have an order that people choose, such as rules. Whoever writes positions
// has locked the account.
type ordered[T any] struct {
	storage.Declared[T, storage.NoFilter]
	position func(*T) *int64 // from 1, without ties
}

// all returns the rows of an account by position.
func (o ordered[T]) all(ctx context.Context, r Reader) ([]T, error) {
	all, err := o.Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(*o.position(&a), *o.position(&b)) })
	return all, err
}

// page returns a page of the rows by position.
func (o ordered[T]) page(ctx context.Context, r Reader, req storage.PageRequest) (storage.Page[T], error) {
	all, err := o.all(ctx, r)
	if err != nil {
		return storage.Page[T]{}, err
	}
	place := func(t T) storage.Position { return storage.Position{Key: *o.position(&t), ID: *o.ID(&t)} }
	return storage.List(req, false, place, func(seek storage.Seek) ([]T, error) {
		some := slices.DeleteFunc(slices.Clone(all), func(t T) bool {
			if seek.From == nil {
				return false
			}
			at := cmp.Or(cmp.Compare(place(t).Key, seek.From.Key), cmp.Compare(place(t).ID, seek.From.ID))
			return seek.Desc && at >= 0 || !seek.Desc && at <= 0
		})
		if seek.Desc {
			slices.Reverse(some)
		}
		return some[:min(len(some), seek.Limit)], nil
	})
}

// end returns the position behind all rows.
func (o ordered[T]) end(all []T) int64 {
	if len(all) == 0 {
		return 1
	}
	return *o.position(&all[len(all)-1]) + 1
}

// put gives a stored row a place among the others, unless at is absent, and returns all rows by position.
func (o ordered[T]) put(ctx context.Context, tx Tx, others []T, row *T, at storage.Opt[int64]) ([]T, error) {
	same := func(t T) bool { return *o.ID(&t) == *o.ID(row) }
	all := slices.DeleteFunc(slices.Clone(others), same)
	position, given := at.Get()
	if !given {
		all = append(all, *row)
		slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(*o.position(&a), *o.position(&b)) })
		return all, nil
	}
	all = slices.Insert(all, int(min(position-1, int64(len(all)))), *row)
	err := o.number(ctx, tx, all)
	*o.position(row) = *o.position(&all[slices.IndexFunc(all, same)])
	return all, err
}

// number writes the positions of rows in their order.
func (o ordered[T]) number(ctx context.Context, tx Tx, all []T) error {
	var moved []*T
	for i := range all {
		if p := o.position(&all[i]); *p != int64(i+1) {
			*p = int64(i + 1)
			moved = append(moved, &all[i])
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return o.Rows(tx).Update(ctx, moved...)
}

// reorder puts all rows into the order of ids, which has each of them once; otherwise it is an Invalid fault on ids. It returns
// them as they were before and as they are now.
func (o ordered[T]) reorder(ctx context.Context, tx Tx, ids []int64) (before, after []T, err error) {
	all, err := o.all(ctx, tx.Reader())
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(t T) bool { return *o.ID(&t) == id })
		if i < 0 {
			return nil, nil, fault.Missing(o.Name, id)
		}
		after = append(after, all[i])
	}
	if len(sortedSet(ids)) != len(all) || len(ids) != len(all) {
		return nil, nil, fault.Field("ids", fmt.Sprintf("must have each %s once", o.Name))
	}
	before = slices.Clone(after)
	return before, after, o.number(ctx, tx, after)
}
