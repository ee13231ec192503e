package site_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/site"
)

// A message is sent after articles were suggested; without a script that takes two posts.
func TestContact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	page := w.get("/en/contact")
	if page.Header().Get("Cache-Control") != "no-store" {
		t.Error(page.Header())
	}
	form := url.Values{"token": {value(page.Body.String(), "token")}, "about": {"A refund is late"}, "message": {"Where\nis <it>?"}, "name": {"Ada"}, "email": {"ada@example.com"}}
	w.advance(3 * time.Second)
	asked := w.post("/en/contact", form)
	if asked.Code != 200 || !strings.Contains(asked.Body.String(), "These articles may help") || !strings.Contains(asked.Body.String(), "Send anyway") || len(w.messages) > 0 {
		t.Fatalf("%d %s", asked.Code, asked.Body)
	}
	form.Set("token", value(asked.Body.String(), "token"))
	form.Set("asked", "1")
	w.advance(3 * time.Second)
	if sent := w.post("/en/contact", form); sent.Code != 200 || !strings.Contains(sent.Body.String(), "Thank you. We will reply to ada@example.com.") {
		t.Fatalf("%d %s", sent.Code, sent.Body)
	}
	want := []site.Message{{Name: "Ada", Email: "ada@example.com", Subject: "A refund is late", Text: "Where\nis <it>?", Locale: "en"}}
	if diff := cmp.Diff(want, w.messages); diff != "" {
		t.Error(diff)
	}
}

// Problems of a message are reported, and automated messages are not delivered.
func TestContactRefuses(t *testing.T) {
	t.Parallel()
	invalid := func(field string) error { return fault.Field(field, "is not right") }
	for _, tt := range []struct {
		name   string
		change func(w *world, f url.Values) []string // headers
		status int
		says   string
		sent   int
	}{
		{"all is well", func(*world, url.Values) []string { return nil }, 200, "Thank you.", 1},
		{"with work", func(_ *world, f url.Values) []string {
			for n := 0; ; n++ {
				if sum := sha256.Sum256([]byte(f.Get("token") + ":" + fmt.Sprint(n))); sum[0]>>4 == 0 {
					f.Set("work", fmt.Sprint(n))
					return nil
				}
			}
		}, 200, "Thank you.", 1},
		{"with wrong work", func(_ *world, f url.Values) []string { f.Set("work", "x"); return nil }, 422, "open too long", 0},
		{"no subject", func(_ *world, f url.Values) []string { f.Del("about"); return nil }, 422, "Tell us in a few words", 0},
		{"no message", func(_ *world, f url.Values) []string { f.Set("message", " \n"); return nil }, 422, `href="#hw-message"`, 0},
		{"no address", func(_ *world, f url.Values) []string { f.Set("email", "ada@localhost"); return nil }, 422, "name@example.com", 0},
		{"two addresses", func(_ *world, f url.Values) []string { f.Set("email", "a@example.com,b@example.com"); return nil }, 422, "name@example.com", 0},
		{"a header", func(_ *world, f url.Values) []string {
			f.Set("email", "a@example.com\r\nBcc: b@example.com")
			return nil
		}, 422, "name@example.com", 0},
		{"the trap", func(_ *world, f url.Values) []string { f.Set("website", "x"); return nil }, 200, "Thank you.", 0},
		{"no token", func(_ *world, f url.Values) []string { f.Del("token"); return nil }, 422, "open too long", 0},
		{"a changed token", func(_ *world, f url.Values) []string { f.Set("token", f.Get("token")+"x"); return nil }, 422, "open too long", 0},
		{"at once", func(w *world, _ url.Values) []string { w.advance(-2 * time.Second); return nil }, 422, "very quick", 0},
		{"a day later", func(w *world, _ url.Values) []string { w.advance(24 * time.Hour); return nil }, 422, "open too long", 0},
		{"from another site", func(*world, url.Values) []string { return []string{"Sec-Fetch-Site", "cross-site"} }, 422, "open too long", 0},
		{"from another origin", func(*world, url.Values) []string { return []string{"Origin", "https://evil.example"} }, 422, "open too long", 0},
		{"from a page without origin", func(*world, url.Values) []string { return []string{"Origin", "null"} }, 422, "open too long", 0},
		{"from our own page", func(*world, url.Values) []string {
			return []string{"Origin", "https://help.example.org", "Sec-Fetch-Site", "same-origin"}
		}, 200, "Thank you.", 1},
		{"too many", func(w *world, _ url.Values) []string { w.over[site.LimitContact] = true; return nil }, 422, "Too many messages were sent", 0},
		{"an address that the desk refuses", func(w *world, _ url.Values) []string { w.refuse = invalid("email"); return nil }, 422, `id="hw-email-problem"`, 0},
		{"a file that the desk refuses", func(w *world, _ url.Values) []string { w.refuse = invalid("file"); return nil }, 422, "this type of file", 0},
		{"the mailbox has gone", func(w *world, _ url.Values) []string { w.refuse = fault.Missing("mailbox", 1); return nil }, 200, "You cannot send messages here at the moment", 0},
		{"the database is away", func(w *world, _ url.Values) []string { w.refuse = fault.New(fault.Unavailable, "secret"); return nil }, 503, "Try again", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, memstore.New())
			form := url.Values{"token": {value(w.get("/en/contact").Body.String(), "token")}, "asked": {"1"}, "about": {"A"}, "message": {"B"}, "email": {"ada@example.com"}}
			w.advance(3 * time.Second)
			header := tt.change(w, form)
			rec := w.post("/en/contact", form, header...)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.says) || len(w.messages) != tt.sent || strings.Contains(rec.Body.String(), "secret") {
				t.Errorf("%d, %d sent, want %q in\n%s", rec.Code, len(w.messages), tt.says, rec.Body)
			}
			if tt.sent == 1 {
				if again := w.post("/en/contact", form, header...); again.Code != 422 || len(w.messages) != 1 {
					t.Errorf("sent again: %d, %d", again.Code, len(w.messages))
				}
			}
		})
	}
}

// Files come with the message, up to their limits.
func TestContactFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	h := w.handler(func(c *site.Config) { c.MaxUpload = 1 << 20 })
	send := func(n, size int) *httptest.ResponseRecorder {
		page := w.ask(h, "GET", "https://help.example.org/en/contact", nil)
		w.advance(3 * time.Second)
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		for name, v := range map[string]string{"token": value(page.Body.String(), "token"), "asked": "1", "about": "A", "message": "B", "email": "ada@example.com"} {
			_ = form.WriteField(name, v)
		}
		for i := range n {
			f, _ := form.CreateFormFile("files", fmt.Sprintf("%d.txt", i))
			_, _ = f.Write(bytes.Repeat([]byte("x"), size))
		}
		_ = form.Close()
		r := httptest.NewRequest("POST", "https://help.example.org/en/contact", &b)
		r.Header.Set("Content-Type", form.FormDataContentType())
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec
	}
	if rec := send(2, 1000); rec.Code != 200 || len(w.messages) != 1 || len(w.messages[0].Files) != 2 {
		t.Errorf("%d %+v", rec.Code, w.messages)
	}
	for _, tt := range []struct {
		n, size int
		says    string
	}{{6, 10, "Choose up to 5 files"}, {2, 600 << 10, "larger than 1 MB in total"}, {1, 3 << 20, "larger than 1 MB in total"}} {
		if rec := send(tt.n, tt.size); rec.Code != 422 || !strings.Contains(rec.Body.String(), tt.says) || len(w.messages) != 1 {
			t.Errorf("%d files of %d: %d %s", tt.n, tt.size, rec.Code, rec.Body)
		}
	}
}

// Without a mailbox or a hook the form reports that it cannot be sent, and no page offers it.
func TestContactClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	h := w.handler(func(c *site.Config) { c.Contact = nil })
	if rec := w.ask(h, "GET", "https://help.example.org/en/contact", nil); rec.Code != 200 || !strings.Contains(rec.Body.String(), "You cannot send messages here at the moment.") || strings.Contains(rec.Body.String(), "<textarea") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(h, "GET", "https://help.example.org/en", nil); strings.Contains(rec.Body.String(), "/contact") {
		t.Error(rec.Body)
	}
}

// Readers rate an article, and views are counted by requests of pages, except from robots.
func TestFeedback(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		w.library()
		token := value(w.get("/en/articles/1-connect-your-bank-account").Body.String(), "token")
		for _, tt := range []struct {
			form         url.Values
			from         string
			status       int
			says, silent string
		}{
			{url.Values{"token": {token}, "reaction": {"positive"}}, "same-origin", 200, "Thank you.", "What was missing?"},
			{url.Values{"token": {token}, "reaction": {"negative"}}, "", 200, "What was missing?", "Thank you."},
			{url.Values{"token": {token}, "reaction": {"negative"}, "feedback": {" "}}, "", 422, "Tell us what was missing", "Thank you."},
			{url.Values{"token": {token}, "reaction": {"negative"}, "feedback": {"The <b>price</b>"}}, "", 200, "Thank you.", "What was missing?"},
			{url.Values{"token": {token}, "feedback": {"Buy"}, "website": {"x"}}, "", 200, "Thank you.", ""},
			{url.Values{"token": {"x"}, "reaction": {"positive"}}, "", 422, "open too long", "Thank you."},
			{url.Values{"token": {token}, "reaction": {"positive"}}, "cross-site", 422, "open too long", "Thank you."},
			{url.Values{"token": {token}, "reaction": {"great"}}, "", 200, "Was this article helpful?", "Thank you."},
		} {
			rec := w.post("/-/react/1?in=en", tt.form, "Sec-Fetch-Site", tt.from)
			for range 2 { // a reload of the page sends nothing again
				if rec.Code == http.StatusSeeOther {
					rec = w.get(strings.TrimPrefix(rec.Header().Get("Location"), "https://help.example.org"))
				}
			}
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.says) || tt.silent != "" && strings.Contains(rec.Body.String(), tt.silent) || rec.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%v: %d, want %q in\n%s", tt.form, rec.Code, tt.says, rec.Body)
			}
		}
		for _, agent := range []string{"Mozilla/5.0", "Mozilla/5.0 (compatible; Googlebot/2.1)", "", "curl/8"} {
			w.post("/-/view/1", url.Values{}, "User-Agent", agent)
		}
		w.get("/-/view/1", "User-Agent", "Mozilla/5.0")
		w.post("/-/view/1", url.Values{}, "User-Agent", "Mozilla/5.0", "Sec-Fetch-Site", "cross-site")
		w.post("/-/view/99", url.Values{}, "User-Agent", "Mozilla/5.0")
		if err := w.kb.FlushViews(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, err := w.editor.Article(t.Context(), 1)
		if err != nil || a.Revision.Views != 2 || a.Revision.Positive != 0 || a.Revision.Negative != 1 || a.Article.Feedbacks != 1 {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// A private site shows strangers its sign-in page at every address, and no cache may store it.
func TestPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	before := w.get("/en")
	if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: w.site.AccountID, Name: "Acme", Visibility: storage.Some(kb.Private)}); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Second)
	for _, path := range []string{"/", "/en", "/en/articles/1-connect-your-bank-account", "/en/articles/99", "/articles/1.md", "/en/feed.atom", "/sitemap.xml", "/llms.txt", "/-/suggest/en?query=bank", "/en/search?query=bank"} {
		rec := w.get(path, "If-None-Match", before.Header().Get("ETag"))
		if rec.Code != http.StatusForbidden || rec.Header().Get("Cache-Control") != "private, no-store" || strings.Contains(rec.Body.String(), "bank account") || !strings.Contains(rec.Body.String(), "Sign in to read") {
			t.Errorf("%s: %d %v %s", path, rec.Code, rec.Header(), rec.Body)
		}
	}
	if rec := w.get("/robots.txt"); rec.Body.String() != "User-agent: *\nDisallow: /\n" {
		t.Error(rec.Body)
	}
	page := w.get("/en/articles/1-connect-your-bank-account")
	form := func(email, password string) url.Values {
		return url.Values{"token": {value(page.Body.String(), "token")}, "email": {email}, "password": {password}}
	}
	for _, wrong := range []url.Values{form("ada@example.org", "wrong"), form("nobody@example.org", "right"), form("sam@example.org", "right")} {
		rec := w.post("/-/sign-in", wrong)
		if rec.Code != http.StatusForbidden || !strings.Contains(rec.Body.String(), "The email address or password is incorrect.") || rec.Header().Get("Set-Cookie") != "" {
			t.Errorf("%v: %d %s", wrong, rec.Code, rec.Body)
		}
	}
	for _, from := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if rec := w.post("/-/sign-in", form("ada@example.org", "right"), from...); rec.Header().Get("Set-Cookie") != "" {
			t.Errorf("%v was signed in", from)
		}
	}
	rec := w.post("/-/sign-in", form("ada@example.org", "right"))
	cookie := rec.Header().Get("Set-Cookie")
	if rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/en/articles/1-connect-your-bank-account" || !strings.Contains(cookie, "; HttpOnly; Secure; SameSite=Lax") || strings.Contains(cookie, "Domain") {
		t.Fatalf("%d %v", rec.Code, rec.Header())
	}
	session, _, _ := strings.Cut(cookie, ";")
	rec = w.get("/en/articles/1-connect-your-bank-account", "Cookie", session)
	if rec.Code != 200 || rec.Header().Get("Cache-Control") != "private, no-store" || rec.Header().Get("X-Robots-Tag") != "noindex" || !strings.Contains(rec.Body.String(), "Have these at ") {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	if rec := w.get("/en/articles/1-connect-your-bank-account"); rec.Code != http.StatusForbidden {
		t.Errorf("after a member has read it: %d", rec.Code)
	}
	for _, other := range []string{session + "x", strings.Replace(session, "=", "=x", 1), "helpwright_site="} {
		if rec := w.get("/en", "Cookie", other); rec.Code != http.StatusForbidden {
			t.Errorf("%s: %d", other, rec.Code)
		}
	}
	w.advance(8 * 24 * time.Hour)
	if rec := w.get("/en", "Cookie", session); rec.Code != http.StatusForbidden {
		t.Errorf("a week later: %d", rec.Code)
	}
}

// A form that was open, or in a cache, while the key was changed is still good.
func TestFormerKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	token := value(w.get(articlePath).Body.String(), "token")
	next := []byte(strings.Repeat("n", 32))
	for _, tt := range []struct {
		former [][]byte
		status int
	}{{[][]byte{[]byte(strings.Repeat("x", 32)), []byte(strings.Repeat("k", 32))}, 303}, {nil, 422}} {
		h := w.handler(func(c *site.Config) { c.Key, c.FormerKeys = next, tt.former })
		rec := w.ask(h, "POST", "https://help.example.org/-/react/1?in=en", url.Values{"token": {token}, "reaction": {"positive"}})
		if rec.Code != tt.status {
			t.Errorf("with %d former keys: %d", len(tt.former), rec.Code)
		}
	}
}

// A reader with a second factor enters its code after the password. Problems are shown in the form.
func TestSecondStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: w.site.AccountID, Name: "Acme", Visibility: storage.Some(kb.Private)}); err != nil {
		t.Fatal(err)
	}
	w.Handler = w.handler(func(cfg *site.Config) {
		cfg.SignIn = func(_ context.Context, email, password string, _ netip.Addr) (int64, error) {
			switch {
			case password == "often":
				return 0, fault.New(fault.RateLimited, "later")
			case password != "right":
				return 0, fault.New(fault.Unauthenticated, "no")
			case email == "plain@example.org":
				return 0, fault.New(fault.Forbidden, "set one up")
			}
			return 0, fmt.Errorf("signing in: %w", &site.CodeNeeded{Token: "step-" + email})
		}
		cfg.FinishSignIn = func(_ context.Context, token, code string, _ netip.Addr) (int64, error) {
			switch {
			case code == "often":
				return 0, fault.New(fault.RateLimited, "later")
			case code == "broken":
				return 0, fault.New(fault.Unavailable, "broken")
			case code != "123456":
				return 0, &fault.Error{Kind: fault.Unauthenticated, Code: site.WrongCode}
			case token == "step-ada@example.org":
				return 1, nil
			case token == "step-sam@example.org":
				return 2, nil
			}
			return 0, fault.New(fault.Unauthenticated, "expired")
		}
	})
	page := w.get("/en/articles/7").Body.String()
	password := func(email, password string) url.Values {
		return url.Values{"token": {value(page, "token")}, "email": {email}, "password": {password}}
	}
	code := func(step, code string) url.Values {
		return url.Values{"token": {value(page, "token")}, "step": {step}, "code": {code}}
	}
	const ada, sam = "ada@example.org", "sam@example.org"
	for name, c := range map[string]struct {
		form       url.Values
		step, text string
	}{
		"a code is asked for":         {password(ada, "right"), "step-" + ada, "Enter the code that your authenticator app shows"},
		"a wrong password":            {password(ada, "wrong"), "", "The email address or password is incorrect."},
		"too many passwords":          {password(ada, "often"), "", "Too many incorrect attempts. Please wait a few minutes."},
		"no second factor yet":        {password("plain@example.org", "right"), "", "Your team requires two-factor authentication. Set it up in the desk first."},
		"a wrong code":                {code("step-"+ada, "000000"), "step-" + ada, "The code is incorrect or has already been used."},
		"no code":                     {code("step-"+ada, ""), "step-" + ada, "The code is incorrect or has already been used."},
		"too many codes":              {code("step-"+ada, "often"), "step-" + ada, "Too many incorrect attempts. Please wait a few minutes."},
		"a step that is over":         {code("step-x", "123456"), "", "This took too long. Please sign in again."},
		"a stranger":                  {code("step-"+sam, "123456"), "", "The email address or password is incorrect."},
		"a form that is not genuine":  {url.Values{"token": {"x"}, "step": {"step-" + ada}, "code": {"123456"}}, "step-" + ada, "This page was open too long."},
		"a step that would be markup": {code(`"><b>`, "000000"), "&#34;&gt;&lt;b&gt;", "The code is incorrect or has already been used."},
	} {
		rec := w.post("/-/sign-in", c.form)
		body := rec.Body.String()
		if rec.Code != http.StatusForbidden || rec.Header().Get("Set-Cookie") != "" || !strings.Contains(body, c.text) || value(body, "step") != c.step {
			t.Errorf("%s: %d, step %q: %s", name, rec.Code, value(body, "step"), body)
		}
		if asks := strings.Contains(body, `name="password"`); asks != (c.step == "") {
			t.Errorf("%s: asks for the password: %v", name, asks)
		}
	}
	if rec := w.post("/-/sign-in", code("step-"+ada, "broken")); rec.Code != http.StatusServiceUnavailable {
		t.Errorf("broken: %d", rec.Code)
	}
	rec := w.post("/-/sign-in", password(ada, "right"))
	right := url.Values{"token": {value(rec.Body.String(), "token")}, "step": {value(rec.Body.String(), "step")}, "code": {"123456"}}
	rec = w.post("/-/sign-in", right)
	session, _, _ := strings.Cut(rec.Header().Get("Set-Cookie"), ";")
	if rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/en/articles/7" || w.get("/en", "Cookie", session).Code != http.StatusOK {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
}

// What is sent twice, by a reload, a second click or the way back, is stored once.
func TestFeedbackTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	shared := value(w.get("/en/articles/1-connect-your-bank-account").Body.String(), "token")
	asked := func() string {
		t.Helper()
		rec := w.post("/-/react/1?in=en", url.Values{"token": {shared}, "reaction": {"negative"}})
		if rec.Code != http.StatusSeeOther {
			t.Fatal(rec.Code)
		}
		page := w.get(rec.Header().Get("Location"))
		if page.Code != 200 || page.Header().Get("Cache-Control") != "no-store" || !strings.Contains(page.Body.String(), "noindex") {
			t.Error(page.Code, page.Header())
		}
		return value(page.Body.String(), "token")
	}
	stored := func(what string, want int64) {
		t.Helper()
		a, err := w.editor.Article(t.Context(), 1)
		if err != nil || a.Article.Feedbacks != want {
			t.Errorf("%s: %d stored, want %d, %v", what, a.Article.Feedbacks, want, err)
		}
	}
	send := func(token, text string) {
		t.Helper()
		rec := w.post("/-/react/1?in=en", url.Values{"token": {token}, "reaction": {"negative"}, "feedback": {text}})
		if rec.Code != http.StatusSeeOther || !strings.Contains(w.get(rec.Header().Get("Location")).Body.String(), "Thank you.") {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
	}
	token := asked()
	send(token, "The price")
	send(token, "The price")
	send(token, "The price, again")
	stored("one form", 1)
	send(asked(), "The price")
	stored("another form", 2)
	send(shared, "A theme of its own")
	send(shared, "A theme of its own")
	stored("a form of a theme", 3)
	send(shared, "And more")
	stored("another text of it", 4)
	if rec := w.post("/-/react/2?in=en", url.Values{"token": {asked()}, "feedback": {"x"}}); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("the token of another article: %d", rec.Code)
	}
}

// The form asks questions with a control for each type; wrong answers are reported where they were given, and kept.
func TestContactQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	options := []site.Option{{Value: "gold", Label: "Gold <b>"}, {Value: "silver", Label: "Silver"}}
	var asked []site.Question
	for _, kind := range []string{"text", "number", "boolean", "date", "datetime", "select", "multiselect", "url"} {
		q := site.Question{Key: kind, Label: "The " + kind, Type: kind, Valid: func(values []string) bool { return values[0] != "wrong" }}
		if strings.HasSuffix(kind, "select") {
			q.Options = options
		}
		asked = append(asked, q)
	}
	var missing error
	h := w.handler(func(c *site.Config) {
		c.Questions = func(context.Context, kb.Site) ([]site.Question, error) { return asked, missing }
	})
	post := func(locale string, answers url.Values) *httptest.ResponseRecorder {
		address := "https://help.example.org/" + locale + "/contact"
		form := url.Values{"token": {value(w.ask(h, "GET", address, nil).Body.String(), "token")}, "asked": {"1"}, "about": {"A"}, "message": {"B"}, "email": {"ada@example.com"}}
		for key, values := range answers {
			form["f_"+key] = values
		}
		w.advance(3 * time.Second)
		return w.ask(h, "POST", address, form)
	}
	page := w.ask(h, "GET", "https://help.example.org/en/contact", nil).Body.String()
	for _, control := range []string{
		`<input id="hw-f_text" name="f_text" value="" maxlength="5000"`, `name="f_number" value="" inputmode="decimal"`, `<option value="true">Yes</option>`,
		`type="date"`, `type="datetime-local"`, `<option value="gold">Gold &lt;b&gt;</option>`, `<input type="checkbox" name="f_multiselect" value="silver">`, `type="url"`,
	} {
		if !strings.Contains(page, control) {
			t.Errorf("no %s in\n%s", control, page)
		}
	}
	for kind, says := range map[string]map[string]string{
		"text": {"en": "Shorten this text", "fr": "Raccourcissez ce texte", "ar": "اختصر هذا النص"}, "number": {"en": "Enter a number such as 12.5"}, "boolean": {"en": "Choose one of the options"},
		"date": {"en": "Enter a date"}, "datetime": {"en": "Enter a date and a time"}, "url": {"en": "Enter a web address such as"}, "select": {"fr": "Choisissez une des options"},
		"multiselect": {"en": "Choose one of the options"},
	} {
		for locale, text := range says {
			rec := post(locale, url.Values{kind: {"wrong"}, "select": {map[bool]string{true: "wrong", false: "gold"}[kind == "select"]}})
			body := rec.Body.String()
			if rec.Code != 422 || !strings.Contains(body, `id="hw-f_`+kind+`-problem">`+text) || !strings.Contains(body, `<a href="#hw-f_`+kind+`">The `+kind+": "+text) || len(w.messages) > 0 {
				t.Errorf("a wrong %s in %s: %d %s", kind, locale, rec.Code, body)
			}
			if kept := kind == "select" || strings.Contains(body, `<option value="gold" selected>`); !kept {
				t.Errorf("after a wrong %s, the right answers are gone: %s", kind, body)
			}
		}
	}
	rec := post("en", url.Values{"multiselect": {"gold", "silver"}, "text": {" "}, "datetime": {"2026-01-31T10:30"}, "datetime_at": {"2026-01-31T09:30:00.000Z"}})
	if rec.Code != 200 || len(w.messages) != 1 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	want := map[string][]string{"multiselect": {"gold", "silver"}, "datetime": {"2026-01-31T09:30:00.000Z"}}
	if diff := cmp.Diff(want, w.messages[0].Fields); diff != "" {
		t.Error(diff)
	}
	w.refuse = fault.Field("fields[text]", "is not a field")
	if rec := post("en", url.Values{"text": {"x"}}); rec.Code != 422 || !strings.Contains(rec.Body.String(), "open too long") {
		t.Errorf("a question that was withdrawn: %d %s", rec.Code, rec.Body)
	}
	missing = fault.Missing("mailbox", 1)
	if rec := w.ask(h, "GET", "https://help.example.org/en/contact", nil); rec.Code != 200 || !strings.Contains(rec.Body.String(), "You cannot send messages here") {
		t.Errorf("without its mailbox: %d %s", rec.Code, rec.Body)
	}
}
