package imap

import (
	"context"
	"errors"
	"log/slog"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/helpwright/helpwright/helpdesk/ingest/wire"
)

// tries is how often a mail is asked for alone before it is delivered as a problem.
const tries = 3

// batch fetches the mails of one folder and hands them to the sink.
type batch struct {
	*worker
	folder  folder
	mails   []Mail
	bytes   int64
	hold    wire.Hold            // of what is fetched
	done    uint32               // every mail up to this UID is in mails, taken, or gone
	durable uint32               // the cursor of the sink
	arrived map[uint32]time.Time // of the mails that are fetched, as far as the server tells
}

// fetch delivers mails, given in ascending order.
func (b *batch) fetch(ctx context.Context, uids []uint32) error {
	defer func() { b.hold.Free(b.cfg.Room) }()
	b.arrived = make(map[uint32]time.Time, len(uids))
	sizes, err := b.sess.sizes(ctx, b.folder, uids, b.arrived)
	if err != nil && !mailsFault(err) {
		return err
	} // otherwise a size or a date cannot be read: each mail is asked for alone
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

// together tells how many mails from the first on fit into one batch, and their bytes; 0: the first is to be fetched
// alone, because it is too large or its size is not known.
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

// several fetches mails with one command, and those that did not come one by one.
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

// one fetches a mail alone, and tries again with another connection and a fresh view of the folder. The mails before it
// do not wait for that.
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

// reopen delivers what is there, and opens the folder again.
func (b *batch) reopen(ctx context.Context, try int, last error) error {
	if err := b.flush(ctx); err != nil {
		return err
	}
	understood := !errors.Is(last, ErrProtocol) && !errors.Is(last, ErrTooMuch)
	if try > 0 && !b.sess.alive() && understood { // it may be the network, and that may pass
		wire.Sleep(ctx, b.backoff(try-1, nil))
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

// alone fetches a mail by its UID, and by its sequence number if that brings nothing: a server that sends the UID after
// the body is not understood otherwise.
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
	raw, ok := got[uid] // another UID: the numbers have moved
	return raw, ok, err
}

// problem delivers a mail that cannot be fetched, with its header if that can.
func (b *batch) problem(ctx context.Context, uid uint32, cause error) error {
	if err := b.reopen(ctx, 0, nil); err != nil {
		return err
	}
	b.log(ctx, slog.LevelWarn, "imap: mail not fetched", b.folder.name, cause, "uid", uid)
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

// mailsFault tells whether a step failed in a way that one mail can be the reason of: not because the context ended, nor
// because there is no connection to be had.
func mailsFault(err error) bool {
	var step *StepError
	return errors.As(err, &step)
}

// add puts a mail into the batch, and hands the batch over when it is full.
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

// flush hands the mails over and moves the cursor.
func (b *batch) flush(ctx context.Context) error {
	if b.done == b.durable {
		return nil
	}
	next := Cursor{UIDValidity: b.folder.validity, UID: b.done}
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
