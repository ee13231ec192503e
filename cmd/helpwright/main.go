// Command helpwright is the reference server of the module: the help desk over HTTP, with its mail, in one binary.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signalled(os.Stderr, os.Exit)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// signalGap is the minimum time between two separate signals: a terminal and a supervisor may both send the same one.
const signalGap = 100 * time.Millisecond

// exitInterrupted is the exit code of a program that was interrupted before it had finished.
const exitInterrupted = 3

// signalled returns a context that the first signal cancels. The second signal means not to wait for work in progress: the
// program exits at once, which every part survives as it survives a crash.
func signalled(stderr io.Writer, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		for first := time.Now(); ; {
			if <-signals; time.Since(first) >= signalGap {
				fmt.Fprintln(stderr, "helpwright: a second signal: not waiting for requests and jobs that run")
				exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals) }
}
