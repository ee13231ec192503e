package storage

import "context"

// Processes tells of the processes that share a database which of them live. What one
// of them notes about its own work means something else once it has died.
type Processes interface {
	// Process is the name of this one, the same as long as it lives; "" where the others
	// cannot know whether it does.
	Process(ctx context.Context) (name string, err error)
	// Lives reports whether the process of a name lives.
	Lives(ctx context.Context, name string) (bool, error)
}
