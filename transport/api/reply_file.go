package api

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// replyFile is a file of a saved reply as the API shows it.
type replyFile struct {
	ID           int64          `json:"id"`
	SavedReplyID int64          `json:"saved_reply_id"`
	Filename     string         `json:"filename"`
	Size         int64          `json:"size" description:"Size in bytes."`
	SizeHuman    string         `json:"size_human"`
	URL          string         `json:"url" description:"URL of its content, for callers who can see the saved reply."`
	ContentType  string         `json:"content_type"`
	CreatedAt    transport.Time `json:"created_at"`
}

type replyFileInput struct {
	savedReplyID
	File *transport.Upload `json:"file" required:"true"`
}

type replyFileID struct {
	savedReplyID
	FileID int64 `path:"reply_file_id"`
}

type replyFileList struct {
	savedReplyID
	transport.Paging
}

type replyFileAttach struct {
	interactionID
	savedReplyID
}

const (
	replyFilesPath = savedReplyPath + "/files"
	replyFilePath  = replyFilesPath + "/{reply_file_id}"
)

func (a *api) addReplyFiles(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Saved replies", Summary: summary, Description: description}
	}
	create := op("createSavedReplyFile", http.MethodPost, replyFilesPath, "Add a file to a saved reply",
		fmt.Sprintf("multipart/form-data. 409 if it already has %d. Needs interactions.create, and views.update for a shared reply.", helpdesk.MaxReplyFiles))
	create.Status = http.StatusCreated
	if a.svc != nil {
		create.MaxBody = a.svc.MaxAttachment() + multipartRoom
	}
	transport.Handle(t, a.desk, create, a.createReplyFile)
	transport.HandlePage(t, a.desk, op("listSavedReplyFiles", http.MethodGet, replyFilesPath, "List the files of a saved reply",
		"Needs interactions.view."), a.listReplyFiles)
	transport.Handle(t, a.desk, op("getSavedReplyFile", http.MethodGet, replyFilePath, "Retrieve a file of a saved reply",
		"Needs interactions.view."), a.getReplyFile)
	transport.HandleEmpty(t, a.desk, op("deleteSavedReplyFile", http.MethodDelete, replyFilePath, "Delete a file of a saved reply",
		"Answers keep their copies. Needs interactions.create, and views.update for a shared reply."), a.deleteReplyFile)
	transport.HandleContent(t, a.desk, op("getSavedReplyFileContent", http.MethodGet, replyFilePath+"/content", "Download a file of a saved reply",
		"Supports ranges. Content that a browser could execute is sent as a download. Needs interactions.view."), a.getReplyFileContent)
	transport.HandlePage(t, a.desk, op("attachSavedReplyFiles", http.MethodPost, interactionPath+"/saved-replies/{saved_reply_id}", "Attach the files of a saved reply",
		"Copies all of the reply's files and returns the new attachments, none if it has no files. 409 once sending has begun. "+
			"Needs interactions.create; for a note, interactions.note."), a.attachReplyFiles)
}

func (a *api) createReplyFile(ctx context.Context, d *helpdesk.Desk, in replyFileInput) (replyFile, error) {
	f, err := uploaded(in.File, false, func(up helpdesk.Upload) (helpdesk.ReplyFile, error) {
		return d.SavedReplies().CreateFile(ctx, in.SavedReplyID, up)
	})
	return a.showReplyFile(d.AccountID(), f), err
}

func (a *api) listReplyFiles(ctx context.Context, d *helpdesk.Desk, in replyFileList) (storage.Page[replyFile], error) {
	all, err := d.SavedReplies().Files(ctx, in.SavedReplyID)
	if err != nil {
		return storage.Page[replyFile]{}, err
	}
	page, err := pageOf(in.Paging, all, func(f helpdesk.ReplyFile) int64 { return f.ID })
	return mapPage(page, func(f helpdesk.ReplyFile) replyFile { return a.showReplyFile(d.AccountID(), f) }), err
}

func (a *api) getReplyFile(ctx context.Context, d *helpdesk.Desk, in replyFileID) (replyFile, error) {
	f, err := d.SavedReplies().File(ctx, in.SavedReplyID, in.FileID)
	return a.showReplyFile(d.AccountID(), f), err
}

func (a *api) deleteReplyFile(ctx context.Context, d *helpdesk.Desk, in replyFileID) error {
	return d.SavedReplies().DeleteFile(ctx, in.SavedReplyID, in.FileID)
}

func (a *api) getReplyFileContent(ctx context.Context, d *helpdesk.Desk, in replyFileID) (transport.Content, error) {
	f, err := d.SavedReplies().File(ctx, in.SavedReplyID, in.FileID)
	if err != nil {
		return transport.Content{}, err
	}
	body, err := file.Open(f.Size, func(offset int64) (io.ReadCloser, error) { return d.SavedReplies().OpenFile(ctx, f, offset, -1) })
	return transport.Content{
		Name: f.Filename, Type: f.ContentType, ModTime: f.CreatedAt,
		ETag: fmt.Sprintf("reply-file-%d", f.ID), // a file never changes
		Body: body,
	}, err
}

func (a *api) attachReplyFiles(ctx context.Context, d *helpdesk.Desk, in replyFileAttach) (storage.Page[attachment], error) {
	all, err := d.Attachments().AddReplyFiles(ctx, in.ConversationID, in.InteractionID, in.SavedReplyID)
	return mapPage(storage.Page[helpdesk.Attachment]{Items: all}, func(one helpdesk.Attachment) attachment { return a.showAttachment(d.AccountID(), one) }), err
}

func (a *api) showReplyFile(accountID int64, f helpdesk.ReplyFile) replyFile {
	return replyFile{
		ID: f.ID, SavedReplyID: f.ReplyID, Filename: f.Filename, Size: f.Size, SizeHuman: f.SizeHuman(), ContentType: f.ContentType, CreatedAt: transport.Time(f.CreatedAt),
		URL: a.replyFileURL(accountID, f),
	}
}

func (a *api) replyFileURL(accountID int64, f helpdesk.ReplyFile) string {
	return fmt.Sprintf("%s/accounts/%d/saved-replies/%d/files/%d/content", a.base, accountID, f.ReplyID, f.ID)
}
