package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// A file with unknown or ineffective settings is refused, with the probable name.
func TestConfigFileIsStrict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		says string // "": it is taken
	}{
		"empty":              {file: `{}`},
		"settings":           {file: `{"listen": ":9000", "rate_limit": 5, "trusted_proxies": ["10.0.0.1", "10.0.0.2"], "allow_private_hosts": true, "fetch_interval": "5m"}`},
		"a typing error":     {file: `{"lisen": "x"}`, says: `"lisen" is not a setting. Did you mean listen?`},
		"two of them":        {file: `{"lisen": "x", "smtp-url": "y"}`, says: `"lisen" is not a setting. Did you mean listen?; "smtp-url" is not a setting. Did you mean smtp_url?`},
		"a variable":         {file: `{"HELPWRIGHT_LISTEN": "x"}`, says: `"HELPWRIGHT_LISTEN" is not a setting`},
		"a stranger":         {file: `{"frobnicate_all": 1}`, says: `"frobnicate_all" is not a setting`},
		"of a command":       {file: `{"verify": true}`, says: `"verify" is not a setting`},
		"itself":             {file: `{"config": "x"}`, says: `"config" is not a setting`},
		"nested":             {file: `{"intake": {"listen": "x"}}`, says: `"intake" is not a setting`},
		"twice":              {file: `{"listen": ":1", "listen": ":2"}`, says: `has "listen" twice`},
		"no value":           {file: `{"listen": null}`, says: `"listen" has no value`},
		"a wrong value":      {file: `{"rate_limit": "many"}`, says: "rate-limit"},
		"no JSON":            {file: `{"listen"`, says: "the file of --config"},
		"no object":          {file: `["listen"]`, says: "the file of --config"},
		"something after it": {file: `{} {}`, says: "the file of --config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "c.json")
			if err := os.WriteFile(file, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, stderr := command(t, t.TempDir(), nil, "config", "show", "--config", file)
			if test.says == "" && code != exitDone || test.says != "" && (code != exitUsage || !strings.Contains(stderr, test.says) || out != "") {
				t.Errorf("%d %s%s", code, out, stderr)
			}
		})
	}
}

// Variables that look like settings but are not cause a warning, and stop nothing.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]string{
		"HELPWRIGHT_LISTEN":              "",
		"HELPWRIGHT_LISTN":               "HELPWRIGHT_LISTN is not a setting. Did you mean HELPWRIGHT_LISTEN?",
		"HELPWRIGHT_LISTEN_ADDR":         "HELPWRIGHT_LISTEN_ADDR is not a setting",
		"HELPWRIGHT_SMTP_URI":            "HELPWRIGHT_SMTP_URI is not a setting. Did you mean HELPWRIGHT_SMTP_URL?",
		"HELPWRIGHT_DB_URL":              "HELPWRIGHT_DB_URL is not a setting",
		"HELPWRIGHT_TRUSTED_PROXY":       "HELPWRIGHT_TRUSTED_PROXY is not a setting. Did you mean HELPWRIGHT_TRUSTED_PROXIES?",
		"HELPWRIGHT_COMPLETELY_OF_ELSE":  "HELPWRIGHT_COMPLETELY_OF_ELSE is not a setting",
		"HELPWRIGHT_TEST_REQUIRE":        "", // of the tests
		"HELPWRIGHT_SERVICE_HOST":        "", // of Kubernetes
		"HELPWRIGHT_PORT_8080_TCP_PROTO": "",
		"PATH":                           "",
	} {
		got := strings.Join(unknownVariables(parser.Model, []string{variable + "=x"}), "\n")
		if got != want && (want == "" || strings.Contains(want, "?") || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, want %q", variable, got, want)
		}
	}
	code, out, stderr := command(t, t.TempDir(), []string{"HELPWRIGHT_LISTN=x"}, "version")
	if code != exitDone || !strings.Contains(stderr, "warning: HELPWRIGHT_LISTN") || strings.Contains(out, "LISTN") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"listen", "lisen", 1}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// config show prints the source of each setting, and no secret.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c.json"), []byte(`{"listen": ":1", "base_url": "https://file.example", "rate_limit": 5, "smtp_url": "smtp://u:geheim@file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := command(t, dir, []string{
		"HELPWRIGHT_LISTEN=:2", "HELPWRIGHT_BASE_URL=https://variable.example", "HELPWRIGHT_SECRET_KEY=" + strings.Repeat("geheim", 10),
		"HELPWRIGHT_BOOTSTRAP_TOKEN=geheim-0123456789abcdef", "HELPWRIGHT_DATABASE_URL=postgres://u:geheim@h/d?sslpassword=geheim", "HELPWRIGHT_INTAKE_LISTEN=",
	}, "config", "show", "--config", "c.json", "--listen", ":3", "--data", "elsewhere")
	if code != exitDone || strings.Contains(out+stderr, "geheim") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
	got := map[string]string{}
	for line := range strings.Lines(out) {
		fields := regexp.MustCompile(`\s{2,}`).Split(strings.TrimSpace(line), 3)
		got[fields[0]] = strings.Join(fields[1:], " ")
	}
	want := map[string]string{
		"HELPWRIGHT_LISTEN": ":3 --listen", "HELPWRIGHT_BASE_URL": "https://variable.example variable", "HELPWRIGHT_RATE_LIMIT": "5 c.json",
		"HELPWRIGHT_SMTP_URL": "smtp://u:hidden@file c.json", "HELPWRIGHT_SECRET_KEY": "(hidden) variable", "HELPWRIGHT_BOOTSTRAP_TOKEN": "(hidden) variable",
		"HELPWRIGHT_DATABASE_URL": "postgres://u:hidden@h/d?sslpassword=hidden variable", "HELPWRIGHT_BLOB_URL": "file:elsewhere/blobs default",
		"HELPWRIGHT_INTAKE_LISTEN": "variable", "HELPWRIGHT_SPF": "a mx default", "HELPWRIGHT_DATA": "elsewhere --data",
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q, want %q", name, got[name], text)
		}
	}
	code, out, stderr = command(t, dir, []string{"HELPWRIGHT_LISTEN=nonsense"}, "config", "show")
	if code != exitUsage || !strings.Contains(out, "nonsense") || !strings.Contains(stderr, "HELPWRIGHT_LISTEN: must be HOST:PORT") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
}

func TestShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                                         "",
		"sqlite:data/helpwright.db":                "sqlite:data/helpwright.db",
		"postgres://h/d":                           "postgres://h/d",
		"postgres://u@h/d?password=x&a=b":          "postgres://u@h/d?a=b&password=hidden",
		"smtp://u:p@a smtp://v:q@b?tls=none":       "smtp://u:hidden@a smtp://v:hidden@b?tls=none",
		"smtp://u:p%zz@a":                          "(hidden)",
		"file:a folder/blobs":                      "file:a folder/blobs",
		"s3://KEY:geheim@bucket/x?region=r":        "s3://KEY:hidden@bucket/x?region=r",
		"s3://KEY:ge%heim@bucket/x":                "(hidden)",
		"host=h password=geheim":                   "(hidden) (hidden)",
		"smtp://only-a-user@relay.example:25?tls=": "smtp://only-a-user@relay.example:25?tls=",
	} {
		if got := (setting{value: value, hidden: "url"}).shown(); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// Help shows commands first, and each command the settings that it uses.
func TestHelp(t *testing.T) {
	t.Parallel()
	help := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := run(context.Background(), append(args, "--help"), &out, &errs); code != exitDone || errs.Len() > 0 {
			t.Errorf("%v: %d %s", args, code, errs.String())
		}
		return out.String()
	}
	top := help()
	lines := strings.Split(top, "\n")
	if first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  serve ") }); first < 0 || first > 8 || strings.Contains(top, "--listen") {
		t.Errorf("the first command is in line %d:\n%s", first, top)
	}
	for _, tt := range []struct {
		command string
		has     []string
		not     []string
	}{
		{"serve", []string{"--listen", "--smtp-url", "--database-url", "--enable-pgp-encryption", "--data"}, nil},
		{"demo", []string{"--listen", "--base-url"}, []string{"--database-url", "--smtp-url", "--secret-key", "--data"}},
		{"backup", []string{"--database-url", "--blob-url", "--secret-key", "--data", "--verify"}, []string{"--listen", "--smtp-url"}},
		{"migrate", []string{"--database-url", "--data"}, []string{"--secret-key", "--listen"}},
		{"user reset-password", []string{"--base-url", "--data"}, []string{"--smtp-url"}},
		{"doctor", []string{"--smtp-url", "--dns-server"}, []string{"--rate-limit"}},
		{"config show", []string{"--listen", "--rate-limit"}, nil},
		{"version", []string{"--help"}, []string{"--data", "--listen"}},
		{"user", []string{"user create"}, []string{"--listen"}},
	} {
		text := help(strings.Fields(tt.command)...)
		for _, flag := range tt.has {
			if !strings.Contains(text, flag) {
				t.Errorf("%s has no %s:\n%s", tt.command, flag, text)
			}
		}
		for _, flag := range tt.not {
			if strings.Contains(text, flag) {
				t.Errorf("%s has %s:\n%s", tt.command, flag, text)
			}
		}
	}
}

// Every setting that help names is one, and every command is thought of.
func TestHelpNamesSettings(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"*"}
	for _, flag := range settingFlags(parser.Model) {
		known = append(known, flag.Name)
	}
	var without []string
	for _, leaf := range parser.Model.Leaves(true) {
		used := settingsOf(leaf.Path())
		if used == nil {
			without = append(without, leaf.Path())
		}
		for _, name := range used {
			if !slices.Contains(known, name) {
				t.Errorf("%s uses %s, which is not a setting", leaf.Path(), name)
			}
		}
	}
	if diff := cmp.Diff([]string{"manual", "openapi", "completion", "man", "version"}, without); diff != "" {
		t.Errorf("commands without settings:\n%s", diff)
	}
	for _, flag := range parser.Model.Flags { // a secret without a mark would be shown
		secret := regexp.MustCompile(`key$|token|password|secret|smtp-url|database-url|replica-url|blob-url`).MatchString(flag.Name) && !strings.HasSuffix(flag.Name, "tls-key")
		if marked := flag.Tag.Get("secret") != ""; marked != secret {
			t.Errorf("%s is marked as a secret: %t", flag.Name, marked)
		}
	}
}

var _ kong.Resolver = configFile(nil)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ listen, base, want string }{
		{"127.0.0.1:8080", "", "http://127.0.0.1:8080"},
		{":8080", "", "http://localhost:8080"},
		{"0.0.0.0:8080", "", "http://localhost:8080"},
		{"[::]:8080", "", "http://localhost:8080"},
		{"[::1]:8080", "", "http://[::1]:8080"},
		{"10.0.0.1:80", "", "http://10.0.0.1:80"},
		{"help.example.org:80", "", "http://help.example.org:80"},
		{":8080", "https://help.example.org/", "https://help.example.org"},
	} {
		if got := (&Settings{Listen: tt.listen, BaseURL: tt.base}).baseURL(); got != tt.want {
			t.Errorf("%s, %q: %s, want %s", tt.listen, tt.base, got, tt.want)
		}
	}
}

// A server that listens at every address works, and its public address can be opened.
func TestListenEverywhere(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_BOOTSTRAP_TOKEN=")
	_, port, err := net.SplitHostPort(s.http)
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	for _, listen := range []string{":" + port, "0.0.0.0:" + port, "[::]:" + port} {
		if err := os.RemoveAll(filepath.Join(s.dir, "data")); err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, "HELPWRIGHT_LISTEN="+listen)
		s.start()
		testenv.Eventually(t, "the tour is printed", func() bool { return strings.Contains(s.stdout.String(), "api $API/conversations/1/interactions\n\n") })
		out := s.stdout.String()
		token := regexp.MustCompile(`hwp_\w+`).FindString(out)
		s.token = token
		m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		var made object[struct{ URL string }]
		if status := s.upload(s.notes(), 10); status != 201 || m.ID == 0 {
			t.Errorf("uploading: %d", status)
		}
		s.ok("GET", "/accounts/1/conversations/1/interactions/1/attachments/1", nil, &made)
		if want := "http://localhost:" + port + "/"; !strings.HasPrefix(made.Data.URL, want) || !strings.Contains(out, "(API at "+want) {
			t.Errorf("%s: %s\n%s", listen, made.Data.URL, out)
		}
		for _, wrong := range []string{"http://:", "http://0.0.0.0", "http://[::]"} {
			if strings.Contains(out+made.Data.URL, wrong) {
				t.Errorf("%s: %s is in %s", listen, wrong, out)
			}
		}
		s.stop()
	}
}

// All data of a server is in the configured folder, readable by its owner only.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_DATA=else/where")
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	submitAll(s, m.InternalEmailAddress, 1)
	testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 1 })
	s.ok("POST", "/accounts/1/conversations/1/interactions", url.Values{"type": {"user"}, "body": {"Answer"}}, nil)
	testenv.Eventually(t, "the answer is spooled", func() bool {
		mails, _ := filepath.Glob(filepath.Join(s.dir, "else", "where", "outbox", "*.eml"))
		return len(mails) == 1
	})
	s.stop()
	for _, name := range []string{"helpwright.db", "secret.key", "blobs/accounts+"} {
		info, err := os.Stat(filepath.Join(s.dir, "else", "where", name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", name, err, info)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data")); err == nil {
		t.Error("there is another folder")
	}
	if code, out, stderr := command(t, s.dir, nil, "doctor", "--data", "else/where"); code != exitDone || !strings.Contains(out, fmt.Sprintf("ok    secret key (%s)", filepath.Join("else", "where", "secret.key"))) {
		t.Errorf("%d %s%s", code, out, stderr)
	}
	if code, _, stderr := command(t, s.dir, nil, "migrate", "--data", ""); code != exitUsage || !strings.Contains(stderr, "HELPWRIGHT_DATA: must be a folder") {
		t.Errorf("%d %s", code, stderr)
	}
}
