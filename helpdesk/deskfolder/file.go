package deskfolder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/helpwright/helpwright/storage/folder"
	"github.com/helpwright/helpwright/storage/plain"
)

// MaxFile is the maximum size of a file in bytes.
const MaxFile = 16 << 20

// Problem is something in a folder that cannot be read, or that the desk refuses.
type Problem struct {
	Path    string
	Name    string // of the item; "": the file as a whole
	Message string
}

// Problems is the error for a folder that cannot be applied.
type Problems []Problem

// Error returns one line per problem.
func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		line := one.Path + ": "
		if one.Name != "" {
			line += one.Name + ": "
		}
		lines = append(lines, line+one.Message)
	}
	return strings.Join(lines, "\n")
}

// Save writes a setup into a folder: one file for each kind that it has. The same setup always gives the same bytes. Each file is
// replaced atomically; other files stay.
func Save(s Setup, root *os.Root) error {
	for _, k := range kinds() {
		data, err := k.encode(&s)
		if err == nil && data != nil {
			err = folder.Replace(root, k.path(), bytes.NewReader(data))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.path(), err)
		}
	}
	return nil
}

// Read reads a folder. A kind without a file has a nil list; a folder without any of the files is an error, as are files that
// are no YAML or have unknown keys, all of which the [Problems] name. Other files are ignored.
func Read(root fs.FS) (Setup, error) {
	var s Setup
	var problems Problems
	found := false
	for _, k := range kinds() {
		data, err := readFile(root, k.path())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found = true
		if err == nil {
			err = k.decode(data, &s)
		}
		var own Problems
		switch {
		case errors.As(err, &own):
			problems = append(problems, own...)
		case err != nil:
			problems = append(problems, Problem{Path: k.path(), Message: err.Error()})
		}
	}
	if !found {
		problems = append(problems, Problem{Path: "rules.yaml", Message: "there is neither this file nor any other one of a desk's folder"})
	}
	if len(problems) > 0 {
		return Setup{}, problems
	}
	return s, nil
}

func readFile(root fs.FS, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("it has more than %d MiB", MaxFile>>20)
	}
	return data, err
}

// encode returns the file of a kind, nil if the setup says nothing about it.
func (k kind[D]) encode(from *Setup) ([]byte, error) {
	docs := *k.in(from)
	if docs == nil {
		return nil, nil
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(docs), e.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode reads the file of a kind. An empty one has no items.
func (k kind[D]) decode(data []byte, into *Setup) error {
	docs := []D{}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&docs); err != nil && !errors.Is(err, io.EOF) {
		return yamlError(err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one YAML document in it")
	}
	if docs == nil {
		docs = []D{} // null
	}
	var problems Problems
	keys := map[string]bool{}
	for _, doc := range docs {
		key := plain.Key(doc.name())
		switch {
		case strings.Trim(key, "/") == "":
			problems = append(problems, Problem{Path: k.file, Message: "an item has no name"})
		case keys[key] && k.title != "view":
			problems = append(problems, Problem{Path: k.file, Name: doc.name(), Message: "is there twice"})
		}
		keys[key] = true
	}
	*k.in(into) = docs
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// yamlError returns an error of YAML in one line, without the names of Go's types.
func yamlError(err error) error {
	var types *yaml.TypeError
	if !errors.As(err, &types) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	lines := slices.Clone(types.Errors)
	for i, line := range lines {
		if at := strings.Index(line, " not found in type "); at >= 0 {
			lines[i] = strings.Replace(line[:at], "field ", "unknown key ", 1)
		}
		if at := strings.Index(line, " into "); at >= 0 {
			lines[i] = strings.Replace(line[:at], "cannot unmarshal ", "unexpected ", 1)
		}
	}
	return errors.New(strings.Join(lines, "; "))
}
