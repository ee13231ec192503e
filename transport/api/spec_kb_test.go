package api_test

// kbFields are the field tables of the specification's knowledge base, as specFields.
var kbFields = map[string]string{
	"site": `
		id: integer
		account_id: integer
		mailbox_id: integer or null
		name: string
		host: string
		path: string
		subdomain: string
		subdomain_host: string
		custom_domain: string
		url: string
		html_head: string or null
		visibility: "public|private"
		created_at: timestamp
		updated_at: timestamp`,
	"collection": `
		id: integer
		site_id: integer
		name: string
		summary: string
		source_locale: string
		locale: string
		sort_order: decimal
		categories_count: integer
		articles_count: integer
		views_count: integer
		translations: translations of section
		created_at: timestamp
		updated_at: timestamp`,
	"category": `
		id: integer
		collection_id: integer
		collection: expandable collection
		name: string
		summary: string
		source_locale: string
		locale: string
		sort_order: decimal
		articles_count: integer
		views_count: integer
		translations: translations of section
		created_at: timestamp
		updated_at: timestamp`,
	"section": `
		id: integer
		locale: string
		name: string
		summary: string`,
	"article": `
		has_draft: boolean` + revisionFields,
	"live article": `
		has_draft: boolean` + revisionFields,
	// spec: has_draft is absent in the draft-retrieval response.
	"draft revision":  revisionFields,
	"article (draft)": revisionFields,
	"text": `
		id: integer
		locale: string
		title: string
		summary: string
		content: string`,
	"reactions": `
		total: integer
		positive: integer
		negative: integer`,
	"feedbacks": `total: integer`,
	"feedback": `
		id: integer
		article_id: integer
		article_revision: integer
		feedback: string
		article: expandable article
		created_at: timestamp`,
}

const revisionFields = `
		id: integer
		site_id: integer
		status: "published|unpublished"
		title: string
		summary: string
		content: string
		source_locale: string
		locale: string
		sort_order: decimal
		revision: integer
		url: string
		views: integer
		collection_id: integer
		collection: expandable collection
		translations: translations of text
		reactions: reactions
		feedback: feedbacks
		created_at: timestamp
		updated_at: timestamp`

// kbSections are the endpoints of the knowledge base, as specSections.
var kbSections = []specSection{
	{"Sites", []specRow{
		{"POST", "/sites", "`account_id` integer required; `name` string required; `mailbox_id` integer optional; `path` string optional (random string if omitted); `subdomain`, `custom_domain`, `html_head` strings optional; `visibility` enum public, private optional (default public)", "data: site",
			"account_id=<account_id>&name=Least", "account_id=<account_id>&name=Most&mailbox_id=<mailbox_id>&path=most&subdomain=most&custom_domain=help.example.com&html_head=<!-- -->&visibility=private", "site_id"},
		{"GET", "/sites/<site_id>", "", "data: site", "", "", ""},
		{"PUT", "/sites/<site_id>", "`account_id` required; `name` required; others optional as in create", "data: site",
			"account_id=<account_id>&name=Lesser", "account_id=<account_id>&name=More&mailbox_id=<mailbox_id>&path=more&subdomain=more&custom_domain=more.example.com&html_head=<!---->&visibility=public", ""},
		{"DELETE", "/sites/<site_id>", "", "204", "", "", ""},
	}},
	{"Collections", []specRow{
		{"POST", "/site/<site_id>/collections", "`source_locale` string required; `sort_order` decimal optional (placed last when empty); `translations[<locale>][name]` required for the source locale; `translations[<locale>][summary]` optional", "data: collection",
			"source_locale=en&translations[en][name]=Least", "source_locale=en&sort_order=1.5&translations[en][name]=Most&translations[en][summary]=All&translations[de-AT][name]=Meist", "collection_id"},
		{"GET", "/sites/<site_id>/collections", "query: `sort_by` enum sort_order; `sort_type` enum desc, asc", "data: array of collection", "", "", ""},
		{"GET", "/sites/<site_id>/collections/<collection_id>", "", "data: collection", "", "", ""},
		{"PUT", "/sites/<site_id>/collections/<collection_id>", "`source_locale` required; `collection_id` required; `sort_order`, `translations` as in create", "data: collection",
			"source_locale=en&collection_id=<collection_id>", "source_locale=en&collection_id=<collection_id>&sort_order=-0.25&translations[en][name]=More&translations[fr][summary]=Tout", ""},
		{"DELETE", "/sites/<site_id>/collections/<collection_id>", "", "204", "", "", ""},
	}},
	{"Categories", []specRow{
		{"POST", "/site/<site_id>/categories", "`collection_id` integer required; `source_locale` string required; `sort_order` decimal optional (placed last when empty); `translations[<locale>][name]` required for the source locale; `translations[<locale>][summary]` optional", "data: category",
			"collection_id=<collection_id>&source_locale=en&translations[en][name]=Least", "collection_id=<collection_id>&source_locale=en&sort_order=2.5&translations[en][name]=Most&translations[en][summary]=All", "category_id"},
		{"GET", "/sites/<site_id>/categories", "query: `collection_id` integer filter; `sort_by` enum sort_order; `sort_type` enum desc, asc", "data: array of category", "", "", ""},
		{"GET", "/sites/<site_id>/categories/<category_id>", "", "data: category", "", "", ""},
		{"PUT", "/sites/<site_id>/categories/<category_id>", "`collection_id` required; `source_locale` required; `category_id` required; `sort_order`, `translations` as in create", "data: category",
			"collection_id=<collection_id>&source_locale=en&category_id=<category_id>", "collection_id=<collection_id>&source_locale=en&category_id=<category_id>&sort_order=3&translations[en][name]=More&translations[en][summary]=Every", ""},
		{"DELETE", "/sites/<site_id>/categories/<category_id>", "", "204", "", "", ""},
	}},
	{"Articles", []specRow{
		{"POST", "/site/<site_id>/articles", "`source_locale` string required; `collection_id` integer required; `status` enum published, unpublished optional (default published); `sort_order` decimal optional (placed last when empty); `categories` array of category ids optional; `translations[<locale>][title]` required for the source locale; `translations[<locale>][summary]` optional; `translations[<locale>][content]` required for the source locale", "data: article",
			"source_locale=en&collection_id=<collection_id>&translations[en][title]=Least&translations[en][content]=Text",
			"source_locale=en&collection_id=<collection_id>&status=unpublished&sort_order=0.125&categories[]=<category_id>&translations[en][title]=Most&translations[en][summary]=All&translations[en][content]=Text&translations[de][title]=Meist", "article_id"},
		{"GET", "/sites/<site_id>/articles", "query: `query` string keyword filter; `collection_id` integer filter; `ids` array of integers filter; `sort_by` enum sort_order; `sort_type` enum desc, asc", "data: array of article", "", "", ""},
		{"GET", "/sites/<site_id>/articles/<article_id>", "", "data: live article", "", "", ""},
		{"GET", "/sites/<site_id>/articles/<article_id>/draft", "", "data: draft revision, or the live revision if no draft; creates nothing", "", "", ""},
		{"PUT", "/sites/<site_id>/articles/<article_id>", "same fields as create (`source_locale` and `collection_id` required; `status` optional without default)", "data: article; updates the live version without generating a revision",
			"source_locale=en&collection_id=<collection_id>", "source_locale=en&collection_id=<collection_id>&status=published&sort_order=4&translations[en][title]=More&translations[en][content]=Words", ""},
		{"PUT", "/sites/<site_id>/articles/<article_id>/draft", "same fields as the live update; `status` published makes the draft live", "data: article (draft)",
			"source_locale=en&collection_id=<collection_id>", "source_locale=en&collection_id=<collection_id>&status=published&sort_order=5&translations[en][title]=Much more", ""},
		{"PUT", "/sites/<site_id>/articles/<article_id>/draft", "same fields as the live update; `status` published makes the draft live", "data: article (draft)",
			"source_locale=en&collection_id=<collection_id>", "", ""},
		{"DELETE", "/sites/<site_id>/articles/<article_id>/draft", "", "204", "", "", ""},
		{"DELETE", "/sites/<site_id>/articles/<article_id>", "", "204", "", "", ""},
	}},
	{"Article feedback", []specRow{
		{"POST", "/site/<site_id>/article-feedbacks", "`article_id` integer required; `feedback` string required", "data: feedback",
			"article_id=<article_id>&feedback=Least", "", "feedback_id"},
		{"GET", "/sites/<site_id>/article-feedbacks", "query: `article_id` integer filter", "data: array of feedback", "", "", ""},
		{"GET", "/sites/<site_id>/article-feedbacks/<feedback_id>", "", "data: feedback", "", "", ""},
		{"DELETE", "/sites/<site_id>/article-feedbacks/<feedback_id>", "", "204", "", "", ""},
	}},
}
