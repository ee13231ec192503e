// Package theme implements the appearance of a knowledge base: the files of a theme, theme archives, the built-in theme, and
// the rendering of pages.
//
// A theme consists of templates (html/template) under "templates/", of which "layout" and "article" are required, assets
// under "assets/", and a "theme.json" that names it. Each page is the layout with the template of the page as "content".
// Other missing templates come from the built-in theme.
//
// Themes are untrusted programs. [Compile] lets them call only a few functions without side effects, and [Set.Render] limits
// their steps, their time and the size of the page. [Open] reads archives within limits, and reports which file is wrong and
// why.
package theme
