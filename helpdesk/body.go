package helpdesk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
)

// RemoteImages says what becomes of images on other servers, whose loading tells the
// sender when and where a mail is read.
type RemoteImages string

// The ways to show remote images.
const (
	BlockImages RemoteImages = "block" // their address stands in data-remote-src
	ProxyImages RemoteImages = "proxy" // they come through BodyView.ProxyURL
)

// BodyView is how bodies are shown. What is stored stays as it came: images inside of
// a mail are stored as cid: (RFC 2392), remote ones with their address.
type BodyView struct {
	Fold bool // a quoted mail at the end is in a closed <details>
	// RemoteImages of this view; "" is what the account says.
	RemoteImages RemoteImages
	// AttachmentURL gives the address of an attachment that a body shows. The key
	// proves to [AttachmentSource] that this view named it. nil: cid: stays.
	AttachmentURL func(a Attachment, key string) string
	// ProxyURL gives the address of a remote image at the proxy, by its token for
	// [Service.RemoteImage]. nil: they are blocked.
	ProxyURL func(token string) string
}

// ShownBody is a body as it is shown.
type ShownBody struct {
	HTML         string
	RemoteImages int // images on other servers, blocked or not
}

// answerSubject is how mailers mark the subject of an answer or of what is passed on.
var answerSubject = regexp.MustCompile(`(?i)^\s*(re|aw|antw|antwort|sv|vs|vá|rif|res|odp|ynt|r|hal|απ|на|bls|atb|vl|vb|fwd?|wg|tr|enc|rv|ts|pd|doorst|i|ilt|továbbítás|` +
	`回复|答复|答覆|回覆|转发|轉寄|返信|転送|답장|전달)\s*(\[\d+\]|\(\d+\)|\*\d+)?\s*[:：]`)

// answers tells whether an interaction answers another message, so that it may quote it.
func (i Interaction) answers() bool {
	return len(i.References) > 0 || i.Type != TypeCustomer && !i.IsStarter || answerSubject.MatchString(i.Subject)
}

// ShowBodies makes bodies ready to be shown, with one query for the attachments that
// they show. It needs interactions.view.
//
// [Desk.CreateInteraction] and [Desk.UpdateInteraction] take such a body back: blocked
// images get their address again. The caller has to turn the addresses that
// BodyView.AttachmentURL and ProxyURL made into [AttachmentSource] and [RemoteAddress].
func (d *Desk) ShowBodies(ctx context.Context, list []Interaction, v BodyView) ([]ShownBody, error) {
	r, err := d.guard.Read(InteractionsView)
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

// shownAttachments finds the attachments that bodies name.
func shownAttachments(ctx context.Context, r Reader, list []Interaction) ([]Attachment, error) {
	owners := ImageOwners(list)
	if len(owners) == 0 {
		return nil, nil
	}
	return r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: owners}, storage.Seek{Limit: storage.NoLimit})
}

// ImageOwners returns the ids of the interactions whose attachments bodies name as
// their images: their own, and those that an answer quotes.
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

// ShowBody makes one body ready to be shown; attachments are those that it may show.
func (s *Service) ShowBody(accountID int64, i Interaction, attachments []Attachment, v BodyView) ShownBody {
	out := ShownBody{HTML: i.Body}
	if v.AttachmentURL != nil {
		out.HTML = mailhtml.RewriteImages(out.HTML, func(src string) string {
			if a, ok := s.named(accountID, i, src, attachments); ok {
				return v.AttachmentURL(a, attachmentKey(s.cfg.SigningKey, accountID, a.InteractionID, a.ID))
			}
			return src
		})
	}
	if out.RemoteImages = remoteImages(i.Body); out.RemoteImages > 0 {
		if v.RemoteImages == ProxyImages && v.ProxyURL != nil {
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

// remoteOf gives the addresses of the remote images of a stored body: in a shown one
// they cannot be told from those of our own.
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

// named finds the attachment that the address of an image in a stored body means: one
// of the interaction's own by its Content-ID, or any of the conversation's by a
// reference that we made.
func (s *Service) named(accountID int64, i Interaction, src string, attachments []Attachment) (Attachment, bool) {
	if len(src) < 4 || !strings.EqualFold(src[:4], "cid:") {
		return Attachment{}, false
	}
	cid, err := url.PathUnescape(src[4:])
	if err != nil {
		cid = src[4:]
	}
	cid = strings.Trim(cid, "<> ")
	ref, isRef := parseReference(cid)
	for _, a := range attachments {
		switch {
		case a.ConversationID != i.ConversationID:
		case a.InteractionID == i.ID && a.ContentID != "" && foldCase(a.ContentID) == foldCase(cid):
			return a, true
		case !isRef || a.ID != ref.attachment || a.InteractionID != ref.interaction:
		case a.InteractionID == i.ID || s.signedBy(func(key []byte) bool {
			return hmac.Equal([]byte(ref.key), []byte(attachmentKey(key, accountID, a.InteractionID, a.ID)))
		}):
			return a, true
		}
	}
	return Attachment{}, false
}

// reference names an attachment in a stored body. Its key proves that we gave the
// reference away: a customer who guesses ids must not make an agent, who quotes them,
// send them files of notes.
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

// AttachmentSource is the address of an image that a stored body names an attachment
// with. Without the key that [BodyView].AttachmentURL got it works in the body of the
// attachment's own interaction alone.
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

// embed makes the body of a mail that is sent: images that are files of the
// conversation go along as parts of the mail. It returns the body, in which they are
// named by the ContentID of the attachments returned, own ones first.
func (s *Service) embed(ctx context.Context, r Reader, accountID int64, i Interaction, own []Attachment) (string, []Attachment, error) {
	all := own
	if strings.Contains(i.Body, "@helpwright") {
		found, err := shownAttachments(ctx, r, []Interaction{i})
		if err != nil {
			return "", nil, err
		}
		all = append(slices.Clone(own), found...)
	}
	out := slices.Clone(own)
	body := mailhtml.RewriteImages(i.Body, func(src string) string {
		a, ok := s.named(accountID, i, src, all)
		_, isRef := parseReference(strings.TrimPrefix(src, "cid:"))
		switch {
		case !ok && isRef:
			return "" // the file is gone, and the reference is nobody's business
		case !ok:
			return src
		}
		a.ContentID = fmt.Sprintf("attachment-%d@helpwright", a.ID)
		at := slices.IndexFunc(out, func(b Attachment) bool { return b.ID == a.ID })
		if at < 0 {
			out, at = append(out, a), len(out)
		}
		out[at].ContentID, out[at].IsInline = a.ContentID, true
		return "cid:" + a.ContentID
	})
	return body, out, nil
}
