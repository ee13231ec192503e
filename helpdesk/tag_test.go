package helpdesk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// tag makes a tag and returns its id.
func (b *bundle) tag(name string) int64 {
	b.t.Helper()
	return must(b.desk.Tags().Create(b.ctx, helpdesk.TagInput{Name: name}))(b.t).ID
}

// tagsOf are the names of a conversation's tags.
func (b *bundle) tagsOf(conversationID int64) string {
	b.t.Helper()
	return names(must(b.desk.Conversations().Marks(b.ctx, []int64{conversationID}))(b.t)[conversationID].Tags)
}

func names(tags []helpdesk.Tag) string {
	var all []string
	for _, t := range tags {
		all = append(all, t.Name)
	}
	return strings.Join(all, " ")
}

func TestTagColor(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	urgent := must(b.desk.Tags().Create(b.ctx, helpdesk.TagInput{Name: " Urgent\n"}))(t)
	if urgent.Name != "Urgent" || urgent.Color != "#b42318" {
		t.Errorf("a new tag is %+v", urgent)
	}
	for _, tt := range []struct {
		name  string
		color storage.Opt[string]
		want  string
	}{
		{"given", storage.Some("#AABBCC"), "#aabbcc"},
		{"kept", storage.Opt[string]{}, "#aabbcc"},
		{"cleared", storage.Null[string](), "#b42318"},
		{"given again", storage.Some("#000000"), "#000000"},
		{"emptied", storage.Some(""), "#b42318"},
	} {
		got := must(b.desk.Tags().Update(b.ctx, urgent.ID, helpdesk.TagInput{Name: "urgent", Color: tt.color}))(t)
		if got.Color != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got.Color, tt.want)
		}
	}
	for _, color := range []string{"red", "#fff", "#12345g", "#1234567", "123456"} {
		_, err := b.desk.Tags().Create(b.ctx, helpdesk.TagInput{Color: storage.Some(color)})
		want := fault.Fields{"tag": {"is required"}, "color": {"must be a color such as #016770"}}
		if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", color, diff)
		}
	}
}

func TestTagNameIsUnique(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tag("Straße")
	other := b.tag("other")
	taken := fault.Fields{"tag": {"is already taken"}}
	_, err := b.desk.Tags().Create(b.ctx, helpdesk.TagInput{Name: "STRASSE"})
	if diff := cmp.Diff(taken, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
	_, err = b.desk.Tags().Update(b.ctx, other, helpdesk.TagInput{Name: "strasse"})
	if diff := cmp.Diff(taken, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
	must(b.desk.Tags().Update(b.ctx, other, helpdesk.TagInput{Name: "OTHER"}))(t)
}

func TestTagsOfConversation(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	x, y, z := b.tag("x"), b.tag("y"), b.tag("z")
	for _, tt := range []struct {
		name string
		do   func() ([]helpdesk.Tag, error)
		want string
	}{
		{"set", func() ([]helpdesk.Tag, error) { return b.desk.Conversations().SetTags(b.ctx, id, []int64{y, x, y}) }, "x y"},
		{"added", func() ([]helpdesk.Tag, error) { return b.desk.Conversations().AddTags(b.ctx, id, []int64{z, x}) }, "x y z"},
		{"removed", func() ([]helpdesk.Tag, error) { return b.desk.Conversations().RemoveTags(b.ctx, id, []int64{y}) }, "x z"},
		{"removed again", func() ([]helpdesk.Tag, error) { return b.desk.Conversations().RemoveTags(b.ctx, id, []int64{y}) }, "x z"},
		{"replaced", func() ([]helpdesk.Tag, error) { return b.desk.Conversations().SetTags(b.ctx, id, []int64{y}) }, "y"},
		{"none", func() ([]helpdesk.Tag, error) { return b.desk.Conversations().SetTags(b.ctx, id, nil) }, ""},
	} {
		if got := names(must(tt.do())(t)); got != tt.want || b.tagsOf(id) != tt.want {
			t.Errorf("%s: %q, then %q; want %q", tt.name, got, b.tagsOf(id), tt.want)
		}
	}
	must(b.desk.Conversations().SetTags(b.ctx, id, []int64{x, z}))(t)
	for name, err := range map[string]error{
		"absent": second(b.desk.Conversations().AddTags(b.ctx, id, []int64{x, 999})), "removing an absent one": second(b.desk.Conversations().RemoveTags(b.ctx, id, []int64{999})),
		"absent conversation": second(b.desk.Conversations().SetTags(b.ctx, 999, []int64{x})),
	} {
		if !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.desk.Tags().Delete(b.ctx, x); err != nil || b.tagsOf(id) != "z" {
		t.Errorf("after a tag was deleted the conversation has %q (%v)", b.tagsOf(id), err)
	}
}

func TestTooManyTags(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	var all []int64
	for n := range helpdesk.MaxTags + 1 {
		all = append(all, b.tag(fmt.Sprint("tag ", n)))
	}
	must(b.desk.Conversations().SetTags(b.ctx, id, all[1:]))(t)
	want := fault.Fields{"tags": {"has more than 100 ids"}}
	for name, err := range map[string]error{
		"given": second(b.desk.Conversations().SetTags(b.ctx, id, all)), "in all": second(b.desk.Conversations().AddTags(b.ctx, id, all[:1])),
	} {
		if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
