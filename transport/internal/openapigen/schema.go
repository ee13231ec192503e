package openapigen

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go/openapi31"
	"github.com/swaggest/refl"

	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/bind"
)

var (
	optionalType = reflect.TypeFor[bind.Optional]()
	fileType     = reflect.TypeFor[transport.Upload]()
	timeType     = reflect.TypeFor[transport.Time]()
	encodedType  = reflect.TypeFor[encoded]()
)

// encoded is a type whose JSON is that of another Go type, of which it returns a value.
type encoded interface{ EncodedAs() any }

// schemas reflects Go types into the components of the document.
type schemas struct {
	reflector  *openapi31.Reflector
	components object
	seen       map[reflect.Type]bool
	err        error
}

func newSchemas() *schemas {
	s := &schemas{reflector: openapi31.NewReflector(), components: object{}, seen: map[reflect.Type]bool{}}
	s.reflector.AddTypeMapping(transport.Time{}, time.Time{})
	s.reflector.AddTypeMapping(transport.Upload{}, "")
	return s
}

// output reflects a type that the server sends: a field without omitempty is always present.
func (s *schemas) output(t reflect.Type) (object, error) {
	return s.reflect(t, jsonschema.InterceptProp(func(p jsonschema.InterceptPropParams) error {
		tag := p.Field.Tag.Get("json")
		if p.Processed && !strings.Contains(tag, ",omit") && !slices.Contains(p.ParentSchema.Required, p.Name) {
			p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
		}
		return nil
	}))
}

// input reflects a type that a client sends.
func (s *schemas) input(t reflect.Type) (object, error) { return s.reflect(t) }

func (s *schemas) reflect(t reflect.Type, more ...func(*jsonschema.ReflectContext)) (object, error) {
	s.mapOptionals(t)
	options := append([]func(*jsonschema.ReflectContext){
		jsonschema.DefinitionsPrefix("#/components/schemas/"),
		jsonschema.RootRef,
		jsonschema.InterceptDefName(func(t reflect.Type, _ string) string { return definitionName(t) }),
		jsonschema.InterceptNullability(listsAreNotNull),
		jsonschema.InterceptProp(property),
		jsonschema.CollectDefinitions(s.collect),
		func(rc *jsonschema.ReflectContext) { rc.EnvelopNullability = true },
	}, more...)
	schema, err := s.reflector.Reflector.Reflect(reflect.Zero(t).Interface(), options...)
	if err != nil {
		return nil, err
	}
	if s.err != nil {
		return nil, s.err
	}
	return schema.ToSchemaOrBool().ToSimpleMap()
}

func (s *schemas) collect(name string, schema jsonschema.Schema) {
	simple, err := schema.ToSchemaOrBool().ToSimpleMap()
	if err != nil {
		s.err = err
		return
	}
	if simple["anyOf"] != nil && simple["properties"] == nil {
		delete(simple, "type") // of the Go type, which encodes itself as one of several
	}
	s.components[name] = simple
}

// query reflects one query parameter.
func (s *schemas) query(f reflect.StructField) (object, error) {
	t := f.Type
	if reflect.PointerTo(t).Implements(optionalType) {
		t = target(t)
	}
	schema, err := s.reflector.Reflector.Reflect(reflect.Zero(t).Interface(), jsonschema.InlineRefs)
	if err != nil {
		return nil, err
	}
	if err := refl.PopulateFieldsFromTags(&schema, f.Tag); err != nil {
		return nil, err
	}
	if def, ok := f.Tag.Lookup("default"); ok {
		var value any = def
		if schema.HasType(jsonschema.Integer) {
			var n int64
			if err := refl.ReadIntTag(f.Tag, "default", &n); err != nil {
				return nil, err
			}
			value = n
		}
		schema.WithDefault(value)
	}
	simple, err := schema.ToSchemaOrBool().ToSimpleMap()
	if err != nil {
		return nil, err
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		values := []any{}
		for v := range strings.SplitSeq(enum, ",") {
			values = append(values, v)
		}
		if items, ok := simple["items"].(map[string]any); ok {
			items["enum"] = values
		} else {
			simple["enum"] = values
		}
	}
	return simple, nil
}

// property adjusts a field after reflection: Opt is nullable, a file binary.
func property(p jsonschema.InterceptPropParams) error {
	if !p.Processed {
		return nil
	}
	t := p.Field.Type
	switch {
	case reflect.PointerTo(t).Implements(optionalType):
		if p.PropertySchema.Ref == nil {
			p.PropertySchema.AddType(jsonschema.Null)
			break
		}
		inner := jsonschema.Schema{Ref: p.PropertySchema.Ref}
		p.PropertySchema.Ref, p.PropertySchema.Type = nil, nil
		p.PropertySchema.AnyOf = []jsonschema.SchemaOrBool{jsonschema.Null.ToSchemaOrBool(), inner.ToSchemaOrBool()}
	case t.Kind() == reflect.Interface: // a plain value, whatever it is
		for _, kind := range []jsonschema.SimpleType{jsonschema.String, jsonschema.Integer, jsonschema.Boolean, jsonschema.Null} {
			p.PropertySchema.AddType(kind)
		}
	case standsFor(t) == reflect.TypeFor[map[string]any](): // such as the values of fields
		value := jsonschema.Null.ToSchemaOrBool()
		for _, kind := range []jsonschema.SimpleType{jsonschema.Boolean, jsonschema.Number, jsonschema.String, jsonschema.Array} {
			value.TypeObject.AddType(kind)
		}
		value.TypeObject.WithItems(*(&jsonschema.Items{}).WithSchemaOrBool(jsonschema.String.ToSchemaOrBool()))
		p.PropertySchema.WithAdditionalProperties(value)
	case t == reflect.PointerTo(fileType):
		p.PropertySchema.RemoveType(jsonschema.Null)
		p.PropertySchema.WithFormat("binary")
	case t.Kind() == reflect.Slice && p.PropertySchema.Ref != nil && len(p.PropertySchema.Enum) > 0: // of its items
		one := jsonschema.String.ToSchemaOrBool()
		one.TypeObject.Enum = p.PropertySchema.Enum
		p.PropertySchema.Ref, p.PropertySchema.Enum = nil, nil
		p.PropertySchema.AddType(jsonschema.Array)
		p.PropertySchema.WithItems(*(&jsonschema.Items{}).WithSchemaOrBool(one))
	}
	return nil
}

// listsAreNotNull: lists and maps of answers are made, never nil.
func listsAreNotNull(p jsonschema.InterceptNullabilityParams) {
	if k := p.Type.Kind(); p.NullAdded && (k == reflect.Slice || k == reflect.Map) {
		p.Schema.RemoveType(jsonschema.Null)
	}
}

var notName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// definitionName returns the type's own name; generic types get their argument's, too. A type whose name is taken by a
// package ends in Object, which the document leaves out.
func definitionName(t reflect.Type) string {
	name := t.Name()
	if base, argument, ok := strings.Cut(name, "["); ok {
		name = base + argument[strings.LastIndexAny(argument, "./")+1:]
	}
	name = strings.TrimSuffix(notName.ReplaceAllString(name, ""), "Object")
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// target returns the T of an Opt[T].
func target(t reflect.Type) reflect.Type {
	o, ok := reflect.New(t).Interface().(bind.Optional)
	if !ok {
		return t
	}
	return reflect.TypeOf(o.Target()).Elem()
}

// standsFor returns the type whose JSON t has: that of [encoded], or t.
func standsFor(t reflect.Type) reflect.Type {
	if e, ok := reflect.Zero(t).Interface().(encoded); ok {
		return reflect.TypeOf(e.EncodedAs())
	}
	return t
}

// mapOptionals maps every Opt[T] below t for the reflector.
func (s *schemas) mapOptionals(t reflect.Type) {
	if t == nil || s.seen[t] {
		return
	}
	s.seen[t] = true
	switch {
	case t == timeType || t == fileType || t == reflect.TypeFor[time.Time]():
		return
	case t.Kind() != reflect.Interface && t.Implements(encodedType):
		s.reflector.AddTypeMapping(reflect.Zero(t).Interface(), reflect.Zero(standsFor(t)).Interface())
		return
	case t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(optionalType):
		inner := target(t)
		if inner == timeType { // the reflector does not apply mappings repeatedly
			inner = reflect.TypeFor[time.Time]()
		} else {
			inner = standsFor(inner)
		}
		s.reflector.AddTypeMapping(reflect.Zero(t).Interface(), reflect.Zero(inner).Interface())
		s.mapOptionals(inner)
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		s.mapOptionals(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() || f.Anonymous {
				s.mapOptionals(f.Type)
			}
		}
	}
}

func hasFile(t reflect.Type) bool {
	for _, f := range reflect.VisibleFields(t) {
		if f.Type == reflect.PointerTo(fileType) {
			return true
		}
	}
	return false
}
