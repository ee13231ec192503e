package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFront bounds the front matter of a file, in bytes.
const maxFront = 64 << 10

// siteFront is site.yaml.
type siteFront struct {
	Name       string `yaml:"name"`
	Visibility string `yaml:"visibility,omitempty"`
	HTMLHead   string `yaml:"html_head,omitempty"`
}

// textFront is the front matter of a collection's or category's file.
type textFront struct {
	Name      string `yaml:"name"`
	Source    bool   `yaml:"source,omitempty"`
	SortOrder Number `yaml:"sort_order,omitempty"`
}

// articleFront is the front matter of an article's file.
type articleFront struct {
	Title      string   `yaml:"title"`
	Summary    string   `yaml:"summary,omitempty"`
	Format     Format   `yaml:"format,omitempty"`
	Source     bool     `yaml:"source,omitempty"`
	Status     string   `yaml:"status,omitempty"`
	SortOrder  Number   `yaml:"sort_order,omitempty"`
	Categories []string `yaml:"categories,omitempty"`
}

var (
	fence     = []byte("---\n")
	errFence  = errors.New("it has to begin with front matter between lines of ---")
	errLong   = fmt.Errorf("its front matter is longer than %d bytes", maxFront)
	errUTF8   = errors.New("it is not UTF-8 text")
	errNoMore = errors.New("there is more than one YAML document in it")
)

// document writes a file of front matter and text.
func document(front any, text string) ([]byte, error) {
	head, err := marshal(front)
	if err != nil {
		return nil, err
	}
	out := append(append(bytes.Clone(fence), head...), fence...)
	if text != "" {
		out = append(append(append(out, '\n'), text...), '\n')
	}
	return out, nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// parse reads what document wrote, or what an editor made of it.
func parse(data []byte, front any) (text string, err error) {
	s, err := plain(data)
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(s, string(fence))
	if !ok {
		return "", errFence
	}
	head, text, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return "", errFence
		}
	}
	if err := unmarshal(head, front); err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n"), nil
}

// plain takes off what editors and git put around text: a byte order mark, CRLF.
func plain(data []byte) (string, error) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errUTF8
	}
	return lines(strings.TrimPrefix(string(data), "\ufeff")), nil
}

func lines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func unmarshal(s string, into any) error {
	if len(s) > maxFront {
		return errLong
	}
	d := yaml.NewDecoder(strings.NewReader(s))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("its YAML cannot be read: %w", err)
	}
	if d.Decode(new(any)) == nil {
		return errNoMore
	}
	return nil
}
