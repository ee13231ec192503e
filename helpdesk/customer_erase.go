package helpdesk

import (
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
)

// Erase removes everything personal about a customer, for example to fulfil a request under article 17 of the GDPR,
// and leaves tombstones, see [Erasure].
//
// The customer's conversations remain closed, under their numbers, with their tags, assignees and times, as those of "Erased
// customer": their subjects, texts, files, recipients and raw mails are gone, and so are drafts. The same happens to what
// the customer wrote in the conversations of others, where the customer's addresses are removed from the recipients, too.
// Mail that was set aside, suppressions and blocked addresses of the customer are removed. What others wrote about the
// customer in conversations of their own remains.
//
// It works in several transactions, so some of it may be gone after an error; calling it again continues. A conversation on hold
// that the customer has or takes part in is a Conflict fault, see [Conversations.Hold], before anything is changed. It needs
// customers.delete, conversations.delete and all mailboxes.
func (d Customers) Erase(ctx context.Context, id int64) error {
	r, err := d.guard.Read(identity.CustomersDelete)
	if err != nil {
		return err
	}
	begin, err := d.guard.WriteAlone(identity.ConversationsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	e := &eraser{svc: d.svc, begin: begin, r: r, accountID: d.scope.AccountID, userID: d.userID, customerID: id, at: d.svc.now(), heeds: true}
	return e.run(ctx)
}

// EraseCustomer is [Customers.Erase] in an account; operators only.
func (a *Admin) EraseCustomer(ctx context.Context, accountID, id int64) error {
	e, err := a.eraser(accountID)
	if err != nil {
		return err
	}
	e.customerID, e.heeds = id, true
	return e.run(ctx)
}

func (a *Admin) eraser(accountID int64) (*eraser, error) {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return nil, err
	}
	scope := Scope{AccountID: accountID}
	return &eraser{
		svc: a.svc, r: a.svc.cfg.Store.Within(scope), at: a.svc.now(), accountID: accountID,
		begin: func(ctx context.Context, fn func(context.Context, Tx) error) error {
			return begin(ctx, func(ctx context.Context, tx SystemTx) error { return fn(ctx, tx.Within(scope)) })
		},
	}, nil
}

// eraser erases a customer.
type eraser struct {
	svc        *Service
	begin      guard.Begin[Tx]
	r          Reader
	userID     int64
	accountID  int64
	customerID int64
	at         time.Time
	since      time.Time                                             // of the tombstones; zero: at
	heeds      bool                                                  // it stops at conversations on hold
	noted      func(ctx context.Context, tx Tx, customer bool) error // after each of the customer's conversations, and the customer; nil: nobody counts

	customer    Customer
	keys        []string // of its addresses
	placeholder Customer
}

// maxErasePasses limits how often an eraser looks again for what arrived while it worked.
const maxErasePasses = 5

func (e *eraser) run(ctx context.Context) error {
	if e.heeds {
		if err := e.unheld(ctx); err != nil {
			return err
		}
	}
	err := retryUnique(func() error { return e.begin(ctx, e.writeTombstones) }, UniqueCustomerEmail, UniqueErasure)
	if err != nil {
		return err
	}
	for range maxErasePasses {
		if err := e.eraseConversations(ctx); err != nil {
			return err
		}
		if err := e.eraseUnfiled(ctx); err != nil {
			return err
		}
		if err = e.begin(ctx, e.finish); !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return err
}

// unheld returns a Conflict fault if the customer has a conversation on hold, or takes part in one.
func (e *eraser) unheld(ctx context.Context) error {
	customer, err := e.r.Customer(ctx, e.customerID)
	if err != nil {
		return err
	}
	list := func(seek storage.Seek) ([]Conversation, error) {
		return e.r.Involving(ctx, e.customerID, customer.keys(), seek)
	}
	return each(list, func(c Conversation) int64 { return c.ID }, func(c Conversation) error { return noneHeld(c) })
}

// tellErased tells that a conversation of the customer was erased, or the customer.
func (e *eraser) tellErased(ctx context.Context, tx Tx, customer bool) error {
	if e.noted == nil {
		return nil
	}
	return e.noted(ctx, tx, customer)
}

// writeTombstones writes the tombstones first: whatever is interrupted, nothing comes back.
func (e *eraser) writeTombstones(ctx context.Context, tx Tx) error {
	var err error
	if e.customer, err = tx.CustomerForUpdate(ctx, e.customerID); err != nil {
		return err
	}
	e.keys = nil
	for _, one := range e.customer.Emails {
		if Unreachable(one.Key) {
			return fault.New(fault.Conflict, "This is a placeholder, not a customer, so it cannot be erased.")
		}
		e.keys = append(e.keys, one.Key)
	}
	keys, err := ErasureKeys(ctx, tx, e.svc.cfg.Sealer)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		fresh, err := e.svc.random(erasureKeySize)
		if err != nil {
			return err
		}
		if keys, err = addErasureKeys(ctx, tx, e.svc.cfg.Sealer, [][]byte{fresh}); err != nil {
			return err
		}
	}
	since := e.since
	if since.IsZero() {
		since = e.at
	}
	stones := make([]Erasure, len(e.keys))
	for n, key := range e.keys {
		stones[n] = Erasure{CustomerID: e.customerID, Digest: erasureKeys(keys).digest(0, key), UserID: e.userID, ErasedAt: since}
	}
	if _, err := setErasures(ctx, tx, stones); err != nil {
		return err
	}
	var index indexing
	if e.placeholder, _, err = findCustomer(ctx, tx, erasedCustomer.Email, erasedCustomer.Name, e.at, &index); err != nil {
		return err
	}
	return index.write(ctx, tx)
}

// setErasures stores tombstones. Of an address that was erased before, the later time counts. It returns the number of
// tombstones that are new or changed.
func setErasures(ctx context.Context, tx Tx, stones []Erasure) (changed int, err error) {
	for some := range slices.Chunk(stones, maxIdentities) {
		digests := make([][]byte, len(some))
		for n, s := range some {
			digests[n] = s.Digest
		}
		found, err := erasureNoun().Rows(tx).List(ctx, ErasureFilter{Digests: digests}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return changed, err
		}
		known := map[string]Erasure{}
		for _, f := range found {
			known[string(f.Digest)] = f
		}
		var fresh, later []*Erasure
		for n := range some {
			s := some[n] // the transaction may run again
			s.ID = 0
			old, there := known[string(s.Digest)]
			switch {
			case !there:
				fresh = append(fresh, &s)
			case s.ErasedAt.After(old.ErasedAt):
				s.ID = old.ID
				later = append(later, &s)
			}
			known[string(s.Digest)] = s
		}
		if len(fresh) > 0 {
			if err := erasureNoun().Rows(tx).Insert(ctx, fresh...); err != nil {
				return changed, err
			}
		}
		if len(later) > 0 {
			if err := erasureNoun().Rows(tx).Update(ctx, later...); err != nil {
				return changed, err
			}
		}
		changed += len(fresh) + len(later)
	}
	return changed, nil
}

// eraseConversations erases in every conversation that the customer has or takes part in, each in its own transaction.
func (e *eraser) eraseConversations(ctx context.Context) error {
	seek := storage.Seek{Limit: 100}
	for {
		found, err := e.r.Involving(ctx, e.customerID, e.keys, seek)
		if err != nil {
			return err
		}
		for _, c := range found {
			seek.From = &storage.Position{ID: c.ID}
			err := e.begin(ctx, func(ctx context.Context, tx Tx) error { return e.eraseIn(ctx, tx, c.ID) })
			if err != nil && !fault.Is(err, fault.NotFound) { // deleted or merged meanwhile: the next pass finds it
				return err
			}
		}
		if len(found) < seek.Limit {
			return nil
		}
	}
}

func (e *eraser) eraseIn(ctx context.Context, tx Tx, id int64) error {
	c, err := tx.Conversations().Lock(ctx, id)
	if err != nil {
		return err
	}
	if e.heeds {
		if err := noneHeld(c); err != nil {
			return err
		}
	}
	own := c.CustomerID == e.customerID
	if err := e.eraseMessages(ctx, tx, c, own); err != nil {
		return err
	}
	if err := e.eraseRatings(ctx, tx, c, own); err != nil {
		return err
	}
	if err := tx.RemoveParticipants(ctx, id, e.keys); err != nil {
		return err
	}
	if err := tx.ForgetNotes(ctx, []int64{id}); err != nil { // they hold discarded drafts
		return err
	}
	if own {
		c.CustomerID, c.CustomerEmailID, c.CustomerEmail = e.placeholder.ID, e.placeholder.Emails[0].ID, ErasedCustomer
		c.blank(e.at)
		if err := eraseFields(ctx, tx, id); err != nil {
			return err
		}
	}
	if err := refreshPreview(ctx, tx, &c); err != nil {
		return err
	}
	c.UpdatedAt = e.at
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return err
	}
	if err := reindex(ctx, tx, c); err != nil {
		return err
	}
	if own {
		if err := e.tellErased(ctx, tx, false); err != nil {
			return err
		}
	}
	return tx.Emit(ctx, storage.Event{
		Type: "conversation.updated", Subject: c.ID, MailboxID: c.MailboxID, ConversationID: c.ID, ActorID: e.userID, Data: eventData(c.ID), Time: e.at,
	})
}

// blank removes what the conversation itself says, and closes it.
func (c *Conversation) blank(at time.Time) {
	c.Subject, c.Preview, c.Status = "", "", StatusClosed
	c.AwaitingSince, c.SnoozedUntil = time.Time{}, time.Time{}
	c.ErasedAt = at
}

// eraseContent erases what was written in a locked conversation, and not its customer: the eraser has none. The conversation stays,
// closed, with its number, customer, mailbox, member, team, tags, choices and times.
func (e *eraser) eraseContent(ctx context.Context, tx Tx, c Conversation) error {
	if err := e.eraseMessages(ctx, tx, c, true); err != nil {
		return err
	}
	if err := e.eraseRatings(ctx, tx, c, true); err != nil {
		return err
	}
	for {
		keys, err := tx.Participants(ctx, c.ID, maxIdentities)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := tx.RemoveParticipants(ctx, c.ID, keys); err != nil {
			return err
		}
	}
	if err := tx.ForgetNotes(ctx, []int64{c.ID}); err != nil {
		return err
	}
	if err := eraseFields(ctx, tx, c.ID); err != nil {
		return err
	}
	c.blank(e.at)
	c.UpdatedAt = e.at
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return err
	}
	if err := reindex(ctx, tx, c); err != nil {
		return err
	}
	event := storage.Event{Type: "conversation.updated", Subject: c.ID, MailboxID: c.MailboxID, ConversationID: c.ID, ActorID: e.userID, Data: eventData(c.ID), Time: e.at}
	erased := event
	erased.Type = "conversation.erased"
	return tx.Emit(ctx, event, erased)
}

// eraseMessages erases all messages of the customer's own conversation, or the customer's messages in another.
func (e *eraser) eraseMessages(ctx context.Context, tx Tx, c Conversation, own bool) error {
	seek := storage.Seek{Limit: 20} // bodies may be large
	messages := map[string]bool{}   // Message-IDs of erased messages, which later ones refer to
	for {
		batch, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, seek)
		if err != nil {
			return err
		}
		var erased, stripped []int64
		var changed []*Interaction
		for n := range batch {
			i := &batch[n]
			last := i.position()
			seek.From = &last
			switch {
			case own && (i.Status == StatusDraft || i.Scheduled()):
				if err := e.deleteDraft(ctx, tx, i.ID); err != nil {
					return err
				}
			case own || i.CustomerID == e.customerID:
				erased = append(erased, i.ID)
				messages[i.MessageID] = true
				e.blank(i)
				changed = append(changed, i)
			case e.strip(i, messages):
				stripped = append(stripped, i.ID)
				changed = append(changed, i)
			}
		}
		if err := e.eraseFiles(ctx, tx, erased); err != nil {
			return err
		}
		if err := e.eraseDeliveries(ctx, tx, stripped); err != nil {
			return err
		}
		if len(changed) > 0 {
			if err := tx.Interactions().Update(ctx, changed...); err != nil {
				return err
			}
		}
		if len(batch) < seek.Limit {
			return nil
		}
	}
}

// eraseDeliveries removes what was or is to be sent to the customer of others' messages.
func (e *eraser) eraseDeliveries(ctx context.Context, tx Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	sent, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: ids}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, d := range sent {
		if !slices.Contains(e.keys, d.AddressKey) {
			continue
		}
		if err := tx.Deliveries().Delete(ctx, d.ID); err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) deleteDraft(ctx context.Context, tx Tx, id int64) error {
	if err := e.eraseFiles(ctx, tx, []int64{id}); err != nil {
		return err
	}
	return tx.Interactions().Delete(ctx, id)
}

// blank removes everything personal from a message.
func (e *eraser) blank(i *Interaction) {
	left := Interaction{
		ID: i.ID, ConversationID: i.ConversationID, Type: i.Type, Status: i.Status, Body: erasedBody, UserID: i.UserID, PostedByID: i.PostedByID,
		CustomerID: i.CustomerID, CustomerEmailID: i.CustomerEmailID, CustomerEmail: i.CustomerEmail, Source: i.Source,
		IsStarter: i.IsStarter, IsForward: i.IsForward, AutoSubmitted: i.AutoSubmitted, SeenAt: i.SeenAt, PostedAt: i.PostedAt,
		SendStartedAt: i.SendStartedAt, Threading: Threading{Rule: i.Threading.Rule}, Security: ledger.Security{Signature: i.Security.Signature},
		At: i.At, ReceivedAt: i.ReceivedAt, CreatedAt: i.CreatedAt, UpdatedAt: e.at,
	}
	if i.CustomerID == e.customerID && e.customerID != 0 {
		left.CustomerID, left.CustomerEmailID, left.CustomerEmail = e.placeholder.ID, e.placeholder.Emails[0].ID, ErasedCustomer
	}
	*i = left
}

// strip removes the customer's addresses, and references to erased messages, from another's message, and reports whether
// there were any.
func (e *eraser) strip(i *Interaction, messages map[string]bool) (found bool) {
	is := func(email string) bool {
		hit := slices.Contains(e.keys, mailaddr.Key(email))
		found = found || hit
		return hit
	}
	isAddress := func(a mailaddr.Address) bool { return is(a.Email) }
	for _, list := range []*[]string{&i.To, &i.Cc, &i.Bcc} {
		*list = slices.DeleteFunc(*list, is)
	}
	for _, list := range []*[]mailaddr.Address{&i.Mail.From, &i.Mail.ReplyTo, &i.Mail.To, &i.Mail.Cc, &i.Mail.Forwarded.ReplyTo} {
		*list = slices.DeleteFunc(*list, isAddress)
	}
	i.References = slices.DeleteFunc(i.References, func(id string) bool {
		found = found || messages[id]
		return messages[id]
	})
	if is(i.Threading.Colleague) || messages[i.Threading.Matched] && i.Threading.Matched != "" {
		i.Threading.Colleague, i.Threading.Matched, found = "", "", true
	}
	if isAddress(i.Mail.Sender) {
		i.Mail.Sender = mailaddr.Address{}
	}
	if found {
		i.UpdatedAt = e.at
	}
	return found
}

// eraseFiles removes the files, deliveries and raw mails of messages.
func (e *eraser) eraseFiles(ctx context.Context, tx Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	files, err := tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: ids}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	var keys []string
	for _, f := range files {
		keys = append(keys, f.BlobKey)
		if err := tx.Attachments().Delete(ctx, f.ID); err != nil {
			return err
		}
	}
	for _, id := range ids {
		mails, err := tx.InboundOf(ctx, id)
		if err != nil {
			return err
		}
		for _, m := range mails {
			if err := forgetMail(&m, ctx, tx, e.accountID); err != nil {
				return err
			}
			m.ConversationID, m.InteractionID = 0, 0
			if err := tx.UpdateInbound(ctx, &m); err != nil {
				return err
			}
		}
		if err := tx.DeleteDeliveries(ctx, id); err != nil {
			return err
		}
	}
	return tx.Enqueue(ctx, purgeKeys(e.accountID, keys)...)
}

// eraseUnfiled removes what mail of the customer left in the ledger without being filed. Mail that is still to be filed is
// recognized by the tombstones.
func (e *eraser) eraseUnfiled(ctx context.Context) error {
	if len(e.keys) == 0 {
		return nil
	}
	seek := storage.Seek{Limit: 500}
	filter := ledger.Filter{States: []ledger.State{ledger.Ignored, ledger.Quarantined}}
	for {
		batch, err := e.r.InboundMails(ctx, filter, seek)
		if err != nil {
			return err
		}
		var mine []int64
		for _, m := range batch {
			seek.From = &storage.Position{ID: m.ID}
			if slices.Contains(e.keys, mailaddr.Key(m.From.Email)) {
				mine = append(mine, m.ID)
			}
		}
		if len(mine) > 0 {
			if err := e.begin(ctx, func(ctx context.Context, tx Tx) error { return e.ignore(ctx, tx, mine) }); err != nil {
				return err
			}
		}
		if len(batch) < seek.Limit {
			return nil
		}
	}
}

func (e *eraser) ignore(ctx context.Context, tx Tx, ids []int64) error {
	for _, id := range ids {
		row, err := tx.InboundForUpdate(ctx, id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := forgetMail(&row, ctx, tx, e.accountID); err != nil {
			return err
		}
		if err := setFinalState(ctx, tx, &row, ledger.Ignored, erasedMail, e.at); err != nil {
			return err
		}
	}
	return nil
}

// forget removes everything personal from a row, and its raw mail. Its identity stays, so that the same mail is not imported
// again.
func forgetMail(m *ledger.Mail, ctx context.Context, tx Tx, accountID int64) error {
	if m.RawKey != "" {
		if err := tx.Enqueue(ctx, purgeKeys(accountID, []string{m.RawKey})...); err != nil {
			return err
		}
	}
	m.RawKey, m.MessageID, m.Note, m.Head, m.Authentication = "", "", "", ledger.Head{}, ledger.Authentication{}
	return nil
}

// finish removes the customer. If something arrived meanwhile, it is a Conflict fault.
func (e *eraser) finish(ctx context.Context, tx Tx) error {
	if _, err := tx.CustomerForUpdate(ctx, e.customerID); err != nil {
		return err
	}
	left, err := tx.Involving(ctx, e.customerID, e.keys, storage.Seek{Limit: 1})
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fault.New(fault.Conflict, "Mail from the customer arrived while the customer was being erased. Try again.")
	}
	if len(e.keys) > 0 {
		if err := e.eraseLists(ctx, tx); err != nil {
			return err
		}
	}
	if err := tx.DeleteCustomer(ctx, e.customerID); err != nil {
		return err
	}
	if err := e.tellErased(ctx, tx, true); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{Type: "customer.erased", Subject: e.customerID, ActorID: e.userID, Data: eventData(e.customerID), Time: e.at})
}

// eraseLists removes the customer's addresses from the lists of suppressions and blocked senders.
func (e *eraser) eraseLists(ctx context.Context, tx Tx) error {
	suppressed, err := suppressionsOf(ctx, suppressionNoun().Rows(tx), e.keys)
	if err != nil {
		return err
	}
	for _, s := range suppressed {
		if err := suppressionNoun().Rows(tx).Delete(ctx, s.ID); err != nil {
			return err
		}
	}
	blocked, err := blockedSenderNoun().Rows(tx).List(ctx, BlockedSenderFilter{Keys: e.keys}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, b := range blocked {
		if err := blockedSenderNoun().Rows(tx).Delete(ctx, b.ID); err != nil {
			return err
		}
	}
	return nil
}
