package testenv

import (
	"testing"

	"github.com/helpwright/helpwright/storage/testenv/nginx"
)

// Nginx starts nginx, which serves a body at /page. It skips the test if nginx is not installed.
func Nginx(t testing.TB, body []byte) *nginx.Server {
	t.Helper()
	program := nginx.Find()
	if program == "" {
		Skip(t, "there is no nginx")
	}
	s, err := nginx.Start(program, t.TempDir(), body)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
