package sqlite

import (
	"fmt"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"
)

// The driver still has its handle where handleOf looks, so that it need not watch contexts itself, and SQLite has its mutex
// where unlock looks.
func TestHandle(t *testing.T) {
	t.Parallel()
	conn, err := migrated(t).DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Raw(func(driver any) error {
		c, ok := driver.(*preparedConn)
		if !ok {
			return fmt.Errorf("the connection is a %T", driver)
		}
		w, inner, err := c.watch(t.Context())
		if err != nil {
			return err
		}
		if w.end(); w == nil || inner.Done() != nil {
			t.Errorf("the handle is %d", c.handle)
		}
		if mutex := sqlite3.Xsqlite3_db_mutex(c.tls, c.handle); mutex != 0 {
			t.Errorf("the connection has a mutex at %x", mutex)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
