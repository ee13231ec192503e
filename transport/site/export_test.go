package site

import "github.com/helpwright/helpwright/kb/contenthtml"

// ToMarkdown writes HTML that was cleaned as Markdown.
func ToMarkdown(content string) string { return contenthtml.ToMarkdown(content) }

// Kept returns the size that the cache reports, and the actual size of its pages.
func (h *Handler) Kept() (counted, really int64) {
	c := h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.used.Front(); e != nil; e = e.Next() {
		page, _ := e.Value.(*kept)
		really += int64(len(page.plain.body))
		for _, in := range page.coded {
			if in.form != nil {
				really += int64(len(in.form.body))
			}
		}
	}
	return c.size, really
}
