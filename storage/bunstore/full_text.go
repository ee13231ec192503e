package bunstore

import (
	"context"
	"time"
)

// SQLite's full-text indexes consist of segments. Each write adds one, and a search reads all of them, so they have to be
// merged. FTS5 would do so in some of the writes, which then take hundreds of times longer than others when an index is
// large. Migration 0136 turns that off, and Run merges in steps that are short enough for writers to wait for.
const (
	mergeEvery = 2 * time.Second
	mergePages = 16 // written in one step, a few milliseconds
	mergeShare = 4  // pauses are this many times longer than steps, so that others have most of the writer's time
	mergePause = 10 * time.Millisecond
)

// manyTexts is how many texts a transaction changes that merges as much as it adds: whoever changes so many often changes the next
// ones at once, faster than Run merges them. manyPages is enough for each text to be merged into segments of three sizes.
const (
	manyTexts = 100
	manyPages = 64
)

var fullTextIndexes = [...]string{"hw_customer_search", "hw_conversation_search", "hw_article_terms"}

// keepMerged merges the segments of the full-text indexes until ctx ends, whenever something was written.
func (db *DB) keepMerged(ctx context.Context) {
	if db.postgres || db.snapshot {
		return
	}
	db.unmerged.Store(true) // an earlier process may have left some
	for ; ctx.Err() == nil; _ = pause(ctx, mergeEvery) {
		if !db.unmerged.Swap(false) {
			continue
		}
		for _, index := range fullTextIndexes {
			if err := db.mergeSegments(ctx, index); err != nil && ctx.Err() == nil {
				db.unmerged.Store(true)
				db.cfg.Logger.DebugContext(ctx, "merging a full-text index failed", "index", index, "error", err)
			}
		}
	}
}

// mergeSegments merges the segments of one index, as far as it pays off.
func (db *DB) mergeSegments(ctx context.Context, index string) error {
	for {
		began := time.Now()
		more, err := db.mergeStep(ctx, index)
		if err != nil || !more {
			return err
		}
		if err := pause(ctx, max(mergePause, mergeShare*time.Since(began))); err != nil {
			return err
		}
	}
}

// mergeStep merges a few pages, and reports whether there was anything to merge: FTS5 counts each row it writes as a change,
// besides the command itself.
func (db *DB) mergeStep(ctx context.Context, index string) (more bool, err error) {
	conn, err := db.write.DB.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	var before, after int64
	if err := conn.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
		return false, err
	}
	if _, err := conn.ExecContext(ctx, "INSERT INTO "+index+" ("+index+", rank) VALUES ('merge', ?)", mergePages); err != nil {
		return false, err
	}
	err = conn.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after)
	return after-before >= 2, err
}

// mergeSome merges in the transaction, a few pages; on PostgreSQL it does nothing.
func (s *querier) mergeSome(ctx context.Context, index string) error {
	if s.store.postgres {
		return nil
	}
	_, err := s.conn().ExecContext(ctx, "INSERT INTO "+index+" ("+index+", rank) VALUES ('merge', ?)", manyPages)
	return err
}
