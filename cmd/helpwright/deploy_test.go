package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

const deployDir = "../../examples/deploy"

// deployed reads a file of the examples and replaces parts of it, each of which must occur.
func deployed(t *testing.T, name string, replace ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(deployDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return replaced(t, name, string(raw), replace...)
}

// replaced replaces parts of a text, each of which must occur.
func replaced(t *testing.T, name, text string, replace ...string) string {
	t.Helper()
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("%s has no %q", name, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	return text
}

// installed is the path of a program that servers have and users need not.
func installed(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name, "/usr/bin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	testenv.Skip(t, "there is no "+name)
	return ""
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // servers read it as another user
		t.Fatal(err)
	}
	return path
}

// The settings that the files for operators name are settings of the program.
func TestDeployedSettings(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for f := range reflect.TypeFor[Settings]().Fields() {
		known[f.Tag.Get("env")] = true
	}
	files, err := filepath.Glob(deployDir + "/*")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		for _, name := range regexp.MustCompile(`HELPWRIGHT_[A-Z_]+`).FindAllString(deployed(t, filepath.Base(path)), -1) {
			if !known[name] {
				t.Errorf("%s: %s is not a setting", path, name)
			}
		}
	}
}

// static builds the program as the image does: without cgo.
func static(t *testing.T, to string) {
	t.Helper()
	if !strings.Contains(deployed(t, "Dockerfile"), "RUN CGO_ENABLED=0 go build") {
		t.Fatal("the image does not have a static program")
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", to, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a dynamic linker, which the image has not")
		}
	}
}

// TestImage unpacks the content of the Dockerfile's image, which has nothing else, and runs the server in it as the image's
// user: it accepts an upload larger than its memory for uploads, answers health checks, and a new container finds the data
// of the previous one.
func TestImage(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		testenv.Skip(t, "only root can change the root folder")
	}
	const user = 65532
	image := deployed(t, "Dockerfile", fmt.Sprintf("USER %d:%[1]d", user), "")
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // another user goes through it
			t.Fatal(err)
		}
	}
	_, rest, _ := strings.Cut(image, "mkdir -p ")
	made, _, _ := strings.Cut(rest, "&&")
	for _, dir := range strings.Fields(made) {
		dir = filepath.Join(root, strings.TrimPrefix(dir, "/out"))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
	}
	static(t, filepath.Join(root, "helpwright"))
	s := &process{t: t, http: freeAddress(t), token: "test-token-0123456789abcdef"}
	env := []string{"HELPWRIGHT_BOOTSTRAP_TOKEN=" + s.token, "HELPWRIGHT_RATE_LIMIT=0", "HELPWRIGHT_DNS_SERVER=127.0.0.1:1"}
	for _, set := range regexp.MustCompile(`HELPWRIGHT_[A-Z_]+=\S+`).FindAllString(image[strings.Index(image, "\nENV "):strings.Index(image, "EXPOSE")], -1) {
		_, port, _ := strings.Cut(s.http, ":")
		env = append(env, strings.NewReplacer("8080", port, "0.0.0.0:2525", freeAddress(t)).Replace(set))
	}
	within := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/helpwright", args...)
		cmd.Env, cmd.Dir = env, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		return cmd
	}
	if err := within(t.Context(), "healthcheck").Run(); err == nil {
		t.Error("a server that is not there is healthy")
	}
	run := func() (stop func()) {
		log := &testenv.Output{}
		server := within(context.Background(), "serve") // it is ended below, also when the test has
		server.Stderr = log
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- server.Wait() }()
		t.Cleanup(func() {
			_ = server.Process.Kill()
			if t.Failed() {
				t.Log(log)
			}
		})
		testenv.Eventually(t, "the server is healthy", func() bool {
			select {
			case err := <-ended:
				t.Fatalf("the server ended with %v\n%s", err, log)
			default:
			}
			return within(t.Context(), "healthcheck").Run() == nil
		})
		return func() {
			_ = server.Process.Signal(syscall.SIGTERM)
			if err := <-ended; err != nil {
				t.Errorf("%v\n%s", err, log)
			}
		}
	}
	stop := run()
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	upload := s.notes()
	if status := s.upload(upload, 20<<20); status != http.StatusCreated {
		t.Errorf("an upload of 20 MiB: %d", status)
	}
	stop()
	stop = run()
	var files object[[]struct{ ID int64 }]
	s.ok("GET", upload, nil, &files)
	if len(files.Data) != 1 {
		t.Errorf("%d files after a restart", len(files.Data))
	}
	stop()
}

// The unit of systemd is right, and lets the service do little.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze := installed(t, "systemd-analyze")
	path := program(t)
	unit := write(t, filepath.Join(t.TempDir(), "helpwright.service"), deployed(t, "helpwright.service", "/usr/local/bin/helpwright", path))
	for _, args := range [][]string{
		{"verify", "--man=no", "--generators=no", unit},
		{"security", "--offline=yes", "--no-pager", "--threshold=15", unit}, // of 100, where 0 may do nothing
	} {
		if out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput(); err != nil || args[0] == "verify" && strings.Contains(string(out), unit) {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}

// TestProxies puts the proxies of the examples in front of the server: large uploads, streams of events and the addresses of
// clients come through.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, listen string, servers ...string){"nginx": startNginx, "Caddy": startCaddy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "HELPWRIGHT_TRUSTED_PROXIES=127.0.0.1,::1", "HELPWRIGHT_BASE_URL=https://help.example.org", fmt.Sprint("HELPWRIGHT_RATE_LIMIT=", proxyLimit))
			via := *s
			via.http = freeAddress(t)
			start(t, via.http, s.http)
			testenv.Eventually(t, "the proxy answers", func() bool {
				res, err := http.Get("http://" + via.http + "/readyz")
				if err != nil {
					return false
				}
				_ = res.Body.Close()
				return res.StatusCode == http.StatusOK
			})
			via.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
			if status := via.upload(via.notes(), 24<<20); status != http.StatusCreated {
				t.Errorf("an upload of 24 MiB: %d", status)
			}
			var site object[struct{ ID int64 }]
			via.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Help"}}, &site)
			if status := via.upload(fmt.Sprintf("/sites/%d/files", site.Data.ID), 99<<20); status != http.StatusCreated {
				t.Errorf("a file of a site of 99 MiB: %d", status)
			}
			begin := lastEvent(s)
			stream := make(chan error, 1)
			go func() {
				_, err := via.follow(begin, 3, begin+3)
				stream <- err
			}()
			for n := range 3 { // nothing else is sent on the stream, so a proxy that buffers it would be noticed
				via.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {fmt.Sprint("Tag ", n)}}, nil)
			}
			select {
			case err := <-stream:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(testenv.Patience):
				t.Error("events do not come through")
			}
			tellsClients(t, via.http)
		})
	}
}

// proxyLimit is how many requests an address may make in a minute.
const proxyLimit = 100

// tellsClients expects the server to distinguish clients behind a proxy, whatever headers they send.
func tellsClients(t *testing.T, proxy string) {
	t.Helper()
	ask := func(from, forwarded string) int {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+proxy+apiBase+"/accounts", nil)
		if err != nil {
			t.Fatal(err)
		}
		if forwarded != "" {
			req.Header.Set("X-Forwarded-For", forwarded)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	limited := func(forwarded func(n int) string) bool {
		for n := range 2 * proxyLimit {
			if ask("127.0.0.1", forwarded(n)) == http.StatusTooManyRequests {
				return true
			}
		}
		return false
	}
	if !limited(func(int) string { return "" }) {
		t.Error("a client may ask without end")
	}
	if !limited(func(n int) string { return fmt.Sprintf("203.0.113.%d", n) }) {
		t.Error("a client that says to be another each time may ask without end")
	}
	if got := ask("127.0.0.2", ""); got != http.StatusUnauthorized {
		t.Errorf("another client: %d", got)
	}
}

// startNginx starts nginx in front of servers, as the example says.
func startNginx(t *testing.T, listen string, servers ...string) {
	t.Helper()
	startNginxWith(t, "nginx.conf", deployed(t, "nginx.conf"), listen, servers...)
}

// startNginxWith starts nginx with a configuration for port 443 that has the addresses of its own host and of one server. The
// configuration is also checked as it is, with a certificate that is there.
func startNginxWith(t *testing.T, name, site, listen string, servers ...string) {
	t.Helper()
	nginx, dir := installed(t, "nginx"), t.TempDir()
	frame := func(site string) string {
		temp := ""
		for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			temp += name + "_temp_path " + filepath.Join(dir, name) + ";\n"
		}
		return fmt.Sprintf("user root; daemon off; pid %s/pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}", dir, temp, site)
	}
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if out, err := exec.CommandContext(t.Context(), installed(t, "openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
		"-subj", "/CN=help.example.org", "-out", cert, "-keyout", key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const certLine, keyLine = "/etc/letsencrypt/live/help.example.org/fullchain.pem", "/etc/letsencrypt/live/help.example.org/privkey.pem"
	whole := write(t, filepath.Join(dir, "whole.conf"), frame(replaced(t, name, site, certLine, cert, keyLine, key)))
	if out, err := exec.CommandContext(t.Context(), nginx, "-p", dir, "-t", "-c", whole).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	upstream := ""
	for _, server := range servers {
		upstream += "    server " + server + " max_fails=0;\n"
	}
	plain := write(t, filepath.Join(dir, "plain.conf"), frame(replaced(t, name, site,
		"listen 443 ssl;", "listen "+listen+";", "ssl_certificate     "+certLine+";", "", "ssl_certificate_key "+keyLine+";", "", "    server 127.0.0.1:8080 max_fails=0;\n", upstream)))
	serveBeside(t, exec.Command(nginx, "-p", dir, "-c", plain))
}

// startCaddy starts Caddy in front of servers.
func startCaddy(t *testing.T, listen string, servers ...string) {
	t.Helper()
	caddy, dir := installed(t, "caddy"), t.TempDir()
	env := []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	whole := exec.CommandContext(t.Context(), caddy, "validate", "--adapter", "caddyfile", "--config", filepath.Join(deployDir, "Caddyfile"))
	whole.Env = env
	if out, err := whole.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	plain := "{\n\tadmin off\n}\n" + deployed(t, "Caddyfile", "help.example.org {", "http://"+listen+" {", "127.0.0.1:8080", strings.Join(servers, " "))
	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", write(t, filepath.Join(dir, "Caddyfile"), plain))
	cmd.Env = env
	serveBeside(t, cmd)
}

// serveBeside runs a server until the test ends.
func serveBeside(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s\n%s", cmd.Path, &log)
		}
	})
}
