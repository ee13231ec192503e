// Package postgres opens databases of PostgreSQL for package bunstore, with the driver pgx.
package postgres

import (
	"context"
	"database/sql"
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

// connectTimeout is how long making a connection may take, unless the address says it.
const connectTimeout = 10 * time.Second

// execMode is the setting of pgx in an address that says whether statements are kept.
const execMode = "default_query_exec_mode"

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
//
// Its connections keep statements prepared. A pooler between that gives each transaction another session, and does
// not keep them itself (PgBouncer does from 1.21 on, with max_prepared_statements above 0), needs
// "default_query_exec_mode=exec" in the address, which is the default where Config.StatementTimeout is negative; "statement_cache_capacity" says how many are kept, 512 by default. The
// server plans a statement for its values at first, and once for all when that looks as cheap;
// "plan_cache_mode=force_custom_plan" in the address has it always do the former.
func Pool(address string, cfg bunstore.Config) (*sql.DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The address is no PostgreSQL URL.") // err would show the password
	}
	prepares := config.DefaultQueryExecMode
	if cfg.StatementTimeout < 0 && !strings.Contains(address, execMode) { // there may be a pooler
		prepares = pgx.QueryExecModeExec
	}
	if prepares != pgx.QueryExecModeSimpleProtocol {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec // of texts that will not come again
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
