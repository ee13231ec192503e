package imap

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// worker reads folders over one connection at a time.
type worker struct {
	*Source
	running  bool     // on behalf of Run
	sess     *session // nil before the first connection
	selected string   // the folder opened last
	// seen contains the folders' states when they were last read to their end. A server with CONDSTORE reports whether they
	// have changed since (RFC 7162, section 3.1.2.1), which saves searching them.
	seen map[string]folder
}

func (w *worker) remember(f folder) {
	if w.seen == nil {
		w.seen = map[string]folder{}
	}
	w.seen[f.name] = f
}

// serve reads the folders repeatedly until the connection fails; rounds counts how often it read all of them.
func (w *worker) serve(ctx context.Context) (rounds int, err error) {
	watched := w.watched()
	var nextAll time.Time
	for {
		fresh := false // mail came in this turn
		if rounds == 0 || !time.Now().Before(nextAll) {
			if err := w.cfg.Work(ctx, w.all); err != nil && !w.onlyRefused(err) {
				return rounds, err
			} else if err == nil {
				rounds++
			} else {
				rounds = max(rounds, 1) // the connection is fine
			}
			fresh = true
			nextAll = time.Now().Add(w.allInterval())
		} else {
			before := w.taken(watched)
			if err := w.cfg.Work(ctx, func(ctx context.Context) error { return w.read(ctx, watched) }); err != nil && !w.onlyRefused(err) {
				return rounds, err
			}
			fresh = w.taken(watched) != before
		}
		if !fresh {
			// A server that announces messages that do not exist would keep us busy.
			if err := w.sess.wait(ctx, w.cfg.BackoffMin, nil); err != nil {
				return rounds, err
			}
		}
		if err := w.rest(ctx, watched, max(0, time.Until(nextAll))); err != nil {
			return rounds, err
		}
	}
}

// rest waits for new messages in the watched folder, or for d.
func (w *worker) rest(ctx context.Context, watched string, d time.Duration) error {
	sess, end := w.sess, time.Now().Add(d)
	for {
		piece := min(w.cfg.PulseInterval, time.Until(end))
		if sess.canIdle && w.selected == watched {
			if woken, err := sess.idle(ctx, piece); err != nil || woken {
				return err
			}
		} else if err := sess.wait(ctx, piece, nil); err != nil {
			return err
		} else if time.Until(end) > 0 {
			if err := sess.pulse(ctx, func() error { return sess.client.Noop().Wait() }); err != nil {
				return err
			}
		}
		if time.Until(end) <= 0 {
			return nil
		}
	}
}

// watched returns the folder that IDLE watches.
func (w *worker) watched() string {
	if slices.Contains(w.cfg.Folders, inbox) {
		return inbox
	}
	return w.cfg.Folders[0]
}

// allInterval returns the interval of reading all folders.
func (w *worker) allInterval() time.Duration {
	if len(w.cfg.Folders) == 1 && w.sess.canIdle && w.selected == w.watched() {
		return w.cfg.IdleInterval
	}
	return w.cfg.PollInterval
}

// taken returns the number of messages taken from a folder.
func (w *worker) taken(name string) uint64 {
	for _, f := range w.Status().Folders {
		if f.Name == name {
			return f.Taken
		}
	}
	return 0
}

// onlyRefused reports whether err is only about folders, so that the connection remains usable.
func (w *worker) onlyRefused(err error) bool {
	var reply *ReplyError
	return w.sess != nil && w.sess.alive() && (errors.As(err, &reply) || errors.Is(err, ErrNoUIDs))
}

// all reads every folder, the watched one last, so that it stays open. A folder that the server rejects does not stop the
// others; the error then contains all rejections.
func (w *worker) all(ctx context.Context) error {
	watched := w.watched()
	order := slices.DeleteFunc(slices.Clone(w.cfg.Folders), func(name string) bool { return name == watched })
	var refusals []error
	for _, name := range append(order, watched) {
		err := w.read(ctx, name)
		if err != nil && !w.onlyRefused(err) {
			return err
		}
		if err != nil {
			refusals = append(refusals, err)
		}
	}
	if len(refusals) > 0 {
		err := errors.Join(refusals...)
		w.report.Failed(ctx, err)
		return err
	}
	w.report.Succeeded(ctx)
	return nil
}

// read reads one folder to its end.
func (w *worker) read(ctx context.Context, name string) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	err := w.readLocked(ctx, name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.report.Log(ctx, slog.LevelWarn, "imap: folder not read", err, "folder", name)
	}
	w.updateFolder(ctx, name, func(f *FolderStatus) {
		f.LastError = err
		if err == nil {
			f.LastSuccess = w.now()
		}
	})
	return err
}

func (w *worker) readLocked(ctx context.Context, name string) error {
	cursor, err := w.sink.Cursor(ctx, name)
	if err != nil {
		return stepError(StepCursor+" "+name, err)
	}
	f, err := w.open(ctx, name)
	if err != nil {
		return err
	}
	if cursor.UIDValidity != f.validity {
		if cursor.UIDValidity != 0 {
			w.report.Log(ctx, slog.LevelWarn, "imap: the server has renumbered the folder, it is read from the start", nil,
				"folder", name, "was", cursor.UIDValidity, "is", f.validity)
		}
		cursor = mailserver.Cursor{UIDValidity: f.validity}
	}
	w.updateFolder(ctx, name, func(st *FolderStatus) { st.Exists, st.Cursor = f.exists, cursor })
	if f.exists == 0 || cursor.UID == math.MaxUint32 || f.modSeq != 0 && w.seen[name] == f {
		return nil
	}
	b := &batch{worker: w, folder: f, done: cursor.UID, durable: cursor.UID}
	err = w.beyond(ctx, f, cursor.UID, w.cfg.Since, w.cfg.BatchSize, func(uids []uint32) error { return b.fetch(ctx, uids) })
	if err == nil {
		w.remember(f)
	}
	return err
}

// beyond calls fn with a folder's UIDs above after, in ascending order and up to n at a time.
func (w *worker) beyond(ctx context.Context, f folder, after uint32, since time.Time, n int, fn func(uids []uint32) error) error {
	for {
		found, more, err := w.sess.search(ctx, f, after+1, since)
		if err != nil {
			return err
		}
		for next := ascending(found, after); ; {
			uids := next(n)
			if len(uids) == 0 {
				break
			}
			if err := fn(uids); err != nil {
				return err
			}
			after = uids[len(uids)-1]
		}
		if !more || after == math.MaxUint32 {
			return nil
		}
		again, err := w.open(ctx, f.name) // fn may have ended the connection
		if err != nil {
			return err
		}
		if again.validity != f.validity {
			return stepError(StepSelect+" "+f.name, ErrGone)
		}
	}
}

// ascending returns a function that returns the next n UIDs of a set above after. Sets come from the server: they may be
// unordered, and too large to expand.
func ascending(set goimap.UIDSet, after uint32) func(n int) []uint32 {
	set = slices.Clone(set)
	slices.SortFunc(set, func(a, b goimap.UIDRange) int { return cmp.Compare(a.Start, b.Start) })
	next := uint64(after) + 1
	return func(n int) []uint32 {
		var uids []uint32
		for len(set) > 0 && len(uids) < n {
			next = max(next, uint64(set[0].Start))
			if next > uint64(set[0].Stop) { // also the ranges to *, whose Stop is 0
				set = set[1:]
				continue
			}
			uids = append(uids, uint32(next))
			next++
		}
		return uids
	}
}

// session returns a connection that is not known to be closed.
func (w *worker) session(ctx context.Context) (*session, error) {
	if w.sess != nil && w.sess.alive() {
		return w.sess, nil
	}
	w.abort()
	sess, err := connect(ctx, &w.cfg)
	if err != nil {
		return nil, err
	}
	w.sess = sess
	if w.running {
		w.report.Update(ctx, func(st *Status) { st.Connected, st.NextTry = true, time.Time{} })
	}
	return sess, nil
}

// open opens a folder, over a new connection if the old one has ended.
func (w *worker) open(ctx context.Context, name string) (folder, error) {
	sess, err := w.session(ctx)
	if err != nil {
		return folder{}, err
	}
	w.selected = ""
	f, err := sess.examine(ctx, name)
	if err == nil {
		w.selected = name
	}
	return f, err
}

// abort closes the connection, if any.
func (w *worker) abort() {
	if w.sess != nil {
		w.sess.abort()
		w.sess = nil
	}
}
