package exchange

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	files "github.com/helpwright/helpwright/storage/folder"
)

// layout lists the patterns of the files that [Save] writes, except site.yaml.
var layout = []string{
	"collections/*/index.*.md", "collections/*/categories/*.*.md", "collections/*/articles/*.*.md", "files/*",
}

// Save writes a site into a folder, which must be empty or hold a saved site: files that the site no longer has are deleted.
// Names that begin with a dot are kept, and so are files that cannot belong to a site's folder.
//
// Every file is replaced atomically. If Save is interrupted, another Save completes it.
func Save(s Site, folder *os.Root) error {
	before, err := saved(folder.FS())
	if err != nil {
		return err
	}
	made, written := map[string]bool{}, map[string]string{}
	err = Write(s, func(name string, content io.Reader) error {
		delete(before, name)
		written[folded(name)] = name
		if dir := path.Dir(name); !made[dir] {
			if err := folder.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			made[dir] = true
		}
		return files.Replace(folder, name, content)
	})
	if err != nil {
		return err
	}
	for _, name := range sorted(before) {
		if now, ok := written[folded(name)]; ok && sameFile(folder, name, now) {
			continue // the folder keeps the file under its former spelling
		}
		if err := folder.Remove(name); err != nil {
			return err
		}
		for dir := path.Dir(name); dir != "." && folder.Remove(dir) == nil; { // as long as they are empty
			dir = path.Dir(dir)
		}
	}
	return nil
}

// sameFile reports whether two names are one file, in a file system that ignores case or decomposes letters.
func sameFile(folder *os.Root, a, b string) bool {
	x, err := folder.Stat(a)
	if err != nil {
		return false
	}
	y, err := folder.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// saved returns the files of an earlier Save. It refuses a folder with other contents, and one with symbolic links, which
// would redirect writes.
func saved(folder fs.FS) (map[string]bool, error) {
	found, others := map[string]bool{}, 0
	var problems Problems
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			problems = append(problems, Problem{Path: name, Message: "it is not a regular file"})
		case name == "site.yaml" || placed(name):
			found[name] = true
		case !strings.EqualFold(name, "README.md"):
			others++
		}
		return nil
	})
	if err == nil && !found["site.yaml"] && others+len(found) > 0 {
		problems = append(problems, Problem{Path: "site.yaml", Message: fmt.Sprintf(
			"there is none, but %d other files: name an empty folder, or one that a site was exported to", others+len(found))})
	}
	if err == nil && len(problems) > 0 {
		err = problems.sorted()
	}
	return found, err
}

func placed(name string) bool {
	for _, pattern := range layout {
		if ok, _ := path.Match(pattern, name); ok { // the patterns are valid
			return true
		}
	}
	return false
}
