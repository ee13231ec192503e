package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

const aPage = "/conversations?limit=25"

// lists reads pages of lists, eight at once: all conversations, and filtered ones.
func lists(ctx context.Context, w *world) ([]time.Duration, error) {
	var all []time.Duration
	for _, filter := range []string{
		"", "&status[]=closed", fmt.Sprintf("&user_id=%d", w.at.members[3]), fmt.Sprintf("&tag_id[]=%d", w.at.tags[1]), fmt.Sprintf("&view_id=%d", w.at.view),
	} {
		spent, err := atOnce(ctx, w.cfg.Time, 8, func(int) error { return w.api(ctx, aPage+filter) })
		if err != nil {
			return nil, err
		}
		all = append(all, quantile(spent, 0.5))
	}
	return all, nil
}

// searches reads the first page of a search, one after the other. The rare word differs each time.
func searches(ctx context.Context, w *world) ([]time.Duration, error) {
	return searching(ctx, w.cfg, w.lots, []string{"nothing", "lot%d", "printer", "printer+paper"}, func(query string) error { return w.api(ctx, aPage+"&query="+query) })
}

// searching searches for words, in which %d is a different number each time, below lots.
func searching(ctx context.Context, cfg Config, lots int, words []string, find func(query string) error) ([]time.Duration, error) {
	var all []time.Duration
	for _, word := range words {
		spent, err := atOnce(ctx, cfg.Time, 1, func(n int) error {
			query := word
			if strings.Contains(word, "%d") {
				query = fmt.Sprintf(word, firstLot+1+n%max(1, lots-1))
			}
			return find(query)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, quantile(spent, 0.99))
	}
	return all, nil
}

// list reads pages of 25.
func list(ctx context.Context, w *world) ([]time.Duration, error) {
	return median(ctx, w.cfg.Time, wall(), func(int) error { return w.api(ctx, aPage) })
}

// some returns the ids of conversations of the measured account, evenly spread.
func (w *world) some(ctx context.Context, n int) (ids []int64, err error) {
	var first, last int64
	err = w.plain.QueryRowContext(ctx, "SELECT min(number), max(number) FROM hw_conversations WHERE account_id = $1", w.at.id).Scan(&first, &last)
	step := max(1, (last-first)/int64(n))
	for number := first; number <= last && err == nil && len(ids) < n; number += step {
		var id int64
		err = w.plain.QueryRowContext(ctx, "SELECT id FROM hw_conversations WHERE account_id = $1 AND number = $2", w.at.id, number).Scan(&id)
		ids = append(ids, id)
	}
	return ids, err
}

// conversation reads one at a time.
func conversation(ctx context.Context, w *world) ([]time.Duration, error) {
	ids, err := w.some(ctx, 1000)
	if err != nil {
		return nil, err
	}
	return median(ctx, w.cfg.Time, wall(), func(n int) error { return w.api(ctx, fmt.Sprintf("/conversations/%d", ids[n%len(ids)])) })
}

// bulk assigns a hundred conversations at once.
func bulk(ctx context.Context, w *world) ([]time.Duration, error) {
	ids, err := w.some(ctx, 100)
	if err != nil {
		return nil, err
	}
	return median(ctx, w.cfg.Time, wall(), func(n int) error {
		_, err := w.at.desk.Conversations().UpdateAll(ctx, ids, helpdesk.BulkUpdate{UserID: storage.Some(w.at.members[n%len(w.at.members)])})
		return err
	})
}
