package transfer

import "fmt"

// Seen are the ids that rows of an archive have had so far: about a bit for each where they are dense.
type Seen struct {
	ids     map[string]map[int64]*[8]uint64
	files   []string // that the last rows have named, in their order
	problem error
}

func newSeen() *Seen { return &Seen{ids: map[string]map[int64]*[8]uint64{}} }

func (s *Seen) has(noun string, id int64) bool {
	page := s.ids[noun][id>>9]
	return page != nil && page[id>>6&7]>>(id&63)&1 == 1
}

func (s *Seen) add(c *Chunk, line int, noun string, id int64) {
	if id == 0 {
		s.fail(c, line, fmt.Sprintf("has a %s without an id", noun))
		return
	}
	if s.has(noun, id) {
		s.fail(c, line, fmt.Sprintf("has the id %d of another %s", id, noun))
		return
	}
	pages := s.ids[noun]
	if pages == nil {
		pages = map[int64]*[8]uint64{}
		s.ids[noun] = pages
	}
	if pages[id>>9] == nil {
		pages[id>>9] = new([8]uint64)
	}
	pages[id>>9][id>>6&7] |= 1 << (id & 63)
}

func (s *Seen) need(c *Chunk, line int, noun string, id int64) {
	if !s.has(noun, id) {
		s.fail(c, line, fmt.Sprintf("refers to the %s %d, which is not there", noun, id))
	}
}

// file notes a file that a row names, which has to follow.
func (s *Seen) file(c *Chunk, line int, name string) {
	if name == "" {
		return
	}
	if want := blobName(c.Number + 1 + int64(len(s.files))); name != want {
		s.fail(c, line, fmt.Sprintf("names a file %.100q that does not follow", name))
		return
	}
	s.files = append(s.files, name)
}

func (s *Seen) fail(c *Chunk, line int, text string) {
	if s.problem == nil {
		s.problem = wrong(c, line, text)
	}
}
