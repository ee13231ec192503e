package bunstore

import (
	"context"
	"sync"

	"github.com/helpwright/helpwright/storage"
)

// hands are the jobs that this process has in hand. The database may say that it has more: a claim was committed, and
// its answer was lost on the way.
type hands struct {
	mu      sync.Mutex
	jobs    map[attempt]bool
	claims  map[int]bool    // under way, by number
	last    int             // number of the last claim
	strange map[attempt]int // said to be ours, in hand of nobody: the last claim that may have got it
	broken  bool            // the last claim has failed
}

// attempt is one of a job.
type attempt struct {
	ID      int64
	Attempt int
}

// begin notes that a claim is under way.
func (h *hands) begin() (claim int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims == nil {
		h.claims, h.jobs = map[int]bool{}, map[attempt]bool{}
	}
	h.last++
	h.claims[h.last] = true
	return h.last
}

// end notes what a claim got.
func (h *hands) end(claim int, rows []jobRow, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.claims, claim)
	h.broken = err != nil
	for _, r := range rows {
		h.jobs[attempt{r.ID, r.Attempt}] = true
	}
}

// drop lets go of jobs.
func (h *hands) drop(jobs []storage.ClaimedJob) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range jobs {
		delete(h.jobs, attempt{j.ID, j.Attempt})
	}
}

// failed reports whether the last claim has.
func (h *hands) failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// works notes that the next claim may not fail.
func (h *hands) works() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = false
}

// known returns the jobs in hand.
func (h *hands) known() []attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]attempt, 0, len(h.jobs))
	for a := range h.jobs {
		all = append(all, a)
	}
	return all
}

// compare returns those of the jobs that the database says we have which nobody has in hand, and forgets those that were
// in hand before the database was asked and that it knows nothing of: another has them, or a result was written after
// all. What a claim under way may have got is left for the next time.
func (h *hands) compare(before, said []attempt) (lost []attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	there := make(map[attempt]bool, len(said))
	strange := map[attempt]int{}
	for _, a := range said {
		there[a] = true
		if h.jobs[a] {
			continue
		}
		since, seen := h.strange[a]
		if !seen {
			since = h.last // a later claim cannot have got it
		}
		if seen && !h.underWay(since) {
			lost = append(lost, a)
		} else {
			strange[a] = since
		}
	}
	h.strange = strange
	for _, a := range before {
		if !there[a] {
			delete(h.jobs, a)
		}
	}
	return lost
}

// underWay reports whether a claim that began no later than another has not ended.
func (h *hands) underWay(last int) bool {
	for claim := range h.claims {
		if claim <= last {
			return true
		}
	}
	return false
}

// giveBack has jobs claimed again that a lost answer gave to this process: nobody works at them.
func (db *DB) giveBack(ctx context.Context) error {
	db.holder.mu.Lock()
	own := db.holder.name
	db.holder.mu.Unlock()
	if own == "" {
		return nil
	}
	before := db.hands.known()
	var said []attempt
	reads := &querier{store: db, db: db.read}
	err := reads.raw("SELECT id, attempt FROM hw_jobs WHERE holder = ? AND holder <> '' AND NOT buried AND lease_until <> ?", own, noTime).
		Scan(ctx, &said)
	if err != nil {
		return err
	}
	lost := db.hands.compare(before, said)
	for _, a := range lost {
		_, err := db.queue().raw(`UPDATE hw_jobs SET lease_until = ?, due_at = run_at, holder = '', settled = attempt
			WHERE holder = ? AND `+held, noTime, own, a.ID, a.Attempt, noTime).Exec(ctx)
		if err != nil {
			return err // it is found again the next time
		}
	}
	if len(lost) > 0 {
		db.cfg.Logger.WarnContext(ctx, "gave jobs back whose claim got no answer", "jobs", len(lost))
		db.wakeUp()
	}
	return nil
}
