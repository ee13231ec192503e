package testenv

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of work, without that of other programs.
func cpuTime(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := threadTime()
	work()
	return threadTime() - begin
}

// threadTime is exact: getrusage(2) is only as precise as the scheduler tick.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // supported since Linux 2.6.12
	}
	return time.Duration(t.Nano())
}
