package desk

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/status"
)

//go:embed templates
var templateFiles embed.FS

// parse parses the templates of a language.
func (h *Handler) parse(lang string) (*template.Template, error) {
	w := speak(lang)
	t, err := template.New("").Funcs(template.FuncMap{
		"t": w.T, "n": w.N, "count": count, "icon": icon, "asset": h.assetURL, "url": h.url, "join": strings.Join,
		"dict": dict, "lang": func() string { return lang },
		// In an attribute, template.HTML would lose its tags.
		"source": func(h template.HTML) string { return string(h) },
	}).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "desk: templates", err)
	}
	return t, nil
}

// draw executes a template in the language of the member.
func (v *visit) draw(out io.Writer, name string, data any) error {
	t, err := v.h.pages[v.words.lang]()
	if err != nil {
		return err
	}
	if err := t.ExecuteTemplate(out, name, data); err != nil {
		return fault.Wrap(fault.Internal, "desk: "+name, err)
	}
	return nil
}

// dict passes several values to a template.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict needs pairs")
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// screen describes a page.
type screen struct {
	template string // of its main part
	title    string
	data     any
	parts    map[string]string // templates of its other parts, by the ids of their elements
	nav      string            // the marked item in the sidebar
	bare     bool              // without a sidebar
	settings bool              // with the navigation of the settings
	status   int               // 0: 200
}

// frame is the surroundings of the main part of a page.
type frame struct {
	Title   string
	Lang    string
	Dir     string // of its script: ltr or rtl
	Bare    bool
	Sidebar *sidebar
	Toast   *toast
	Events  string // address of the stream of changes; "" for none
	Heard   string // the event after which to listen; "" for now
	Prefix  string
	At      string // address of this page
	ID      string // of the request
	Me      int64  // the member
}

// targetHeader names the elements that the script requests instead of the whole page.
const targetHeader = "Desk-Target"

// heardHeader is the last event before a page was read, for the script.
const heardHeader = "Desk-Heard"

// show answers with a page, or with the requested parts of it.
func (v *visit) show(s screen) error {
	f := frame{Title: s.title, Lang: v.words.lang, Dir: direction(v.words.lang), Bare: s.bare, Prefix: v.h.cfg.Prefix, At: v.h.url(v.r.URL.RequestURI()), ID: v.id, Me: v.user.ID}
	if !s.bare {
		var err error
		if f.Sidebar, err = v.sidebar(s.nav); err != nil {
			return err
		}
		if s.settings {
			v.settingsNav(f.Sidebar, s.nav)
		}
		f.Events, f.Heard = v.at("/events"), v.heard
		v.w.Header().Set(heardHeader, v.heard)
	}
	f.Toast = v.takeToast()
	out := &bytes.Buffer{}
	targets := strings.Fields(v.r.Header.Get(targetHeader))
	if len(targets) == 0 || s.bare {
		for _, part := range []struct {
			template string
			data     any
		}{{"layout-begin", f}, {s.template, s.data}, {"layout-end", f}} {
			if err := v.draw(out, part.template, part.data); err != nil {
				return err
			}
		}
	} else if err := v.showParts(out, f, s, targets); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Vary", targetHeader)
	if s.status != 0 {
		v.w.WriteHeader(s.status)
	}
	_, _ = v.w.Write(out.Bytes()) // the browser may have disconnected
	return nil
}

// showParts writes the requested parts that the page has.
func (v *visit) showParts(out *bytes.Buffer, f frame, s screen, targets []string) error {
	fmt.Fprintf(out, "<title>%s</title>\n", template.HTMLEscapeString(s.title))
	for _, id := range targets {
		name, data := s.parts[id], s.data
		switch id {
		case "main":
			name = s.template
		case "sidebar":
			name, data = "sidebar", f.Sidebar
		case "toast":
			name, data = "toast", f.Toast
		case "tabs":
			name, data = "tabs", f.Sidebar
		case "bell":
			name, data = "bell", f.Sidebar.Bell
		}
		if name == "" {
			continue
		}
		fmt.Fprintf(out, "<template data-swap=\"%s\">", template.HTMLEscapeString(id))
		if err := v.draw(out, name, data); err != nil {
			return err
		}
		out.WriteString("</template>\n")
	}
	return nil
}

// problem is the content of an error page.
type problem struct {
	Icon, Title, Text, ID string
	Retry, Home           string
}

// fail answers with an error page, or redirects to the sign-in page.
func (v *visit) fail(err error) {
	module := strings.Contains(v.r.Header.Get("Accept"), "application/json")
	if fault.Is(err, fault.Unauthenticated) && v.r.Method == http.MethodGet && !module && v.r.URL.Path != "/sign-in" {
		_ = v.see(v.signInURL()) // never fails
		return
	}
	if fault.Is(err, fault.Forbidden) && codeOf(err) == identity.SecondFactorRequired && v.h.cfg.Authenticate == nil {
		_ = v.see(v.h.url("/second-factor")) // never fails
		return
	}
	code := status.Of(err)
	gone := v.ctx().Err() != nil // the browser has cancelled the request
	if code >= http.StatusInternalServerError && !gone {
		v.h.cfg.Logger.ErrorContext(v.ctx(), "a page failed", "request_id", v.id, "error", err)
	}
	if module {
		p := v.explain(err, code)
		v.w.Header().Set("Content-Type", "application/json")
		v.w.WriteHeader(code)
		_ = v.json(map[string]string{"error": cmp.Or(p.Text, p.Title)}) // the browser may have disconnected
		return
	}
	s := screen{template: "problem", data: v.explain(err, code), status: code, bare: v.Desk == nil}
	s.title = s.data.(problem).Title //nolint:forcetypeassert // it was just made
	if err := v.show(s); err != nil && !gone {
		v.h.cfg.Logger.ErrorContext(v.ctx(), "the page of an error failed", "request_id", v.id, "error", err)
		http.Error(v.w, s.title, code)
	}
}

// explain describes an error and its remedy.
func (v *visit) explain(err error, code int) problem {
	w := v.words
	p := problem{Icon: "alert", ID: v.id, Home: v.h.url("/")}
	switch code {
	case http.StatusNotFound:
		p.Icon, p.Title, p.Text = "search", w.T("Page not found"), w.T("It may have been deleted, or it may belong to a mailbox you cannot access.")
	case http.StatusForbidden:
		p.Icon, p.Title, p.Text = "lock", w.T("You cannot do this"), w.T("Ask an admin for permission.")
	case http.StatusUnauthorized:
		p.Icon, p.Title, p.Text, p.Home = "lock", w.T("Sign in again"), w.T("Your session has ended."), v.signInURL()
	case http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusRequestEntityTooLarge, http.StatusBadRequest,
		http.StatusPreconditionFailed, http.StatusUnsupportedMediaType:
		p.Title, p.Text = w.T("That did not work"), v.reason(err, code)
	case http.StatusServiceUnavailable:
		p.Title, p.Text = w.T("This page could not be loaded"), w.T("The database did not answer. Your draft is safe.")
	default:
		p.Title, p.Text = w.T("This page could not be loaded"), w.T("Your draft is safe.")
	}
	if v.r.Method != http.MethodGet && code >= http.StatusInternalServerError {
		p.Title = w.T("That did not work")
		if code != http.StatusServiceUnavailable {
			p.Text = v.reason(err, code)
		}
	}
	if v.r.Method == http.MethodGet && code != http.StatusNotFound && code != http.StatusForbidden {
		p.Retry = v.h.url(v.r.URL.RequestURI())
	}
	return p
}

// may reports whether the member has a permission.
func (v *visit) may(p identity.Permission) bool { return v.Holds(p) }
