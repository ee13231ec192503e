package storagetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func idempotencyTests() []testCase {
	return []testCase{
		{"Notes", testNotes},
		{"NoteAndEffect", testNoteAndEffect},
		{"NotedAtOnce", testNotedAtOnce},
		{"Once", testOnce},
		{"Sweep", testSweep},
		{"Forget", testForgetNotes},
	}
}

func unitTests() []testCase {
	return []testCase{
		{"Commit", testUnitCommit},
		{"Rollback", testUnitRollback},
		{"Parts", testUnitParts},
		{"BothDomains", testUnitOfBothDomains},
		{"First", testUnitFirst},
		{"Last", testUnitLast},
		{"Precondition", testUnitPrecondition},
		{"Locking", testUnitLocking},
	}
}

// idempotency returns the backend's Idempotency, which is optional.
func idempotency(t *testing.T, b Backend) storage.Idempotency {
	t.Helper()
	i, ok := b.Store.(storage.Idempotency)
	if !ok {
		lacks(t, "the store keeps no idempotency keys")
	}
	return i
}

// note returns a note with a key of this test's own, valid until minute n.
func note(t *testing.T, name string, n int) storage.Note {
	t.Helper()
	key, request := sha256.Sum256([]byte(t.Name()+"\x00"+name)), sha256.Sum256([]byte("request"))
	return storage.Note{Key: key[:], Request: request[:], Holder: rand.Text(), Until: at(n)}
}

func testNotes(t *testing.T, b Backend) {
	i := idempotency(t, b)
	first := note(t, "a", 100)
	_, err := i.Noted(t.Context(), first.Key, at(0))
	fails(t, "nothing is noted", err, fault.NotFound)
	ok(t, i.Note(t.Context(), first, at(0)))
	first.Answer = bytes.Repeat([]byte("\x00a\xff"), 1<<20)
	ok(t, i.Note(t.Context(), first, at(0))) // its own
	got, err := i.Noted(t.Context(), first.Key, at(99))
	ok(t, err)
	same(t, "note", first, got)

	second := note(t, "a", 200)
	second.Request, second.Answer = bytes.Repeat([]byte("r"), 32), []byte{}
	if err := i.Note(t.Context(), second, at(99)); err != storage.ErrNoted { //nolint:errorlint // as it is
		t.Errorf("a second note: %v", err)
	}
	_, err = i.Noted(t.Context(), first.Key, at(100))
	fails(t, "a note that may be forgotten", err, fault.NotFound)
	ok(t, i.Note(t.Context(), second, at(100)))
	got, err = i.Noted(t.Context(), first.Key, at(100))
	ok(t, err)
	if got.Answer == nil {
		t.Error("an empty answer is none")
	}
	same(t, "nothing is left of the first", second, got)
}

// Notes about a conversation go with it, and move with its content.
func testForgetNotes(t *testing.T, b Backend) {
	i := idempotency(t, b)
	for name, tt := range map[string]struct {
		do   func(ctx context.Context, tx helpdesk.Tx, w *world, id int64) error
		gone bool
	}{
		"nothing": {func(context.Context, helpdesk.Tx, *world, int64) error { return nil }, false},
		"forgotten": {func(ctx context.Context, tx helpdesk.Tx, _ *world, id int64) error {
			return tx.ForgetNotes(ctx, []int64{id, nobody})
		}, true},
		"none": {func(ctx context.Context, tx helpdesk.Tx, _ *world, _ int64) error { return tx.ForgetNotes(ctx, nil) }, false},
		"conversation deleted": {func(ctx context.Context, tx helpdesk.Tx, _ *world, id int64) error {
			return tx.DeleteConversations(ctx, []int64{id})
		}, true},
		"account deleted": {func(ctx context.Context, tx helpdesk.Tx, _ *world, _ int64) error { return tx.DeleteAccount(ctx) }, true},
		"merged": {func(ctx context.Context, tx helpdesk.Tx, w *world, id int64) error {
			return tx.MergeConversation(ctx, helpdesk.Move{FromID: id, IntoID: w.conversation.ID, CreatedAt: base})
		}, false},
		"merged and forgotten": {func(ctx context.Context, tx helpdesk.Tx, w *world, id int64) error {
			if err := tx.MergeConversation(ctx, helpdesk.Move{FromID: id, IntoID: w.conversation.ID, CreatedAt: base}); err != nil {
				return err
			}
			return tx.ForgetNotes(ctx, []int64{w.conversation.ID})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b)
			c := w.conversation
			c.ID, c.Number = 0, w.conversation.Number+100
			w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Conversations().Insert(ctx, &c) })
			about, other := note(t, "about", 100), note(t, "other", 100)
			about.ConversationID, about.Answer, other.Answer = c.ID, []byte("draft"), []byte("x")
			ok(t, i.Note(t.Context(), about, at(0)))
			ok(t, i.Note(t.Context(), other, at(0)))
			w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tt.do(ctx, tx, w, c.ID) })
			_, err := i.Noted(t.Context(), about.Key, at(1))
			if gone := fault.Is(err, fault.NotFound); gone != tt.gone {
				t.Errorf("the note is gone: %t, want %t (%v)", gone, tt.gone, err)
			}
			got, err := i.Noted(t.Context(), other.Key, at(1))
			ok(t, err)
			same(t, "another note", other, got)
		})
	}
}

// insertTag is a sample effect.
func (w *world) insertTag(ctx context.Context, name string) error {
	return w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		tag := w.newTag(name)
		tag.Name = name
		return helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &tag)
	})
}

func (w *world) tagNames(t *testing.T, ctx context.Context) []string {
	t.Helper()
	tags, err := helpdesk.Nouns().Tags.Reader(w.in()).List(ctx, storage.NoFilter{}, all())
	ok(t, err)
	var names []string
	for _, tag := range tags {
		names = append(names, tag.Name)
	}
	return names
}

// The note exists exactly when the effect does.
func testNoteAndEffect(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	for _, commit := range []bool{false, true} {
		n := note(t, "a", 10)
		ctx, unit := i.Begin(t.Context(), func(ctx context.Context) error { return i.Note(ctx, n, at(0)) })
		ok(t, w.insertTag(ctx, "a"))
		if commit {
			n.Answer = []byte("done")
			ok(t, unit.Commit(ctx, func(ctx context.Context) error { return i.Note(ctx, n, at(0)) }))
		}
		unit.Rollback()
		got, err := i.Noted(t.Context(), n.Key, at(0))
		if !commit {
			fails(t, "a note without its effect", err, fault.NotFound)
			same(t, "tags", 0, len(w.tagNames(t, t.Context())))
			continue
		}
		ok(t, err)
		same(t, "note", n, got)
		same(t, "tags", 1, len(w.tagNames(t, t.Context())))
	}
}

// Of many concurrent transactions that note the same key with an effect one succeeds, even when an expired note exists.
func testNotedAtOnce(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	for round := range 5 {
		var done, known atomic.Int32
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				n := note(t, "a", 10*round+10)
				ctx, unit := i.Begin(t.Context(), func(ctx context.Context) error { return i.Note(ctx, n, at(10*round)) })
				defer unit.Rollback()
				err := w.insertTag(ctx, string(rune('a'+round)))
				if err == nil {
					err = unit.Commit(ctx, func(context.Context) error { return nil })
				}
				switch {
				case err == nil:
					done.Add(1)
				case errors.Is(err, storage.ErrNoted):
					known.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		same(t, "who did it", int32(1), done.Load())
		same(t, "who found it done", int32(5), known.Load())
	}
	same(t, "effects", 5, len(w.tagNames(t, t.Context())))
}

func testOnce(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	n, times := note(t, "a", 10), 0
	do := func(fail error) ([]byte, error) {
		return storage.Once(t.Context(), i, n, at(0), func(ctx context.Context) ([]byte, error) {
			times++
			ok(t, w.insertTag(ctx, "a"))
			return []byte("done"), fail
		})
	}
	if _, err := do(errOnPurpose); err != errOnPurpose { //nolint:errorlint // the function's error must come back as it is
		t.Errorf("got %v, want the error of the function itself", err)
	}
	for range 3 {
		n.Holder = rand.Text()
		answer, err := do(nil)
		ok(t, err)
		same(t, "answer", "done", string(answer))
	}
	same(t, "times", 2, times)
	same(t, "effects", 1, len(w.tagNames(t, t.Context())))
	n.Request = bytes.Repeat([]byte("r"), 32)
	_, err := do(nil)
	fails(t, "another request", err, fault.Conflict)
}

func testSweep(t *testing.T, b Backend) {
	i := idempotency(t, b)
	old := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC) // older than the notes of other tests
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		n := note(t, name, 0)
		n.Until = old
		if name == "e" {
			n.Until = old.Add(time.Microsecond)
		}
		ok(t, i.Note(t.Context(), n, old.Add(-time.Hour)))
	}
	for n, want := range []int{0, 3, 1, 0} {
		got, err := i.Sweep(t.Context(), old, n*3)
		ok(t, err)
		same(t, "swept", want, got)
	}
	_, err := i.Noted(t.Context(), note(t, "e", 5).Key, old)
	ok(t, err)
}

// Changes in a unit are visible in it, and to others after the commit.
func testUnitCommit(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	ctx, unit := i.Begin(t.Context(), nil)
	same(t, "tags before", 0, len(w.tagNames(t, ctx)))
	err := w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		tag := w.newTag("a")
		tag.Name = "a"
		ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &tag))
		ok(t, tx.Enqueue(ctx, storage.Job{Kind: w.kind(), Subject: 1, RunAt: base}))
		return tx.Emit(ctx, storage.Event{Type: "test.a", Subject: 1, Data: []byte("{}"), Time: base})
	})
	ok(t, err)
	ok(t, w.insertTag(ctx, "b"))
	same(t, "tags in the unit", []string{"a", "b"}, w.tagNames(t, ctx))
	ok(t, unit.Commit(ctx, nil))
	unit.Rollback()
	fails(t, "a second commit", unit.Commit(ctx, nil), fault.Internal)
	same(t, "tags", []string{"a", "b"}, w.tagNames(t, t.Context()))
	same(t, "events", 1, len(w.log(t)))
	same(t, "jobs", 1, len(w.claim(t, 10, at(1), at(2))))
	ok(t, w.insertTag(ctx, "c")) // the context has no effect by now
	same(t, "tags after the end", []string{"a", "b", "c"}, w.tagNames(t, ctx))
}

func testUnitRollback(t *testing.T, b Backend) {
	w := newWorld(t, b)
	i := idempotency(t, b)
	before := w.content(t)
	ctx, unit := i.Begin(t.Context(), nil)
	ok(t, w.insertTag(ctx, "a tag"))
	ok(t, w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		w.changeEverything(t, ctx, tx)
		return nil
	}))
	unit.Rollback()
	same(t, "content", before, w.content(t))
	same(t, "events", 0, len(w.log(t)))
	same(t, "jobs", 0, len(w.claim(t, 10, at(1), at(2))))

	err := storage.Together(t.Context(), i, nil, func(ctx context.Context) error {
		ok(t, w.insertTag(ctx, "a tag"))
		return errOnPurpose
	})
	if err != errOnPurpose { //nolint:errorlint // the function's error must come back as it is
		t.Errorf("got %v, want the error of the function itself", err)
	}
	same(t, "content", before, w.content(t))
}

// A part that fails undoes itself only, and its context's end does not end the unit.
func testUnitParts(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	ctx, unit := i.Begin(t.Context(), nil)
	defer unit.Rollback()
	fail := func(ctx context.Context) {
		t.Helper()
		err := w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
			tag := w.newTag("lost")
			ok(t, helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &tag))
			ok(t, tx.Enqueue(ctx, storage.Job{Kind: w.kind(), Subject: 1, RunAt: base}))
			ok(t, tx.Emit(ctx, storage.Event{Type: "test.lost", Subject: 1, Data: []byte("{}"), Time: base}))
			return errOnPurpose
		})
		if !errors.Is(err, errOnPurpose) {
			t.Errorf("got %v", err)
		}
	}
	fail(ctx)
	same(t, "tags after a first part that failed", 0, len(w.tagNames(t, ctx)))
	short, cancel := context.WithCancel(ctx)
	ok(t, w.insertTag(short, "a"))
	cancel()
	fail(ctx)
	fails(t, "a broken uniqueness", w.insertTag(ctx, "a"), fault.Conflict)
	ok(t, w.insertTag(ctx, "b"))
	ok(t, unit.Commit(ctx, nil))
	same(t, "tags", []string{"a", "b"}, w.tagNames(t, t.Context()))
	same(t, "events", 0, len(w.log(t)))
	same(t, "jobs", 0, len(w.claim(t, 10, at(1), at(2))))
}

func testUnitOfBothDomains(t *testing.T, b Backend) {
	if b.KB == nil {
		lacks(t, "the backend has no knowledge base")
	}
	i, w := idempotency(t, b), newLibrary(t, b)
	collections := func() int {
		found, err := w.inSite().Collections().List(t.Context(), storage.NoFilter{}, all())
		ok(t, err)
		return len(found)
	}
	tags, before := len(w.tagNames(t, t.Context())), collections()
	for added, want := range []error{errOnPurpose, nil} {
		err := storage.Together(t.Context(), i, nil, func(ctx context.Context) error {
			ok(t, w.insertTag(ctx, "together"))
			ok(t, w.KB.InTx(ctx, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
				c := w.newCollection(9)
				return tx.Collections().Insert(ctx, &c)
			}))
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		same(t, "tags", tags+added, len(w.tagNames(t, t.Context())))
		same(t, "collections", before+added, collections())
	}
}

// First runs with the first transaction, even when nothing else runs.
func testUnitFirst(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	times, refuse := 0, errOnPurpose
	begin := func() (context.Context, storage.Unit) {
		times = 0
		return i.Begin(t.Context(), func(ctx context.Context) error {
			times++
			ok(t, w.insertTag(ctx, "first"))
			return refuse
		})
	}
	ctx, unit := begin()
	if err := w.insertTag(ctx, "a"); !errors.Is(err, errOnPurpose) {
		t.Errorf("got %v", err)
	}
	if err := unit.Commit(ctx, func(context.Context) error { return nil }); !errors.Is(err, errOnPurpose) {
		t.Errorf("got %v", err)
	}
	same(t, "times", 2, times)
	same(t, "tags", 0, len(w.tagNames(t, t.Context())))
	refuse = nil
	ctx, unit = begin()
	ok(t, unit.Commit(ctx, nil)) // there was nothing to do
	same(t, "times", 0, times)
	ctx, unit = begin()
	ok(t, w.insertTag(ctx, "a"))
	ok(t, w.insertTag(ctx, "b"))
	ok(t, unit.Commit(ctx, nil))
	same(t, "times", 1, times)
	same(t, "tags", []string{"first", "a", "b"}, w.tagNames(t, t.Context()))
}

// A part of last that fails undoes itself only, even if Commit has begun the transaction.
func testUnitLast(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newAccount(t, b)
	insert := func(name string, end error) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			return w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
				tag := w.newTag(name)
				tag.Name = name
				return errors.Join(helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &tag), end)
			})
		}
	}
	ctx, unit := i.Begin(t.Context(), insert("first", nil))
	ok(t, unit.Commit(ctx, func(ctx context.Context) error {
		if err := insert("lost", errOnPurpose)(ctx); !errors.Is(err, errOnPurpose) {
			t.Errorf("got %v", err)
		}
		same(t, "tags after the part that failed", []string{"first"}, w.tagNames(t, ctx))
		return nil
	}))
	same(t, "tags", []string{"first"}, w.tagNames(t, t.Context()))
}

// Of many concurrent changes with what was read as the precondition one succeeds.
func testUnitPrecondition(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newWorld(t, b)
	rename := func(read func(context.Context) (string, error), write func(ctx context.Context, name string) error) {
		t.Helper()
		for round := range 3 {
			known, err := read(t.Context())
			ok(t, err)
			var done, refused atomic.Int32
			var group sync.WaitGroup
			for n := range 6 {
				group.Go(func() {
					err := storage.Together(t.Context(), i, func(ctx context.Context) error {
						if _, err := read(storage.Locking(ctx)); err != nil {
							return err
						}
						if now, err := read(ctx); err != nil || now != known {
							return errors.Join(err, fault.New(fault.Precondition, "changed"))
						}
						return nil
					}, func(ctx context.Context) error { return write(ctx, string(rune('a'+n))+string(rune('0'+round))) })
					switch {
					case err == nil:
						done.Add(1)
					case fault.Is(err, fault.Precondition):
						refused.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			group.Wait()
			same(t, "who changed it", int32(1), done.Load())
			same(t, "who was refused", int32(5), refused.Load())
		}
	}
	in := func(fn func(ctx context.Context, tx helpdesk.Tx, name string) error) func(context.Context, string) error {
		return func(ctx context.Context, name string) error {
			return w.Store.InTx(ctx, w.scope, func(ctx context.Context, tx helpdesk.Tx) error { return fn(ctx, tx, name) })
		}
	}
	rename(func(ctx context.Context) (string, error) {
		tag, err := helpdesk.Nouns().Tags.Reader(w.in()).Get(ctx, w.tag.ID)
		return tag.Name, err
	}, in(func(ctx context.Context, tx helpdesk.Tx, name string) error {
		tag := w.tag
		tag.Name = name
		return helpdesk.Nouns().Tags.Rows(tx).Update(ctx, &tag)
	}))
	rename(func(ctx context.Context) (string, error) {
		customer, err := w.in().Customer(ctx, w.customer.ID)
		if err != nil || len(customer.Websites) == 0 {
			return "", err
		}
		return customer.Websites[0].Website, nil
	}, in(func(ctx context.Context, tx helpdesk.Tx, name string) error {
		customer := w.customer
		customer.Websites = []helpdesk.CustomerWebsite{{Website: name}}
		return tx.UpdateCustomer(ctx, &customer)
	}))
	rename(func(ctx context.Context) (string, error) {
		role, err := helpdesk.Nouns().Roles.Reader(w.in()).Get(ctx, w.role.ID)
		return role.Name, err
	}, in(func(ctx context.Context, tx helpdesk.Tx, name string) error {
		role := w.role
		role.Name = name
		return helpdesk.Nouns().Roles.Rows(tx).Update(ctx, &role)
	}))
}

// Others cannot change what a unit has read under Locking until it ends.
func testUnitLocking(t *testing.T, b Backend) {
	i, w := idempotency(t, b), newWorld(t, b)
	ctx, unit := i.Begin(t.Context(), func(ctx context.Context) error {
		_, err := helpdesk.Nouns().Tags.Reader(w.in()).Get(storage.Locking(ctx), w.tag.ID)
		return err
	})
	defer unit.Rollback()
	ok(t, w.insertTag(ctx, "other")) // opens the transaction
	var ended atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			tag := w.tag
			tag.Name = "theirs"
			err := helpdesk.Nouns().Tags.Rows(tx).Update(ctx, &tag)
			if !ended.Load() {
				t.Error("a locked row was changed")
			}
			return err
		})
	})
	time.Sleep(50 * time.Millisecond) // the other one is waiting by now, or comes later
	got, err := helpdesk.Nouns().Tags.Reader(w.in()).Get(ctx, w.tag.ID)
	ok(t, err)
	same(t, "tag", w.tag, got)
	ended.Store(true)
	ok(t, unit.Commit(ctx, nil))
	group.Wait()
}
