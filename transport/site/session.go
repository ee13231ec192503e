package site

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage/fault"
)

// cookieName is the name of the session cookie of a private site. The session identifies the reader, is valid for one site,
// and grants nothing else.
const cookieName = "helpwright_site"

// sessionLife is how long a reader stays signed in.
const sessionLife = 7 * 24 * time.Hour

// formLife is how long a form may stay open.
const formLife = 12 * time.Hour

// session returns the user in the cookie, 0 without one.
func (v *visit) session() kb.Caller {
	c, err := v.r.Cookie(cookieName)
	if err != nil || v.h.cfg.User == nil {
		return nil
	}
	data, age, ok := v.h.unseal("session", v.site.ID, c.Value)
	id, err := strconv.ParseInt(data, 10, 64)
	if !ok || err != nil || age > sessionLife || id == 0 {
		return nil
	}
	return v.h.cfg.User(id)
}

func (v *visit) setSession(value string, seconds int) {
	path := v.base
	if path == "" {
		path = "/"
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: cookieName, Value: value, Path: path, MaxAge: seconds, Secure: v.secure(), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// door is the page that a private site shows to strangers at any address.
func (v *visit) door(first, rest string) error {
	var err error
	if v.Visitor, err = v.h.cfg.KB.Guest(v.ctx(), v.site.ID); err != nil { // for the texts of the page
		return err
	}
	if first == "-" && rest == "sign-in" {
		return v.signIn("")
	}
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	return v.signIn(v.path)
}

// signIn shows or processes the form; to is the path to which to continue.
func (v *visit) signIn(to string) error {
	if !v.allow(http.MethodGet, http.MethodHead, http.MethodPost) {
		return nil
	}
	if v.r.Method == http.MethodPost {
		return v.takeSignIn()
	}
	if to == "" {
		return v.showSignIn(http.StatusOK, "/", &theme.SignIn{})
	}
	return v.showSignIn(http.StatusForbidden, to, &theme.SignIn{})
}

func (v *visit) takeSignIn() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	form := &theme.SignIn{Email: v.r.PostFormValue("email"), Step: v.r.PostFormValue("step")}
	to, age, ok := v.h.unseal("sign-in", v.site.ID, v.r.PostFormValue("token"))
	if to == "" {
		to = "/"
	}
	done, err := v.attempt(form, ok && age < formLife)
	if err != nil {
		return err
	}
	if done {
		return v.redirect(http.StatusSeeOther, to)
	}
	return v.showSignIn(http.StatusForbidden, to, form)
}

// showSignIn asks for a password, or for the code that is the next step.
func (v *visit) showSignIn(status int, to string, form *theme.SignIn) error {
	kind, title, locale := theme.PageSignIn, "Sign in to read", v.formLocale(to)
	if form.Step != "" {
		kind, title = theme.PageSignInCode, "Your code"
	}
	p := v.page(kind, locale)
	p.NoIndex = true
	p.Title, p.Description, p.FeedURL = theme.Text(locale, title), "", ""
	p.Site.SearchURL, p.Site.ContactURL, p.Site.SuggestURL = "", "", ""
	p.SignIn = form
	form.URL, form.Again = v.prefix+"/-/sign-in", v.prefix+to
	form.Token = v.h.seal("sign-in", v.site.ID, to)
	if form.Problem != "" {
		form.Problem = theme.Text(locale, form.Problem)
	}
	v.languages(p, to)
	return v.write(status, kind, p)
}

// languages of the sign-in page: those of the account, as nothing about the site is disclosed here.
func (v *visit) languages(p *theme.Page, to string) {
	all := v.offered()
	_, rest, _ := strings.Cut(strings.TrimPrefix(to, "/"), "/")
	for _, l := range all {
		address := v.prefix + "/" + l
		if rest != "" {
			address += "/" + strings.TrimPrefix((&url.URL{Path: "/" + rest}).EscapedPath(), "/")
		}
		p.Locales = append(p.Locales, theme.Locale{Code: l, Name: theme.LanguageName(l), URL: address, Current: l == p.Locale})
	}
	if len(all) < 2 {
		p.Locales = nil
	}
}

func (v *visit) offered() []string {
	if len(v.locales) > 0 {
		return v.locales
	}
	if len(v.site.Languages) > 0 {
		return v.site.Languages
	}
	return []string{v.site.DefaultLocale}
}

// formLocale returns the language of a form without one in its path.
func (v *visit) formLocale(to string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(to, "/"), "/")
	if locale, ok := kb.Locale(first); ok {
		if found := best(v.offered(), []string{locale}); found != "" {
			return found
		}
	}
	return v.preferred(v.offered())
}

// Problems of a sign-in.
const (
	problemStale  = "This page was open too long. Please send it again."
	problemMuch   = "Too many messages were sent from here. Please try again later."
	problemTries  = "Too many incorrect attempts. Please wait a few minutes."
	problemPair   = "The email address or password is incorrect." // the same for all wrong pairs, and for strangers
	problemCode   = "The code is incorrect or has already been used."
	problemLong   = "This took too long. Please sign in again."
	problemFactor = "Your team requires two-factor authentication. Set it up in the desk first."
)

// attempt signs in with the submitted form. Problems and the next step are shown in the form.
func (v *visit) attempt(form *theme.SignIn, token bool) (done bool, err error) {
	switch {
	case !v.sameOrigin() || !token:
		form.Problem = problemStale
		return false, nil
	case v.limited(LimitSignIn):
		form.Problem = problemMuch
		return false, nil
	}
	id, err := v.prove(form)
	if err == nil {
		_, err = v.h.cfg.KB.Visitor(v.ctx(), v.h.cfg.User(id), v.site.ID)
	}
	if err != nil {
		return false, afterFault(form, err)
	}
	if v.stranger(id) {
		form.Step, form.Problem = "", problemPair
		return false, nil
	}
	v.setSession(v.h.seal("session", v.site.ID, strconv.FormatInt(id, 10)), int(sessionLife.Seconds()))
	return true, nil
}

// prove identifies the user by the password, or by the code requested after it.
func (v *visit) prove(form *theme.SignIn) (userID int64, err error) {
	cfg := v.h.cfg
	switch {
	case form.Step == "" && cfg.SignIn != nil:
		return cfg.SignIn(v.ctx(), form.Email, v.r.PostFormValue("password"), cfg.Addr(v.r))
	case form.Step != "" && cfg.FinishSignIn != nil:
		return cfg.FinishSignIn(v.ctx(), form.Step, v.r.PostFormValue("code"), cfg.Addr(v.r))
	}
	return 0, fault.New(fault.Unauthenticated, "Sign-in is not available here.")
}

// afterFault shows a failure in the form. It returns the error if the reader cannot do anything about it.
func afterFault(form *theme.SignIn, err error) error {
	if code, ok := errors.AsType[*CodeNeeded](err); ok {
		form.Step = code.Token
		return nil
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	atCode := form.Step != ""
	switch {
	case f.Kind == fault.RateLimited:
		form.Problem = problemTries
		return nil
	case f.Kind == fault.Unauthenticated && f.Code == WrongCode && atCode:
		form.Problem = problemCode
		return nil
	case f.Kind == fault.Unauthenticated && atCode:
		form.Problem = problemLong
	case f.Kind == fault.Forbidden:
		form.Problem = problemFactor
	case f.Kind == fault.Unauthenticated, f.Kind == fault.NotFound, f.Kind == fault.Invalid:
		form.Problem = problemPair
	default:
		return err
	}
	form.Step = ""
	return nil
}

// stranger reports whether a user is not a member of the account of the site.
func (v *visit) stranger(id int64) bool {
	_, err := v.h.cfg.KB.Editor(v.ctx(), v.h.cfg.User(id), v.site.ID)
	return err != nil
}

func (v *visit) signOut() error {
	if !v.allow(http.MethodPost) {
		return nil
	}
	if v.sameOrigin() {
		v.setSession("", -1)
	}
	return v.redirect(http.StatusSeeOther, "/")
}
