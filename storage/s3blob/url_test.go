package s3blob_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/s3blob"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]s3blob.Config{
		"s3://desk":               {Bucket: "desk"},
		"s3://desk/":              {Bucket: "desk"},
		"s3://desk/files/of-desk": {Bucket: "desk", Prefix: "files/of-desk/"},
		"s3://desk?region=eu-central-1": {
			Bucket: "desk", Region: "eu-central-1",
		},
		"s3://desk?credentials=role": {Bucket: "desk", Role: true},
		"s3://KEY:a%2Fb%3D@desk/x?endpoint=http://127.0.0.1:9000&path-style=true": {
			Bucket: "desk", Prefix: "x/", Endpoint: "http://127.0.0.1:9000", PathStyle: true, AccessKey: "KEY", SecretKey: "a/b=",
		},
	} {
		got, err := s3blob.ParseURL(address)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", address, err, diff)
		}
	}
	for _, address := range []string{
		"", "s3:", "s3://", "s3:///x", "file:x", "s3://b#x", "s3://k:hush@b?regoin=x", "s3://b?region=", "s3://b?region=a&region=b",
		"s3://b?path-style=maybe", "s3://b?credentials=env", "s3://k:hush@b?%zz", "s3://k:hush@b:port", "s3://k:hush%@b",
	} {
		if got, err := s3blob.ParseURL(address); !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %+v %v", address, got, err)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	right := s3blob.Config{Bucket: "desk", AccessKey: "k", SecretKey: "s"}
	for name, test := range map[string]struct {
		change func(*s3blob.Config)
		fields string
	}{
		"right":            {func(*s3blob.Config) {}, ""},
		"prefix":           {func(c *s3blob.Config) { c.Prefix = "a/b/" }, ""},
		"a role":           {func(c *s3blob.Config) { c.Role, c.AccessKey, c.SecretKey = true, "", "" }, ""},
		"a role and keys":  {func(c *s3blob.Config) { c.Role = true }, "AccessKey"},
		"nothing":          {func(c *s3blob.Config) { *c = s3blob.Config{} }, "AccessKey Bucket SecretKey"},
		"bucket's name":    {func(c *s3blob.Config) { c.Bucket = "De_sk" }, "Bucket"},
		"short bucket":     {func(c *s3blob.Config) { c.Bucket = "d" }, "Bucket"},
		"no slash":         {func(c *s3blob.Config) { c.Prefix = "a" }, "Prefix"},
		"up":               {func(c *s3blob.Config) { c.Prefix = "../" }, "Prefix"},
		"part":             {func(c *s3blob.Config) { c.PartSize = 2 << 30 }, "PartSize"},
		"region":           {func(c *s3blob.Config) { c.Region = "x/../y" }, "Region"},
		"endpoint":         {func(c *s3blob.Config) { c.Endpoint = "127.0.0.1:9000" }, "Endpoint"},
		"endpoint's path":  {func(c *s3blob.Config) { c.Endpoint = "http://h/path" }, "Endpoint"},
		"endpoint's user":  {func(c *s3blob.Config) { c.Endpoint = "http://u:p@h" }, "Endpoint"},
		"endpoint's query": {func(c *s3blob.Config) { c.Endpoint = "http://h?x=y" }, "Endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := right
			test.change(&cfg)
			b, err := s3blob.New(cfg)
			if (err == nil) != (test.fields == "") || err != nil && !fault.Is(err, fault.Invalid) {
				t.Fatalf("%v", err)
			}
			for field := range strings.FieldsSeq(test.fields) {
				if !strings.Contains(err.Error(), field+":") {
					t.Errorf("%v says nothing of %s", err, field)
				}
			}
			if err == nil {
				_ = b.Close()
			}
		})
	}
}
