package kb

import "github.com/helpwright/helpwright/storage"

// Domain announces the permissions and the event areas of the knowledge base to the help desk whose accounts and roles it
// shares, see [storage.Domain].
func Domain() storage.Domain {
	var permissions, views []string
	for _, area := range []string{"sites", "collections", "categories", "articles", "feedback", "files", "themes"} {
		views = append(views, area+".view")
		for _, action := range []string{"view", "create", "update", "delete"} {
			permissions = append(permissions, area+"."+action)
		}
	}
	permissions = append(permissions, string(ArticlesPublish))
	return storage.Domain{
		Permissions: permissions,
		Roles:       map[string][]string{"agent": views, "editor": permissions},
		Areas: map[string]string{
			"site": string(SitesView), "collection": string(CollectionsView), "category": string(CategoriesView),
			"article": string(ArticlesView), "feedback": string(FeedbackView), "file": string(FilesView), "theme": string(ThemesView),
		},
	}
}
