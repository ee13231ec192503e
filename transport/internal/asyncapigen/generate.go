// Package asyncapigen makes the AsyncAPI 3.0 document of the events of an API. It is used by tests and go generate only.
package asyncapigen

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// Info is the input of [Generate].
type Info struct {
	Title       string
	Version     string
	Description string
	Base        string // path of the API, such as "/api/v1"
	// OpenAPI is the document of the operations. Its schema Event, its webhook and its operation followEvents are copied from
	// it, so that both documents agree.
	OpenAPI []byte
	Types   []storage.EventType
}

type object = map[string]any

// operations are the parts of the OpenAPI document that this one uses.
type operations struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]object `json:"schemas"`
	} `json:"components"`
	Webhooks map[string]struct {
		Post operation `json:"post"`
	} `json:"webhooks"`
}

type operation struct {
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      object `json:"schema"`
}

// Generate returns the document, indented, with a final newline. It is deterministic.
func Generate(info Info) ([]byte, error) {
	var from operations
	if err := json.Unmarshal(info.OpenAPI, &from); err != nil {
		return nil, err
	}
	event, stream, hook := from.Components.Schemas["Event"], from.Paths["/realtime"]["get"], from.Webhooks["event"].Post
	if event == nil || stream.Description == "" || hook.Description == "" {
		return nil, fmt.Errorf("the document of the operations has no schema Event, no GET /realtime or no webhook")
	}
	schemas, messages := object{"Event": event, "WebhookHeaders": parametersOf(hook, "header")}, object{}
	streamed, posted := object{}, object{}
	for _, t := range info.Types {
		schemas[t.Name] = object{"allOf": []any{reference("schemas", "Event"), object{"type": "object", "properties": object{"type": object{"const": t.Name}}}}}
		messages[t.Name] = message(t, "application/json", nil)
		messages["webhook."+t.Name] = message(t, "application/cloudevents+json", reference("schemas", "WebhookHeaders"))
		streamed[t.Name] = reference("messages", t.Name)
		posted[t.Name] = reference("messages", "webhook."+t.Name)
	}
	messages["reset"] = object{
		"name": "reset", "title": "Reset", "contentType": "application/json", "payload": object{"type": "object"},
		"summary": "Some events are not kept any more. Load again what you show.",
	}
	streamed["reset"] = reference("messages", "reset")
	document := object{
		"asyncapi":           "3.0.0",
		"info":               object{"title": info.Title, "version": info.Version, "description": info.Description},
		"defaultContentType": "application/json",
		"servers": object{"api": object{
			"host": "{host}", "pathname": info.Base, "protocol": "https", "security": []any{reference("securitySchemes", "bearer")},
			"variables": object{"host": object{"description": "Where Helpwright is served.", "default": "desk.example.org"}},
		}},
		"channels": object{
			"realtime": object{
				"address": "/realtime", "title": "Stream of events", "description": stream.Description,
				"servers": []any{object{"$ref": "#/servers/api"}}, "messages": streamed,
			},
			"webhook": object{
				"address": nil, "title": "Webhook", "description": hook.Description + " The address is that of the webhook.", "messages": posted,
			},
		},
		"operations": object{
			"followEvents": object{
				"action": "send", "channel": object{"$ref": "#/channels/realtime"}, "summary": "Events to who follows a channel",
				"bindings": object{"http": object{"method": "GET", "query": parametersOf(stream, "query"), "bindingVersion": "0.3.0"}},
			},
			"receiveEvent": object{
				"action": "send", "channel": object{"$ref": "#/channels/webhook"}, "summary": "Events to webhooks",
				"bindings": object{"http": object{"method": "POST", "bindingVersion": "0.3.0"}},
			},
		},
		"components": object{
			"schemas": schemas, "messages": messages,
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer", "description": "A token, as for all operations."}},
		},
	}
	out, err := json.MarshalIndent(document, "", "  ")
	return append(out, '\n'), err
}

func reference(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// message describes the event of a type; headers may be nil.
func message(t storage.EventType, contentType string, headers any) object {
	area, what, _ := strings.Cut(t.Name, ".")
	m := object{
		"name": t.Name, "title": sentence(area) + " " + strings.ReplaceAll(what, "_", " "), "summary": t.Description,
		"contentType": contentType, "payload": reference("schemas", t.Name),
	}
	if headers != nil {
		m["headers"] = headers
	}
	return m
}

func sentence(words string) string {
	words = strings.ReplaceAll(words, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// parametersOf returns the schema of an operation's parameters.
func parametersOf(o operation, in string) object {
	properties, required := object{}, []string{}
	for _, p := range o.Parameters {
		if p.In != in {
			continue
		}
		schema := object{"description": p.Description}
		for name, value := range p.Schema {
			schema[name] = value
		}
		properties[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}
