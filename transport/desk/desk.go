package desk

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/errand"
)

// Config configures a [Handler].
type Config struct {
	Service *helpdesk.Service // required

	// Once makes forms safe to submit twice: an answer submitted again, by a double click or by a browser that lost the
	// connection, is not sent again. Required; the stores of bunstore and memstore implement it.
	Once storage.Idempotency

	// Prefix is the path at which the handler is mounted, such as "/desk". "": the root.
	Prefix string

	// Authenticate returns the caller of a request, for applications that sign in their users themselves. An Unauthenticated
	// fault and the zero Caller redirect the browser to SignIn. nil: the desk has its own sign-in page and shares the session
	// cookie with the API.
	Authenticate func(r *http.Request) (helpdesk.Caller, error)
	// SignIn is the address of the application's own sign-in page. The requested page is added to it as the parameter "next".
	// Used with Authenticate.
	SignIn string

	// Panel returns the application's own data about a customer, such as their orders, to be shown next to a conversation of
	// theirs and on the customer's page, where the conversation is zero. It must return within 2 seconds; an error is logged,
	// and the panel left out. nil: no panel.
	Panel func(ctx context.Context, d *helpdesk.Desk, of helpdesk.Customer, in helpdesk.Conversation) (Panel, error)
	// Links are added to the navigation, below the desk's own.
	Links []Link

	// HelpCentre is the address of the public help centre, "" if there is none.
	HelpCentre string

	// KB is the knowledge base whose help centres members edit. nil: no editor.
	KB *kb.Service
	// PreviewDraft returns the address of the preview of an article's draft, and PreviewTheme that of a site in one of its
	// themes. nil: no preview.
	PreviewDraft func(s kb.Site, a kb.ArticleRevision, locale string) string
	PreviewTheme func(siteURL string, siteID, themeID int64) string

	// Errands runs imports and exports that members begin. nil: no pages for them.
	Errands *errand.Office
	// Backup reports the state of backups, for the page of the server's health. nil: the page does not show it.
	Backup func(ctx context.Context) (Backup, error)

	// Lagging lets pages show lists of conversations and customers, searches and counts that are up to one second old, see
	// [helpdesk.Desk.Lagging].
	Lagging bool

	// AssistantURL returns the endpoint of an account for assistants, see transport/mcp. nil: the desk shows none.
	AssistantURL func(accountID int64) string

	// NoRelay says that the server has no relay: mail of mailboxes without a relay of their own reaches nobody.
	NoRelay bool

	// Resolver looks up the mail servers of the domain of a new mailbox. nil: names are guessed without DNS.
	Resolver Resolver

	// Secure reports whether the browser's connection is encrypted. nil: whether the request has TLS.
	Secure func(r *http.Request) bool
	// Addr returns the client's address, by which failed sign-ins are counted. nil: the peer's.
	Addr func(r *http.Request) netip.Addr

	MaxUpload int64            // maximum bytes of a file; 0: 20 MiB
	Now       func() time.Time // nil: time.Now
	Logger    *slog.Logger     // default: discarded
}

// Panel is the application's panel about a customer.
type Panel struct {
	Title string
	// HTML is shown unchanged. The browser blocks scripts and style attributes in it.
	HTML template.HTML
	Link Link // shown next to the title; zero for none
}

// Link is an address with its text.
type Link struct {
	Text string
	URL  string
	Icon string // name of one of the desk's icons, such as "globe"; "link" for others
}

// Handler serves the desk.
type Handler struct {
	cfg   Config
	mux   *http.ServeMux
	pages map[string]func() (*template.Template, error) // by language; made when one is first shown
	files func() (map[string]asset, error)              // made when one is first asked for
	memos memos
}

// New makes a handler. Missing fields of cfg are an Invalid fault.
func New(cfg Config) (*Handler, error) {
	var problems fault.Collector
	problems.Check(cfg.Service != nil, "Service", "is required")
	problems.Check(cfg.Once != nil, "Once", "is required")
	problems.Check(cfg.Prefix == "" || strings.HasPrefix(cfg.Prefix, "/") && !strings.HasSuffix(cfg.Prefix, "/"),
		"Prefix", "must begin with a slash and end without one")
	problems.Check(cfg.Service == nil || cfg.KB == nil || slices.Contains(cfg.Service.Permissions(), identity.Permission(kb.SitesView)),
		"Service", "does not know the permissions of KB: add kb.Domain() to helpdesk.Config.Domains")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Secure == nil {
		cfg.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	if cfg.Addr == nil {
		cfg.Addr = peer
	}
	if cfg.MaxUpload == 0 {
		cfg.MaxUpload = 20 << 20
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{cfg: cfg, files: sync.OnceValues(loadAssets), pages: map[string]func() (*template.Template, error){}}
	for _, lang := range languages {
		h.pages[lang] = sync.OnceValues(func() (*template.Template, error) { return h.parse(lang) })
	}
	h.route()
	return h, nil
}

func peer(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.cfg.Prefix != "" {
		if r.URL.Path == h.cfg.Prefix {
			http.Redirect(w, r, h.cfg.Prefix+"/", http.StatusSeeOther)
			return
		}
		http.StripPrefix(h.cfg.Prefix, h.mux).ServeHTTP(w, r)
		return
	}
	h.mux.ServeHTTP(w, r)
}
