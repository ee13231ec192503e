package testenv

import (
	"runtime"
	"syscall"
	"time"
)

// cpuTime is how long work keeps a processor busy. Time that other programs take does not count.
func cpuTime(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := threadTime()
	work()
	return threadTime() - begin
}

func threadTime() time.Duration {
	const rusageThread = 1 // RUSAGE_THREAD of getrusage(2)
	var usage syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &usage); err != nil {
		panic(err) // no Linux since 2.6.26 refuses it
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
