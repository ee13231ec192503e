package outbound

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/filetype"
)

// compose builds the message of a reply. It depends on out alone, so every attempt composes the same bytes. ctx is used to
// read attachments.
func (s *Sender) compose(ctx context.Context, out helpdesk.OutgoingMail) *mail.Outgoing {
	m := &mail.Outgoing{
		MessageID: out.MessageID,
		Date:      out.Date.UTC(),
		From:      out.From,
		To:        addresses(out.To),
		Cc:        addresses(out.Cc),
		Subject:   out.Subject,
		Text:      mailhtml.Text(s.withRating(out, ratingLines)),
		// RFC 3834: an automatic reply says that it is one, and asks for none.
		AutoSubmitted: out.Automatic, AutoReplied: out.Automatic,
	}
	if out.ReplyTo != "" {
		m.ReplyTo = []mailaddr.Address{{Name: out.From.Name, Email: out.ReplyTo}}
	}
	if out.IsReply {
		m.Subject = mail.ReplySubject(out.Subject)
	}
	m.References, m.InReplyTo = references(out.References)
	if len(m.References) == 0 && out.MessageID != "" {
		// A relay may replace the Message-ID (Amazon SES does); replies repeat this one.
		m.References = []string{out.MessageID}
	}
	for _, a := range out.Attachments {
		m.Attachments = append(m.Attachments, mail.File{
			Filename: a.Filename, ContentType: a.ContentType, Size: a.Size,
			Open: func() (io.ReadCloser, error) { return s.cfg.Outgoing.OpenAttachment(ctx, out.AccountID, a) },
		})
	}
	body := inline(s.withRating(out, ratingButtons), out, m.Attachments)
	if out.SeenToken != "" && s.cfg.SeenURL != nil {
		body += fmt.Sprintf("\n"+`<img src="%s" alt="" width="1" height="1">`, html.EscapeString(s.cfg.SeenURL(out.SeenToken)))
	}
	m.HTML = document(body)
	return m
}

func addresses(list []string) []mailaddr.Address {
	var out []mailaddr.Address
	for _, email := range list {
		out = append(out, mailaddr.Address{Email: email})
	}
	return out
}

// references limits the number of ids and returns the one for In-Reply-To. It omits ids from a customer's message that
// cannot be written.
func references(ids []string) (bounded []string, inReplyTo string) {
	bounded = mail.BoundReferences(ids)
	if n := len(bounded); n > 0 && bounded[n-1] == ids[len(ids)-1] {
		inReplyTo = bounded[n-1]
	}
	return bounded, inReplyTo
}

// document completes a body to an HTML document. Some mail readers take the charset from it.
func document(body string) string {
	return "<!DOCTYPE html>\n<html>\n<head><meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\"></head>\n<body>\n" +
		body + "\n</body>\n</html>\n"
}

// contentURL matches the API's URLs of attachments.
var contentURL = regexp.MustCompile(`/attachments/([0-9]{1,18})/content(?:[?#].*)?$`)

// inline turns images of the body that are attachments of this message into inline parts: it returns the body with cid:
// addresses, and sets ContentID and Inline of those files. Others stay ordinary attachments.
func inline(body string, out helpdesk.OutgoingMail, files []mail.File) string {
	return mailhtml.RewriteImages(body, func(src string) string {
		for i, a := range out.Attachments {
			if !names(src, a) {
				continue
			}
			files[i].Inline = true
			files[i].ContentID = fmt.Sprintf("att%d.%s", a.ID, out.MessageID)
			return "cid:" + url.PathEscape(files[i].ContentID)
		}
		return src
	})
}

// names reports whether an image's address refers to an attachment.
func names(src string, a helpdesk.Attachment) bool {
	if m := contentURL.FindStringSubmatch(src); m != nil {
		return m[1] == strconv.FormatInt(a.ID, 10) && filetype.InBrowser(a.ContentType)
	}
	if len(src) < 4 || !strings.EqualFold(src[:4], "cid:") || a.ContentID == "" {
		return false
	}
	id, err := url.PathUnescape(src[4:])
	return err == nil && strings.EqualFold(strings.Trim(id, "<>"), a.ContentID)
}
