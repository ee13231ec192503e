package pop3

import (
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// A server that gives all mails the same id does not cost more than one that gives each its own.
func TestRepeatedIDsGrow(t *testing.T) {
	t.Parallel()
	testenv.Growth(t, 10_000, func(n int) func() {
		return func() {
			s := &session{number: map[string]int{}, again: map[string]int{}}
			for i := range n {
				id := s.unique("same")
				if s.number[id] != 0 {
					t.Fatalf("%q comes again", id)
				}
				s.number[id] = i + 1
			}
		}
	})
}
