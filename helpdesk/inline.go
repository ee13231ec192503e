package helpdesk

import (
	"context"
	"crypto/hmac"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/filetype"
)

// Lists leave out a file only while the body of its interaction shows it. This is decided whenever files are read, from the
// body as it is then: so it is right after a draft is edited, and for rows filed when the mail's own claims were believed.

// visible returns the interaction's own files that its body shows to a reader, by id: those that browsers can show, named by
// an image that can be seen.
func (s *Service) visible(i Interaction, files []Attachment) map[int64]bool {
	images := mailhtml.VisibleImages(i.Body)
	if len(images) == 0 {
		return nil
	}
	own := slices.DeleteFunc(slices.Clone(files), func(a Attachment) bool { return a.InteractionID != i.ID })
	named := s.bodyFiles(0, i, own) // no key is needed for its own
	shown := map[int64]bool{}
	for _, src := range images {
		if a, ok := named.by(src); ok && a.showable() {
			shown[a.ID] = true
		}
	}
	return shown
}

// showable reports whether browsers can show a file as an image.
func (a Attachment) showable() bool { return a.Size > 0 && filetype.InBrowser(a.ContentType) }

// judge sets IsInline of the interactions' files.
func (s *Service) judge(list []Interaction, files []Attachment) {
	of := map[int64][]Attachment{}
	for _, a := range files {
		of[a.InteractionID] = append(of[a.InteractionID], a)
	}
	inline := map[int64]bool{}
	for _, i := range list {
		for id := range s.visible(i, of[i.ID]) {
			inline[id] = true
		}
	}
	for n := range files {
		files[n].IsInline = inline[files[n].ID]
	}
}

// filesOf lists the files of interactions.
func (s *Service) filesOf(ctx context.Context, r Reader, interactionIDs []int64) ([]Attachment, error) {
	files, err := r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: interactionIDs}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, err
	}
	var owners []int64
	for _, a := range files {
		if a.showable() {
			owners = append(owners, a.InteractionID)
		}
	}
	var list []Interaction
	if len(owners) > 0 {
		if list, err = r.Interactions().ByIDs(ctx, sortedSet(owners)); err != nil {
			return nil, err
		}
	}
	s.judge(list, files)
	return files, nil
}

// judged sets IsInline of one file. Another of the interaction may have its Content-ID, so all are looked at.
func (s *Service) judged(ctx context.Context, r Reader, a Attachment, err error) (Attachment, error) {
	if a.IsInline = false; err != nil || !a.showable() {
		return a, err
	}
	all, err := s.filesOf(ctx, r, []int64{a.InteractionID})
	if err != nil {
		return Attachment{}, err
	}
	a.IsInline = slices.ContainsFunc(all, func(b Attachment) bool { return b.ID == a.ID && b.IsInline })
	return a, nil
}

// bodyFiles are the files that the images of a body may name.
type bodyFiles struct {
	of     Interaction
	own    map[string]Attachment // of the interaction, by contentKey; of several with the same, the first
	byID   map[int64]Attachment
	issued func(a Attachment, key string) bool // whether we issued a reference to another interaction's file
}

func (s *Service) bodyFiles(accountID int64, i Interaction, files []Attachment) bodyFiles {
	f := bodyFiles{of: i, own: map[string]Attachment{}, byID: map[int64]Attachment{}}
	for _, a := range files {
		if a.ConversationID != i.ConversationID {
			continue
		}
		f.byID[a.ID] = a
		if key := contentKey(a.ContentID); a.InteractionID == i.ID && key != "" {
			if _, taken := f.own[key]; !taken {
				f.own[key] = a
			}
		}
	}
	f.issued = func(a Attachment, given string) bool {
		return s.signedBy(func(key []byte) bool {
			return hmac.Equal([]byte(given), []byte(attachmentKey(key, accountID, a.InteractionID, a.ID)))
		})
	}
	return f
}

// by returns the file that an image's address in the stored body refers to: one of the interaction's own by Content-ID, or
// any of the conversation's by a reference that we issued.
func (f bodyFiles) by(src string) (Attachment, bool) {
	for _, key := range contentKeys(src) {
		if a, ok := f.own[key]; ok {
			return a, true
		}
		ref, isRef := parseReference(key)
		if a, ok := f.byID[ref.attachment]; isRef && ok && a.InteractionID == ref.interaction && (a.InteractionID == f.of.ID || f.issued(a, ref.key)) {
			return a, true
		}
	}
	return Attachment{}, false
}

// contentKey returns a Content-ID for comparison: mailers change its case, its spaces and its angle brackets.
func contentKey(id string) string {
	return mailaddr.Fold(strings.Trim(strings.Join(strings.Fields(id), ""), "<>"))
}

// contentKeys returns the keys of the Content-IDs that an image's address may name: as it stands, and decoded as a URL (RFC
// 2392). There are none if its scheme is not cid.
func contentKeys(src string) []string {
	src = strings.TrimSpace(src)
	if len(src) < 4 || !strings.EqualFold(src[:4], "cid:") {
		return nil
	}
	return nameKeys(src[4:])
}

// nameKeys returns the keys of a name in a URL, as it stands and decoded.
func nameKeys(name string) []string {
	keys := []string{contentKey(name)}
	if decoded, err := url.PathUnescape(name); err == nil && decoded != name {
		keys = append(keys, contentKey(decoded))
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// namedBy returns the Content-IDs, as keys, of the files that the images of a body name, visible or not.
func namedBy(body string) map[string]bool {
	named := map[string]bool{}
	mailhtml.RewriteImages(body, func(src string) string {
		for _, key := range contentKeys(src) {
			named[key] = true
		}
		return src
	})
	return named
}

// partNames finds the parts of a mail that its HTML names.
type partNames struct {
	parts []message.Part
	cids  map[string]int // part by Content-ID; of several, the first
	names map[string]int // by Content-ID, filename or Content-Location; -1: several
	sites map[string]int // by Content-Location as it stands, likewise
}

func newPartNames(parts []message.Part) partNames {
	p := partNames{parts: slices.Clone(parts), cids: map[string]int{}, names: map[string]int{}, sites: map[string]int{}}
	add := func(to map[string]int, name string, n int) {
		if at, known := to[name]; known && at != n {
			n = -1
		}
		if name != "" {
			to[name] = n
		}
	}
	for n, part := range p.parts {
		if _, taken := p.cids[contentKey(part.ContentID)]; !taken {
			p.cids[contentKey(part.ContentID)] = n
		}
		for _, name := range []string{part.ContentID, part.Filename, part.Location} {
			add(p.names, contentKey(name), n)
		}
		add(p.sites, strings.TrimSpace(part.Location), n)
	}
	delete(p.cids, "")
	return p
}

// scheme matches the scheme of a URL (RFC 3986 section 3.1).
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// address returns the cid: address for an image of the mail's HTML, which names a part in another way (RFC 2557, and mailers
// that forget the scheme), or whose cid: address would be cleaned away. Other addresses stay.
func (p *partNames) address(src string) string {
	var at int
	var known bool
	trimmed := strings.TrimSpace(src)
	switch keys := contentKeys(trimmed); {
	case len(keys) > 0 && !strings.ContainsFunc(trimmed, unicode.IsSpace):
		return src
	case len(keys) > 0:
		at, known = lookUp(p.cids, keys)
	case scheme.MatchString(trimmed) || strings.HasPrefix(trimmed, "//"):
		at, known = lookUp(p.sites, []string{trimmed})
	default:
		at, known = lookUp(p.names, nameKeys(strings.TrimPrefix(trimmed, "./")))
	}
	if !known || at < 0 {
		return src
	}
	return "cid:" + url.PathEscape(p.contentID(at))
}

func lookUp(of map[string]int, keys []string) (at int, known bool) {
	for _, key := range keys {
		if at, known = of[key]; known {
			return at, true
		}
	}
	return 0, false
}

// contentID returns the Content-ID of a part. It gives one to a part without, or with that of another.
func (p *partNames) contentID(n int) string {
	if id := p.parts[n].ContentID; id != "" {
		if holder, known := p.cids[contentKey(id)]; known && holder == n {
			return id
		}
	}
	id := fmt.Sprintf("part-%d@mail", n+1)
	for _, taken := p.cids[id]; taken; _, taken = p.cids[id] {
		id = "x" + id
	}
	p.parts[n].ContentID, p.cids[id] = id, n
	return id
}

// linkParts gives the images of a mail's HTML the addresses of the parts that they name.
func (f *filing) linkParts(html string) string {
	if len(f.mail.Attachments) == 0 || !strings.Contains(html, "<") {
		return html
	}
	names := newPartNames(f.mail.Attachments)
	html = mailhtml.RewriteImages(html, names.address)
	f.mail.Attachments = names.parts
	return html
}
