package certs

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// look is the minimum interval between checks of the files.
const look = time.Second

// Files is a certificate in files that another program maintains, such as certbot. It is read again when they change.
type Files struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	looked time.Time
	stamp  string // of the files when they were last read
	now    *tls.Certificate
}

// NewFiles reads a certificate chain and its private key, both PEM. Logger may be nil.
func NewFiles(cert, key string, logger *slog.Logger) (*Files, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	f := &Files{cert: cert, key: key, log: logger}
	stamp, err := f.stamped()
	if err != nil {
		return nil, err
	}
	if err := f.read(stamp); err != nil {
		return nil, err
	}
	return f, nil
}

// Certificate returns the current certificate. If the files are changed to invalid content, the previous certificate stays
// in use.
func (f *Files) Certificate() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < look {
		return f.now
	}
	f.looked = time.Now()
	stamp, err := f.stamped()
	if err == nil && stamp != f.stamp {
		if err = f.read(stamp); err == nil {
			f.log.Info("the certificate has changed", "file", f.cert, "expires", f.now.Leaf.NotAfter)
		} else {
			f.stamp = stamp // report it once
		}
	}
	if err != nil {
		f.log.Warn("cannot read the changed certificate: the previous one stays in use", "file", f.cert, "error", err)
	}
	return f.now
}

func (f *Files) read(stamp string) error {
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return err
	}
	f.now, f.stamp = &pair, stamp
	return nil
}

// stamped returns a text that differs between files and their replacements.
func (f *Files) stamped() (string, error) {
	stamp := ""
	for _, path := range []string{f.cert, f.key} {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		stamp += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), " ")
	}
	return stamp, nil
}
