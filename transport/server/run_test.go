package server

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diary notes in which order parts start and end.
type diary struct {
	mu   sync.Mutex
	said []string
}

func (d *diary) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, text)
}

// part is one that takes a while to end.
func (d *diary) part(name string, slow time.Duration) part {
	return part{name, func(ctx context.Context) error {
		d.note(name + " starts")
		<-ctx.Done()
		time.Sleep(slow)
		d.note(name + " ends")
		return ctx.Err()
	}}
}

func TestStagesEndInTheOppositeOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- runStages(ctx, []part{d.part("store", 0)}, []part{d.part("jobs", time.Second)}, []part{d.part("http", time.Minute)})
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"http ends", "jobs ends", "store ends"}, d.said[3:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPartThatFailsEndsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		failed := errors.New("the port is gone")
		err := runStages(t.Context(), []part{d.part("store", 0)}, []part{{"http", func(context.Context) error {
			time.Sleep(time.Second)
			return failed
		}}, d.part("fetching", 0)})
		if !errors.Is(err, failed) || err.Error() != "http: the port is gone" {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff([]string{"fetching ends", "store ends"}, d.said[2:]); diff != "" {
			t.Error(diff)
		}
	})
}
