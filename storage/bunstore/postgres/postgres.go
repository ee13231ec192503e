// Package postgres opens PostgreSQL databases for package bunstore with the driver pgx.
package postgres

import (
	"context"
	"database/sql"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// connectTimeout limits the time to connect, unless the address sets a limit.
const connectTimeout = 10 * time.Second

// execMode is the pgx setting in an address for whether statements stay prepared.
const execMode = "default_query_exec_mode"

// poolMode is the setting in an address for a pooler between: with "transaction", as PgBouncer calls it, a session lasts as
// long as a transaction.
const poolMode = "pool_mode"

// Open opens a database by a "postgres://" URL as in libpq. It runs no migrations, see [bunstore.DB.Migrate]. An invalid URL
// is an Invalid fault, a database that does not answer an Unavailable fault.
//
// With "pool_mode=transaction" in the URL there may be a pooler such as PgBouncer between. Nothing is then kept in a session:
// StatementTimeout is negative, whatever it was, so that timeouts are those of the role or the database; jobs and events of
// other processes are found by polling; jobs of a process that died wait for the end of their leases.
func Open(ctx context.Context, address string, cfg bunstore.Config) (*bunstore.DB, error) {
	address, pooled, err := withoutPoolMode(address)
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
		if pools.Replica, err = replica(address, cfg); err != nil {
			_ = pool.Close()
			return nil, err
		}
	}
	return bunstore.Own(ctx, pools, cfg)
}

// withoutPoolMode removes the pool mode from an address, and reports whether it is "transaction".
func withoutPoolMode(address string) (rest string, transaction bool, err error) {
	u, err := url.Parse(address)
	if err != nil || !u.Query().Has(poolMode) {
		return address, false, nil //nolint:nilerr // Pool refuses an invalid address
	}
	query := u.Query()
	if query.Get(poolMode) != "transaction" {
		return "", false, fault.New(fault.Invalid, `The pool_mode in the address can only be "transaction".`)
	}
	query.Del(poolMode)
	u.RawQuery = query.Encode()
	return u.String(), true, nil
}

// A read gives up on a replica soon, because the primary can answer it: while connecting, and while it waits for a lock that
// the replay of a migration holds.
const (
	replicaConnectTimeout = time.Second
	replicaLockTimeout    = "500"
)

// replica returns the connections for a replica of the database at an address.
func replica(address string, cfg bunstore.Config) (*bunstore.ReplicaPools, error) {
	one := cfg
	one.MaxConns = 1
	primary, err := newPool(address, one, replicaConnectTimeout, replicaLockTimeout)
	if err != nil {
		return nil, err
	}
	read, err := newPool(cfg.Replica, cfg, replicaConnectTimeout, replicaLockTimeout)
	if err != nil {
		_ = primary.Close()
		return nil, fault.Field("Replica", "is not a PostgreSQL URL")
	}
	measured, _ := newPool(cfg.Replica, one, replicaConnectTimeout, replicaLockTimeout) // as valid as for read
	return &bunstore.ReplicaPools{Read: bun.NewDB(read, pgdialect.New()), Replica: measured, Primary: primary}, nil
}

// Pool returns a pool whose connections are set up so that bun's way of writing values into statements is safe and fast. A
// program that has its own tables in the same pool as those of package bunstore creates the pool here, and passes it to
// [bunstore.New] in a bun.DB, with [Listen] in the Config. It does not connect yet.
//
// Its connections keep statements prepared. Behind a pooler that switches sessions between transactions and does not track
// prepared statements (PgBouncer does from 1.21 on, with max_prepared_statements above 0), the address needs
// "default_query_exec_mode=exec", which is the default when Config.StatementTimeout is negative. "statement_cache_capacity"
// limits the prepared statements, 512 by default. The server first plans a statement for its values, and later once for all
// values when that looks as cheap; "plan_cache_mode=force_custom_plan" in the address keeps it from doing so.
func Pool(address string, cfg bunstore.Config) (*sql.DB, error) {
	return newPool(address, cfg, connectTimeout, "30000")
}

// newPool is Pool with the limits of connecting and, in milliseconds, of waiting for a lock that the address may set otherwise.
func newPool(address string, cfg bunstore.Config, connecting time.Duration, locking string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The address is not a PostgreSQL URL.") // err would show the password
	}
	prepares := config.DefaultQueryExecMode
	if cfg.StatementTimeout < 0 && !strings.Contains(address, execMode) { // there may be a pooler
		prepares = pgx.QueryExecModeExec
	}
	if prepares != pgx.QueryExecModeSimpleProtocol {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec // for statements that are not repeated
	}
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
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config), prepares})
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 20
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}
