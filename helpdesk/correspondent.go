package helpdesk

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/plain"
)

// maxReplyTo limits the addresses of Reply-To that count, since replies go to all of them.
const maxReplyTo = 10

// speakers returns the addresses that a message may be filed under: its author, and the alternatives that it names.
func speakers(m *ledger.Incoming) []mailaddr.Address {
	all := []mailaddr.Address{m.FirstAuthor(), m.FirstSender(), m.Original}
	all = append(all, m.ReplyTo[:min(len(m.ReplyTo), maxReplyTo)]...)
	all = append(all, mailaddr.Address{Email: m.ReturnPath})
	return slices.DeleteFunc(all, func(a mailaddr.Address) bool { return a.Email == "" || Unreachable(a.Email) })
}

// header returns the part of the message's header that is kept.
func headerOf(m *ledger.Incoming) MailHeader {
	return MailHeader{
		From: m.From, Sender: m.FirstSender(), ReplyTo: m.ReplyTo, To: m.To, Cc: m.Cc, Date: m.Date.UTC().Truncate(time.Microsecond), Rewritten: m.Rewritten,
		ListID: m.ListID, ListPost: m.ListPost,
	}
}

// chooseCustomer determines the customer that a message is filed under. Usually that is its author, From. If a form, a list
// or a group writes on a customer's behalf, it is the address for replies (RFC 5322 section 3.6.2): From is then our own
// address or an unread one, or was rewritten in transit. This never lets a message join a conversation. An address of our
// own is never a customer.
func (f *filing) chooseCustomer(ctx context.Context, tx Tx, shared *filingTogether) error {
	m := &f.mail
	f.customer, f.forOthers, f.fromUs = m.FirstAuthor(), false, false
	own, err := shared.ownAddresses(ctx, tx.Reader(), f.svc, f.accountID)
	if err != nil {
		return err
	}
	if m.FirstAuthor().Email == ledger.UnknownSender {
		instead := slices.DeleteFunc(speakers(m), func(a mailaddr.Address) bool { return own.receives(a.Email) })
		if len(instead) > 0 {
			f.customer = instead[0]
		} else {
			m.AutoSubmitted = true // neither reply to it nor await a reply
		}
		return nil
	}
	ours := own.receives(m.FirstAuthor().Email)
	if ours {
		f.customer, f.fromUs, f.forOthers = unknownSender, !m.Rewritten, m.Rewritten
	}
	if len(m.ReplyTo) == 0 && m.Original.Email == "" {
		return nil
	}
	f.forOthers = m.Rewritten || noReply(m.FirstAuthor().Email) || ours
	isUser := f.users[mailaddr.Key(m.FirstAuthor().Email)] != 0
	if !f.forOthers && (isUser || !own.writes(m.FirstAuthor().Email)) {
		return nil
	}
	could := m.ReplyTo[:min(len(m.ReplyTo), maxReplyTo)]
	if m.Rewritten {
		could = append([]mailaddr.Address{m.Original}, could...)
	}
	for _, a := range could {
		if !mailaddr.Valid(a.Email) || mailaddr.Key(a.Email) == mailaddr.Key(m.FirstAuthor().Email) || noReply(a.Email) || own.receives(a.Email) {
			continue
		}
		if a.Name == "" && m.Rewritten {
			a.Name = beforeVia(m.FirstAuthor().Name)
		}
		f.customer, f.fromUs = a, false
		return nil
	}
	return nil
}

// via matches display names by which lists and groups replace an author's address in From.
var via = regexp.MustCompile(`(?i)^\s*['"]?(.+?)['"]?\s+via\s+\S`)

// beforeVia returns the name of a rewritten author: "Ada" from "'Ada' via Support".
func beforeVia(name string) string {
	if found := via.FindStringSubmatch(name); found != nil && !strings.Contains(found[1], "@") {
		return found[1]
	}
	return ""
}

// noReplyLocal matches local parts of unread addresses, in several languages, and those of web servers.
var noReplyLocal = regexp.MustCompile(`^(nobody|wordpress|www-data|apache2?|httpd|nginx)$|` +
	`(^|[^a-z])(no[-_.]?(reply|replies|response|responder|responda|contestar|answer)|(do[-_.]?not|dont|never)[-_.]?(reply|respond|answer)|` +
	`n[aã]o[-_.]?respond(a|er)|non[-_.]?rispondere|ne[-_.]?pas[-_.]?repondre|(nicht|keine)[-_.]?antwort(en)?|` +
	`niet[-_.]?(be)?antwoorden|geen[-_.]?antwoord|(svara?|svar|besvar)[-_.]?(ej|inte|ikke)|(ej|inte|ikke)[-_.]?(be)?svara?|` +
	`nie[-_.]?odpowiada[cj]|ne[-_.]?odpovidejte|cevaplamayin|yanitlamayin)([^a-z]|$)`)

// noReply reports whether nobody reads mail to an address.
func noReply(address string) bool {
	local, _, _ := plain.CutLast(mailaddr.Key(address), "@")
	return noReplyLocal.MatchString(local)
}

// ownAddresses are the mailboxes and domains of an account.
type ownAddresses struct {
	svc       *Service
	accountID int64
	mailboxes map[string]bool // by mailaddr.Key
	domains   map[string]bool
}

// ownAddresses reads the account's addresses once for all messages that are filed together.
func (shared *filingTogether) ownAddresses(ctx context.Context, r Reader, svc *Service, accountID int64) (*ownAddresses, error) {
	var err error
	if shared.own == nil {
		shared.own, err = svc.ownAddresses(ctx, r, accountID)
	}
	return shared.own, err
}

func (s *Service) ownAddresses(ctx context.Context, r Reader, accountID int64) (*ownAddresses, error) {
	own := &ownAddresses{svc: s, accountID: accountID, mailboxes: map[string]bool{}, domains: map[string]bool{s.cfg.IntakeDomain: true}}
	err := eachRow(ctx, r.Mailboxes(), func(m Mailbox) int64 {
		if _, domain, found := plain.CutLast(m.EmailKey, "@"); found {
			own.mailboxes[m.EmailKey] = true
			own.domains[domain] = own.domains[domain] || !publicProvider(domain)
		}
		return m.ID
	})
	if err != nil {
		return nil, err
	}
	err = eachRow(ctx, domainNoun().Reader(r), func(d sending.Domain) int64 {
		own.domains[d.Name] = own.domains[d.Name] || d.Verified()
		return d.ID
	})
	if err != nil {
		return nil, err
	}
	return own, nil
}

// eachRow visits all rows by id.
func eachRow[T any](ctx context.Context, rows storage.RowReader[T, storage.NoFilter], each func(T) int64) error {
	seek := storage.Seek{Limit: 200}
	for {
		batch, err := rows.List(ctx, storage.NoFilter{}, seek)
		if err != nil {
			return err
		}
		for _, one := range batch {
			seek.From = &storage.Position{ID: each(one)}
		}
		if len(batch) < seek.Limit {
			return nil
		}
	}
}

// receives reports whether mail to an address arrives in a mailbox of the account.
func (own *ownAddresses) receives(address string) bool {
	key := mailaddr.Key(address)
	local, domain, _ := plain.CutLast(key, "@")
	if base, detail := splitDetail(local); detail != "" && own.mailboxes[base+"@"+domain] {
		return true
	}
	_, isToken := own.svc.tokenConversation(own.accountID, key)
	return isToken || domain == mailaddr.Key(own.svc.cfg.IntakeDomain) || own.mailboxes[key]
}

// writes reports whether an address is a mailbox of the account or in one of its domains.
func (own *ownAddresses) writes(address string) bool {
	_, domain, _ := plain.CutLast(mailaddr.Key(address), "@")
	return own.receives(address) || own.domains[domain]
}

// ofList reports whether an address is that of a mailing list, by its List-Post or, as most lists have it, its List-Id.
func ofList(address, listID, listPost string) bool {
	key := mailaddr.Key(address)
	local, domain, found := plain.CutLast(key, "@")
	return found && (key == mailaddr.Key(listPost) || strings.EqualFold(listID, local+"."+domain))
}

// answered returns the recipients of a reply in a conversation, whose last interactions are given, last first, unless its
// author names others: Reply-To of the customer's latest message, or the customer.
//
// A message that joined a conversation by its references may come from anybody, and replies quote the conversation. Its
// Reply-To therefore counts only if the domain of From authenticates it, or if its addresses already are participants.
func (s *Service) answered(ctx context.Context, tx Tx, accountID int64, c Conversation, mailbox Mailbox, before *recent) ([]string, error) {
	last, found, err := before.answered(ctx, tx, c.CustomerID)
	if err != nil {
		return nil, err
	}
	if found {
		to, err := s.replyTo(ctx, tx.Reader(), accountID, last)
		if err != nil || len(to) > 0 {
			return to, err
		}
	}
	if Unreachable(c.CustomerEmail) {
		return nil, nil
	}
	if s.near(c.CustomerEmail, mailbox) {
		own, err := s.ownAddresses(ctx, tx.Reader(), accountID)
		if err != nil || own.receives(c.CustomerEmail) {
			return nil, err
		}
	}
	return []string{c.CustomerEmail}, nil
}

// near reports whether an address has the domain of a mailbox or of the intake, as addresses of our own have. Every other
// answer need not read which those are.
func (s *Service) near(address string, mailbox Mailbox) bool {
	_, domain, _ := plain.CutLast(mailaddr.Key(address), "@")
	_, own, _ := plain.CutLast(mailbox.EmailKey, "@")
	return domain == own || domain == s.cfg.IntakeDomain
}

// replyTo returns the trusted addresses of a message's Reply-To, without our own. That of a mailing list was set by the list:
// an answer is for the author, not for all its readers.
func (s *Service) replyTo(ctx context.Context, r Reader, accountID int64, i Interaction) ([]string, error) {
	wanted := i.Mail.ReplyTo
	if i.Mail.Forwarded.UserID != 0 {
		wanted = i.Mail.Forwarded.ReplyTo // the outer Reply-To is the member's own
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	own, err := s.ownAddresses(ctx, r, accountID)
	if err != nil {
		return nil, err
	}
	trusted := i.Threading.Rule == RuleNew || i.Authentication.FromAligned
	var to, keys []string
	for _, a := range wanted[:min(len(wanted), maxReplyTo)] {
		key := mailaddr.Key(a.Email)
		if !mailaddr.Valid(a.Email) || own.receives(a.Email) || slices.Contains(keys, key) || ofList(a.Email, i.Mail.ListID, i.Mail.ListPost) {
			continue
		}
		if !trusted {
			takesPart, err := r.Participant(ctx, i.ConversationID, []string{key})
			if err != nil {
				return nil, err
			}
			if !takesPart {
				continue
			}
		}
		to, keys = append(to, a.Email), append(keys, key)
	}
	return to, nil
}
