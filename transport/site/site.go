package site

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config configures a [Handler].
type Config struct {
	KB *kb.Service // required

	// Key signs forms, sessions and previews; at least 32 bytes. nil: random, so that signatures are valid in this process
	// only.
	Key []byte
	// FormerKeys are earlier keys, whose signatures are valid until they expire, so that the key can be changed while pages
	// with forms are open or in caches.
	FormerKeys [][]byte

	// Caller returns the caller of a request, for applications that sign in their users themselves. An error and nil mean no
	// user.
	Caller func(r *http.Request) (kb.Caller, error)
	// SignIn verifies the credentials of a reader of a private site, and returns the id of the user. A wrong pair is an
	// Unauthenticated fault, and [CodeNeeded] requests the code of a second factor. A RateLimited fault is shown in the form.
	// nil: sign-in is disabled.
	SignIn func(ctx context.Context, email, password string, from netip.Addr) (userID int64, err error)
	// FinishSignIn verifies the code that SignIn requested, by the token of its [CodeNeeded]. An Unauthenticated fault with
	// code [WrongCode] lets the reader try again; any other returns them to the password. nil: users who need a code cannot
	// sign in.
	FinishSignIn func(ctx context.Context, token, code string, from netip.Addr) (userID int64, err error)
	// User returns the caller for an id that SignIn returned. Required with SignIn. If the site is Forbidden to the caller, the
	// reader is told that the team requires a second factor.
	User func(userID int64) kb.Caller

	// Contact opens a conversation with the sender of a message in the mailbox of the site. An Invalid fault on "email",
	// "message" or "files" is shown at the field. nil: the contact form reports that messages cannot be sent.
	Contact func(ctx context.Context, s kb.Site, m Message) error
	// Questions returns what the contact form of a site asks for besides the message. A NotFound fault means that messages cannot
	// be sent. nil: nothing.
	Questions func(ctx context.Context, s kb.Site) ([]Question, error)
	// Read is told what readers do. It must not wait, and its context may end. nil: nobody counts it.
	Read func(ctx context.Context, s kb.Site, r Reading)
	// MaxUpload is the maximum total size of the files of a message in bytes; 0: 20 MiB.
	MaxUpload int64

	// Events is the log in which changes are found, and LastEvent returns the number of the newest event of an account. With
	// both, pages are cached until something changes, and so is the data that the pages of a site have in common. With an
	// [storage.EventNotifier] changes are seen at once, otherwise within a second.
	Events    storage.EventLog
	LastEvent func(ctx context.Context, accountID int64) (int64, error)
	CacheSize int64 // bytes of cached pages; 0: 64 MiB

	// Limit counts an action of the client's address, one of the Limit constants, and returns how long to wait. nil: no limit.
	Limit func(ctx context.Context, what, address string) (wait time.Duration)
	// Addr returns the client's address. nil: the peer's.
	Addr func(r *http.Request) netip.Addr

	WorkBits int              // for a message's proof of work; 0: 14, negative: none
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // default: discarded
}

// CodeNeeded is the error of Config.SignIn for a correct password if a code is also required.
type CodeNeeded struct {
	Token string // replaces the password in Config.FinishSignIn
}

// Error implements error.
func (*CodeNeeded) Error() string { return "a code of the second factor is needed" }

// WrongCode is the code of the fault of Config.FinishSignIn after which another code may be tried.
const WrongCode = "wrong_code"

// Actions counted by Config.Limit.
const (
	LimitSearch  = "search"  // includes suggestions while typing
	LimitView    = "view"    // of an article
	LimitReact   = "react"   // reactions and feedback
	LimitSignIn  = "sign-in" // includes successful ones
	LimitContact = "contact" // messages
)

// Handler serves the sites of a knowledge base.
type Handler struct {
	cfg     Config
	base    *url.URL
	builtin func() (*dress, error) // the built-in theme, compiled when a page first needs it
	cache   *cache
	dresses *dresses
	hosts   *hosts
	spent   spent
}

// New makes a handler. Missing fields of cfg are an Invalid fault.
func New(cfg Config) (*Handler, error) {
	var problems fault.Collector
	problems.Check(cfg.KB != nil, "KB", "is required")
	problems.Check(cfg.Key == nil || len(cfg.Key) >= 32, "Key", "must have at least 32 bytes")
	problems.Check(cfg.SignIn == nil || cfg.User != nil, "User", "is required with SignIn")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if cfg.Key == nil {
		cfg.Key = make([]byte, 32)
		if _, err := rand.Read(cfg.Key); err != nil {
			return nil, fault.Wrap(fault.Internal, "reading random bytes", err)
		}
	}
	if cfg.MaxUpload == 0 {
		cfg.MaxUpload = 20 << 20
	}
	if cfg.CacheSize == 0 {
		cfg.CacheSize = 64 << 20
	}
	if cfg.WorkBits == 0 {
		cfg.WorkBits = 14
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Addr == nil {
		cfg.Addr = peer
	}
	if cfg.Limit == nil {
		cfg.Limit = func(context.Context, string, string) time.Duration { return 0 }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	base, err := url.Parse(cfg.KB.BaseURL())
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "site.New", err)
	}
	h := &Handler{cfg: cfg, base: base, builtin: sync.OnceValues(builtin), dresses: &dresses{byKey: map[dressKey]*dress{}}}
	h.hosts = &hosts{ownable: h.ownable, ask: cfg.KB.OwnsHost, byName: map[string]host{}}
	h.cache = newCache(cfg)
	return h, nil
}

func peer(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// visit is a request to a site.
type visit struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	site   kb.Site
	path   string // below the site's address, decoded
	base   string // path of the site's address: "" or "/help"
	prefix string // base, or that of the preview
	caller kb.Caller
	*kb.Visitor
	front   *kb.Front // nil until the visitor has entered
	locales []string  // languages of the site
	preview preview

	stamp    stamp  // of the data read; decides whether the page may be cached
	styles   string // for the page's stylesheet
	unstable bool   // others would see another page
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// Owns reports whether the host of a request belongs to a site, so that nothing else is served there. Changes take effect
// within a second.
func (h *Handler) Owns(r *http.Request) bool {
	return h.hosts.owned(r.Context(), r.Host, h.cfg.Now())
}

// ownable reports whether a site may have a host of its own.
func (h *Handler) ownable(name string) bool {
	if name == h.base.Hostname() || name == "localhost" || len(name) > maxName {
		return false
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err != nil
}

// maxName is the maximum length of a host name (RFC 1035 section 2.3.4).
const maxName = 255

// hosts caches which hosts belong to sites: every request needs it, and kept pages are served while the database is away.
type hosts struct {
	ownable func(name string) bool
	ask     func(ctx context.Context, name string) (bool, error)

	mu     sync.Mutex
	byName map[string]host // as requests name them
}

type host struct {
	owned bool
	at    time.Time
}

// maxHosts is the maximum number of hosts cached, as clients may name any.
const maxHosts = 10_000

func (h *hosts) owned(ctx context.Context, given string, now time.Time) bool {
	h.mu.Lock()
	known, ok := h.byName[given]
	h.mu.Unlock()
	if ok && now.Sub(known.at) < fresh {
		return known.owned
	}
	name := hostname(given)
	if !h.ownable(name) {
		return false
	}
	owned, err := h.ask(ctx, name)
	if err != nil { // unchanged
		return known.owned
	}
	if len(given) > maxName+len(":65535") {
		return owned
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.byName) >= maxHosts {
		clear(h.byName)
	}
	h.byName[given] = host{owned, now}
	return owned
}

func hostname(host string) string {
	u := url.URL{Host: host}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// ServeHTTP serves a page of a site. A request outside all sites is answered with 404. If the base URL of the knowledge base
// has a path, mount the handler below it with [http.StripPrefix].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := h.cfg.Now()
	rw := &response{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value too
				panic(p)
			}
			h.cfg.Logger.ErrorContext(r.Context(), "a page of a site failed", "panic", p, "stack", string(debug.Stack()))
			h.plain(rw, http.StatusInternalServerError, "Something went wrong. Try again later.")
		}
		if h.cfg.Logger.Enabled(r.Context(), slog.LevelDebug) {
			h.cfg.Logger.DebugContext(r.Context(), "site", "method", r.Method, "status", rw.status, "duration", h.cfg.Now().Sub(begin))
		}
	}()
	hd := rw.Header()
	hd.Set("X-Content-Type-Options", "nosniff")
	hd.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	if err := h.serve(rw, r); err != nil {
		h.fail(rw, r, err)
	}
}

// response records the status written.
type response struct {
	http.ResponseWriter
	status int
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// fail answers errors that occur outside the pages of a site.
func (h *Handler) fail(w *response, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		h.plain(w, http.StatusNotFound, "There is no page at this address.")
	case fault.Is(err, fault.Unavailable):
		w.Header().Set("Retry-After", "5")
		h.cfg.Logger.WarnContext(r.Context(), "a page of a site failed", "error", err)
		h.plain(w, http.StatusServiceUnavailable, "The help centre cannot be reached at the moment. Try again in a minute.")
	default:
		h.cfg.Logger.ErrorContext(r.Context(), "a page of a site failed", "error", err)
		h.plain(w, http.StatusInternalServerError, "Something went wrong. Try again later.")
	}
}

func (h *Handler) plain(w *response, status int, text string) {
	if w.status != 0 {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have disconnected
}

// serve finds the site and serves the requested page.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	mounted := ""
	if !h.Owns(r) {
		mounted = strings.TrimSuffix(h.base.Path, "/")
		r = below(mounted, r)
	}
	if counted := h.cfg.Read != nil && fromSearch(r); !counted && h.cache.serve(w, r) {
		return nil
	}
	s, rest, at, err := h.find(r.Context(), hostname(r.Host), strings.TrimPrefix(r.URL.Path, mounted), key(r) != "")
	if fault.Is(err, fault.NotFound) && r.URL.Path == mounted+"/robots.txt" {
		return h.hostRobots(w, r)
	}
	if err != nil {
		return err
	}
	v := &visit{h: h, w: w, r: r, site: s, stamp: at, path: rest, base: strings.TrimSuffix(r.URL.Path, rest)}
	if rest == "/" { // even if the slash is missing
		v.base = strings.TrimSuffix(r.URL.Path, "/")
	}
	v.prefix = v.base
	return v.route()
}

// below restores the client's path if the handler is mounted below the path of the base URL, which http.StripPrefix has
// removed.
func below(path string, r *http.Request) *http.Request {
	if path == "" {
		return r
	}
	seen := *r
	address := *r.URL
	address.Path = path + address.Path
	if address.RawPath != "" {
		address.RawPath = path + address.RawPath
	}
	seen.URL = &address
	return &seen
}

// find finds the site at an address, the rest of the path, and a state of its account that was read before the site. The
// account is known from the last visit; on the first one, the site is read once more. If it may be one that was found
// before, and its account has not changed since, nothing is read: a host belongs to one account, and on the shared host a
// path to one site, so only changes of the account can bring another site to the address.
func (h *Handler) find(ctx context.Context, host, path string, before bool) (s kb.Site, rest string, at stamp, err error) {
	if strings.Contains(path, "\x00") {
		return s, "", at, fault.Missing("site", 0)
	}
	place := placeOf(host, path)
	last, exact := h.cache.at(place)
	if last.site != 0 {
		at = h.cache.now(ctx, last.stamp.account)
	}
	if before && exact && at == last.stamp {
		if known, ok := h.cache.known(at, fact{last.site, "site"}); ok {
			if s, ok := known.(kb.Site); ok {
				return s, s.Rest(path), at, nil
			}
		}
	}
	if s, rest, err = h.cfg.KB.FindSite(ctx, host, path); err != nil {
		return s, rest, at, err
	}
	if last.site == 0 || s.AccountID != last.stamp.account {
		at = h.cache.now(ctx, s.AccountID)
		if at == (stamp{}) {
			return s, rest, at, nil
		}
		first := s.AccountID
		if s, rest, err = h.cfg.KB.FindSite(ctx, host, path); err != nil {
			return s, rest, at, err
		}
		if s.AccountID != first { // it is moving, so nothing of it is cached
			return s, rest, stamp{}, nil
		}
	}
	if at != (stamp{}) {
		h.cache.learn(place, at, s)
	}
	return s, rest, at, nil
}

// enter makes the visitor; it fails on a private site of which the caller is not a member.
func (v *visit) enter() error {
	v.caller = v.who()
	var err error
	if v.preview.signed {
		v.Visitor, err = v.h.cfg.KB.Guest(v.ctx(), v.site.ID)
	} else {
		v.Visitor, err = v.h.cfg.KB.VisitorOf(v.ctx(), v.caller, v.site)
	}
	if err != nil {
		return err
	}
	v.site = v.Site()
	front, err := remembered(v, "front", func() (kb.Front, error) { return v.Front(v.ctx()) })
	if err == nil {
		v.front, v.locales = &front, front.Locales
	}
	return err
}

// who returns the caller: from the application, or else from the cookie.
func (v *visit) who() kb.Caller {
	if v.h.cfg.Caller != nil {
		if c, err := v.h.cfg.Caller(v.r); err == nil && c != nil && c.UserID() != 0 {
			return c
		}
	}
	return v.session()
}

// member reports whether the caller may see the internals of the site.
func (v *visit) member() bool {
	if v.caller == nil || v.caller.UserID() == 0 {
		return false
	}
	e, err := v.h.cfg.KB.Editor(v.ctx(), v.caller, v.site.ID)
	return err == nil && e.Holds(kb.ThemesView)
}

// best returns the language of the site that is nearest to the wanted ones, "" for none.
func best(locales, wanted []string) string {
	var t kb.Text
	for _, l := range locales {
		t.Translations = append(t.Translations, kb.Translation{Locale: l, Title: l})
	}
	return t.Serve("", wanted...).Locale
}

// preferred returns the language for a reader who requests none.
func (v *visit) preferred(locales []string) string {
	if found := best(locales, kb.AcceptedLocales(v.r.Header.Get("Accept-Language"))); found != "" {
		return found
	}
	if found := best(locales, []string{v.site.DefaultLocale}); found != "" {
		return found
	}
	if len(locales) > 0 {
		return locales[0]
	}
	return v.site.DefaultLocale
}

// redirect redirects the reader to a path below the site's address.
func (v *visit) redirect(status int, path string) error {
	h := v.w.Header()
	h.Set("Location", v.prefix+path)
	switch status {
	case http.StatusMovedPermanently: // not permanent: a language or a title may come back
		h.Set("Cache-Control", "public, max-age=300")
	case http.StatusFound:
		h.Set("Vary", "Accept-Language")
		h.Set("Cache-Control", "no-cache")
	default:
		h.Set("Cache-Control", "no-store")
	}
	if v.site.Visibility == kb.Private {
		h.Set("Cache-Control", "private, no-store")
	}
	v.w.WriteHeader(status)
	return nil
}

// allow refuses other methods.
func (v *visit) allow(methods ...string) bool {
	if slices.Contains(methods, v.r.Method) {
		return true
	}
	v.w.Header().Set("Allow", strings.Join(methods, ", "))
	v.h.plain(&response{ResponseWriter: v.w}, http.StatusMethodNotAllowed, "This method is not allowed here.")
	return false
}
