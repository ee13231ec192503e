// Package s3blob stores blobs in a bucket of an S3 server: Amazon, or any that speaks its protocol, such as MinIO, Ceph,
// SeaweedFS or versitygw.
//
// A blob is an object with the blob's key, after an optional prefix. Objects appear only when complete: a crash leaves no
// partial blobs, only parts of uploads, which [Blobs.Tidy] removes.
//
// Requests are signed with the SHA-256 of their body: the server refuses data that was damaged in transit.
package s3blob

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	defaultRegion   = "us-east-1"
	defaultSilence  = 30 * time.Second
	defaultAttempts = 3
	maxPrefix       = 400 // bytes: an object's key has at most 1024, a blob's at most 512
)

// Config says where the bucket is. Bucket is required, and so are AccessKey and SecretKey, or Role.
type Config struct {
	Endpoint string // http://HOST:PORT or https://HOST; default: Amazon's for the region
	Region   string // default us-east-1
	Bucket   string
	Prefix   string // prefix of all object keys, ending with a slash; "": the bucket holds nothing else
	// PathStyle puts the bucket into the path of addresses instead of the host name. Servers other than those of Amazon, Google
	// and Alibaba always use it.
	PathStyle bool

	AccessKey    string
	SecretKey    string
	SessionToken string // for temporary keys; "": none

	// Role takes the keys of the machine's role instead, and new ones before they expire: by the standard variables AWS_* of
	// containers (ECS, EKS) and of web identities where they are set, else from the metadata service of EC2.
	Role bool
	// RoleEndpoint is where to ask for them, other than the address that the variables or Amazon name; "": there.
	RoleEndpoint string

	// PartSize is the size of the parts of a large blob, in bytes. Each upload holds one part in memory, and a blob has at most
	// ten thousand parts. At least, and by default, 8 MiB; at most 1 GiB.
	PartSize int
	// Silence is how long the server may neither send nor receive anything before a request fails; default 30 seconds.
	Silence time.Duration
	// Attempts is how often a request is tried, with at most a second in between; default 3.
	Attempts int
}

// Blobs implements [storage.Blobs] on a bucket. Create it with [New]. Several processes may use the same bucket.
type Blobs struct {
	core   minio.Core
	cfg    Config
	creds  *credentials.Credentials
	closer *http.Transport
}

var (
	_ storage.Blobs      = (*Blobs)(nil)
	_ storage.BlobTidier = (*Blobs)(nil)
	_ storage.BlobLinker = (*Blobs)(nil)
)

// New opens a bucket without contacting the server: see [Blobs.Check]. Missing or wrong fields are an Invalid fault. The
// caller must Close it.
func New(cfg Config) (*Blobs, error) {
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "https://s3." + cfg.Region + ".amazonaws.com"
	}
	if cfg.Silence <= 0 {
		cfg.Silence = defaultSilence
	}
	if cfg.Attempts <= 0 {
		cfg.Attempts = defaultAttempts
	}
	cfg.PartSize = max(cfg.PartSize, partSize)
	endpoint, err := cfg.check()
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if cfg.PathStyle {
		lookup = minio.BucketLookupPath
	}
	transport, creds := newTransport(cfg.Silence), cfg.credentials()
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:  creds,
		Secure: endpoint.Scheme == "https", Region: cfg.Region, BucketLookup: lookup, Transport: transport, MaxRetries: cfg.Attempts,
	})
	if err != nil {
		return nil, fault.Field("Endpoint", err.Error())
	}
	return &Blobs{core: *core, cfg: cfg, creds: creds, closer: transport}, nil
}

var (
	bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

// check reports everything that is wrong.
func (c Config) check() (*url.URL, error) {
	var problems fault.Collector
	endpoint, err := url.Parse(c.Endpoint)
	problems.Check(err == nil && endpoint.Host != "" && (endpoint.Scheme == "http" || endpoint.Scheme == "https") &&
		strings.Trim(endpoint.Path, "/") == "" && endpoint.RawQuery == "" && endpoint.User == nil,
		"Endpoint", "must be http://HOST:PORT or https://HOST")
	problems.Check(regionForm.MatchString(c.Region), "Region", "must be the name of a region, such as eu-central-1")
	problems.Check(bucketForm.MatchString(c.Bucket), "Bucket", "must be the name of a bucket: 3 to 63 of a-z, 0-9, dots and hyphens")
	problems.Check(c.Prefix == "" || len(c.Prefix) <= maxPrefix && strings.HasSuffix(c.Prefix, "/") && storage.ValidBlobKey(strings.TrimSuffix(c.Prefix, "/")),
		"Prefix", "must be folders of a-z, 0-9, dots, underscores and hyphens, and end with a slash")
	problems.Check(c.PartSize <= maxPart, "PartSize", "must be at most 1 GiB")
	if c.Role {
		problems.Check(c.AccessKey == "" && c.SecretKey == "", "AccessKey", "must not be set where the keys of a role are to be used")
	} else {
		problems.Check(c.AccessKey != "", "AccessKey", "is required")
		problems.Check(c.SecretKey != "", "SecretKey", "is required")
	}
	return endpoint, problems.Err()
}

// Close closes idle connections.
func (b *Blobs) Close() error {
	b.closer.CloseIdleConnections()
	return nil
}

// object returns the key of a blob's object.
func (b *Blobs) object(ctx context.Context, key string) (string, error) {
	if !storage.ValidBlobKey(key) {
		return "", fault.Field("key", "is not a valid blob key")
	}
	return b.cfg.Prefix + key, ctx.Err()
}

// Stat returns the size and the time of a blob. The time is the server's, in whole seconds.
func (b *Blobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	object, err := b.object(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	info, err := b.core.StatObject(ctx, b.cfg.Bucket, object, minio.StatObjectOptions{})
	if err != nil {
		return storage.BlobInfo{}, b.failed(ctx, err)
	}
	return storage.BlobInfo{Key: key, Size: info.Size, Modified: info.LastModified.UTC()}, nil
}

// Delete removes a blob. A bucket with versioning keeps the deleted version.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	object, err := b.object(ctx, key)
	if err != nil {
		return err
	}
	err = b.failed(ctx, b.core.RemoveObject(ctx, b.cfg.Bucket, object, minio.RemoveObjectOptions{}))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
