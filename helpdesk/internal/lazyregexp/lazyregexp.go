// Package lazyregexp compiles regular expressions when they are first used. Dozens of them take mails apart; a program that starts
// should not spend milliseconds and megabytes on them before it has a mail.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns a function that compiles a pattern when it is first called. It panics then if the pattern is wrong. In tests New
// compiles the pattern at once, so that a wrong one fails every test that links it.
func New(pattern string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	if inTest(os.Args) {
		compiled()
	}
	return compiled
}

// inTest reports whether a command line is that of a test.
func inTest(args []string) bool {
	return len(args) > 0 && strings.HasSuffix(strings.TrimSuffix(args[0], ".exe"), ".test")
}
