package theme

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

// Guide is how themes are written, as Markdown.
//
//go:embed README.md
var Guide string

//go:embed all:builtin
var builtinFiles embed.FS

// Source is a versioned theme that sites can be created with and updated to.
type Source struct {
	Name    string
	Version string
	Files   map[string][]byte // by path; read-only
}

// Builtin returns the theme that comes with the program.
var Builtin = sync.OnceValue(func() Source {
	s := Source{Files: map[string][]byte{}}
	err := fs.WalkDir(builtinFiles, "builtin", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := builtinFiles.ReadFile(path)
		s.Files[strings.TrimPrefix(path, "builtin/")] = content
		return err
	})
	if err != nil {
		panic("theme: " + err.Error()) // the files are embedded in the program
	}
	d, err := ParseManifest(s.Files[Manifest])
	if err != nil {
		panic("theme: " + err.Error())
	}
	s.Name, s.Version = d.Name, d.Version
	return s
})

// Templates returns the texts of the templates by path.
func (s Source) Templates() map[string]string {
	out := map[string]string{}
	for path, content := range s.Files {
		if IsTemplate(path) {
			out[path] = string(content)
		}
	}
	return out
}

func builtinTemplates() map[string]string { return Builtin().Templates() }
