package desk

import (
	"fmt"
	"io"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxSource is how much of a mail a page shows, in bytes.
const maxSource = 256 << 10

// sourceView is the source of a mail.
type sourceView struct {
	Back    string
	Text    string
	File    string // address of the whole mail; "" if there is none
	Size    string
	Notices []string
}

// source shows the original mail of a message, byte for byte.
func (v *visit) source() error {
	i, err := v.Interactions().Get(v.ctx(), v.number("id"), v.number("i"))
	if err != nil {
		return err
	}
	at := v.at(fmt.Sprintf("/c/%d/i/%d", i.ConversationID, i.ID))
	view := sourceView{Back: at}
	found, err := v.Interactions().Source(v.ctx(), i.ConversationID, i.ID)
	if fault.Is(err, fault.NotFound) {
		view.Notices = []string{v.words.T("No source available. The message did not arrive by email, or it arrived in a mailbox you cannot access.")}
		return v.show(screen{template: "source", title: v.words.T("Email source"), data: view})
	}
	if err != nil {
		return err
	}
	raw, err := v.Interactions().OpenSource(v.ctx(), i.ConversationID, i.ID, 0)
	if fault.Is(err, fault.NotFound) {
		view.Notices = []string{v.words.T("The source is missing from file storage. Ask an admin.")}
		return v.show(screen{template: "source", title: v.words.T("Email source"), data: view})
	}
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(raw, maxSource))
	if err != nil {
		return fault.Wrap(fault.Unavailable, "reading the source of a mail", err)
	}
	view.Text = strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")
	view.File, view.Size = at+"/source.eml", helpdesk.Attachment{Size: found.Size}.SizeHuman()
	if i.Security.Encrypted {
		view.Notices = append(view.Notices, v.words.T("This email was encrypted. You see what was sent, not the decrypted text."))
	}
	if found.Partial {
		view.Notices = append(view.Notices, v.words.T("Only part of this email was fetched."))
	}
	if found.Size > maxSource {
		view.Notices = append(view.Notices, v.words.T("Only the beginning is shown. Download the file to see everything."))
	}
	return v.show(screen{template: "source", title: v.words.T("Email source"), data: view})
}

// sourceFile serves the original mail of a message as a download.
func (v *visit) sourceFile() error {
	id, i := v.number("id"), v.number("i")
	found, err := v.Interactions().Source(v.ctx(), id, i)
	if err != nil {
		return err
	}
	return v.serveFile("message/rfc822", fmt.Sprintf("mail-%d.eml", i), fmt.Sprintf("source-%d-%d", i, found.Size), found.ReceivedAt, found.Size,
		func(offset int64) (io.ReadCloser, error) { return v.Interactions().OpenSource(v.ctx(), id, i, offset) })
}
