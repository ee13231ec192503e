package openapigen

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Example is a request of an operation and its answer.
type Example struct {
	Path      map[string]string // by the names of the parameters
	Query     url.Values
	MediaType string // of Body; "" for none
	// Body consists of maps, lists and texts, as in forms: the schema defines the type of each text.
	Body     any
	Response any // nil if there is no JSON
}

// examples adds examples to the operations of a document. An operation without one, and an example without an operation, are
// errors.
func (g *generator) examples(all map[string][]Example) error {
	left := maps.Clone(all)
	var missing []string
	for _, item := range g.paths {
		for _, operation := range item.(object) { //nolint:forcetypeassert // the generator made it
			one := operation.(object) //nolint:forcetypeassert // the generator made it
			id := fmt.Sprint(one["operationId"])
			if len(all[id]) == 0 {
				missing = append(missing, id)
				continue
			}
			g.example(one, g.best(one, all[id]))
			delete(left, id)
		}
	}
	if len(missing)+len(left) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("operations without an example: %q; examples of none: %q", missing, slices.Sorted(maps.Keys(left)))
	}
	return nil
}

// best returns the first example whose body fits the schema.
func (g *generator) best(operation object, all []Example) Example {
	for _, e := range all {
		schema := dig(operation, "requestBody", "content", e.MediaType, "schema")
		if e.Body != nil && schema != nil && g.components().fits(schema, g.components().typed(schema, e.Body)) {
			return e
		}
	}
	return all[0]
}

// fits reports whether a value has all that its schema requires, and nothing else.
func (c components) fits(schema object, value any) bool {
	schema = c.resolved(schema)
	switch v := value.(type) {
	case object:
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, given := v[fmt.Sprint(name)]; !given {
				return false
			}
		}
		for name, one := range v {
			if p := c.property(schema, name); p == nil || !c.fits(p, one) {
				return false
			}
		}
	case []any:
		items, _ := schema["items"].(object)
		return !slices.ContainsFunc(v, func(one any) bool { return !c.fits(items, one) })
	}
	return true
}

func (g *generator) example(operation object, e Example) {
	parameters, _ := operation["parameters"].([]any)
	for _, p := range parameters {
		parameter, _ := p.(object)
		schema, _ := parameter["schema"].(object)
		name, _ := parameter["name"].(string)
		switch values := e.Query[name]; {
		case parameter["in"] == "path":
			parameter["example"] = g.components().typed(schema, e.Path[name])
		case len(values) == 0:
		case strings.HasSuffix(name, "[]"):
			parameter["example"] = g.components().typed(schema, texts(values))
		case schema["type"] == "array":
			parameter["example"] = g.components().typed(schema, texts(strings.Split(values[0], ",")))
		default:
			parameter["example"] = g.components().typed(schema, values[0])
		}
	}
	body, mediaType := e.Body, e.MediaType
	if body == nil && len(e.Query) > 0 { // a body that may stand in the address, too
		body = g.fromQuery(operation, e.Query)
	}
	if dig(operation, "requestBody", "content", "application/json") != nil {
		mediaType = "application/json"
	}
	if content := dig(operation, "requestBody", "content", mediaType); content != nil && body != nil {
		schema, _ := content["schema"].(object)
		content["example"] = g.components().typed(schema, body)
	}
	responses, _ := operation["responses"].(object)
	for status := range responses {
		if content := dig(responses, status, "content", "application/json"); content != nil && e.Response != nil && status[0] == '2' {
			content["example"] = e.Response
		}
	}
}

// fromQuery returns the fields of a body that stand in an address; nil if there are none.
func (g *generator) fromQuery(operation object, query url.Values) any {
	schema := g.components().resolved(dig(operation, "requestBody", "content", "application/json", "schema"))
	body := map[string]any{}
	for name, values := range query {
		if name = strings.TrimSuffix(name, "[]"); g.components().property(schema, name) != nil {
			body[name] = texts(values)
		}
	}
	if len(body) == 0 {
		return nil
	}
	return body
}

func dig(in object, path ...string) object {
	for _, name := range path {
		in, _ = in[name].(object)
	}
	return in
}

func texts(values []string) []any {
	var all []any
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// components are the schemas of a document, by name.
type components object

func (g *generator) components() components { return g.schemas.components }

// Typed returns the JSON body of an operation for a value whose texts are as in forms; false if the operation takes no JSON.
func Typed(document []byte, operationID string, body any) (any, bool) {
	var doc struct {
		Paths      map[string]map[string]object
		Components struct{ Schemas components }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, false
	}
	for _, item := range doc.Paths {
		for _, operation := range item {
			schema := dig(operation, "requestBody", "content", "application/json", "schema")
			if operation["operationId"] == operationID && schema != nil {
				return doc.Components.Schemas.typed(schema, body), true
			}
		}
	}
	return nil, false
}

// typed converts a value to JSON by a schema.
func (c components) typed(schema object, value any) any {
	schema = c.resolved(schema)
	switch v := value.(type) {
	case string:
		return c.typedText(schema, v)
	case map[string]any:
		if has(schema, "array") {
			return c.typed(schema, ordered(v))
		}
		out := object{}
		for name, one := range v {
			out[name] = c.typed(c.property(schema, name), one)
		}
		return out
	case []any:
		items, _ := schema["items"].(object)
		out := []any{}
		for _, one := range v {
			out = append(out, c.typed(items, one))
		}
		return out
	}
	return value
}

func (c components) typedText(schema object, text string) any {
	if has(schema, "string") && (text != "" || !has(schema, "null")) || len(schema) == 0 {
		return text
	}
	switch {
	case has(schema, "integer"), has(schema, "number"):
		if n := json.Number(text); text != "" {
			if _, err := n.Float64(); err == nil {
				return n
			}
		}
	case has(schema, "boolean"):
		if text != "" {
			return slices.Contains([]string{"1", "true", "on", "yes"}, text)
		}
	case has(schema, "array"):
		if text == "" {
			return []any{}
		}
		return c.typed(schema, []any{text})
	}
	if text == "" {
		return nil
	}
	return text
}

// property returns the schema of a property of an object.
func (c components) property(schema object, name string) object {
	if one := dig(schema, "properties", name); one != nil {
		return one
	}
	more, _ := schema["additionalProperties"].(object)
	return more
}

// resolved follows references, and takes the alternative that is not null.
func (c components) resolved(schema object) object {
	if to, ok := schema["$ref"].(string); ok {
		one, _ := c[strings.TrimPrefix(to, "#/components/schemas/")].(object)
		return c.resolved(one)
	}
	choices, _ := schema["anyOf"].([]any)
	for _, choice := range choices {
		if one, _ := choice.(object); one["type"] != "null" {
			return c.resolved(one)
		}
	}
	return schema
}

// has reports whether values of a schema may have a type.
func has(schema object, name string) bool {
	switch types := schema["type"].(type) {
	case string:
		return types == name
	case []any:
		return slices.Contains(types, any(name))
	}
	return false
}

// ordered returns the values of a map whose names are indexes.
func ordered(of map[string]any) []any {
	if len(of) == 1 && of["0"] == "" { // how forms express []
		return nil
	}
	names := slices.Collect(maps.Keys(of))
	sort.Slice(names, func(i, j int) bool {
		a, _ := strconv.Atoi(names[i])
		b, _ := strconv.Atoi(names[j])
		return a < b
	})
	var all []any
	for _, name := range names {
		all = append(all, of[name])
	}
	return all
}
