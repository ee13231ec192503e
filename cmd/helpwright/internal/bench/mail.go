package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"time"
)

// message is a customer's mail in a conversation.
type message struct{ id, from string }

// messages returns some messages from all over the conversations.
func (w *world) messages(ctx context.Context, n int) (all []message, err error) {
	ids, err := w.some(ctx, n)
	for _, id := range ids {
		var m message
		if err == nil {
			err = w.plain.QueryRowContext(ctx, "SELECT message_id, customer_email FROM hw_interactions WHERE account_id = $1 AND conversation_id = $2 AND type = 'customer' ORDER BY id LIMIT 1", w.at.id, id).Scan(&m.id, &m.from)
		}
		all = append(all, m)
	}
	return all, err
}

const someText = "Some words about the printer and what it does not do. "

// answered returns a function that files a customer's answer, from the raw bytes to the conversation.
func (w *world) answered(ctx context.Context) (func(n int) error, error) {
	all, err := w.messages(ctx, 100)
	return func(n int) error {
		to := all[n%len(all)]
		return w.file(ctx, w.at, [][]byte{letter(w.unused("answer"), to.from, w.at.mailbox.Email, "Re: Printer", to.id, someText)})
	}, err
}

// unused returns a unique Message-ID or local part of an address.
func (w *world) unused(name string) string {
	return fmt.Sprintf("%s-%d@example.com", name, w.mails.Add(1))
}

// nextNumber returns the number of the next conversation.
func (w *world) nextNumber(ctx context.Context) (n int64, err error) {
	err = w.plain.QueryRowContext(ctx, "SELECT next_number FROM hw_accounts WHERE id = $1", w.at.id).Scan(&n)
	return n, err
}

// reply files answers among all conversations and among few.
func reply(ctx context.Context, w *world) (figure, error) {
	few, err := w.small.answered(ctx)
	if err != nil {
		return figure{}, err
	}
	many, err := w.answered(ctx)
	if err != nil {
		return figure{}, err
	}
	before, err := w.nextNumber(ctx)
	if err != nil {
		return figure{}, err
	}
	floor, work, err := inTurns(ctx, w.cfg.Time, wall(), few, many)
	if err != nil {
		return figure{}, err
	}
	if after, err := w.nextNumber(ctx); err != nil || after != before {
		return figure{}, errors.Join(err, fmt.Errorf("%d answers became conversations of their own", after-before))
	}
	return times(floor, work, 1.5), nil
}

// parse reads a mail with the standard library.
func parse(raw []byte) (text []byte, err error) {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	for parts := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		if text, err = io.ReadAll(p); err != nil {
			return nil, err
		}
	}
}

// never is the zero time as the stores have it.
const never = -62135596800000000

// fileByHand inserts the rows of a mail that begins a conversation: ledger, customer, conversation, interaction, participant
// and events.
func (w *world) fileByHand(tx *hand, raw []byte) {
	text, err := parse(raw)
	if err != nil {
		tx.err = err
		return
	}
	now, account, box, id := time.Now().UnixMicro(), w.at.id, w.at.mailbox.ID, w.unused("hand")
	ledger := tx.insert("hw_inbound_mails", "account_id mailbox_id source position state reason raw_key size message_id received_at updated_at",
		account, box, "imap", "", "received", "", "k", len(raw), "", now, now)
	customer := tx.insert("hw_customers", "account_id first_name last_name company created_at updated_at", account, "Customer", "", "", now, now)
	address := tx.insert("hw_customer_emails", "account_id customer_id email email_key", account, customer, id, id)
	number := tx.number("UPDATE hw_accounts SET next_number = next_number + 1 WHERE id = $1 RETURNING next_number - 1", account)
	conversation := tx.insert("hw_conversations", "account_id number channel mailbox_id customer_id customer_email_id customer_email user_id status subject preview awaiting_since created_at updated_at",
		account, number, "email", box, customer, address, id, 0, "posted", "Printer", string(text[:40]), now, now, now)
	interaction := tx.insert("hw_interactions", "account_id conversation_id type status body subject user_id posted_by_id customer_id customer_email_id customer_email to_addresses cc_addresses bcc_addresses source is_starter is_forward auto_submitted seen_at posted_at send_started_at message_id message_refs threading at created_at updated_at",
		account, conversation, "customer", "posted", string(text), "Printer", 0, 0, customer, address, id, `["support@example.org"]`, "[]", "[]", "email",
		true, false, false, never, now, never, id, "[]", `{"rule":"new"}`, now, now, now)
	tx.exec("INSERT INTO hw_participants (account_id, conversation_id, address_key) VALUES ($1, $2, $3)", account, conversation, id)
	tx.exec("UPDATE hw_inbound_mails SET state = $1, identity = $2, conversation_id = $3, interaction_id = $4, message_id = $5 WHERE account_id = $6 AND id = $7",
		"filed", []byte(id), conversation, interaction, id, account, ledger)
	tx.events(account, "conversation.created", []int64{conversation, conversation, conversation}, now)
}

// fresh returns mails of new customers.
func (w *world) fresh(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		id := w.unused("fresh")
		all[i] = letter(id, id, w.at.mailbox.Email, "Printer", "", someText)
	}
	return all
}

// filing files one mail at a time, and reports processor time.
func filing(ctx context.Context, w *world) (figure, error) {
	floor, work, err := inTurns(ctx, w.cfg.Time, cpu,
		func(int) error {
			raw := w.fresh(1)[0]
			return w.inTx(ctx, func(tx *hand) { w.fileByHand(tx, raw) })
		},
		func(int) error { return w.file(ctx, w.at, w.fresh(1)) })
	return times(floor, work, 3), err
}

// batch is how many mails a source delivers at once.
func (w *world) batch() int { return max(1, min(50, w.cfg.Conversations/100)) }

// importing files mails in batches.
func importing(ctx context.Context, w *world) (figure, error) {
	floor, work, err := inTurns(ctx, w.cfg.Time, wall(),
		func(int) error {
			mails := w.fresh(w.batch())
			return w.inTx(ctx, func(tx *hand) {
				for _, raw := range mails {
					w.fileByHand(tx, raw)
				}
			})
		},
		func(int) error { return w.file(ctx, w.at, w.fresh(w.batch())) })
	n := time.Duration(w.batch())
	return share(floor/n, work/n, 0.5), err
}
