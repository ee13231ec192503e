package desk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// saidTexts returns the texts in templates and code.
func saidTexts(t *testing.T) map[string]bool {
	t.Helper()
	said := map[string]bool{}
	call := regexp.MustCompile(`[{(\s](?:t|n \S+) ("(?:[^"\\]|\\.)*")`)
	err := fs.WalkDir(templateFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templateFiles.ReadFile(name)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			said[unquote(t, m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // the files are enough
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range packages["desk"].Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				for _, text := range saidBy(t, c) {
					said[text] = true
				}
			}
			return true
		})
	}
	return said
}

// saidBy are the texts that a call of T or N has, or of act, which returns texts for N.
func saidBy(t *testing.T, c *ast.CallExpr) []string {
	t.Helper()
	name := ""
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	at := map[string]int{"T": 0, "N": 1, "say": 0}
	i, ok := at[name]
	if !ok || i >= len(c.Args) {
		return nil
	}
	if lit, ok := c.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return []string{unquote(t, lit.Value)}
	}
	return nil
}

func unquote(t *testing.T, quoted string) string {
	t.Helper()
	text, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatal(quoted, err)
	}
	return text
}

// Every language has all texts, with as many places for words, and no others.
func TestWords(t *testing.T) {
	t.Parallel()
	said := saidTexts(t)
	for _, one := range acts {
		said[one] = true
	}
	for _, lang := range languages[1:] {
		own := wordsOf()[lang]
		for _, text := range slices.Sorted(maps.Keys(said)) {
			if own[text] == "" {
				t.Errorf("words/%s.json lacks %q", lang, text)
			}
		}
		for _, text := range slices.Sorted(maps.Keys(own)) {
			if !said[text] {
				t.Errorf("words/%s.json has %q, which nothing says", lang, text)
			}
		}
		for text, translated := range own {
			if strings.Count(text, "%s") != strings.Count(translated, "%s") || strings.Count(text, "|") != strings.Count(translated, "|") {
				t.Errorf("words/%s.json: %q and %q have other places", lang, text, translated)
			}
		}
	}
}
