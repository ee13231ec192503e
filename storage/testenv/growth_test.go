package testenv_test

import (
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.failed = true }

var sum int // keeps the loops

func TestGrowth(t *testing.T) {
	t.Parallel()
	all := func(inner func(n int) int) func(n int) func() {
		return func(n int) func() {
			return func() {
				for range n {
					for range inner(n) {
						sum++
					}
				}
			}
		}
	}
	linear, quadratic := &failing{TB: t}, &failing{TB: t}
	testenv.Growth(linear, 2000, all(func(int) int { return 1000 }))
	for tries := 0; tries < 5 && !quadratic.failed; tries++ { // a busy machine may hide it once
		testenv.Growth(quadratic, 2000, all(func(n int) int { return n }))
	}
	if linear.failed || !quadratic.failed {
		t.Errorf("linear work fails: %t, quadratic work fails: %t", linear.failed, quadratic.failed)
	}
}
