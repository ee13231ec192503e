package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Curl returns the example of an operation as a shell command, with the base of the API as $API and a token as $TOKEN. It is
// "" if the document has no example.
func (o *docOperation) Curl() string {
	address, ok := o.address()
	if !ok {
		return ""
	}
	lines := []string{"curl " + quote(address)}
	if o.Method != "GET" && (o.Method != "POST" || o.RequestBody == nil) {
		lines[0] = "curl -X " + o.Method + " " + quote(address)
	}
	if !o.Public() {
		lines = append(lines, `-H "Authorization: Bearer $TOKEN"`)
	}
	if o.RequestBody != nil {
		lines = append(lines, o.sends()...)
	}
	return strings.Join(lines, " \\\n  ")
}

// address returns the address of the example. It is not ok if a part of the path has no example.
func (o *docOperation) address() (string, bool) {
	path, query := o.Path, url.Values{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path" && p.Example == nil:
			return "", false
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", inPath(fmt.Sprint(p.Example)))
		case p.In == "query" && p.Example != nil:
			query[p.Name] = inQuery(p.Name, p.Example)
		}
	}
	if o.RequestBody != nil && len(o.sends()) == 0 {
		return "", false
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return "$API" + path, true
}

// inPath escapes a value for the path, segment by segment: the value of a parameter that takes the rest of the path has
// several segments. A secret, which the example has in braces, is left for the reader to fill in.
func inPath(value string) string {
	if name, found := strings.CutPrefix(value, "{"); found {
		return "<" + strings.TrimSuffix(name, "}") + ">"
	}
	segments := strings.Split(value, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// inQuery returns the values of a parameter: lists are repeated if the parameter's name says so, otherwise joined by commas.
func inQuery(name string, example any) []string {
	list, ok := example.([]any)
	if !ok {
		return []string{fmt.Sprint(example)}
	}
	var values []string
	for _, one := range list {
		values = append(values, fmt.Sprint(one))
	}
	if !strings.HasSuffix(name, "[]") {
		values = []string{strings.Join(values, ",")}
	}
	return values
}

// sends returns the options that send the body.
func (o *docOperation) sends() []string {
	for media, content := range o.RequestBody.Content {
		switch fields, isObject := content.Example.(map[string]any); {
		case content.Example == nil:
		case media == "application/json":
			text, err := indented(content.Example)
			if err != nil {
				return nil
			}
			return []string{`-H "Content-Type: application/json"`, "-d " + singleQuoted(text)}
		case media == "multipart/form-data" && isObject:
			var all []string
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				value := fmt.Sprint(fields[name])
				if p := content.Schema.property(name); p != nil && p.Format == "binary" {
					value = "@" + cmp.Or(fileOf(fields), "FILE")
				}
				all = append(all, "-F "+singleQuoted(name+"="+value))
			}
			return all
		}
	}
	return nil
}

// fileOf returns the name of a file, taken from the other fields of the form.
func fileOf(fields map[string]any) string {
	name, _ := fields["filename"].(string)
	return name
}

func (s *docSchema) property(name string) *docSchema {
	if s == nil {
		return nil
	}
	return s.Properties[name]
}

// Answer returns the body of the answer to the example, "" if there is none.
func (o *docOperation) Answer() string {
	for status, r := range o.Responses {
		example := r.Content["application/json"].Example
		if !strings.HasPrefix(status, "2") || example == nil {
			continue
		}
		if text, err := indented(example); err == nil {
			return text
		}
	}
	return ""
}

func indented(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// quote returns a text quoted so that a shell expands $API only.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(s) + `"`
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
