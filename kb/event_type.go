package kb

import "github.com/helpwright/helpwright/storage"

// EventTypes lists the types of the events that the knowledge base writes to the log of an account, by name. The data of
// each has the site_id, beside the id of the resource.
func EventTypes() []storage.EventType {
	return []storage.EventType{
		{Name: "article.created", Description: "An article was created."},
		{Name: "article.deleted", Description: "An article was deleted."},
		{Name: "article.published", Description: "A revision of an article was published."},
		{Name: "article.unpublished", Description: "An article is no longer published."},
		{Name: "article.updated", Description: "An article or its draft changed."},
		{Name: "category.created", Description: "A category was created."},
		{Name: "category.deleted", Description: "A category was deleted."},
		{Name: "category.updated", Description: "A category changed."},
		{Name: "collection.created", Description: "A collection was created."},
		{Name: "collection.deleted", Description: "A collection was deleted."},
		{Name: "collection.updated", Description: "A collection changed."},
		{Name: "feedback.created", Description: "A reader left feedback on an article."},
		{Name: "feedback.deleted", Description: "Feedback was deleted."},
		{Name: "feedback.updated", Description: "Feedback was marked as done, or as open again."},
		{Name: "file.created", Description: "A file was uploaded to a site."},
		{Name: "file.deleted", Description: "A file of a site was deleted."},
		{Name: "file.updated", Description: "A file of a site was renamed or replaced."},
		{Name: "site.created", Description: "A site was created."},
		{Name: "site.deleted", Description: "A site was deleted with all its content."},
		{Name: "site.updated", Description: "The settings or the look of a site changed."},
		{Name: "theme.activated", Description: "A theme became the one that readers see."},
		{Name: "theme.created", Description: "A theme was created."},
		{Name: "theme.deleted", Description: "A theme was deleted."},
		{Name: "theme.updated", Description: "A theme or one of its files changed."},
	}
}
