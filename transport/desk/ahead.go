package desk

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// together runs reads that do not need each other's results at the same time, so that a page waits for the database about
// once instead of once for each. It returns when all have ended, with the first error in their order.
func together(reads ...func() error) error {
	errs := make([]error, len(reads))
	var group sync.WaitGroup
	for i, read := range reads[1:] {
		group.Go(func() { errs[i+1] = rescued(read) })
	}
	errs[0] = rescued(reads[0])
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rescued runs a read, and turns its panic into an error: in a goroutine of its own it would end the process.
func rescued(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fault.Internal, "desk", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return read()
}

// ahead holds the numbers of the sidebar. They are read while the page's own content is.
type ahead struct {
	done   chan struct{} // closed once the rest is set
	counts helpdesk.Counts
	unread int
	err    error
}

// readAhead starts to read the numbers of the sidebar. The caller waits for the end before it returns: nothing of a
// request goes on after it.
func (v *visit) readAhead() (wait func()) {
	a := &ahead{done: make(chan struct{})}
	reader := *v // without ahead: it asks the database itself
	v.ahead = a
	go func() {
		defer close(a.done)
		a.err = together(
			func() (err error) { a.counts, err = reader.counts(); return err },
			func() (err error) { a.unread, err = reader.unread(); return err },
		)
	}()
	return func() { <-a.done }
}

// unread is how many notifications are unread. Who sees no conversations has none.
func (v *visit) unread() (int, error) {
	if !v.may(helpdesk.ConversationsView) {
		return 0, nil
	}
	if v.ahead != nil {
		<-v.ahead.done
		return v.ahead.unread, v.ahead.err
	}
	return v.UnreadNotifications(v.ctx())
}
