package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

const aPage = "/conversations?limit=25"

// filteredLists reads pages of lists, eight at once. The floor is an unfiltered page.
func filteredLists(ctx context.Context, w *world) (figure, error) {
	var all []time.Duration
	for _, filter := range []string{
		"", "&status[]=closed", fmt.Sprintf("&user_id=%d", w.at.members[3]), fmt.Sprintf("&tag_id[]=%d", w.at.tags[1]), fmt.Sprintf("&view_id=%d", w.at.view),
	} {
		spent, err := atOnce(ctx, w.cfg.Time, 8, func(int) error { return w.api(ctx, aPage+filter) })
		if err != nil {
			return figure{}, err
		}
		all = append(all, quantile(spent, 0.5))
	}
	f := figure{value: spans(all[1:]), floor: span(all[0])}
	for _, d := range all[1:] {
		f.missed = f.missed || d > 2*all[0]
	}
	return f, nil
}

const mostSearch = 50 * time.Millisecond

// searches reads the first page of a search, one after the other. The rare word differs each time.
func searches(ctx context.Context, w *world) (figure, error) {
	return searching(ctx, w.cfg, w.lots, []string{"nothing", "lot%d", "printer", "printer+paper"}, func(query string) error { return w.api(ctx, aPage+"&query="+query) })
}

// searching searches for words, in which %d is a different number each time, below lots.
func searching(ctx context.Context, cfg Config, lots int, words []string, find func(query string) error) (figure, error) {
	var f figure
	var all []time.Duration
	for _, word := range words {
		spent, err := atOnce(ctx, cfg.Time, 1, func(n int) error {
			query := word
			if strings.Contains(word, "%d") {
				query = fmt.Sprintf(word, firstLot+1+n%max(1, lots-1))
			}
			return find(query)
		})
		if err != nil {
			return f, err
		}
		all = append(all, quantile(spent, 0.99))
		f.missed = f.missed || all[len(all)-1] >= mostSearch
	}
	f.value = spans(all)
	return f, nil
}

// byHand is a conversation for hand-written queries.
type byHand struct {
	ID              int64         `json:"id"`
	Number          int64         `json:"number"`
	Channel         string        `json:"channel"`
	MailboxID       int64         `json:"mailbox_id"`
	CustomerEmailID sql.NullInt64 `json:"-"`
	CustomerEmail   string        `json:"customer_email"`
	UserID          int64         `json:"user_id"`
	Status          string        `json:"status"`
	Subject         string        `json:"subject"`
	Preview         string        `json:"preview"`
	AwaitingSince   time.Time     `json:"customer_awaiting_reply_since"`
	CreatedAt       time.Time     `json:"created_at"`
	UpdatedAt       time.Time     `json:"updated_at"`
}

// bare is a handler with one query, without sessions, permissions and the other work of a service.
func (w *world) bare(where string) http.Handler {
	query := "SELECT id, number, channel, mailbox_id, customer_email_id, customer_email, user_id, status, subject, preview, awaiting_since, created_at, updated_at FROM hw_conversations WHERE account_id = $1 AND " + where
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rows, err := w.plain.QueryContext(r.Context(), query, w.at.id, r.FormValue("arg"))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		defer func() { _ = rows.Close() }()
		var page []byHand
		for rows.Next() && err == nil {
			var c byHand
			var awaiting, created, updated int64
			err = rows.Scan(&c.ID, &c.Number, &c.Channel, &c.MailboxID, &c.CustomerEmailID, &c.CustomerEmail, &c.UserID, &c.Status, &c.Subject, &c.Preview, &awaiting, &created, &updated)
			c.AwaitingSince, c.CreatedAt, c.UpdatedAt = time.UnixMicro(awaiting).UTC(), time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
			page = append(page, c)
		}
		if err != nil || rows.Err() != nil || len(page) == 0 {
			http.Error(rw, fmt.Sprint("nothing is found: ", err, rows.Err()), http.StatusInternalServerError)
			return
		}
		body, err := json.Marshal(map[string]any{"data": page})
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body)
	})
}

// list reads pages of 25.
func list(ctx context.Context, w *world) (figure, error) {
	bare := w.bare("created_at > CAST($2 AS BIGINT) ORDER BY created_at DESC, id DESC LIMIT 25")
	floor, work, err := inTurns(ctx, w.cfg.Time, wall(),
		func(int) error { _, err := ask(ctx, bare, "http://desk.example.org/?arg=0", ""); return err },
		func(int) error { return w.api(ctx, aPage) })
	return share(floor, work, 0.7), err
}

// some returns the ids of conversations of the measured account, evenly spread.
func (w *world) some(ctx context.Context, n int) (ids []int64, err error) {
	var first, last int64
	err = w.plain.QueryRowContext(ctx, "SELECT min(number), max(number) FROM hw_conversations WHERE account_id = $1", w.at.id).Scan(&first, &last)
	step := max(1, (last-first)/int64(n))
	for number := first; number <= last && err == nil && len(ids) < n; number += step {
		var id int64
		err = w.plain.QueryRowContext(ctx, "SELECT id FROM hw_conversations WHERE account_id = $1 AND number = $2", w.at.id, number).Scan(&id)
		ids = append(ids, id)
	}
	return ids, err
}

// conversation reads one at a time.
func conversation(ctx context.Context, w *world) (figure, error) {
	ids, err := w.some(ctx, 1000)
	if err != nil {
		return figure{}, err
	}
	bare := w.bare("id = CAST($2 AS BIGINT)")
	floor, work, err := inTurns(ctx, w.cfg.Time, wall(),
		func(n int) error {
			_, err := ask(ctx, bare, fmt.Sprintf("http://desk.example.org/?arg=%d", ids[n%len(ids)]), "")
			return err
		},
		func(n int) error { return w.api(ctx, fmt.Sprintf("/conversations/%d", ids[n%len(ids)])) })
	return share(floor, work, 0.6), err
}

// bulk assigns 100 conversations to another user. The floor does so in plain SQL, with an event for each.
func bulk(ctx context.Context, w *world) (figure, error) {
	ids, err := w.some(ctx, 100)
	if err != nil {
		return figure{}, err
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = fmt.Sprint(id)
	}
	to := func(n int) int64 { return w.at.members[n%len(w.at.members)] }
	floor, work, err := inTurns(ctx, w.cfg.Time, wall(),
		func(n int) error {
			return w.inTx(ctx, func(tx *hand) {
				now := time.Now().UnixMicro()
				tx.exec("UPDATE hw_conversations SET user_id = $1, updated_at = $2 WHERE account_id = $3 AND id IN ("+strings.Join(texts, ", ")+")", to(2*n), now, w.at.id)
				tx.events(w.at.id, "conversation.updated", ids, now)
			})
		},
		func(n int) error {
			_, err := w.at.desk.UpdateConversations(ctx, ids, helpdesk.BulkUpdate{UserID: storage.Some(to(2*n + 1))})
			return err
		})
	return figure{value: fmt.Sprintf("%.1f/s", perSecond(work)), floor: fmt.Sprintf("%.1f/s", perSecond(floor)), missed: perSecond(work) < 100}, err
}
