package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFront limits the front matter of a file, in bytes.
const maxFront = 64 << 10

// siteFront is site.yaml.
type siteFront struct {
	Name       string `yaml:"name"`
	Visibility string `yaml:"visibility,omitempty"`
	HTMLHead   string `yaml:"html_head,omitempty"`
	Look       *Look  `yaml:"look,omitempty"`
}

// textFront is the front matter of a collection's or category's file.
type textFront struct {
	Name      string `yaml:"name"`
	Source    bool   `yaml:"source,omitempty"`
	SortOrder Number `yaml:"sort_order,omitempty"`
	Icon      string `yaml:"icon,omitempty"` // of collections
}

// articleFront is the front matter of an article's file.
type articleFront struct {
	Title      string   `yaml:"title"`
	Summary    string   `yaml:"summary,omitempty"`
	Format     Format   `yaml:"format,omitempty"`
	Source     bool     `yaml:"source,omitempty"`
	Status     string   `yaml:"status,omitempty"`
	Unfinished bool     `yaml:"unfinished,omitempty"`
	SortOrder  Number   `yaml:"sort_order,omitempty"`
	Categories []string `yaml:"categories,omitempty"`
}

var (
	fence     = []byte("---\n")
	errFence  = lineErrors{{1, "it has to begin with front matter between lines of ---"}}
	errLong   = fmt.Errorf("its front matter is longer than %d bytes", maxFront)
	errNoMore = errors.New("there is more than one YAML document in it")
)

// document formats a file from front matter and text.
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

// lineErrors are problems with lines of a file, counted from 1.
type lineErrors []lineError

type lineError struct {
	line int
	text string
}

// Error returns one line per problem.
func (e lineErrors) Error() string {
	var all []string
	for _, one := range e {
		all = append(all, fmt.Sprintf("line %d: %s", one.line, one.text))
	}
	return strings.Join(all, "\n")
}

// text is the content of a file: its front matter, which starts with the file, and the rest.
type text struct{ front, body string }

// line returns the line of the first of the fields that the front matter has.
func (t text) line(fields ...string) int {
	for i, line := range strings.Split(t.front, "\n") {
		for _, f := range fields {
			if strings.HasPrefix(line, f+":") {
				return i + 1
			}
		}
	}
	return 0
}

// parse reads the output of document, possibly edited.
func parse(data []byte, front any) (text, error) {
	s, err := plainText(data)
	if err != nil {
		return text{}, err
	}
	rest, ok := strings.CutPrefix(s, string(fence))
	if !ok {
		return text{}, errFence
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return text{}, errFence
		}
	}
	if err := unmarshal(head, front); err != nil {
		return text{}, err
	}
	return text{head, strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n")}, nil
}

// plainText removes what editors and git add to text: a byte order mark, CRLF.
func plainText(data []byte) (string, error) {
	line := 1
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 || r == 0 {
			return "", lineErrors{{line, "it is not UTF-8 text"}}
		}
		if r == '\n' {
			line++
		}
		at += size
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
	if err := checkKeys(s); err != nil {
		return err
	}
	d := yaml.NewDecoder(strings.NewReader(s))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return yamlErrors(err)
	}
	if d.Decode(new(any)) == nil {
		return errNoMore
	}
	return nil
}

// maxKeys limits the keys of a map: the decoder compares each with all others, and its messages about duplicates could take
// gigabytes.
const maxKeys = 1000

// checkKeys refuses maps that are too large for the decoder.
func checkKeys(s string) error {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(s), &root); err != nil {
		return yamlErrors(err)
	}
	for nodes := []*yaml.Node{&root}; len(nodes) > 0; {
		node := nodes[len(nodes)-1]
		nodes = append(nodes[:len(nodes)-1], node.Content...)
		if node.Kind != yaml.MappingNode {
			continue
		}
		if len(node.Content) > 2*maxKeys {
			return lineErrors{{node.Line, "it has too many keys"}}
		}
		first := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if line := first[key.Value]; line > 0 {
				return lineErrors{{key.Line, fmt.Sprintf("mapping key %q already defined at line %d", key.Value, line)}}
			}
			first[key.Value] = key.Line
		}
	}
	return nil
}

var (
	yamlLine     = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type .*$`)
)

// yamlErrors extracts the lines from a decoder error.
func yamlErrors(err error) error {
	all := []string{err.Error()}
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		all = typed.Errors
	}
	var found lineErrors
	for _, one := range all {
		m := yamlLine.FindStringSubmatch(one)
		if m == nil {
			return fmt.Errorf("its YAML cannot be read: %w", err)
		}
		line, _ := strconv.Atoi(m[1]) // the pattern matches only digits
		found = append(found, lineError{line, unknownField.ReplaceAllString(m[2], "there is no field $1")})
	}
	return found
}
