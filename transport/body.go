package transport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// Upload is an uploaded file; an input has it as *Upload.
type Upload = form.File

// readBody reads the body into a tree. The tree is nil if there is no body or the input takes none. The body of a DELETE
// counts, too (bulk delete).
//
// A body that contradicts its Content-Type is accepted: the samples in the API's specification send form fields as
// application/json, and command line tools send JSON as a form.
func (r *Request) readBody() (*form.Node, error) {
	if r.bodyRead {
		return r.body, nil
	}
	if !r.route.HasBody() || !hasBody(r.http.Method) || r.http.Body == nil || r.http.Body == http.NoBody {
		return nil, nil //nolint:nilnil // a nil tree is an empty one
	}
	media, params, err := mediaType(r.http.Header)
	if err != nil {
		return nil, err
	}
	limit := r.table.config.Body
	if media == "multipart/form-data" {
		if limit = r.route.MaxBody; limit == 0 {
			limit = r.table.config.Multipart
		}
	}
	if r.http.ContentLength > limit {
		return nil, errTooLarge
	}
	r.stopClock()
	defer r.startClock()
	body := bufio.NewReader(http.MaxBytesReader(r.writer, r.http.Body, limit))
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // a nil tree is an empty one
	}
	switch media {
	case "multipart/form-data":
		if params["boundary"] == "" {
			return nil, fault.New(fault.Malformed, "The multipart body has no boundary.")
		}
		tree, cleanup, err := form.ParseMultipart(body, params["boundary"], r.table.config.Limits)
		r.cleanup = append(r.cleanup, cleanup)
		return tree, err
	case "", "application/json", "application/x-www-form-urlencoded":
		return r.readText(body, media)
	default:
		return nil, fault.New(fault.Unsupported, "The body must be application/x-www-form-urlencoded, multipart/form-data or application/json.")
	}
}

var errTooLarge = fault.New(fault.TooLarge, "The body is too large.")

// readText reads a form or a JSON body.
func (r *Request) readText(body io.Reader, media string) (*form.Node, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, errTooLarge
		}
		return nil, &fault.Error{Kind: fault.Malformed, Message: "The body could not be read.", Err: err}
	}
	limits := r.table.config.Limits
	start := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\uFEFF")), " \t\r\n")
	if len(start) == 0 {
		return nil, nil //nolint:nilnil // a nil tree is an empty one
	}
	looksJSON := start[0] == '{' || start[0] == '['
	switch {
	case media == "application/json" && !looksJSON && bytes.IndexByte(start, '=') > 0 && start[0] != '"':
		if tree, err := form.Parse(string(start), limits); fault.Is(err, fault.Malformed) {
			return form.ParseJSON(text, limits)
		} else {
			return tree, err
		}
	case media == "application/json", looksJSON && (media == "" || json.Valid(text)):
		return form.ParseJSON(text, limits)
	default:
		return form.Parse(string(text), limits)
	}
}

// mediaType returns the media type of the body, "" if there is no Content-Type.
func mediaType(h http.Header) (media string, params map[string]string, err error) {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", nil, fault.New(fault.Unsupported, "The body must not be compressed.")
	}
	label := h.Get("Content-Type")
	if label == "" {
		return "", nil, nil
	}
	media, params, err = mime.ParseMediaType(label)
	if err != nil {
		return "", nil, &fault.Error{Kind: fault.Unsupported, Message: "The Content-Type is malformed.", Err: err}
	}
	if strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json") {
		media = "application/json"
	}
	if c := params["charset"]; c != "" && !strings.EqualFold(c, "utf-8") && !strings.EqualFold(c, "us-ascii") {
		return "", nil, fault.New(fault.Unsupported, "The body must be UTF-8.")
	}
	return media, params, nil
}
