// Package openapigen makes the OpenAPI 3.1 document of a route table. It is used by tests and go generate only, so that no
// program links a schema reflector.
package openapigen

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/transport"
)

// Info is the head of the document.
type Info struct {
	Title       string
	Version     string
	Description string
	// Words describe properties without a description in their struct tags, by name, or by schema and name ("Webhook.status")
	// if the general meaning does not fit. With Words, a property without any description is an error, and so are unused words.
	Words map[string]string
	// Examples are requests and answers by operation id; the first one whose body fits the schema is used. With Examples, each
	// operation must have one.
	Examples map[string][]Example
	// Codes are the codes of problems; later versions may have more.
	Codes []string
	// Webhook is the name of the schema that is posted to webhooks; "" for none.
	Webhook string
}

type object = map[string]any

// Generate returns the document of the table, indented, with a final newline. It is deterministic.
func Generate(t *transport.Table, info Info) ([]byte, error) {
	g := &generator{schemas: newSchemas(), paths: object{}}
	problem, err := g.schemas.output(reflect.TypeFor[transport.Problem]())
	if err != nil {
		return nil, err
	}
	for _, route := range t.Routes() {
		if err := g.route(route); err != nil {
			return nil, fmt.Errorf("operation %s: %w", route.ID, err)
		}
	}
	if info.Examples != nil {
		if err := g.examples(info.Examples); err != nil {
			return nil, err
		}
	}
	document := object{
		"openapi": "3.1.0",
		"info":    object{"title": info.Title, "version": info.Version, "description": info.Description},
		"servers": []any{object{"url": t.Base()}},
		"paths":   g.paths,
		"tags":    g.tagList(),
		"components": object{
			"schemas": g.schemas.components,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer"},
				"portal": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
					"description": "A portal token, which an application signs for a customer; see createPortalKey."},
				"session": object{"type": "apiKey", "in": "cookie", "name": "helpwright_session", "description": "Set by POST /auth/login; over https its name is __Host-helpwright_session. Requests that change something need a Sec-Fetch-Site or Origin of the same site."},
			},
			"headers": headers(),
			"parameters": object{"Idempotency-Key": object{
				"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "minLength": 1, "maxLength": 255},
				"description": "Makes the request safe to repeat: for 24 hours, the same key with the same content returns the first answer. Other " +
					"content is 409, and so is a request whose first attempt is still being processed. Answers over 64 KiB are not repeated " +
					"(409). A 5xx frees the key, as does a crash of the server after two minutes.",
			}},
			"responses": object{"Problem": object{
				"description": "The request failed; see `code`, and `errors` for the fields.",
				"headers":     always(),
				"content":     object{"application/problem+json": object{"schema": problem}},
			}},
		},
	}
	if len(info.Codes) > 0 {
		dig(g.schemas.components, "Problem", "properties", "code")["examples"] = info.Codes
	}
	if info.Webhook != "" {
		document["webhooks"] = object{"event": object{"post": webhook(info.Webhook)}}
	}
	if info.Words != nil {
		if undescribed, unused := describe(document, info.Words); len(undescribed)+len(unused) > 0 {
			return nil, fmt.Errorf("properties without a description: %q; words for none: %q", undescribed, unused)
		}
	}
	out, err := json.MarshalIndent(document, "", "  ")
	return append(out, '\n'), err
}

// webhook describes the request sent to receivers of events, as defined by Standard Webhooks.
func webhook(schema string) object {
	header := func(name, description string) any {
		return object{"name": name, "in": "header", "required": true, "description": description, "schema": object{"type": "string"}}
	}
	answer := func(description string) object { return object{"description": description} }
	return object{
		"operationId": "receiveEvent", "summary": "An event, posted to a webhook", "tags": []any{"Webhooks"},
		"description": "An event of a webhook. Delivered at least once, in no guaranteed order.",
		"security":    []any{},
		"parameters": []any{
			header("webhook-id", "The same on every repeat of this event."),
			header("webhook-timestamp", "When it was signed, in seconds since 1970. Reject it if it is off by more than five minutes."),
			header("webhook-signature", "For each valid secret, `v1,` and the base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, separated by spaces."),
		},
		"requestBody": object{"required": true, "content": object{"application/cloudevents+json": object{"schema": ref("schemas", schema)}}},
		"responses": object{
			"2XX":     answer("The event was accepted."),
			"410":     answer("Switches the webhook off."),
			"default": answer("The event is retried for about a day."),
		},
	}
}

func headers() object {
	text := func(description string) object {
		return object{"description": description, "schema": object{"type": "string"}}
	}
	return object{
		"X-Request-Id": text("Identifies the request in the server's log."),
		"ETag":         text("Strong entity tag, for If-None-Match and If-Match."),
		"Link":         text("RFC 8288: rel=next and rel=prev of the list."),
		"Location":     text("Address of what was created."),

		"RateLimit":            text("What remains: `\"policy\";r=requests;t=seconds until the full quota is back`. A server may have no limits."),
		"RateLimit-Policy":     text("The limit: `\"policy\";q=requests;w=seconds`."),
		"Idempotency-Replayed": text("`true` when the answer was given before, to a request with the same Idempotency-Key."),
	}
}

// always are the headers of every answer.
func always() object {
	return object{
		"X-Request-Id": ref("headers", "X-Request-Id"),
		"RateLimit":    ref("headers", "RateLimit"), "RateLimit-Policy": ref("headers", "RateLimit-Policy"),
	}
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

type generator struct {
	schemas *schemas
	paths   object
	tags    []string
}

func (g *generator) tagList() []any {
	list := []any{}
	for _, tag := range g.tags {
		list = append(list, object{"name": tag})
	}
	return list
}

func (g *generator) route(r transport.Route) error {
	operation, err := g.operation(r)
	if err != nil {
		return err
	}
	if r.Tag != "" && !slices.Contains(g.tags, r.Tag) {
		g.tags = append(g.tags, r.Tag)
	}
	if len(r.Aliases) > 0 {
		operation["x-also-at"] = r.Aliases // not as operations of their own, which would duplicate them for clients
	}
	path := strings.ReplaceAll(r.Path, "...}", "}")
	item, _ := g.paths[path].(object)
	if item == nil {
		item = object{}
		g.paths[path] = item
	}
	item[strings.ToLower(r.Method)] = operation
	return nil
}

func (g *generator) operation(r transport.Route) (object, error) {
	parameters, err := g.parameters(r)
	if err != nil {
		return nil, err
	}
	success, err := g.success(r)
	if err != nil {
		return nil, err
	}
	responses := object{strconv.Itoa(r.Status): success, "default": ref("responses", "Problem")}
	if r.Method == http.MethodGet && r.Shape != transport.List && r.Shape != transport.Events {
		responses["304"] = object{"description": "Not changed since If-None-Match."}
	}
	if r.Shape == transport.File {
		responses["206"] = object{"description": "The requested range.", "content": object{"*/*": object{}}}
	}
	for _, status := range failures(r) {
		responses[strconv.Itoa(status)] = ref("responses", "Problem")
	}
	operation := object{"operationId": r.ID, "responses": responses}
	for key, text := range map[string]string{"summary": r.Summary, "description": r.Description} {
		if text != "" {
			operation[key] = text
		}
	}
	if r.Tag != "" {
		operation["tags"] = []any{r.Tag}
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	security := []any{object{"bearer": []any{}}, object{"session": []any{}}}
	if r.Customers {
		security = append(security, object{"portal": []any{}})
	}
	if r.Public {
		security = append([]any{object{}}, security...)
	}
	operation["security"] = security
	if r.HasBody() {
		body, err := g.body(r)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = body
	}
	return operation, nil
}

// failures are an operation's own failure statuses, in addition to those of all operations, which are in `default`.
func failures(r transport.Route) []int {
	statuses := []int{http.StatusTooManyRequests}
	if !r.Public {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden)
	}
	if len(r.Params()) > 0 || r.Shape == transport.Events {
		statuses = append(statuses, http.StatusNotFound)
	}
	if len(r.QueryNames()) > 0 || r.HasBody() {
		statuses = append(statuses, http.StatusUnprocessableEntity)
	}
	if r.HasBody() {
		statuses = append(statuses, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.Method != http.MethodGet {
		statuses = append(statuses, http.StatusConflict)
	}
	if r.Method == http.MethodPut || r.Method == http.MethodDelete {
		statuses = append(statuses, http.StatusPreconditionFailed)
	}
	return statuses
}

func (g *generator) success(r transport.Route) (object, error) {
	with := always()
	if r.Method == http.MethodPost {
		with["Idempotency-Replayed"] = ref("headers", "Idempotency-Replayed")
	}
	response := object{"description": http.StatusText(r.Status), "headers": with}
	switch r.Shape {
	case transport.Empty:
	case transport.Events:
		response["content"] = object{"text/event-stream": object{"schema": object{"type": "string"}}}
	case transport.File:
		response["content"] = object{"*/*": object{}}
	case transport.Object:
		schema, err := g.schemas.output(r.Out)
		if err != nil {
			return nil, err
		}
		with["ETag"] = ref("headers", "ETag")
		if r.Status == http.StatusCreated {
			with["Location"] = ref("headers", "Location")
		}
		if !r.Bare {
			schema = wrapped(schema)
		}
		response["content"] = object{"application/json": object{"schema": schema}}
	case transport.List:
		schema, err := g.schemas.output(r.Out)
		if err != nil {
			return nil, err
		}
		with["Link"] = ref("headers", "Link")
		list := object{"type": "array", "items": schema}
		response["content"] = object{"application/json": object{"schema": wrapped(list)}}
	}
	return response, nil
}

func wrapped(schema object) object {
	return object{"type": "object", "required": []any{"data"}, "properties": object{"data": schema}}
}

// body offers the three encodings; a file can only come in a multipart body.
func (g *generator) body(r transport.Route) (object, error) {
	schema, err := g.schemas.input(r.In)
	if err != nil {
		return nil, err
	}
	content := object{"multipart/form-data": object{"schema": schema}}
	if !hasFile(r.In) {
		content["application/json"] = object{"schema": schema}
		content["application/x-www-form-urlencoded"] = object{"schema": schema}
	}
	return object{"content": content, "description": "Nested fields of forms are in bracket notation: `a[b]`, `a[0][b]`, `a[]`."}, nil
}

func (g *generator) parameters(r transport.Route) ([]any, error) {
	var list []any
	for _, name := range r.Params() {
		schema := object{"type": "string"}
		if name == "id" || strings.HasSuffix(name, "_id") {
			schema = object{"type": "integer", "format": "int64", "minimum": 1}
		}
		list = append(list, object{"name": name, "in": "path", "required": true, "schema": schema})
	}
	if r.Method == http.MethodPost {
		list = append(list, ref("parameters", "Idempotency-Key"))
	}
	if r.Shape == transport.Events {
		list = append(list, object{"name": "Last-Event-ID", "in": "header", "schema": object{"type": "string"},
			"description": "Id of the last event seen."})
	}
	if r.In == nil {
		return list, nil
	}
	for _, f := range reflect.VisibleFields(r.In) {
		name := f.Tag.Get("query")
		if name == "" {
			continue
		}
		parameter, err := g.parameter(r, f, name)
		if err != nil {
			return nil, err
		}
		list = append(list, parameter)
	}
	return list, nil
}

func (g *generator) parameter(r transport.Route, f reflect.StructField, name string) (object, error) {
	if f.Type == reflect.TypeFor[transport.Expand]() {
		var known []any
		for _, e := range r.Expand {
			known = append(known, e)
		}
		return object{
			"name": name, "in": "query", "style": "form", "explode": false,
			"description": "Related objects to embed.",
			"schema":      object{"type": "array", "items": object{"type": "string", "enum": known}},
		}, nil
	}
	schema, err := g.schemas.query(f)
	if err != nil {
		return nil, err
	}
	if schema["type"] == "array" {
		name += "[]"
	}
	parameter := object{"name": name, "in": "query", "schema": schema}
	if text, ok := schema["description"]; ok {
		parameter["description"] = text
		delete(schema, "description")
	}
	return parameter, nil
}
