//go:build unix && !solaris && !aix

package bunstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

// A process that died on this host during a migration delays nobody; a live one is waited for, which is logged.
func TestMigrateAfterDeath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	open(t, "sqlite:"+path, bunstore.Config{})
	plain, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	lock, err := os.OpenFile(path+"-migrating-OTHER", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour)
	if _, err := plain.Exec(`INSERT INTO hw_migration_lease VALUES (1, 'OTHER', ?)`, until.UnixMicro()); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	db, err := both.Open(t.Context(), "sqlite:"+path, bunstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	impatient, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := db.Migrate(impatient); err == nil || !strings.Contains(log.String(), "waiting for another process") {
		t.Errorf("the lease of a process that lives: %v\n%s", err, log.String())
	}
	if err := lock.Close(); err != nil { // as if it had died
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if time.Now().After(until) || !strings.Contains(log.String(), "a process died") {
		t.Errorf("the lease of a dead process was waited for:\n%s", log.String())
	}
	left, err := filepath.Glob(path + "-migrating-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
