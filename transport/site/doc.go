// Package site serves the help centres of a knowledge base to their readers.
//
// [New] makes one [Handler] for all sites: it finds the site of a request by its host and then by its path, and renders the
// page with the site's theme. It needs a kb.Service; everything else in [Config] is optional, and without it the site does
// less: for example, it has no sign-in or no contact form.
//
// Below the address of a site are
//
//	/                              to the best language
//	/en                            the home page
//	/en/articles/12-the-title      an article; with .md appended, as Markdown
//	/en/collections/3-the-name     a collection
//	/en/categories/4-the-name      a category
//	/en/search?query=              search results
//	/en/contact                    the contact form
//	/en/feed.atom                  the latest changes
//	/articles/12                   to the article in the best language
//	/files/7/key/name.png          a file of the site
//	/robots.txt /sitemap.xml /llms.txt
//	/-/                            resources of pages: assets, suggestions, forms
package site
