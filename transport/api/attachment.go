package api

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// attachment as the API shows it.
type attachment struct {
	ID            int64          `json:"id"`
	InteractionID int64          `json:"conversation_interaction_id"`
	Filename      string         `json:"filename"`
	Size          int64          `json:"size" description:"Size in bytes."`
	SizeHuman     string         `json:"size_human"`
	URL           string         `json:"url" description:"URL of its content, for callers who can see the interaction."`
	IsInline      bool           `json:"is_inline"`
	ContentType   string         `json:"content_type"`
	ContentID     *string        `json:"content_id" description:"Content-ID that cid: links in the body refer to."`
	CreatedAt     transport.Time `json:"created_at"`
}

type attachmentInput struct {
	interactionID
	File     *transport.Upload `json:"file" required:"true"`
	IsInline bool              `json:"is_inline"`
}

type attachmentID struct {
	interactionID
	AttachmentID int64 `path:"attachment_id"`
}

func (a *api) addAttachments(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Attachments", Summary: summary, Description: description, Customers: true}
	}
	create := op("createAttachment", http.MethodPost, attachmentsPath, "Attach a file",
		"multipart/form-data. 409 once sending has begun. Needs interactions.create; for a note, interactions.note. A customer "+
			"can attach up to 25 files to a message posted within the last hour. The answer repeats is_inline; later ones say whether "+
			"the body shows the file, which it does only by naming its URL in an image that can be seen.")
	create.Status = http.StatusCreated
	if a.svc != nil {
		create.MaxBody = a.svc.MaxAttachment() + multipartRoom
	}
	transport.Handle(t, a.talk, create, both(a.createAttachment, a.portalCreateAttachment))
	transport.HandlePage(t, a.talk, op("listAttachments", http.MethodGet, attachmentsPath, "List an interaction's files",
		"Needs interactions.view."), both(a.listAttachments, a.portalListAttachments))
	transport.Handle(t, a.talk, op("getAttachment", http.MethodGet, attachmentPath, "Retrieve a file's description",
		"Needs interactions.view."), both(a.getAttachment, a.portalGetAttachment))
	remove := op("deleteAttachment", http.MethodDelete, attachmentPath, "Delete a file",
		"409 once sending has begun. Needs interactions.update.")
	remove.Customers = false
	transport.HandleEmpty(t, a.desk, remove, a.deleteAttachment)
	transport.HandleContent(t, a.talk, op("getAttachmentContent", http.MethodGet, attachmentPath+"/content", "Download a file",
		"Supports ranges. Content that a browser could execute is sent as a download. If the server is set up so, large files are answered with 302 and an "+
			"address in its bucket that works for two minutes, without a token. Needs interactions.view."),
		both(a.getAttachmentContent, a.portalGetAttachmentContent))
}

func (a *api) createAttachment(ctx context.Context, d *helpdesk.Desk, in attachmentInput) (attachment, error) {
	created, err := in.upload(func(up helpdesk.Upload) (helpdesk.Attachment, error) {
		return d.Attachments().Create(ctx, in.ConversationID, in.InteractionID, up)
	})
	return a.showAttachment(d.AccountID(), created), err
}

// upload opens the uploaded file, if any, for attaching it.
func (in attachmentInput) upload(attach func(helpdesk.Upload) (helpdesk.Attachment, error)) (helpdesk.Attachment, error) {
	return uploaded(in.File, in.IsInline, attach)
}

// uploaded opens an uploaded file, if any, for storing it.
func uploaded[T any](f *transport.Upload, inline bool, store func(helpdesk.Upload) (T, error)) (T, error) {
	up := helpdesk.Upload{IsInline: inline}
	if f != nil {
		content, err := f.Open()
		if err != nil {
			var none T
			return none, fault.Wrap(fault.Internal, "opening an upload", err)
		}
		defer content.Close()
		up.Filename, up.Content = f.Filename, content
	}
	return store(up)
}

// interactionRows is the input for a page of objects that belong to an interaction.
type interactionRows struct {
	interactionID
	transport.Paging
}

func (a *api) listAttachments(ctx context.Context, d *helpdesk.Desk, in interactionRows) (storage.Page[attachment], error) {
	found, err := d.Attachments().List(ctx, in.ConversationID, in.InteractionID)
	if err != nil {
		return storage.Page[attachment]{}, err
	}
	return a.pageAttachments(d.AccountID(), found, in.Paging)
}

func (a *api) pageAttachments(accountID int64, all []helpdesk.Attachment, p transport.Paging) (storage.Page[attachment], error) {
	page, err := pageOf(p, all, func(one helpdesk.Attachment) int64 { return one.ID })
	return mapPage(page, func(one helpdesk.Attachment) attachment { return a.showAttachment(accountID, one) }), err
}

func (a *api) getAttachment(ctx context.Context, d *helpdesk.Desk, in attachmentID) (attachment, error) {
	found, err := d.Attachments().Get(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
	return a.showAttachment(d.AccountID(), found), err
}

func (a *api) deleteAttachment(ctx context.Context, d *helpdesk.Desk, in attachmentID) error {
	return d.Attachments().Delete(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
}

func (a *api) getAttachmentContent(ctx context.Context, d *helpdesk.Desk, in attachmentID) (transport.Content, error) {
	found, err := d.Attachments().Get(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
	if err != nil {
		return transport.Content{}, err
	}
	return attachedContent(ctx, found, d.Attachments().Open, d.Attachments().Link)
}

func attachedContent(
	ctx context.Context, found helpdesk.Attachment,
	read func(ctx context.Context, a helpdesk.Attachment, offset, length int64) (io.ReadCloser, error),
	link func(ctx context.Context, a helpdesk.Attachment, as storage.BlobDownload) (string, error),
) (transport.Content, error) {
	out := transport.Content{
		Name: found.Filename, Type: found.ContentType, ModTime: found.CreatedAt,
		ETag: fmt.Sprintf("attachment-%d", found.ID), // a file never changes
	}
	open := func(offset int64) (io.ReadCloser, error) { return read(ctx, found, offset, -1) }
	var err error
	if as := file.As(found.ContentType, found.Filename); !file.InPlace(as) {
		if out.Link, err = link(ctx, found, as); err != nil {
			return out, err
		}
	}
	if out.Link != "" { // the file exists
		out.Body = file.Later(found.Size, open)
		return out, nil
	}
	out.Body, err = file.Open(found.Size, open)
	return out, err
}

func (a *api) showAttachment(accountID int64, one helpdesk.Attachment) attachment {
	return attachment{
		ID: one.ID, InteractionID: one.InteractionID, Filename: one.Filename, Size: one.Size, SizeHuman: one.SizeHuman(),
		URL:      a.attachmentURL(accountID, one, ""),
		IsInline: one.IsInline, ContentType: one.ContentType, ContentID: textOrNull(one.ContentID), CreatedAt: transport.Time(one.CreatedAt),
	}
}
