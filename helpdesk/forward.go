package helpdesk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/internal/quote"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// clockSkew is the tolerated difference between the clocks of two mail systems. It also applies to a forwarded Date without
// a time zone.
const clockSkew = time.Hour

// forward is a message forwarded by a member, with the data needed to verify that.
type forward struct {
	mail       ledger.Forwarded
	customer   mailaddr.Address // set once verified: From, or the address in Reply-To instead
	body, note string
	files      []Attachment // files of a message that is attached as a whole
	attached   bool
	auto       bool // an automatic message
	explicit   bool // explicitly requested by the member: opens a conversation whatever it refers to
	member     identity.Grant
}

// findForward detects a possible forward by a member. It runs before the transaction, which then verifies it.
func (in *Intake) findForward(ctx context.Context, f *filing) error {
	user := f.users[mailaddr.Key(f.mail.FirstAuthor().Email)]
	if user == 0 {
		return nil
	}
	found := f.forwarded()
	if found == nil {
		return nil
	}
	dir, err := in.system.Read(receive)
	if err != nil {
		return err
	}
	found.member, err = dir.Grant(ctx, user, f.accountID)
	if fault.Is(err, fault.NotFound) || found.member.Disabled {
		return nil
	}
	found.mail.UserID = user
	f.passed = found
	return err
}

// forwarded returns the message that this one forwards, nil if none: either quoted below its text, or its only attached
// message if the subject derives from it.
func (f *filing) forwarded() *forward { return f.forwardedAs(f.mail.Subject) }

// forwardedAs is forwarded for another subject.
func (f *filing) forwardedAs(subject string) *forward {
	if split, ok := mailhtml.SplitForward(f.body, subject); ok {
		h := split.Header
		if h.From.Email == "" && f.mail.HTML != "" { // some clients quote only names, with addresses in the text
			text, _ := mailhtml.SplitForward(mailhtml.FromText(f.mail.Text[:min(len(f.mail.Text), MaxBody)]), subject)
			h.From, h.ReplyTo = text.Header.From, text.Header.ReplyTo
		}
		out := &forward{body: split.Body, note: split.Note, mail: ledger.Forwarded{
			From: mailaddr.Address(h.From), ReplyTo: quoted(h.ReplyTo), To: quoted(h.To), Cc: quoted(h.Cc), Subject: h.Subject, Date: f.dateOf(h),
		}}
		cleanForwarded(&out.mail)
		return out
	}
	m := f.mail.Attached
	if m == nil {
		return nil
	}
	_, says := quote.ForwardSubject(subject)
	if !says && subject != "" && !strings.EqualFold(subject, m.Subject) {
		return nil
	}
	inner := filing{mail: *m}
	inner.prepareBody()
	f.mail.Attached = &inner.mail // a large body is a file now
	replyTo := slices.DeleteFunc(slices.Clone(m.ReplyTo), func(a mailaddr.Address) bool { return ofList(a.Email, m.ListID, m.ListPost) })
	out := &forward{body: inner.body, attached: true, auto: m.AutoSubmitted, mail: ledger.Forwarded{
		From: m.FirstAuthor(), ReplyTo: replyTo, To: m.To, Cc: m.Cc, Subject: m.Subject, Date: m.Date.UTC().Truncate(time.Microsecond), MessageID: m.MessageID,
	}}
	if !blank(f.body) {
		out.note = f.body
	}
	return out
}

func quoted(all []quote.Address) []mailaddr.Address {
	var out []mailaddr.Address
	for _, a := range all {
		out = append(out, mailaddr.Address(a))
	}
	return out
}

func cleanForwarded(m *ledger.Forwarded) {
	from := cleanAddresses([]mailaddr.Address{m.From})
	if m.From = (mailaddr.Address{}); len(from) > 0 {
		m.From = from[0]
	}
	m.ReplyTo, m.To, m.Cc = cleanAddresses(m.ReplyTo), cleanAddresses(m.To), cleanAddresses(m.Cc)
	m.Subject = plain.Cut(plain.Line(m.Subject), 998)
}

// dateOf returns the date above a forwarded message, in the forwarder's zone; zero if that is later than the forward.
func (f *filing) dateOf(h mailhtml.ForwardedHeader) time.Time {
	date := h.Date
	if date.IsZero() {
		return date
	}
	if !h.Zoned {
		date = date.Add(-time.Duration(f.mail.DateOffset) * time.Second)
	}
	at := f.now
	if !f.mail.Date.IsZero() && f.mail.Date.Before(at) {
		at = f.mail.Date
	}
	if date.After(at.Add(clockSkew)) {
		return time.Time{}
	}
	return date
}

// believeForward decides whether the message is from the member and forwards another person's message; why is the reason
// against it, or "".
func (f *filing) believeForward(ctx context.Context, tx Tx, shared *filingTogether, mailbox Mailbox) (why string, err error) {
	f.forward = nil
	if f.passed == nil || f.forOthers {
		return "", nil
	}
	limits := f.passed.member.Membership.MailboxIDs
	may := f.svc.held(f.passed.member, nil)
	switch {
	case !f.auth.FromAligned || f.auth.Refused():
		return "nothing shows that the mail is the member's", nil
	case len(limits) > 0 && !slices.Contains(limits, mailbox.ID) || !may.Has(identity.ConversationsCreate) || !may.Has(identity.InteractionsCreate):
		return "the member may not begin conversations of customers in the mailbox", nil
	}
	own, err := shared.ownAddresses(ctx, tx.Reader(), f.svc, f.accountID)
	if err != nil {
		return "", err
	}
	one := *f.passed
	if one.customer = one.author(own, mailaddr.Key(f.mail.FirstAuthor().Email)); one.customer.Email == "" {
		return "the forwarded mail names nobody else who could be answered", nil
	}
	f.forward = &one
	return "", nil
}

// author returns the author of a forwarded message: From, or Reply-To if From is our own address or an unread one.
func (p *forward) author(own *ownAddresses, forwarder string) mailaddr.Address {
	could := p.mail.ReplyTo[:min(len(p.mail.ReplyTo), maxReplyTo)]
	switch {
	case !own.writes(p.mail.From.Email) && !noReply(p.mail.From.Email), len(could) == 0 && !own.receives(p.mail.From.Email):
		could = []mailaddr.Address{p.mail.From}
	}
	for _, a := range could {
		if mailaddr.Valid(a.Email) && !Unreachable(a.Email) && mailaddr.Key(a.Email) != forwarder && !own.receives(a.Email) {
			return a
		}
	}
	return mailaddr.Address{}
}

// sent returns the time at which the author sent a message, according to its header.
func (h MailHeader) sent() time.Time {
	if !h.Forwarded.Date.IsZero() {
		return h.Forwarded.Date
	}
	return h.Date
}

// apply turns the interaction of a member's message into that of the forwarded one. Only its author becomes a participant;
// the member's other recipients do not.
func (p *forward) apply(i *Interaction) {
	i.Body, i.Subject, i.AutoSubmitted, i.To, i.Cc = p.body, p.subject(i.Subject), p.auto, nil, nil
	i.Mail.Forwarded, i.Threading.ForwardedBy = p.mail, p.mail.UserID
	if d := p.mail.Date; d.Year() >= 1970 && d.Before(i.CreatedAt) {
		i.PostedAt = d
	}
	if id := p.mail.MessageID; id != "" && !slices.Contains(i.References, id) {
		i.References = append(slices.Clone(i.References), id) // known to the author's mail client
	}
}

// subject returns the conversation's subject.
func (p *forward) subject(of string) string {
	rest, _ := quote.ForwardSubject(of)
	return cmp.Or(p.mail.Subject, rest)
}

// fileNote files what a member wrote beside a forwarded message as a note, since it was not meant for the customer.
func (f *filing) fileNote(ctx context.Context, tx Tx, c Conversation, index *indexing) ([]storage.Event, error) {
	if f.forward == nil || f.forward.note == "" {
		return nil, nil
	}
	note := Interaction{
		ConversationID: c.ID, Type: TypeNote, Status: StatusPosted, Body: f.forward.note, UserID: f.forward.mail.UserID,
		At: f.now, CreatedAt: f.now, UpdatedAt: f.now,
	}
	if err := tx.Interactions().Insert(ctx, &note); err != nil {
		return nil, err
	}
	if err := index.add(ctx, tx, c, note); err != nil {
		return nil, err
	}
	if err := attach(ctx, tx, note, f.noteFiles()); err != nil {
		return nil, err
	}
	return []storage.Event{{
		Type: "interaction.created", Subject: note.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(note.ID), Time: f.now,
	}}, nil
}

// noteFiles returns the files for the note: the images that only its text shows or, if the forwarded message is attached,
// all files but that message.
func (f *filing) noteFiles() []Attachment {
	if f.forward == nil || f.forward.note == "" {
		return nil
	}
	shown, others := namedBy(f.forward.note), namedBy(f.forward.body)
	return slices.DeleteFunc(slices.Clone(f.files), func(a Attachment) bool {
		if f.forward.attached {
			return isMail(a.ContentType)
		}
		key := contentKey(a.ContentID)
		return !shown[key] || others[key]
	})
}

func isMail(contentType string) bool {
	return contentType == "message/rfc822" || contentType == "message/global"
}

// mailFiles returns the files for the customer's interaction.
func (f *filing) mailFiles() []Attachment {
	if f.forward == nil {
		return f.files
	}
	note := f.noteFiles()
	files := slices.DeleteFunc(slices.Clone(f.files), func(a Attachment) bool {
		return slices.ContainsFunc(note, func(b Attachment) bool { return a.BlobKey == b.BlobKey })
	})
	return append(files, f.forward.files...)
}

// unused returns the files of an attached message that was not treated as forwarded.
func (f *filing) unused() []Attachment {
	if f.passed == nil || f.forward != nil {
		return nil
	}
	return f.passed.files
}
