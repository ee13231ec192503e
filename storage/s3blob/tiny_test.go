package s3blob_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// tinyS3 stands in for an Amazon server in examples: it stores objects and ignores signatures. The tests use a real server.
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
