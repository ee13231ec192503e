package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// Sizes of the demo.
const (
	days          = 60 // covered by conversations
	conversations = 400
	siteAge       = 300 // age of the help centre in days
)

// Config configures [Fill]. All fields are required except Progress and Logger.
type Config struct {
	Desk  *helpdesk.Service
	KB    *kb.Service
	Units storage.Units // the store of both services
	Clock *Clock        // the clock of both services
	// Progress is called with the progress, from 0 to 1.
	Progress func(done float64)
	Logger   *slog.Logger
}

// Company is the result of [Fill].
type Company struct {
	AccountID int64
	Name      string
	SiteURL   string
	Email     string   // of a member with all permissions
	Password  string   // of all members
	Others    []string // addresses of the other members
	Token     string   // of the same member
}

// Fill creates the company. The database must be empty. When it returns, the clock returns the system's time again.
func Fill(ctx context.Context, cfg Config) (Company, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(float64) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	defer cfg.Clock.Release()
	f := &filler{
		Config: cfg, now: time.Now().UTC().Truncate(time.Second),
		random:   mathrand.New(mathrand.NewPCG(1, 2)), // the same company every time, on purpose; no secret is made of it
		intake:   cfg.Desk.Intake(),
		outgoing: cfg.Desk.Outgoing(),
	}
	var err error
	if f.filer, err = ingest.NewFiler(ingest.FilerConfig{Intake: f.intake, Now: cfg.Clock.Now, Logger: cfg.Logger}); err != nil {
		return Company{}, err
	}
	for _, do := range []func(context.Context) error{f.people, f.furnish, f.helpCentre, f.correspondence, f.putAside, f.ratings, f.retention, f.hold} {
		if err := do(ctx); err != nil {
			return Company{}, err
		}
	}
	return f.company, nil
}

// hold delays answers from now on, so that they can be called back.
func (f *filler) hold(ctx context.Context) error {
	_, err := f.members[0].desk.Account().Update(ctx, identity.AccountUpdate{Name: companyName, SendHold: storage.Some(10 * time.Second)})
	return err
}

// filler creates the company.
type filler struct {
	Config
	now      time.Time // end of the past
	random   *mathrand.Rand
	intake   *helpdesk.Intake
	outgoing *helpdesk.Outgoing
	filer    *ingest.Filer

	company   Company
	members   []*member
	customers []*customer
	mailboxes map[string]helpdesk.Mailbox // by their names in stories
	tags      map[string]int64
	site      kb.Site
	articles  map[string]kb.ArticleRevision // by key
	sends     int64                         // number of mails sent, each by a job of its own
}

// ago returns a time before the end of the past.
func (f *filler) ago(days float64) time.Time {
	return f.now.Add(-time.Duration(days * 24 * float64(time.Hour)))
}

// between returns a random duration.
func (f *filler) between(least, most time.Duration) time.Duration {
	return least + time.Duration(f.random.Int64N(int64(most-least)))
}

// people creates the members and their account.
func (f *filler) people(ctx context.Context) error {
	f.Clock.Set(f.ago(siteAge + 10))
	operator := f.Desk.Operator()
	password := strings.ToLower(rand.Text()[:12])
	for _, m := range staff() {
		user, err := operator.CreateUser(ctx, identity.UserInput{Name: m.name, Email: m.email, Password: password})
		if err != nil {
			return err
		}
		m.id = user.ID
		f.members = append(f.members, m)
	}
	owner := f.members[0]
	account, err := operator.CreateAccount(ctx, identity.AccountInput{
		Name: companyName, DefaultLocale: "en", Languages: locales(), NextNumber: 4101,
	}, owner.id)
	if err != nil {
		return err
	}
	for _, m := range f.members {
		if m != owner {
			if _, err := operator.AddMember(ctx, account.ID, m.id, m.role); err != nil {
				return err
			}
		}
		if m != owner {
			f.company.Others = append(f.company.Others, m.email)
		}
		if m.desk, err = f.Desk.Desk(ctx, f.Desk.As(m.id), account.ID); err != nil {
			return err
		}
	}
	_, token, err := operator.CreateToken(ctx, owner.id, identity.TokenInput{Name: "demo"})
	f.company.AccountID, f.company.Name, f.company.Token = account.ID, companyName, token
	f.company.Email, f.company.Password = owner.email, password
	return err
}

// furnish creates what conversations need: mailboxes, tags, customers, and what the team made for itself.
func (f *filler) furnish(ctx context.Context) error {
	owner := f.members[0].desk
	f.mailboxes = map[string]helpdesk.Mailbox{}
	for _, m := range []struct{ key, name, email string }{
		{"support", "Support", "help@" + companyDomain}, {"orders", "Orders", "orders@" + companyDomain},
	} {
		made, err := owner.Mailboxes().Create(ctx, helpdesk.MailboxInput{
			Name: storage.Some(m.name), Email: storage.Some(m.email), From: storage.Some("{{agent.name}}, " + companyName),
			IsDefault: storage.Some(m.key == "support"),
		})
		if err != nil {
			return err
		}
		f.mailboxes[m.key] = made
	}
	if err := f.workplace(ctx); err != nil {
		return err
	}
	f.tags = map[string]int64{}
	for t, err := range storage.Each(func(req storage.PageRequest) (storage.Page[helpdesk.Tag], error) { return owner.Tags().List(ctx, req) }) {
		if err != nil {
			return err
		}
		f.tags[t.Name] = t.ID
	}
	f.Clock.Set(f.ago(days + 2))
	f.customers = clientele()
	for _, c := range f.customers {
		if _, err := owner.Customers().Create(ctx, c.input()); err != nil {
			return fmt.Errorf("%s: %w", c.email, err)
		}
	}
	return nil
}
