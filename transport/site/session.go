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

// cookieName is that of the session of a private site. It holds who reads, is good for
// the one site, and opens nothing else.
const cookieName = "helpwright_site"

// sessionLife is how long a reader stays signed in.
const sessionLife = 7 * 24 * time.Hour

// formLife is how long a form may stay open.
const formLife = 12 * time.Hour

// session is who the cookie says, nobody without one.
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

// door is what a private site shows to strangers, whatever they ask for.
func (v *visit) door(first, rest string) error {
	var err error
	if v.Visitor, err = v.h.cfg.KB.Guest(v.ctx(), v.site.ID); err != nil { // for the words of the page
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

// signIn shows the form, with the path to go on to, or takes it.
func (v *visit) signIn(to string) error {
	if !v.allow(http.MethodGet, http.MethodHead, http.MethodPost) {
		return nil
	}
	locale := v.formLocale(to)
	p := v.page(theme.PageSignIn, locale)
	p.NoIndex = true
	p.Title, p.Description, p.FeedURL = theme.Text(locale, "Sign in to read"), "", ""
	p.Site.SearchURL, p.Site.ContactURL, p.Site.SuggestURL = "", "", ""
	p.SignIn = &theme.SignIn{URL: v.prefix + "/-/sign-in"}
	status := http.StatusForbidden
	if v.r.Method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
		p.SignIn.Email = v.r.PostFormValue("email")
		back, age, ok := v.h.unseal("sign-in", v.site.ID, v.r.PostFormValue("token"))
		to = back
		problem, err := v.check(ok && age < formLife)
		if err != nil {
			return err
		}
		if problem == "" {
			return v.redirect(http.StatusSeeOther, to)
		}
		p.SignIn.Problem = theme.Text(locale, problem)
	} else if to == "" {
		status = http.StatusOK
	}
	if to == "" {
		to = "/"
	}
	p.SignIn.Token = v.h.seal("sign-in", v.site.ID, to)
	v.languages(p, to)
	return v.write(status, theme.PageSignIn, p)
}

// languages of the door: those of the account, as nothing of the site is known here.
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

// formLocale is the language of a form that has none in its path.
func (v *visit) formLocale(to string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(to, "/"), "/")
	if locale, ok := kb.Locale(first); ok {
		if found := best(v.offered(), []string{locale}); found != "" {
			return found
		}
	}
	return v.preferred(v.offered())
}

// check signs in with what was filled in, and says what is wrong with it.
func (v *visit) check(token bool) (problem string, err error) {
	switch {
	case !v.sameOrigin() || !token:
		return "This page was open for too long. Please send it again.", nil
	case v.limited(LimitSignIn):
		return "Too much was sent from here. Please try again later.", nil
	case v.h.cfg.SignIn == nil:
		return "The email address or the password is not right.", nil
	}
	id, err := v.h.cfg.SignIn(v.ctx(), v.r.PostFormValue("email"), v.r.PostFormValue("password"), v.h.cfg.Addr(v.r))
	if err == nil {
		_, err = v.h.cfg.KB.Visitor(v.ctx(), v.h.cfg.User(id), v.site.ID)
	}
	var f *fault.Error
	switch {
	case err == nil && v.stranger(id):
	case err == nil:
		v.setSession(v.h.seal("session", v.site.ID, strconv.FormatInt(id, 10)), int(sessionLife.Seconds()))
		return "", nil
	case errors.As(err, &f) && (f.Kind == fault.Unauthenticated || f.Kind == fault.NotFound || f.Kind == fault.Invalid):
	default:
		return "", err
	}
	return "The email address or the password is not right.", nil // one for all wrong pairs
}

// stranger reports whether a user is no member of the account of the site.
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
