package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// conversationTag as the API shows it.
type conversationTag struct {
	ID        int64          `json:"id"`
	Tag       string         `json:"tag"`
	Color     string         `json:"color" example:"#b42318"`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type tagInput struct {
	Tag   string              `json:"tag" required:"true" maxLength:"100" example:"Urgent"`
	Color storage.Opt[string] `json:"color" example:"#b42318" description:"Color as #rrggbb. Default: one from a fixed palette."`
}

type tagID struct {
	TagID int64 `path:"tag_id"`
}

type tagUpdate struct {
	tagID
	tagInput
}

// tagging is the input that changes the tags of a conversation.
type tagging struct {
	conversationID
	Tags storage.Opt[[]int64] `json:"tags" required:"true" maxItems:"100" description:"Ids of tags."`
}

// CheckInput requires the tags, which may be empty but not absent.
func (in *tagging) CheckInput(problem func(field, text string)) {
	if !in.Tags.IsSet() {
		problem("tags", "is required")
	}
}

const (
	tagsPath = accountPath + "/conversation-tags"
	tagPath  = tagsPath + "/{tag_id}"
)

func (a *api) addTags(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Conversation tags", Bare: true, Summary: summary, Description: description}
	}
	create := op("createTag", http.MethodPost, tagsPath, "Create a tag",
		"422 if the name is taken, ignoring case. Needs tags.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in tagInput) (conversationTag, error) {
		tag, err := d.Tags().Create(ctx, helpdesk.TagInput{Name: in.Tag, Color: in.Color})
		return showTag(tag), err
	})
	transport.HandlePage(t, a.desk, op("listTags", http.MethodGet, tagsPath, "List tags", "Oldest first. Needs tags.view."), a.listTags)
	transport.Handle(t, a.desk, op("getTag", http.MethodGet, tagPath, "Retrieve a tag", "Needs tags.view."),
		func(ctx context.Context, d *helpdesk.Desk, in tagID) (conversationTag, error) {
			tag, err := d.Tags().Get(ctx, in.TagID)
			return showTag(tag), err
		})
	transport.Handle(t, a.desk, op("updateTag", http.MethodPut, tagPath, "Update a tag",
		"An omitted color stays unchanged. Needs tags.update."),
		func(ctx context.Context, d *helpdesk.Desk, in tagUpdate) (conversationTag, error) {
			tag, err := d.Tags().Update(ctx, in.TagID, helpdesk.TagInput{Name: in.Tag, Color: in.Color})
			return showTag(tag), err
		})
	transport.HandleEmpty(t, a.desk, slow(op("deleteTag", http.MethodDelete, tagPath, "Delete a tag",
		"Removes it from all conversations. Needs tags.delete.")),
		func(ctx context.Context, d *helpdesk.Desk, in tagID) error { return d.Tags().Delete(ctx, in.TagID) })
	a.addTagging(t)
}

// addTagging adds the operations that change the tags of a conversation.
func (a *api) addTagging(t *transport.Table) {
	const path = conversationPath + "/tags"
	op := func(id, method, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Conversations", Summary: summary,
			Description: description + " 404 if a tag does not exist. Needs conversations.update."}
	}
	transport.HandlePage(t, a.desk, op("setConversationTags", http.MethodPut, "Set the tags of a conversation",
		"Returns its tags."), retag(helpdesk.Conversations.SetTags))
	transport.HandlePage(t, a.desk, op("addConversationTags", http.MethodPost, "Add tags to a conversation",
		"Returns all its tags. Tags it already has are ignored."), retag(helpdesk.Conversations.AddTags))
	remove := op("removeConversationTags", http.MethodDelete, "Remove tags from a conversation",
		"Tags it does not have are ignored.")
	remove.BodyQuery = true
	transport.HandleEmpty(t, a.desk, remove, func(ctx context.Context, d *helpdesk.Desk, in tagging) error {
		_, err := d.Conversations().RemoveTags(ctx, in.ConversationID, in.Tags.Or(nil))
		return err
	})
}

// retag makes an operation from a method that changes the tags of a conversation.
func retag(change func(helpdesk.Conversations, context.Context, int64, []int64) ([]helpdesk.Tag, error)) func(context.Context, *helpdesk.Desk, tagging) (storage.Page[conversationTag], error) {
	return func(ctx context.Context, d *helpdesk.Desk, in tagging) (storage.Page[conversationTag], error) {
		tags, err := change(d.Conversations(), ctx, in.ConversationID, in.Tags.Or(nil))
		return storage.Page[conversationTag]{Items: showTags(tags)}, err
	}
}

func (a *api) listTags(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[conversationTag], error) {
	page, err := d.Tags().List(ctx, in.Request())
	return mapPage(page, showTag), err
}

func showTag(t helpdesk.Tag) conversationTag {
	return conversationTag{ID: t.ID, Tag: t.Name, Color: t.Color, CreatedAt: transport.Time(t.CreatedAt), UpdatedAt: transport.Time(t.UpdatedAt)}
}

func showTags(tags []helpdesk.Tag) []conversationTag {
	shown := make([]conversationTag, len(tags))
	for i, t := range tags {
		shown[i] = showTag(t)
	}
	return shown
}
