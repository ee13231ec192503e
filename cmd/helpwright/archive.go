package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/s3blob"
)

// archivePart is the size of an archive's parts in a bucket: ten thousand of them are 625 GB.
const archivePart = 64 << 20

// tidyAge is the age at which parts of archives are considered leftovers of a crash.
const tidyAge = 48 * time.Hour

// inBucket reports whether an archive, or a folder of archives, is in a bucket.
func inBucket(name string) bool { return strings.HasPrefix(name, s3blob.Scheme) }

// writeBucket writes the archive into a folder of a bucket. It is named after the time and is not visible until it is
// complete.
func (c *backupCmd) writeBucket(s *session, b *backingUp) (name string, err error) {
	bucket, err := s.settings.openBucketOf(c.File, archivePart)
	if err != nil {
		return "", usageError{err}
	}
	defer func() { _ = bucket.Close() }()
	if err := bucketAnswers(s.ctx, bucket); err != nil {
		return "", wrongBucket(err)
	}
	key := strings.ToLower(backup.FileName(time.Now()))
	if _, err := bucket.Stat(s.ctx, key); err == nil {
		return "", usageError{fmt.Errorf("%s already exists: try again", key)}
	} else if !fault.Is(err, fault.NotFound) {
		return "", err
	}
	_, _ = bucket.Tidy(s.ctx, time.Now().Add(-tidyAge), false) // leftovers of crashes; the permission to remove them is optional
	read, write := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := c.inTemp(b, func(work string) error { return b.write(write, work) })
		_ = write.CloseWithError(err) // ended by nil
		written <- err
	}()
	_, err = bucket.Put(s.ctx, key, read)
	_ = read.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // so that no writer blocks forever
	if failed := <-written; err == nil {
		err = failed
	}
	return key + " in the bucket", err
}

// inTemp runs fn with a folder for the copy of SQLite's database; PostgreSQL needs none.
func (c *backupCmd) inTemp(b *backingUp, fn func(work string) error) error {
	if b.database == "" {
		return fn("")
	}
	temp := c.Temp
	if temp == "" {
		temp = filepath.Dir(b.database)
	}
	return backup.InFolder(temp, fn)
}

// openArchive opens a file, or an object of a bucket.
func (s *session) openArchive(name string) (io.ReadSeekCloser, error) {
	if !inBucket(name) {
		return os.Open(name)
	}
	u, err := url.Parse(name)
	if err != nil {
		return nil, usageError{errors.New("the address of the archive cannot be read")} // err would reveal keys
	}
	folder, key := path.Split(strings.TrimSuffix(u.Path, "/"))
	u.Path, u.RawPath = folder, ""
	bucket, err := s.settings.openBucketOf(u.String(), 0)
	if err != nil {
		return nil, usageError{err}
	}
	archive := &bucketFile{session: s, bucket: bucket, key: key}
	if err := bucketAnswers(s.ctx, bucket); err != nil {
		_ = archive.Close()
		return nil, wrongBucket(err)
	}
	if _, err := bucket.Stat(s.ctx, key); err != nil {
		_ = archive.Close()
		if fault.Is(err, fault.NotFound) {
			err = usageError{fmt.Errorf("there is no %q in the bucket", key)}
		}
		return nil, err
	}
	return archive, nil
}

// bucketFile reads an object from its start, repeatedly if necessary.
type bucketFile struct {
	*session
	bucket *s3blob.Blobs
	key    string
	body   io.ReadCloser
}

// Read implements [io.Reader].
func (f *bucketFile) Read(p []byte) (n int, err error) {
	if f.body == nil {
		if f.body, err = f.bucket.Get(f.ctx, f.key); err != nil {
			f.body = nil
			return 0, err
		}
	}
	return f.body.Read(p)
}

// Seek implements [io.Seeker], to the start only.
func (f *bucketFile) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	return 0, f.rewind()
}

func (f *bucketFile) rewind() error {
	if f.body == nil {
		return nil
	}
	body := f.body
	f.body = nil
	return body.Close()
}

// Close implements [io.Closer].
func (f *bucketFile) Close() error { return errors.Join(f.rewind(), f.bucket.Close()) }
