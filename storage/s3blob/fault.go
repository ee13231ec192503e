package s3blob

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/helpwright/helpwright/storage/fault"
)

// notBelow lists the error codes for a key below another one from servers that store objects as files, such as gateways to a
// file system. They become Unsupported faults; other servers allow such keys.
var notBelow = map[string]bool{"ObjectParentIsFile": true, "ExistingObjectIsDirectory": true}

// failed turns an error into a fault: a server that does not answer says nothing about a blob.
func (b *Blobs) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	switch {
	case answer.Code == minio.NoSuchKey:
		return fault.Missing("file", 0)
	case notBelow[answer.Code]:
		return &fault.Error{Kind: fault.Unsupported, Op: "s3blob", Message: "This S3 server cannot store a file below another file.", Err: err}
	}
	return fault.Wrap(fault.Unavailable, "s3blob", bare(err))
}

// bare returns an error without the address that was requested.
func bare(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		return asked.Err
	}
	return err
}

// Check checks access to the bucket. A wrong configuration is an Invalid fault that says what to do; a server that cannot be
// reached is an Unavailable fault.
func (b *Blobs) Check(ctx context.Context) error {
	if err := b.checkRole(ctx); err != nil {
		return err
	}
	noOwner := false
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// List instead of HEAD: only its response has room for the error's reason.
	for object := range b.core.ListObjectsIter(ctx, b.cfg.Bucket, minio.ListObjectsOptions{
		Prefix: b.cfg.Prefix, Recursive: true, MaxKeys: 1, FetchOwner: &noOwner,
	}) {
		if object.Err != nil && ctx.Err() == nil {
			return b.advice(object.Err)
		}
		break
	}
	return ctx.Err()
}

// advice explains how to fix the cause of an error response.
func (b *Blobs) advice(err error) error {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	host := b.core.EndpointURL().Host
	kind, text := fault.Invalid, ""
	switch answer.Code {
	case minio.NoSuchBucket:
		text = fmt.Sprintf("There is no bucket %q at %s: make it, or correct the address.", b.cfg.Bucket, host)
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the latter is sent by versitygw
		text = fmt.Sprintf("%s does not know the access key: correct it.", host)
	case "SignatureDoesNotMatch":
		text = fmt.Sprintf("The secret key is not that of the access key at %s: correct it.", host)
	case "ExpiredToken", "InvalidToken", "ExpiredTokenException":
		text = "The session token has expired, or belongs to other keys: get new ones."
	case "RequestTimeTooSkewed", "RequestExpired":
		text = fmt.Sprintf("The clock of this machine differs by more than %s allows: set the clock, as with NTP.", host)
	case minio.AccessDenied, "AllAccessDisabled", "AccountProblem":
		text = fmt.Sprintf("The access key may not use the bucket %q at %s: it needs s3:ListBucket and s3:ListBucketMultipartUploads for the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload for what is in it.", b.cfg.Bucket, host)
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException", minio.InvalidRegion:
		text = fmt.Sprintf("The bucket %q is not in the region %s: name its region.", b.cfg.Bucket, b.cfg.Region)
		if answer.Region != "" && answer.Region != b.cfg.Region {
			text = fmt.Sprintf("The bucket %q is in the region %s, not in %s: name that.", b.cfg.Bucket, answer.Region, b.cfg.Region)
		}
	default:
		kind, text = b.unreachable(err, answer, host)
	}
	return &fault.Error{Kind: kind, Op: "s3blob.Check", Message: text, Err: bare(err)}
}

// unreachable explains why there was no usable response.
func (b *Blobs) unreachable(err error, answer minio.ErrorResponse, host string) (fault.Kind, string) {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, other := errors.AsType[x509.HostnameError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case unknown || other:
		return fault.Invalid, fmt.Sprintf("The certificate of %s is not trusted: name the host that it is made for, or install its authority.", host)
	case noTLS || bare(err).Error() == "http: server gave HTTP response to HTTPS client":
		return fault.Invalid, fmt.Sprintf("%s does not speak TLS: name it with http:// if it is to be used without.", host)
	case answer.StatusCode == http.StatusMovedPermanently || answer.StatusCode == http.StatusTemporaryRedirect:
		return fault.Invalid, fmt.Sprintf("%s does not have the bucket %q: name its region and its server.", host, b.cfg.Bucket)
	case answer.StatusCode >= 400 && answer.StatusCode < 500:
		return fault.Invalid, fmt.Sprintf("%s refuses the request: see that it is the address of an S3 server, and whether the bucket has to be in its path.", host)
	case answer.StatusCode >= 500:
		return fault.Unavailable, fmt.Sprintf("The S3 server %s has a fault now.", host)
	}
	return fault.Unavailable, fmt.Sprintf("The S3 server %s cannot be reached: see whether its name and port are right, and whether it runs.", host)
}
