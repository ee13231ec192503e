package lazyregexp

import "testing"

func TestNew(t *testing.T) {
	t.Parallel()
	re := New(`^a+$`)
	first, again := re(), re()
	if first != again || !first.MatchString("aaa") || first.MatchString("b") {
		t.Error("the pattern is not compiled, or more than once")
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong pattern passes tests as long as nothing uses it")
		}
	}()
	New(`(`)
}

func TestInTest(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]struct {
		args []string
		want bool
	}{
		"a test":            {[]string{"/tmp/b001/mail.test", "-test.v"}, true},
		"a test on Windows": {[]string{`C:\b001\mail.test.exe`}, true},
		"a program":         {[]string{"/usr/bin/helpwright", "serve.test"}, false},
		"nothing":           {nil, false},
	} {
		if got := inTest(args.args); got != args.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
