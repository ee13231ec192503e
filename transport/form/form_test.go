package form_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// plain turns a tree into maps and strings to compare.
func plain(n *form.Node) any {
	switch n.Kind() {
	case form.Null:
		return nil
	case form.Group:
		m := map[string]any{}
		for _, name := range n.Names() {
			m[name] = plain(n.Get(name))
		}
		return m
	case form.List:
		items, _, _ := n.Items(1 << 20)
		list := []any{}
		for _, item := range items {
			list = append(list, plain(item.Node))
		}
		return list
	case form.Upload:
		return "file " + n.File().Filename
	default:
		return n.Text()
	}
}

type group = map[string]any

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]group{
		"":                                       {},
		"&&":                                     {},
		"a=1&b=":                                 {"a": "1", "b": ""},
		"a":                                      {"a": ""},
		"a=1=2":                                  {"a": "1=2"},
		"a=x+y%26z":                              {"a": "x y&z"},
		"a[b]=1&a[c]=2":                          {"a": group{"b": "1", "c": "2"}},
		"a%5Bb%5D=1":                             {"a": group{"b": "1"}},
		"translations[en-GB][name]=N":            {"translations": group{"en-GB": group{"name": "N"}}},
		"emails[0][email]=x&emails[1][email]=y":  {"emails": group{"0": group{"email": "x"}, "1": group{"email": "y"}}},
		"a[]=1&a[]=2":                            {"a": group{"0": "1", "1": "2"}},
		"a[5]=1&a[]=2":                           {"a": group{"5": "1", "6": "2"}},
		"a[][b]=1&a[][b]=2":                      {"a": group{"0": group{"b": "1"}, "1": group{"b": "2"}}},
		"filters[status][]=a&filters[status][]=": {"filters": group{"status": group{"0": "a", "1": ""}}},
		"schedule[mon][from]=09:00":              {"schedule": group{"mon": group{"from": "09:00"}}},
		"a=1&a=2":                                {"a": "2"},
		"a[999999999999]=1":                      {"a": group{"999999999999": "1"}},
		"é=ü":                                    {"é": "ü"},
	} {
		n, err := form.Parse(in, form.Limits{})
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if diff := cmp.Diff(any(want), plain(n)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	deep := "a" + strings.Repeat("[b]", 15)
	for _, tt := range []struct {
		in    string
		kind  fault.Kind
		field string
	}{
		{"translations[en=1", fault.Invalid, "translations[en"},
		{"a]=1", fault.Invalid, "a]"},
		{"a[b]c=1", fault.Invalid, "a[b]c"},
		{"a[b]]=1", fault.Invalid, "a[b]]"},
		{"a[[b]]=1", fault.Invalid, "a[[b]]"},
		{"[a]=1", fault.Invalid, "[a]"},
		{"=1", fault.Invalid, ""},
		{"a=1&a[b]=2", fault.Invalid, "a[b]"},
		{"a[b]=1&a=2", fault.Invalid, "a"},
		{"a%ff=1", fault.Invalid, "a\uFFFD"},
		{"a%00=1", fault.Invalid, "a\uFFFD"},
		{"a=%zz", fault.Malformed, ""},
		{"%=1", fault.Malformed, ""},
		{deep + "[c]=1", fault.Invalid, deep + "[c]"},
		{strings.Repeat("x", 300) + "=1", fault.Invalid, strings.Repeat("x", 100) + "…"},
		{strings.Repeat("a[]=1&", 10_001), fault.TooLarge, ""},
		{strings.Repeat("a=1&", 1_002), fault.Invalid, "a"},
	} {
		_, err := form.Parse(tt.in, form.Limits{})
		checkFault(t, tt.in, err, tt.kind, tt.field)
	}
	if _, err := form.Parse(deep+"=1", form.Limits{}); err != nil {
		t.Errorf("depth 16: %v", err)
	}
}

func checkFault(t *testing.T, in string, err error, kind fault.Kind, field string) {
	t.Helper()
	in = in[:min(40, len(in))]
	f, ok := err.(*fault.Error) //nolint:errorlint // the package promises the bare fault
	if !ok || f.Kind != kind {
		t.Errorf("%q: got %v, want %v", in, err, kind)
		return
	}
	if kind == fault.Invalid && f.Fields[field] == nil {
		t.Errorf("%q: fields %v, want %q", in, f.Fields, field)
	}
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]group{
		`{}`:                                   {},
		"\uFEFF { } ":                          {},
		`{"a":1,"b":"x","c":true,"d":null}`:    {"a": "1", "b": "x", "c": "true", "d": nil},
		`{"a":-1.50e3 , "b" : [ 1, "2" ,[]] }`: {"a": "-1.50e3", "b": []any{"1", "2", []any{}}},
		`{"a":{"b":[{"c":"d"}]}}`:              {"a": group{"b": []any{group{"c": "d"}}}},
		`{"a":1,"a":2}`:                        {"a": "2"},
		`{"a":"x\"\\\n\u00e9\ud83d\ude00"}`:    {"a": "x\"\\\né😀"},
		`{"a":"{[,]}:\\"}`:                     {"a": `{[,]}:\`},
		`{"a\u0062":9007199254740993}`:         {"ab": "9007199254740993"},
		`{"a":"\ufffd` + "\uFFFD" + `"}`:       {"a": "\uFFFD\uFFFD"},
		`{"":1,"a[b]":2}`:                      {"": "1", "a[b]": "2"},
	} {
		n, err := form.ParseJSON([]byte(in), form.Limits{})
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if diff := cmp.Diff(any(want), plain(n)); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		for _, name := range n.Names() {
			if !n.Get(name).Valid() {
				t.Errorf("%s: %s is marked as invalid text", in, name)
			}
		}
	}
}

func TestParseJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		kind  fault.Kind
		field string
	}{
		{`{`, fault.Malformed, ""},
		{`{"a":1}x`, fault.Malformed, ""},
		{`{"a":01}`, fault.Malformed, ""},
		{``, fault.Malformed, ""},
		{`[]`, fault.Malformed, ""},
		{`"a"`, fault.Malformed, ""},
		{`{"a":{"` + "\xff" + `":1}}`, fault.Invalid, "a[\uFFFD]"},
		{`{"\ud800":1}`, fault.Invalid, "\uFFFD"},
		{`{"a":[` + strings.Repeat("0,", 1000) + `0]}`, fault.Invalid, "a"},
		{`{"a":` + strings.Repeat("[[0],", 20) + "0" + strings.Repeat("]", 20) + `}`, fault.Invalid, "a" + strings.Repeat("[1]", 14) + "[0][0]"},
		{`{"a":` + strings.Repeat(`{"b":`, 16) + "0" + strings.Repeat("}", 16) + `}`, fault.Invalid, "a" + strings.Repeat("[b]", 16)},
		{`{"a":[` + strings.TrimSuffix(strings.Repeat("["+strings.Repeat("0,", 999)+"0],", 11), ",") + `]}`, fault.TooLarge, ""},
		{`{"` + strings.Repeat("k", 257) + `":1}`, fault.Invalid, strings.Repeat("k", 100) + "…"},
	} {
		_, err := form.ParseJSON([]byte(tt.in), form.Limits{})
		checkFault(t, tt.in, err, tt.kind, tt.field)
	}
}

func TestJSONInvalidTextIsMarked(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"a":"x` + "\xff" + `"}`, `{"a":"\n` + "\xff" + `"}`, `{"a":"\ud800"}`, `{"a":"\u0000"}`} {
		n, err := form.ParseJSON([]byte(in), form.Limits{})
		if err != nil || n.Get("a").Valid() {
			t.Errorf("%q: %v, valid %v", in, err, n.Get("a").Valid())
		}
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"a[2]=c&a[0]=a&a[10]=k", "0=a 2=c 10=k"},
		{"a=1&a=2&a=3", "0=1 1=2 2=3"},
		{"a=", ""},
		{"a[]=", ""},
		{"a[]=&a[]=", "0= 1="},
		{"a=x", "! must be a list"},
		{"a[x]=1", "![x] is no index of a list"},
		{"a[01]=1", "![01] is no index of a list"},
		{"a[1000]=1", "![1000] must be an index below 1000"},
		{"a[99999999999999999999]=1", "![99999999999999999999] is no index of a list"},
	} {
		n, err := form.Parse(tt.in, form.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		items, field, problem := n.Get("a").Items(1000)
		var got []string
		for _, item := range items {
			got = append(got, item.Index+"="+item.Node.Text())
		}
		text := strings.Join(got, " ")
		if problem != "" {
			text = "!" + field + " " + problem
		}
		if text != tt.want {
			t.Errorf("%s: %q, want %q", tt.in, text, tt.want)
		}
	}
}

// Indexes are names until a list is requested, so a high one costs nothing.
func TestSparseIndexesDoNotAllocate(t *testing.T) { //nolint:paralleltest // it measures
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := form.Parse("a[999]=1&b[999999]=1&c[0][999][0][999]=1", form.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, problem := n.Get("a").Items(1000); problem != "" {
		t.Error(problem)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
		t.Errorf("allocated %d bytes", grown)
	}
}

func multipartBody(t testing.TB, write func(w *multipart.Writer)) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.Boundary()
}

func TestParseMultipart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	big := strings.Repeat("0123456789", 200)
	body, boundary := multipartBody(t, func(w *multipart.Writer) {
		_ = w.WriteField("tags[]", "1")
		_ = w.WriteField("tags[]", "2")
		small, _ := w.CreateFormFile("small", `C:\x\..\é.txt`)
		_, _ = io.WriteString(small, "hello")
		large, _ := w.CreateFormFile("large", "../../etc/passwd")
		_, _ = io.WriteString(large, big)
		_, _ = w.CreateFormFile("none", "")
	})
	n, cleanup, err := form.ParseMultipart(body, boundary, form.Limits{Memory: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := group{"tags": group{"0": "1", "1": "2"}, "small": "file C:\\x\\..\\é.txt", "large": "file passwd", "none": ""}
	if diff := cmp.Diff(any(want), plain(n)); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"small": "hello", "large": big} {
		file := n.Get(name).File()
		for range 2 {
			if got := content(t, file); got != want || file.Size != int64(len(want)) {
				t.Errorf("%s: %d bytes, size %d", name, len(got), file.Size)
			}
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d temporary files, want 1", len(files))
	}
	cleanup()
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d temporary files are left", len(files))
	}
}

func content(t *testing.T, f *form.File) string {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParseMultipartRefuses(t *testing.T) {
	t.Parallel()
	limits := form.Limits{TextSize: 100, Files: 2, Fields: 5}
	for name, tt := range map[string]struct {
		write func(w *multipart.Writer)
		kind  fault.Kind
		field string
	}{
		"text":   {func(w *multipart.Writer) { _ = w.WriteField("a", strings.Repeat("x", 101)) }, fault.TooLarge, ""},
		"fields": {func(w *multipart.Writer) { repeat(6, func() { _ = w.WriteField("a", "") }) }, fault.TooLarge, ""},
		"files":  {func(w *multipart.Writer) { repeat(3, func() { _, _ = w.CreateFormFile("a", "f") }) }, fault.TooLarge, ""},
		"name":   {func(w *multipart.Writer) { _ = w.WriteField("a[b", "") }, fault.Invalid, "a[b"},
		"noname": {func(w *multipart.Writer) { _, _ = w.CreatePart(nil) }, fault.Malformed, ""},
		"utf8":   {func(w *multipart.Writer) { _, _ = w.CreateFormFile("a", "\xff.txt") }, fault.Invalid, "a"},
	} {
		body, boundary := multipartBody(t, tt.write)
		_, cleanup, err := form.ParseMultipart(body, boundary, limits)
		cleanup()
		checkFault(t, name, err, tt.kind, tt.field)
	}
}

// A body that was cut off anywhere is refused, also when it comes byte by byte.
func TestParseMultipartCutOff(t *testing.T) {
	t.Parallel()
	const part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n"
	whole := part + part + "--b--"
	for i := range len(whole) + 1 {
		for _, r := range []io.Reader{strings.NewReader(whole[:i]), iotest.OneByteReader(strings.NewReader(whole[:i]))} {
			_, cleanup, err := form.ParseMultipart(r, "b", form.Limits{})
			cleanup()
			if i == len(whole) {
				if err != nil {
					t.Errorf("whole: %v", err)
				}
				continue
			}
			checkFault(t, whole[:i], err, fault.Malformed, "")
		}
	}
}

func repeat(n int, f func()) {
	for range n {
		f()
	}
}

func ExampleParse() {
	tree, err := form.Parse("first_name=Ada&emails[0][email]=ada@example.org", form.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tree.Get("first_name").Text(), tree.Get("emails").Get("0").Get("email").Text())
	// Output: Ada ada@example.org
}
