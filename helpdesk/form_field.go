package helpdesk

import (
	"context"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MaxFormFields is the maximum number of fields that the contact forms of a mailbox ask for.
const MaxFormFields = 20

// applyFormFields copies the fields of an input; whether they exist is checked in the transaction.
func (m *Mailbox) applyFormFields(problems *fault.Collector, in storage.Opt[[]string]) {
	if in.IsNull() {
		m.FormFields = nil
	}
	keys, given := in.Get()
	if !given {
		return
	}
	problems.Check(len(keys) <= MaxFormFields, "form_fields", fmt.Sprintf("has more than %d items", MaxFormFields))
	for i, key := range keys {
		problems.Check(!slices.Contains(keys[:i], key), fmt.Sprintf("form_fields[%d]", i), "is listed twice")
	}
	if m.FormFields = slices.Clone(keys); len(keys) == 0 {
		m.FormFields = nil
	}
}

// checkFormFields verifies that customers see the fields, which it locks: they cannot be deleted until the mailbox that asks for
// them is stored.
func checkFormFields(ctx context.Context, tx Tx, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	fields, err := fieldsOf(ctx, tx.Reader(), FieldOfConversation)
	if err != nil {
		return err
	}
	var problems fault.Collector
	for i, key := range keys {
		at := fmt.Sprintf("form_fields[%d]", i)
		f, known := byKey(fields, key)
		if !problems.Check(known, at, "is not a field") {
			continue
		}
		f, err := fieldNoun().Rows(tx).Lock(ctx, f.ID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		problems.Check(err == nil, at, "is not a field")
		problems.Check(err != nil || f.CustomerVisible, at, "is not visible to customers")
	}
	return problems.Err()
}

// askedIn returns the names of the mailboxes whose contact forms ask for a field.
func (f Field) askedIn(ctx context.Context, r Reader) ([]string, error) {
	if f.AppliesTo != FieldOfConversation {
		return nil, nil
	}
	var names []string
	list := func(seek storage.Seek) ([]Mailbox, error) { return r.Mailboxes().List(ctx, storage.NoFilter{}, seek) }
	err := each(list, func(m Mailbox) int64 { return m.ID }, func(m Mailbox) error {
		if slices.Contains(m.FormFields, f.Key) {
			names = append(names, m.Name)
		}
		return nil
	})
	return names, err
}

// formFields returns the fields that the contact forms of a mailbox ask for; 0: the account's default mailbox.
func formFields(ctx context.Context, r Reader, mailboxID int64) ([]Field, error) {
	if mailboxID == 0 {
		account, err := r.Account(ctx)
		if err != nil {
			return nil, err
		}
		if mailboxID, err = defaultMailbox(ctx, r, account); err != nil || mailboxID == 0 {
			return nil, err
		}
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil || len(m.FormFields) == 0 {
		return nil, err
	}
	all, err := fieldsOf(ctx, r, FieldOfConversation)
	var asked []Field
	for _, key := range m.FormFields {
		if f, known := byKey(all, key); known && f.CustomerVisible {
			asked = append(asked, f)
		}
	}
	return asked, err
}

// FormFields returns the fields that contact forms of a mailbox ask anybody for, in order; mailboxID 0 means the account's default
// mailbox. What a customer answers is given to [Portal.CreateConversation]. A mailbox that does not exist is a NotFound fault.
func (s *Service) FormFields(ctx context.Context, accountID, mailboxID int64) ([]Field, error) {
	return formFields(ctx, s.cfg.Store.Within(Scope{AccountID: accountID}), mailboxID)
}

// FormFields is [Service.FormFields] for the customer's account.
func (p *Portal) FormFields(ctx context.Context, mailboxID int64) ([]Field, error) {
	r, err := p.guard.Read(correspond)
	if err != nil {
		return nil, err
	}
	return formFields(ctx, r, mailboxID)
}

// FormFields returns the fields that contact forms of a mailbox ask for, in order; mailboxID 0 means the account's default mailbox.
// It needs mailboxes.view.
func (d Mailboxes) FormFields(ctx context.Context, mailboxID int64) ([]Field, error) {
	r, err := d.guard.Read(identity.MailboxesView)
	if err != nil {
		return nil, err
	}
	return formFields(ctx, r, mailboxID)
}
