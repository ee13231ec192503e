package demo

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// talk is a story with a customer.
type talk struct {
	*filler
	story
	rank    int // 0 is the newest
	begin   time.Time
	who     *customer
	agent   *member
	details *strings.Replacer
	form    bool // it begins in the contact form

	id         int64
	references []string // of the mails so far
}

func (f *filler) newTalk(s story, who *customer) *talk {
	var able []*member
	for _, m := range f.members {
		if slices.Contains(m.speaks, s.locale) {
			able = append(able, m)
		}
	}
	t := &talk{filler: f, story: s, who: who, agent: able[f.random.IntN(len(able))], form: f.random.IntN(12) == 0 && s.photo == ""}
	machine := []string{"Halden One", "Halden Duo"}[f.random.IntN(2)]
	t.details = strings.NewReplacer(
		"{first}", who.first, "{name}", who.name(), "{city}", who.city, "{agent}", t.agent.first(), "{machine}", machine,
		"{order}", fmt.Sprintf("HC-%05d", 20_000+f.random.IntN(30_000)),
		"{serial}", fmt.Sprintf("H%d-%06d", 1+f.random.IntN(2), f.random.IntN(1_000_000)),
		"{tracking}", fmt.Sprintf("NO%09dHX", f.random.IntN(1_000_000_000)),
		"{amount}", fmt.Sprintf("%d", 19+f.random.IntN(60)),
	)
	return t
}

// plan returns the steps with their times.
func (t *talk) plan() []step {
	at := t.begin
	steps := []step{{at, func(ctx context.Context) error { return t.write(ctx, 0) }}}
	if t.rank < fresh && t.rank%5 != 4 {
		return append(steps, t.unfinished()...)
	}
	taken := false
	for i, l := range t.lines[1:] {
		n := i + 1
		switch l.by {
		case byCustomer:
			at = daytime(at.Add(t.between(40*time.Minute, 30*time.Hour)))
			if last := steps[len(steps)-1].at; !at.After(last) {
				at = last.Add(time.Hour)
			}
			steps = append(steps, step{at, func(ctx context.Context) error { return t.write(ctx, n) }})
			continue
		case byMember:
			at = t.atWork(at.Add(t.between(12*time.Minute, 7*time.Hour)))
		default:
			at = t.atWork(at.Add(t.between(4*time.Minute, 30*time.Minute)))
		}
		if !taken {
			taken = true
			steps = append(steps, step{at, t.assign})
			at = at.Add(t.between(time.Minute, 9*time.Minute))
		}
		steps = append(steps, t.reply(at, n)...)
	}
	return append(steps, t.finish(at)...)
}

// reply is a note or an answer, with the actions that immediately follow it.
func (t *talk) reply(at time.Time, n int) []step {
	if t.lines[n].by == byNote {
		return []step{{at, func(ctx context.Context) error { return t.note(ctx, t.lines[n].text) }}}
	}
	steps := []step{{at, func(ctx context.Context) error { return t.respond(ctx, n) }}}
	if n < len(t.lines)-1 {
		return append(steps, step{at.Add(time.Second), func(ctx context.Context) error { return t.status(ctx, helpdesk.StatusPending) }})
	}
	return steps
}

// finish ends a conversation.
func (t *talk) finish(at time.Time) []step {
	closed := func(ctx context.Context) error { return t.status(ctx, helpdesk.StatusClosed) }
	switch {
	case t.lines[len(t.lines)-1].by == byCustomer: // a last thank you
		return []step{{t.atWork(at.Add(3 * time.Hour)), closed}}
	case t.failing():
		again := t.atWork(at.Add(t.between(20*time.Hour, 50*time.Hour)))
		note := func(ctx context.Context) error { return t.note(ctx, "Called instead: the answer is known now.") }
		return []step{{again, note}, {again.Add(time.Minute), closed}}
	case t.rank%3 == 0:
		waits := func(ctx context.Context) error { return t.status(ctx, helpdesk.StatusPending) }
		return []step{{at.Add(time.Second), waits}, {t.atWork(at.Add(t.between(60*time.Hour, 200*time.Hour))), closed}}
	}
	return []step{{at.Add(t.between(time.Second, 40*time.Second)), closed}}
}

// unfinished decides on the state of a new conversation: untouched, assigned, with a draft answer, or waiting for the
// customer.
func (t *talk) unfinished() []step {
	kind, at := t.rank%5, t.begin.Add(4*time.Minute)
	if kind == 0 {
		return nil
	}
	steps := []step{{at, t.assign}}
	next := slices.IndexFunc(t.lines, func(l line) bool { return l.by == byMember })
	at = at.Add(3 * time.Minute)
	switch {
	case kind == 1 || next < 0:
		return steps
	case kind == 2:
		return append(steps, step{at, func(ctx context.Context) error { return t.draft(ctx, next) }})
	}
	for n := 1; n <= next; n++ {
		steps = append(steps, t.reply(at, n)...)
		at = at.Add(2 * time.Minute)
	}
	if t.failing() {
		return steps
	}
	return append(steps, step{at, func(ctx context.Context) error { return t.status(ctx, helpdesk.StatusPending) }})
}

// refused and bounced report whether the last answer is not delivered: the relay refuses it, or it comes back.
func (t *talk) refused() bool { return t.rank%44 == 3 && t.endsWithAnswer() }
func (t *talk) bounced() bool { return t.rank%38 == 8 && t.endsWithAnswer() }
func (t *talk) failing() bool { return t.refused() || t.bounced() }

func (t *talk) endsWithAnswer() bool { return t.lines[len(t.lines)-1].by == byMember }

// write adds a message of the customer.
func (t *talk) write(ctx context.Context, n int) error {
	text := t.details.Replace(t.lines[n].text) + "\n\n" + t.who.first
	subject := t.details.Replace(t.subject)
	if n == 0 && t.form {
		portal, err := t.Desk.NamedPortal(ctx, t.company.AccountID, t.who.email, t.who.name())
		if err != nil {
			return err
		}
		c, err := portal.CreateConversation(ctx, helpdesk.PortalConversationInput{
			Subject: subject, MailboxID: t.mailbox().ID, Messages: []helpdesk.PortalMessage{{Body: text, Source: "contact form"}},
		})
		t.id = c.ID
		return err
	}
	_, host, _ := strings.Cut(t.who.email, "@")
	now := t.Clock.Now()
	l := letter{
		id: fmt.Sprintf("%d.%d.%d@mail.%s", now.Unix(), t.rank, n, host), at: now.Add(-20 * time.Second), from: t.who,
		to: t.mailbox().Email, subject: subject, references: t.references, text: text,
		copied: t.copied,
	}
	if n == 0 {
		l.photo = t.photo
	} else {
		l.subject = "Re: " + subject
	}
	raw, err := l.raw()
	if err != nil {
		return err
	}
	t.references = append(t.references, l.id)
	if err := t.receive(ctx, raw); err != nil || t.id != 0 {
		return err
	}
	page, err := t.members[0].desk.InboundMails().List(ctx, ledger.Filter{MailboxID: t.mailbox().ID}, storage.PageRequest{Limit: 1})
	if err != nil {
		return err
	}
	filed := page.Items[0] // the newest
	if filed.State != ledger.Filed {
		return fmt.Errorf("the mail about %q is %s: %s", subject, filed.State, filed.Reason)
	}
	t.id = filed.ConversationID
	return nil
}

func (t *talk) mailbox() helpdesk.Mailbox { return t.mailboxes[t.story.mailbox] }

// receive accepts a mail and files it.
func (t *talk) receive(ctx context.Context, raw []byte) error {
	account, mailbox := t.company.AccountID, t.mailbox().ID
	if err := t.intake.Take(ctx, account, mailbox, "smtp", []ledger.Raw{{Raw: raw}}, nil); err != nil {
		return err
	}
	return t.filer.Handle(ctx, storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobFileMail, AccountID: account, Subject: mailbox}})
}

// assign assigns the conversation to a member.
func (t *talk) assign(ctx context.Context) error {
	var ids []int64
	for _, name := range t.story.tags {
		ids = append(ids, t.filler.tags[name])
	}
	if _, err := t.agent.desk.Conversations().SetTags(ctx, t.id, ids); err != nil {
		return err
	}
	return t.update(ctx, helpdesk.ConversationUpdate{UserID: storage.Some(t.agent.id), Fields: valuesOf(t.id)})
}

func (t *talk) status(ctx context.Context, s helpdesk.Status) error {
	return t.update(ctx, helpdesk.ConversationUpdate{Status: storage.Some(s)})
}

func (t *talk) update(ctx context.Context, in helpdesk.ConversationUpdate) error {
	_, err := t.agent.desk.Conversations().Update(ctx, t.id, in)
	return err
}

func (t *talk) note(ctx context.Context, text string) error {
	in := helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: t.details.Replace(text)}
	_, err := t.agent.desk.Interactions().Create(ctx, t.id, in)
	return err
}

func (t *talk) draft(ctx context.Context, n int) error {
	in := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: t.body(t.lines[n].text)}
	_, err := t.agent.desk.Interactions().Create(ctx, t.id, in)
	return err
}

// respond answers, and sends the answer.
func (t *talk) respond(ctx context.Context, n int) error {
	in := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: t.body(t.lines[n].text)}
	answer, err := t.agent.desk.Interactions().Create(ctx, t.id, in)
	if err != nil {
		return err
	}
	t.references = append(t.references, answer.MessageID)
	t.sends++
	sent, err := t.outgoing.Begin(ctx, t.company.AccountID, answer.ID, t.sends)
	if err != nil {
		return err
	}
	last := n == t.lastAnswer()
	var outcomes []helpdesk.Outcome
	for _, d := range sent.Due {
		o := helpdesk.Outcome{DeliveryID: d.ID, State: sending.Sent, Code: 250, Response: "2.0.0 Ok: queued"}
		if last && t.refused() {
			o = helpdesk.Outcome{DeliveryID: d.ID, State: sending.Failed, Code: 550, EnhancedCode: "5.7.1", Response: "Message rejected: try again after your server is verified"}
		}
		outcomes = append(outcomes, o)
	}
	if _, err := t.outgoing.Report(ctx, t.company.AccountID, answer.ID, outcomes); err != nil || !last || !t.bounced() {
		return err
	}
	return t.comeBack(ctx, answer)
}

// comeBack returns an answer that could not be delivered.
func (t *talk) comeBack(ctx context.Context, answer helpdesk.Interaction) error {
	id := fmt.Sprintf("returned-%d@mx.%s", answer.ID, companyDomain)
	raw := returnedMail(id, t.Clock.Now(), t.mailbox().Email, answer.MessageID, t.who.email, "5.2.2", "552 5.2.2 <"+t.who.email+">: mailbox is full")
	return t.receive(ctx, raw)
}

var helpLink = regexp.MustCompile(`\{help:([a-z0-9-]+)\}`)

// body returns the HTML of an answer.
func (t *talk) body(text string) string {
	hello, bye := greeting(t.locale)
	paragraphs := []string{t.details.Replace(hello)}
	paragraphs = append(paragraphs, strings.Split(t.details.Replace(text), "\n\n")...)
	paragraphs = append(paragraphs, t.details.Replace(bye))
	var b strings.Builder
	if t.locale == "ar" {
		b.WriteString(`<div dir="rtl">`)
	}
	for _, p := range paragraphs {
		p = strings.ReplaceAll(html.EscapeString(p), "\n", "<br>")
		p = helpLink.ReplaceAllStringFunc(p, func(found string) string {
			address, title := t.link(helpLink.FindStringSubmatch(found)[1], t.locale)
			return `<a href="` + html.EscapeString(address) + `">` + html.EscapeString(title) + `</a>`
		})
		b.WriteString("<p>" + p + "</p>")
	}
	if t.locale == "ar" {
		b.WriteString("</div>")
	}
	return b.String()
}

// greeting has the beginning and the end of answers.
func greeting(locale string) (hello, bye string) {
	switch locale {
	case "de":
		return "Guten Tag {name},", "Freundliche Grüße\n{agent}\nHalden"
	case "fr":
		return "Bonjour {first},", "Bien à vous,\n{agent}\nHalden"
	case "ar":
		return "مرحبًا {first}،", "مع أطيب التحيات\n{agent}\nHalden"
	}
	return "Hello {first},", "Kind regards,\n{agent}\nHalden"
}
