// Package postgres opens PostgreSQL databases for package bunstore with the driver pgx.
package postgres

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
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
// Values stand in the statements, so none is prepared: each is planned for its values, and a pooler may switch sessions between
// transactions.
func Pool(address string, cfg bunstore.Config) (*sql.DB, error) {
	return newPool(address, cfg, connectTimeout, "30000")
}

// sessionAttrs is the setting in an address for what a server must be to be used.
const sessionAttrs = "target_session_attrs"

// severalServers reports whether an address names several servers.
func severalServers(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

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
	if config.DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec // pgx would prepare every statement otherwise
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
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config), refused, &cleanups{}})
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 20
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}
