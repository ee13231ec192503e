package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/s3blob"
)

// blobStore is the store of the files of mails, attachments and sites.
type blobStore interface {
	storage.Blobs
	io.Closer
}

const filePrefix = "file:"

// blobFolder returns the folder in a blob URL; "" for a bucket.
func blobFolder(address string) string {
	folder, ok := strings.CutPrefix(address, filePrefix)
	if !ok {
		return ""
	}
	return folder
}

// blobFolder returns the folder of the blobs; "" if they are in a bucket.
func (s *Settings) blobFolder() string { return blobFolder(s.BlobURL) }

// checkBlobs validates the address of the files.
func (s *Settings) checkBlobs(problems *fault.Collector) {
	if err := s.checkAddress(s.BlobURL); err != nil {
		problems.Add("HELPWRIGHT_BLOB_URL", err.Error())
	}
}

// checkAddress validates an address of files.
func (s *Settings) checkAddress(address string) error {
	if !strings.HasPrefix(address, s3blob.Scheme) {
		if blobFolder(address) == "" {
			return errors.New("must be file:FOLDER or s3://BUCKET/PREFIX?region=NAME")
		}
		return nil
	}
	blobs, err := s.openBucket(address)
	if err != nil {
		return err
	}
	return blobs.Close()
}

// bucketFields names the sources of a bucket's parameters.
var bucketFields = map[string]string{
	"URL": "", "Bucket": "the bucket ", "Prefix": "what is behind the bucket ", "Endpoint": "endpoint ", "Region": "region (or AWS_REGION) ",
	"AccessKey": "AWS_ACCESS_KEY_ID ", "SecretKey": "AWS_SECRET_ACCESS_KEY ",
}

// openBucket opens a bucket with the keys in its address or, without any, in the settings.
func (s *Settings) openBucket(address string) (*s3blob.Blobs, error) {
	return s.openBucketOf(address, 0)
}

// openBucketOf is openBucket with a larger part size; 0: the default.
func (s *Settings) openBucketOf(address string, part int) (*s3blob.Blobs, error) {
	cfg, err := s3blob.ParseURL(address)
	cfg.PartSize = part
	var blobs *s3blob.Blobs
	if err == nil {
		if cfg.AccessKey == "" && cfg.SecretKey == "" {
			cfg.AccessKey, cfg.SecretKey, cfg.SessionToken = s.S3AccessKey, s.S3SecretKey, s.S3SessionToken
		}
		if cfg.Region == "" {
			cfg.Region = s.S3Region
		}
		blobs, err = s3blob.New(cfg)
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return blobs, err
	}
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(f.Fields)) {
		parts = append(parts, bucketFields[field]+strings.Join(f.Fields[field], ", "))
	}
	return nil, errors.New(strings.Join(parts, "; "))
}

// openBlobsAt opens the files at an address, without connecting. A missing folder is created.
func (s *session) openBlobsAt(address string) (blobStore, error) {
	if folder := blobFolder(address); folder != "" {
		return fileblob.Open(folder)
	}
	return s.settings.openBucket(address)
}

// openReachable opens the files at an address and checks that they can be used now.
func (s *session) openReachable(address string) (blobStore, error) {
	files, err := s.openBlobsAt(address)
	if err != nil {
		return nil, err
	}
	if err := bucketAnswers(s.ctx, files); err != nil {
		_ = files.Close()
		return nil, wrongBucket(err)
	}
	return files, nil
}

// wrongBucket turns a server's answer that reveals a wrong configuration into a usage error.
func wrongBucket(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		return usageError{errors.New(f.Text())} // the server's own text adds nothing
	}
	return err
}

// reachLimit is the longest time to try to reach a bucket.
const reachLimit = 20 * time.Second

// bucketAnswers checks that a bucket can be used. A wrong configuration is an Invalid fault. Folders are not checked.
func bucketAnswers(ctx context.Context, blobs storage.Blobs) error {
	bucket, ok := blobs.(interface{ Check(context.Context) error })
	if !ok {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	err := bucket.Check(asked)
	if err != nil && ctx.Err() == nil && asked.Err() != nil {
		return fault.Newf(fault.Unavailable, "The S3 server did not answer in %s.", reachLimit)
	}
	return err
}
