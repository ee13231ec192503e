package bunstore

import (
	"context"
	"sync"

	"github.com/helpwright/helpwright/storage"
)

// hands tracks the jobs that this process has claimed. The database may record more for it: the claim was committed, but its
// response was lost.
type hands struct {
	mu      sync.Mutex
	jobs    map[attempt]bool
	claims  map[int]bool    // in progress, by number
	last    int             // number of the last claim
	strange map[attempt]int // jobs recorded as ours but unknown here, with the last claim that may have taken them
	broken  bool            // the last claim failed
}

// attempt identifies one attempt of a job.
type attempt struct {
	ID      int64
	Attempt int
}

// startClaim records that a claim is in progress.
func (h *hands) startClaim() (claim int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims == nil {
		h.claims, h.jobs = map[int]bool{}, map[attempt]bool{}
	}
	h.last++
	h.claims[h.last] = true
	return h.last
}

// end records the result of a claim.
func (h *hands) end(claim int, rows []jobRow, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.claims, claim)
	h.broken = err != nil
	for _, r := range rows {
		h.jobs[attempt{r.ID, r.Attempt}] = true
	}
}

// drop forgets jobs.
func (h *hands) drop(jobs []storage.ClaimedJob) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range jobs {
		delete(h.jobs, attempt{j.ID, j.Attempt})
	}
}

// failed reports whether the last claim failed.
func (h *hands) failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// works clears the failure of the last claim.
func (h *hands) works() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = false
}

// known returns the tracked jobs.
func (h *hands) known() []attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]attempt, 0, len(h.jobs))
	for a := range h.jobs {
		all = append(all, a)
	}
	return all
}

// compare returns the jobs that the database records for this process but no worker has. It forgets jobs that were tracked
// before the query and that the database does not record: another process has taken them over, or their result was written
// after all. It leaves jobs that a claim in progress may have taken for the next call.
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
			since = h.last // a later claim cannot have taken it
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

// underWay reports whether a claim that began no later than claim last is still in progress.
func (h *hands) underWay(last int) bool {
	for claim := range h.claims {
		if claim <= last {
			return true
		}
	}
	return false
}

// giveBack releases jobs that a claim with a lost response assigned to this process: no worker has them.
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
			return err // the next call finds it again
		}
	}
	if len(lost) > 0 {
		db.cfg.Logger.WarnContext(ctx, "gave jobs back whose claim got no answer", "jobs", len(lost))
		db.wakeUp()
	}
	return nil
}
