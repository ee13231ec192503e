// Package postgres opens PostgreSQL databases for package bunstore with the driver pgx.
package postgres

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// The limits of the time to connect to a server, unless the address sets one. Of several servers,
// one that is gone must not hold up the others.
const (
	connectTimeout = 10 * time.Second
	severalTimeout = 3 * time.Second
)

// execMode is the pgx setting in an address for whether statements stay prepared.
const execMode = "default_query_exec_mode"

// poolMode is the setting in an address for a pooler between: with "transaction", as PgBouncer calls it, a session lasts as
// long as a transaction.
const poolMode = "pool_mode"

// Open opens a database by a "postgres://" URL as in libpq. It runs no migrations, see [bunstore.DB.Migrate]. An invalid URL
// is an Invalid fault, a database that does not answer an Unavailable fault.
//
// For failover the URL names several servers, as in "postgres://USER@HOST1,HOST2/DB": the first that takes writes is used, as
// with "target_session_attrs=read-write", unless the URL sets that otherwise. One that does not answer is given up after three
// seconds, or after "connect_timeout". cfg.Replica names one server.
//
// With "pool_mode=transaction" in the URL there may be a pooler such as PgBouncer between. Nothing is then kept in a session:
// StatementTimeout is negative, whatever it was, so that timeouts are those of the role or the database; jobs and events of
// other processes are found by polling; jobs of a process that died wait for the end of their leases.
func Open(ctx context.Context, address string, cfg bunstore.Config) (*bunstore.DB, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	pooled, err := pooler(config)
	if err != nil {
		return nil, err
	}
	cfg.Listen = Listen
	if pooled {
		cfg.StatementTimeout, cfg.Listen = -1, nil
	}
	pool, err := Pool(address, cfg)
	if err != nil {
		return nil, err
	}
	pools := bunstore.Pools{Write: bun.NewDB(pool, pgdialect.New())}
	if cfg.Replica != "" {
		if pools.Replica, err = replica(address, cfg, severalServers(config)); err != nil {
			_ = pool.Close()
			return nil, err
		}
	}
	return bunstore.Own(ctx, pools, cfg)
}

// parse parses an address. Its fault does not show the password, as pgx's error does.
func parse(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The address is not a PostgreSQL URL.")
	}
	return config, nil
}

// pooler removes the pool mode, which servers do not know, and reports whether it is "transaction".
func pooler(config *pgx.ConnConfig) (transaction bool, err error) {
	mode, given := config.RuntimeParams[poolMode]
	delete(config.RuntimeParams, poolMode)
	if given && mode != "transaction" {
		return false, fault.New(fault.Invalid, `The pool_mode in the address can only be "transaction".`)
	}
	return given, nil
}

// A read gives up on a replica soon, because the primary can answer it: while connecting, and while it waits for a lock that
// the replay of a migration holds.
const (
	replicaConnectTimeout = time.Second
	replicaLockTimeout    = "500"
)

// replica returns the connections to cfg.Replica and to the database at an address. mayLead is for [bunstore.ReplicaPools].
func replica(address string, cfg bunstore.Config, mayLead bool) (*bunstore.ReplicaPools, error) {
	config, err := parse(cfg.Replica)
	if err != nil {
		return nil, fault.Field("Replica", "is not a PostgreSQL URL")
	}
	if severalServers(config) {
		return nil, fault.Field("Replica", "names several servers: name one")
	}
	one := cfg
	one.MaxConns = 1
	primary, err := newPool(address, one, replicaConnectTimeout, replicaLockTimeout)
	if err != nil {
		return nil, err
	}
	read, err := newPool(cfg.Replica, cfg, replicaConnectTimeout, replicaLockTimeout)
	if err != nil {
		_ = primary.Close()
		return nil, err
	}
	measured, _ := newPool(cfg.Replica, one, replicaConnectTimeout, replicaLockTimeout) // as valid as for read
	return &bunstore.ReplicaPools{Read: bun.NewDB(read, pgdialect.New()), Replica: measured, Primary: primary, MayLead: mayLead}, nil
}

// Pool returns a pool whose connections are set up so that bun's way of writing values into statements is safe and fast. A
// program that has its own tables in the same pool as those of package bunstore creates the pool here, and passes it to
// [bunstore.New] in a bun.DB, with [Listen] in the Config. It does not connect yet. Several servers in the address are those of
// [Open].
//
// Its connections keep statements prepared. Behind a pooler that switches sessions between transactions and does not track
// prepared statements (PgBouncer does from 1.21 on, with max_prepared_statements above 0), the address needs
// "default_query_exec_mode=exec", which is the default when Config.StatementTimeout is negative. "statement_cache_capacity"
// limits the prepared statements, 512 by default. The server first plans a statement for its values, and later once for all
// values when that looks as cheap; "plan_cache_mode=force_custom_plan" in the address keeps it from doing so.
func Pool(address string, cfg bunstore.Config) (*sql.DB, error) {
	return newPool(address, cfg, connectTimeout, "30000")
}

// sessionAttrs is the setting in an address for what a server must be to be used.
const sessionAttrs = "target_session_attrs"

// severalServers reports whether an address names several servers.
func severalServers(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

// refusals tells the connections of a pool when the server refused a write. A server that has become read-only may no longer be
// the one that the address leads to, as after a failover, and sessions may stay read-only when the database no longer is.
type refusals struct {
	last atomic.Pointer[time.Time]
}

// keeps decides whether a connection is kept after an error of the server.
func (r *refusals) keeps(or func(*pgconn.PgConn, *pgconn.PgError) bool) func(*pgconn.PgConn, *pgconn.PgError) bool {
	return func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code != readOnly {
			return or(c, err)
		}
		// Once a second at most: as long as the database is read-only, its readers should not connect again and again.
		now := time.Now()
		if last := r.last.Load(); last == nil || now.Sub(*last) >= time.Second {
			r.last.Store(&now)
		}
		return false
	}
}

// since reports whether a write was refused after a time.
func (r *refusals) since(at time.Time) bool {
	last := r.last.Load()
	return last != nil && at.Before(*last)
}

// readOnly is the code of the error for a write in a read-only transaction.
const readOnly = "25006"

// newPool is Pool with the limits of connecting and, in milliseconds, of waiting for a lock that the address may set otherwise.
func newPool(address string, cfg bunstore.Config, connecting time.Duration, locking string) (*sql.DB, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	pooled, err := pooler(config)
	if err != nil {
		return nil, err
	}
	if pooled {
		cfg.StatementTimeout = -1
	}
	prepares := config.DefaultQueryExecMode
	if cfg.StatementTimeout < 0 && !strings.Contains(address, execMode) { // there may be a pooler
		prepares = pgx.QueryExecModeExec
	}
	if prepares != pgx.QueryExecModeSimpleProtocol {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec // for statements that are not repeated
	}
	if severalServers(config) {
		connecting = min(connecting, severalTimeout)
		if config.ValidateConnect == nil && !strings.Contains(address, sessionAttrs) {
			config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
	}
	refused := &refusals{}
	config.OnPgError = refused.keeps(config.OnPgError)
	config.RuntimeParams["standard_conforming_strings"] = "on"
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.RuntimeParams["timezone"] = "UTC"
	defaults := map[string]string{"application_name": "helpwright"}
	if cfg.StatementTimeout >= 0 {
		timeout := cfg.StatementTimeout
		if timeout == 0 {
			timeout = time.Minute
		}
		defaults["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
		defaults["lock_timeout"] = locking
		// Make the server end sessions of a dead process or network soon, to release their locks, including the lock that marks
		// the process alive.
		defaults["idle_in_transaction_session_timeout"] = "60000"
		defaults["tcp_keepalives_idle"] = "10"
		defaults["tcp_keepalives_interval"] = "5"
		defaults["tcp_keepalives_count"] = "3"
	}
	for name, value := range defaults {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connecting
	}
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config), prepares, refused, &cleanups{}})
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 20
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}
