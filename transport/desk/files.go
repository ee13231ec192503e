package desk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/transport/internal/file"
)

// serveFile answers with an uploaded file.
func (v *visit) serveFile(kind, name, tag string, at time.Time, size int64, open func(offset int64) (io.ReadCloser, error)) error {
	body, err := file.Open(size, open)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	h := v.w.Header()
	file.Describe(h, kind, name)
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(v.w, v.r, "", at, body)
	return nil
}

// remoteImage serves an image of another server, so that the sender does not learn who reads their mail, when and where.
func (v *visit) remoteImage() error {
	image, err := v.h.cfg.Service.RemoteImage(v.ctx(), v.AccountID(), v.r.PathValue("token"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(image.Content)
	return v.serveFile(image.ContentType, "", hex.EncodeToString(sum[:16]), time.Time{}, int64(len(image.Content)), func(offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(image.Content[offset:])), nil
	})
}
