// Package postgres opens databases of PostgreSQL for package bunstore, with the driver pgx.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/internal/metered"
	"github.com/helpwright/helpwright/storage/fault"
)

// connectTimeout is how long making a connection may take, unless the address says it.
const connectTimeout = 10 * time.Second

// Open opens a database: a "postgres://" URL as libpq takes it. It migrates nothing, see [bunstore.DB.Migrate]. What is
// no such URL is an Invalid fault, a database that does not answer an Unavailable one.
func Open(ctx context.Context, address string, cfg bunstore.Config) (*bunstore.DB, error) {
	pool, err := Pool(address, cfg)
	if err != nil {
		return nil, err
	}
	cfg.Listen = Listen
	return bunstore.Own(ctx, bunstore.Pools{Write: bun.NewDB(pool, pgdialect.New())}, cfg)
}

// Pool makes a pool whose connections are set up so that bun's way of writing values into the statement is safe and
// quick. A program that has its own tables and those of package bunstore in one pool makes it here, and gives it to
// [bunstore.New] in a bun.DB, with [Listen] in the Config. It connects to nothing yet.
func Pool(address string, cfg bunstore.Config) (*sql.DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The address is no PostgreSQL URL.") // err would show the password
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // every text is new, so nothing is to be prepared
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
		defaults["lock_timeout"] = "30000"
		// Of a process or a network that is gone the server lets go soon: of its locks, and of the lock that says it lives.
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
		config.ConnectTimeout = connectTimeout
	}
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config)})
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 20
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}

// connector makes connections to PostgreSQL whose rows can be counted.
type connector struct{ driver.Connector }

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if plain, ok := conn.(*stdlib.Conn); ok && err == nil {
		return &meteredConn{plain}, nil
	}
	return conn, err
}

// pgxConn has another name than its method Conn, which is to be had.
type pgxConn = stdlib.Conn

type meteredConn struct{ *pgxConn }

// QueryContext implements [driver.QueryerContext].
func (c *meteredConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.pgxConn.QueryContext(ctx, query, args)
	return metered.Rows(ctx, rows, err)
}
