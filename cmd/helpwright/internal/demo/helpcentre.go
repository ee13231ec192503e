package demo

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
)

//go:embed content
var embedded embed.FS

// content is the folder of the help centre.
func content() fs.FS {
	folder, err := fs.Sub(embedded, "content")
	if err != nil {
		panic(err) // the name is a constant
	}
	return folder
}

// helpCentre imports the help centre and simulates readers.
func (f *filler) helpCentre(ctx context.Context) error {
	read, err := exchange.Read(content())
	if err != nil {
		return err
	}
	editor, err := f.newSite(ctx)
	if err != nil {
		return err
	}
	// Objects imported later are newer.
	f.Clock.tick(f.ago(siteAge), 5*time.Hour)
	into := exchange.Exchange{Service: f.KB, Editor: editor}
	if _, err := into.Import(ctx, read, exchange.Options{}); err != nil {
		return err
	}
	f.Progress(.2)
	if err := f.catalogue(ctx, editor); err != nil {
		return err
	}
	for _, do := range []func(context.Context, *kb.Editor) error{f.dress, f.revise, f.readers} {
		if err := do(ctx, editor); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) newSite(ctx context.Context) (*kb.Editor, error) {
	owner := f.Desk.As(f.members[0].id)
	sites, err := f.KB.Sites(owner)
	if err != nil {
		return nil, err
	}
	f.site, err = sites.Create(ctx, kb.SiteInput{
		AccountID: f.company.AccountID, Name: companyName, Path: storage.Some("help"), MailboxID: storage.Some(f.mailboxes["support"].ID),
	})
	if err != nil {
		return nil, err
	}
	f.company.SiteURL = f.KB.URL(f.site)
	return f.KB.Editor(ctx, owner, f.site.ID)
}

// catalogue records the articles by key.
func (f *filler) catalogue(ctx context.Context, editor *kb.Editor) error {
	keys, err := editor.ExchangeKeys(ctx)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, k := range keys {
		if k.Kind == kb.ArticleKey {
			names[k.ID] = k.Key
		}
	}
	f.articles = map[string]kb.ArticleRevision{}
	articles := func(req storage.PageRequest) (storage.Page[kb.ArticleRevision], error) {
		return editor.Articles(ctx, kb.ArticleFilter{}, false, req)
	}
	for a, err := range storage.Each(articles) {
		if err != nil {
			return err
		}
		f.articles[names[a.Article.ID]] = a
	}
	return nil
}

// link returns the address of an article's page, and its title, in a language.
func (f *filler) link(key, locale string) (address, title string) {
	a := f.articles[key]
	t := a.Revision.Serve("en", locale)
	return f.company.SiteURL + kb.PagePath(t.Locale, kb.ArticlePages, a.Article.ID, t.Title), t.Title
}

// icons are the icons of collections by key.
func icons() map[string]string {
	return map[string]string{
		"getting-started": "compass", "brewing": "gear", "cleaning": "shield", "troubleshooting": "wrench", "app": "phone",
		"orders": "truck", "account": "card", "warranty": "buoy", "developers": "code",
	}
}

// dress sets the site's appearance.
func (f *filler) dress(ctx context.Context, editor *kb.Editor) error {
	f.Clock.Set(f.ago(siteAge - 1))
	keys, err := editor.ExchangeKeys(ctx)
	if err != nil {
		return err
	}
	files := map[string]int64{}
	for _, k := range keys {
		switch k.Kind {
		case kb.CollectionKey:
			in := kb.CollectionInput{TextInput: kb.TextInput{SourceLocale: "en"}, Icon: storage.Some(icons()[k.Key])}
			if _, err := editor.UpdateCollection(ctx, k.ID, in); err != nil {
				return fmt.Errorf("the icon of %s: %w", k.Key, err)
			}
		case kb.FileKey:
			files[k.Key] = k.ID
		}
	}
	look := kb.LookInput{
		Accent: storage.Some("#7a4a2b"), Hero: storage.Some(kb.HeroTint),
		LogoID: storage.Some(files["logo.svg"]), LogoDarkID: storage.Some(files["logo-dark.svg"]),
		FaviconID: storage.Some(files["favicon.svg"]), SocialImageID: storage.Some(files["social.png"]),
		Texts: map[string]storage.Opt[kb.LookTextInput]{},
	}
	for locale, words := range words() {
		look.Texts[locale] = storage.Some(words)
	}
	_, err = editor.UpdateSite(ctx, kb.SiteInput{AccountID: f.site.AccountID, Name: companyName, Look: look})
	return err
}

// words are the site's own texts by language.
func words() map[string]kb.LookTextInput {
	text := func(title, line, copyright, contact string, searches []string, names ...string) kb.LookTextInput {
		shop := "https://" + companyDomain
		return kb.LookTextInput{
			Title: storage.Some(title), Line: storage.Some(line), Copyright: storage.Some(copyright), ContactText: storage.Some(contact),
			Searches:    storage.Some(searches),
			HeaderLinks: storage.Some([]kb.Link{{Name: names[0], URL: shop + "/shop"}, {Name: names[1], URL: shop + "/status"}}),
			FooterLinks: storage.Some([]kb.Link{{Name: companyDomain, URL: shop}, {Name: names[2], URL: shop + "/terms"}, {Name: names[3], URL: shop + "/privacy"}}),
		}
	}
	return map[string]kb.LookTextInput{
		"en": text("How can we help?", "Guides and answers for your Halden machine, from the first cup to the yearly service.",
			"Halden Coffee Works AS", "We answer on working days from 8 to 17 (CET), usually within four hours.",
			[]string{"Descaling", "Error E4", "Where is my order", "Wi-Fi"}, "Shop", "Status", "Terms", "Privacy"),
		"de": text("Wie können wir helfen?", "Anleitungen und Antworten zu Ihrer Halden, von der ersten Tasse bis zur jährlichen Wartung.",
			"Halden Coffee Works AS", "Wir antworten werktags von 8 bis 17 Uhr, meist innerhalb von vier Stunden.",
			[]string{"Entkalken", "Fehler E4", "Lieferzeit", "WLAN"}, "Shop", "Status", "AGB", "Datenschutz"),
		"ar": text("كيف يمكننا مساعدتك؟", "أدلة وإجابات عن ماكينة هالدن، من الفنجان الأول إلى الصيانة السنوية.",
			"Halden Coffee Works AS", "نرد في أيام العمل من الثامنة صباحًا إلى الخامسة مساءً بتوقيت وسط أوروبا، وعادةً خلال أربع ساعات.",
			[]string{"إزالة الترسبات", "الخطأ E4", "مدة التوصيل", "شبكة Wi-Fi"}, "المتجر", "حالة الخدمة", "الشروط", "الخصوصية"),
	}
}

// revise edits some articles once more, so that the newest belong to several collections. For two of them the translations
// become outdated.
func (f *filler) revise(ctx context.Context, editor *kb.Editor) error {
	for _, r := range []struct {
		key  string
		days float64
		only string // the language edited; "" for all
	}{
		{"dial-in-espresso", 71, ""}, {"grind-settings", 58, ""}, {"error-codes", 52, ""}, {"backflush", 43, ""},
		{"instalments", 37, "en"}, {"home-assistant", 33, ""}, {"descale", 26, ""}, {"connect-wifi", 19, ""},
		{"spare-parts", 12, ""}, {"update-firmware", 8, "en"}, {"water-hardness", 5.2, ""}, {"delivery-times", 2.4, ""},
	} {
		a, ok := f.articles[r.key]
		if !ok {
			return fmt.Errorf("there is no article %s", r.key)
		}
		in := kb.ArticleInput{TextInput: kb.TextInput{SourceLocale: a.Revision.SourceLocale}, CollectionID: a.Revision.CollectionID}
		in.Translations = map[string]storage.Opt[kb.TranslationInput]{}
		for _, t := range a.Revision.Translations {
			if r.only == "" || r.only == t.Locale {
				in.Translations[t.Locale] = storage.Some(kb.TranslationInput{Title: storage.Some(t.Title)})
			}
		}
		f.Clock.Set(f.ago(r.days))
		if _, err := editor.UpdateArticle(ctx, a.Article.ID, in); err != nil {
			return fmt.Errorf("%s: %w", r.key, err)
		}
	}
	return nil
}

// readers simulates views of articles, and some feedback.
func (f *filler) readers(ctx context.Context, _ *kb.Editor) error {
	visitor, err := f.KB.Visitor(ctx, nil, f.site.ID)
	if err != nil {
		return err
	}
	for i, key := range f.byInterest() {
		id := f.articles[key].Article.ID
		// As on most sites, few articles have most of the readers.
		for range 2 + int(40/math.Sqrt(float64(i+1))) {
			if err := visitor.CountView(ctx, id); err != nil {
				return err
			}
		}
		for reader := range 1 + 9/(i+1) + f.random.IntN(2) {
			reaction := kb.Positive
			if f.random.IntN(6) == 0 {
				reaction = kb.Negative
			}
			f.Clock.Set(f.ago(f.random.Float64() * days))
			if _, err := visitor.React(ctx, id, reaction, fmt.Sprintf("reader %d", reader)); err != nil {
				return err
			}
		}
	}
	for i, said := range remarks() {
		f.Clock.Set(f.ago(days - 1 - float64(i)*(days-2)/float64(len(remarks()))))
		if _, err := visitor.SendFeedback(ctx, kb.FeedbackInput{ArticleID: f.articles[said[0]].Article.ID, Text: said[1]}); err != nil {
			return fmt.Errorf("the feedback on %s: %w", said[0], err)
		}
	}
	if err := f.KB.FlushViews(ctx); err != nil {
		return err
	}
	return f.searches(ctx)
}

// searches simulates what readers searched for, and when they viewed articles and wrote to us.
func (f *filler) searches(ctx context.Context) error {
	const days = 100
	for n := range days {
		f.Clock.Set(f.ago(days - 0.5 - float64(n)))
		count := func(locale, query string, c helpdesk.ReadingCounts) {
			f.Desk.CountReading(ctx, f.company.AccountID, helpdesk.SiteReading{SiteID: f.site.ID, Locale: locale, Query: query, ReadingCounts: c})
		}
		count("en", "", helpdesk.ReadingCounts{Views: 20 + int64(n*7%15)})
		for _, s := range []struct {
			locale, query                  string
			every                          int // so many days
			searches, none, opened, writes int64
		}{
			{"en", "descale", 1, 4, 0, 3, 0}, {"en", "grind size", 2, 3, 0, 2, 0}, {"en", "water hardness", 3, 2, 0, 1, 0}, {"de", "entkalken", 2, 2, 0, 2, 0},
			{"en", "gift card", 3, 2, 2, 0, 1}, {"en", "decaf", 4, 1, 0, 0, 0}, {"fr", "bon cadeau", 9, 1, 1, 0, 0}, {"en", "pause my subscription", 5, 1, 0, 1, 1},
		} {
			if n%s.every == 0 {
				count(s.locale, s.query, helpdesk.ReadingCounts{Searches: s.searches, Unanswered: s.none, Clicks: s.opened, Contacts: s.writes})
			}
		}
		if err := f.Desk.FlushMarks(ctx); err != nil {
			return err
		}
	}
	return nil
}

// byInterest returns the keys of all articles, the most popular first.
func (f *filler) byInterest() []string {
	first := []string{
		"descale", "dial-in-espresso", "error-codes", "first-espresso", "connect-wifi", "weak-coffee", "steam-milk", "delivery-times",
		"water-hardness", "leaking", "return-a-machine", "daily-cleaning",
	}
	var rest []string
	for key := range f.articles {
		if !slices.Contains(first, key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	f.random.Shuffle(len(rest), func(i, k int) { rest[i], rest[k] = rest[k], rest[i] })
	return append(first, rest...)
}

// remarks are readers' comments on articles.
func remarks() [][2]string {
	return [][2]string{
		{"descale", "Clear, but please say before step 1 that the whole thing takes 25 minutes. I started ten minutes before guests arrived."},
		{"error-codes", "E7 is missing here? My Duo showed it once after a power cut."},
		{"connect-wifi", "Der Hinweis auf 2,4 GHz hat mein Problem gelöst. Danke!"},
		{"dial-in-espresso", "Best explanation of this that I have read anywhere, including the books I paid for."},
		{"delivery-times", "Do the times for Norway still hold before Christmas?"},
		{"water-hardness", "The test strip in the box has five fields, your table has four rows."},
		{"steam-milk", "What about oat milk? It behaves quite differently."},
		{"first-espresso", "شرح واضح جدًا، شكرًا لكم."},
		{"return-a-machine", "Muss ich das Paket wirklich selbst zur Post bringen? Hier steht nichts von Abholung."},
		{"grind-settings", "A picture of a good and a bad puck would help."},
		{"leaking", "Turned out to be the drip tray. You could list that first."},
		{"local-api", "The example works, but mention that the token changes after a factory reset."},
		{"update-firmware", "Update stuck at 60 % for ten minutes, then finished. A sentence about patience would have saved me a call."},
		{"daily-cleaning", "أتمنى إضافة فيديو قصير لهذه الخطوات."},
		{"clean-the-grinder", "Wie oft bei zwei Tassen am Tag? Die Angabe in Kilogramm hilft mir nicht."},
		{"instalments", "Please add which banks take part."},
	}
}
