package theme

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a theme.
const (
	MaxArchive   = 30 << 20  // bytes of a zip archive
	MaxUnpacked  = 100 << 20 // bytes of all files
	MaxFiles     = 2000
	MaxRatio     = 200 // unpacked to packed bytes
	MaxDepth     = 16  // segments of a path
	MaxPath      = 255 // bytes of a path
	MaxTemplate  = 256 << 10
	MaxTemplates = 2 << 20  // bytes of all templates
	MaxManifest  = 64 << 10 // bytes of theme.json
)

// Manifest is the path of the file that names a theme.
const Manifest = "theme.json"

// Problem is a problem with a theme. Its text may be shown.
type Problem struct {
	Path    string // of the file, "" for the theme as a whole
	Line    int    // in a template; 0: unknown
	Message string
}

// Error returns the problem and its place.
func (p *Problem) Error() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.Line > 0:
		return fmt.Sprintf("%s, line %d: %s", p.Path, p.Line, p.Message)
	default:
		return p.Path + ": " + p.Message
	}
}

// CleanPath returns the path under which a theme stores a file (NFC), or a *Problem. A path is theme.json, or is below
// templates/ or assets/ with at most 16 segments that every file system allows.
func CleanPath(path string) (string, error) {
	shown := strings.ToValidUTF8(path[:min(len(path), MaxPath)], "\uFFFD")
	refuse := func(message string) (string, error) { return "", &Problem{Path: shown, Message: message} }
	if !utf8.ValidString(path) {
		return refuse("the name is not valid UTF-8")
	}
	path = norm.NFC.String(path)
	if len(path) > MaxPath {
		return refuse(fmt.Sprintf("the path is longer than %d bytes", MaxPath))
	}
	if strings.ContainsFunc(path, func(r rune) bool {
		return unicode.IsControl(r) || strings.ContainsRune(`\:*?"<>|`, r) || unicode.Is(unicode.Bidi_Control, r)
	}) {
		return refuse("the path has a character that not every system can have in a name")
	}
	segments := strings.Split(path, "/")
	for _, s := range segments {
		if s == "" || strings.Trim(s, ". ") == "" || strings.TrimRight(s, ". ") != s || strings.TrimLeft(s, " ") != s {
			return refuse("the path must be relative, without empty segments, dots or spaces at their ends, and without ..")
		}
	}
	if len(segments) > MaxDepth {
		return refuse(fmt.Sprintf("the path is deeper than %d", MaxDepth))
	}
	if path != Manifest && (len(segments) < 2 || segments[0] != "templates" && segments[0] != "assets") {
		return refuse("only templates/, assets/ and theme.json belong to a theme; they must be at its top")
	}
	return path, nil
}

// IsTemplate reports whether the file is a template.
func IsTemplate(path string) bool { return strings.HasPrefix(path, "templates/") }

// IsAsset reports whether the file is public.
func IsAsset(path string) bool { return strings.HasPrefix(path, "assets/") }

// TemplateName returns the name of the file in templates: its path below templates/ without ".html".
func TemplateName(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path, "templates/"), ".html")
}

// Description is the content of theme.json. All fields are optional.
type Description struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ParseManifest parses theme.json: a JSON object of at most 64 KiB. Unknown fields are ignored.
func ParseManifest(content []byte) (Description, error) {
	var d Description
	if len(content) > MaxManifest {
		return d, &Problem{Path: Manifest, Message: "is larger than 64 KiB"}
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if err := json.Unmarshal(content, &d); err != nil {
		return Description{}, &Problem{Path: Manifest, Message: "must be a JSON object whose name and version are strings"}
	}
	d.Name, d.Version = strings.ToValidUTF8(d.Name, ""), strings.ToValidUTF8(d.Version, "")
	return d, nil
}

// CheckFile checks a single file: the size and the encoding of a template, the form of theme.json. [Compile] checks whether
// the templates fit together.
func CheckFile(path string, content []byte) error {
	switch {
	case path == Manifest:
		_, err := ParseManifest(content)
		return err
	case !IsTemplate(path):
		return nil
	case len(content) > MaxTemplate:
		return &Problem{Path: path, Message: "is a template larger than 256 KiB"}
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return &Problem{Path: path, Message: "is not UTF-8 text"}
	}
	return nil
}

// Newer reports whether version a is later than b. Numbers between dots compare as numbers; missing ones count as 0.
func Newer(a, b string) bool {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if len(x) != len(y) {
			return len(x) > len(y)
		}
		if x != y {
			return x > y
		}
	}
	return false
}
