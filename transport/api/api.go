package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/errand"
)

// Config configures [New].
type Config struct {
	transport.Config                   // of the table
	Service          *helpdesk.Service // required
	// KB is the knowledge base. If nil, its operations are answered with 404 and the code feature_disabled.
	KB *kb.Service

	// Authenticate returns the caller of a request, for applications that sign in users themselves: they return
	// Service.As(userID). Its errors are answered unchanged; for the zero Caller, which is no user, the answer is 401. nil:
	// access tokens, as Authorization: Bearer, and the cookie of POST /auth/login. Browsers also send cookies with requests
	// that other sites make, so a request with the cookie, unless it is a GET or HEAD, must show in Sec-Fetch-Site or Origin
	// that it comes from this site; otherwise the answer is 403. The same holds for requests with any cookie, and without
	// Authorization, before a function given here or as Portal is called; only clients that are no browsers, and send neither
	// field, are not refused then.
	Authenticate func(ctx context.Context, r *http.Request) (helpdesk.Caller, error)

	// Portal returns the customer who makes a request, for the operations that are open to customers, too; if it returns no
	// portal and no error, Authenticate is called. nil: portal tokens, as Authorization: Bearer, unless Authenticate is set;
	// see [helpdesk.Service.AuthenticatePortal].
	Portal func(ctx context.Context, r *http.Request, accountID int64) (*helpdesk.Portal, error)

	// AllowOtherSites lets pages of other sites use the program's cookies with Authenticate and Portal. The functions have to
	// tell such requests apart themselves.
	AllowOtherSites bool

	// PreviewTheme returns the address of the preview of a site, by its URL and id, in one of its themes; site.Handler has one.
	// nil: themes have no preview.
	PreviewTheme func(siteURL string, siteID, themeID int64) string

	// Lagging lets GET of lists of conversations and customers, with searches and counts, be up to one second old, see
	// [helpdesk.Desk.Lagging].
	Lagging bool

	// Errands runs imports of tables of customers, with the works of [customercsv.Kind]. nil: their operations are answered with
	// 404 and the code feature_disabled.
	Errands *errand.Office

	// Version is the program's version in the OpenAPI document; "": that of the API.
	Version string
}

// New returns the table of the operations of the help desk and the knowledge base. More may be added to it before it serves.
//
// Below a prefix that an outer mux strips, Config.BaseURL must include it, for the links to files in answers. A missing
// Service is an Invalid fault.
func New(cfg Config) (*transport.Table, error) {
	if cfg.Service == nil {
		return nil, fault.Field("Service", "is required")
	}
	if cfg.KB != nil && !slices.Contains(cfg.Service.Permissions(), identity.Permission(kb.SitesView)) {
		return nil, fault.Field("Service", "does not know the permissions of KB: add kb.Domain() to helpdesk.Config.Domains")
	}
	t := transport.New(cfg.Config)
	config := t.Config()
	a := &api{
		svc: cfg.Service, kb: cfg.KB, authenticate: cfg.Authenticate, base: config.BaseURL + config.Base,
		seen: presence{now: config.Now, at: map[member]time.Time{}}, logger: config.Logger, portal: cfg.Portal,
		previewTheme: cfg.PreviewTheme, lagging: cfg.Lagging, otherSites: cfg.AllowOtherSites, errands: cfg.Errands,
	}
	a.addOperations(t)
	t.AddDocument(versioned(openAPI, cfg.Version), guides)
	t.AddEvents(versioned(asyncAPI, cfg.Version))
	return t, nil
}

// addOperations adds the operations, in the order of the document.
func (a *api) addOperations(t *transport.Table) {
	for _, add := range []func(*transport.Table){
		a.addAccounts, a.addMemberships, a.addMailboxes, a.addInbound, a.addReconcile, a.addThreading,
		a.addCustomers, a.addCustomerActs, a.addCustomerExport, a.addCustomerTable, a.addConversations, a.addHistory,
		a.addCounts, a.addMailHealth, a.addFailedJobs, a.addSavedReplies, a.addReplyFiles, a.addSignatures,
		a.addCalendars, a.addAutoReplies, a.addRules, a.addSLAs, a.addSurveys, a.addRatings, a.addReports, a.addRetention, a.addHold, a.addBlockedSenders, a.addErasures, a.addPresence, a.addNotifications,
		a.addInteractions, a.addAttachments, a.addDomains, a.addPGPKeys, a.addTags, a.addFields,
		a.addTeams, a.addCompanies, a.addViews, a.addOrganising, a.addMembers, a.addAvailability,
		a.addRoles, a.addInvitations, a.addTokens, a.addPictures, a.addSessions, a.addJoinRules,
		a.addSignIns, a.addSending, a.addSuppressions, a.addEvents, a.addImages, a.addSeen,
		a.addPortalKeys, a.addWebhooks, a.addLanguages, a.addAudit, a.addKnowledgeBase,
	} {
		add(t)
	}
}

// api holds the dependencies that operations share.
type api struct {
	svc          *helpdesk.Service
	kb           *kb.Service // may be nil
	authenticate func(context.Context, *http.Request) (helpdesk.Caller, error)
	portal       func(context.Context, *http.Request, int64) (*helpdesk.Portal, error)
	base         string // address of the API, for links in answers
	seen         presence
	streams      streams
	encoded      encodings
	logger       *slog.Logger
	previewTheme func(siteURL string, siteID, themeID int64) string
	errands      *errand.Office
	lagging      bool
	otherSites   bool
}

// caller returns the caller of a request.
func (a *api) caller(ctx context.Context, r *transport.Request) (helpdesk.Caller, error) {
	authenticate := a.authenticate
	if authenticate != nil {
		if err := a.sameSite(r); err != nil {
			return helpdesk.Caller{}, err
		}
	} else {
		authenticate = func(ctx context.Context, _ *http.Request) (helpdesk.Caller, error) { return a.bearer(ctx, r) }
	}
	caller, err := authenticate(ctx, r.HTTP())
	if err == nil {
		r.Identify(fmt.Sprintf("user %d token %d", caller.UserID(), caller.TokenID()))
	}
	return caller, err
}

// sameSite refuses a request that may have the cookie of the program around us and comes from another site.
func (a *api) sameSite(r *transport.Request) error {
	if a.otherSites {
		return nil
	}
	return r.FromOtherSite()
}

func (a *api) bearer(ctx context.Context, r *transport.Request) (helpdesk.Caller, error) {
	token := r.Token()
	if token == "" && r.Header("Authorization") == "" && r.Session() != "" {
		if err := r.SameSite(); err != nil {
			return helpdesk.Caller{}, err
		}
		token = r.Session()
	}
	if helpdesk.IsPortalToken(token) {
		return helpdesk.Caller{}, fault.New(fault.Unauthenticated, "A portal token only works on conversations, interactions and attachments.")
	}
	if token == "" {
		return helpdesk.Caller{}, fault.New(fault.Unauthenticated, "Send an access token in the Authorization header, as a Bearer token.")
	}
	return a.svc.Authenticate(ctx, token)
}

// desk is the resolver of operations in an account.
func (a *api) desk(ctx context.Context, r *transport.Request) (*helpdesk.Desk, error) {
	caller, err := a.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	d, err := a.service(r).Desk(ctx, caller, r.ParamID("account_id"))
	if err != nil {
		return nil, err
	}
	if a.seen.due(member{account: d.AccountID(), user: d.UserID()}) {
		if err := d.Touch(ctx); err != nil {
			a.logger.WarnContext(ctx, "the activity of a member was not recorded", "request_id", r.ID(), "error", err)
		}
	}
	if a.lagging && r.HTTP().Method == http.MethodGet {
		d = d.Lagging()
	}
	return d, nil
}

// admin is the resolver of operations above accounts.
func (a *api) admin(ctx context.Context, r *transport.Request) (*helpdesk.Admin, error) {
	caller, err := a.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	return a.service(r).Admin(ctx, caller)
}

// service returns the service, bound to the client's address.
func (a *api) service(r *transport.Request) *helpdesk.Service { return a.svc.From(r.ClientAddr()) }

// member is a user in an account.
type member struct{ account, user int64 }

// presence remembers when members were last recorded as active, so that not every request costs a transaction to record it.
type presence struct {
	now func() time.Time
	mu  sync.Mutex
	at  map[member]time.Time
}

// maxPresent bounds the memory; beyond it the members recorded least recently are dropped.
const maxPresent = 10000

// due reports whether to record that m is active, at most once a minute.
func (p *presence) due(m member) bool {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	recent := func(at time.Time) bool { return now.Sub(at) < time.Minute }
	if at, known := p.at[m]; known && recent(at) {
		return false
	}
	if len(p.at) >= maxPresent {
		for other, at := range p.at {
			if !recent(at) {
				delete(p.at, other)
			}
		}
	}
	p.at[m] = now
	return true
}

// expanding is the input of an operation that can embed related objects.
type expanding struct {
	Expand transport.Expand `query:"expand"`
}

// relations are the permissions required by expansions.
var relations = map[string]identity.Permission{
	"mailbox": identity.MailboxesView, "customer": identity.CustomersView, "attachments": identity.InteractionsView,
	"account": identity.AccountsView, "team": identity.MembershipsView, "mailboxes": identity.MailboxesView,
}

// mayExpand is checked before a change: the service checks permissions on a relation only when it reads it, which would
// refuse the answer after the change was made.
func mayExpand(d *helpdesk.Desk, expand transport.Expand) error {
	for _, name := range expand {
		if p, needed := relations[name]; needed && !d.Holds(p) {
			return fault.Newf(fault.Forbidden, "You need the permission %s to expand %s.", string(p), name)
		}
	}
	return nil
}

// Paths of the collections.
const (
	accountPath       = "/accounts/{account_id}"
	mailboxesPath     = accountPath + "/mailboxes"
	mailboxPath       = mailboxesPath + "/{mailbox_id}"
	customersPath     = accountPath + "/customers"
	customerPath      = customersPath + "/{customer_id}"
	conversationsPath = accountPath + "/conversations"
	conversationPath  = conversationsPath + "/{conversation_id}"
	interactionsPath  = conversationPath + "/interactions"
	interactionPath   = interactionsPath + "/{interaction_id}"
	attachmentsPath   = interactionPath + "/attachments"
	attachmentPath    = attachmentsPath + "/{attachment_id}"
)

// slow marks an operation that may take minutes, because it may have to change very many rows.
func slow(o transport.Operation) transport.Operation {
	o.Slow = true
	return o
}
