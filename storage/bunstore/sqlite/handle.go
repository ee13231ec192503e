package sqlite

import (
	"database/sql/driver"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// handleOf returns SQLite's handle of a connection, which the driver keeps in an unexported field; 0 if it does not. The
// driver then watches contexts itself.
func handleOf(conn driver.Conn) uintptr {
	v := reflect.Indirect(reflect.ValueOf(conn))
	if v.Kind() != reflect.Struct {
		return 0
	}
	if field := v.FieldByName("db"); field.Kind() == reflect.Uintptr {
		return uintptr(field.Uint())
	}
	return 0
}

// unlock takes the mutex from the connection, as if it had been opened with SQLITE_OPEN_NOMUTEX. The driver asks for
// SQLITE_OPEN_FULLMUTEX, and SQLite then locks and unlocks several times for each column it returns. A connection of package
// sql is used by one goroutine at a time, and sqlite3_interrupt, which others call, takes no mutex.
func (c *preparedConn) unlock() {
	if c.handle == 0 {
		return
	}
	field := c.handle + unsafe.Offsetof(sqlite3.Tsqlite3{}.Fmutex)
	mutex := sqlite3.Xsqlite3_db_mutex(c.tls, c.handle)
	if mutex == 0 || libc.AtomicLoadPUintptr(field) != mutex {
		return
	}
	libc.AtomicStorePUintptr(field, 0)
	sqlite3.Xsqlite3_mutex_free(c.tls, mutex)
}
