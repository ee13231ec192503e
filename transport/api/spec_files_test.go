package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// fileRow is a row of the specification's tables of site files, themes and theme files: method, path, request and response
// are as it words them. A body that begins with "@" is the file of a multipart body: field, name and content, then other
// fields.
type fileRow struct {
	method, path, request, response string
	bodies                          []string
	status                          int
	keep                            string // placeholder for the id of the created object
}

var fileSections = []struct {
	name string
	rows []fileRow
}{
	{"Site files (bare objects; list wrapped)", []fileRow{
		{"POST", "/sites/<site_id>/files", "multipart: `file` file required; `filename` string optional", "file object",
			[]string{"@file|a.md|# A", "@file|b.md|# B|filename|c.md"}, 201, "file_id"},
		{"GET", "/sites/<site_id>/files", "", "data: array of file", nil, 200, ""},
		{"GET", "/sites/<site_id>/files/<file_id>", "", "file object", nil, 200, ""},
		{"PUT", "/sites/<site_id>/files/<file_id>", "`filename` string optional", "file object", []string{"", "filename=d.md"}, 200, ""},
		{"DELETE", "/sites/<site_id>/files/<file_id>", "", "204", nil, 204, ""},
	}},
	{"Themes", []fileRow{
		{"POST", "/sites/<site_id>/themes", "`name` string (used in the sample; creates a theme with a default structure, layout and design)", "data: theme",
			[]string{"", "name=Default"}, 201, "theme_id"},
		{"GET", "/sites/<site_id>/themes", "", "data: array of theme", nil, 200, ""},
		{"GET", "/sites/<site_id>/themes/<theme_id>", "", "data: theme", nil, 200, ""},
		{"POST", "/sites/<site_id>/themes/<theme_id>/update", "none", "data: theme; applies the pending update (first-party themes only; overrides custom changes)", []string{""}, 200, ""},
		{"DELETE", "/sites/<site_id>/themes/<theme_id>", "", "204", nil, 204, ""},
		{"POST", "/sites/<site_id>/themes/upload", "multipart: `zip` file required, max 30MB", "data: theme", []string{"@zip|theme.zip|<zip>"}, 201, ""},
	}},
	{"Theme files", []fileRow{
		{"GET", "/sites/<site_id>/themes/<theme_id>/files", "", "data: array of theme file (no `content`)", nil, 200, ""},
		{"GET", "/sites/<site_id>/themes/<theme_id>/files/<file_path>", "", "data: theme file", nil, 200, ""},
		{"PUT", "/sites/<site_id>/themes/<theme_id>/files/<file_path>", "`content` string optional (Base64); creates or updates the file", "data: theme file",
			[]string{"", "content=PGgxPng8L2gxPg=="}, 200, ""},
		{"DELETE", "/sites/<site_id>/themes/<theme_id>/files/<file_path>", "", "204", nil, 204, ""},
	}},
}

// Every row of these tables holds; operations with a file are refused without it.
func TestSpecFiles(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			all := settled(t, w)
			all["zip"] = w.must(t, "GET", "/sites/"+all["site_id"]+"/themes/"+all["theme_id"]+"/download", "").Body.String()
			for _, section := range fileSections {
				walk := specWalk{w: w, ids: maps.Clone(all)}
				for _, row := range section.rows {
					t.Run(section.name+": "+row.method+" "+row.path, func(t *testing.T) { walk.fileRow(t, row) })
				}
			}
		})
	}
}

func (s *specWalk) fileRow(t *testing.T, row fileRow) {
	bodies := row.bodies
	if len(bodies) == 0 {
		bodies = []string{""}
	}
	for _, body := range bodies {
		header := []string{"Content-Type", "application/x-www-form-urlencoded"}
		if file, is := strings.CutPrefix(body, "@"); is {
			parts := strings.Split(file, "|")
			if rec := s.w.do(t, "owner", row.method, s.fill(t, row.path), "", header...); rec.Code != http.StatusUnprocessableEntity || problem(t, rec).Errors[parts[0]] == nil {
				t.Errorf("without %s: %d %s", parts[0], rec.Code, rec.Body)
			}
			body, header = formWith(t, parts[0], parts[1], []byte(s.fill(t, parts[2])), parts[3:]...)
		}
		rec := s.w.do(t, "owner", row.method, s.fill(t, row.path), body, header...)
		if rec.Code != row.status {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		if row.response == "204" {
			if rec.Body.Len() > 0 {
				t.Errorf("the body is not empty: %s", rec.Body)
			}
			continue
		}
		var answer any
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		shape := fileShape(row.response)
		id := shape.check(t, answer, false)
		if list := strings.HasPrefix(row.response, "data: array of theme file"); list && strings.Contains(rec.Body.String(), `"content"`) {
			t.Errorf("content in a list: %s", rec.Body)
		}
		if row.keep != "" {
			s.ids[row.keep] = id
		}
	}
}

func fileShape(response string) (shape specShape) {
	rest, wrapped := strings.CutPrefix(response, "data: ")
	rest, list := strings.CutPrefix(rest, "array of ")
	shape.wrapped, shape.list, shape.table = wrapped, list, "siteFile"
	switch {
	case strings.HasPrefix(rest, "theme file"):
		shape.table = "themeFile"
	case strings.HasPrefix(rest, "theme"):
		shape.table = "siteTheme"
	}
	return shape
}
