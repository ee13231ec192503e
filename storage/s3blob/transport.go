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

// newTransport makes connections that fail when nothing moves on them, and none before.
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
		IdleConnTimeout:       silence * 2 / 3, // before the deadline of a connection that waits
		MaxIdleConns:          idleConns,
		MaxIdleConnsPerHost:   idleConns,
		DisableCompression:    true, // a blob that is compressed stays so
	}
}

// watched is a connection that fails when nothing is read or written for a time. A write gives an answer that is waited for
// its time, too.
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
