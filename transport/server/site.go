package server

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/site"
)

// maxContactUpload is the maximum total size of the files in a message of the contact form.
const maxContactUpload = 20 << 20

// siteConfig joins the help centres with the help desk.
func (s *Server) siteConfig(keys [][]byte) site.Config {
	cfg := s.cfg.Site
	cfg.KB = s.kb
	if cfg.Key == nil {
		cfg.Key, cfg.FormerKeys = keys[0], keys[1:]
	}
	if most := s.cfg.Desk.MaxAttachment; most > 0 {
		fill(&cfg.MaxUpload, min(most, maxContactUpload))
	}
	fill(&cfg.MaxUpload, maxContactUpload)
	fill(&cfg.LastEvent, func(ctx context.Context, accountID int64) (int64, error) {
		return s.cfg.Store.Within(helpdesk.Scope{AccountID: accountID}).LastEvent(ctx)
	})
	fill(&cfg.Addr, func(r *http.Request) netip.Addr { return transport.ClientAddr(r, s.cfg.TrustedProxies) })
	fill(&cfg.Contact, s.takeMessage)
	fill(&cfg.Questions, s.questions)
	fill(&cfg.Read, s.count)
	fill(&cfg.Limit, readerLimits(s.cfg.PublicRateLimit, s.cfg.Now))
	if who := s.cfg.Authenticate; who != nil {
		fill(&cfg.Caller, func(r *http.Request) (kb.Caller, error) {
			id, err := who(r)
			return s.service.As(id), err
		})
		return cfg
	}
	if cfg.SignIn == nil && cfg.Caller == nil {
		cfg.SignIn = func(ctx context.Context, email, password string, from netip.Addr) (int64, error) {
			caller, err := s.service.From(from).SignIn().WithPassword(ctx, email, password)
			if step, ok := errors.AsType[*helpdesk.SecondStep](err); ok {
				return 0, &site.CodeNeeded{Token: step.Token}
			}
			return caller.UserID(), err
		}
		cfg.FinishSignIn = func(ctx context.Context, token, code string, from netip.Addr) (int64, error) {
			caller, err := s.service.From(from).SignIn().WithCode(ctx, token, code)
			return caller.UserID(), err
		}
		fill(&cfg.User, func(id int64) kb.Caller { return s.service.AsSignedIn(id) })
	}
	return cfg
}

// count counts what a reader of a site did.
func (s *Server) count(ctx context.Context, of kb.Site, r site.Reading) {
	reading := helpdesk.SiteReading{SiteID: of.ID, Locale: r.Locale, Query: r.Query, ArticleID: r.ArticleID}
	switch r.What {
	case site.Viewed:
		reading.Views = 1
	case site.Searched:
		reading.Searches = 1
	case site.FoundNone:
		reading.Searches, reading.Unanswered = 1, 1
	case site.Opened:
		reading.Clicks = 1
	case site.Wrote:
		reading.Contacts = 1
	}
	s.service.CountReading(ctx, of.AccountID, reading)
}

// questions are the fields that the contact form of a site asks for.
func (s *Server) questions(ctx context.Context, of kb.Site) ([]site.Question, error) {
	fields, err := s.service.FormFields(ctx, of.AccountID, of.MailboxID)
	all := make([]site.Question, len(fields))
	for i, f := range fields {
		all[i] = site.Question{Key: f.Key, Label: f.Label, Type: string(f.Type), Valid: func(values []string) bool { return f.Check(values) == "" }}
		for _, o := range f.Options {
			if !o.Archived {
				all[i].Options = append(all[i].Options, site.Option{Value: o.Value, Label: o.Label})
			}
		}
	}
	return all, err
}

// takeMessage opens a conversation with the sender of a contact form.
func (s *Server) takeMessage(ctx context.Context, to kb.Site, m site.Message) error {
	p, err := s.service.NamedPortal(ctx, to.AccountID, m.Email, m.Name)
	if err != nil {
		return err
	}
	for _, f := range m.Files { // before anything is created
		if err := checkFile(f); err != nil {
			return err
		}
	}
	message := helpdesk.PortalMessage{Body: mailhtml.FromText(m.Text), Source: "contact form", Locale: m.Locale}
	c, err := p.CreateConversation(ctx, helpdesk.PortalConversationInput{
		Subject: m.Subject, MailboxID: to.MailboxID, Messages: []helpdesk.PortalMessage{message}, Fields: m.Fields,
	})
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

// checkFile refuses files that could not be attached later.
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
		refused.Resource = f.Filename // for the sender
	}
	return err
}
