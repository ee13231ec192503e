package testenv

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long work keeps a processor busy. Time that other programs take does not count.
func cpuTime(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := threadTime()
	work()
	return threadTime() - begin
}

// threadTime is exact: getrusage(2) would tell only what was counted at the last tick.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // no Linux since 2.6.12 refuses it
	}
	return time.Duration(t.Nano())
}
