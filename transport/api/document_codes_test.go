package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/fault"
)

// codes are those that problems have: of the kinds of faults, and those that the packages behind the API give to faults.
func codes(t *testing.T) []string {
	t.Helper()
	var all []string
	for kind := fault.Internal; ; kind++ {
		name := kind.String()
		if name == "" || slices.Contains(all, name) {
			break
		}
		all = append(all, name)
	}
	constants, used := map[string]string{}, []ast.Expr{}
	for _, dir := range []string{".", "..", "../../helpdesk", "../../helpdesk/identity", "../../helpdesk/ledger", "../../helpdesk/sending", "../../helpdesk/subscription", "../../kb", "../../storage"} {
		files := token.NewFileSet()
		packages, err := parser.ParseDir(files, dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // build tags do not matter here
		if err != nil {
			t.Fatal(filepath.Clean(dir), err)
		}
		for _, p := range packages {
			for _, f := range p.Files {
				ast.Inspect(f, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.ValueSpec:
						for i, name := range n.Names {
							if i < len(n.Values) {
								if text, ok := textOf(n.Values[i]); ok {
									constants[name.Name] = text
								}
							}
						}
					case *ast.CompositeLit:
						if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" {
							used = append(used, valueOf(n, "Code")...)
						}
					}
					return true
				})
			}
		}
	}
	for _, e := range used {
		code, ok := textOf(e)
		switch e := e.(type) {
		case *ast.Ident:
			code, ok = constants[e.Name]
		case *ast.SelectorExpr:
			code, ok = constants[e.Sel.Name]
		}
		if ok && !slices.Contains(all, code) {
			all = append(all, code)
		}
	}
	slices.Sort(all)
	return all
}

func textOf(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// valueOf returns the value of a field in a literal.
func valueOf(n *ast.CompositeLit, field string) (values []ast.Expr) {
	for _, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == field {
				values = append(values, kv.Value)
			}
		}
	}
	return values
}

// The document names the codes that programs meet, of every kind.
func TestCodes(t *testing.T) {
	t.Parallel()
	all := codes(t)
	for _, code := range []string{"not_found", "invalid", "forbidden", "second_factor_required", "events_lost", "idempotency_key_in_use", "too_many_attempts", "last_owner"} {
		if !slices.Contains(all, code) {
			t.Errorf("%s is missing in %q", code, all)
		}
	}
	if len(all) < 35 || slices.ContainsFunc(all, func(code string) bool { return strings.ContainsAny(code, " -.") || code != strings.ToLower(code) }) {
		t.Errorf("%d codes: %q", len(all), all)
	}
}
