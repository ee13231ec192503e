// Package filetype decides which uploaded files are allowed, by their names and first bytes, and with which media type they
// are stored. Both domains use it.
package filetype

import (
	"bytes"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HeadSize is how many bytes of a file [Check] needs.
const HeadSize = 512

// Documents returns the extensions of the files that sites accept.
func Documents() []string {
	return []string{
		"jpg", "jpeg", "png", "gif", "pdf", "zip", "html", "txt", "gzip", "svg", "csv", "sql", "db", "sqlite",
		"doc", "docx", "docm", "dot", "md", "css", "xml", "xhtml", "gdoc", "js", "json",
	}
}

// signatures are the first bytes of files by extension, where they are fixed.
var signatures = map[string][]string{
	"jpg": {"\xff\xd8\xff"}, "jpeg": {"\xff\xd8\xff"}, "png": {"\x89PNG\r\n\x1a\n"}, "gif": {"GIF87a", "GIF89a"},
	"pdf": {"%PDF-"}, "zip": {"PK\x03\x04", "PK\x05\x06", "PK\x07\x08"}, "gzip": {"\x1f\x8b"},
	"docx": {"PK\x03\x04"}, "docm": {"PK\x03\x04"}, "xlsx": {"PK\x03\x04"},
	"sqlite": {"SQLite format 3\x00"}, "doc": {"\xd0\xcf\x11\xe0", "{\\rtf", "PK\x03\x04"}, "dot": {"\xd0\xcf\x11\xe0", "{\\rtf", "PK\x03\x04"},
}

// texts are the extensions of text files.
var texts = []string{"html", "xhtml", "txt", "svg", "csv", "sql", "md", "css", "xml", "gdoc", "js", "json"}

// programs are the first bytes of executable files, which are refused under any name.
var programs = []string{"MZ", "\x7fELF", "\xfe\xed\xfa", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"}

// Check checks an upload by its name and its first [HeadSize] bytes. It returns "" when the extension is among the allowed
// ones and the content matches it, otherwise the reason, which may be shown.
func Check(filename string, head []byte, allowed []string) string {
	extension := extensionOf(filename)
	if !slices.Contains(allowed, extension) {
		return "files of this type are not accepted"
	}
	begins := func(with string) bool { return bytes.HasPrefix(head, []byte(with)) }
	if slices.ContainsFunc(programs, begins) && (head[0] != 'M' || binary(head)) {
		return "programs are not accepted"
	}
	known := signatures[extension]
	if known != nil && !slices.ContainsFunc(known, begins) || slices.Contains(texts, extension) && binary(head) {
		return "the content is not what the name says"
	}
	return ""
}

// binary reports whether a file begins like no text does; UTF-16 with a byte order mark is text.
func binary(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return false
	}
	return bytes.IndexByte(head, 0) >= 0
}

// media maps extensions to the media types to serve. The types known to the system would differ between machines.
var media = map[string]string{
	"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp", "avif": "image/avif",
	"svg": "image/svg+xml", "ico": "image/vnd.microsoft.icon", "pdf": "application/pdf", "zip": "application/zip", "gzip": "application/gzip",
	"gz": "application/gzip", "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "xml": "application/xml",
	"txt": "text/plain", "md": "text/markdown", "csv": "text/csv", "css": "text/css", "js": "text/javascript", "mjs": "text/javascript",
	"json": "application/json", "map": "application/json", "webmanifest": "application/manifest+json", "sql": "application/sql",
	"sqlite": "application/vnd.sqlite3", "doc": "application/msword", "dot": "application/msword",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"docm": "application/vnd.ms-word.document.macroenabled.12",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
	"mp3": "audio/mpeg", "ogg": "audio/ogg", "mp4": "video/mp4", "webm": "video/webm",
}

// MediaType returns the media type of a file by its name, otherwise by its first bytes.
func MediaType(filename string, head []byte) string {
	if known := media[extensionOf(filename)]; known != "" {
		return known
	}
	if len(head) == 0 {
		return "application/octet-stream"
	}
	return http.DetectContentType(head)
}

// images are the media types of the images that every common browser shows, under all the names that mailers give them.
var images = []string{
	"image/png", "image/x-png", "image/apng", "image/jpeg", "image/jpg", "image/pjpeg", "image/gif", "image/webp", "image/avif",
	"image/bmp", "image/x-bmp", "image/x-ms-bmp", "image/svg+xml", "image/x-icon", "image/vnd.microsoft.icon",
}

// InBrowser reports whether browsers show images of a media type; HEIC, TIFF and Windows metafiles are not among them.
func InBrowser(contentType string) bool {
	contentType, _, _ = strings.Cut(contentType, ";")
	return slices.Contains(images, strings.ToLower(strings.TrimSpace(contentType)))
}

// TrueImage returns the media type of a file that claims to be an image which browsers show: another type if its first
// [HeadSize] bytes are those of an image which they do not show, as of HEIC photos named .jpg. Other claims stay.
func TrueImage(claimed string, head []byte) string {
	if !InBrowser(claimed) {
		return claimed
	}
	begins := func(with string) bool { return bytes.HasPrefix(head, []byte(with)) }
	switch {
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && !bytes.Contains(head[8:min(len(head), 64)], []byte("avif")):
		return "image/heic"
	case begins("%PDF-"):
		return "application/pdf"
	case begins("II*\x00"), begins("MM\x00*"):
		return "image/tiff"
	case begins("\xd7\xcd\xc6\x9a"):
		return "image/wmf"
	case len(head) >= 44 && begins("\x01\x00\x00\x00") && string(head[40:44]) == " EMF":
		return "image/emf"
	}
	return claimed
}

func extensionOf(filename string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(filename), "."))
}

const maxName = 255

// SafeName returns the last element of a name without control characters, at most 255 bytes; "" when nothing is left.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	name = strings.TrimSpace(name[strings.LastIndexAny(name, "/\\")+1:])
	if len(name) > maxName {
		stem, extension := name, path.Ext(name)
		if len(extension) >= maxName || len(extension) == len(name) {
			extension = ""
		}
		end := maxName - len(extension)
		for end > 0 && !utf8.RuneStart(stem[end]) {
			end--
		}
		name = stem[:end] + extension
	}
	if name = strings.TrimSpace(name); strings.Trim(name, ".") == "" {
		return ""
	}
	return name
}
