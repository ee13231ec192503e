package tnef_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail/tnef"
	"github.com/helpwright/helpwright/storage/testenv"
)

// attribute writes one attribute of a stream.
func attribute(level byte, id uint32, data string) string {
	var b []byte
	b = append(b, level)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	sum := uint16(0)
	for i := range len(data) {
		sum += uint16(data[i])
	}
	return string(binary.LittleEndian.AppendUint16(b, sum))
}

func stream(attributes ...string) []byte {
	return []byte("\x78\x9f\x3e\x22\x01\x00" + strings.Join(attributes, ""))
}

// property writes a list of one property with one value of variable length.
func property(kind, id uint16, data string) string {
	b := binary.LittleEndian.AppendUint32(nil, 1)
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint16(b, id)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return string(b) + data + strings.Repeat("\x00", (4-len(data)%4)%4)
}

func uncompressed(rtf string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(rtf)+12))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rtf)))
	return string(b) + "MELA\x00\x00\x00\x00" + rtf
}

const messageID = "\x07\x03\x02\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"

func TestDecode(t *testing.T) {
	t.Parallel()
	page := `{\rtf1\ansi\ansicpg1252\fromhtml1 {\fonttbl{\f0 Arial;}}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Gr\'fc\'dfe \u8364 ?{\*\htmltag84 &lt;}\htmlrtf hidden}\htmlrtf0 {\*\htmltag72 </p>}}`
	inner := string(stream(attribute(1, 0x00018004, "Inner\x00"), attribute(1, 0x0002800C, "inside\x00")))
	tests := []struct {
		name string
		in   []byte
		want tnef.Message
	}{
		{"file", stream(attribute(1, 0x00018004, "Hi\x00"), attribute(2, 0x00069002, strings.Repeat("\x00", 14)), attribute(2, 0x00018010, "a.txt\x00"), attribute(2, 0x0006800F, "abc")),
			tnef.Message{Subject: "Hi", Files: []tnef.File{{Name: "a.txt", Content: []byte("abc")}}}},
		{"html", stream(attribute(1, 0x00069003, property(0x0102, 0x1013, "<p>hi</p>"))), tnef.Message{HTML: "<p>hi</p>"}},
		{"unicode body", stream(attribute(1, 0x00069003, property(0x001F, 0x1000, "h\x00i\x00\x00\x00"))), tnef.Message{Text: "hi"}},
		{"html in rtf", stream(attribute(1, 0x00069003, property(0x0102, 0x1009, uncompressed(page)))), tnef.Message{HTML: "<p>Grüße €&lt;</p>"}},
		{"rtf", stream(attribute(1, 0x00069003, property(0x0102, 0x1009, uncompressed(`{\rtf1{\fonttbl x}one\par two \'e9{\*\x y}}`)))), tnef.Message{Text: "one\ntwo é\n"}},
		{"message", stream(attribute(2, 0x00069002, ""), attribute(2, 0x00069005, property(0x000D, 0x3701, messageID+inner))),
			tnef.Message{Files: []tnef.File{{Content: []byte(inner), Message: &tnef.Message{Subject: "Inner", Text: "inside"}}}}},
		{"cut off", stream(attribute(1, 0x00018004, "Hi\x00"))[:12], tnef.Message{Problems: []string{"the stream is cut off"}}},
		{"wrong size", append(stream(), "\x01\x04\x80\x01\x00\xff\xff\xff\xff\x00\x00"...), tnef.Message{Problems: []string{"an attribute is broken or cut off"}}},
		{"wrong properties", stream(attribute(1, 0x00069003, "\xff\xff\xff\xff\x1f\x00")), tnef.Message{Problems: []string{"the properties of the message are broken"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tnef.Decode(tt.in, tnef.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	if _, err := tnef.Decode([]byte("no such file"), tnef.Limits{}); !errors.Is(err, tnef.ErrFormat) {
		t.Errorf("error %v", err)
	}
}

// Nested messages are read up to the limit.
func TestDecodeLimits(t *testing.T) {
	t.Parallel()
	in := string(stream())
	for range 30 {
		in = string(stream(attribute(2, 0x00069002, ""), attribute(2, 0x00069005, property(0x000D, 0x3701, messageID+in))))
	}
	m, err := tnef.Decode([]byte(in), tnef.Limits{Depth: 5})
	if err != nil || len(m.Problems) != 1 || !strings.HasSuffix(m.Problems[0], "messages are nested too deep") {
		t.Errorf("%v %q", err, m.Problems)
	}
	many := stream(strings.Repeat(attribute(2, 0x00069002, ""), 100))
	if m, err = tnef.Decode(many, tnef.Limits{Files: 7}); err != nil || len(m.Files) != 7 || len(m.Problems) != 1 {
		t.Errorf("%d files %q", len(m.Files), m.Problems)
	}
}

// TestCorpus unpacks collected files and compares them with the output of another program.
func TestCorpus(t *testing.T) {
	t.Parallel()
	root := filepath.Join(testenv.Corpus(t), "tnef", "libytnef")
	files, err := filepath.Glob(filepath.Join(root, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	contents := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := tnef.Decode(raw, tnef.Limits{})
		if err != nil {
			continue
		}
		t.Logf("%s: %d files, text %d, HTML %d, %q %q", filepath.Base(file), len(m.Files), len(m.Text), len(m.HTML), m.Class, m.Problems)
		for _, f := range m.Files {
			contents[f.Name] = f.Content
		}
	}
	results, err := filepath.Glob(filepath.Join(root, "results", "*"))
	if err != nil || len(results) == 0 {
		t.Fatal(results, err)
	}
	for _, result := range results {
		want, err := os.ReadFile(result)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, content := range contents {
			found = found || bytes.Equal(content, want)
		}
		if !found {
			t.Errorf("%s is in no file", filepath.Base(result))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(stream(attribute(1, 0x00018004, "Hi\x00"), attribute(2, 0x00069002, ""), attribute(2, 0x00018010, "a\x00"), attribute(2, 0x0006800F, "abc")))
	f.Add(stream(attribute(1, 0x00069003, property(0x0102, 0x1009, uncompressed(`{\rtf1\fromhtml1{\*\htmltag <p>}a\u8364 ?}`)))))
	f.Add(stream(attribute(1, 0x00069003, property(0x0102, 0x1009, "\x20\x00\x00\x00\x20\x00\x00\x00LZFu\x00\x00\x00\x00\x03\x00\x0a\x00rcpg125\x42\x32\x0a\xf3\x20hel"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := tnef.Decode(b, tnef.Limits{Files: 20, Depth: 3, RTF: 1 << 16})
		if err == nil && (len(m.Files) > 20 || len(m.Problems) > 20) {
			t.Errorf("%d files, %d problems", len(m.Files), len(m.Problems))
		}
	})
}

func ExampleDecode() {
	m, err := tnef.Decode(stream(attribute(1, 0x00018004, "The plans\x00"), attribute(1, 0x0002800C, "See there.\x00")), tnef.Limits{})
	fmt.Println(m.Subject, m.Text, err)
	// Output: The plans See there. <nil>
}

// TestGrowth checks that the cost of hostile streams is linear in their size.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	rtf := func(text string) []byte {
		return stream(attribute(1, 0x00069003, property(0x0102, 0x1009, uncompressed(`{\rtf1\ansi\fromhtml1 `+text+`}`))))
	}
	for name, write := range map[string]func(n int) []byte{
		"attributes": func(n int) []byte { return stream(strings.Repeat(attribute(1, 0x00018004, "Hi\x00"), n/14)) },
		"files": func(n int) []byte {
			return stream(strings.Repeat(attribute(2, 0x00069002, "")+attribute(2, 0x00018010, "a\x00")+attribute(2, 0x0006800F, "x"), n/36))
		},
		"bytes": func(n int) []byte { return append(stream(), strings.Repeat("\x01", n)...) },
		"properties": func(n int) []byte {
			return stream(attribute(1, 0x00069003, strings.Repeat("\xff\xff\x00\x00\x1f\x00", n/6)))
		},
		"groups":      func(n int) []byte { return rtf(strings.Repeat(`{`, n)) },
		"closed ones": func(n int) []byte { return rtf(strings.Repeat(`{\b x}`, n/6)) },
		"ends":        func(n int) []byte { return rtf(strings.Repeat(`}`, n)) },
		"tags":        func(n int) []byte { return rtf(strings.Repeat(`{\*\htmltag64 <p>}`, n/18)) },
		"words":       func(n int) []byte { return rtf(strings.Repeat(`\u8364 ?\'e9`, n/12)) },
		"hidden":      func(n int) []byte { return rtf(strings.Repeat(`\htmlrtf `, n/9)) },
		"another rtf": func(n int) []byte {
			return stream(attribute(1, 0x00069003, property(0x0102, 0x1009, uncompressed(strings.Repeat(`{\rtf1 `, n/7)))))
		},
		"not all of it": func(n int) []byte {
			return stream(strings.Repeat("\x01\x04\x80\x01\x00\x00\x00\x00\x00\x00\x00", n/11))
		},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, 16<<10, func(n int) func() {
				b := write(n)
				return func() { _, _ = tnef.Decode(b, tnef.Limits{Files: 1 << 20, Depth: 10}) }
			})
		})
	}
}
