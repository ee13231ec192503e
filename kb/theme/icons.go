package theme

import (
	"html/template"
	"maps"
	"slices"
)

// collectionIcons are the icons for collections: the content of an SVG of 24 by 24 units, drawn with a stroke of 1.5.
var collectionIcons = map[string]string{
	"compass":  `<circle cx="12" cy="12" r="8.75"/><path d="m15.2 8.8-1.7 4.7-4.7 1.7 1.7-4.7z"/>`,
	"book":     `<path d="M12 6.4C10.2 5 7.4 4.6 3.5 4.75v13.4c3.9-.15 6.7.3 8.5 1.75 1.8-1.45 4.6-1.9 8.5-1.75V4.75C16.6 4.6 13.8 5 12 6.4zM12 6.4v13.5"/>`,
	"calendar": `<rect x="3.25" y="5" width="17.5" height="15.75" rx="2.5"/><path d="M3.25 9.75h17.5M8 2.75V6.5M16 2.75V6.5"/>`,
	"card":     `<rect x="2.75" y="5" width="18.5" height="14" rx="2.5"/><path d="M2.75 9.5h18.5M6.5 15h3.5"/>`,
	"coins":    `<ellipse cx="8.75" cy="6" rx="6" ry="2.75"/><path d="M2.75 6v7.5c0 1.5 2 2.6 5 2.75M14.75 6v2.5M2.75 9.75c0 1.5 2.2 2.6 5.25 2.75"/><circle cx="16" cy="15.25" r="5.25"/>`,
	"people":   `<circle cx="9" cy="7.75" r="3.5"/><path d="M2.5 20c0-3.6 2.9-6.25 6.5-6.25s6.5 2.65 6.5 6.25M15.75 4.6a3.5 3.5 0 0 1 0 6.3M18 14.4c2.1.9 3.5 2.9 3.5 5.6"/>`,
	"phone":    `<rect x="6" y="2.25" width="12" height="19.5" rx="2.5"/><path d="M10.5 18.5h3"/>`,
	"laptop":   `<rect x="4.75" y="4.5" width="14.5" height="11" rx="2"/><path d="M2 19h20"/>`,
	"plug":     `<path d="M8.5 2.75V8M15.5 2.75V8M5.5 8h13v2.5a6.5 6.5 0 0 1-13 0zM12 17v4.25"/>`,
	"code":     `<path d="m7.5 7.5-4.75 4.75L7.5 17M16.5 7.5l4.75 4.75L16.5 17M13.75 4.5l-3.5 15.25"/>`,
	"shield":   `<path d="M12 2.75 4.5 5.5v5.75c0 4.6 3 8.2 7.5 10 4.5-1.8 7.5-5.4 7.5-10V5.5zM8.75 11.75l2.4 2.4 4.35-4.4"/>`,
	"key":      `<circle cx="7.75" cy="16.25" r="4.75"/><path d="M11.2 12.8 20.75 3.25M17 7l3 3"/>`,
	"gear":     `<path d="M2.5 8h10.25M19.25 8h2.25M2.5 16h2.75M11.75 16h9.75"/><circle cx="16" cy="8" r="3.25"/><circle cx="8.5" cy="16" r="3.25"/>`,
	"bell":     `<path d="M6 10.25a6 6 0 0 1 12 0c0 3.4.9 5.2 2.25 6.75H3.75C5.1 15.45 6 13.65 6 10.25zM12 2v2.25M9.75 20.25c.6.6 1.35.9 2.25.9s1.65-.3 2.25-.9"/>`,
	"chart":    `<path d="M3.25 3v17.75h17.5M8 16.75v-4.5M12.5 16.75V8M17 16.75v-6.5"/>`,
	"bolt":     `<path d="M13.25 2.5 4.5 13.75h6.75l-.75 7.75L19.5 10h-6.75z"/>`,
	"box":      `<path d="m12 2.5 8.25 4.5v9.75L12 21.5l-8.25-4.75V7zM3.75 7 12 11.75 20.25 7M12 11.75v9.75"/>`,
	"truck":    `<path d="M5.25 17.5H2.25V5.5h12.25v12h-5M14.5 9.25h3.75l3.5 3.75v4.5h-2M15.5 17.5h-1"/><circle cx="7.375" cy="17.75" r="2.125"/><circle cx="17.625" cy="17.75" r="2.125"/>`,
	"globe":    `<circle cx="12" cy="12" r="9.25"/><path d="M2.75 12h18.5M12 2.75c2.6 2.5 3.9 5.6 3.9 9.25s-1.3 6.75-3.9 9.25c-2.6-2.5-3.9-5.6-3.9-9.25S9.4 5.25 12 2.75z"/>`,
	"lock":     `<rect x="4" y="10.25" width="16" height="10.75" rx="2.5"/><path d="M7.5 10.25V7a4.5 4.5 0 0 1 9 0v3.25M12 14.5v2.25"/>`,
	"chat":     `<path d="M5.25 4h13.5a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-7.5l-4.5 3.75V17h-1.5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2zM7.75 8.75h8.5M7.75 12.5h5.5"/>`,
	"tag":      `<path d="M3.25 3.25h8.5l9.5 9.5-8.5 8.5-9.5-9.5z"/><circle cx="8" cy="8" r="1.25"/>`,
	"wrench":   `<path d="M20.6 7.2 17.4 10.4l-3.2-.6-.6-3.2 3.2-3.2a5.25 5.25 0 0 0-6.65 6.75l-6.7 6.7a2.3 2.3 0 0 0 3.25 3.25l6.7-6.7A5.25 5.25 0 0 0 20.6 7.2z"/>`,
	"buoy":     `<circle cx="12" cy="12" r="9"/><circle cx="12" cy="12" r="3.75"/><path d="m5.65 5.65 3.7 3.7M14.65 14.65l3.7 3.7M18.35 5.65l-3.7 3.7M9.35 14.65l-3.7 3.7"/>`,
}

// pageIcons are the icons that the pages themselves use.
var pageIcons = map[string]string{
	"search":    `<circle cx="10.75" cy="10.75" r="6.5"/><path d="m15.5 15.5 5 5"/>`,
	"menu":      `<path d="M3.5 8.75h17M3.5 15.25h17"/>`,
	"close":     `<path d="m5 5 14 14M19 5 5 19"/>`,
	"chevron":   `<path d="m9 5.5 6.5 6.5L9 18.5"/>`,
	"down":      `<path d="m5.5 9 6.5 6.5L18.5 9"/>`,
	"print":     `<path d="M7 8V3.25h10V8M6.75 17.25H3.25V8h17.5v9.25h-3.5M6.75 13.5h10.5v7.25H6.75z"/>`,
	"markdown":  `<rect x="2.5" y="5.5" width="19" height="13" rx="1.5"/><path d="M6 15V9.25l2.75 3 2.75-3V15M17 9.25V15M14.75 12.75 17 15l2.25-2.25"/>`,
	"page":      `<path d="M6 2.75h8l4.5 4.5v14H6zM14 2.75v4.5h4.5M9 12.25h6M9 16h4.5"/>`,
	"clip":      `<path d="m20 11-8.3 8.3a5 5 0 0 1-7.1-7.1l8.5-8.5a3.35 3.35 0 0 1 4.75 4.75l-8.45 8.4a1.65 1.65 0 0 1-2.35-2.35l7.7-7.7"/>`,
	"info":      `<circle cx="12" cy="12" r="9.25"/><path d="M12 11v5.5M12 7.25v.5"/>`,
	"tip":       `<path d="M9 17.25c0-2.25-3.25-3.5-3.25-7.5a6.25 6.25 0 0 1 12.5 0c0 4-3.25 5.25-3.25 7.5zM9.5 21h5"/>`,
	"warning":   `<path d="M12 3.5 2.25 20.25h19.5zM12 9.75v5M12 17v.5"/>`,
	"caution":   `<path d="M8 2.75h8L21.25 8v8L16 21.25H8L2.75 16V8zM12 7.5v5.5M12 16v.5"/>`,
	"important": `<path d="M5.25 4h13.5a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-7.5l-4.5 3.75V17h-1.5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2zM12 7.25v3.5M12 13v.5"/>`,
}

// Icons returns the names of the icons for collections.
func Icons() []string { return slices.Sorted(maps.Keys(collectionIcons)) }

// Icon returns an icon as the template function icon does.
func Icon(name string) template.HTML { return icon(name) }

// icon returns an icon. An unknown name gives the book, the icon of collections without one.
func icon(name string) template.HTML {
	inside := collectionIcons[name]
	if inside == "" {
		inside = pageIcons[name]
	}
	if inside == "" {
		inside = collectionIcons["book"]
	}
	return template.HTML(`<svg class="hw-icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">` + inside + `</svg>`) // constant
}
