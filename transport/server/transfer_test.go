package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	desktransfer "github.com/helpwright/helpwright/helpdesk/transfer"
	"github.com/helpwright/helpwright/kb"
	kbtransfer "github.com/helpwright/helpwright/kb/transfer"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/transfer"
	"github.com/helpwright/helpwright/transport/server"
)

// then is the time of all rows; it has microseconds.
var then = time.Date(2026, 3, 4, 5, 6, 7, 891011000, time.UTC)

// home is a server with its store.
type home struct {
	*server.Server
	desk  helpdesk.Store
	kb    kb.Store
	blobs *memblob.Blobs
	key   []byte
}

type whole interface {
	helpdesk.Store
	storage.Jobs
	storage.EventLog
	KB() kb.Store
}

func newHome(t *testing.T, store whole) *home {
	t.Helper()
	h := &home{desk: store, kb: store.KB(), blobs: memblob.New(), key: storage.NewSecretKey()}
	var err error
	h.Server, err = server.New(server.Config{Store: store, Blobs: h.blobs, Keys: [][]byte{h.key}, Relay: make(relay, 10)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func sqlStore(t *testing.T, url string) whole {
	t.Helper()
	db, err := both.Open(t.Context(), url, bunstore.Config{SyncNormal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// rowOf is a row whose fields have something in them, but for ids.
func rowOf[T any](n int, change ...func(*T)) *T {
	t := new(T)
	something(reflect.ValueOf(t).Elem(), "", n)
	for _, f := range change {
		f(t)
	}
	return t
}

func something(v reflect.Value, name string, n int) {
	if strings.HasSuffix(name, "ID") || strings.HasSuffix(name, "IDs") || slices.Contains([]string{"HeldBy", "RefersTo", "Token", "Quotes", "ForwardedBy", "After", "UserDisabled"}, name) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(then.Add(time.Duration(n) * time.Minute)))
			return
		}
		for i := range v.NumField() {
			something(v.Field(i), v.Type().Field(i).Name, n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d ü<&", strings.ToLower(name), n))
	case reflect.Bool:
		v.SetBool(n%2 == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(fmt.Appendf(nil, "%s %d\x00\xff", name, n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		something(v.Index(0), "", n)
	}
}

// origin is the account to be moved, with some of its objects.
type origin struct {
	account                int64
	owner, leaver          identity.User
	mailbox                helpdesk.Mailbox
	sealer                 storage.Sealer
	conversations, answers []int64
	texts                  []string // that something is found by
}

// populate makes an account with something of every noun.
func (h *home) populate(t *testing.T) *origin {
	t.Helper()
	ctx, o := t.Context(), &origin{}
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Another account before it: no id is the same by chance.
	for n := range 3 {
		u := must2(h.Service().Operator().CreateUser(ctx, identity.UserInput{Email: fmt.Sprintf("u%d@other.example", n), Name: "Other"}))(t)
		must2(h.Service().Operator().CreateAccount(ctx, identity.AccountInput{Name: "Other"}, u.ID))(t)
	}
	o.owner = must2(h.Service().Operator().CreateUser(ctx, identity.UserInput{Email: "ada@example.com", Name: "Ada", Password: "correct horse"}))(t)
	o.leaver = must2(h.Service().Operator().CreateUser(ctx, identity.UserInput{Email: "bob@example.com", Name: "Bob"}))(t)
	a := must2(h.Service().Operator().CreateAccount(ctx, identity.AccountInput{Name: "Moved", DefaultLocale: "pt-BR", Languages: []string{"pt-BR", "en"}}, o.owner.ID))(t)
	o.account = a.ID
	o.sealer, err = sealerOf(h.key)
	must(err)
	put := func(content string) string {
		key := fmt.Sprintf("accounts/%d/attachments/%x", a.ID, content)
		must2(h.blobs.Put(ctx, key, strings.NewReader(content)))(t)
		return key
	}
	seal := func(all []storage.Secret) {
		for i, s := range all {
			*s.Sealed = must2(o.sealer.Seal(fmt.Appendf(nil, "secret %d of %s", i, s.Context), s.Context))(t)
		}
	}
	must(h.desk.InTx(ctx, helpdesk.Scope{AccountID: a.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		me := o.owner.ID
		tag, team := rowOf[helpdesk.Tag](1), rowOf(1, func(r *helpdesk.Team) { r.MemberIDs = []int64{me} })
		box := rowOf(1, func(m *helpdesk.Mailbox) {
			m.Inbound.Type, m.Inbound.Folders, m.IsDefault = ledger.InboundIMAP, []string{"INBOX", "Päckchen"}, false
			m.Inbound.HasPassword, m.Inbound.OAuth.HasRefreshToken, m.Inbound.OAuth.SealedSecrets = false, false, nil
			m.Outbound.HasPassword, m.Outbound.SealedPassword = false, nil
			m.InternalLocal = "mb-moved"
			seal(m.Secrets()[:1])
		})
		reply := rowOf[helpdesk.SavedReply](1)
		own := rowOf(2, func(r *helpdesk.SavedReply) { r.UserID = me })
		hook := rowOf(1, func(w *subscription.Webhook) { w.UserID = me; seal(w.Secrets(a.ID)) })
		domain := rowOf(1, func(d *sending.Domain) { seal(d.Secrets()) })
		portal := rowOf(1, func(k *helpdesk.PortalKey) { k.Algorithm, k.UserID = helpdesk.PortalHS256, me; seal(k.Secrets(a.ID)) })
		role := rowOf(1, func(r *identity.Role) { r.Key = "" })
		all := []error{
			helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, tag, rowOf[helpdesk.Tag](2)), helpdesk.Nouns().Teams.Rows(tx).Insert(ctx, team), tx.Mailboxes().Insert(ctx, box), helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, role),
			helpdesk.Nouns().SavedReplies.Rows(tx).Insert(ctx, reply, own), helpdesk.Nouns().Webhooks.Rows(tx).Insert(ctx, hook), helpdesk.Nouns().Domains.Rows(tx).Insert(ctx, domain), helpdesk.Nouns().PortalKeys.Rows(tx).Insert(ctx, portal),
			helpdesk.Nouns().ReplyFiles.Rows(tx).Insert(ctx, rowOf(1, func(f *helpdesk.ReplyFile) { f.ReplyID, f.BlobKey = reply.ID, put("reply file") })),
			helpdesk.Nouns().Signatures.Rows(tx).Insert(ctx, rowOf(1, func(s *helpdesk.Signature) { s.UserID = me })),
			helpdesk.Nouns().BlockedSenders.Rows(tx).Insert(ctx, rowOf(1, func(b *helpdesk.BlockedSender) { b.UserID = o.leaver.ID })),
			helpdesk.Nouns().Erasures.Rows(tx).Insert(ctx, rowOf(1, func(e *helpdesk.Erasure) { e.UserID = o.leaver.ID }), rowOf[helpdesk.Erasure](2)),
			helpdesk.AddErasureKeys(ctx, tx, o.sealer, [][]byte{bytes.Repeat([]byte{7}, 32)}),
			tx.SaveFetchCursor(ctx, box.ID, "Päckchen", mailserver.Cursor{UIDValidity: 7, UID: 1 << 31}),
			tx.SaveNotifyChoices(ctx, helpdesk.NotifyChoices{UserID: me, Choices: []helpdesk.NotifyChoice{{Kind: "replied", Channels: []helpdesk.NotificationChannel{"mail"}}}}),
		}
		if err := errors.Join(all...); err != nil {
			return err
		}
		o.mailbox = *box
		for n := range 60 {
			if err := o.talk(ctx, tx, n, box.ID, tag.ID, team.ID, put); err != nil {
				return err
			}
		}
		last := o.conversations[len(o.conversations)-1]
		if err := tx.MergeConversation(ctx, helpdesk.Move{Rule: helpdesk.RuleMerge, FromID: o.conversations[3], IntoID: last, UserID: o.leaver.ID, CreatedAt: then}); err != nil {
			return err
		}
		for _, id := range []int64{o.conversations[4], o.conversations[5]} { // one refers to a later one, one to an earlier one in the same file
			c, err := tx.Conversations().Lock(ctx, id)
			if err != nil {
				return err
			}
			c.RefersTo = map[int64]int64{o.conversations[4]: last, o.conversations[5]: o.conversations[4]}[id]
			if err := tx.Conversations().Update(ctx, &c); err != nil {
				return err
			}
		}
		view := rowOf(1, func(v *helpdesk.View) {
			v.UserID, v.Filter.Agent, v.Filter.MailboxID, v.Filter.TagIDs, v.Filter.TeamID = me, fmt.Sprint(me), box.ID, []int64{tag.ID}, team.ID
		})
		entries := []storage.AuditEntry{*rowOf(1, func(e *storage.AuditEntry) { e.Action, e.Subject, e.UserID = "tag.created", tag.ID, me })}
		account, err := tx.Reader().Account(ctx)
		account.DefaultMailboxID, account.NextNumber = box.ID, 1000
		return errors.Join(err, helpdesk.Nouns().Views.Rows(tx).Insert(ctx, view), tx.InsertAudit(ctx, entries), tx.UpdateAccount(ctx, &account),
			helpdesk.Nouns().Suppressions.Rows(tx).Insert(ctx, rowOf(1, func(s *sending.Suppression) { s.UserID, s.InteractionID = me, o.answers[0] })))
	}))
	h.shelve(t, a.ID, o.mailbox.ID)
	return o
}

// talk is a conversation.
func (o *origin) talk(ctx context.Context, tx helpdesk.Tx, n int, box, tag, team int64, put func(string) string) error {
	me := o.owner.ID
	text := fmt.Sprintf("word%dx", n)
	customer := rowOf(n, func(c *helpdesk.Customer) {
		c.LastName = "family" + text
		c.Emails = []helpdesk.CustomerEmail{{Email: text + "@example.org", Key: text + "@example.org"}, {Email: "b" + text + "@example.org", Key: "b" + text + "@example.org"}}
	})
	if err := tx.InsertCustomer(ctx, customer); err != nil {
		return err
	}
	c := rowOf(n, func(c *helpdesk.Conversation) {
		c.Number, c.MailboxID, c.CustomerID, c.CustomerEmailID = int64(n+1), box, customer.ID, customer.Emails[0].ID
		c.UserID, c.TeamID, c.Subject = o.leaver.ID, team, "Subject "+text
	})
	if err := tx.Conversations().Insert(ctx, c); err != nil {
		return err
	}
	question := rowOf(n, func(i *helpdesk.Interaction) {
		i.ConversationID, i.Type, i.Status, i.SendAt = c.ID, helpdesk.TypeCustomer, helpdesk.StatusPosted, time.Time{}
		i.CustomerID, i.CustomerEmailID, i.MessageID = customer.ID, customer.Emails[1].ID, text+"@example.org"
		i.Threading.Refused[0].ConversationID, i.Threading.Token = c.ID, c.ID
	})
	answer := rowOf(n, func(i *helpdesk.Interaction) {
		i.ConversationID, i.Type, i.Status, i.UserID, i.PostedByID, i.SendAt = c.ID, helpdesk.TypeUser, helpdesk.StatusPosted, me, me, time.Time{}
		i.Body = fmt.Sprintf(`<p>%s <a href="mailto:member-%d@mention.invalid" rel="noopener noreferrer nofollow" target="_blank">@Ada</a></p>`, text, me)
	})
	if err := tx.Interactions().Insert(ctx, question); err != nil {
		return err
	}
	answer.Ending.Quotes = []int64{question.ID}
	if err := tx.Interactions().Insert(ctx, answer); err != nil {
		return err
	}
	mail := rowOf(n, func(m *ledger.Mail) {
		m.MailboxID, m.UserID, m.ConversationID, m.InteractionID, m.RawKey, m.Deaths = box, me, c.ID, question.ID, put("raw"+text), 0
	})
	key := put("file" + text)
	if n == 7 {
		key = fmt.Sprintf("accounts/%d/attachments/is-missing", o.account)
	}
	o.conversations, o.answers, o.texts = append(o.conversations, c.ID), append(o.answers, answer.ID), append(o.texts, text)
	return errors.Join(
		helpdesk.Nouns().PGPKeys.Rows(tx).Insert(ctx, rowOf(n, func(k *helpdesk.PGPKey) { k.CustomerEmailID = customer.Emails[0].ID })),
		tx.SetTags(ctx, []int64{c.ID}, []int64{tag}), tx.AddParticipants(ctx, c.ID, []string{"z@example.org", text + "@example.org"}),
		tx.SaveFollowers(ctx, []helpdesk.Follower{{ConversationID: c.ID, UserID: me, Follows: true, CreatedAt: then}}),
		tx.Attachments().Insert(ctx, rowOf(n, func(a *helpdesk.Attachment) { a.InteractionID, a.ConversationID, a.BlobKey = question.ID, c.ID, key })),
		tx.Deliveries().Insert(ctx, rowOf(n, func(d *sending.Delivery) {
			d.InteractionID, d.State, d.HeldUntil, d.NextAttemptAt = answer.ID, sending.Sent, time.Time{}, time.Time{}
		})),
		tx.InsertInbound(ctx, []*ledger.Mail{mail}),
		tx.Emit(ctx, storage.Event{
			Type: "conversation.updated", Subject: c.ID, MailboxID: box, ConversationID: c.ID, ActorID: me, Time: then,
			Data: fmt.Appendf(nil, `{"id":%d,"actor":{"type":"user","id":%d},"changes":{"user_id":{"from":null,"to":%d},"team_id":{"from":%d,"to":null},`+
				`"tags":{"added":[%d],"removed":[]},"priority":{"from":"normal","to":"high"},"subject":{}},"interaction_id":%d}`,
				c.ID, me, o.leaver.ID, team, tag, question.ID),
		}),
		tx.SaveReadMark(ctx, helpdesk.ReadMark{UserID: me, ConversationID: c.ID, InteractionID: question.ID + int64(n%2)*1000000}),
		helpdesk.Nouns().MemberMails.Rows(tx).Insert(ctx, rowOf(n, func(m *helpdesk.MemberMail) { m.UserID, m.InboundID = me, mail.ID })),
		tx.Notifications().Insert(ctx, rowOf(n, func(x *helpdesk.Notification) {
			x.UserID, x.ConversationID, x.InteractionID, x.ActorID, x.MailAt = me, c.ID, question.ID, o.leaver.ID, time.Time{}
		})),
	)
}

// shelve makes a site with something of every noun.
func (h *home) shelve(t *testing.T, account, box int64) {
	t.Helper()
	ctx := t.Context()
	site := rowOf(1, func(s *kb.Site) {
		s.MailboxID, s.HostKey, s.CustomDomain, s.Look, s.DefaultLocale, s.Languages = box, "help.example.com", "help.example.com", kb.Look{Accent: "#016770"}, "", nil
		s.Search = kb.SearchSettings{}
	})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(h.kb.InTx(ctx, kb.Scope{AccountID: account}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, site) }))
	put := func(name string) string {
		key := fmt.Sprintf("accounts/%d/sites/%d/%s", account, site.ID, name)
		must2(h.blobs.Put(ctx, key, strings.NewReader(name)))(t)
		return key
	}
	check(h.kb.InTx(ctx, kb.Scope{AccountID: account, SiteID: site.ID}, func(ctx context.Context, tx kb.Tx) error {
		file := rowOf(1, func(f *kb.File) { f.BlobKey, f.URLKey, f.Filename = put("logo"), "abcdefgh", "logo.png" })
		shelf := rowOf(1, func(c *kb.Collection) { c.Counters = kb.Counters{} })
		if err := errors.Join(tx.Files().Insert(ctx, file), tx.Collections().Insert(ctx, shelf)); err != nil {
			return err
		}
		category := rowOf(1, func(c *kb.Category) { c.CollectionID, c.Counters = shelf.ID, kb.Counters{} })
		if err := errors.Join(tx.Categories().Insert(ctx, category), kb.CountCategories(ctx, tx, []kb.Category{*category})); err != nil {
			return err
		}
		var ids []int64
		for n := range 3 {
			a := rowOf(n, func(a *kb.Article) {
				a.CollectionID, a.CategoryIDs, a.Live, a.Draft, a.LastRevision, a.Published, a.Views, a.Feedbacks = shelf.ID, []int64{category.ID}, 1, 3, 3, true, 0, 0
			})
			if err := errors.Join(tx.Articles().Insert(ctx, a), kb.CountArticles(ctx, tx, []kb.Article{*a})); err != nil {
				return err
			}
			ids = append(ids, a.ID)
			for _, number := range []int64{1, 3} {
				r := rowOf(n, func(r *kb.Revision) {
					r.ArticleID, r.Number, r.CollectionID, r.CategoryIDs, r.Status = a.ID, number, shelf.ID, a.CategoryIDs, kb.Published
					r.SourceLocale = "pt-BR"
					r.Translations = []kb.Translation{*rowOf(n, func(t *kb.Translation) {
						t.Locale, t.Title, t.Markdown = "pt-BR", fmt.Sprintf("title%dx", n), ""
						t.Content = fmt.Sprintf(`<p><a href="kb:articles/%d#a">x</a> <img src="kb:files/%d/abcdefgh/logo.png"/></p>`, ids[0], file.ID)
						t.MadeFrom = kb.SourceText{}
					})}
				})
				if err := tx.InsertRevision(ctx, r); err != nil {
					return err
				}
				if number == 1 {
					if err := kb.IndexRevision(ctx, tx, *r); err != nil {
						return err
					}
				}
			}
			err := errors.Join(kb.CountViews(ctx, tx, []kb.View{{ArticleID: a.ID, Revision: 1, N: 10}, {ArticleID: a.ID, Revision: 2, N: 5}}),
				tx.SetReaction(ctx, kb.VisitorReaction{ArticleID: a.ID, Revision: 1, Visitor: []byte("v"), Positive: true, CreatedAt: then}),
				tx.Feedback().Insert(ctx, rowOf(n, func(f *kb.Feedback) { f.ArticleID = a.ID })))
			if err != nil {
				return err
			}
		}
		theme := rowOf(1, func(t *kb.Theme) { t.UpdateAvailable = false })
		if err := tx.Themes().Insert(ctx, theme); err != nil {
			return err
		}
		site.Look = kb.Look{Accent: "#016770", LogoID: file.ID, Texts: map[string]kb.LookText{"en": {Title: "Help"}}}
		site.Search = kb.SearchSettings{Synonyms: [][]string{{"bill", "invoice"}}, Pins: []kb.Pin{{Query: "pay", Articles: []int64{ids[1]}}}}
		return errors.Join(
			tx.ThemeFiles().Insert(ctx, rowOf(1, func(f *kb.ThemeFile) { f.ThemeID, f.BlobKey = theme.ID, put("theme") })),
			tx.SetExchangeKeys(ctx, []kb.ExchangeKey{{Kind: kb.ArticleKey, ID: ids[1], Key: "one"}, {Kind: kb.FileKey, ID: file.ID, Key: "logo"}}),
			tx.Sites().Update(ctx, site))
	}))
}

func must2[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

const passphrase = "correct horse battery"

// export writes an archive, with secrets.
func (h *home) export(t *testing.T, account int64) []byte {
	t.Helper()
	var b bytes.Buffer
	secrets := must2(transfer.NewSecrets(passphrase))(t)
	w := must2(transfer.NewWriter(&b, transfer.WriterConfig{
		Blobs: h.blobs, Secrets: secrets, Manifest: transfer.Manifest{Program: "test", Account: account, Name: "Moved"},
	}))(t)
	if err := h.ExportAccount(t.Context(), account, w); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opening(archive []byte) func() (*transfer.Reader, error) {
	return func() (*transfer.Reader, error) { return transfer.NewReader(bytes.NewReader(archive)) }
}

func (h *home) take(t *testing.T, archive []byte) server.Imported {
	t.Helper()
	return must2(h.ImportAccount(t.Context(), server.ImportConfig{Open: opening(archive), Passphrase: passphrase}))(t)
}

// rows returns the rows of an archive regardless of ids, and without fields that may differ.
func rows(t *testing.T, archive []byte, differ map[string][]string) map[string][]any {
	t.Helper()
	r := must2(transfer.NewReader(bytes.NewReader(archive)))(t)
	desk := must2(desktransfer.NewImporter(t.Context(), desktransfer.Config{Store: memstore.New(), Sealer: must2(sealerOf(storage.NewSecretKey()))(t)}, r.Manifest()))(t)
	sites := must2(kbtransfer.NewImporter(kbtransfer.Config{Store: memstore.New().KB(), Account: desk.Account}, r.Manifest()))(t)
	canon := must2(transfer.NewCanon(r, []transfer.Part{desk, sites}))(t)
	all := map[string][]any{}
	for noun, lines := range canon.Rows {
		for _, line := range lines {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			for _, path := range append(differ[noun], "SealedPassword", "SealedKey", "SealedSecret", "SealedFormer", "Password", "Factor", "Inbound.SealedPassword") {
				in, field := row, path
				if outer, inner, ok := strings.Cut(path, "."); ok {
					in, _ = row[outer].(map[string]any)
					field = inner
				}
				delete(in, field)
			}
			all[noun] = append(all[noun], row)
		}
	}
	return all
}

func sealerOf(key []byte) (storage.Sealer, error) { return storage.NewSealer(key) }

// An account moves from one kind of store to the next completely, and differs only where it must.
func TestMoveAccount(t *testing.T) {
	t.Parallel()
	homes := []*home{
		newHome(t, sqlStore(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))), newHome(t, sqlStore(t, testenv.Postgres(t))),
		newHome(t, memstore.New()), newHome(t, sqlStore(t, "sqlite:"+filepath.Join(t.TempDir(), "b.db"))),
	}
	from := homes[0].populate(t)
	archive := homes[0].export(t, from.account)
	// These fields must change: see the package's comment.
	differ := map[string][]string{"mailboxes": {"Inbound.Type"}, "webhooks": {"IsActive", "FailingSince", "Failures"}, "users": {"DisabledAt"}}
	want := rows(t, archive, differ)
	for noun, n := range map[string]int{"interactions": 120, "mails": 60, "read_marks": 59, "redirects": 1, "moves": 2, "conversation_references": 1, "history": 59, "revisions": 6, "article_views": 3, "users": 2} {
		if len(want[noun]) != n {
			t.Errorf("%d %s, want %d", len(want[noun]), noun, n)
		}
	}
	for n, to := range homes[1:] {
		done := to.take(t, archive)
		if done.End.Missing != 1 || done.Known != 0 {
			t.Errorf("%+v", done)
		}
		again := to.take(t, archive)
		if !again.Already || again.Account != done.Account || again.Rows != 0 {
			t.Errorf("the archive again: %+v", again)
		}
		archive = to.export(t, done.Account)
		if diff := cmp.Diff(want, rows(t, archive, differ)); diff != "" {
			t.Fatalf("after move %d (-want +got):\n%.5000s", n+1, diff)
		}
		to.usable(t, from, done.Account)
	}
}

// usable checks everything other than rows: objects are found, counted and readable, and nothing happens by itself.
func (h *home) usable(t *testing.T, from *origin, account int64) {
	t.Helper()
	ctx := t.Context()
	owner := must2(h.Service().Operator().UserByEmail(ctx, from.owner.Email))(t)
	desk := must2(h.Service().Desk(ctx, h.Service().As(owner.ID), account))(t)
	for _, query := range []string{from.texts[9], "family" + from.texts[9], "subject " + from.texts[9]} {
		page := must2(desk.Conversations().List(ctx, helpdesk.ConversationQuery{Query: query}, storage.PageRequest{}))(t)
		if len(page.Items) != 1 || page.Items[0].Number != 10 {
			t.Errorf("%q finds %d conversations", query, len(page.Items))
		}
	}
	boxes := must2(desk.Mailboxes().List(ctx, storage.PageRequest{}))(t)
	if len(boxes.Items) != 1 || boxes.Items[0].Inbound.Type != ledger.InboundForward || boxes.Items[0].InternalLocal != "mb-moved" || !boxes.Items[0].IsDefault {
		t.Errorf("%+v", boxes.Items)
	}
	stored := must2(h.desk.Within(helpdesk.Scope{AccountID: account}).Mailboxes().Get(ctx, boxes.Items[0].ID))(t)
	sealer := must2(sealerOf(h.key))(t)
	for _, s := range stored.Secrets()[:1] {
		if got, err := sealer.Open(*s.Sealed, s.Context); err != nil || string(got) != "secret 0 of mailbox/mb-moved/password" {
			t.Errorf("the password of the mailbox is %q, %v", got, err)
		}
	}
	if _, err := h.Service().Desk(ctx, h.Service().As(must2(h.Service().Operator().UserByEmail(ctx, from.leaver.Email))(t).ID), account); !fault.Is(err, fault.NotFound) {
		t.Errorf("one who is no member: %v", err)
	}
	sites := must2(h.kb.Within(kb.Scope{AccountID: account}).Sites().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 10}))(t)
	in := h.kb.Within(kb.Scope{AccountID: account, SiteID: sites[0].ID})
	shelf := must2(in.Collections().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 10}))(t)
	if c := shelf[0].Counters; c != (kb.Counters{Articles: 3, Categories: 1, Views: 45, PublishedArticles: 3, PublishedViews: 45}) {
		t.Errorf("counters are %+v", c)
	}
	hits := must2(in.PublishedPostings(ctx, kb.PostingQuery{Terms: []kb.SearchTerm{{Text: "title1x"}}, Limit: 10}))(t)
	if len(hits[0]) != 1 {
		t.Errorf("%d articles are found", len(hits[0]))
	}
}

// On the same server an account becomes another one: addresses that are taken are given anew.
func TestMoveAccountHere(t *testing.T) {
	t.Parallel()
	h := newHome(t, memstore.New())
	from := h.populate(t)
	done := h.take(t, h.export(t, from.account))
	boxes := must2(h.desk.Within(helpdesk.Scope{AccountID: done.Account}).Mailboxes().List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: 10}))(t)
	if len(boxes) != 1 || boxes[0].InternalLocal == from.mailbox.InternalLocal {
		t.Errorf("%+v", boxes)
	}
	sites := must2(h.kb.Within(kb.Scope{AccountID: done.Account}).Sites().List(t.Context(), storage.NoFilter{}, storage.Seek{Limit: 10}))(t)
	if len(sites) != 1 || sites[0].HostKey != kb.SharedHost || sites[0].CustomDomain != "" {
		t.Errorf("%+v", sites)
	}
}

// An import interrupted at any point continues there, with the same result.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	source := newHome(t, memstore.New())
	from := source.populate(t)
	archive := source.export(t, from.account)
	want := rows(t, archive, map[string][]string{"mailboxes": {"Inbound.Type"}, "webhooks": {"IsActive", "FailingSince", "Failures"}, "users": {"DisabledAt"}})
	target := newHome(t, memstore.New())
	var done server.Imported
	ends := 0
	for {
		ctx, end := context.WithCancel(t.Context())
		var err error
		done, err = target.ImportAccount(ctx, server.ImportConfig{Open: opening(archive), Passphrase: passphrase, Tell: func(what string, p transfer.Progress) {
			if what == "imported" && p.Rows-p.Known > 100 {
				end()
			}
		}})
		end()
		if err == nil {
			break
		}
		if ends++; !errors.Is(err, context.Canceled) || ends > 20 {
			t.Fatal(err)
		}
	}
	if ends < 3 || done.Known == 0 {
		t.Errorf("ended %d times, at last %+v", ends, done)
	}
	got := rows(t, target.export(t, done.Account), map[string][]string{"mailboxes": {"Inbound.Type"}, "webhooks": {"IsActive", "FailingSince", "Failures"}, "users": {"DisabledAt"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%.3000s", diff)
	}
}

// While somebody writes, an archive is of one moment: it can always be imported.
func TestExportUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHome(t, sqlStore(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db")))
	from := h.populate(t)
	stop, ended := context.WithCancel(t.Context())
	wrote := make(chan error, 1)
	go func() {
		var err error
		for n := 1000; err == nil && stop.Err() == nil; n++ {
			err = h.desk.InTx(t.Context(), helpdesk.Scope{AccountID: from.account}, func(ctx context.Context, tx helpdesk.Tx) error {
				teams, err := helpdesk.Nouns().Teams.Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
				if err != nil {
					return err
				}
				tags, err := helpdesk.Nouns().Tags.Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
				if err != nil {
					return err
				}
				late := *from
				err = late.talk(ctx, tx, n, from.mailbox.ID, tags[0].ID, teams[0].ID, func(string) string { return "" })
				return errors.Join(err, tx.DeleteConversations(ctx, []int64{from.conversations[n%50]}))
			})
		}
		wrote <- err
	}()
	var archives [][]byte
	for range 2 {
		archives = append(archives, h.export(t, from.account))
	}
	ended()
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		newHome(t, memstore.New()).take(t, archive)
	}
}

// Unsent mail is not sent from here, and scheduled mail becomes a draft.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	h := newHome(t, memstore.New())
	from := h.populate(t)
	scope := helpdesk.Scope{AccountID: from.account}
	err := h.desk.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
		all, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: from.answers[:2]}, storage.Seek{Limit: 10})
		if err != nil {
			return err
		}
		all[0].State, all[1].State = sending.Queued, sending.Deferred
		later, err := tx.Interactions().Get(ctx, from.answers[2])
		later.SendAt = then.AddDate(1, 0, 0)
		return errors.Join(err, tx.Deliveries().Update(ctx, &all[0], &all[1]), tx.Interactions().Update(ctx, &later))
	})
	if err != nil {
		t.Fatal(err)
	}
	to := newHome(t, memstore.New())
	done := to.take(t, h.export(t, from.account))
	in := to.desk.Within(helpdesk.Scope{AccountID: done.Account})
	all := must2(in.AllInteractions(t.Context(), storage.Seek{Limit: 1000}))(t)
	states, drafts := map[sending.State]int{}, 0
	for _, i := range all {
		if i.Status == helpdesk.StatusDraft {
			drafts++
		}
		for _, d := range must2(in.Deliveries().List(t.Context(), sending.DeliveryFilter{InteractionIDs: []int64{i.ID}}, storage.Seek{Limit: 10}))(t) {
			states[d.State]++
		}
	}
	if diff := cmp.Diff(map[sending.State]int{sending.Sent: 58, sending.Failed: 2}, states); diff != "" || drafts != 1 {
		t.Errorf("%d drafts, deliveries %s", drafts, diff)
	}
	most := map[string]int{}
	for _, kind := range helpdesk.JobKinds() {
		most[kind] = 1000
	}
	jobs := must2(to.desk.(*memstore.Store).Claim(t.Context(), most, time.Now().AddDate(5, 0, 0), time.Now().AddDate(6, 0, 0)))(t)
	for _, j := range jobs {
		if j.Kind != helpdesk.JobFileMail && j.Kind != helpdesk.JobWake && j.Kind != helpdesk.JobFacts {
			t.Errorf("a job of kind %s", j.Kind)
		}
	}
}
