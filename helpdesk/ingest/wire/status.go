package wire

import "time"

// Status tells how fetching from a server goes.
type Status struct {
	Connected   bool
	LastSuccess time.Time // when all mail that was there had been fetched
	LastError   error     // a *StepError mostly; nil after a success
	LastErrorAt time.Time
	NextTry     time.Time // after a failure; zero while there is none
}
