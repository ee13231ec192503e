package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// PastPeople are those of an account whom the people of another help desk may be.
type PastPeople struct {
	members map[string]int64 // by mailaddr.Key
	teams   map[string]int64 // by Key
}

// Member finds the member with a mail address; 0: there is none.
func (p PastPeople) Member(email string) int64 { return p.members[mailaddr.Key(email)] }

// Team finds the team with a name, whatever its case; 0: there is none.
func (p PastPeople) Team(name string) int64 { return p.teams[tagKey(plain.Line(name))] }

// People returns the members and teams of an account.
func (m *MoveIn) People(ctx context.Context, accountID int64) (PastPeople, error) {
	p := PastPeople{members: map[string]int64{}, teams: map[string]int64{}}
	r, err := m.desk(accountID).Read(moveIn)
	if err != nil {
		return p, err
	}
	var ids []int64
	if err := eachRow(ctx, r.Memberships(), func(one identity.Membership) int64 {
		ids = append(ids, one.UserID)
		return one.ID
	}); err != nil {
		return p, err
	}
	for some := range slices.Chunk(ids, maxIdentities) {
		users, err := r.UsersByID(ctx, some)
		if err != nil {
			return p, err
		}
		for _, u := range users {
			p.members[mailaddr.Key(u.Email)] = u.ID
		}
	}
	err = eachRow(ctx, r.Teams(), func(t Team) int64 {
		p.teams[t.Key] = t.ID
		return t.ID
	})
	return p, err
}

// PastCustomer is a customer of another help desk.
type PastCustomer struct {
	Name             string
	Emails           []string // those that are valid count; without any it is left out
	Company, Note    string
	Phones, Websites []string
}

// PastCustomers is what became of customers.
type PastCustomers struct {
	Created, Changed []int64 // ids of those that were made, and of those that got what they lacked
	Erased           int     // were left out: an address of theirs was erased
}

// Customers makes customers, and gives those that are here what they lack, in one transaction, so they should be few. One
// that has any of the addresses is that customer; what a customer has here is never changed. What is too long is cut, and
// what is too much is left out: see [MaxEmails]. Customers of whom an address was erased are left out, see [Erasure].
func (m *MoveIn) Customers(ctx context.Context, accountID int64, all []PastCustomer) (PastCustomers, error) {
	var done PastCustomers
	begin, err := m.desk(accountID).Write(moveIn)
	if err != nil {
		return done, err
	}
	now := m.svc.now()
	if m.rehearsal != nil {
		r, err := m.desk(accountID).Read(moveIn)
		if err != nil {
			return done, err
		}
		done, _, err = m.svc.fillCustomers(ctx, rehearsed{m.rehearsal, r}, r, all, now)
		return done, err
	}
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			var written []Customer
			var err error
			if done, written, err = m.svc.fillCustomers(ctx, tx, tx.Reader(), all, now); err != nil {
				return err
			}
			for _, c := range written {
				if err := m.svc.reindexCustomer(ctx, tx, Scope{AccountID: accountID}, c); err != nil {
					return err
				}
			}
			return nil
		})
	}, UniqueCustomerEmail)
	if err != nil {
		return PastCustomers{}, err
	}
	return done, nil
}

// fillCustomers makes customers and gives them what they lack, and returns those that it wrote.
func (s *Service) fillCustomers(ctx context.Context, book customerBook, r Reader, all []PastCustomer, now time.Time) (done PastCustomers, written []Customer, err error) {
	kept, err := s.unerased(ctx, r, all)
	if err != nil {
		return done, nil, err
	}
	done.Erased = len(all) - len(kept)
	at := map[int64]int{} // where a customer is in written
	for _, in := range kept {
		c, err := in.find(ctx, book)
		if err != nil {
			return done, nil, err
		}
		old := c.copy()
		if err := in.fill(ctx, book, &c); err != nil {
			return done, nil, err
		}
		n, again := at[c.ID]
		switch {
		case len(c.Emails) == 0 || c.ID != 0 && !old.differs(c):
			continue
		case c.ID == 0:
			c.CreatedAt, c.UpdatedAt = now, now
			if err := book.InsertCustomer(ctx, &c); err != nil {
				return done, nil, err
			}
			done.Created = append(done.Created, c.ID)
		default:
			c.UpdatedAt = now
			if err := book.UpdateCustomer(ctx, &c); err != nil {
				return done, nil, err
			}
			if again {
				written[n] = c
				continue
			}
			done.Changed = append(done.Changed, c.ID)
		}
		at[c.ID] = len(written)
		written = append(written, c)
	}
	return done, written, nil
}

// differs reports whether something was added to a customer.
func (c Customer) differs(filled Customer) bool {
	return c.FirstName != filled.FirstName || c.LastName != filled.LastName || c.Company != filled.Company || c.Note != filled.Note ||
		len(c.Emails) != len(filled.Emails) || len(c.Phones) != len(filled.Phones) || len(c.Websites) != len(filled.Websites)
}

// find is the customer who has one of the addresses; the zero value: nobody has.
func (in PastCustomer) find(ctx context.Context, book customerBook) (Customer, error) {
	for _, email := range in.Emails {
		if email = plain.Line(email); !mailaddr.Valid(email) {
			continue
		}
		if c, err := book.CustomerByEmail(ctx, mailaddr.Key(email)); !fault.Is(err, fault.NotFound) {
			return c, err
		}
	}
	return Customer{}, nil
}

// fill gives a customer what is lacking.
func (in PastCustomer) fill(ctx context.Context, book customerBook, c *Customer) error {
	if c.FirstName+c.LastName == "" {
		first, last, _ := strings.Cut(plain.Line(in.Name), " ")
		c.FirstName, c.LastName = plain.Cut(first, 100), plain.Cut(strings.TrimSpace(last), 100)
	}
	c.Company = cmp.Or(c.Company, plain.Cut(plain.Line(in.Company), 200))
	if note := plain.Lines(in.Note); note != "" && !strings.Contains(c.Note, note) {
		whole := strings.TrimSpace(c.Note + "\n\n" + note)
		if plain.Cut(whole, MaxNote) == whole || c.Note == "" {
			c.Note = strings.TrimSpace(plain.Cut(whole, MaxNote))
		}
	}
	for _, email := range in.Emails {
		email = plain.Line(email)
		key := mailaddr.Key(email)
		if !mailaddr.Valid(email) || c.emailByKey(key).Key != "" || len(c.Emails) >= MaxEmails {
			continue
		}
		if _, err := book.CustomerByEmail(ctx, key); err == nil {
			continue // another's
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
		c.Emails = append(c.Emails, CustomerEmail{Email: email, Key: key})
	}
	for _, phone := range in.Phones {
		phone = plain.Cut(plain.Line(phone), 500)
		if phone != "" && len(c.Phones) < MaxPhones && !slices.ContainsFunc(c.Phones, func(p CustomerPhone) bool { return p.Phone == phone }) {
			c.Phones = append(c.Phones, CustomerPhone{Phone: phone})
		}
	}
	for _, site := range in.Websites {
		site = plain.Line(site)
		if site != "" && plain.Cut(site, 500) == site && validWebsite(site) && len(c.Websites) < MaxWebsites &&
			!slices.ContainsFunc(c.Websites, func(w CustomerWebsite) bool { return w.Website == site }) {
			c.Websites = append(c.Websites, CustomerWebsite{Website: site})
		}
	}
	return nil
}

// Replies makes saved replies that all members see, in one transaction. One whose name is taken by such a one is left out.
// It returns which were made. What [SavedReplyInput] does not allow is an Invalid fault.
func (m *MoveIn) Replies(ctx context.Context, accountID int64, all []SavedReplyInput) (created []bool, err error) {
	begin, err := m.desk(accountID).Write(moveIn)
	if err != nil {
		return nil, err
	}
	now := m.svc.now()
	replies := make([]SavedReply, len(all))
	var problems fault.Collector
	for n, in := range all {
		in.Shared = storage.Some(true)
		replies[n] = SavedReply{CreatedAt: now, UpdatedAt: now}
		if err := replies[n].apply(&Desk{svc: m.svc}, in); err != nil {
			problems.Add(fmt.Sprintf("replies[%d]", n), err.Error())
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if m.rehearsal != nil {
		r, err := m.desk(accountID).Read(moveIn)
		if err != nil {
			return nil, err
		}
		return m.rehearsal.takeReplies(ctx, r, replies)
	}
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			names, err := sharedReplies(ctx, tx.Reader())
			if err != nil {
				return err
			}
			created = newReplies(names, replies)
			for n, r := range replies {
				if !created[n] {
					continue
				}
				if err := tx.SavedReplies().Insert(ctx, &r); err != nil {
					return err
				}
				if err := tx.Emit(ctx, storage.Event{Type: "saved_reply.created", Subject: r.ID, Data: eventData(r.ID), Time: now}); err != nil {
					return err
				}
			}
			return nil
		})
	}, UniqueSavedReply)
	return created, err
}

// newReplies says which of saved replies have names that are not taken, and takes these.
func newReplies(names map[string]bool, replies []SavedReply) []bool {
	fresh := make([]bool, len(replies))
	for n, r := range replies {
		fresh[n], names[r.Key] = !names[r.Key], true
	}
	return fresh
}

// sharedReplies are the keys of all saved replies that all members see.
func sharedReplies(ctx context.Context, r Reader) (map[string]bool, error) {
	names, seek := map[string]bool{}, storage.Seek{Limit: 200}
	for {
		batch, err := r.SavedReplies().List(ctx, SavedReplyFilter{UserIDs: []int64{0}}, seek)
		if err != nil {
			return nil, err
		}
		for _, r := range batch {
			names[r.Key] = true
			seek.From = &storage.Position{ID: r.ID}
		}
		if len(batch) < seek.Limit {
			return names, nil
		}
	}
}
