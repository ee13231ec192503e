package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:generate go test . -run TestOpenAPI -update
//go:generate go test . -run TestAsyncAPI -update

//go:embed openapi.json
var openAPI []byte

//go:embed asyncapi.json
var asyncAPI []byte

//go:embed guides.html
var guides string

// OpenAPI returns the OpenAPI 3.1 document of the API, made from the table.
func OpenAPI() []byte { return bytes.Clone(openAPI) }

// AsyncAPI returns the AsyncAPI 3.0 document of the events that the API streams and posts to webhooks.
func AsyncAPI() []byte { return bytes.Clone(asyncAPI) }

// versioned sets the program's version in the document.
func versioned(document []byte, version string) []byte {
	if version == "" {
		return document
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var tree struct {
		Info map[string]any `json:"info"`
	}
	var all map[string]any
	if json.Unmarshal(document, &tree) != nil || d.Decode(&all) != nil || tree.Info == nil {
		return document
	}
	tree.Info["version"] = version
	all["info"] = tree.Info
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return document
	}
	return append(out, '\n')
}
