package bunstore

import (
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type replyFileRow struct {
	bun.BaseModel `bun:"table:hw_reply_files,alias:hw_reply_files"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	ReplyID       int64
	Filename      string
	ContentType   string
	Size          int64
	BlobKey       string
	CreatedAt     int64
}

func (r *replyFileRow) file() helpdesk.ReplyFile {
	return helpdesk.ReplyFile{
		ID: r.ID, ReplyID: r.ReplyID, Filename: r.Filename, ContentType: r.ContentType, Size: r.Size, BlobKey: r.BlobKey, CreatedAt: timeOf(r.CreatedAt),
	}
}

func replyFileRowOf(account int64, f *helpdesk.ReplyFile) replyFileRow {
	return replyFileRow{
		ID: f.ID, AccountID: account, ReplyID: f.ReplyID, Filename: f.Filename, ContentType: f.ContentType, Size: f.Size, BlobKey: f.BlobKey,
		CreatedAt: micros(f.CreatedAt),
	}
}

var replyFiles = table[writer, helpdesk.ReplyFile, helpdesk.ReplyFileFilter, replyFileRow]{
	Noun: nouns.ReplyFiles, row: replyFileRowOf, item: (*replyFileRow).file,
	belongs: func(f helpdesk.ReplyFileFilter) (string, []int64) { return "reply_id", f.ReplyIDs },
}

// ReplyFiles implements [helpdesk.Reader].
func (r reader) ReplyFiles() storage.RowReader[helpdesk.ReplyFile, helpdesk.ReplyFileFilter] {
	return rowsOf(r.placed(), &replyFiles)
}

// ReplyFiles implements [helpdesk.Rows].
func (w writer) ReplyFiles() storage.Rows[helpdesk.ReplyFile, helpdesk.ReplyFileFilter] {
	return storedOf(w, &replyFiles)
}
