package bunstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	purgeShare = 4 // an index rests this many times longer than it took to remove its deleted words
)

// manyTexts is how many texts a transaction changes that merges as much as it adds: whoever changes so many often changes the next
// ones at once, faster than Run merges them. manyPages is enough for each text to be merged into segments of three sizes.
const (
	manyTexts = 100
	manyPages = 64
)

var fullTextIndexes = [...]string{"hw_customer_search", "hw_conversation_search"}

// keepMerged merges the segments of the full-text indexes until ctx ends, whenever something was written.
func (db *DB) keepMerged(ctx context.Context) {
	if db.postgres || db.snapshot {
		return
	}
	db.unmerged.Store(true) // an earlier process may have left some
	rest := map[string]time.Time{}
	for ; ctx.Err() == nil; _ = pause(ctx, mergeEvery) {
		db.purgeErased(ctx, rest)
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

// purgeErased removes deleted words from the indexes in which rows were deleted. FTS5's own option for that, secure-delete,
// makes each reply write every page that has a word of its conversation: 220 to 1,150 ms instead of 4 to 7 in an index of
// 20,000 conversations. Merging a whole index costs its size, so rest keeps the indexes from being merged all the time.
func (db *DB) purgeErased(ctx context.Context, rest map[string]time.Time) {
	var waiting []string
	if err := db.write.NewRaw("SELECT name FROM hw_search_purges ORDER BY name").Scan(ctx, &waiting); err != nil {
		return // the database is not migrated yet, or busy
	}
	for _, index := range waiting {
		began := time.Now()
		if began.Before(rest[index]) || !slices.Contains(fullTextIndexes[:], index) {
			continue
		}
		err := db.purge(ctx, index)
		rest[index] = time.Now().Add(purgeShare * time.Since(began))
		if err != nil && ctx.Err() == nil {
			db.cfg.Logger.WarnContext(ctx, "removing erased words from a full-text index failed; it is tried again", "index", index, "error", err)
		}
	}
}

// purge merges all segments of an index into one, which has no deleted words, and empties the write-ahead log, which has the
// pages as they were. An index stays marked until that is done.
func (db *DB) purge(ctx context.Context, index string) error {
	err := db.onWriter(ctx,
		"UPDATE hw_search_purges SET begun = 1 WHERE name = '"+index+"'",
		"INSERT INTO "+index+" ("+index+", rank) VALUES ('merge', -16)",   // negative: all segments, whatever their number
		"INSERT INTO "+index+" ("+index+", rank) VALUES ('usermerge', 2)") // else a merge of two or three segments stops here
	if err != nil {
		return err
	}
	if err := db.mergeSegments(ctx, index); err != nil {
		return err
	}
	var patience int64 // milliseconds, as whoever opened the database chose
	if err := db.write.NewRaw("PRAGMA busy_timeout").Scan(ctx, &patience); err != nil {
		return err
	}
	return db.onWriter(ctx,
		"INSERT INTO "+index+" ("+index+", rank) VALUES ('usermerge', 4)", // the default
		"DELETE FROM hw_search_purges WHERE name = '"+index+"' AND begun = 1",
		"PRAGMA busy_timeout = 100", // a long reader keeps the log; writers do not wait for it
		"PRAGMA wal_checkpoint(TRUNCATE)",
		fmt.Sprintf("PRAGMA busy_timeout = %d", patience))
}

// onWriter executes statements on the connection that writes.
func (db *DB) onWriter(ctx context.Context, statements ...string) error {
	conn, err := db.write.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var all []error
	for _, s := range statements {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), s); err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
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
