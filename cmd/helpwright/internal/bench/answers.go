package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

// agents is how many agents post answers at once.
const agents = 8

// answers posts answers, and waits until the relay has all of them. The floor inserts an answer, its delivery and its job.
func answers(ctx context.Context, w *world) (figure, error) {
	return w.answers(ctx, 1, func(conversations []int64, n int) error {
		return w.inTx(ctx, func(tx *hand) {
			now := time.Now().UnixMicro()
			answer := w.insertAnswer(tx, conversations[n%len(conversations)], n, now)
			w.insertDelivery(tx, answer, "sent", now)
			tx.exec("DELETE FROM hw_jobs WHERE id = $1", w.insertJob(tx, answer, now))
		})
	})
}

// wholeAnswers is answers with a floor that writes all that answers take, apart from the index of texts: each is posted in a
// transaction of its own, and several are begun and reported in one each.
func wholeAnswers(ctx context.Context, w *world) (figure, error) {
	return w.answers(ctx, agents, func(conversations []int64, n int) error {
		var sent answersByHand
		for i := range agents {
			place := n*agents + i
			err := w.inTx(ctx, func(tx *hand) { w.postByHand(tx, conversations[place%len(conversations)], place, &sent) })
			if err != nil {
				return err
			}
		}
		return errors.Join(
			w.inTx(ctx, func(tx *hand) { sent.begin(tx, w.at.id) }),
			w.inTx(ctx, func(tx *hand) { sent.report(tx, w.at.id) }),
		)
	})
}

// answers measures a floor that writes some answers at a time, and then answers.
func (w *world) answers(ctx context.Context, some int, floor func(conversations []int64, n int) error) (figure, error) {
	all, err := w.some(ctx, 2000)
	if err != nil {
		return figure{}, err
	}
	byHand, ids := all[:len(all)/2], all[len(all)/2:] // thousands of rows by hand make threads that nobody has
	began := time.Now()
	spent, err := atOnce(ctx, w.cfg.Time, agents, func(n int) error { return floor(byHand, n) })
	if err != nil {
		return figure{}, err
	}
	least := time.Since(began) / time.Duration(len(spent)*some)
	work, err := w.send(ctx, ids)
	return share(least, work, 0.5), err
}

// send posts answers to conversations, and returns how long each takes until the relay has it.
func (w *world) send(ctx context.Context, conversations []int64) (each time.Duration, err error) {
	err = w.running(ctx, func(ctx context.Context) error {
		desk, err := w.srv.Service().Desk(ctx, w.srv.Service().As(w.at.members[0]), w.at.id)
		if err != nil {
			return err
		}
		var posted atomic.Int64
		before, began := w.sink.taken.Load(), time.Now()
		_, err = atOnce(ctx, w.cfg.Time, agents, func(n int) error {
			in := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: someText}
			_, err := desk.CreateInteraction(ctx, conversations[(n*7)%len(conversations)], in)
			posted.Add(1)
			return err
		})
		if err == nil {
			err = until(ctx, func() (bool, error) { return w.sink.taken.Load() >= before+posted.Load(), nil })
		}
		each = time.Since(began) / time.Duration(max(1, posted.Load()))
		return err
	})
	return each, err
}

// recipient is who gets the answers that are written by hand.
const recipient = "a@example.org"

func (w *world) insertAnswer(tx *hand, conversation int64, n int, now int64) int64 {
	return tx.insert("hw_interactions", "account_id conversation_id type status body subject user_id posted_by_id customer_email to_addresses cc_addresses bcc_addresses source is_starter is_forward auto_submitted seen_at posted_at send_started_at message_id message_refs threading at created_at updated_at",
		w.at.id, conversation, "user", "posted", someText, "Printer", 1, 1, "", `["`+recipient+`"]`, "[]", "[]", "", false, false, false, never, now, now, fmt.Sprint("hand", n), "[]", "{}", now, now, now)
}

func (w *world) insertDelivery(tx *hand, answer int64, state string, now int64) int64 {
	return tx.insert("hw_deliveries", "account_id interaction_id address field state attempts code enhanced_code response next_attempt_at created_at updated_at",
		w.at.id, answer, recipient, "to", state, 1, 250, "2.0.0", "ok", never, now, now)
}

func (w *world) insertJob(tx *hand, answer, now int64) int64 {
	return tx.insert("hw_jobs", "kind account_id subject unique_key run_at due_at", "bench", w.at.id, answer, "", now, now)
}

// answersByHand are answers, with their deliveries and jobs.
type answersByHand struct{ answers, deliveries, jobs []int64 }

// postByHand posts an answer, and adds it to others.
func (w *world) postByHand(tx *hand, conversation int64, n int, to *answersByHand) {
	now, account := time.Now().UnixMicro(), w.at.id
	answer := w.insertAnswer(tx, conversation, n, now)
	to.answers = append(to.answers, answer)
	to.deliveries = append(to.deliveries, w.insertDelivery(tx, answer, "queued", now))
	tx.exec("INSERT INTO hw_participants (account_id, conversation_id, address_key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", account, conversation, recipient)
	tx.exec("INSERT INTO hw_read_marks (account_id, conversation_id, user_id, interaction_id) VALUES ($1, $2, 1, $3) "+
		"ON CONFLICT (account_id, conversation_id, user_id) DO UPDATE SET interaction_id = EXCLUDED.interaction_id", account, conversation, answer)
	tx.exec("UPDATE hw_conversations SET updated_at = $1 WHERE account_id = $2 AND id = $3", now, account, conversation)
	to.jobs = append(to.jobs, w.insertJob(tx, answer, now))
	tx.events(account, "interaction.created", []int64{answer, answer}, now)
}

// begin notes that the answers are being sent.
func (a *answersByHand) begin(tx *hand, account int64) {
	now := time.Now().UnixMicro()
	tx.exec("UPDATE hw_jobs SET attempt = 1, holder = 'bench', lease_until = $1 WHERE id IN ("+listed(a.jobs)+")", now)
	tx.exec("UPDATE hw_deliveries SET held_by = 1, held_until = $1 WHERE account_id = $2 AND id IN ("+listed(a.deliveries)+")", now, account)
	tx.exec("UPDATE hw_interactions SET send_started_at = $1, audience = $2 WHERE account_id = $3 AND id IN ("+listed(a.answers)+")", now, recipient, account)
}

// report notes that the answers were sent.
func (a *answersByHand) report(tx *hand, account int64) {
	now := time.Now().UnixMicro()
	tx.exec("UPDATE hw_deliveries SET state = 'sent', held_by = 0, held_until = $1, updated_at = $2 WHERE account_id = $3 AND id IN ("+listed(a.deliveries)+")", never, now, account)
	tx.exec("DELETE FROM hw_jobs WHERE id IN (" + listed(a.jobs) + ")")
	tx.events(account, "interaction.delivery_sent", a.answers, now)
}

// listed writes ids for a statement.
func listed(ids []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}
