package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

// agents is how many agents post answers at once.
const agents = 8

// answers posts answers, and waits until the relay has all of them.
func answers(ctx context.Context, w *world) ([]time.Duration, error) {
	ids, err := w.some(ctx, 1000)
	if err != nil {
		return nil, err
	}
	each, err := w.send(ctx, ids)
	return []time.Duration{each}, err
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
			_, err := desk.Interactions().Create(ctx, conversations[(n*7)%len(conversations)], in)
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
