package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
)

// BodyView determines how bodies are shown. Stored bodies are unaffected: they refer to a message's own images as cid: (RFC
// 2392) and to remote ones by address.
type BodyView struct {
	Fold bool // collapse a quoted message at the end in a closed <details>
	// RemoteImages overrides the account's setting; "" uses that.
	RemoteImages identity.RemoteImages
	// AttachmentURL returns the URL of an attachment that a body shows. The key proves to [AttachmentSource] that this view
	// referred to it. If nil, cid: addresses stay.
	AttachmentURL func(a Attachment, key string) string
	// ProxyURL returns the proxy's URL for a remote image, given its token for [Service.RemoteImage]. If nil, remote images are
	// blocked.
	ProxyURL func(token string) string
}

// ShownBody is a body prepared for display.
type ShownBody struct {
	HTML         string
	RemoteImages int // number of remote images, blocked or not
}

// answerSubject matches the prefixes that mail clients put before the subject of replies and forwards.
var answerSubject = regexp.MustCompile(`(?i)^\s*(re|aw|antw|antwort|sv|vs|vá|rif|res|odp|ynt|r|hal|απ|на|bls|atb|vl|vb|fwd?|wg|tr|enc|rv|ts|pd|doorst|i|ilt|továbbítás|` +
	`回复|答复|答覆|回覆|转发|轉寄|返信|転送|답장|전달)\s*(\[\d+\]|\(\d+\)|\*\d+)?\s*[:：]`)

// answers reports whether an interaction replies to another message, so that it may quote it.
func (i Interaction) answers() bool {
	return len(i.References) > 0 || i.Type != TypeCustomer && !i.IsStarter || answerSubject.MatchString(i.Subject)
}

// Show prepares bodies for display, with one query for the attachments that they show. It needs interactions.view.
//
// [Interactions.Create] and [Interactions.Update] accept such a body again: blocked images get their address back. The
// caller has to convert the URLs from BodyView.AttachmentURL and ProxyURL to [AttachmentSource] and [RemoteAddress].
func (d Interactions) Show(ctx context.Context, list []Interaction, v BodyView) ([]ShownBody, error) {
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return nil, err
	}
	attachments, err := shownAttachments(ctx, r, list)
	if err != nil {
		return nil, err
	}
	if v.RemoteImages == "" && slices.ContainsFunc(list, func(i Interaction) bool { return remoteImages(i.Body) > 0 }) {
		account, err := r.Account(ctx)
		if err != nil {
			return nil, err
		}
		v.RemoteImages = account.RemoteImages
	}
	out := make([]ShownBody, len(list))
	for n, i := range list {
		out[n] = d.svc.ShowBody(d.scope.AccountID, i, attachments, v)
	}
	return out, d.withMentions(ctx, r, list, out)
}

// shownAttachments returns the attachments that bodies refer to.
func shownAttachments(ctx context.Context, r Reader, list []Interaction) ([]Attachment, error) {
	owners := ImageOwners(list)
	if len(owners) == 0 {
		return nil, nil
	}
	return r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: owners}, storage.Seek{Limit: storage.NoLimit})
}

// ImageOwners returns the ids of the interactions whose attachments the bodies may show as images: the given interactions,
// and those that a reply quotes.
func ImageOwners(list []Interaction) []int64 {
	var owners []int64
	for _, i := range list {
		for _, cid := range mailhtml.CIDs(i.Body) {
			owner := i.ID
			if ref, ok := parseReference(cid); ok {
				owner = ref.interaction
			}
			if !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	return owners
}

// ShowBody prepares one body for display; attachments are those that it may show.
func (s *Service) ShowBody(accountID int64, i Interaction, attachments []Attachment, v BodyView) ShownBody {
	out := ShownBody{HTML: i.Body}
	if i.Type == TypeUser && i.Status == StatusPosted {
		out.HTML = withoutRatingPlaces(out.HTML) // the message has links there
	}
	if v.AttachmentURL != nil {
		files := s.bodyFiles(accountID, i, attachments)
		out.HTML = mailhtml.RewriteImages(out.HTML, func(src string) string {
			if a, ok := files.by(src); ok {
				return v.AttachmentURL(a, attachmentKey(s.cfg.SigningKey, accountID, a.InteractionID, a.ID))
			}
			return src
		})
	}
	if out.RemoteImages = remoteImages(i.Body); out.RemoteImages > 0 {
		if v.RemoteImages == identity.ProxyImages && v.ProxyURL != nil {
			out.HTML = s.proxied(accountID, i.Body, out.HTML, v)
		} else {
			remote := remoteOf(i.Body)
			out.HTML = mailhtml.HoldImages(out.HTML, func(src string) bool { return remote[src] })
		}
	}
	if v.Fold {
		out.HTML = mailhtml.Fold(out.HTML, i.answers())
	}
	out.HTML = mailhtml.Direct(out.HTML)
	return out
}

func (s *Service) proxied(accountID int64, stored, shown string, v BodyView) string {
	remote := remoteOf(stored)
	return mailhtml.RewriteImages(shown, func(src string) string {
		if !remote[src] {
			return src
		}
		return v.ProxyURL(imageToken(s.cfg.SigningKey, accountID, src))
	})
}

// remoteOf returns the remote image addresses of a stored body. In a shown body they are indistinguishable from our own.
func remoteOf(stored string) map[string]bool {
	all := map[string]bool{}
	mailhtml.RewriteImages(stored, func(src string) string {
		if mailhtml.Remote(src) {
			all[src] = true
		}
		return src
	})
	return all
}

func remoteImages(stored string) int {
	if !strings.Contains(stored, "<img") {
		return 0
	}
	n := 0
	mailhtml.RewriteImages(stored, func(src string) string {
		if mailhtml.Remote(src) {
			n++
		}
		return src
	})
	return n
}

// reference names an attachment in a stored body. Its key proves that we issued it. Otherwise, a customer who guesses ids
// could make an agent who quotes them send files of notes.
type reference struct {
	interaction, attachment int64
	key                     string
}

var referenceForm = regexp.MustCompile(`^attachment-([0-9]{1,18})-([0-9]{1,18})(?:\.([a-z2-7]{1,40}))?@helpwright$`)

func parseReference(cid string) (reference, bool) {
	m := referenceForm.FindStringSubmatch(cid)
	if m == nil {
		return reference{}, false
	}
	var r reference
	r.interaction, _ = strconv.ParseInt(m[1], 10, 64)
	r.attachment, _ = strconv.ParseInt(m[2], 10, 64)
	r.key = m[3]
	return r, true
}

// AttachmentSource returns the image address by which a stored body refers to an attachment. Without the key that
// [BodyView].AttachmentURL received, it works only in the attachment's own interaction.
func AttachmentSource(interactionID, attachmentID int64, key string) string {
	if key != "" {
		key = "." + key
	}
	return fmt.Sprintf("cid:attachment-%d-%d%s@helpwright", interactionID, attachmentID, key)
}

func attachmentKey(key []byte, accountID, interactionID, id int64) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("attachment reference v1\x00"))
	var b []byte
	for _, n := range []int64{accountID, interactionID, id} {
		b = binary.AppendVarint(b, n)
	}
	mac.Write(b)
	return tokenEncoding.EncodeToString(mac.Sum(nil)[:tokenMACLength])
}

// embed returns the body of an outgoing message, whose visible images from files of the conversation become parts of the
// message. The body refers to them by the ContentID of the returned attachments, own ones first. A file that an image names
// but does not show is an ordinary attachment.
func (s *Service) embed(ctx context.Context, r Reader, accountID int64, i Interaction, own []Attachment) (string, []Attachment, error) {
	all := own
	if strings.Contains(i.Body, "@helpwright") {
		found, err := shownAttachments(ctx, r, []Interaction{i})
		if err != nil {
			return "", nil, err
		}
		all = append(slices.Clone(own), found...)
	}
	out, place := slices.Clone(own), map[int64]int{}
	for n := range out {
		out[n].ContentID, out[n].IsInline = "", false
		place[out[n].ID] = n
	}
	files, visible := s.bodyFiles(accountID, i, all), map[string]bool{}
	for _, src := range mailhtml.VisibleImages(i.Body) {
		visible[src] = true
	}
	body := mailhtml.RewriteImages(i.Body, func(src string) string {
		a, ok := files.by(src)
		switch {
		case !ok && refers(src):
			return "" // the file is gone; do not expose the reference
		case !ok:
			return src
		}
		at, known := place[a.ID]
		if !known {
			a.ContentID, a.IsInline = "", false
			out, at = append(out, a), len(out)
			place[a.ID] = at
		}
		if !visible[src] || !a.showable() {
			return ""
		}
		out[at].ContentID, out[at].IsInline = fmt.Sprintf("attachment-%d@helpwright", a.ID), true
		return "cid:" + out[at].ContentID
	})
	return body, out, nil
}

// refers reports whether an image's address is a reference that we may have issued.
func refers(src string) bool {
	return slices.ContainsFunc(contentKeys(src), func(key string) bool {
		_, isRef := parseReference(key)
		return isRef
	})
}
