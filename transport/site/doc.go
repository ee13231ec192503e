// Package site serves the help centres of a knowledge base to their readers.
//
// [New] makes one [Handler] for all sites: it finds the site of a request by its host
// and then by its path, and renders the page through the site's theme. It needs a
// kb.Service; everything else of [Config] is a hook that may be left out, and without
// which the site does less: nobody can sign in, or write a message.
//
// Below the address of a site are
//
//	/                              to the best language
//	/en                            the home page
//	/en/articles/12-the-title      an article; with .md behind it, as Markdown
//	/en/collections/3-the-name     a collection
//	/en/categories/4-the-name      a category
//	/en/search?query=              what a search finds
//	/en/contact                    the contact form
//	/en/feed.atom                  what was changed last
//	/articles/12                   to the article in the best language
//	/files/7/key/name.png          a file of the site
//	/robots.txt /sitemap.xml /llms.txt
//	/-/                            what pages need: assets, suggestions, forms
package site
