package transport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/transport"
)

// hostile are the header fields of requests, and the origin that they lead to when the peer is trusted.
var hostile = map[string]struct {
	header map[string][]string
	want   string
}{
	"nothing":                      {nil, ""},
	"host alone":                   {map[string][]string{"X-Forwarded-Host": {"help.example.org"}}, "http://help.example.org"},
	"host and proto":               {map[string][]string{"X-Forwarded-Host": {"Help.Example.org"}, "X-Forwarded-Proto": {"HTTPS"}}, "https://help.example.org"},
	"with a port":                  {map[string][]string{"X-Forwarded-Host": {"help.example.org:8443"}, "X-Forwarded-Proto": {"https"}}, "https://help.example.org:8443"},
	"an address":                   {map[string][]string{"X-Forwarded-Host": {"192.0.2.1:80"}}, "http://192.0.2.1:80"},
	"an address of IPv6":           {map[string][]string{"X-Forwarded-Host": {"[2001:DB8::1]:80"}}, "http://[2001:db8::1]:80"},
	"Forwarded":                    {map[string][]string{"Forwarded": {`for=192.0.2.7;host="help.example.org:443";proto=https`}}, "https://help.example.org:443"},
	"Forwarded without a host":     {map[string][]string{"Forwarded": {`for=192.0.2.7;proto=https`}}, ""},
	"both, alike":                  {map[string][]string{"X-Forwarded-Host": {"help.example.org"}, "Forwarded": {"host=HELP.example.org;proto=https"}}, "https://help.example.org"},
	"both, of two senders":         {map[string][]string{"X-Forwarded-Host": {"help.example.org"}, "Forwarded": {"host=evil.example"}}, ""},
	"proto of two senders":         {map[string][]string{"X-Forwarded-Host": {"help.example.org"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"proto=http"}}, ""},
	"proto alone":                  {map[string][]string{"X-Forwarded-Proto": {"https"}}, ""},
	"a list":                       {map[string][]string{"X-Forwarded-Host": {"evil.example, help.example.org"}}, ""},
	"two fields":                   {map[string][]string{"X-Forwarded-Host": {"help.example.org", "evil.example"}}, ""},
	"a list of proto":              {map[string][]string{"X-Forwarded-Host": {"help.example.org"}, "X-Forwarded-Proto": {"https,http"}}, ""},
	"a list of Forwarded":          {map[string][]string{"Forwarded": {"host=evil.example, host=help.example.org"}}, ""},
	"a host twice in Forwarded":    {map[string][]string{"Forwarded": {"host=help.example.org;Host=evil.example"}}, ""},
	"a quote that does not end":    {map[string][]string{"Forwarded": {`host="help.example.org`}}, ""},
	"an escape in a quote":         {map[string][]string{"Forwarded": {`host="help\.example.org"`}}, ""},
	"userinfo":                     {map[string][]string{"X-Forwarded-Host": {"help.example.org@evil.example"}}, ""},
	"a path":                       {map[string][]string{"X-Forwarded-Host": {"evil.example/path"}}, ""},
	"a query":                      {map[string][]string{"X-Forwarded-Host": {"evil.example?"}}, ""},
	"a backslash":                  {map[string][]string{"X-Forwarded-Host": {`evil.example\`}}, ""},
	"a fragment":                   {map[string][]string{"X-Forwarded-Host": {"evil.example#"}}, ""},
	"a scheme":                     {map[string][]string{"X-Forwarded-Host": {"https://evil.example"}}, ""},
	"another scheme":               {map[string][]string{"X-Forwarded-Host": {"help.example.org"}, "X-Forwarded-Proto": {"javascript"}}, ""},
	"spaces inside":                {map[string][]string{"X-Forwarded-Host": {"help.example.org evil.example"}}, ""},
	"a line break":                 {map[string][]string{"X-Forwarded-Host": {"help.example.org\r\nX: y"}}, ""},
	"a NUL":                        {map[string][]string{"X-Forwarded-Host": {"help\x00.example.org"}}, ""},
	"a letter that looks like one": {map[string][]string{"X-Forwarded-Host": {"hеlp.example.org"}}, ""},
	"a markup character":           {map[string][]string{"X-Forwarded-Host": {"help.example.org><script>"}}, ""},
	"a port that is none":          {map[string][]string{"X-Forwarded-Host": {"help.example.org:http"}}, ""},
	"a port too many":              {map[string][]string{"X-Forwarded-Host": {"help.example.org:80:81"}}, ""},
	"no port behind the colon":     {map[string][]string{"X-Forwarded-Host": {"help.example.org:"}}, ""},
	"port 0":                       {map[string][]string{"X-Forwarded-Host": {"help.example.org:0"}}, ""},
	"a port too large":             {map[string][]string{"X-Forwarded-Host": {"help.example.org:65536"}}, ""},
	"an empty label":               {map[string][]string{"X-Forwarded-Host": {"help..example.org"}}, ""},
	"a bracket that does not end":  {map[string][]string{"X-Forwarded-Host": {"[2001:db8::1"}}, ""},
	"something behind a bracket":   {map[string][]string{"X-Forwarded-Host": {"[2001:db8::1]x"}}, ""},
	"a zone":                       {map[string][]string{"X-Forwarded-Host": {"[fe80::1%25eth0]"}}, ""},
	"an empty host":                {map[string][]string{"X-Forwarded-Host": {""}}, ""},
	"a long host":                  {map[string][]string{"X-Forwarded-Host": {strings.Repeat("a.", 200) + "example"}}, ""},
}

// Headers about the host count only from a trusted proxy, in one plain form.
func TestForwardedOrigin(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	for name, test := range hostile {
		for peer, want := range map[string]string{
			"192.0.2.9:1234": test.want, "[2001:db8::9]:1234": test.want, "[::ffff:192.0.2.9]:1234": test.want, "198.51.100.1:1234": "", "@": "", "": "",
		} {
			r := httptest.NewRequest("GET", "http://inside:8080/", nil)
			r.RemoteAddr, r.Header = peer, test.header
			if r.Header == nil {
				r.Header = http.Header{}
			}
			if got := transport.ForwardedOrigin(r, trusted); got != want {
				t.Errorf("%s from %q: %q, not %q", name, peer, got, want)
			}
		}
	}
}

// Location begins with the host requested from a trusted proxy only if no base URL was configured.
func TestForwardedLocation(t *testing.T) {
	t.Parallel()
	type made struct {
		ID int64 `json:"id"`
	}
	for name, test := range map[string]struct {
		cfg  transport.Config
		peer string
		want string
	}{
		"by the proxy":    {transport.Config{BaseURL: "http://localhost:8080/desk", BaseURLIsDefault: true}, "192.0.2.9:1", "https://help.example.org/desk/api/v1/things/7"},
		"by a stranger":   {transport.Config{BaseURL: "http://localhost:8080", BaseURLIsDefault: true}, "198.51.100.1:1", "http://localhost:8080/api/v1/things/7"},
		"chosen":          {transport.Config{BaseURL: "https://chosen.example"}, "192.0.2.9:1", "https://chosen.example/api/v1/things/7"},
		"without any":     {transport.Config{}, "192.0.2.9:1", "/api/v1/things/7"},
		"without, stated": {transport.Config{BaseURLIsDefault: true}, "192.0.2.9:1", "https://help.example.org/api/v1/things/7"},
	} {
		test.cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		table := transport.New(test.cfg)
		nobody := func(context.Context, *transport.Request) (string, error) { return "", nil }
		transport.Handle(table, nobody, transport.Operation{ID: "make", Method: http.MethodPost, Path: "/things", Status: http.StatusCreated},
			func(context.Context, string, struct{}) (made, error) { return made{7}, nil })
		r := httptest.NewRequest("POST", "/api/v1/things", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("X-Forwarded-Host", "help.example.org")
		r.Header.Set("X-Forwarded-Proto", "https")
		w := httptest.NewRecorder()
		table.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Location"); got != test.want {
			t.Errorf("%s: %d, Location %q, not %q", name, w.Code, got, test.want)
		}
	}
}
