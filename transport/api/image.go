package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// imageProxyPath is the path from which remote images are served.
const imageProxyPath = accountPath + "/image-proxy/{image_token}"

type remoteImage struct {
	AccountID int64  `path:"account_id"`
	Token     string `path:"image_token"`
}

func (a *api) addImages(t *transport.Table) {
	transport.HandleContent(t, a.unasked, transport.Operation{
		ID: "getRemoteImage", Method: http.MethodGet, Path: imageProxyPath, Tag: "Interactions", Public: true,
		Summary: "Fetch a remote image of a mail",
		Description: "Bodies shown with remote_images=proxy contain these signed URLs, so that a browser can load images without a token. " +
			"Serves images of up to 5 MB in formats that browsers show, except SVG. 404 for anything else, for images that cannot be " +
			"fetched, and for hosts in private networks.",
	}, a.getRemoteImage)
}

// seenPath is the path of the image that records that an answer was opened.
const seenPath = "/seen/{seen_token}"

type seenToken struct {
	Token string `path:"seen_token"`
}

func (a *api) addSeen(t *transport.Table) {
	transport.HandleContent(t, a.opened, transport.Operation{
		ID: "getSeenImage", Method: http.MethodGet, Path: seenPath, Tag: "Interactions", Public: true,
		Summary: "Record that an answer was opened",
		Description: "One-pixel image in answers of accounts with track_seen. Loading it sets seen_at, once. The response is the same for " +
			"every token, known or not.",
	}, a.getSeenImage)
}

// opened is the resolver of the image: it decides whether the request counts, as a HEAD does not.
func (a *api) opened(_ context.Context, r *transport.Request) (bool, error) {
	return r.HTTP().Method == http.MethodGet, nil
}

// pixel is a transparent GIF of one pixel.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

func (a *api) getSeenImage(ctx context.Context, counts bool, in seenToken) (transport.Content, error) {
	if counts {
		if err := a.svc.SeenByPixel(ctx, in.Token); err != nil && !fault.Is(err, fault.NotFound) {
			a.logger.WarnContext(ctx, "cannot record that an answer was opened", "error", err)
		}
	}
	return transport.Content{Type: "image/gif", NoStore: true, Body: memory{bytes.NewReader([]byte(pixel))}}, nil
}

// unasked is the resolver of operations whose input has its own proof of access.
func (a *api) unasked(context.Context, *transport.Request) (struct{}, error) { return struct{}{}, nil }

func (a *api) getRemoteImage(ctx context.Context, _ struct{}, in remoteImage) (transport.Content, error) {
	image, err := a.svc.RemoteImage(ctx, in.AccountID, in.Token)
	if err != nil {
		return transport.Content{}, err
	}
	size := len(image.Content)
	if err := transport.Hold(ctx, size); err != nil {
		return transport.Content{}, err
	}
	sum := sha256.Sum256(image.Content)
	return transport.Content{
		Type: image.ContentType, ETag: hex.EncodeToString(sum[:16]), MaxAge: 24 * time.Hour,
		Body: memory{bytes.NewReader(image.Content)}, Held: size,
	}, nil
}

// memory is content that need not be closed.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// attachmentURL returns the address of an attachment's content. The address includes the key, is put into bodies, and comes
// back from there: see [api.stored].
func (a *api) attachmentURL(accountID int64, one helpdesk.Attachment, key string) string {
	at := fmt.Sprintf("%s/accounts/%d/conversations/%d/interactions/%d/attachments/%d/content",
		a.base, accountID, one.ConversationID, one.InteractionID, one.ID)
	if key != "" {
		at += "?key=" + key
	}
	return at
}

// bodyView shows images of the mail and, if requested, remote ones under our own addresses.
func (a *api) bodyView(accountID int64, v view) helpdesk.BodyView {
	return helpdesk.BodyView{
		Fold: v.fold, RemoteImages: identity.RemoteImages(v.images),
		AttachmentURL: func(one helpdesk.Attachment, key string) string { return a.attachmentURL(accountID, one, key) },
		ProxyURL: func(token string) string {
			return fmt.Sprintf("%s/accounts/%d/image-proxy/%s", a.base, accountID, token)
		},
	}
}

// showBodies prepares bodies for display. For members who may write but not read, all images except data URLs are held back.
func (a *api) showBodies(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Interaction, v view) ([]helpdesk.ShownBody, error) {
	shown := a.bodyView(d.AccountID(), v)
	if d.Holds(identity.InteractionsView) {
		return d.Interactions().Show(ctx, rows, shown)
	}
	out := make([]helpdesk.ShownBody, len(rows))
	for n, i := range rows {
		shown.RemoteImages = identity.BlockImages
		out[n] = a.svc.ShowBody(d.AccountID(), i, nil, shown)
	}
	return out, nil
}

// customersBodies prepares bodies for display to a customer, with the images that the customer may see. Remote images are
// held back unless the request chooses the proxy.
func (a *api) customersBodies(
	ctx context.Context, p *helpdesk.Portal, conversationID int64, rows []helpdesk.Interaction, v view,
) ([]helpdesk.ShownBody, error) {
	var images []helpdesk.Attachment
	if owners := helpdesk.ImageOwners(rows); len(owners) > 0 {
		var err error
		if images, err = p.AttachmentsOf(ctx, conversationID, owners); err != nil {
			return nil, err
		}
	}
	out := make([]helpdesk.ShownBody, len(rows))
	for n, i := range rows {
		out[n] = a.svc.ShowBody(p.AccountID(), i, images, a.bodyView(p.AccountID(), v))
	}
	return out, nil
}

// stored replaces the addresses in displayed bodies by the stored references.
func (a *api) stored(accountID int64, body string) string {
	if !strings.Contains(body, "<img") && !strings.Contains(body, "<IMG") {
		return body
	}
	root := fmt.Sprintf("%s/accounts/%d/", a.base, accountID)
	return mailhtml.RewriteImages(body, func(src string) string {
		below, ok := strings.CutPrefix(strings.TrimSpace(src), root)
		if !ok {
			return src
		}
		path, rest, _ := strings.Cut(below, "?")
		if token, ok := strings.CutPrefix(path, "image-proxy/"); ok {
			if address, ok := helpdesk.RemoteAddress(token); ok {
				return address
			}
			return src
		}
		f := strings.Split(path, "/")
		if len(f) != 7 || f[0] != "conversations" || f[2] != "interactions" || f[4] != "attachments" || f[6] != "content" {
			return src
		}
		query, err := url.ParseQuery(rest)
		interaction, err1 := strconv.ParseInt(f[3], 10, 64)
		attachment, err2 := strconv.ParseInt(f[5], 10, 64)
		if err != nil || err1 != nil || err2 != nil {
			return src
		}
		return helpdesk.AttachmentSource(interaction, attachment, query.Get("key"))
	})
}
