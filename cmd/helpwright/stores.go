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

// blobStore is what the files of mails, attachments and sites lie in.
type blobStore interface {
	storage.Blobs
	io.Closer
}

const filePrefix = "file:"

// blobFolder is the folder that an address of files names; "" for a bucket.
func blobFolder(address string) string {
	folder, ok := strings.CutPrefix(address, filePrefix)
	if !ok {
		return ""
	}
	return folder
}

// blobFolder is where the blobs lie; "" when they are in a bucket.
func (s *Settings) blobFolder() string { return blobFolder(s.BlobURL) }

// checkBlobs reports what is wrong with the address of the files.
func (s *Settings) checkBlobs(problems *fault.Collector) {
	if err := s.checkAddress(s.BlobURL); err != nil {
		problems.Add("HELPWRIGHT_BLOB_URL", err.Error())
	}
}

// checkAddress says what is wrong with an address of files.
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

// bucketFields say where what a bucket needs comes from.
var bucketFields = map[string]string{
	"URL": "", "Bucket": "the bucket ", "Prefix": "what is behind the bucket ", "Endpoint": "endpoint ", "Region": "region (or AWS_REGION) ",
	"AccessKey": "AWS_ACCESS_KEY_ID ", "SecretKey": "AWS_SECRET_ACCESS_KEY ",
}

// openBucket opens a bucket with the keys of its address or, where that has none, of the settings.
func (s *Settings) openBucket(address string) (*s3blob.Blobs, error) {
	return s.openBucketOf(address, 0)
}

// openBucketOf is openBucket for files that are sent in larger parts; 0: as usual.
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

// openBlobsAt opens the files at an address, and asks nothing. A folder is made when it is not there.
func (s *session) openBlobsAt(address string) (blobStore, error) {
	if folder := blobFolder(address); folder != "" {
		return fileblob.Open(folder)
	}
	return s.settings.openBucket(address)
}

// openReachable opens the files at an address, which can be used now.
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

// wrongBucket makes a mistake in the configuration of an answer that tells one.
func wrongBucket(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		return usageError{errors.New(f.Text())} // what the server says beside it is of no more use
	}
	return err
}

// reachLimit bounds how long a bucket is asked for.
const reachLimit = 20 * time.Second

// bucketAnswers asks a bucket whether it can be used. A wrong configuration is an Invalid fault. Of a folder it asks nothing.
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
