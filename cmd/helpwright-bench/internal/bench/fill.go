package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// The services create the first conversations and articles of each account from mails and answers; these are then copied
// with all their rows. The copies differ in their ids, addresses, times and one word.
const (
	yearBack      = 365 * 24 * time.Hour // the copies are spread over it
	mostOriginals = 200                  // of an account
	members       = 10
)

// fill creates all data. The same configuration gives the same rows, except for times and secrets.
func (w *world) fill(ctx context.Context) error {
	w.clock.back.Store(int64(yearBack))
	defer w.clock.back.Store(0)
	f := &filling{world: w, random: rand.New(rand.NewPCG(1, 2))} // the same texts every time, on purpose
	var of []portion
	for i := range w.cfg.Accounts {
		n := w.cfg.Conversations
		if w.cfg.Accounts > 1 {
			n = w.cfg.Conversations / 5 / (w.cfg.Accounts - 1)
			if i == 0 {
				n = w.cfg.Conversations * 4 / 5
			}
		}
		w.cfg.Progress(fmt.Sprintf("%s: filling, account %d of %d", w.kind, i+1, w.cfg.Accounts))
		at, err := f.account(ctx, i)
		if err != nil {
			return err
		}
		originals := max(1, min(mostOriginals, n/10))
		if i > 0 {
			originals = max(1, min(4, n))
		}
		if err := f.conversations(ctx, at, originals); err != nil {
			return err
		}
		of = append(of, portion{account: at.id, originals: originals, all: n})
		if i == 0 {
			w.at, w.lots = at, max(1, n/originals)
		}
	}
	articles := 0
	if w.cfg.Articles > 0 {
		articles = max(1, min(mostOriginals, w.cfg.Articles/10))
		if err := f.helpCentre(ctx, articles); err != nil {
			return err
		}
	}
	if err := w.running(ctx, func(context.Context) error { return nil }); err != nil {
		return err
	}
	if err := w.copyAll(ctx, of, articles); err != nil {
		return err
	}
	w.clock.back.Store(0)
	return w.serve()
}

// waitForJobs waits until all jobs of the originals are done.
func (w *world) waitForJobs(ctx context.Context) error {
	err := until(ctx, func() (done bool, err error) {
		var n int
		err = w.plain.QueryRowContext(ctx, "SELECT count(*) FROM hw_jobs WHERE kind IN ('mail.send', 'mail.file', 'notifications.tell')").Scan(&n)
		return n == 0, err
	})
	if err != nil {
		return err
	}
	const interval, most = 200 * time.Millisecond, 30 * time.Second
	for began := time.Now(); time.Since(began) < most; { // merging of full-text indexes, for instance
		before := cpu()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
		if cpu()-before < interval/20 {
			break
		}
	}
	return nil
}

// portion is the present and the target number of an account's conversations.
type portion struct {
	account        int64
	originals, all int
}

// filling creates the originals.
type filling struct {
	*world
	random *rand.Rand
	texts  int
}

// text returns some words. "printer" is in every text, "paper" in every second one, "toner" in the others.
func (f *filling) text(words int) string {
	const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu"
	all := strings.Fields(syllables)
	var b strings.Builder
	b.WriteString("The printer has no " + []string{"paper", "toner"}[f.texts%2])
	for range words {
		b.WriteString(" ")
		for range 2 {
			b.WriteString(all[f.random.IntN(len(all))])
		}
	}
	return b.String()
}

// account creates an account, its members and the objects that conversations need.
func (f *filling) account(ctx context.Context, n int) (at place, err error) {
	svc, operator := f.srv.Service(), f.srv.Service().Operator()
	count := 1
	if n == 0 {
		count = members
	}
	for i := range count {
		user, err := operator.CreateUser(ctx, identity.UserInput{Name: fmt.Sprintf("Agent %d", i), Email: fmt.Sprintf("agent%d@account%d.example.org", i, n)})
		if err != nil {
			return at, err
		}
		at.members = append(at.members, user.ID)
	}
	account, err := operator.CreateAccount(ctx, identity.AccountInput{Name: fmt.Sprintf("Account %d", n)}, at.members[0])
	if err != nil {
		return at, err
	}
	at.id = account.ID
	for i, user := range at.members {
		if i > 0 {
			if _, err := operator.AddMember(ctx, at.id, user, "admin"); err != nil {
				return at, err
			}
		}
		_, secret, err := operator.CreateToken(ctx, user, identity.TokenInput{Name: "bench"})
		if err != nil {
			return at, err
		}
		at.tokens = append(at.tokens, secret)
	}
	if at.desk, err = svc.Desk(ctx, svc.As(at.members[0]), at.id); err != nil {
		return at, err
	}
	at.mailbox, err = at.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some(fmt.Sprintf("support@account%d.example.org", n))})
	if err != nil {
		return at, err
	}
	for _, name := range []string{"frequent", "rare"} {
		tag, err := at.desk.Tags().Create(ctx, helpdesk.TagInput{Name: name})
		if err != nil {
			return at, err
		}
		at.tags = append(at.tags, tag.ID)
	}
	view, err := at.desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Open", Filter: helpdesk.ViewFilter{Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}}})
	at.view = view.ID
	return at, err
}

// letter returns a customer's mail, and its Message-ID.
func (f *filling) letter(at place, from, references string) (raw []byte, id string) {
	f.texts++
	id = fmt.Sprintf("mail-%d@example.com", f.texts)
	return letter(id, from, at.mailbox.Email, "Printer "+fmt.Sprint(f.texts), references, f.text(60)), id
}

// letter returns a mail.
func letter(id, from, to, subject, references, text string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: Customer <%s>\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <%s>\r\nDate: Mon, 02 Nov 2026 10:00:00 +0100\r\n", from, to, subject, id)
	if references != "" {
		fmt.Fprintf(&b, "In-Reply-To: <%s>\r\nReferences: <%[1]s>\r\n", references)
	}
	fmt.Fprintf(&b, "MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n%s\r\n"+
		"--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>%[1]s</p>\r\n--b--\r\n", text)
	return b.Bytes()
}

// conversations creates the originals: a mail, and for most an answer.
func (f *filling) conversations(ctx context.Context, at place, n int) error {
	mails := make([][]byte, n)
	for i := range mails {
		mails[i], _ = f.letter(at, fmt.Sprintf("customer%d@example.com", i), "")
	}
	for from := 0; from < n; from += 50 {
		if err := f.file(ctx, at, mails[from:min(from+50, n)]); err != nil {
			return err
		}
	}
	page, err := at.desk.Conversations().List(ctx, helpdesk.ConversationQuery{Ascending: true}, storage.PageRequest{Limit: 100})
	for i := 0; err == nil; {
		for _, c := range page.Items {
			if err := f.handled(ctx, at, c, i); err != nil {
				return err
			}
			i++
		}
		if page.Next == "" {
			break
		}
		page, err = at.desk.Conversations().List(ctx, helpdesk.ConversationQuery{Ascending: true}, storage.PageRequest{Limit: 100, Cursor: page.Next})
	}
	return err
}

// handled treats an original as a team would: most are answered and closed.
func (f *filling) handled(ctx context.Context, at place, c helpdesk.Conversation, i int) error {
	tags := []int64{at.tags[0]}
	if i%100 == 7 {
		tags = at.tags
	}
	if i%2 == 0 || len(tags) > 1 {
		if _, err := at.desk.Conversations().SetTags(ctx, c.ID, tags); err != nil {
			return err
		}
	}
	change := helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}
	switch {
	case i%50 == 0:
		return nil // waits, unassigned
	case i%50 == 1:
		change.Status = storage.Some(helpdesk.StatusPending)
	}
	change.UserID = storage.Some(at.members[i%len(at.members)])
	if _, err := at.desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: f.text(40)}); err != nil {
		return err
	}
	_, err := at.desk.Conversations().Update(ctx, c.ID, change)
	return err
}

// helpCentre creates a site with its first articles and a file.
func (f *filling) helpCentre(ctx context.Context, n int) error {
	svc := f.srv.Service()
	sites, err := f.srv.KB().Sites(svc.As(f.at.members[0]))
	if err != nil {
		return err
	}
	f.site.site, err = sites.Create(ctx, kb.SiteInput{AccountID: f.at.id, Name: "Help", CustomDomain: storage.Some("help.example.org"), Path: storage.Some("")})
	if err != nil {
		return err
	}
	editor, err := f.srv.KB().Editor(ctx, svc.As(f.at.members[0]), f.site.site.ID)
	if err != nil {
		return err
	}
	text := func(title, markdown string) kb.TextInput {
		in := kb.TranslationInput{Title: storage.Some(title)}
		if markdown != "" {
			in.Markdown = storage.Some(markdown)
		}
		return kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(in)}}
	}
	shelf, err := editor.CreateCollection(ctx, kb.CollectionInput{TextInput: text("Printers", "")})
	if err != nil {
		return err
	}
	for i := range n {
		f.texts++
		var body strings.Builder
		for section := range 4 {
			fmt.Fprintf(&body, "## Step %d\n\n%s\n\n- Open **Settings**\n- Ask a colleague\n\n", section+1, f.text(50))
		}
		a, err := editor.CreateArticle(ctx, kb.ArticleInput{CollectionID: shelf.ID, TextInput: text(fmt.Sprint("How to print ", i+1), body.String())})
		if err != nil {
			return err
		}
		if i == 0 {
			f.site.first = a.Article.ID
		}
	}
	f.site.file, err = editor.CreateFile(ctx, kb.FileUpload{Filename: "paper.txt", Content: strings.NewReader(strings.Repeat("some words of a file\n", 1000))})
	f.site.originals = n
	return err
}
