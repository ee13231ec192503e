package openapigen

import (
	"maps"
	"slices"
)

// describer adds common descriptions to properties without their own.
type describer struct {
	words   map[string]string // by the name of a property, or of schema and property with a dot between them
	used    map[string]bool
	unknown map[string]bool
}

// describe completes all schemas of a document. It returns the properties without a description, and the words without a
// property.
func describe(document object, words map[string]string) (undescribed, unused []string) {
	d := describer{words: words, used: map[string]bool{}, unknown: map[string]bool{}}
	d.walk("", document)
	for name := range words {
		if !d.used[name] {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	return slices.Sorted(maps.Keys(d.unknown)), unused
}

func (d *describer) walk(schema string, node any) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			d.walk(schema, one)
		}
	case object:
		for key, value := range node {
			inner, isObject := value.(object)
			switch {
			case key == "schemas" && isObject:
				for name, one := range inner {
					d.walk(name, one)
				}
			case key == "properties" && isObject:
				for name, one := range inner {
					d.property(schema, name, one)
				}
			case key != "example" && key != "default": // which contain no schemas
				d.walk(schema, value)
			}
		}
	}
}

func (d *describer) property(schema, name string, value any) {
	property, ok := value.(object)
	if !ok {
		return
	}
	if property["description"] == nil {
		if text, where := d.find(schema, name); text != "" {
			property["description"] = text
			d.used[where] = true
		} else if property["$ref"] == nil && property["properties"] == nil {
			d.unknown[schema+"."+name] = true
		}
	}
	d.walk(schema, property)
}

func (d *describer) find(schema, name string) (text, where string) {
	for _, where := range []string{schema + "." + name, name} {
		if text := d.words[where]; text != "" {
			return text, where
		}
	}
	return "", ""
}
