package transport

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"reflect"
)

// A cursor that clients see is that of a [storage.Page] with a tag of the list and its order, so that a cursor of another
// list or order is refused: its position would be nonsense there. The filters of a list are not in the tag: any position is
// good for all of them.

// tagSize is the length of a tag.
const tagSize = 6

// notACursor is refused by every list.
const notACursor = "!"

// paged is an input with a [Paging].
type paged interface{ acceptCursor(tag string) }

// acceptCursor leaves the cursor that a list understands.
func (p *Paging) acceptCursor(tag string) {
	if p.Cursor == "" {
		return
	}
	if at := len(p.Cursor) - tagSize; at > 0 && p.Cursor[at:] == tag {
		p.Cursor = p.Cursor[:at]
		return
	}
	p.Cursor = notACursor
}

// listTag is the tag of the requested list in the order that its input names.
func (r *Request) listTag(in any) string {
	list := r.route.ID + "\x00" + r.http.URL.Path
	v := reflect.ValueOf(in).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name := f.Tag.Get("query"); (name == "sort_by" || name == "sort_type") && f.Type.Kind() == reflect.String {
			list += "\x00" + cmp.Or(v.FieldByIndex(f.Index).String(), f.Tag.Get("default"))
		}
	}
	sum := sha256.Sum256([]byte(list))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:tagSize]
}
