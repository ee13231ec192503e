package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// mostShelved limits the tags that a DB remembers.
const mostShelved = 4096

// versionedTag is a tag with the version of its row. Every change of the row gives it another, random version, so a tag may be
// remembered for ever, whoever changes it and whatever is rolled back.
type versionedTag struct {
	version int64
	tag     helpdesk.Tag
}

// tag returns a remembered tag.
func (m *remembered) tag(id, version int64) (helpdesk.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there, ok := m.shelf[id]
	return there.tag, ok && there.version == version
}

// shelve remembers tags.
func (m *remembered) shelve(tags map[int64]versionedTag) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, tag := range tags {
		if m.shelf == nil || len(m.shelf) >= mostShelved {
			m.shelf = map[int64]versionedTag{}
		}
		m.shelf[id] = tag
	}
}

// tagShelf finds the tags of which a statement has read ids and versions.
type tagShelf struct {
	remembered *remembered // nil: in a transaction or a snapshot
	absent     []int64     // ids of those to read
}

// tagsOf returns the tags of a list of ids and versions. Those that are not remembered have only their id, and are absent.
func (s *tagShelf) tagsOf(list string) (tags []helpdesk.Tag) {
	next := func() (n int64) {
		var number string
		number, list, _ = strings.Cut(list, "x")
		n, _ = strconv.ParseInt(number, 10, 64) // the database wrote it
		return n
	}
	for list != "" {
		id, version := next(), next()
		tag, known := helpdesk.Tag{}, false
		if s.remembered != nil {
			tag, known = s.remembered.tag(id, version)
		}
		if !known {
			tag = helpdesk.Tag{ID: id}
			s.absent = append(s.absent, id)
		}
		tags = append(tags, tag)
	}
	slices.SortFunc(tags, func(a, b helpdesk.Tag) int { return cmp.Compare(a.ID, b.ID) })
	return tags
}

// fill reads the tags that are absent from marks, and drops those that are deleted meanwhile.
func (s *tagShelf) fill(ctx context.Context, r reader, marks []helpdesk.Marks) error {
	if len(s.absent) == 0 {
		return nil
	}
	slices.Sort(s.absent)
	s.absent = slices.Compact(s.absent)
	read, err := r.versionedTags(ctx, s.absent)
	if err != nil {
		return err
	}
	for i := range marks {
		tags := marks[i].Tags
		for n := range tags {
			if tag, ok := read[tags[n].ID]; ok {
				tags[n] = tag.tag
			}
		}
		marks[i].Tags = slices.DeleteFunc(tags, func(t helpdesk.Tag) bool {
			_, found := read[t.ID]
			return !found && slices.Contains(s.absent, t.ID)
		})
	}
	if s.remembered != nil {
		s.remembered.shelve(read)
	}
	return nil
}

// versionedTags returns tags by id.
func (r reader) versionedTags(ctx context.Context, ids []int64) (map[int64]versionedTag, error) {
	var row tagRow
	var version int64
	found := make(map[int64]versionedTag, len(ids))
	err := r.rows(ctx, func(rows *sql.Rows) error {
		err := rows.Scan(&row.ID, &version, &row.Name, &row.NameKey, &row.Color, &row.CreatedAt, &row.UpdatedAt)
		found[row.ID] = versionedTag{version, row.tag()}
		return err
	}, "SELECT id, version, name, name_key, color, created_at, updated_at FROM hw_tags WHERE account_id = ? AND id IN (?)",
		r.scope.AccountID, bun.List(ids))
	return found, failure(ctx, err, "tag", 0)
}
