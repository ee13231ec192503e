//go:build !linux

package testenv

import "time"

// cpuTime is how long work takes: these systems do not tell the time of one thread alone.
func cpuTime(work func()) time.Duration {
	begin := time.Now()
	work()
	return time.Since(begin)
}
