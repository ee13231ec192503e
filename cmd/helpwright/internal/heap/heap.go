// Package heap spares a busy server most garbage collections. A server keeps a few megabytes, so that Go, which collects
// whenever the heap has doubled, would collect dozens of times a second.
package heap

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// room is how many bytes of garbage a busy server may have before the next collection. A large heap may have as much as is
	// in use, as by default.
	room = 64 << 20
	// often is the time within which the heap of a busy server would double.
	often = time.Second

	usual = 100 // percent of what is in use, Go's default
	most  = 400
)

// Pace decides after each collection by how much the heap may grow until the next one: up to [room] while the server is busy,
// by [usual] otherwise. It ends with ctx, and does nothing if the environment sets GOGC. GOMEMLIMIT stays in force.
func Pace(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	p := &pacer{ctx: ctx, last: time.Now()}
	p.watch()
	context.AfterFunc(ctx, p.end)
}

// pacer learns of a collection from an object that is garbage from the beginning.
type pacer struct {
	ctx context.Context //nolint:containedctx // how long the pacing lasts

	mu   sync.Mutex
	last time.Time // of a collection
}

func (p *pacer) watch() {
	canary := new([32]byte) // smaller ones share memory with others
	runtime.AddCleanup(canary, (*pacer).collected, p)
}

// collected sets the percentage after a collection.
func (p *pacer) collected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	now := time.Now()
	live, percent := read()
	if wanted := next(percent, now.Sub(p.last), live); wanted != percent {
		debug.SetGCPercent(wanted)
	}
	p.last = now
	p.watch()
}

func (p *pacer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	debug.SetGCPercent(usual)
}

// next returns the percentage after a collection that followed another one after a time at a percentage.
func next(percent int, since time.Duration, live uint64) int {
	if since*usual/time.Duration(percent) >= often {
		return usual
	}
	return int(min(most, max(usual, room*100/max(1, live))))
}

// read returns how many bytes of the heap the last collection left, and the percentage.
func read() (live uint64, percent int) {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(all)
	for _, s := range all {
		if s.Value.Kind() != metrics.KindUint64 { // another version of Go may not have it
			return room, usual
		}
	}
	return all[0].Value.Uint64(), int(min(most, max(1, all[1].Value.Uint64())))
}
