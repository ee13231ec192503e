package imap

import (
	"context"
	"time"
)

// Each calls fn with the messages of every folder that the server received on a day or later (all if since is zero), in
// ascending order of UID, up to 500 at a time; for an empty folder once, with none. It fetches those that fn returns and
// passes them to the sink's Take, with meaningless cursors; it uses nothing else of the sink. It uses a separate connection
// and stops at the first error.
func (s *Source) Each(ctx context.Context, since time.Time,
	fn func(ctx context.Context, folder string, validity uint32, uids []uint32) (fetch []uint32, err error)) error {
	w := &worker{Source: s}
	defer w.abort()
	for _, name := range s.cfg.Folders {
		if err := w.each(ctx, name, since, fn); err != nil {
			return err
		}
	}
	if w.sess != nil {
		w.sess.logOut(ctx)
	}
	return nil
}

// asked is the maximum number of messages per call of fn.
const asked = 500

func (w *worker) each(ctx context.Context, name string, since time.Time,
	fn func(ctx context.Context, folder string, validity uint32, uids []uint32) ([]uint32, error)) error {
	f, err := w.open(ctx, name)
	if err != nil {
		return err
	}
	if f.exists == 0 {
		_, err := fn(ctx, name, f.validity, nil)
		return err
	}
	told := false
	err = w.beyond(ctx, f, 0, since, asked, func(uids []uint32) error {
		told = true
		fetch, err := fn(ctx, name, f.validity, uids)
		if err != nil {
			return err
		}
		for len(fetch) > 0 {
			some := fetch[:min(len(fetch), w.cfg.BatchSize)]
			fetch = fetch[len(some):]
			b := &batch{worker: w, folder: f, done: some[0] - 1, durable: some[0] - 1}
			if err := b.fetch(ctx, some); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !told {
		_, err = fn(ctx, name, f.validity, nil)
	}
	return err
}
