package storage

import "context"

// Processes tells which of the processes that share a database are alive. A process's notes about its own work mean
// something else once it has died.
type Processes interface {
	// Process returns the name of this process, constant for its lifetime, or "" where other processes cannot tell whether it
	// is alive.
	Process(ctx context.Context) (name string, err error)
	// Lives reports whether the named process is alive.
	Lives(ctx context.Context, name string) (bool, error)
}
