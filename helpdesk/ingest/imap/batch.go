package imap

import (
	"context"
	"errors"
	"log/slog"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// tries is the number of single requests for a message before it is delivered with a Problem.
const tries = 3

// batch fetches one folder's messages and passes them to the sink.
type batch struct {
	*worker
	folder  folder
	mails   []Mail
	bytes   int64
	hold    wire.Hold            // for fetched messages
	done    uint32               // every message up to this UID is in mails, was taken, or no longer exists
	durable uint32               // the cursor of the sink
	arrived map[uint32]time.Time // of fetched messages, as far as the server reports it
}

// fetch delivers mails, given in ascending order.
func (b *batch) fetch(ctx context.Context, uids []uint32) error {
	defer func() { b.hold.Free(b.cfg.Room) }()
	b.arrived = make(map[uint32]time.Time, len(uids))
	sizes, err := b.sess.sizes(ctx, b.folder, uids, b.arrived)
	if err != nil && !mailsFault(err) {
		return err
	} // otherwise a size or a date is unreadable: request each message alone
	for len(uids) > 0 {
		count, bytes := b.together(uids, sizes)
		if count == 0 {
			if err := b.one(ctx, uids[0]); err != nil {
				return err
			}
			count = 1
		} else if err := b.several(ctx, uids[:count], bytes); err != nil {
			return err
		}
		uids = uids[count:]
	}
	return b.flush(ctx)
}

// together returns how many messages from the start fit into one batch, and their bytes; 0: the first must be fetched alone,
// because it is too large or its size is unknown.
func (b *batch) together(uids []uint32, sizes map[uint32]int64) (count int, bytes int64) {
	for _, uid := range uids {
		size, known := sizes[uid]
		if !known || size > b.cfg.MaxMessage || count > 0 && bytes+size > b.cfg.BatchBytes {
			break
		}
		count++
		bytes += size
	}
	return count, bytes
}

// several fetches messages with one command, and missing ones one by one.
func (b *batch) several(ctx context.Context, uids []uint32, size int64) error {
	if b.bytes > 0 && b.bytes+size > b.cfg.BatchBytes {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	if err := b.hold.Grow(ctx, b.cfg.Room, size, b.flush); err != nil {
		return err
	}
	var got map[uint32][]byte
	if b.sess.alive() {
		var err error
		got, err = b.sess.bodies(ctx, b.folder, uidSet(uids), len(uids), size)
		if err != nil && !mailsFault(err) {
			return err
		}
	}
	for _, uid := range uids {
		raw, ok := got[uid]
		delete(got, uid)
		var err error
		if ok {
			err = b.add(ctx, Mail{UID: uid, Raw: raw, Size: int64(len(raw))})
		} else {
			err = b.one(ctx, uid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one fetches a message alone, and retries with another connection and a fresh view of the folder. Messages before it do not
// wait for that.
func (b *batch) one(ctx context.Context, uid uint32) error {
	var last error
	for try := range tries {
		if try > 0 || !b.sess.alive() {
			if err := b.reopen(ctx, try, last); err != nil {
				return err
			}
		}
		if err := b.hold.Grow(ctx, b.cfg.Room, b.cfg.MaxMessage, b.flush); err != nil {
			return err
		}
		mail, err := b.alone(ctx, uid)
		switch {
		case err == nil:
			return b.add(ctx, mail)
		case errors.Is(err, ErrGone):
			b.done = uid
			return nil
		case !mailsFault(err):
			return err
		}
		last = err
	}
	return b.problem(ctx, uid, last)
}

// reopen delivers the batch and opens the folder again.
func (b *batch) reopen(ctx context.Context, try int, last error) error {
	if err := b.flush(ctx); err != nil {
		return err
	}
	understood := !errors.Is(last, ErrProtocol) && !errors.Is(last, ErrTooMuch)
	if try > 0 && !b.sess.alive() && understood { // perhaps a temporary network failure
		wire.Sleep(ctx, wire.Backoff(b.cfg.BackoffMin, b.cfg.BackoffMax, try-1, nil, b.cfg.Rand()))
	}
	f, err := b.open(ctx, b.folder.name)
	if err != nil {
		return err
	}
	if f.validity != b.folder.validity {
		return stepError(StepSelect+" "+f.name, ErrGone)
	}
	return nil
}

// alone fetches a message by UID, and if that fails by sequence number, because a server that sends the UID after the body
// is only understood that way.
func (b *batch) alone(ctx context.Context, uid uint32) (Mail, error) {
	sizes, err := b.sess.sizes(ctx, b.folder, []uint32{uid}, nil)
	if err != nil {
		return Mail{}, err
	}
	size, known := sizes[uid]
	if size > b.cfg.MaxMessage {
		raw, err := b.sess.header(ctx, b.folder, uid)
		return Mail{UID: uid, Raw: raw, Size: size, Oversize: true}, err
	}
	if !known {
		size = b.cfg.MaxMessage
	}
	got, err := b.sess.bodies(ctx, b.folder, uidSet([]uint32{uid}), 1, size)
	if err != nil {
		return Mail{}, err
	}
	raw, ok := got[uid]
	if !ok {
		raw, ok, err = b.bySequence(ctx, uid, size)
	}
	switch {
	case err != nil:
		return Mail{}, err
	case !ok:
		return Mail{}, stepError(StepFetch+" "+b.folder.name, ErrNotSent)
	}
	return Mail{UID: uid, Raw: raw, Size: int64(len(raw))}, nil
}

func (b *batch) bySequence(ctx context.Context, uid uint32, size int64) ([]byte, bool, error) {
	number, err := b.sess.sequence(ctx, b.folder, uid)
	if err != nil {
		return nil, false, err
	}
	if number == 0 {
		return nil, false, ErrGone
	}
	got, err := b.sess.bodies(ctx, b.folder, goimap.SeqSetNum(number), 1, size)
	raw, ok := got[uid] // another UID: sequence numbers have changed
	return raw, ok, err
}

// problem delivers a message that cannot be fetched, with its header if possible.
func (b *batch) problem(ctx context.Context, uid uint32, cause error) error {
	if err := b.reopen(ctx, 0, nil); err != nil {
		return err
	}
	b.report.Log(ctx, slog.LevelWarn, "imap: mail not fetched", cause, "folder", b.folder.name, "uid", uid)
	header, err := b.sess.header(ctx, b.folder, uid)
	if err != nil {
		if !mailsFault(err) {
			return err
		}
		header = nil
	}
	var size int64
	if b.sess.alive() {
		sizes, err := b.sess.sizes(ctx, b.folder, []uint32{uid}, nil)
		if err != nil && !mailsFault(err) {
			return err
		}
		size = sizes[uid]
	}
	return b.add(ctx, Mail{UID: uid, Raw: header, Size: size, Problem: cause.Error()})
}

// mailsFault reports whether one message can be the cause of a failed step: not if the context ended or no connection is
// available.
func mailsFault(err error) bool {
	var step *StepError
	return errors.As(err, &step)
}

// add adds a message to the batch, and flushes the batch when it is full.
func (b *batch) add(ctx context.Context, mail Mail) error {
	mail.Folder, mail.UIDValidity, mail.Arrived = b.folder.name, b.folder.validity, b.arrived[mail.UID]
	b.mails = append(b.mails, mail)
	b.bytes += int64(len(mail.Raw))
	b.done = mail.UID
	if b.bytes >= b.cfg.BatchBytes || len(b.mails) >= b.cfg.BatchSize {
		return b.flush(ctx)
	}
	return nil
}

// flush passes the messages to the sink and moves the cursor.
func (b *batch) flush(ctx context.Context) error {
	if b.done == b.durable {
		return nil
	}
	next := mailserver.Cursor{UIDValidity: b.folder.validity, UID: b.done}
	if err := b.sink.Take(ctx, b.folder.name, b.mails, next); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return stepError(StepTake+" "+b.folder.name, err)
	}
	b.durable = b.done
	b.updateFolder(ctx, b.folder.name, func(f *FolderStatus) {
		f.Cursor = next
		f.Taken += uint64(len(b.mails))
		for _, mail := range b.mails {
			if mail.Oversize {
				f.Oversize++
			}
			if mail.Problem != "" {
				f.Problems++
			}
		}
	})
	b.mails, b.bytes = nil, 0
	b.hold.Free(b.cfg.Room)
	return nil
}
