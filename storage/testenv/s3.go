package testenv

import (
	"net/url"
	"os"
	"os/exec"
	"testing"
)

// S3Server describes a folder on the test run's S3 server that no other test uses. The server is a gateway to a file system:
// it stores no object below another, such as a/b below a.
type S3Server struct {
	Endpoint  string // http://HOST:PORT
	Bucket    string
	Prefix    string // such as "test_0123456789abcdef/"
	AccessKey string
	SecretKey string
	Ctl       string // a program: Ctl start, Ctl stop, Ctl restart; stop kills it as a crash does
}

// S3 returns a new folder in the bucket of the test run. Its contents stay until the server ends.
func S3(t testing.TB) S3Server {
	t.Helper()
	s := s3Server(os.Getenv)
	if s.Endpoint == "" {
		Skip(t, "no S3 server: "+EnvS3+", "+EnvS3Secret+" and "+EnvS3Ctl+" are not all set")
	}
	return s
}

// OwnS3 starts another S3 server for this test alone, which may stop and restart it. It is stopped at the end of the test.
func OwnS3(t testing.TB) S3Server {
	t.Helper()
	S3(t)
	return s3Server(own(t, "s3", nil))
}

func s3Server(env func(name string) string) S3Server {
	addr, secret, ctl := env(EnvS3), env(EnvS3Secret), env(EnvS3Ctl)
	if addr == "" || secret == "" || ctl == "" {
		return S3Server{}
	}
	return S3Server{
		Endpoint: "http://" + addr, Bucket: "helpwright", Prefix: Name("test") + "/", AccessKey: "helpwright", SecretKey: secret, Ctl: ctl,
	}
}

// URL returns the folder's address without its keys.
func (s S3Server) URL() string {
	return "s3://" + s.Bucket + "/" + s.Prefix + "?endpoint=" + url.QueryEscape(s.Endpoint)
}

// Control starts, stops or restarts the server.
func (s S3Server) Control(t testing.TB, what string) {
	t.Helper()
	if out, err := exec.Command(s.Ctl, what).CombinedOutput(); err != nil {
		t.Fatalf("%s the S3 server: %v\n%s", what, err, out)
	}
}
