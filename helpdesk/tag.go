package helpdesk

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Tag is a label for conversations.
type Tag struct {
	ID        int64
	Name      string
	Key       string // [plain.Key] of Name; unique in the account
	Color     string // "#rrggbb", in lower case
	CreatedAt time.Time
	UpdatedAt time.Time
}

func tagNoun() storage.Declared[Tag, storage.NoFilter] {
	return storage.Declared[Tag, storage.NoFilter]{
		Noun: storage.Noun[Tag]{
			Name: "tag",
			ID:   func(t *Tag) *int64 { return &t.ID },
			Unique: []storage.Unique[Tag]{
				{Code: UniqueTag, Index: "key", Fields: func(t *Tag) []any { return []any{&t.Key} }},
			},
		},
		Key: "tag", Plural: "tags",
		Columns: []storage.Column[Tag]{
			{Name: "name", Field: func(t *Tag) any { return &t.Name }},
			{Name: "name_key", Field: func(t *Tag) any { return &t.Key }},
			{Name: "color", Field: func(t *Tag) any { return &t.Color }},
			{Name: "created_at", Field: func(t *Tag) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *Tag) any { return &t.UpdatedAt }},
		},
		Parts: []storage.Part{{Table: "hw_conversation_tags", Of: "tag_id", Key: "conversation_id"}},
	}
}

// TagInput creates or changes a tag.
type TagInput struct {
	Name string // required, at most 100 characters
	// Color is "#rrggbb". A new tag without one gets a color from a fixed palette, by the hash of its name. In an update,
	// absent leaves the color unchanged; null or empty resets it to the palette's.
	Color storage.Opt[string]
}

// MaxTags is the maximum number of tags of a conversation.
const MaxTags = 100

// palette contains the default colors. The order must not change.
var palette = []string{
	"#b42318", "#b54708", "#a15c07", "#4e7a1a", "#027a48", "#0e7490",
	"#175cd3", "#4338ca", "#6d28d9", "#9d174d", "#7a4b2a", "#475467",
}

var colorPattern = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// tagKey returns the key of a name.
func tagKey(name string) string { return plain.Key(name) }

func paletteColor(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return palette[h.Sum32()%uint32(len(palette))]
}

// apply validates in and copies it into t.
func (t *Tag) apply(in TagInput) error {
	var problems fault.Collector
	t.Name = plain.Line(in.Name)
	t.Key = tagKey(t.Name)
	required(&problems, "tag", t.Name, 100)
	t.Color = strings.ToLower(strings.TrimSpace(in.Color.Or(t.Color)))
	if t.Color == "" {
		t.Color = paletteColor(t.Key)
	}
	problems.Check(colorPattern.MatchString(t.Color), "color", "must be a color such as #016770")
	return problems.Err()
}

// Tags are the labels for conversations.
type Tags struct{ *desk }

// Tags returns the handle of tags.
func (d *Desk) Tags() Tags { return Tags{&d.desk} }

// Get returns a tag. It needs tags.view.
func (d Tags) Get(ctx context.Context, id int64) (Tag, error) {
	r, err := d.guard.Read(identity.TagsView)
	if err != nil {
		return Tag{}, err
	}
	return tagNoun().Reader(r).Get(ctx, id)
}

// List lists the account's tags, oldest first. It needs tags.view.
func (d Tags) List(ctx context.Context, req storage.PageRequest) (storage.Page[Tag], error) {
	r, err := d.guard.Read(identity.TagsView)
	if err != nil {
		return storage.Page[Tag]{}, err
	}
	return storage.List(req, false, func(t Tag) storage.Position { return storage.Position{ID: t.ID} },
		func(seek storage.Seek) ([]Tag, error) { return tagNoun().Reader(r).List(ctx, storage.NoFilter{}, seek) })
}

// Create creates a tag. It needs tags.create. A name that another tag has, ignoring case, is an Invalid fault on tag.
func (d Tags) Create(ctx context.Context, in TagInput) (Tag, error) {
	begin, err := d.guard.Write(identity.TagsCreate)
	if err != nil {
		return Tag{}, err
	}
	now := d.svc.now()
	t := Tag{CreatedAt: now, UpdatedAt: now}
	if err := t.apply(in); err != nil {
		return Tag{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tagNoun().Rows(tx).Insert(ctx, &t); err != nil {
			return err
		}
		return d.emit(ctx, tx, "tag.created", t.ID, 0)
	})
	return t, takenField(err, UniqueTag, "tag")
}

// Update changes a tag. It needs tags.update.
func (d Tags) Update(ctx context.Context, id int64, in TagInput) (Tag, error) {
	begin, err := d.guard.Write(identity.TagsUpdate)
	if err != nil {
		return Tag{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Tag{}, err
	}
	var t Tag
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if t, err = tagNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		if err := t.apply(in); err != nil {
			return err
		}
		t.UpdatedAt = d.svc.now()
		if err := tagNoun().Rows(tx).Update(ctx, &t); err != nil {
			return err
		}
		return d.emit(ctx, tx, "tag.updated", t.ID, 0)
	})
	return t, takenField(err, UniqueTag, "tag")
}

// Delete removes a tag, also from the conversations that have it. It needs tags.delete.
func (d Tags) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.TagsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) { return tagNoun().Rows(tx).Trim(ctx, id, pieceRows) })
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tagNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "tag.deleted", id, 0)
	})
}

// worksOnConversations returns a permission for accessing conversations, preferably one that the member holds. A member who
// may create a conversation but not list any sees the created one.
func (d *desk) worksOnConversations() identity.Permission {
	for _, p := range []identity.Permission{identity.ConversationsCreate, identity.ConversationsUpdate} {
		if d.guard.Allows(p) {
			return p
		}
	}
	return identity.ConversationsView
}

// SetTags replaces a conversation's tags and returns them. Like AddTags and RemoveTags, it needs conversations.update. An
// absent tag is a NotFound fault; more than 100 tags are an Invalid fault.
func (d Conversations) SetTags(ctx context.Context, conversationID int64, tagIDs []int64) ([]Tag, error) {
	return d.retag(ctx, conversationID, tagIDs, func(_, given []int64) []int64 { return given })
}

// AddTags adds tags to a conversation and returns all its tags; existing ones are ignored.
func (d Conversations) AddTags(ctx context.Context, conversationID int64, tagIDs []int64) ([]Tag, error) {
	return d.retag(ctx, conversationID, tagIDs, func(old, given []int64) []int64 { return slices.Concat(old, given) })
}

// RemoveTags removes tags from a conversation and returns the remaining ones; absent ones are ignored.
func (d Conversations) RemoveTags(ctx context.Context, conversationID int64, tagIDs []int64) ([]Tag, error) {
	return d.retag(ctx, conversationID, tagIDs, func(old, given []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(old), func(id int64) bool { return slices.Contains(given, id) })
	})
}

// retag sets a conversation's tags to the result of change.
func (d *desk) retag(ctx context.Context, conversationID int64, tagIDs []int64, change func(old, given []int64) []int64) ([]Tag, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return nil, err
	}
	if err := checkTagCount(tagIDs); err != nil {
		return nil, err
	}
	var tags []Tag
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		tags, err = d.changeTags(ctx, tx, conversationID, tagIDs, change)
		return err
	})
	return tags, err
}

// changeTags is retag in a transaction.
func (d *desk) changeTags(ctx context.Context, tx Tx, conversationID int64, tagIDs []int64, change func(old, given []int64) []int64) ([]Tag, error) {
	c, err := tx.Conversations().Lock(ctx, conversationID)
	if err != nil {
		return nil, err
	}
	if err := checkTags(ctx, tx.Reader(), tagIDs); err != nil {
		return nil, err
	}
	old, err := tagsOf(ctx, tx, c.ID)
	if err != nil {
		return nil, err
	}
	ids := sortedSet(change(old, tagIDs))
	if err := checkTagCount(ids); err != nil {
		return nil, err
	}
	tags, err := tagNoun().Rows(tx).ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tags, func(a, b Tag) int { return int(a.ID - b.ID) })
	if slices.Equal(ids, old) {
		return tags, nil
	}
	if err := tx.SetTags(ctx, []int64{c.ID}, ids); err != nil {
		return nil, err
	}
	c.UpdatedAt = d.svc.now()
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return nil, err
	}
	return tags, d.emit(ctx, tx, "conversation.updated", c.ID, c.MailboxID)
}

func checkTagCount(ids []int64) error {
	var problems fault.Collector
	problems.Check(len(ids) <= MaxTags, "tags", fmt.Sprintf("has more than %d ids", MaxTags))
	return problems.Err()
}

// checkTags verifies that tags exist.
func checkTags(ctx context.Context, r Reader, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := tagNoun().Reader(r).ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(t Tag) bool { return t.ID == id }) {
			return fault.Missing("tag", id)
		}
	}
	return nil
}

// tagsOf returns the distinct ids of the tags of conversations, sorted.
func tagsOf(ctx context.Context, r MarksReader, conversationIDs ...int64) ([]int64, error) {
	found, err := r.Marks(ctx, MarksQuery{ConversationIDs: conversationIDs, Tags: true})
	var ids []int64
	for _, m := range found {
		for _, t := range m.Tags {
			ids = append(ids, t.ID)
		}
	}
	return sortedSet(ids), err
}

// sortedSet sorts ids and drops duplicates.
func sortedSet(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
