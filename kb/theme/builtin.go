package theme

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"sync"
)

//go:embed all:builtin
var builtinFiles embed.FS

//go:embed strings.json
var stringsJSON []byte

// Source is a theme with a version that sites can be given, and be updated to.
type Source struct {
	Name    string
	Version string
	Files   map[string][]byte // by path; not to be changed
}

// Builtin is the theme that comes with the program.
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
		panic("theme: " + err.Error()) // the files are part of the program
	}
	d, err := ParseManifest(s.Files[Manifest])
	if err != nil {
		panic("theme: " + err.Error())
	}
	s.Name, s.Version = d.Name, d.Version
	return s
})

// Templates are the texts of the templates by path.
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

// texts are the words of the built-in theme by language.
var texts = sync.OnceValue(func() map[string]map[string]string {
	var all map[string]map[string]string
	if err := json.Unmarshal(stringsJSON, &all); err != nil {
		panic("theme: " + err.Error())
	}
	return all
})

// textsOf gives the words for a locale: its own, or its language's.
func textsOf(locale string) map[string]string {
	if found := texts()[locale]; found != nil {
		return found
	}
	language, _, _ := strings.Cut(locale, "-")
	return texts()[strings.ToLower(language)]
}
