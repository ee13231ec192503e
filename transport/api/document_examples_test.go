package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/form"
	"github.com/helpwright/helpwright/transport/internal/openapigen"
)

// examples returns the examples of the OpenAPI document: for each operation the first successful request of the walks, with
// its answer. TestWalk sends the requests, and TestWalkAsJSON sends those with forms as JSON, as the document shows them.
func examples(t *testing.T, table *transport.Table) map[string][]openapigen.Example {
	t.Helper()
	files, err := filepath.Glob("testdata/walk*.http")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := map[string][]openapigen.Example{}
	for _, id := range []string{"docs", "openapi", "asyncapi", "downloadTheme", "getSiteFileContent", "followEvents", "listLanguages", "getPicture"} {
		found[id] = []openapigen.Example{{}} // files, streams and lists of hundreds
	}
	found["uploadTheme"] = []openapigen.Example{{MediaType: "multipart/form-data", Body: map[string]any{"zip": "the bytes of a ZIP archive"}}}
	found["setPicture"] = []openapigen.Example{{MediaType: "multipart/form-data", Body: map[string]any{"file": "the bytes of an image"}}}
	found["readNotifications"] = []openapigen.Example{{MediaType: "application/json", Body: map[string]any{"notification_id": "7"}}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range parseWalk(t, string(text)) {
			words := strings.Fields(s.request)
			if strings.HasPrefix(words[0], "!") {
				continue
			}
			path, query, _ := strings.Cut(words[1], "?")
			r, values := routeOf(table, words[0], path)
			status, _, _ := strings.Cut(s.answer, " ")
			status, _, _ = strings.Cut(status, "\n")
			if r.ID == "" || status != strconv.Itoa(r.Status) {
				continue
			}
			e := openapigen.Example{Path: values, Response: answerBody(s.answer)}
			if e.Query, err = url.ParseQuery(query); err != nil {
				t.Fatal(words[1], err)
			}
			e.MediaType, e.Body = sent(t, s)
			found[r.ID] = append(found[r.ID], e)
		}
	}
	return found
}

var parameter = regexp.MustCompile(`\\\{([a-z_]+)(\\\.\\\.\\\.)?\\\}`)

// routeOf returns the route of a request, and the values of its parameters.
func routeOf(table *transport.Table, method, path string) (best transport.Route, values map[string]string) {
	fewest := 99
	for _, r := range table.Routes() {
		pattern := parameter.ReplaceAllStringFunc(regexp.QuoteMeta(r.Path), func(p string) string {
			if strings.Contains(p, ".") {
				return "(.+)"
			}
			return "([^/]+)"
		})
		m := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(path)
		if r.Method != method || m == nil || len(r.Params()) >= fewest {
			continue
		}
		best, fewest, values = r, len(r.Params()), map[string]string{}
		for i, name := range parameter.FindAllStringSubmatch(regexp.QuoteMeta(r.Path), -1) {
			values[name[1]] = m[i+1]
		}
	}
	return best, values
}

// answerBody is the body of an answer as an example shows it; nil if that is no JSON.
func answerBody(answer string) any {
	_, text, _ := strings.Cut(answer, "\n")
	var body any
	if json.Unmarshal([]byte(text), &body) != nil {
		return nil
	}
	return shortened(body)
}

// shortened has the beginnings of long lists only.
func shortened(v any) any {
	switch v := v.(type) {
	case []any:
		v = v[:min(len(v), 2)]
		for i := range v {
			v[i] = shortened(v[i])
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = shortened(v[name])
		}
	}
	return v
}

// sent returns the body of a request; a form as nested values.
func sent(t *testing.T, s step) (mediaType string, body any) {
	t.Helper()
	if s.body == "" {
		return "", nil
	}
	if len(s.header) == 0 || s.header[0] != "Content-Type" {
		return "application/json", nested(t, s.body)
	}
	mediaType, params, err := mime.ParseMediaType(s.header[1])
	if err != nil {
		t.Fatal(err)
	}
	switch mediaType {
	case "application/json":
		if err := json.Unmarshal([]byte(s.body), &body); err != nil {
			return "", nil
		}
		return mediaType, body
	case "multipart/form-data":
		return mediaType, parts(t, s.body, params["boundary"])
	}
	return "", nil
}

// nested are the values of a form.
func nested(t *testing.T, text string) any {
	t.Helper()
	root, err := form.Parse(strings.TrimSpace(text), form.Limits{})
	if err != nil {
		return nil
	}
	return formValue(root)
}

func formValue(n *form.Node) any {
	if n.Kind() == form.Group {
		values := map[string]any{}
		for _, name := range n.Names() {
			values[name] = formValue(n.Get(name))
		}
		return values
	}
	if items, _, problem := n.Items(1000); problem == "" && len(items) > 1 {
		var list []any
		for _, item := range items {
			list = append(list, item.Node.Text())
		}
		return list
	}
	return n.Text()
}

// parts are the fields of a multipart form; a file is its bytes.
func parts(t *testing.T, text, boundary string) any {
	t.Helper()
	var fields []string
	r := multipart.NewReader(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")+"\r\n"), boundary)
	for {
		p, err := r.NextPart()
		if err != nil {
			return nested(t, strings.Join(fields, "&"))
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, url.QueryEscape(p.FormName())+"="+url.QueryEscape(string(bytes.ToValidUTF8(content, nil))))
	}
}

// TestWalkAsJSON runs the walks with JSON instead of forms, typed by the document: all answers are the same.
func TestWalkAsJSON(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/walk*.http")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			walk(t, backends()[0], file, map[string]bool{}, true)
		})
	}
}

// asJSON is a form as JSON, if it is one.
func (w *run) asJSON(t *testing.T, method, path string, header []string, body string) ([]string, string) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	r, _ := routeOf(w.table, method, path)
	typed, ok := openapigen.Typed(api.OpenAPI(), r.ID, nested(t, body))
	if !ok {
		return header, body
	}
	text, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"Content-Type", "application/json"}, header...), string(text)
}

// Every operation that takes a body shows one, as JSON where it takes that.
func TestEveryBodyHasAnExample(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			RequestBody struct {
				Content map[string]struct{ Example any }
			}
		}
	}
	if err := json.Unmarshal(api.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, item := range doc.Paths {
		for _, operation := range item {
			content := operation.RequestBody.Content
			mediaType := "application/json"
			if _, takes := content[mediaType]; !takes {
				mediaType = "multipart/form-data"
			}
			if len(content) > 0 && content[mediaType].Example == nil {
				t.Errorf("%s has no example in %s", operation.OperationID, mediaType)
			}
		}
	}
}
