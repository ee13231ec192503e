package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	maxLag         = time.Second // of an answer of a replica, when its statement begins
	measureEvery   = 200 * time.Millisecond
	measureTimeout = time.Second     // for an answer of either server
	replicaRest    = 2 * time.Second // after a replica did not answer
	maxPositions   = 1024            // that a replica has not reached
)

// ReplicaPools holds the connections that package postgres has opened for a replica, see Config.Replica.
type ReplicaPools struct {
	Read    *bun.DB // for lists and searches
	Replica *sql.DB // one connection, to measure the replica even if all of Read are in use
	Primary *sql.DB // one connection, to measure the primary
	// MayLead says that the database's address names several servers: after a failover the replica may be the primary, until the
	// address of another replica is given or it becomes a standby again.
	MayLead bool
}

func (p *ReplicaPools) close() {
	_, _, _ = p.Read.Close(), p.Replica.Close(), p.Primary.Close() // nothing was written
}

// ReplicaState tells how a replica does.
type ReplicaState string

// The states of a replica. Only a current one is read from.
const (
	ReplicaNone        ReplicaState = ""            // there is no replica
	ReplicaCurrent     ReplicaState = "current"     // at most one second behind
	ReplicaBehind      ReplicaState = "behind"      // more than that
	ReplicaUnknown     ReplicaState = "unknown"     // the primary does not tell its position
	ReplicaUnreachable ReplicaState = "unreachable" // it does not answer
	ReplicaWrong       ReplicaState = "wrong"       // it is no replica of this database
)

// ReplicaStatus reports a replica to its operators.
type ReplicaStatus struct {
	State ReplicaState
	// Lag is an upper bound of how far it is behind: the time since the moment whose changes it is known to have. It includes
	// the time since the last measurement, up to 0.2 seconds. Negative: not known.
	Lag time.Duration
	// Served counts the reads that might lag and that it answered, Primary those that the primary answered instead.
	Served, Primary int64
}

// replica reads from a PostgreSQL standby, as long as that is current.
//
// Five times a second it notes the time, then asks the primary for its position in the write-ahead log, and the replica for
// the position up to which that has replayed the log. Once the replica has reached a position of the primary, it has
// everything that was committed before the noted time. Unlike the age of the last replayed transaction, this does not grow
// while the primary is idle, and no clocks are compared. The same time decides whether a replica has the writes of this process:
// the last one in the account must have been committed before it.
type replica struct {
	pools ReplicaPools
	db    *bun.DB // of pools, with hooks
	log   func(ctx context.Context, state ReplicaState, err error)
	stop  func() // ends watch, and waits for its end

	served, missed atomic.Int64

	mu        sync.Mutex
	state     ReplicaState
	current   time.Time           // it has everything committed before; zero: not known
	positions []walPosition       // that it has not reached yet, in order
	timeline  int64               // of the primary
	restUntil time.Time           // after a failure
	written   map[int64]time.Time // last commits of this process by account, as far as it may lack them
	all       time.Time           // when any account may have been written last
	alive     context.Context     //nolint:containedctx // reads end with it, when the replica no longer answers
	down      context.CancelFunc  // ends alive
}

// walPosition is a place in the primary's log, read after a time.
type walPosition struct {
	at  time.Time
	lsn int64
}

// A commit is visible once its record is flushed, except without synchronous commits. Positions are counted in bytes.
const primaryPosition = `SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END
		- '0/0'::pg_lsn)::bigint,
	('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::bigint, ` + databaseIdentity

// On a replica, the control file has the timeline of the last checkpoint or of what was flushed last.
const replicaPosition = `SELECT COALESCE((pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint, 0),
	CASE WHEN pg_is_in_recovery() THEN greatest((SELECT timeline_id FROM pg_control_checkpoint()),
		(SELECT min_recovery_end_timeline FROM pg_control_recovery())) ELSE 0 END, ` + databaseIdentity

// databaseIdentity is the same on a database and its physical replicas, and on no other database.
const databaseIdentity = `(SELECT system_identifier FROM pg_control_system())::text,
	(SELECT oid FROM pg_database WHERE datname = current_database())::text || ' ' || COALESCE(current_schema(), '')`

// placed is an answer to primaryPosition or replicaPosition.
type placed struct {
	lsn, timeline    int64
	server, database string
}

func askPosition(ctx context.Context, pool *sql.DB, query string) (p placed, err error) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	err = pool.QueryRowContext(ctx, query).Scan(&p.lsn, &p.timeline, &p.server, &p.database)
	return p, err
}

// wrongReplica explains why a server is no replica of a database; nil: it is one. It is a Disabled fault, or an Unavailable one if
// it may be one later.
func wrongReplica(primary, standby placed, mayLead bool) error {
	kind, text := fault.Disabled, ""
	switch {
	case primary.server != standby.server:
		text = "The replica belongs to another database server: its system identifier differs from that of the database. " +
			"Give the address of a streaming replica of the database's own server."
	case standby.timeline == 0 && mayLead:
		kind, text = fault.Unavailable, "The replica takes writes: it is the primary at the moment."
	case standby.timeline == 0:
		text = "The replica is not a standby: it takes writes itself, or it is the primary. " +
			"Give the address of a streaming replica that is in recovery."
	case primary.database != standby.database:
		text = "The replica's address names another database or schema of the same server. Give it the database and the user that the primary's address has."
	default:
		return nil
	}
	return &fault.Error{Kind: kind, Op: "bunstore", Resource: "replica", Message: text}
}

// openReplica checks a replica and starts to watch it. A server that is no replica of the database is a Disabled fault; one
// that does not answer, or is the primary after a failover, is tried again later.
func (db *DB) openReplica(ctx context.Context, pools ReplicaPools) error {
	r := &replica{pools: pools, db: pools.Read.WithQueryHook(bounding{db.patience}), written: map[int64]time.Time{}}
	if db.cfg.Tracer != nil {
		r.db = r.db.WithQueryHook(tracing{db.cfg.Tracer, "postgresql"})
	}
	r.alive, r.down = context.WithCancel(context.Background())
	r.log = db.logReplica
	db.replica = r
	err := r.measure(ctx)
	watched, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	r.stop = func() { cancel(); <-ended }
	if fault.Is(err, fault.Disabled) {
		cancel()
		close(ended)
		return err
	}
	go func() {
		defer close(ended)
		r.watch(watched)
	}()
	return nil
}

// logReplica logs a change of state. Errors of connections name addresses, so only the server's own code is logged.
func (db *DB) logReplica(ctx context.Context, state ReplicaState, err error) {
	const back = ": lists are read from the primary"
	var more []any
	if e, ok := ofPostgres(err); ok {
		more = []any{"sqlstate", e.code}
	}
	switch log := db.cfg.Logger; state {
	case ReplicaCurrent:
		log.InfoContext(ctx, "the database's replica is current: lists are read from it")
	case ReplicaBehind:
		log.WarnContext(ctx, "the database's replica is more than a second behind"+back)
	case ReplicaUnreachable:
		log.WarnContext(ctx, "the database's replica does not answer"+back, more...)
	case ReplicaUnknown:
		log.WarnContext(ctx, "nothing tells how current the database's replica is, because the primary does not answer"+back, more...)
	case ReplicaWrong:
		log.ErrorContext(ctx, "the database's replica cannot be used"+back, "error", err)
	}
}

func (r *replica) close() {
	if r == nil {
		return
	}
	r.stop()
	r.down()
	r.pools.close()
}

// watch measures until ctx ends.
func (r *replica) watch(ctx context.Context) {
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_ = r.measure(ctx) // it is logged
	}
}

// measure compares the positions of the two servers.
func (r *replica) measure(ctx context.Context) error {
	at := time.Now()
	primary, standby, state, err := r.ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if state = r.note(at, primary, standby, state); state != "" {
		r.log(ctx, state, err)
	}
	return err
}

// ask returns the positions of the two servers, and ReplicaBehind if it got both, of one database.
func (r *replica) ask(ctx context.Context) (primary, standby placed, state ReplicaState, err error) {
	if primary, err = askPosition(ctx, r.pools.Primary, primaryPosition); err != nil {
		return primary, standby, ReplicaUnknown, err
	}
	if standby, err = askPosition(ctx, r.pools.Replica, replicaPosition); err != nil {
		return primary, standby, ReplicaUnreachable, err
	}
	if err = wrongReplica(primary, standby, r.pools.MayLead); err != nil {
		return primary, standby, ReplicaWrong, err
	}
	return primary, standby, ReplicaBehind, nil
}

// note records a measurement, and returns the new state if that has changed.
func (r *replica) note(at time.Time, primary, standby placed, state ReplicaState) ReplicaState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if state != ReplicaUnknown {
		r.placed(at, primary)
	}
	if state == ReplicaBehind {
		if standby.timeline == primary.timeline {
			r.reach(standby.lsn)
		}
		if time.Since(r.current) <= maxLag {
			state = ReplicaCurrent
		}
	}
	maps.DeleteFunc(r.written, func(_ int64, at time.Time) bool { return !at.After(r.current) || time.Since(at) > maxLag })
	switch {
	case state == r.state:
		return ""
	case state == ReplicaUnreachable || state == ReplicaWrong:
		r.down()
	case r.alive.Err() != nil:
		r.alive, r.down = context.WithCancel(context.Background())
	}
	r.state = state
	return state
}

// placed adds a position of the primary.
func (r *replica) placed(at time.Time, primary placed) {
	if primary.timeline != r.timeline { // another server has become the primary, and its log goes another way from somewhere on
		r.timeline, r.positions, r.current = primary.timeline, nil, time.Time{}
	}
	r.positions = append(r.positions, walPosition{at, primary.lsn})
	if len(r.positions) > maxPositions { // far behind: keep every second one
		kept := r.positions[:0]
		for i, p := range r.positions {
			if i%2 == 0 {
				kept = append(kept, p)
			}
		}
		r.positions = kept
	}
}

// reach records that the replica has everything up to lsn.
func (r *replica) reach(lsn int64) {
	n, _ := slices.BinarySearchFunc(r.positions, lsn, func(p walPosition, lsn int64) int {
		if p.lsn <= lsn {
			return -1
		}
		return 1
	})
	if n > 0 {
		r.current = r.positions[n-1].at
		r.positions = slices.Delete(r.positions, 0, n)
	}
}

// wrote records that this process has committed changes in accounts, 0 being those above accounts.
func (r *replica) wrote(accounts ...int64) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, account := range accounts {
		if account != 0 {
			r.written[account] = now
		}
	}
}

// wroteAny records that changes may have been committed in any account.
func (r *replica) wroteAny() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = time.Now()
}

// ready returns a context that lives as long as the replica answers, or nil if an account cannot be read from it now.
func (r *replica) ready(account int64) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.state != ReplicaCurrent || now.Sub(r.current) > maxLag || now.Before(r.restUntil) ||
		r.written[account].After(r.current) || r.all.After(r.current) {
		return nil
	}
	return r.alive
}

// failed lets the replica rest if an error means that it does not answer.
func (r *replica) failed(err error) {
	if e, ok := ofPostgres(err); ok {
		switch e.code[:min(2, len(e.code))] {
		case "08", "53", "58": // connection exception, insufficient resources, system error
		case "57":
			if e.code == pgQueryCanceled { // a conflict with recovery, or a slow statement
				return
			}
		default:
			return
		}
	} else if !unreachable(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restUntil = time.Now().Add(replicaRest)
}

func (r *replica) status() ReplicaStatus {
	if r == nil {
		return ReplicaStatus{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := ReplicaStatus{State: cmp.Or(r.state, ReplicaBehind), Lag: -1, Served: r.served.Load(), Primary: r.missed.Load()}
	if !r.current.IsZero() {
		s.Lag = time.Since(r.current)
	}
	if s.State == ReplicaCurrent && s.Lag > maxLag {
		s.State = ReplicaBehind
	}
	return s
}

// Replica reports how the replica of Config.Replica does.
func (db *DB) Replica() ReplicaStatus { return db.replica.status() }

// lagging runs a read that may lag if the reader's scope says so: on the replica if that is current, and otherwise, or if the
// replica fails, on the primary. Reads in a transaction, a unit or a snapshot, and reads that lock, never lag.
func lagging[T any](ctx context.Context, r reader, read func(context.Context, reader) (T, error)) (T, error) {
	standby := r.store.replica
	if standby == nil || !r.scope.MayLag || r.tx != nil || storage.IsLocking(ctx) || r.store.unit(ctx) != nil || r.store.seen(ctx) != nil {
		return read(ctx, r)
	}
	if alive := standby.ready(r.scope.AccountID); alive != nil {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(alive, cancel)()
		got, err := read(inner, reader{querier: &querier{store: r.store, db: standby.db}, scope: r.scope})
		if err == nil || ctx.Err() != nil {
			standby.served.Add(1)
			return got, err
		}
		standby.failed(err)
	}
	standby.missed.Add(1)
	return read(ctx, r)
}
