package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// enough is the minimum number of repetitions.
const enough = 3

// median repeats work for a time, and returns the median of its durations by a clock.
func median(ctx context.Context, d time.Duration, clock func() time.Duration, work func(n int) error) ([]time.Duration, error) {
	var spent []time.Duration
	began := time.Now()
	for n := 0; n < enough || time.Since(began) < d; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before := clock()
		if err := work(n); err != nil {
			return nil, err
		}
		spent = append(spent, clock()-before)
	}
	return []time.Duration{quantile(spent, 0.5)}, nil
}

// wall returns a wall clock.
func wall() func() time.Duration {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) }
}

// quantile sorts durations and returns the given quantile.
func quantile(all []time.Duration, part float64) time.Duration {
	slices.Sort(all)
	return all[min(int(float64(len(all))*part), len(all)-1)]
}

// atOnce repeats work on several goroutines for a time, and returns the durations.
func atOnce(ctx context.Context, d time.Duration, workers int, work func(n int) error) ([]time.Duration, error) {
	var (
		mu     sync.Mutex
		spent  []time.Duration
		failed error
		n      atomic.Int64
		all    sync.WaitGroup
	)
	began := time.Now()
	for range workers {
		all.Go(func() {
			for i := 0; i < enough || time.Since(began) < d; i++ {
				before := time.Now()
				err := work(int(n.Add(1)))
				took := time.Since(before)
				mu.Lock()
				spent = append(spent, took)
				if err != nil || ctx.Err() != nil {
					failed = err
				}
				stop := failed != nil || ctx.Err() != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	all.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return spent, failed
}

// until waits for a condition that other goroutines bring about.
func until(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}
