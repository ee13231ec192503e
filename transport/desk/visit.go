package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/cookie"
	"github.com/helpwright/helpwright/transport/internal/pattern"
	"github.com/helpwright/helpwright/transport/internal/trace"
)

// visit is one request.
type visit struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	id     string // request id, for error reports
	words  words
	zone   *time.Location
	now    time.Time
	caller helpdesk.Caller
	user   identity.User

	// For the pages of an account.
	*helpdesk.Desk
	account identity.Account
	numbers *numbers // of the sidebar; nil if not read yet
	memo    *memo    // the member's cached data
	last    int64    // the last event before the page was read; 0 if not known
	heard   string   // the last event before the page was read; "" if not known
}

// service returns the service, which records the client's address in the audit log.
func (v *visit) service() *helpdesk.Service { return v.h.cfg.Service.From(v.h.cfg.Addr(v.r)) }

func (v *visit) ctx() context.Context { return v.r.Context() }

// visitor serves a page that needs no sign-in.
func (h *Handler) visitor(fn func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := h.newVisit(w, r)
		defer v.rescue()
		if err := cookie.SameSite(r, ""); err != nil {
			v.fail(err)
			return
		}
		if err := fn(v); err != nil {
			v.fail(err)
		}
	}
}

// member serves a page of an account to one of its members.
func (h *Handler) member(fn func(*visit) error) http.HandlerFunc {
	return h.visitor(func(v *visit) error {
		if err := v.authenticate(); err != nil {
			return err
		}
		if err := v.enter(v.number("account")); err != nil {
			return err
		}
		var err error
		if v.user, err = memoize(v.memo, &v.memo.user, v.readUser); err != nil {
			return err
		}
		v.prefer()
		v.noteEvents()
		return fn(v)
	})
}

// noteEvents records the position in the log of events before a page is read, so that the browser misses no change made
// while the page is rendered and loaded.
func (v *visit) noteEvents() {
	target := v.r.Header.Get(targetHeader)
	if v.r.Method == http.MethodGet && v.memo.begun != (time.Time{}) && (target == "" || slices.Contains(strings.Fields(target), "main")) {
		v.heard = itoa(v.last)
	}
}

func (h *Handler) newVisit(w http.ResponseWriter, r *http.Request) *visit {
	if _, path, ok := strings.Cut(r.Pattern, " "); ok {
		pattern.Note(r.Context(), h.cfg.Prefix+path)
	}
	v := &visit{h: h, w: w, r: r, id: cmp.Or(trace.Of(r.Context()).Request, rand.Text()[:10]), now: h.cfg.Now(), memo: &memo{}}
	v.words = chooseWords(r)
	v.zone = zoneOf(r)
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "+
		"connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Request-ID", v.id)
	return v
}

// rescue answers if a handler has panicked.
func (v *visit) rescue() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	v.h.cfg.Logger.ErrorContext(v.ctx(), "a page panicked", "request_id", v.id, "panic", p, "stack", string(debug.Stack()))
	v.fail(fault.New(fault.Internal, "Something went wrong here."))
}

// signedIn returns the user signed in. Without a session it returns an Unauthenticated fault.
func (v *visit) signedIn() error {
	err := v.authenticate()
	if err == nil {
		v.user, err = v.readUser()
		v.prefer()
	}
	return err
}

// authenticate is signedIn without the user's name.
func (v *visit) authenticate() error {
	var err error
	if v.h.cfg.Authenticate != nil {
		v.caller, err = v.h.cfg.Authenticate(v.r)
	} else if secret := cookie.Secret(v.r, v.h.cfg.Secure(v.r)); secret != "" {
		v.caller, err = v.h.cfg.Service.Authenticate(v.ctx(), secret)
	}
	if err == nil && v.caller.UserID() == 0 {
		err = fault.New(fault.Unauthenticated, "Sign in first.")
	}
	return err
}

func (v *visit) readUser() (identity.User, error) {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return identity.User{}, err
	}
	return admin.Me(v.ctx())
}

// enter opens an account.
func (v *visit) enter(account int64) error {
	var err error
	if v.Desk, err = v.service().Desk(v.ctx(), v.caller, account); err != nil {
		return err
	}
	if err := v.Touch(v.ctx()); err != nil {
		return err
	}
	if v.h.cfg.Lagging && v.r.Method != http.MethodPost {
		v.Desk = v.Desk.Lagging()
	}
	if err := v.remember(); err != nil {
		return err
	}
	v.account, err = memoize(v.memo, &v.memo.account, func() (identity.Account, error) { return v.Account().Get(v.ctx()) })
	return err
}

// number returns a part of the path as a number, 0 if it is not one.
func (v *visit) number(name string) int64 { return number(v.r.PathValue(name)) }

// field returns a field of the form as a number, 0 if it is not one.
func (v *visit) field(name string) int64 { return number(v.r.PostFormValue(name)) }

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// url returns the address of a page below the handler's prefix.
func (h *Handler) url(path string) string { return h.cfg.Prefix + path }

// at returns the address of a page of the account.
func (v *visit) at(path string) string {
	return v.h.url("/a/" + strconv.FormatInt(v.AccountID(), 10) + path)
}

// see answers a POST with a redirect.
func (v *visit) see(address string) error {
	v.w.Header().Set("Location", address)
	v.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// back returns the address of the form's page as the form names it, if it is a page of the desk.
func (v *visit) back(or string) string { return v.safe(v.r.PostFormValue("back"), or) }

// missing answers an address without a page.
func (v *visit) missing() error { return fault.Missing("page", 0) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
