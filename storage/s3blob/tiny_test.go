package s3blob_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// tinyS3 stands in for a server of Amazon where an example shows how one is used: it keeps objects, and looks at no
// signature. The tests have a real one.
type tinyS3 struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (s *tinyS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, there := s.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		if s.objects == nil {
			s.objects = map[string][]byte{}
		}
		s.objects[r.URL.Path], _ = io.ReadAll(r.Body)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Now(), bytes.NewReader(content))
	}
}
