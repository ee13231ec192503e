//go:build !linux

package testenv

import "time"

// cpuTime returns the elapsed time of work: these systems do not report the time of a single thread.
func cpuTime(work func()) time.Duration {
	begin := time.Now()
	work()
	return time.Since(begin)
}
