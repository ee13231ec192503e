package filetype_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/filetype"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, head, want string
	}{
		{"a.png", "\x89PNG\r\n\x1a\n\x00", ""}, {"a.PNG", "\x89PNG\r\n\x1a\n\x00", ""}, {"a.jpeg", "\xff\xd8\xff\xe0", ""},
		{"a.txt", "hello", ""}, {"a.txt", "", ""}, {"a.txt", "\xff\xfeh\x00i\x00", ""}, {"a.txt", "MZ is a word", ""},
		{"a.svg", "<svg/>", ""}, {"a.db", "\x00\x01", ""}, {"a.html", "<p>", ""}, {"a.gdoc", "{}", ""},
		{"a.exe", "MZ", "files of this type are not accepted"}, {"a", "x", "files of this type are not accepted"}, {"a.png.php", "x", "files of this type are not accepted"},
		{"a.xlsx", "PK\x03\x04", "files of this type are not accepted"},
		{"a.db", "\x7fELF", "programs are not accepted"}, {"a.txt", "MZ\x90\x00", "programs are not accepted"},
		{"a.png", "<svg/>", "the content is not what the name says"}, {"a.pdf", "", "the content is not what the name says"},
		{"a.txt", "\x89PNG\r\n\x1a\n\x00", "the content is not what the name says"}, {"a.svg", "GIF89a\x00", "the content is not what the name says"},
	}
	for _, tt := range tests {
		if got := filetype.Check(tt.name, []byte(tt.head), filetype.Documents()); got != tt.want {
			t.Errorf("Check(%q, %q) = %q, want %q", tt.name, tt.head, got, tt.want)
		}
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.CSS": "text/css", "b.svg": "image/svg+xml", "c.unknown": "text/html; charset=utf-8", "d.js": "text/javascript",
	} {
		if got := filetype.MediaType(name, []byte("<html>")); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, extension := range filetype.Documents() {
		if got := filetype.MediaType("a."+extension, nil); got == "application/octet-stream" && extension != "db" && extension != "gdoc" {
			t.Errorf("no media type for %s", extension)
		}
	}
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.txt": "a.txt", "../../a.txt": "a.txt", `C:\x\a.txt`: "a.txt", "a\x00\n.txt": "a.txt", " a b.txt ": "a b.txt", "x\u202egpj.js": "xgpj.js",
		"..": "", ".": "", "": "", "a/": "", strings.Repeat("ü", 200) + ".txt": strings.Repeat("ü", 125) + ".txt",
		"." + strings.Repeat("a", 300): "." + strings.Repeat("a", 254),
	} {
		if got := filetype.SafeName(name); got != want {
			t.Errorf("SafeName(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	f.Add("a/b\\c.txt")
	f.Add("." + strings.Repeat("é", 200))
	f.Fuzz(func(t *testing.T, name string) {
		got := filetype.SafeName(name)
		if len(got) > 255 || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\x00\n") || got == ".." || filetype.SafeName(got) != got {
			t.Errorf("SafeName(%q) = %q", name, got)
		}
	})
}

// What claims to be an image of a browser and is another keeps no claim.
func TestTrueImage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ claimed, head, want string }{
		{"image/jpeg", "\xff\xd8\xff\xe0", "image/jpeg"},
		{"image/jpeg", "", "image/jpeg"},
		{"image/jpeg", "\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic", "image/heic"},
		{"image/avif", "\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif", "image/avif"},
		{"image/png", "II*\x00\x08", "image/tiff"},
		{"image/png", "MM\x00*\x08", "image/tiff"},
		{"image/gif", "%PDF-1.7", "application/pdf"},
		{"image/bmp", "\xd7\xcd\xc6\x9a\x00", "image/wmf"},
		{"image/png", "\x01\x00\x00\x00" + strings.Repeat("\x00", 36) + " EMF", "image/emf"},
		{"application/octet-stream", "II*\x00", "application/octet-stream"},
	} {
		if got := filetype.TrueImage(tt.claimed, []byte(tt.head)); got != tt.want {
			t.Errorf("%s that begins with %q is %s, not %s", tt.claimed, tt.head, got, tt.want)
		}
	}
	for kind, want := range map[string]bool{"image/png": true, "IMAGE/JPG": true, "image/svg+xml; charset=utf-8": true, "image/heic": false, "image/tiff": false, "image/x-emf": false, "text/html": false, "": false} {
		if got := filetype.InBrowser(kind); got != want {
			t.Errorf("browsers show %q: %t", kind, got)
		}
	}
}
