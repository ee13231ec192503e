package kb

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Limits of a translation.
const (
	MaxTranslations = 200
	MaxTitle        = 300     // characters of a title or a name
	MaxSummary      = 5000    // characters
	MaxContent      = 2 << 20 // bytes
)

// Translation is a text in one language.
type Translation struct {
	Locale  string // BCP 47, in its canonical form
	Number  int64  // distinguishes it from the resource's other translations, from 1
	Title   string // the name of a collection or a category
	Summary string
	// Content is the HTML of an article, cleaned by contenthtml. It holds references in place of addresses within the site, see
	// [Translation.Linked].
	Content   string
	Markdown  string // source of Content, also with references; "" when Content was given as HTML
	UpdatedAt time.Time
	// SourceAt is, for an article, the UpdatedAt of the source that this was translated from, zero when unknown. MadeFrom is
	// that source's text, kept once the source has changed.
	SourceAt time.Time
	MadeFrom SourceText
}

// SourceText is the text that a translation was made from.
type SourceText struct {
	Title, Summary string
	Content        string // "" when there is Markdown
	Markdown       string
}

// sourceText returns the text that translations of this one are made from.
func (t Translation) sourceText() SourceText {
	s := SourceText{Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown}
	if s.Markdown != "" {
		s.Content = ""
	}
	return s
}

// Empty reports whether all texts of the translation are empty.
func (t Translation) Empty() bool {
	return t.Title == "" && t.Summary == "" && t.Content == "" && t.Markdown == ""
}

// Text is a resource's text in all its languages, sorted by code. The source is complete; any field of the others may be
// empty.
type Text struct {
	SourceLocale string
	Translations []Translation
}

// Translation returns a translation by its canonical code.
func (t Text) Translation(locale string) (Translation, bool) {
	i := slices.IndexFunc(t.Translations, func(o Translation) bool { return o.Locale == locale })
	if i < 0 {
		return Translation{}, false
	}
	return t.Translations[i], true
}

// Outdated reports whether the source has changed since a translation was made from it or, when that is unknown, since the
// translation last changed.
func (t Text) Outdated(o Translation) bool {
	source, _ := t.Translation(t.SourceLocale)
	at := o.SourceAt
	if at.IsZero() {
		at = o.UpdatedAt
	}
	return o.Locale != t.SourceLocale && at.Before(source.UpdatedAt)
}

// outdated counts the outdated translations.
func (t Text) outdated() int64 {
	var n int64
	for _, o := range t.Translations {
		if t.Outdated(o) {
			n++
		}
	}
	return n
}

// Serve chooses the translation for a reader who wants languages in an order of preference: for each of them the exact
// region, then the language with no or another region; then fallback (the account's default) in the same way, and finally
// the source. It serves only translations with a title, and fills their other empty fields from the source.
func (t Text) Serve(fallback string, wanted ...string) Translation {
	source, _ := t.Translation(t.SourceLocale)
	for _, code := range append(slices.Clone(wanted), fallback) {
		found, ok := t.match(code)
		if !ok {
			continue
		}
		if found.Summary == "" {
			found.Summary = source.Summary
		}
		if found.Content == "" {
			found.Content = source.Content
		}
		return found
	}
	return source
}

// match returns the translation closest to a code.
func (t Text) match(code string) (Translation, bool) {
	if found, ok := t.Translation(code); ok && found.Title != "" { // mostly, and without parsing
		return found, true
	}
	tag, err := language.Parse(code)
	if err != nil {
		return Translation{}, false
	}
	for at := tag; at != language.Und; at = at.Parent() {
		if found, ok := t.Translation(at.String()); ok && found.Title != "" {
			return found, true
		}
	}
	base, _ := tag.Base()
	for _, found := range t.Translations {
		other, err := language.Parse(found.Locale)
		if err != nil || found.Title == "" {
			continue
		}
		if b, _ := other.Base(); b == base {
			return found, true
		}
	}
	return Translation{}, false
}

// AcceptedLocales parses an Accept-Language header (RFC 9110 section 12.5.4). It skips what it cannot parse.
func AcceptedLocales(header string) []string {
	if len(header) > 1000 {
		return nil
	}
	tags, weights, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return nil
	}
	var codes []string
	for i, tag := range tags {
		if weights[i] > 0 && tag != language.Und {
			codes = append(codes, tag.String())
		}
	}
	return codes
}

// Locale returns the canonical form of a language code (BCP 47): de-AT for DE-at.
func Locale(code string) (string, bool) {
	if len(code) > 35 {
		return "", false
	}
	tag, err := language.Parse(code)
	if err != nil || tag == language.Und {
		return "", false
	}
	return tag.String(), true
}

// TranslationInput creates or changes a translation. Absent fields stay as they are.
type TranslationInput struct {
	Title   storage.Opt[string] // the name of a collection or a category
	Summary storage.Opt[string]
	Content storage.Opt[string] // of an article: HTML, which is cleaned
	// Markdown is the content as CommonMark with tables. It is stored along with the HTML made from it. Only one of Content and
	// Markdown may be given; Content alone removes the stored Markdown.
	Markdown storage.Opt[string]
	// MadeFrom is the source that the translation of an article was made from. The translation is outdated when it differs from
	// the current source. Null, or absence in a change of the translation, means the current source.
	MadeFrom storage.Opt[SourceText]
	// Seen is the UpdatedAt of the translation that the change is based on, the zero time when there was none. If the
	// translation has changed since, the change is a Conflict fault with the code CodeCrossed.
	Seen storage.Opt[time.Time]

	refused string // why the Markdown cannot be converted
	twice   bool   // both forms were given
}

// CodeCrossed is the code of the Conflict fault for a change to a translation that somebody else has changed since it was
// read.
const CodeCrossed = "crossed"

// TextInput creates or changes a text. Translations that are not given stay as they are; null removes one, except the
// source.
type TextInput struct {
	SourceLocale string // required
	Translations map[string]storage.Opt[TranslationInput]
}

// cleaned returns the input with its contents cleaned.
func (in TextInput) cleaned() TextInput {
	in.Translations = maps.Clone(in.Translations)
	for code, given := range in.Translations {
		t, set := given.Get()
		if !set {
			continue
		}
		// Longer content is refused anyway.
		t.twice = t.both()
		content, any := t.Content.Get()
		if source, given := t.Markdown.Get(); given && (source != "" || !any) && withinLimit(source) && !t.both() {
			made, err := contenthtml.FromMarkdown(plain.Text(source))
			t.Content, t.Markdown = storage.Some(made), storage.Some(plain.Text(source))
			if err != nil {
				t.refused = err.Error()
			}
		} else if any && withinLimit(content) && !t.both() {
			t.Content, t.Markdown = storage.Some(contenthtml.Clean(content)), storage.Some("")
		}
		if of, given := t.MadeFrom.Get(); given {
			t.MadeFrom = storage.Some(SourceText{
				Title: plain.Line(of.Title), Summary: plain.Lines(of.Summary), Content: plain.Text(of.Content), Markdown: plain.Text(of.Markdown),
			})
		}
		in.Translations[code] = storage.Some(t)
	}
	return in
}

// withinLimit reports whether an author's text has at most MaxContent bytes, apart from references, which may be longer than
// the addresses that the author wrote.
func withinLimit(text string) bool {
	if len(text) <= MaxContent || len(text) > contenthtml.MaxMarkdown {
		return len(text) <= MaxContent
	}
	return len(storedReference.ReplaceAllString(text, "")) <= MaxContent
}

// storedReference matches a reference in a text.
var storedReference = regexp.MustCompile(`\b` + contenthtml.RefScheme + `(?:articles|collections|categories|files)/[1-9][0-9]*(?:/[A-Za-z0-9]{8,64}/[^\s"'<>()]*)?`)

// both reports whether the content is given in both forms. Empty Markdown does not count.
func (in TranslationInput) both() bool {
	content, _ := in.Content.Get()
	markdown, _ := in.Markdown.Get()
	return content != "" && markdown != ""
}

// textKind describes the text of a kind of resource.
type textKind struct {
	title      string // the field
	content    bool   // has content, which the source must have
	unfinished bool   // the source may lack title and content
}

var (
	named  = textKind{title: "name"}
	titled = textKind{title: "title", content: true}
)

// apply validates in and applies it to t.
func (t *Text) apply(problems *fault.Collector, in TextInput, kind textKind, now time.Time) {
	source, ok := Locale(in.SourceLocale)
	if in.SourceLocale == "" {
		problems.Add("source_locale", "is required")
	} else {
		problems.Check(ok, "source_locale", "is not a language code (BCP 47)")
	}
	before, known := t.Translation(t.SourceLocale)
	t.SourceLocale = source
	t.Translations = slices.Clone(t.Translations)
	for _, code := range slices.Sorted(maps.Keys(in.Translations)) {
		field := "translations[" + code + "]"
		locale, ok := Locale(code)
		if !problems.Check(ok, field, "is not a language code (BCP 47)") {
			continue
		}
		given, set := in.Translations[code].Get()
		if !set {
			problems.Check(locale != source, field, "is the source language and cannot be removed")
			t.Translations = slices.DeleteFunc(t.Translations, func(o Translation) bool { return o.Locale == locale })
			continue
		}
		t.change(problems, field, locale, source, given, kind, now)
	}
	if kind.content {
		t.follow(before, known && before.Locale == source, in)
	}
	slices.SortFunc(t.Translations, func(a, b Translation) int { return strings.Compare(a.Locale, b.Locale) })
	problems.Check(len(t.Translations) <= MaxTranslations, "translations", fmt.Sprintf("has more than %d locales", MaxTranslations))
	t.complete(problems, in, kind)
}

// complete checks that the source has what the kind requires.
func (t *Text) complete(problems *fault.Collector, in TextInput, kind textKind) {
	source := t.SourceLocale
	if source == "" || kind.unfinished {
		return
	}
	found, _ := t.Translation(source)
	field := "translations[" + source + "]"
	problems.Check(plain.Visible(found.Title), field+"["+kind.title+"]", "is required")
	problems.Check(found.Content != "" || in.unread(source) || !kind.content, field+"[content]", "is required")
}

// unread reports whether the Markdown of a locale was given and could not be converted, which is a problem of its own.
func (in TextInput) unread(locale string) bool {
	for code, given := range in.Translations {
		one, _ := given.Get()
		if found, ok := Locale(code); ok && found == locale {
			return one.refused != "" || !withinLimit(one.Markdown.Or(""))
		}
	}
	return false
}

// crossed reports whether a translation has changed since the caller read it.
func (t Text) crossed(in TextInput) bool {
	for code, given := range in.Translations {
		one, _ := given.Get()
		locale, ok := Locale(code)
		seen, set := one.Seen.Get()
		if old, _ := t.Translation(locale); ok && set && !seen.Equal(old.UpdatedAt) {
			return true
		}
	}
	return false
}

// follow records what translations were made from. before is the previous source, if known.
func (t *Text) follow(before Translation, known bool, in TextInput) {
	source, _ := t.Translation(t.SourceLocale)
	now := source.sourceText()
	given := map[string]TranslationInput{}
	for code, one := range in.Translations {
		if locale, ok := Locale(code); ok {
			given[locale], _ = one.Get()
		}
	}
	for i := range t.Translations {
		o := &t.Translations[i]
		if o.Locale == t.SourceLocale || !known && before.Locale != "" {
			o.SourceAt, o.MadeFrom = time.Time{}, SourceText{}
			continue
		}
		one, changed := given[o.Locale]
		of, partly := one.MadeFrom.Get()
		changed = changed && (one.MadeFrom.IsNull() || one.Title.IsSet() || one.Summary.IsSet() || one.Content.IsSet() || one.Markdown.IsSet())
		switch {
		case partly && of != now:
			if o.SourceAt.IsZero() || !o.SourceAt.Before(source.UpdatedAt) { // outdated already, by an unknown amount
				o.SourceAt = source.UpdatedAt.Add(-time.Microsecond)
			}
			o.MadeFrom = of
		case partly, changed:
			o.SourceAt, o.MadeFrom = source.UpdatedAt, SourceText{}
		case o.MadeFrom == now: // the source has changed back
			o.SourceAt, o.MadeFrom = source.UpdatedAt, SourceText{}
		case known && before.UpdatedAt.Before(source.UpdatedAt) && o.MadeFrom == (SourceText{}):
			at := o.SourceAt
			if at.IsZero() {
				at = o.UpdatedAt
			}
			if !at.Before(before.UpdatedAt) {
				o.SourceAt, o.MadeFrom = before.UpdatedAt, before.sourceText()
			}
		}
	}
}

// change applies the given fields to the translation of a locale.
func (t *Text) change(problems *fault.Collector, field, locale, source string, in TranslationInput, kind textKind, now time.Time) {
	i := slices.IndexFunc(t.Translations, func(o Translation) bool { return o.Locale == locale })
	if i < 0 {
		i = len(t.Translations)
		t.Translations = append(t.Translations, Translation{Locale: locale, Number: t.nextNumber(), UpdatedAt: now})
	}
	old := t.Translations[i]
	o := old
	o.Title = plain.Line(in.Title.Or(o.Title))
	if in.Title.IsSet() && locale != source { // that of the source is required
		visible(problems, field+"["+kind.title+"]", o.Title)
	}
	bounded(problems, field+"["+kind.title+"]", o.Title, MaxTitle)
	o.Summary = plain.Lines(in.Summary.Or(o.Summary))
	bounded(problems, field+"[summary]", o.Summary, MaxSummary)
	if kind.content {
		problems.Check(!in.twice, field+"[markdown]", "cannot be given together with content")
		problems.Check(in.refused == "", field+"[markdown]", in.refused)
		o.Content, o.Markdown = in.Content.Or(o.Content), in.Markdown.Or(o.Markdown)
		if in.Markdown.Or("") != "" { // what an edit of the Markdown does not change stays as it is
			o.Content = contenthtml.Keep(o.Content, old.Content)
		}
		if o.Markdown == "" { // otherwise the content is made from it, and may be longer
			problems.Check(withinLimit(o.Content), field+"[content]", "is longer than 2 MiB")
		}
		problems.Check(withinLimit(o.Markdown), field+"[markdown]", "is longer than 2 MiB")
		of, _ := in.MadeFrom.Get()
		bounded(problems, field+"[made_from][title]", of.Title, MaxTitle)
		bounded(problems, field+"[made_from][summary]", of.Summary, MaxSummary)
		problems.Check(withinLimit(of.Content), field+"[made_from][content]", "is longer than 2 MiB")
		problems.Check(withinLimit(of.Markdown), field+"[made_from][markdown]", "is longer than 2 MiB")
	}
	if o != old {
		o.UpdatedAt = now
	}
	t.Translations[i] = o
}

// nextNumber returns a number that no translation has.
func (t *Text) nextNumber() int64 {
	var last int64
	for _, o := range t.Translations {
		last = max(last, o.Number)
	}
	return last + 1
}
