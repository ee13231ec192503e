package s3blob_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/s3blob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// roles gives keys to machines: metadata of EC2, an agent of containers, and a service for web identities.
type roles struct {
	server testenv.S3Server
	life   time.Duration
	asked  atomic.Int64
}

// ServeHTTP implements [http.Handler].
func (m *roles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	until := time.Now().Add(m.life).UTC()
	keys := func() {
		m.asked.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"Code": "Success", "AccessKeyID": m.server.AccessKey, "SecretAccessKey": m.server.SecretKey, "Expiration": until,
		})
	}
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		_, _ = io.WriteString(w, "session")
	case r.URL.Path == "/latest/meta-data/iam/security-credentials/" && r.Header.Get("X-aws-ec2-metadata-token") == "session":
		_, _ = io.WriteString(w, "desk")
	case r.URL.Path == "/latest/meta-data/iam/security-credentials/desk" && r.Header.Get("X-aws-ec2-metadata-token") == "session":
		keys()
	case r.URL.Path == "/container" && r.Header.Get("Authorization") == "letmein":
		keys()
	case r.Method == http.MethodPost && r.FormValue("Action") == "AssumeRoleWithWebIdentity" && r.FormValue("WebIdentityToken") == "jwt" && r.FormValue("RoleArn") == "arn:desk":
		m.asked.Add(1)
		_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
			<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><Expiration>%s</Expiration>
			</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, m.server.AccessKey, m.server.SecretKey, until.Format(time.RFC3339))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// A machine's role opens a bucket, its keys are kept while they are good, and are renewed in time.
func TestRole(t *testing.T) {
	bucket := testenv.S3(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		life time.Duration
		env  func(at string) map[string]string
		own  bool // the address is configured, not in a variable
		most int64
	}{
		"EC2":              {time.Hour, func(string) map[string]string { return nil }, true, 1},
		"keys that expire": {0, func(string) map[string]string { return nil }, true, 100},
		"a container": {time.Hour, func(at string) map[string]string {
			return map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": at + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "letmein"}
		}, false, 1},
		"a web identity": {time.Hour, func(string) map[string]string {
			return map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:desk"}
		}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			machine := &roles{server: bucket, life: test.life}
			at := httptest.NewServer(machine)
			defer at.Close()
			for key, value := range test.env(at.URL) {
				t.Setenv(key, value)
			}
			cfg := config(bucket)
			cfg.AccessKey, cfg.SecretKey, cfg.Role = "", "", true
			if test.own {
				cfg.RoleEndpoint = at.URL
			}
			b := open(t, cfg)
			if err := b.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				if _, err := b.Put(t.Context(), fmt.Sprint("role/", n), strings.NewReader("content")); err != nil {
					t.Fatal(err)
				}
			}
			if asked := machine.asked.Load(); asked < 1 || asked > test.most || test.life == 0 && asked < 3 {
				t.Errorf("keys were asked for %d times", asked)
			}
		})
	}
}

// If no role answers, the check reports the problem and its remedy.
func TestNoRole(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"no role":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"another page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"nobody":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := httptest.NewServer(handler)
			if handler == nil {
				at.Close()
			} else {
				defer at.Close()
			}
			b := open(t, s3blob.Config{Endpoint: at.URL, Bucket: "bucket", Role: true, RoleEndpoint: at.URL})
			err := b.Check(t.Context())
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "no role with access to the bucket") {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := s3blob.New(s3blob.Config{Bucket: "bucket", Role: true, AccessKey: "a", SecretKey: "b"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("keys and a role: %v", err)
	}
}
