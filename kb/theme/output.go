package theme

import "bytes"

// output collects a page up to a maximum size.
type output struct {
	page bytes.Buffer
	left int
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	if o.left -= len(p); o.left < 0 {
		return 0, ErrOutput
	}
	return o.page.Write(p)
}
