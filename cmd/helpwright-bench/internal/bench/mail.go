package bench

import (
	"context"
	"errors"
	"fmt"
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

// reply files answers among all conversations.
func reply(ctx context.Context, w *world) ([]time.Duration, error) {
	file, err := w.answered(ctx)
	if err != nil {
		return nil, err
	}
	before, err := w.nextNumber(ctx)
	if err != nil {
		return nil, err
	}
	d, err := median(ctx, w.cfg.Time, wall(), file)
	if err != nil {
		return nil, err
	}
	if after, err := w.nextNumber(ctx); err != nil || after != before {
		return nil, errors.Join(err, fmt.Errorf("%d answers became conversations of their own", after-before))
	}
	return d, nil
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

// filing files one mail at a time, and returns processor time.
func filing(ctx context.Context, w *world) ([]time.Duration, error) {
	return median(ctx, w.cfg.Time, cpu, func(int) error { return w.file(ctx, w.at, w.fresh(1)) })
}

// batch is how many mails a source delivers at once.
func (w *world) batch() int { return max(1, min(50, w.cfg.Conversations/100)) }

// importing files mails in batches.
func importing(ctx context.Context, w *world) ([]time.Duration, error) {
	d, err := median(ctx, w.cfg.Time, wall(), func(int) error { return w.file(ctx, w.at, w.fresh(w.batch())) })
	for i := range d {
		d[i] /= time.Duration(w.batch())
	}
	return d, err
}
