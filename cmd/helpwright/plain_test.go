package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Libraries are used as they are documented, see CONTRIBUTING.md. A bent is a way around that: a package that is imported, or
// a name that is used.
type bent struct {
	what    *regexp.Regexp // of "import PATH", "comment TEXT", "PACKAGE.NAME", "METHOD()" and "string TEXT"
	allowed []string       // packages that have another use for it
	why     string
}

var bents = []bent{
	{regexp.MustCompile(`^import (unsafe|C)$`), nil, "memory that belongs to others is not looked into"},
	{regexp.MustCompile(`^import modernc\.org/(libc|sqlite/lib)$`), nil, "SQLite's memory and its functions are the driver's"},
	{regexp.MustCompile(`^comment //go:linkname `), nil, "names that a package does not export are its own"},
	{regexp.MustCompile(`^reflect\.NewAt$|^(UnsafeAddr|UnsafePointer)\(\)$`), nil, "fields that a type does not export are its own"},
	{regexp.MustCompile(`^FieldByName string [a-z_]`), nil, "fields that a type does not export are its own"},
	{regexp.MustCompile(`^string _html_template_`), nil, "html/template's functions are its own"},
	{regexp.MustCompile(`^import text/template/parse$`), []string{"kb/theme"}, "templates are executed as html/template made them; only the bounds on foreign themes look at their trees"},
	{regexp.MustCompile(`^(syscall|unix)\.(Raw)?Syscall|^(syscall|unix)\.Madvise$`), nil, "no system call makes a figure smaller"},
	{regexp.MustCompile(`^debug\.(SetGCPercent|SetMemoryLimit|FreeOSMemory)$`), nil, "memory is the operator's: GOGC and GOMEMLIMIT"},
}

func TestLibrariesAreUsedAsDocumented(t *testing.T) {
	t.Parallel()
	for path, uses := range usesOfModule(t) {
		folder := filepath.ToSlash(filepath.Dir(path))
		for _, use := range uses {
			for _, b := range bents {
				if b.what.MatchString(use) && !matches(folder, b.allowed) {
					t.Errorf("%s: %s: %s", path, use, b.why)
				}
			}
		}
	}
}

// The rule finds what it forbids.
func TestBents(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`import "unsafe"`:                                         "import unsafe",
		`import _ "unsafe"`:                                       "import unsafe",
		`import sqlite3 "modernc.org/sqlite/lib"`:                 "import modernc.org/sqlite/lib",
		"import _ \"embed\"\n//go:linkname a runtime.a\nfunc a()": "comment //go:linkname a runtime.a",
		`import "reflect"; var v = reflect.NewAt(nil, nil)`:       "reflect.NewAt",
		`import r "reflect"; var v = r.NewAt`:                     "reflect.NewAt",
		`var v = f().UnsafeAddr()`:                                "UnsafeAddr()",
		`var v = f().FieldByName("db")`:                           "FieldByName string db",
		`const name = "_html_template_urlfilter"`:                 "string _html_template_urlfilter",
		`import "syscall"; var a, b, c = syscall.RawSyscall6()`:   "syscall.RawSyscall6",
		`import "golang.org/x/sys/unix"; var e = unix.Madvise()`:  "unix.Madvise",
		`import "runtime/debug"; var a = debug.SetGCPercent(400)`: "debug.SetGCPercent",
		`import "text/template/parse"`:                            "import text/template/parse",
	} {
		uses := usesOf(t, "x.go", "package x\n"+source)
		found := slices.ContainsFunc(bents, func(b bent) bool { return slices.ContainsFunc(uses, b.what.MatchString) })
		if !found || !slices.Contains(uses, want) {
			t.Errorf("%s: %q is not in %q", source, want, uses)
		}
	}
	for _, source := range []string{`import "syscall"; var s = syscall.SIGTERM`, `var v = f().FieldByName("ID")`, `import "html/template"; var t = template.New("")`} {
		for _, use := range usesOf(t, "x.go", "package x\n"+source) {
			for _, b := range bents {
				if b.what.MatchString(use) {
					t.Errorf("%s: %s is forbidden", source, use)
				}
			}
		}
	}
}

// usesOfModule returns the uses in each file of the module that is not a test, for all systems.
func usesOfModule(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../.." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		own, err := filepath.Rel("../..", path)
		all[own] = usesOf(t, path, nil)
		return err
	})
	if err != nil || len(all) < 500 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// usesOf returns the uses in a file, as the rules name them.
func usesOf(t *testing.T, path string, source any) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	uses, packages := map[string]bool{}, map[string]string{} // the last part of each import, by the name it has here
	for _, i := range f.Imports {
		imported, _ := strconv.Unquote(i.Path.Value) // it is one
		uses["import "+imported] = true
		last := imported[strings.LastIndexByte(imported, '/')+1:]
		packages[last] = last
		if i.Name != nil {
			packages[i.Name.Name] = last
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			uses["comment "+c.Text] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && packages[x.Name] != "" {
				uses[packages[x.Name]+"."+n.Sel.Name] = true
			}
			uses[n.Sel.Name+"()"] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				uses["string "+text] = true
			}
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || called.Sel.Name != "FieldByName" || len(n.Args) != 1 {
				break
			}
			if name, ok := n.Args[0].(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(name.Value) // it compiles
				uses["FieldByName string "+text] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(uses))
}
