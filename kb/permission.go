package kb

// Permission names what a member may do, as <area>.<action>. The help desk defines the roles; these are the permissions that
// the knowledge base checks.
type Permission string

// The permissions of the knowledge base. The list only ever grows.
const (
	SitesView         Permission = "sites.view"
	SitesCreate       Permission = "sites.create"
	SitesUpdate       Permission = "sites.update"
	SitesDelete       Permission = "sites.delete"
	CollectionsView   Permission = "collections.view"
	CollectionsCreate Permission = "collections.create"
	CollectionsUpdate Permission = "collections.update"
	CollectionsDelete Permission = "collections.delete"
	CategoriesView    Permission = "categories.view"
	CategoriesCreate  Permission = "categories.create"
	CategoriesUpdate  Permission = "categories.update"
	CategoriesDelete  Permission = "categories.delete"
	ArticlesView      Permission = "articles.view"
	ArticlesCreate    Permission = "articles.create"
	ArticlesUpdate    Permission = "articles.update"
	ArticlesDelete    Permission = "articles.delete"
	ArticlesPublish   Permission = "articles.publish" // lets an article become visible to visitors
	FeedbackView      Permission = "feedback.view"
	FeedbackUpdate    Permission = "feedback.update"
	FeedbackDelete    Permission = "feedback.delete"
	FilesView         Permission = "files.view"
	FilesCreate       Permission = "files.create"
	FilesUpdate       Permission = "files.update"
	FilesDelete       Permission = "files.delete"
	ThemesView        Permission = "themes.view"
	ThemesCreate      Permission = "themes.create"
	ThemesUpdate      Permission = "themes.update"
	ThemesDelete      Permission = "themes.delete"
)

// published is the permission that every visitor of a site has. No role can hold it.
const published Permission = "published"
