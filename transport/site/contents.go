package site

import (
	"crypto/sha256"
	"io"
	"sync"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
)

// maxContents is the maximum size in bytes of the contents cached for all sites.
const maxContents = 8 << 20

// content is an article's content as its page has it.
type content struct {
	html   string
	styles string // for the page's stylesheet
	heads  []theme.Heading
}

// contents caches the content made from texts, keyed by the texts, so entries never become outdated. It has two generations:
// half of the room is for entries used since the other half was filled.
type contents struct {
	mu          sync.Mutex
	young, old  map[[sha256.Size]byte]content
	size, bound int // bytes of young, and their limit
}

func newContents(bound int) *contents {
	return &contents{young: map[[sha256.Size]byte]content{}, bound: bound / 2}
}

// of returns the content made from a text. It is shared and must not be modified.
func (c *contents) of(t kb.Translation) content {
	key := textKey(t)
	c.mu.Lock()
	made, ok := c.young[key]
	if !ok {
		made, ok = c.old[key]
		if ok {
			c.keep(key, made)
		}
	}
	c.mu.Unlock()
	if ok {
		return made
	}
	made = contentOf(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(key, made)
	return made
}

// keep stores a content; c.mu is held.
func (c *contents) keep(key [sha256.Size]byte, made content) {
	size := len(made.html) + len(made.styles) + 200
	for _, h := range made.heads {
		size += len(h.Anchor) + len(h.Text) + 50
	}
	if size > c.bound {
		return
	}
	if c.size+size > c.bound {
		c.young, c.old, c.size = map[[sha256.Size]byte]content{}, c.young, 0
	}
	if _, again := c.young[key]; !again {
		c.young[key] = made
		c.size += size
	}
}

// textKey identifies all inputs of a content.
func textKey(t kb.Translation) (key [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range []string{t.Locale, "\x00", t.Title, "\x00", t.Content} { // texts contain no NUL
		_, _ = io.WriteString(h, part) // a hash does not fail
	}
	h.Sum(key[:0])
	return key
}
