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

// mostTagsKept limits the tags that a DB remembers.
const mostTagsKept = 4096

// tagKey identifies a tag. The account keeps one account from seeing the tags of another, even if somebody has given both the
// same id.
type tagKey struct{ account, id int64 }

// versionedTag is a tag with the version of its row. A trigger gives the row a new random version with every change, so a
// remembered tag is current as long as the versions are equal, whoever changes tags and whatever is rolled back.
type versionedTag struct {
	version int64
	tag     helpdesk.Tag
}

// tag returns a tag if it is remembered in this version.
func (m *remembered) tag(key tagKey, version int64) (helpdesk.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there, ok := m.tags[key]
	return there.tag, ok && there.version == version
}

// keepTags remembers tags of an account.
func (m *remembered) keepTags(account int64, tags map[int64]versionedTag) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, tag := range tags {
		if m.tags == nil || len(m.tags) >= mostTagsKept {
			m.tags = map[tagKey]versionedTag{}
		}
		m.tags[tagKey{account, id}] = tag
	}
}

// tagNames completes the tags of which a statement has read ids and versions.
type tagNames struct {
	account    int64
	remembered *remembered // nil: in a transaction or a snapshot
	absent     []int64     // ids of the tags to read
}

// tagsOf returns the tags of a list of ids and versions. Those that are not remembered have only an id until fill reads them.
func (s *tagNames) tagsOf(list string) (tags []helpdesk.Tag) {
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
			tag, known = s.remembered.tag(tagKey{s.account, id}, version)
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

// fill reads the absent tags, completes them in marks, and drops those that were deleted meanwhile.
func (s *tagNames) fill(ctx context.Context, r reader, marks []helpdesk.Marks) error {
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
		s.remembered.keepTags(s.account, read)
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
