package wire

import "time"

// Status is the state of fetching from a server.
type Status struct {
	Connected   bool
	LastSuccess time.Time // when all available mail had been fetched
	LastError   error     // usually a *StepError; nil after a success
	LastErrorAt time.Time
	NextTry     time.Time // after a failure; otherwise zero
}
