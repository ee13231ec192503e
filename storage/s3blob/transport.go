package s3blob

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	dialLimit = 5 * time.Second
	idleConns = 32
)

// newTransport returns a transport whose connections fail only when they make no progress.
func newTransport(silence time.Duration) *http.Transport {
	dialer := net.Dialer{Timeout: dialLimit, KeepAlive: silence}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &watched{Conn: conn, silence: silence}, nil
		},
		TLSHandshakeTimeout:   2 * dialLimit,
		ResponseHeaderTimeout: silence,
		IdleConnTimeout:       silence * 2 / 3, // before the deadline of an idle connection
		MaxIdleConns:          idleConns,
		MaxIdleConnsPerHost:   idleConns,
		DisableCompression:    true, // compressed blobs stay compressed
	}
}

// watched is a connection that fails when nothing is read or written for a while. A write also extends the time for the
// response.
type watched struct {
	net.Conn
	silence time.Duration
}

// Read implements [net.Conn].
func (w *watched) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(w.silence)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

// Write implements [net.Conn].
func (w *watched) Write(p []byte) (int, error) {
	if err := w.SetDeadline(time.Now().Add(w.silence)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}
