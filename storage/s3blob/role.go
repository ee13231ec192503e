package s3blob

import (
	"context"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/helpwright/helpwright/storage/fault"
)

// roleTime is how long one answer about a role may take. Metadata services are near; where there is none, connecting hangs.
const roleTime = 5 * time.Second

// credentials signs requests with the keys of the configuration, or of the machine's role.
func (c Config) credentials() *credentials.Credentials {
	if !c.Role {
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken)
	}
	// No proxy, which would see the keys.
	return credentials.New(&credentials.IAM{
		Client: &http.Client{Timeout: roleTime, Transport: &http.Transport{}}, Endpoint: c.RoleEndpoint, Region: c.Region,
	})
}

// checkRole gets keys by the machine's role, if those are used.
func (b *Blobs) checkRole(ctx context.Context) error {
	if !b.cfg.Role {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*roleTime)
	defer cancel()
	keys, err := b.creds.GetWithContext(&credentials.CredContext{Context: ctx})
	if err == nil && keys.AccessKeyID != "" && keys.SecretAccessKey != "" {
		return nil
	}
	return &fault.Error{
		Kind: fault.Invalid, Op: "s3blob.Check", Err: bare(err),
		Message: "This machine has no role with access to the bucket. Attach one to the instance, the task or the service account, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
	}
}
