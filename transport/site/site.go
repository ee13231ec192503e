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

// Config is what a [Handler] is made of.
type Config struct {
	KB *kb.Service // required

	// Key signs forms, sessions and previews; at least 32 bytes. nil: random, so that they
	// end when the process does, and are good for this process only.
	Key []byte
	// FormerKeys signed before Key did. What they signed is good until its own end, so that
	// the key can be changed while pages with forms are open, or kept by caches.
	FormerKeys [][]byte

	// Caller finds out who asks, for applications that sign in their users themselves.
	// An error, and nil, are nobody.
	Caller func(r *http.Request) (kb.Caller, error)
	// SignIn checks what a reader of a private site has filled in, and returns the id of
	// the user; a wrong pair is an Unauthenticated fault, and [CodeNeeded] asks for the code of
	// a second factor. A RateLimited fault is shown at the form. nil: nobody can sign in.
	SignIn func(ctx context.Context, email, password string, from netip.Addr) (userID int64, err error)
	// FinishSignIn checks the code that SignIn asked for, by the token of its [CodeNeeded]. An
	// Unauthenticated fault with code [WrongCode] lets the reader try another; any other sends
	// them back to the password. nil: who needs a code cannot sign in.
	FinishSignIn func(ctx context.Context, token, code string, from netip.Addr) (userID int64, err error)
	// User is the caller with an id that SignIn returned. Required with SignIn. Where opening
	// the site for it is Forbidden, the reader is told that the team asks for a second factor.
	User func(userID int64) kb.Caller

	// Contact opens a conversation with the sender of a message in the mailbox of the
	// site. An Invalid fault on "email", "message" or "files" is shown at the field. nil:
	// the contact form says that messages cannot be sent.
	Contact func(ctx context.Context, s kb.Site, m Message) error
	// MaxUpload bounds the files of a message together, in bytes; 0: 20 MiB.
	MaxUpload int64

	// Events is the log that changes are found in, and LastEvent the number of the newest
	// event of an account. With both, pages are kept until something changes, and what the
	// pages of a site have in common, whether they are kept or not; with an
	// [storage.EventNotifier] that is noticed at once, else within a second.
	Events    storage.EventLog
	LastEvent func(ctx context.Context, accountID int64) (int64, error)
	CacheSize int64 // bytes of the pages that are kept; 0: 64 MiB

	// Limit counts what the address of a request does, and returns how long to wait: one
	// of the Limit constants. nil: there is no limit.
	Limit func(ctx context.Context, what, address string) (wait time.Duration)
	// Addr is the address that a request comes from. nil: the peer's.
	Addr func(r *http.Request) netip.Addr

	WorkBits int              // of the proof of work of a message; 0: 14, negative: none
	Now      func() time.Time // nil: time.Now
	Logger   *slog.Logger     // nil: discards
}

// CodeNeeded is the error of Config.SignIn for a right password where a code is asked for too.
type CodeNeeded struct {
	Token string // stands for the password in Config.FinishSignIn
}

// Error implements error.
func (*CodeNeeded) Error() string { return "a code of the second factor is needed" }

// WrongCode is the code of the fault of Config.FinishSignIn after which another code may be tried.
const WrongCode = "wrong_code"

// What Config.Limit counts.
const (
	LimitSearch  = "search"  // also the suggestions for who is typing
	LimitView    = "view"    // of an article
	LimitReact   = "react"   // reactions and feedback
	LimitSignIn  = "sign-in" // also what was right
	LimitContact = "contact" // messages
)

// Handler serves the sites of a knowledge base.
type Handler struct {
	cfg      Config
	base     *url.URL
	builtin  func() (*dress, error) // the built-in theme, compiled when a page first needs it
	cache    *cache
	dresses  *dresses
	contents *contents
	hosts    *hosts
	spent    spent
}

// New makes a handler. What is missing in cfg is an Invalid fault.
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
	h := &Handler{cfg: cfg, base: base, builtin: sync.OnceValues(builtin), dresses: &dresses{byKey: map[dressKey]*dress{}}, contents: newContents(maxContents)}
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
	locales []string  // that the site can be read in
	preview preview

	stamp    stamp  // of what is read: when the page may be kept
	styles   string // that the page has for its content
	unstable bool   // others would see another page
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// Owns reports whether the host of a request is one that sites have for themselves, so
// that nothing else is served there. A host that becomes one, or is none any more, is
// noticed within a second.
func (h *Handler) Owns(r *http.Request) bool {
	return h.hosts.owned(r.Context(), r.Host, h.cfg.Now())
}

// ownable reports whether a site may have a host for itself.
func (h *Handler) ownable(name string) bool {
	if name == h.base.Hostname() || name == "localhost" || len(name) > maxName {
		return false
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err != nil
}

// maxName is the length of the longest name of a host (RFC 1035 section 2.3.4).
const maxName = 255

// hosts remembers which hosts are those of sites: every request asks.
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

// maxHosts bounds how many hosts are remembered: clients may name any.
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
	if err != nil { // it stays what it was
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

// ServeHTTP serves a page of a site. A request to no site is answered with 404. Where the base URL of the knowledge base
// has a path, the handler is mounted below it with [http.StripPrefix].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := h.cfg.Now()
	rw := &response{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares the value too
				panic(p)
			}
			h.cfg.Logger.ErrorContext(r.Context(), "a page of a site failed", "panic", p, "stack", string(debug.Stack()))
			h.plain(rw, http.StatusInternalServerError, "This did not work. Try again later.")
		}
		if h.cfg.Logger.Enabled(r.Context(), slog.LevelDebug) {
			h.cfg.Logger.DebugContext(r.Context(), "site", "method", r.Method, "status", rw.status, "duration", h.cfg.Now().Sub(begin))
		}
	}()
	hd := rw.Header()
	hd["X-Content-Type-Options"] = nosniff
	hd["Referrer-Policy"] = referrer
	if err := h.serve(rw, r); err != nil {
		h.fail(rw, r, err)
	}
}

// The values of header fields that all answers have.
var (
	nosniff  = []string{"nosniff"}
	referrer = []string{"strict-origin-when-cross-origin"}
)

// response knows the status that was written.
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

// fail answers where there is no page of a site to say it.
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
		h.plain(w, http.StatusInternalServerError, "This did not work. Try again later.")
	}
}

func (h *Handler) plain(w *response, status int, text string) {
	if w.status != 0 {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have gone
}

// serve finds the site and what is asked of it.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	mounted := ""
	if !h.Owns(r) {
		mounted = strings.TrimSuffix(h.base.Path, "/")
		r = below(mounted, r)
	}
	if h.cache.serve(w, r) {
		return nil
	}
	s, rest, at, err := h.find(r.Context(), hostname(r.Host), strings.TrimPrefix(r.URL.Path, mounted))
	if err != nil {
		return err
	}
	v := &visit{h: h, w: w, r: r, site: s, stamp: at, path: rest, base: strings.TrimSuffix(r.URL.Path, rest)}
	if rest == "/" { // also where the slash is missing
		v.base = strings.TrimSuffix(r.URL.Path, "/")
	}
	v.prefix = v.base
	return v.route()
}

// below is a request as its sender sees it, when the handler is mounted below the path of the base URL: http.StripPrefix
// has taken that away.
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

// find finds the site at an address, what of the path is below it, and a state of its account that was read before the
// site. Which account to ask is known from the last visit; at the first one the site is read once more.
func (h *Handler) find(ctx context.Context, host, path string) (s kb.Site, rest string, at stamp, err error) {
	if strings.Contains(path, "\x00") {
		return s, "", at, fault.Missing("site", 0)
	}
	account := h.cache.accountAt(host, path)
	if account != 0 {
		at = h.cache.now(ctx, account)
	}
	if s, rest, err = h.cfg.KB.FindSite(ctx, host, path); err != nil || s.AccountID == account {
		return s, rest, at, err
	}
	at = h.cache.now(ctx, s.AccountID)
	if at == (stamp{}) {
		return s, rest, at, nil
	}
	again, rest, err := h.cfg.KB.FindSite(ctx, host, path)
	if err != nil {
		return s, rest, at, err
	}
	if again.AccountID != s.AccountID { // it is moving: nothing of it is kept
		return again, rest, stamp{}, nil
	}
	h.cache.learn(host, again)
	return again, rest, at, nil
}

// enter makes the visitor: not on a private site that the caller is no member of.
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

// who is the caller: as the application says, else as the cookie does.
func (v *visit) who() kb.Caller {
	if v.h.cfg.Caller != nil {
		if c, err := v.h.cfg.Caller(v.r); err == nil && c != nil && c.UserID() != 0 {
			return c
		}
	}
	return v.session()
}

// member reports whether the caller may see how the site is made.
func (v *visit) member() bool {
	if v.caller == nil || v.caller.UserID() == 0 {
		return false
	}
	e, err := v.h.cfg.KB.Editor(v.ctx(), v.caller, v.site.ID)
	return err == nil && e.Holds(kb.ThemesView)
}

// best is the language of the site that comes nearest to those wanted, "" for none.
func best(locales, wanted []string) string {
	var t kb.Text
	for _, l := range locales {
		t.Translations = append(t.Translations, kb.Translation{Locale: l, Title: l})
	}
	return t.Serve("", wanted...).Locale
}

// preferred is the language to send a reader to who names none.
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

// redirect sends the reader to a path below the site's address.
func (v *visit) redirect(status int, path string) error {
	h := v.w.Header()
	h.Set("Location", v.prefix+path)
	switch status {
	case http.StatusMovedPermanently: // not for ever: a language or a title may come back
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
	v.h.plain(&response{ResponseWriter: v.w}, http.StatusMethodNotAllowed, "This method is not possible here.")
	return false
}
