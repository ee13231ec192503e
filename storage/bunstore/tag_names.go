package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// tagsOf returns the tags of a list of ids, which have nothing but their ids until nameTags reads them.
func tagsOf(list string) (tags []helpdesk.Tag) {
	for number := range strings.FieldsSeq(list) {
		id, _ := strconv.ParseInt(number, 10, 64) // the database wrote it
		tags = append(tags, helpdesk.Tag{ID: id})
	}
	slices.SortFunc(tags, func(a, b helpdesk.Tag) int { return cmp.Compare(a.ID, b.ID) })
	return tags
}

// nameTags reads the tags of marks, all with one statement, and drops those that were deleted meanwhile.
func (r reader) nameTags(ctx context.Context, marks []helpdesk.Marks) error {
	found := map[int64]helpdesk.Tag{}
	for _, m := range marks {
		for _, tag := range m.Tags {
			found[tag.ID] = tag
		}
	}
	if len(found) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(found))
	clear(found)
	var row tagRow
	err := r.rows(ctx, func(rows *sql.Rows) error {
		err := rows.Scan(&row.ID, &row.Name, &row.NameKey, &row.Color, &row.CreatedAt, &row.UpdatedAt)
		found[row.ID] = row.tag()
		return err
	}, "SELECT id, name, name_key, color, created_at, updated_at FROM hw_tags WHERE account_id = ? AND id IN (?)",
		r.scope.AccountID, bun.List(ids))
	if err != nil {
		return failure(ctx, err, "tag", 0)
	}
	for i := range marks {
		named := marks[i].Tags[:0]
		for _, tag := range marks[i].Tags {
			if tag, ok := found[tag.ID]; ok {
				named = append(named, tag)
			}
		}
		marks[i].Tags = named
	}
	return nil
}
