package bunstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	all, err := nouns.Tags.Reader(r).ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, tag := range all {
		found[tag.ID] = tag
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
