package imageproxy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/imageproxy"
	"github.com/helpwright/helpwright/helpdesk/netguard"
)

const png = "\x89PNG\r\n\x1a\n...."

func server(t *testing.T, private *atomic.Int64) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	say := func(kind, content string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Set-Cookie", "a=b")
			fmt.Fprint(w, content)
		}
	}
	mux.HandleFunc("/image", say("text/plain", png))
	mux.HandleFunc("/svg", say("image/png", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"))
	mux.HandleFunc("/html", say("image/png", "<html>"))
	mux.HandleFunc("/large", say("image/png", png+strings.Repeat("x", 2000)))
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/private", func(w http.ResponseWriter, r *http.Request) {
		private.Add(1)
		say("image/png", png)(w, r)
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie")+r.Header.Get("Referer")+r.Header.Get("Authorization") != "" || r.Header.Get("User-Agent") != "helpwright-image-proxy" {
			t.Errorf("headers: %v", r.Header)
		}
		say("image/png", png)(w, r)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestFetch(t *testing.T) {
	t.Parallel()
	s := server(t, new(atomic.Int64))
	p := imageproxy.New(imageproxy.Config{Dial: netguard.Dialer(true, 0), MaxBytes: 1000})
	tests := []struct{ path, want string }{
		{"/image", "image/png"},
		{"/to?url=/headers", "image/png"},
		{"/svg", "It is no image."},
		{"/html", "It is no image."},
		{"/large", "It is too large."},
		{"/absent", "Its server does not have it."},
		{"/loop", "Its server cannot be reached."},
		{"/to?url=file:///etc/passwd", "Its server cannot be reached."},
		{"/to?url=ftp://x/", "Its server cannot be reached."},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			image, err := p.Fetch(t.Context(), s.URL+tt.path)
			got := image.ContentType
			if err != nil {
				if !errors.Is(err, helpdesk.ErrNotFound) {
					t.Errorf("error %v", err)
				}
				got = strings.TrimPrefix(err.Error(), "The image could not be fetched. ")
				got, _, _ = strings.Cut(got, ".")
				got += "."
			} else if string(image.Content) != png {
				t.Errorf("content %q", image.Content)
			}
			if !strings.Contains(got, strings.TrimSuffix(tt.want, ".")) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, address := range []string{"", "file:///etc/passwd", "gopher://x/", "http://", "https://user:pass@example.org/", "//example.org/x", "http://exa mple"} {
		if _, err := p.Fetch(t.Context(), address); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// Private addresses are refused, by name, by number, and when a server on the public internet sends us there.
func TestFetchPrivate(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := server(t, &asked)
	strict := netguard.Dialer(false, 0)
	p := imageproxy.New(imageproxy.Config{Dial: strict})
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0"} {
		if image, err := p.Fetch(t.Context(), "http://"+host+port+"/private"); err == nil {
			t.Errorf("%s: %s", host, image.ContentType)
		}
	}
	// A dialer that takes the first connection for one to a public server.
	var first atomic.Bool
	p = imageproxy.New(imageproxy.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if first.CompareAndSwap(false, true) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}
		return strict(ctx, network, address)
	}})
	if image, err := p.Fetch(t.Context(), "http://public.example/to?url="+s.URL+"/private"); err == nil {
		t.Errorf("redirected to %s", image.ContentType)
	}
	if !first.Load() || asked.Load() != 0 {
		t.Errorf("%d requests reached the private server", asked.Load())
	}
}

func TestFetchTimeLimit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := imageproxy.New(imageproxy.Config{Dial: netguard.Dialer(true, 0)})
	if _, err := p.Fetch(ctx, "http://127.0.0.1:1/"); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func ExampleProxy() {
	p := imageproxy.New(imageproxy.Config{Dial: netguard.Dialer(false, 0)})
	_, err := p.Fetch(context.Background(), "http://127.0.0.1/image.png")
	fmt.Println(errors.Is(err, netguard.ErrPrivateHost))
	// Output: true
}
