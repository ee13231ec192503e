package foreign

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Folder is what lies in the folder of an export.
type Folder struct {
	Records []string // files that may have records, sorted

	files fs.FS
}

// OpenFolder looks through a folder and those below. Archives are noted in the report: they are to be unpacked first.
func OpenFolder(ctx context.Context, files fs.FS, report *Report) (*Folder, error) {
	f := &Folder{files: files}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == Attachments {
				return fs.SkipDir // whatever lies there is a file of a message
			}
			return nil
		}
		switch {
		case IsRecords(d):
			f.Records = append(f.Records, name)
		case slices.Contains([]string{".zip", ".gz", ".tgz", ".tar", ".csv", ".xml"}, strings.ToLower(path.Ext(name))):
			report.Problems.Add("a file is left out: "+strings.ToLower(path.Ext(name))+" files are not read; unpack archives, and export JSON", name)
		case strings.HasPrefix(d.Name(), "."):
		default:
			report.Problems.Add("a file is left out: it is no .json, .ndjson or .jsonl file", name)
		}
		return nil
	})
	slices.Sort(f.Records)
	return f, err
}

// Attachments is the folder with the files of messages.
const Attachments = "attachments"

// Attachment finds the bytes of a file by its id, and its name if need be: attachments/ID/NAME, attachments/ID-NAME,
// attachments/ID.EXT or attachments/ID. "" is returned if none is there. Names are made safe: a path never leads elsewhere.
func (f *Folder) Attachment(id, name string) string {
	if id == "" || !plain(id) {
		return ""
	}
	candidates := []string{id + path.Ext(name), id}
	if plain(name) {
		candidates = append([]string{id + "/" + name, id + "-" + name}, candidates...)
	}
	for _, one := range candidates {
		one = path.Join(Attachments, one)
		if !fs.ValidPath(one) || !plain(path.Base(one)) {
			continue
		}
		if info, err := fs.Stat(f.files, one); err == nil && info.Mode().IsRegular() {
			return one
		}
	}
	return ""
}

// plain reports whether a name is that of a file in its folder.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 && !strings.ContainsAny(name, "/\\\x00")
}
