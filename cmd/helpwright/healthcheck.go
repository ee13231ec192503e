package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

type healthcheckCmd struct{}

// healthTimeout is how long a server may take to answer.
const healthTimeout = 8 * time.Second

// Run checks whether the server with the same settings is ready, for container supervisors: exit code 1 means that it is
// not.
func (healthcheckCmd) Run(s *session) error {
	address, err := dialable(s.settings.Listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return usageError{err}
	}
	client := http.Client{Transport: &http.Transport{}} // no proxy: the server is on this host
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", address, err)
	}
	defer func() { _ = res.Body.Close() }() // only read
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s", strings.TrimSpace(string(text)))
	}
	_, err = fmt.Fprintln(s.stdout, "ready")
	return err
}

// dialable returns an address at which a server that listens at another can be reached on the same host: for all addresses,
// "0.0.0.0:8080" or ":8080", it is the loopback one.
func dialable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usageError{fmt.Errorf("--listen: %w", err)}
	}
	if ip := net.ParseIP(host); host == "" || ip.Equal(net.IPv4zero) {
		host = "127.0.0.1" // by number, as an image may have no name resolution
	} else if ip.IsUnspecified() {
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
