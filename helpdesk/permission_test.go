package helpdesk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
)

// The help desk announces exactly the permissions that package identity has constants for.
func TestDomain(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "identity/permission.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value) //nolint:forcetypeassert // panics in the test
		if err != nil {
			t.Error(err)
		}
		want = append(want, text)
		return false
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, helpdesk.Domain().Permissions); diff != "" {
		t.Error(diff)
	}
}
