package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// replyFile is a file of a saved reply as the API shows it.
type replyFile struct {
	ID           int64  `json:"id"`
	SavedReplyID int64  `json:"saved_reply_id"`
	Filename     string `json:"filename"`
	Size         int64  `json:"size" description:"Bytes."`
	SizeHuman    string `json:"size_human"`
	URL          string `json:"url" description:"Its content, to who sees the saved reply."`
	ContentType  string `json:"content_type"`
	CreatedAt    Time   `json:"created_at"`
}

type replyFileInput struct {
	savedReplyID
	File *Upload `json:"file" required:"true"`
}

type replyFileID struct {
	savedReplyID
	FileID int64 `path:"reply_file_id"`
}

type replyFileList struct {
	savedReplyID
	Paging
}

type replyFileAttach struct {
	interactionID
	savedReplyID
}

const (
	replyFilesPath = savedReplyPath + "/files"
	replyFilePath  = replyFilesPath + "/{reply_file_id}"
)

func (a *api) addReplyFiles(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Saved replies", Summary: summary, Description: description}
	}
	create := op("createSavedReplyFile", http.MethodPost, replyFilesPath, "Add a file to a saved reply",
		fmt.Sprintf("multipart/form-data. 409 when it has %d. Needs interactions.create, and views.update for a reply that is shared.", helpdesk.MaxReplyFiles))
	create.Status = http.StatusCreated
	if a.svc != nil {
		create.MaxBody = a.svc.MaxAttachment() + multipartRoom
	}
	Handle(t, a.desk, create, a.createReplyFile)
	HandlePage(t, a.desk, op("listSavedReplyFiles", http.MethodGet, replyFilesPath, "List the files of a saved reply",
		"Needs interactions.view."), a.listReplyFiles)
	Handle(t, a.desk, op("getSavedReplyFile", http.MethodGet, replyFilePath, "Retrieve the description of a file of a saved reply",
		"Needs interactions.view."), a.getReplyFile)
	HandleEmpty(t, a.desk, op("deleteSavedReplyFile", http.MethodDelete, replyFilePath, "Delete a file of a saved reply",
		"Answers that have a copy of it keep theirs. Needs interactions.create, and views.update for a reply that is shared."), a.deleteReplyFile)
	HandleContent(t, a.desk, op("getSavedReplyFileContent", http.MethodGet, replyFilePath+"/content", "Download a file of a saved reply",
		"Ranges work. What a browser could run is sent to be saved. Needs interactions.view."), a.getReplyFileContent)
	HandlePage(t, a.desk, op("attachSavedReplyFiles", http.MethodPost, interactionPath+"/saved-replies/{saved_reply_id}", "Attach the files of a saved reply",
		"Copies of all of them; answers with these attachments, none when the reply has no files. 409 once the sending of the interaction has begun. "+
			"Needs interactions.create, for a note interactions.note."), a.attachReplyFiles)
}

func (a *api) createReplyFile(ctx context.Context, d *helpdesk.Desk, in replyFileInput) (replyFile, error) {
	f, err := uploaded(in.File, false, func(up helpdesk.Upload) (helpdesk.ReplyFile, error) {
		return d.CreateReplyFile(ctx, in.SavedReplyID, up)
	})
	return a.showReplyFile(d.AccountID(), f), err
}

func (a *api) listReplyFiles(ctx context.Context, d *helpdesk.Desk, in replyFileList) (storage.Page[replyFile], error) {
	all, err := d.ReplyFiles(ctx, in.SavedReplyID)
	if err != nil {
		return storage.Page[replyFile]{}, err
	}
	page, err := pageOf(in.Paging, all, func(f helpdesk.ReplyFile) int64 { return f.ID })
	return mapPage(page, func(f helpdesk.ReplyFile) replyFile { return a.showReplyFile(d.AccountID(), f) }), err
}

func (a *api) getReplyFile(ctx context.Context, d *helpdesk.Desk, in replyFileID) (replyFile, error) {
	f, err := d.ReplyFile(ctx, in.SavedReplyID, in.FileID)
	return a.showReplyFile(d.AccountID(), f), err
}

func (a *api) deleteReplyFile(ctx context.Context, d *helpdesk.Desk, in replyFileID) error {
	return d.DeleteReplyFile(ctx, in.SavedReplyID, in.FileID)
}

func (a *api) getReplyFileContent(ctx context.Context, d *helpdesk.Desk, in replyFileID) (Content, error) {
	f, err := d.ReplyFile(ctx, in.SavedReplyID, in.FileID)
	if err != nil {
		return Content{}, err
	}
	body, err := file.Open(f.Size, func(offset int64) (io.ReadCloser, error) { return d.OpenReplyFile(ctx, f, offset, -1) })
	return Content{
		Name: f.Filename, Type: f.ContentType, ModTime: f.CreatedAt,
		ETag: fmt.Sprintf("reply-file-%d", f.ID), // a file never changes
		Body: body,
	}, err
}

func (a *api) attachReplyFiles(ctx context.Context, d *helpdesk.Desk, in replyFileAttach) (storage.Page[attachment], error) {
	all, err := d.AttachReplyFiles(ctx, in.ConversationID, in.InteractionID, in.SavedReplyID)
	return mapPage(storage.Page[helpdesk.Attachment]{Items: all}, func(one helpdesk.Attachment) attachment { return a.showAttachment(d.AccountID(), one) }), err
}

func (a *api) showReplyFile(accountID int64, f helpdesk.ReplyFile) replyFile {
	return replyFile{
		ID: f.ID, SavedReplyID: f.ReplyID, Filename: f.Filename, Size: f.Size, SizeHuman: f.SizeHuman(), ContentType: f.ContentType, CreatedAt: Time(f.CreatedAt),
		URL: a.replyFileURL(accountID, f),
	}
}

func (a *api) replyFileURL(accountID int64, f helpdesk.ReplyFile) string {
	return fmt.Sprintf("%s/accounts/%d/saved-replies/%d/files/%d/content", a.base, accountID, f.ReplyID, f.ID)
}
