package kb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
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
	Number  int64  // tells it from the resource's others, from 1
	Title   string // the name of a collection or a category
	Summary string
	// Content is HTML of an article, cleaned by contenthtml. Addresses within the site
	// are references in it, see [Translation.Linked].
	Content   string
	Markdown  string // what Content was made of, with references too; "" when it was given as HTML
	UpdatedAt time.Time
	// Of an article: the UpdatedAt of the source that this was made from, zero when that is
	// not known; and the source as it was then, once it has changed.
	SourceAt time.Time
	MadeFrom SourceText
}

// SourceText is what a translation was made from.
type SourceText struct {
	Title, Summary string
	Content        string // "" when there is Markdown
	Markdown       string
}

// sourceText is what translations of this one are made from.
func (t Translation) sourceText() SourceText {
	s := SourceText{Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown}
	if s.Markdown != "" {
		s.Content = ""
	}
	return s
}

// Empty reports whether nothing is translated yet.
func (t Translation) Empty() bool {
	return t.Title == "" && t.Summary == "" && t.Content == "" && t.Markdown == ""
}

// Text is a resource's text in all its languages, in the order of their codes. The
// source is complete; of the others, anything may be empty.
type Text struct {
	SourceLocale string
	Translations []Translation
}

// Translation finds a translation by its canonical code.
func (t Text) Translation(locale string) (Translation, bool) {
	i := slices.IndexFunc(t.Translations, func(o Translation) bool { return o.Locale == locale })
	if i < 0 {
		return Translation{}, false
	}
	return t.Translations[i], true
}

// Outdated reports whether the source has changed since a translation was made from it,
// or where that is not known, since the translation was changed last.
func (t Text) Outdated(o Translation) bool {
	source, _ := t.Translation(t.SourceLocale)
	at := o.SourceAt
	if at.IsZero() {
		at = o.UpdatedAt
	}
	return o.Locale != t.SourceLocale && at.Before(source.UpdatedAt)
}

// outdated counts the translations that are.
func (t Text) outdated() int64 {
	var n int64
	for _, o := range t.Translations {
		if t.Outdated(o) {
			n++
		}
	}
	return n
}

// Serve chooses the translation to show to who wants languages in an order: for each
// of them the region, then the language without or with another region; then the
// fallback in the same way (the account's default), and last the source. Only what
// has a title is served, and what else it lacks is the source's.
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

// match finds the translation nearest to a code.
func (t Text) match(code string) (Translation, bool) {
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

// AcceptedLocales reads an Accept-Language header (RFC 9110 section 12.5.4); what
// cannot be read is passed over.
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

// Locale returns the canonical form of a language code (BCP 47): de-AT of DE-at.
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

// TranslationInput makes or changes a translation. Absent fields stay as they are.
type TranslationInput struct {
	Title   storage.Opt[string] // the name of a collection or a category
	Summary storage.Opt[string]
	Content storage.Opt[string] // of an article: HTML, which is cleaned
	// Markdown is the content in another form (CommonMark with tables), which is kept
	// beside the HTML made of it. Only one of both may be given; Content alone removes
	// what was kept.
	Markdown storage.Opt[string]
	// MadeFrom is the source that the translation of an article is of: where it differs
	// from the source as it is, the translation is outdated. Null, and absence where the
	// translation changes, say that it is of the source as it is.
	MadeFrom storage.Opt[SourceText]
	// Seen is the UpdatedAt of the translation that the change was made from, the zero time
	// when there was none. Where it has been changed since, the change is a Conflict fault
	// with the code CodeCrossed.
	Seen storage.Opt[time.Time]

	refused bool // the Markdown cannot be read
	twice   bool // both forms were given
}

// CodeCrossed is the code of the Conflict fault of a change to a translation that somebody
// else has changed since it was read.
const CodeCrossed = "crossed"

// TextInput makes or changes a text. Translations that are not named stay as they
// are; null removes one, but not the source.
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
		// What is longer is refused anyway.
		t.twice = t.both()
		content, any := t.Content.Get()
		if source, given := t.Markdown.Get(); given && (source != "" || !any) && len(source) <= MaxContent && !t.both() {
			made, err := contenthtml.FromMarkdown(clean(source))
			t.Content, t.Markdown, t.refused = storage.Some(made), storage.Some(clean(source)), err != nil
		} else if any && len(content) <= MaxContent && !t.both() {
			t.Content, t.Markdown = storage.Some(contenthtml.Clean(content)), storage.Some("")
		}
		in.Translations[code] = storage.Some(t)
	}
	return in
}

// both reports whether the content is given in both forms. A Markdown that is empty is
// none.
func (in TranslationInput) both() bool {
	content, _ := in.Content.Get()
	markdown, _ := in.Markdown.Get()
	return content != "" && markdown != ""
}

// textKind says how a resource calls its text.
type textKind struct {
	title   string // the field
	content bool   // has content, which the source must have
}

var (
	named  = textKind{title: "name"}
	titled = textKind{title: "title", content: true}
)

// apply validates in and puts it into t.
func (t *Text) apply(problems *fault.Collector, in TextInput, kind textKind, now time.Time) {
	source, ok := Locale(in.SourceLocale)
	if in.SourceLocale == "" {
		problems.Add("source_locale", "is required")
	} else {
		problems.Check(ok, "source_locale", "is no language code (BCP 47)")
	}
	before, known := t.Translation(t.SourceLocale)
	t.SourceLocale = source
	t.Translations = slices.Clone(t.Translations)
	for _, code := range slices.Sorted(maps.Keys(in.Translations)) {
		field := "translations[" + code + "]"
		locale, ok := Locale(code)
		if !problems.Check(ok, field, "is no language code (BCP 47)") {
			continue
		}
		given, set := in.Translations[code].Get()
		if !set {
			problems.Check(locale != source, field, "is the source and cannot be removed")
			t.Translations = slices.DeleteFunc(t.Translations, func(o Translation) bool { return o.Locale == locale })
			continue
		}
		t.change(problems, field, locale, given, kind, now)
	}
	if kind.content {
		t.follow(before, known && before.Locale == source, in)
	}
	slices.SortFunc(t.Translations, func(a, b Translation) int { return strings.Compare(a.Locale, b.Locale) })
	problems.Check(len(t.Translations) <= MaxTranslations, "translations", fmt.Sprintf("has more than %d locales", MaxTranslations))
	if source == "" {
		return
	}
	found, _ := t.Translation(source)
	field := "translations[" + source + "]"
	problems.Check(found.Title != "", field+"["+kind.title+"]", "is required")
	problems.Check(found.Content != "" || !kind.content, field+"[content]", "is required")
}

// crossed reports whether a translation was changed since who changes it has read it.
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

// follow notes what translations were made from. before is the source as it was, if the
// same language was known before.
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
			if o.SourceAt.IsZero() || !o.SourceAt.Before(source.UpdatedAt) { // it is behind, by what is not known
				o.SourceAt = source.UpdatedAt.Add(-time.Microsecond)
			}
			o.MadeFrom = of
		case partly, changed:
			o.SourceAt, o.MadeFrom = source.UpdatedAt, SourceText{}
		case o.MadeFrom == now: // the source is again as it was
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

// change puts what is given into the translation of a locale.
func (t *Text) change(problems *fault.Collector, field, locale string, in TranslationInput, kind textKind, now time.Time) {
	i := slices.IndexFunc(t.Translations, func(o Translation) bool { return o.Locale == locale })
	if i < 0 {
		i = len(t.Translations)
		t.Translations = append(t.Translations, Translation{Locale: locale, Number: t.nextNumber(), UpdatedAt: now})
	}
	old := t.Translations[i]
	o := old
	o.Title = cleanLine(in.Title.Or(o.Title))
	bounded(problems, field+"["+kind.title+"]", o.Title, MaxTitle)
	o.Summary = strings.TrimSpace(clean(in.Summary.Or(o.Summary)))
	bounded(problems, field+"[summary]", o.Summary, MaxSummary)
	if kind.content {
		problems.Check(!in.twice, field+"[markdown]", "cannot be given together with content")
		problems.Check(!in.refused, field+"[markdown]", "is too deeply nested")
		o.Content, o.Markdown = in.Content.Or(o.Content), in.Markdown.Or(o.Markdown)
		problems.Check(len(o.Content) <= MaxContent, field+"[content]", "is longer than 2 MiB")
		problems.Check(len(o.Markdown) <= MaxContent, field+"[markdown]", "is longer than 2 MiB")
	}
	if o != old {
		o.UpdatedAt = now
	}
	t.Translations[i] = o
}

// nextNumber is one that no translation has.
func (t *Text) nextNumber() int64 {
	var last int64
	for _, o := range t.Translations {
		last = max(last, o.Number)
	}
	return last + 1
}
