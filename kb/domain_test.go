package kb_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb"
)

// The knowledge base announces every permission that it checks, and who may view its events.
func TestDomain(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "permission.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	announced, checked := kb.Domain(), 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value) //nolint:forcetypeassert // panics in the test
		switch {
		case err != nil:
			t.Error(err)
		case !strings.Contains(text, "."): // no role can hold it
		case !slices.Contains(announced.Permissions, text):
			t.Errorf("%s is not announced", text)
		default:
			checked++
		}
		return false
	})
	if checked < 20 {
		t.Errorf("only %d permissions were found", checked)
	}
	for _, kind := range kb.EventTypes() {
		area, _, _ := strings.Cut(kind.Name, ".")
		if announced.Areas[area] == "" {
			t.Errorf("nobody in particular may view %s", kind.Name)
		}
	}
}
