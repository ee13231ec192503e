package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// attachment as the API shows it.
type attachment struct {
	ID            int64   `json:"id"`
	InteractionID int64   `json:"conversation_interaction_id"`
	Filename      string  `json:"filename"`
	Size          int64   `json:"size" description:"Bytes."`
	SizeHuman     string  `json:"size_human"`
	URL           string  `json:"url" description:"Its content, to who may see the interaction."`
	IsInline      bool    `json:"is_inline"`
	ContentType   string  `json:"content_type"`
	ContentID     *string `json:"content_id" description:"What cid: links in the body name."`
	CreatedAt     Time    `json:"created_at"`
}

type attachmentInput struct {
	interactionID
	File     *Upload `json:"file" required:"true"`
	IsInline bool    `json:"is_inline"`
}

type attachmentID struct {
	interactionID
	AttachmentID int64 `path:"attachment_id"`
}

func (a *api) addAttachments(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Attachments", Summary: summary, Description: description}
	}
	create := op("createAttachment", http.MethodPost, attachmentsPath, "Attach a file",
		"multipart/form-data. 409 once the sending of the interaction has begun. Needs interactions.create, for a note interactions.note.")
	create.Status = http.StatusCreated
	Handle(t, a.desk, create, a.createAttachment)
	HandlePage(t, a.desk, op("listAttachments", http.MethodGet, attachmentsPath, "List an interaction's files",
		"Needs interactions.view."), a.listAttachments)
	Handle(t, a.desk, op("getAttachment", http.MethodGet, attachmentPath, "Retrieve a file's description",
		"Needs interactions.view."), a.getAttachment)
	HandleEmpty(t, a.desk, op("deleteAttachment", http.MethodDelete, attachmentPath, "Delete a file",
		"409 once the sending of the interaction has begun. Needs interactions.update."), a.deleteAttachment)
	HandleContent(t, a.desk, op("getAttachmentContent", http.MethodGet, attachmentPath+"/content", "Download a file",
		"Ranges work. What a browser could run is sent to be saved. Needs interactions.view."), a.getAttachmentContent)
}

func (a *api) createAttachment(ctx context.Context, d *helpdesk.Desk, in attachmentInput) (attachment, error) {
	up := helpdesk.Upload{IsInline: in.IsInline}
	if in.File != nil {
		content, err := in.File.Open()
		if err != nil {
			return attachment{}, fault.Wrap(fault.Internal, "opening an upload", err)
		}
		defer content.Close()
		up.Filename, up.Content = in.File.Filename, content
	}
	created, err := d.CreateAttachment(ctx, in.ConversationID, in.InteractionID, up)
	return a.showAttachment(d, created), err
}

func (a *api) listAttachments(ctx context.Context, d *helpdesk.Desk, in interactionID) (storage.Page[attachment], error) {
	found, err := d.Attachments(ctx, in.ConversationID, in.InteractionID)
	page := storage.Page[helpdesk.Attachment]{Items: found}
	return mapPage(page, func(one helpdesk.Attachment) attachment { return a.showAttachment(d, one) }), err
}

func (a *api) getAttachment(ctx context.Context, d *helpdesk.Desk, in attachmentID) (attachment, error) {
	found, err := d.Attachment(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
	return a.showAttachment(d, found), err
}

func (a *api) deleteAttachment(ctx context.Context, d *helpdesk.Desk, in attachmentID) error {
	return d.DeleteAttachment(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
}

func (a *api) getAttachmentContent(ctx context.Context, d *helpdesk.Desk, in attachmentID) (Content, error) {
	found, err := d.Attachment(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
	if err != nil {
		return Content{}, err
	}
	body, err := openStored(found.Size, func(offset int64) (io.ReadCloser, error) {
		return d.OpenAttachment(ctx, found, offset, -1)
	})
	return Content{
		Name: found.Filename, Type: found.ContentType, ModTime: found.CreatedAt,
		ETag: fmt.Sprintf("attachment-%d", found.ID), // a file never changes
		Body: body,
	}, err
}

func (a *api) showAttachment(d *helpdesk.Desk, one helpdesk.Attachment) attachment {
	return attachment{
		ID: one.ID, InteractionID: one.InteractionID, Filename: one.Filename, Size: one.Size, SizeHuman: one.SizeHuman(),
		URL: fmt.Sprintf("%s/accounts/%d/conversations/%d/interactions/%d/attachments/%d/content",
			a.base, d.AccountID(), one.ConversationID, one.InteractionID, one.ID),
		IsInline: one.IsInline, ContentType: one.ContentType, ContentID: textOrNull(one.ContentID), CreatedAt: Time(one.CreatedAt),
	}
}
