package main

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/site"
)

// siteConfig joins the help centres with the help desk.
func (a *app) siteConfig(keys [][]byte) site.Config {
	proxies, _ := a.settings.trustedProxies() // checked with the other settings
	return site.Config{
		KB: a.kb, Key: keys[0], FormerKeys: keys[1:], Logger: a.log, Events: a.db, MaxUpload: min(a.settings.MaxAttachment, 20) << 20,
		LastEvent: func(ctx context.Context, accountID int64) (int64, error) {
			return a.db.Within(helpdesk.Scope{AccountID: accountID}).LastEvent(ctx)
		},
		Addr: func(r *http.Request) netip.Addr { return transport.ClientAddr(r, proxies) },
		SignIn: func(ctx context.Context, email, password string, from netip.Addr) (int64, error) {
			caller, err := a.service.From(from).SignIn(ctx, email, password)
			return caller.UserID(), err
		},
		User:    func(id int64) kb.Caller { return a.service.As(id) },
		Contact: a.takeMessage,
		Limit:   limits(a.settings.PublicRateLimit),
	}
}

// limits are those of readers: n a minute, ten times that of what a page does by itself,
// and n in two hours of messages.
func limits(n int) func(ctx context.Context, what, address string) time.Duration {
	if n <= 0 {
		return nil
	}
	some := transport.NewBuckets(transport.BucketsConfig{Limit: n})
	many := transport.NewBuckets(transport.BucketsConfig{Limit: 10 * n})
	few := transport.NewBuckets(transport.BucketsConfig{Limit: max(2, n/6), Window: 20 * time.Minute})
	return func(ctx context.Context, what, address string) time.Duration {
		switch what {
		case site.LimitSearch, site.LimitView:
			return many.Take(ctx, what+address).Wait
		case site.LimitContact, site.LimitSignIn:
			return few.Take(ctx, what+address).Wait
		}
		return some.Take(ctx, what+address).Wait
	}
}

// takeMessage opens a conversation with who wrote in a site's contact form.
func (a *app) takeMessage(ctx context.Context, s kb.Site, m site.Message) error {
	p, err := a.service.NamedPortal(ctx, s.AccountID, m.Email, m.Name)
	if err != nil {
		return err
	}
	for _, f := range m.Files { // before anything is made
		if err := checkFile(f); err != nil {
			return err
		}
	}
	message := helpdesk.PortalMessage{Body: mailhtml.FromText(m.Text), Source: "contact form"}
	c, err := p.CreateConversation(ctx, helpdesk.PortalConversationInput{Subject: m.Subject, MailboxID: s.MailboxID, Messages: []helpdesk.PortalMessage{message}})
	if err != nil || len(m.Files) == 0 {
		return err
	}
	posted, err := p.Interactions(ctx, c.ID, storage.PageRequest{Limit: 1})
	if err != nil || len(posted.Items) == 0 {
		return err
	}
	for _, f := range m.Files {
		if err := attach(ctx, p, c.ID, posted.Items[0].ID, f); err != nil {
			return err
		}
	}
	return nil
}

func attach(ctx context.Context, p *helpdesk.Portal, conversationID, interactionID int64, f *multipart.FileHeader) error {
	content, err := f.Open()
	if err != nil {
		return fault.Wrap(fault.Unavailable, "reading an upload", err)
	}
	defer content.Close()
	_, err = p.CreateAttachment(ctx, conversationID, interactionID, helpdesk.Upload{Filename: f.Filename, Content: content})
	return err
}

// checkFile refuses what could not be attached later.
func checkFile(f *multipart.FileHeader) error {
	content, err := f.Open()
	if err != nil {
		return fault.Wrap(fault.Unavailable, "reading an upload", err)
	}
	defer content.Close()
	head := make([]byte, filetype.HeadSize)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Wrap(fault.Unavailable, "reading an upload", err)
	}
	err = helpdesk.CheckFile(f.Filename, head[:n])
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		refused.Resource = f.Filename // for whoever is told
	}
	return err
}
