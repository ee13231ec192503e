package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/helpwright/helpwright/storage/bunstore"
)

// Listen is [bunstore.Config].Listen for connections of pgx.
func Listen(ctx context.Context, conn *sql.Conn, channels []string, begun func(), heard func(channel, payload string)) error {
	var failed error
	err := conn.Raw(func(raw any) error {
		c, ok := raw.(interface{ Conn() *pgx.Conn })
		if !ok {
			failed = bunstore.ErrNoListen
			return nil
		}
		failed = receive(ctx, c.Conn(), channels, begun, heard)
		return driver.ErrBadConn // a listening connection must not return to the pool
	})
	if failed != nil {
		return failed
	}
	return err
}

func receive(ctx context.Context, conn *pgx.Conn, channels []string, begun func(), heard func(channel, payload string)) error {
	if _, err := conn.Exec(ctx, "LISTEN "+strings.Join(channels, "; LISTEN ")); err != nil {
		return err
	}
	begun()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		heard(n.Channel, n.Payload)
	}
}
