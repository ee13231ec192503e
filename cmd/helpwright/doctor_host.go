package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// probeTime is how long a listening server may take to identify itself.
const probeTime = 5 * time.Second

// ports checks that a server can listen at the addresses in the settings, or does so already.
func (d *doctor) ports() {
	set := d.settings
	for _, one := range []struct {
		name, address string
		ours          func(ctx context.Context, address string) bool
	}{
		{"HELPWRIGHT_LISTEN", set.Listen, saysByHTTP("http", "/healthz", "ok")},
		{"HELPWRIGHT_TLS_LISTEN", set.TLSListen, saysByHTTP("https", "/healthz", "ok")},
		{"HELPWRIGHT_INTAKE_LISTEN", set.IntakeListen, greets(set.IntakeDomain + " ESMTP")},
		{"HELPWRIGHT_LMTP_LISTEN", set.LMTPListen, greets(set.IntakeDomain + " LMTP")},
		{"HELPWRIGHT_METRICS_LISTEN", set.MetricsListen, saysByHTTP("http", "/metrics", "helpwright_")},
	} {
		if one.address == "" || strings.HasPrefix(one.address, "unix:") {
			continue
		}
		what := fmt.Sprintf("port of %s (%s)", one.name, one.address)
		l, err := net.Listen("tcp", one.address)
		if err == nil {
			err = l.Close()
		} else if errors.Is(err, syscall.EADDRINUSE) {
			ctx, cancel := context.WithTimeout(d.ctx, probeTime)
			if at, bad := dialable(one.address); bad == nil && one.ours(ctx, at) {
				what, err = what+": a server of this kind runs there", nil
			} else {
				err = errNoAnswer
			}
			cancel()
		}
		advice := "stop what listens there, or choose another address"
		if errors.Is(err, syscall.EACCES) {
			advice = "ports below 1024 need the capability CAP_NET_BIND_SERVICE (setcap, or AmbientCapabilities of systemd)"
		}
		d.check(what, err, advice)
	}
}

// saysByHTTP reports whether a server answers with a text.
func saysByHTTP(scheme, path, text string) func(context.Context, string) bool {
	return func(ctx context.Context, address string) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+path, nil)
		if err != nil {
			return false
		}
		client := http.Client{
			Transport: &http.Transport{
				TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // only its presence is checked
				DisableKeepAlives: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		res, err := client.Do(req)
		if err != nil { // a server that is waiting for its first certificate refuses handshakes
			return scheme == "https" && strings.Contains(err.Error(), "remote error: tls: ")
		}
		defer func() { _ = res.Body.Close() }() // only read
		scan := bufio.NewScanner(res.Body)
		for n := 0; n < 2000 && scan.Scan(); n++ {
			if strings.Contains(scan.Text(), text) {
				return res.StatusCode == http.StatusOK
			}
		}
		return false
	}
}

// greets reports whether a mail server sends its greeting.
func greets(as string) func(context.Context, string) bool {
	return func(ctx context.Context, address string) bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(probeTime))
		line, _ := bufio.NewReaderSize(conn, 1<<10).ReadString('\n')
		_, _ = conn.Write([]byte("QUIT\r\n"))
		return strings.HasPrefix(line, "220 "+as)
	}
}

// modes checks that other users of this machine cannot read the server's files.
func (d *doctor) modes() {
	if runtime.GOOS == "windows" {
		return // it has no such modes
	}
	set := d.settings
	var private []string
	if path := set.sqliteFile(); path != "" {
		private = append(private, path, path+"-wal", path+"-shm")
	}
	private = append(private, filepath.Join(d.data, "outbox"), filepath.Join(d.data, "results"))
	if folder := set.blobFolder(); folder != "" {
		private = append(private, folder)
	}
	for _, path := range private {
		d.private(path, 0o077)
	}
	for _, path := range []string{set.TLSKey, set.IntakeTLSKey} {
		d.private(path, 0o007) // keys are often shared with a group of their own
	}
}

// private checks an existing file or folder.
func (d *doctor) private(path string, others fs.FileMode) {
	info, err := os.Stat(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && info.Mode().Perm()&others != 0 {
		err = fmt.Errorf("can be read or changed by others (mode %o)", info.Mode().Perm())
	}
	mode := "600"
	if err == nil && info.IsDir() || info != nil && info.IsDir() {
		mode = "700"
	} else if others == 0o007 {
		mode = "640"
	}
	d.check("mode of "+path, err, "chmod "+mode+" "+path)
}

// The free space that a disk should have.
const (
	enoughBytes = 1 << 30
	enoughPart  = 100 // a hundredth of the total
)

// disks checks the free space where the server writes.
func (d *doctor) disks() {
	set := d.settings
	folders := []struct{ what, path string }{{"HELPWRIGHT_DATA", d.data}, {"temporary files", os.TempDir()}}
	if path := set.sqliteFile(); path != "" {
		folders = append(folders, struct{ what, path string }{"HELPWRIGHT_DATABASE_URL", filepath.Dir(path)})
	}
	if folder := set.blobFolder(); folder != "" {
		folders = append(folders, struct{ what, path string }{"HELPWRIGHT_BLOB_URL", folder})
	}
	for _, one := range folders {
		at := existing(one.path)
		disk, known := diskOf(at)
		if !known {
			continue
		}
		d.check(fmt.Sprintf("room for %s (%s)", one.what, at), disk.problem(), "free some, or enlarge the disk: what cannot be written is refused, and mail waits elsewhere")
	}
}

// existing returns the nearest existing folder of a path.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(path)
		if above == path {
			return path
		}
		path = above
	}
}

// disk is the free space of a disk.
type disk struct {
	free, all           int64 // bytes
	freeFiles, allFiles int64 // 0 if there is no such limit
}

func (d disk) problem() error {
	switch {
	case d.free < enoughBytes && d.free < d.all/20, d.free < d.all/enoughPart && d.free < 10*enoughBytes:
		return fmt.Errorf("%d MB of %d are left", d.free>>20, d.all>>20)
	case d.allFiles > 0 && d.freeFiles < d.allFiles/enoughPart:
		return fmt.Errorf("room for %d more files is left, of %d (inodes)", d.freeFiles, d.allFiles)
	}
	return nil
}
