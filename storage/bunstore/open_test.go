package bunstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

// TestDatabaseFileIsTheOwnersAlone checks the mode of the database file in any folder and with any previous mode.
func TestDatabaseFileIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(path string) error{
		"new":          func(string) error { return nil },
		"open to all":  func(path string) error { return os.WriteFile(path, nil, 0o644) },        // the doctor reports it
		"files beside": func(path string) error { return os.WriteFile(path+"-wal", nil, 0o666) }, // as above
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o755); err != nil { // a folder that others see
				t.Fatal(err)
			}
			path := filepath.Join(dir, "desk.db")
			if err := prepare(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				db, err := both.Open(t.Context(), "sqlite:"+path, bunstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				if err := db.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				files, err := filepath.Glob(path + "*")
				if err != nil || len(files) < 3 {
					t.Fatalf("%v, %v", files, err)
				}
				for _, file := range files {
					if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%s: %v, %v", filepath.Base(file), info.Mode(), err)
					}
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
