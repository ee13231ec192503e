// Package theme is what a knowledge base looks like: the files of a theme, the
// archive they travel in, the theme that comes with the program, and the rendering of
// a page.
//
// A theme is files: templates (html/template) under "templates/", of which "layout"
// and "article" must be there, assets under "assets/", and a "theme.json" that names
// it. Each page is the layout with the template of the page as "content"; what a theme
// does not have of the other templates is taken from the built-in theme.
//
// Themes are foreign programs: [Compile] leaves them nothing to call but a few
// functions without effects, and [Set.Render] ends them after a number of steps, a
// time and a size of the page. [Open] reads archives within limits, and says which
// file is wrong and why.
package theme
