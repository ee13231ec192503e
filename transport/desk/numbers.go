package desk

import (
	"fmt"
	"runtime/debug"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// numbers has the counts in the sidebar, read once per page.
type numbers struct {
	done   chan struct{} // closed once the fields below are set
	counts helpdesk.Counts
	unread int // notifications
	err    error
}

// readAhead starts to read the counts of the sidebar while the page reads its own content. The caller waits for it before
// returning, so that no work outlives its request.
func (v *visit) readAhead() (wait func()) {
	n := &numbers{done: make(chan struct{})}
	reader := *v
	v.numbers = n
	go n.read(&reader)
	return func() { <-n.done }
}

// awaitNumbers returns the counts of the sidebar, and reads them if readAhead was not called.
func (v *visit) awaitNumbers() (*numbers, error) {
	if v.numbers == nil {
		v.numbers = &numbers{done: make(chan struct{})}
		v.numbers.read(v)
	}
	<-v.numbers.done
	return v.numbers, v.numbers.err
}

// read sets the counts. It recovers from a panic, which would end the process in this separate goroutine, and returns it as
// an error.
func (n *numbers) read(v *visit) {
	defer close(n.done)
	defer func() {
		if p := recover(); p != nil {
			n.err = fault.Wrap(fault.Internal, "desk", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if !v.may(identity.ConversationsView) {
		return
	}
	fresh := false
	n.counts, n.err = memoize(v.memo, &v.memo.counts, func() (helpdesk.Counts, error) {
		fresh = true
		views, err := v.views()
		if err != nil {
			return helpdesk.Counts{}, err
		}
		return v.Conversations().CountsOf(v.ctx(), views)
	})
	if n.unread = int(n.counts.Notifications); n.err == nil && !fresh { // reading notifications is not an event
		n.unread, n.err = v.Notifications().Unread(v.ctx())
	}
}

// counts returns how many conversations the lists have.
func (v *visit) counts() (helpdesk.Counts, error) {
	n, err := v.awaitNumbers()
	return n.counts, err
}

// unread returns the number of unread notifications. A member who sees no conversations has none.
func (v *visit) unread() (int, error) {
	n, err := v.awaitNumbers()
	return n.unread, err
}
