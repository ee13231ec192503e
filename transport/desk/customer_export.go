package desk

import (
	archive "archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// mayExport reports whether the member may download all data of a customer.
func (v *visit) mayExport() bool {
	return v.may(identity.AccountsExport) && v.may(identity.CustomersView) && v.may(identity.ConversationsView) && v.may(identity.InteractionsView)
}

// The file customer.json of an export. Its words are those of the API.
type (
	exportedCustomer struct {
		FirstName     string                 `json:"first_name"`
		LastName      string                 `json:"last_name"`
		Company       string                 `json:"company"`
		Note          string                 `json:"note"`
		ExternalID    string                 `json:"external_id,omitempty"`
		Emails        []string               `json:"emails"`
		Phones        []string               `json:"phones"`
		Websites      []string               `json:"websites"`
		CreatedAt     time.Time              `json:"created_at"`
		Conversations []exportedConversation `json:"conversations"`
	}
	exportedConversation struct {
		Number       int64                 `json:"number"`
		Subject      string                `json:"subject"`
		Status       helpdesk.Status       `json:"status"`
		Email        string                `json:"email"`
		CreatedAt    time.Time             `json:"created_at"`
		Interactions []exportedInteraction `json:"interactions"`
	}
	exportedInteraction struct {
		Type        helpdesk.InteractionType `json:"type"`
		Status      helpdesk.Status          `json:"status"`
		At          time.Time                `json:"at"`
		From        string                   `json:"from,omitempty"`
		To          []string                 `json:"to,omitempty"`
		Cc          []string                 `json:"cc,omitempty"`
		Text        string                   `json:"text"`
		HTML        string                   `json:"html"`
		Attachments []string                 `json:"attachments,omitempty"` // paths in the archive
	}
)

// exportCustomer answers with a ZIP archive: customer.json and the files of all messages.
func (v *visit) exportCustomer() error {
	found, err := v.Customers().Export(v.ctx(), v.number("id"))
	if err != nil {
		return v.instead(err, v.at("/customers/"+itoa(v.number("id"))))
	}
	var users []int64
	for _, c := range found.Conversations {
		for _, i := range c.Interactions {
			users = append(users, i.UserID)
		}
	}
	who, err := v.people(users)
	if err != nil {
		return err
	}
	about, files := exported(found, who)
	file.Describe(v.w.Header(), "application/zip", "customer-"+itoa(found.Customer.ID)+".zip")
	if err := v.zipCustomer(about, files); err != nil {
		v.h.cfg.Logger.ErrorContext(v.ctx(), "an export broke off", "request_id", v.id, "error", err)
		panic(http.ErrAbortHandler) // so that the browser reports a broken download, not a short archive
	}
	return nil
}

// exportedFile is an attachment with its path in the archive.
type exportedFile struct {
	path string
	of   helpdesk.Attachment
}

// exported describes the customer, and lists the files of their messages.
func exported(e helpdesk.CustomerExport, who map[int64]person) (exportedCustomer, []exportedFile) {
	c := e.Customer
	out := exportedCustomer{FirstName: c.FirstName, LastName: c.LastName, Company: c.Company, Note: c.Note, ExternalID: c.ExternalID, Emails: []string{}, Phones: []string{}, Websites: []string{},
		CreatedAt: c.CreatedAt, Conversations: []exportedConversation{}}
	for _, one := range c.Emails {
		out.Emails = append(out.Emails, one.Email)
	}
	for _, one := range c.Phones {
		out.Phones = append(out.Phones, one.Phone)
	}
	for _, one := range c.Websites {
		out.Websites = append(out.Websites, one.Website)
	}
	var files []exportedFile
	for _, had := range e.Conversations {
		paths := map[int64][]string{}
		for _, a := range had.Attachments {
			f := exportedFile{path: "files/" + itoa(a.ID) + "-" + archiveName(a.Filename), of: a}
			files, paths[a.InteractionID] = append(files, f), append(paths[a.InteractionID], f.path)
		}
		talk := exportedConversation{Number: had.Conversation.Number, Subject: had.Conversation.Subject, Status: had.Conversation.Status,
			Email: had.Conversation.CustomerEmail, CreatedAt: had.Conversation.CreatedAt, Interactions: []exportedInteraction{}}
		for _, i := range had.Interactions {
			from := i.CustomerEmail
			if i.Type != helpdesk.TypeCustomer {
				from = who[i.UserID].Name
			}
			talk.Interactions = append(talk.Interactions, exportedInteraction{Type: i.Type, Status: i.Status, At: i.At, From: from, To: i.To, Cc: i.Cc,
				Text: mailhtml.Text(i.Body), HTML: i.Body, Attachments: paths[i.ID]})
		}
		out.Conversations = append(out.Conversations, talk)
	}
	return out, files
}

// archiveName returns a file name that is safe in an archive on every system.
func archiveName(name string) string {
	name = path.Base("/" + strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`\/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name))
	return strings.TrimLeft(name, "./")
}

// zipCustomer writes the archive. Files that the server no longer has are named in missing.txt.
func (v *visit) zipCustomer(about exportedCustomer, files []exportedFile) error {
	out := archive.NewWriter(patientWriter{v.w})
	entry, err := out.CreateHeader(&archive.FileHeader{Name: "customer.json", Method: archive.Deflate, Modified: v.now})
	if err != nil {
		return err
	}
	lines := json.NewEncoder(entry)
	lines.SetIndent("", "  ")
	lines.SetEscapeHTML(false)
	if err := lines.Encode(about); err != nil {
		return err
	}
	var missing []string
	for _, f := range files {
		content, err := v.Attachments().Open(v.ctx(), f.of, 0, -1)
		if fault.Is(err, fault.NotFound) {
			missing = append(missing, f.path)
			continue
		}
		if err != nil {
			return err
		}
		entry, err := out.CreateHeader(&archive.FileHeader{Name: f.path, Method: archive.Store, Modified: f.of.CreatedAt})
		if err == nil {
			_, err = io.Copy(entry, content)
		}
		_ = content.Close() // only read
		if err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		entry, err := out.CreateHeader(&archive.FileHeader{Name: "missing.txt", Method: archive.Deflate, Modified: v.now})
		if err == nil {
			_, err = io.WriteString(entry, strings.Join(missing, "\n")+"\n")
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// pieceWait is how long a browser may take to accept a piece of a long download.
const pieceWait = 30 * time.Second

// patientWriter extends the server's limit of an answer with each piece, so that large downloads can take long.
type patientWriter struct{ http.ResponseWriter }

// Write implements [io.Writer].
func (w patientWriter) Write(piece []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(pieceWait)) // not every server has limits
	return w.ResponseWriter.Write(piece)
}
