package site

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Message is a message from the contact form.
type Message struct {
	Name, Email string
	Subject     string
	Text        string              // plain text
	Locale      string              // of the page
	Fields      map[string][]string // answers to the questions, by key
	Files       []*multipart.FileHeader
}

// Question is a field that the contact form asks for. Nobody has to answer it.
type Question struct {
	Key     string
	Label   string
	Type    string // text, number, boolean, date, datetime, select, multiselect or url
	Options []Option
	Valid   func(values []string) bool // checks what was entered; those of a datetime without a zone are in UTC. Required
}

// Option is a possible answer.
type Option struct{ Value, Label string }

// questionPrefix begins the names of the controls of questions.
const questionPrefix = "f_"

// invalid says what is wrong with the answer to a question.
func (q Question) invalid() string {
	switch q.Type {
	case "number":
		return "Enter a number such as 12.5"
	case "date":
		return "Enter a date"
	case "datetime":
		return "Enter a date and a time"
	case "boolean", "select", "multiselect":
		return "Choose one of the options"
	case "url":
		return "Enter a web address such as https://example.com"
	}
	return "Shorten this text"
}

// ask returns the control of a question with what was entered.
func (q Question) ask(locale string, entered []string) theme.ContactField {
	f := theme.ContactField{Name: questionPrefix + q.Key, Label: q.Label, Type: q.Type, Value: strings.Join(entered, " ")}
	options := q.Options
	if q.Type == "boolean" {
		options = []Option{{"true", theme.Text(locale, "Yes")}, {"false", theme.Text(locale, "No")}}
	}
	for _, o := range options {
		f.Options = append(f.Options, theme.ContactOption{Value: o.Value, Label: o.Label, Chosen: slices.Contains(entered, o.Value)})
	}
	return f
}

// answered reads the answers from the form, and asks the questions again. Times are in the reader's zone if a script could tell.
func (v *visit) answered(p *theme.Page, questions []Question, problem func(field, text string, args ...any)) map[string][]string {
	var answers map[string][]string
	for i, q := range questions {
		name := questionPrefix + q.Key
		entered := slices.DeleteFunc(slices.Clone(v.r.PostForm[name]), func(s string) bool { return strings.TrimSpace(s) == "" })
		p.Contact.Fields[i] = q.ask(p.Locale, entered)
		values := entered
		if at := v.r.PostFormValue(name + "_at"); q.Type == "datetime" && at != "" && len(entered) > 0 {
			values = []string{at}
		}
		if len(values) == 0 {
			continue
		}
		if answers == nil {
			answers = map[string][]string{}
		}
		if answers[q.Key] = values; !q.Valid(values) {
			problem(name, q.Label+": "+theme.Text(p.Locale, q.invalid()))
			p.Contact.Fields[i].Problem = theme.Text(p.Locale, q.invalid())
		}
	}
	return answers
}

// MaxFiles is the maximum number of files in a message.
const MaxFiles = 5

// quickest is the time below which no person can fill in the contact form.
const quickest = 2 * time.Second

// maxSpent is the number of tokens in each of two generations.
const maxSpent = 10_000

// spent remembers the tokens of submitted forms: each is valid for one message.
type spent struct {
	mu         sync.Mutex
	young, old map[string]bool
}

// use reports whether a token was not used yet.
func (s *spent) use(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young[token] || s.old[token] {
		return false
	}
	if s.young == nil || len(s.young) >= maxSpent {
		s.young, s.old = map[string]bool{}, s.young
	}
	s.young[token] = true
	return true
}

// worked checks a proof of work: the hash of salt and number begins with the required number of zero bits.
func worked(salt, number string, bits int) bool {
	if bits <= 0 {
		return true
	}
	if number == "" || len(number) > 20 {
		return false
	}
	sum := sha256.Sum256([]byte(salt + ":" + number))
	return binary.BigEndian.Uint32(sum[:])>>(32-min(bits, 31)) == 0
}

// contact shows or processes the contact form.
func (v *visit) contact(locale string) error {
	if !v.allow(http.MethodGet, http.MethodHead, http.MethodPost) {
		return nil
	}
	p := v.page(theme.PageContact, locale)
	p.Title, p.URL = theme.Text(locale, "Contact us"), v.absolute("/"+locale+"/contact")
	v.crumbs(p)
	v.menu(p, v.locales, inLanguage("/contact"), "/contact")
	c := &theme.Contact{URL: v.prefix + "/" + locale + "/contact", MaxFiles: MaxFiles, MaxMB: v.h.cfg.MaxUpload >> 20}
	p.Contact = c
	status := http.StatusOK
	if c.Closed = v.h.cfg.Contact == nil || v.site.MailboxID == 0 || v.preview.signed; c.Closed {
		return v.write(status, theme.PageContact, p)
	}
	questions, err := v.h.questions(v.ctx(), v.site)
	if c.Closed = fault.Is(err, fault.NotFound); c.Closed { // the mailbox was deleted
		return v.write(status, theme.PageContact, p)
	} else if err != nil {
		return err
	}
	for _, q := range questions {
		c.Fields = append(c.Fields, q.ask(locale, nil))
	}
	if v.r.Method == http.MethodPost {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, v.h.cfg.MaxUpload+1<<20)
		err := v.submitMessage(p, questions)
		if v.r.MultipartForm != nil {
			defer func() { _ = v.r.MultipartForm.RemoveAll() }() // temporary files
		}
		if err != nil {
			return err
		}
		if len(c.Problems) > 0 {
			status = http.StatusUnprocessableEntity
		}
	}
	c.Token = v.h.seal("contact", v.site.ID, strconv.FormatInt(v.h.cfg.Now().UnixNano(), 36)+" "+v.source())
	c.Salt, c.Bits = c.Token, max(v.h.cfg.WorkBits, 0)
	return v.write(status, theme.PageContact, p)
}

// questions returns what the contact form of a site asks besides the message.
func (h *Handler) questions(ctx context.Context, s kb.Site) ([]Question, error) {
	if h.cfg.Questions == nil {
		return nil, nil
	}
	return h.cfg.Questions(ctx, s)
}

// submitMessage reads the form and sends the message.
func (v *visit) submitMessage(p *theme.Page, questions []Question) error {
	c := p.Contact
	problem := func(field, text string, args ...any) {
		text = theme.Text(p.Locale, text, args...)
		c.Problems = append(c.Problems, theme.FieldProblem{Field: field, Text: text})
		switch field {
		case "about":
			c.AboutProblem = text
		case "message":
			c.MessageProblem = text
		case "email":
			c.EmailProblem = text
		case "name":
			c.NameProblem = text
		case "files":
			c.FilesProblem = text
		}
	}
	if err := v.r.ParseMultipartForm(1 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			problem("files", "The files are larger than %s MB in total", c.MaxMB)
			return nil
		}
		return fault.New(fault.NotFound, "the form cannot be read")
	}
	value := func(name string) string { return strings.TrimSpace(v.r.PostFormValue(name)) }
	c.About, c.Message, c.Name, c.Email = value("about"), value("message"), value("name"), value("email")
	c.Asked = value("asked") != ""
	var files []*multipart.FileHeader
	if v.r.MultipartForm != nil {
		files = slices.DeleteFunc(v.r.MultipartForm.File["files"], func(f *multipart.FileHeader) bool { return f.Filename == "" && f.Size == 0 })
	}
	v.inspect(p, files, problem)
	answers := v.answered(p, questions, problem)
	if len(c.Problems) > 0 {
		return nil
	}
	if !c.Asked { // without a script, articles are suggested now
		c.Asked = true
		found, err := v.Search(v.ctx(), c.About, []string{p.Locale}, kb.ArticleFilter{}, storage.PageRequest{Limit: 3})
		if err != nil {
			return err
		}
		for _, f := range found.Items {
			c.Suggestions = append(c.Suggestions, v.entry(p, f.ArticleRevision))
		}
		if len(c.Suggestions) > 0 {
			return nil
		}
	}
	return v.deliver(p, answers, files, problem)
}

// inspect checks a message for problems.
func (v *visit) inspect(p *theme.Page, files []*multipart.FileHeader, problem func(field, text string, args ...any)) {
	c := p.Contact
	if c.About == "" || len(c.About) > 900 {
		problem("about", "Tell us in a few words what it is about")
	}
	if c.Message == "" || len(c.Message) > 100_000 {
		problem("message", "Write your message")
	}
	if !plausible(c.Email) {
		problem("email", "Enter an email address such as name@example.com")
	}
	if len(c.Name) > 400 {
		c.Name = strings.ToValidUTF8(c.Name[:400], "")
	}
	var size int64
	for _, f := range files {
		size += f.Size
	}
	if len(files) > MaxFiles {
		problem("files", "Choose up to %s files", MaxFiles)
	} else if size > v.h.cfg.MaxUpload {
		problem("files", "The files are larger than %s MB in total", c.MaxMB)
	}
}

// plausible reports whether an address looks deliverable; the recipient of the message checks it thoroughly.
func plausible(email string) bool {
	local, domain, ok := strings.Cut(email, "@")
	return ok && local != "" && strings.Contains(strings.Trim(domain, "."), ".") && !strings.ContainsAny(email, " ,;<>\"\n\r\t") &&
		!strings.Contains(domain, "@") && len(email) <= 254
}

// deliver sends the message unless it looks automated.
func (v *visit) deliver(p *theme.Page, answers map[string][]string, files []*multipart.FileHeader, problem func(field, text string, args ...any)) error {
	c, token := p.Contact, v.r.PostFormValue("token")
	data, age, ok := v.h.unseal("contact", v.site.ID, token)
	switch {
	case !v.sameOrigin() || !ok || age > formLife:
		problem("", "This page was open too long. Please send it again.")
	case age < quickest:
		problem("", "That was very quick. Please wait a few seconds and send it again.")
	case v.limited(LimitContact):
		problem("", "Too many messages were sent from here. Please try again later.")
	case v.r.PostFormValue("work") != "" && !worked(token, v.r.PostFormValue("work"), v.h.cfg.WorkBits), !v.h.spent.use(token):
		problem("", "This page was open too long. Please send it again.")
	case v.r.PostFormValue("work") == "" && v.limited(LimitContact): // counts twice
		problem("", "Too many messages were sent from here. Please try again later.")
	}
	if len(c.Problems) > 0 {
		return nil
	}
	if v.r.PostFormValue("website") != "" { // people do not see this field
		c.Sent = true
		return nil
	}
	err := v.h.cfg.Contact(v.ctx(), v.site, Message{
		Name: c.Name, Email: c.Email, Subject: c.About, Text: c.Message, Locale: p.Locale, Fields: answers, Files: files,
	})
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		c.Sent = true
		v.wrote(p.Locale, data)
	case f != nil && (f.Kind == fault.Invalid || f.Kind == fault.TooLarge):
		v.refused(f, files, problem)
	case f != nil && f.Kind == fault.NotFound: // the mailbox was deleted
		c.Closed = true
	default:
		return err
	}
	return nil
}

// refused shows why a message was not accepted.
func (v *visit) refused(f *fault.Error, files []*multipart.FileHeader, problem func(field, text string, args ...any)) {
	for field := range f.Fields {
		if strings.HasPrefix(field, "fields[") { // it was changed or deleted while the page was open
			problem("", "This page was open too long. Please send it again.")
			return
		}
		switch field {
		case "email", "to":
			problem("email", "Enter an email address such as name@example.com")
			return
		case "file", "files", "filename":
			name := ""
			if len(files) > 0 {
				name = files[0].Filename
			}
			if f.Resource != "" {
				name = f.Resource
			}
			problem("files", "%s cannot be sent: this type of file is not accepted", name)
			return
		}
	}
	if f.Kind == fault.TooLarge {
		problem("files", "The files are larger than %s MB in total", v.h.cfg.MaxUpload>>20)
		return
	}
	problem("message", "Write your message")
}

// view counts a view of an article. It is requested by scripts and, without them, by an image, so that caches may store the
// pages.
func (v *visit) view(name string) error {
	if !v.allow(http.MethodGet, http.MethodHead, http.MethodPost) {
		return nil
	}
	h := v.w.Header()
	h.Set("Cache-Control", "no-store")
	id, ok := kb.ParsePageName(name)
	if ok && v.r.Method != http.MethodHead && !robot(v.r.UserAgent()) && v.sameOrigin() && !v.limited(LimitView) {
		switch err := v.CountView(v.ctx(), id); {
		case err == nil:
			v.count(Reading{What: Viewed, Locale: v.site.DefaultLocale, ArticleID: id})
		case !fault.Is(err, fault.NotFound):
			return err
		}
	}
	if v.r.Method == http.MethodPost {
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	h.Set("Content-Type", "image/gif")
	_, err := v.w.Write([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	return err
}

// robot reports whether a client identifies itself as something other than a person's browser.
func robot(agent string) bool {
	agent = strings.ToLower(agent)
	if agent == "" {
		return true
	}
	for _, word := range []string{"bot", "crawl", "spider", "slurp", "preview", "fetch", "monitor", "curl", "wget", "python", "go-http", "java/", "headless", "lighthouse", "facebookexternalhit", "archiver", "scan"} {
		if strings.Contains(agent, word) {
			return true
		}
	}
	return false
}

// react records a reader's reaction to an article, and then a comment. It redirects to the article's page with a thank-you,
// so that a reload sends nothing.
func (v *visit) react(name string) error {
	if !v.allow(http.MethodGet, http.MethodHead, http.MethodPost) {
		return nil
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 256<<10)
	id, ok := kb.ParsePageName(name)
	locale, known := kb.Locale(v.r.URL.Query().Get("in"))
	if !known || !slices.Contains(v.locales, locale) {
		locale = v.preferred(v.locales)
	}
	if !ok {
		return v.lost(locale)
	}
	a, err := v.Published(v.ctx(), id)
	if fault.Is(err, fault.NotFound) {
		return v.lost(locale)
	} else if err != nil {
		return err
	}
	t := a.Revision.Serve(v.site.DefaultLocale, locale)
	path := kb.PagePath(locale, kb.ArticlePages, id, t.Title)
	p := v.page(theme.PageArticle, locale)
	v.r.URL.Path, v.r.URL.RawPath = v.prefix+unescaped(path), "" // as for a request of the article
	if err := v.article(p, strings.TrimPrefix(unescaped(path), "/"+locale+"/"+kb.ArticlePages+"/")); err != nil {
		return err
	}
	v.unstable, p.NoIndex = true, true
	status := http.StatusOK
	if v.r.Method == http.MethodPost {
		p.Article.Reaction, p.Article.Text = v.r.PostFormValue("reaction"), v.r.PostFormValue("feedback")
		problem, err := v.reacted(p.Article)
		if err != nil {
			return err
		}
		if problem == "" {
			said := p.Article.Reaction
			if p.Article.Thanked {
				said = saidFeedback
			}
			return v.redirect(http.StatusSeeOther, "/-/react/"+strconv.FormatInt(id, 10)+"?"+url.Values{"in": {locale}, "said": {said}}.Encode())
		}
		p.Article.Problem, status = theme.Text(locale, problem), http.StatusUnprocessableEntity
	} else {
		switch said := v.r.URL.Query().Get("said"); said {
		case string(kb.Positive), string(kb.Negative):
			p.Article.Reaction = said
		case saidFeedback:
			p.Article.Thanked = true
		}
	}
	p.Article.Token = v.h.seal("feedback", v.site.ID, strconv.FormatInt(id, 10)+"."+rand.Text())
	return v.write(status, theme.PageArticle, p)
}

// saidFeedback names in the address of the thank-you what the reader has sent.
const saidFeedback = "feedback"

// reactToken checks the token of a reaction. That of an article's page is the same for all readers, as caches store the
// page; that of the form for feedback is valid once, and once tells whether it is new.
func (v *visit) reactToken(article int64) (valid, once bool) {
	token, id := v.r.PostFormValue("token"), strconv.FormatInt(article, 10)
	if data, age, ok := v.h.unseal("feedback", v.site.ID, token); ok {
		of, _, _ := strings.Cut(data, ".")
		return of == id && age <= formLife, true
	}
	return v.h.signed("react", v.site.ID, id, token), false
}

func (v *visit) reacted(a *theme.Article) (problem string, err error) {
	valid, once := v.reactToken(a.ID)
	if !v.sameOrigin() || !valid {
		a.Reaction = ""
		return "This page was open too long. Please send it again.", nil
	}
	if v.limited(LimitReact) {
		a.Reaction = ""
		return "Too many messages were sent from here. Please try again later.", nil
	}
	_, gives := v.r.PostForm["feedback"]
	if v.r.PostFormValue("website") != "" {
		a.Thanked = true
		return "", nil
	}
	if gives {
		spent := v.h.feedbackKey(v.r, a)
		if once {
			spent = v.r.PostFormValue("token")
		}
		if strings.TrimSpace(a.Text) != "" && !v.h.spent.use(spent) { // sent twice
			a.Thanked = true
			return "", nil
		}
		_, err = v.SendFeedback(v.ctx(), kb.FeedbackInput{ArticleID: a.ID, Text: a.Text})
		if fault.Is(err, fault.Invalid) {
			return "Tell us what was missing", nil
		}
		a.Thanked = err == nil
		return "", err
	}
	_, err = v.React(v.ctx(), a.ID, kb.Reaction(a.Reaction), v.h.cfg.Addr(v.r).String())
	if fault.Is(err, fault.Invalid) {
		a.Reaction = ""
		return "", nil
	}
	return "", err
}

// feedbackKey is what stands for feedback whose form has no token of its own.
func (h *Handler) feedbackKey(r *http.Request, a *theme.Article) string {
	return h.sign("feedback", a.ID, h.cfg.Addr(r).String()+"\n"+a.Text)
}

// tooMany answers clients over a limit.
func (v *visit) tooMany(p *theme.Page) error {
	p.Search.Query = ""
	return v.write(http.StatusTooManyRequests, theme.PageSearch, p)
}
