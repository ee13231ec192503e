package helpdesk

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// ImportPeople are an account's members and teams, to match with those of another help desk.
type ImportPeople struct {
	members map[string]int64 // by mailaddr.Key
	teams   map[string]int64 // by Key
}

// Member returns the member with an email address, or 0.
func (p ImportPeople) Member(email string) int64 { return p.members[mailaddr.Key(email)] }

// Team returns the team with a name, ignoring case, or 0.
func (p ImportPeople) Team(name string) int64 { return p.teams[tagKey(plain.Line(name))] }

// People returns the members and teams of an account.
func (m *MoveIn) People(ctx context.Context, accountID int64) (ImportPeople, error) {
	p := ImportPeople{members: map[string]int64{}, teams: map[string]int64{}}
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
	err = eachRow(ctx, teamNoun().Reader(r), func(t Team) int64 {
		p.teams[t.Key] = t.ID
		return t.ID
	})
	return p, err
}

// ImportedCustomer is a customer from another help desk.
type ImportedCustomer struct {
	Name             string
	Emails           []string // invalid ones are ignored; a customer without a valid one is skipped
	Company          ImportedCompany
	Note             string
	Phones, Websites []string
	Fields           FieldTexts // of fields of [MoveIn.Field]; a customer keeps those that it has already
}

// ImportedCompany is the company of a customer of another help desk. The zero value is none.
type ImportedCompany struct {
	Name string
	// Domains are of mail addresses. Those that are none, are a public mail provider's or another company's are left out.
	Domains    []string
	Note       string
	ExternalID string
}

// ImportedCustomers reports what happened to customers.
type ImportedCustomers struct {
	Created, Changed []int64 // ids of the customers created, and of those completed
	Erased           int     // skipped because one of their addresses was erased
}

// Customers creates or completes customers and their companies. A company is created if there is none with the external id, or
// else the name, and completed otherwise. A customer with a company, or with the text of another one, keeps it.
//
// Customers creates customers and completes existing ones, in one transaction, so pass only a few. A customer
// with any of the addresses counts as the same; existing data is never changed. Long values are cut, and
// values beyond the limits are dropped, see [MaxEmails]. Customers with an erased address are skipped, see [Erasure].
func (m *MoveIn) Customers(ctx context.Context, accountID int64, all []ImportedCustomer) (ImportedCustomers, error) {
	var done ImportedCustomers
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
		done, _, err = m.svc.fillCustomers(ctx, accountID, rehearsed{m.rehearsal, r}, r, all, now)
		return done, err
	}
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			var written []Customer
			var err error
			if done, written, err = m.svc.fillCustomers(ctx, accountID, tx, tx.Reader(), all, now); err != nil {
				return err
			}
			if err := m.svc.fillFields(ctx, tx, all); err != nil {
				return err
			}
			for _, c := range written {
				if err := m.svc.reindexCustomer(ctx, tx, Scope{AccountID: accountID}, c); err != nil {
					return err
				}
			}
			return nil
		})
	}, UniqueCustomerEmail, UniqueCompanyKey)
	if err != nil {
		return ImportedCustomers{}, err
	}
	return done, nil
}

// fillCustomers creates or completes customers and returns those that it wrote.
func (s *Service) fillCustomers(ctx context.Context, accountID int64, book customerBook, r Reader, all []ImportedCustomer, now time.Time) (done ImportedCustomers, written []Customer, err error) {
	kept, err := s.unerased(ctx, r, all)
	if err != nil {
		return done, nil, err
	}
	done.Erased = len(all) - len(kept)
	at := map[int64]int{} // index of a customer in written
	companies := importedCompanies{s: s, account: accountID, now: now, known: map[string]Company{}}
	for _, in := range kept {
		c, err := in.find(ctx, book)
		if err != nil {
			return done, nil, err
		}
		old := c.copy()
		if err := in.fill(ctx, book, &c); err != nil {
			return done, nil, err
		}
		if err := companies.join(ctx, book, in.Company, &c); err != nil {
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

// fillFields sets fields that the customers lack.
func (s *Service) fillFields(ctx context.Context, tx Tx, all []ImportedCustomer) error {
	all, err := s.unerased(ctx, tx.Reader(), all)
	if err != nil {
		return err
	}
	for _, in := range all {
		if len(in.Fields) == 0 {
			continue
		}
		c, err := in.find(ctx, tx)
		if err != nil || c.ID == 0 {
			return err
		}
		set, err := readFields(ctx, tx.Reader(), FieldOfCustomer, []int64{c.ID})
		if err != nil {
			return err
		}
		lacks := FieldTexts{}
		for key, texts := range in.Fields {
			if len(set.Values[c.ID][key]) == 0 {
				lacks[key] = texts
			}
		}
		if err := setFields(ctx, tx, FieldOfCustomer, []int64{c.ID}, lacks); err != nil {
			return err
		}
	}
	return nil
}

// Field returns the field for one of another help desk: the one with the same label or key that has the type, or else a new
// one. It adds the options that it lacks. An account that has the most fields already gets no further one: ID is then 0. In a
// rehearsal, nothing is stored and the ID of a new field is negative.
func (m *MoveIn) Field(ctx context.Context, accountID int64, in FieldInput) (Field, error) {
	begin, err := m.desk(accountID).Write(moveIn)
	if err != nil {
		return Field{}, err
	}
	now := m.svc.now()
	made := Field{CreatedAt: now, UpdatedAt: now}
	in.Key = ""
	if err := made.apply(in); err != nil {
		return Field{}, err
	}
	if m.rehearsal != nil {
		r, err := m.desk(accountID).Read(moveIn)
		if err != nil {
			return Field{}, err
		}
		f, exists, err := made.counterpart(ctx, r)
		if err == nil && !exists && f.Key != "" {
			f.ID = m.rehearsal.newID()
		}
		return f, err
	}
	var f Field
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		var exists bool
		var err error
		if f, exists, err = made.counterpart(ctx, tx.Reader()); err != nil || f.Key == "" {
			return err
		}
		kind := "field.created"
		if !exists {
			err = fieldNoun().Rows(tx).Insert(ctx, &f)
		} else if f.UpdatedAt.Equal(now) {
			kind, err = "field.updated", fieldNoun().Rows(tx).Update(ctx, &f)
		} else {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.Emit(ctx, storage.Event{Type: kind, Subject: f.ID, Data: eventData(f.ID), Time: now})
	})
	return f, err
}

// counterpart returns the field that corresponds to f, with the options of both, and whether it exists. Without a Key, there
// can be none.
func (f Field) counterpart(ctx context.Context, r Reader) (found Field, exists bool, err error) {
	all, err := fieldsOf(ctx, r, f.AppliesTo)
	if err != nil {
		return Field{}, false, err
	}
	for _, same := range []func(Field) bool{
		func(o Field) bool { return plain.Key(o.Label) == plain.Key(f.Label) }, func(o Field) bool { return o.Key == f.Key },
	} {
		if i := slices.IndexFunc(all, func(o Field) bool { return o.Type == f.Type && same(o) }); i >= 0 {
			found = all[i]
			for _, o := range f.Options {
				if _, has := found.option(o.Value); !has && len(found.Options) < MaxFieldOptions {
					found.Options, found.UpdatedAt = append(slices.Clone(found.Options), o), f.UpdatedAt
				}
			}
			return found, true, nil
		}
	}
	if len(all) >= MaxFields {
		return Field{}, false, nil
	}
	base := f.Key
	for n := 2; ; n++ {
		if _, taken := byKey(all, f.Key); !taken {
			return f, false, nil
		}
		f.Key = fmt.Sprintf("%s_%d", plain.Cut(base, 35), n)
	}
}

// differs reports whether something was added to a customer.
func (c Customer) differs(filled Customer) bool {
	return c.FirstName != filled.FirstName || c.LastName != filled.LastName || c.Company != filled.Company || c.CompanyID != filled.CompanyID || c.Note != filled.Note || c.ExternalID != filled.ExternalID ||
		len(c.Emails) != len(filled.Emails) || len(c.Phones) != len(filled.Phones) || len(c.Websites) != len(filled.Websites)
}

// find returns the customer with one of the addresses, or the zero value.
func (in ImportedCustomer) find(ctx context.Context, book customerBook) (Customer, error) {
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

// fill adds what a customer lacks.
func (in ImportedCustomer) fill(ctx context.Context, book customerBook, c *Customer) error {
	if c.FirstName+c.LastName == "" {
		first, last, _ := strings.Cut(plain.Line(in.Name), " ")
		c.FirstName, c.LastName = plain.Cut(first, 100), plain.Cut(strings.TrimSpace(last), 100)
	}
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

// Tags returns the ids of tags by their names, and creates those that there are not. A rehearsal returns an id
// that is no tag's.
func (m *MoveIn) Tags(ctx context.Context, accountID int64, names []string) ([]int64, error) {
	begin, err := m.desk(accountID).Write(moveIn)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if m.rehearsal != nil {
		return []int64{math.MaxInt64}, nil
	}
	var ids []int64
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			p := &past{now: m.svc.now(), conversations: []ImportedConversation{{Tags: names}}}
			if err := p.loadTags(ctx, tx); err != nil {
				return err
			}
			ids = p.tagIDs(p.conversations[0])
			return nil
		})
	}, UniqueTag)
	return ids, err
}

// Replies creates saved replies that all members see, in one transaction. Replies whose names are taken are skipped.
// It returns which were created. Input that [SavedReplyInput] does not allow is an Invalid fault.
func (m *MoveIn) Replies(ctx context.Context, accountID int64, all []SavedReplyInput) (created []bool, err error) {
	begin, err := m.desk(accountID).Write(moveIn)
	if err != nil {
		return nil, err
	}
	now := m.svc.now()
	var places []Placeholder
	for _, name := range ReplyPlaceholders() {
		places = append(places, Placeholder{Name: name})
	}
	r, err := m.desk(accountID).Read(moveIn)
	if err != nil {
		return nil, err
	}
	fields, err := allFields(ctx, r)
	if err != nil {
		return nil, err
	}
	replies := make([]SavedReply, len(all))
	var problems fault.Collector
	for n, in := range all {
		in.Shared = storage.Some(true)
		replies[n] = SavedReply{CreatedAt: now, UpdatedAt: now}
		if err := replies[n].apply(&desk{svc: m.svc}, in, places, fields); err != nil {
			problems.Add(fmt.Sprintf("replies[%d]", n), err.Error())
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if m.rehearsal != nil {
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
				if err := savedReplyNoun().Rows(tx).Insert(ctx, &r); err != nil {
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

// newReplies reports which saved replies have free names, and reserves those names.
func newReplies(names map[string]bool, replies []SavedReply) []bool {
	fresh := make([]bool, len(replies))
	for n, r := range replies {
		fresh[n], names[r.Key] = !names[r.Key], true
	}
	return fresh
}

// sharedReplies returns the name keys of all shared saved replies.
func sharedReplies(ctx context.Context, r Reader) (map[string]bool, error) {
	names, seek := map[string]bool{}, storage.Seek{Limit: 200}
	for {
		batch, err := savedReplyNoun().Reader(r).List(ctx, SavedReplyFilter{UserIDs: []int64{0}}, seek)
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
