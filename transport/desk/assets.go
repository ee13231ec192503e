package desk

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/helpwright/helpwright/transport/internal/encoding"
)

//go:embed assets
var assetFiles embed.FS

// asset is a static file of the pages. Its address includes its hash, so that browsers can cache it permanently.
type asset struct {
	name    string // with the hash
	kind    string
	content []byte
	zipped  []byte // compressed content; nil if compression does not make it smaller
}

func loadAssets() (map[string]asset, error) {
	files := map[string]asset{}
	err := fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		base, ext := path.Base(name), path.Ext(name)
		hashed := strings.TrimSuffix(base, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		files[base] = asset{name: hashed, kind: mime.TypeByExtension(ext), content: content, zipped: zip(content)}
		return nil
	})
	return files, err
}

// zip compresses a file once for all requests. The files contain no secrets.
func zip(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, _ = w.Write(content) // a buffer takes all
	if w.Close() != nil || b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

// assetURL returns the address of an asset.
func (h *Handler) assetURL(name string) (string, error) {
	files, err := h.files()
	return h.url("/assets/" + files[name].name), err
}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	files, err := h.files()
	if err != nil {
		http.Error(w, "The file cannot be read.", http.StatusInternalServerError)
		return
	}
	for _, a := range files {
		if a.name != r.PathValue("file") {
			continue
		}
		header := w.Header()
		header.Set("Content-Type", a.kind)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		header.Set("Vary", "Accept-Encoding")
		content := a.content
		if a.zipped != nil && encoding.TakesGzip(r.Header) {
			header.Set("Content-Encoding", "gzip")
			content = a.zipped
		}
		_, _ = w.Write(content)
		return
	}
	http.NotFound(w, r)
}
