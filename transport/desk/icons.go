package desk

import (
	"fmt"
	"html/template"
)

// icons are drawn on 24 by 24 with lines of 2, in the colour of the text.
var icons = map[string]string{
	"activity": `<path d="M3 12h4l3-8 4 16 3-8h4"/>`,
	"alert":    `<path d="M12 4 2.5 20h19L12 4Z"/><path d="M12 10v4m0 3v.1"/>`,
	"at":       `<circle cx="12" cy="12" r="4"/><path d="M16 8v5a3 3 0 0 0 5 1v-2a9 9 0 1 0-4 7.5"/>`,
	"ban":      `<circle cx="12" cy="12" r="9"/><path d="m5.600 5.600 12.800 12.800"/>`,
	"bell":     `<path d="M6 9a6 6 0 0 1 12 0c0 6 2 7 2 8H4c0-1 2-2 2-8Z"/><path d="M10 21h4"/>`,
	"bold":     `<path d="M7 5h6a3.5 3.5 0 0 1 0 7H7V5Zm0 7h7a3.5 3.5 0 0 1 0 7H7v-7Z"/>`,
	"book":     `<path d="M12 6c-2-1.5-5-2-9-2v14c4 0 7 .5 9 2 2-1.5 5-2 9-2V4c-4 0-7 .5-9 2Zm0 0v14"/>`,
	"building": `<path d="M5 21V4h9v17m0-12h5v12M3 21h18M8 8h3M8 12h3M8 16h3"/>`,
	"chart":    `<path d="M4 4v16h16M8 16v-4m4 4V8m4 8v-6"/>`,
	"check":    `<path d="m4 12 5.5 6L20 6"/>`,
	"chevron":  `<path d="m6 9 6 6 6-6"/>`,
	"clip":     `<path d="m20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7L9.5 17a1.7 1.7 0 0 1-2.4-2.4l7.4-7.3"/>`,
	"bolt":     `<path d="M13 3 5 14h6l-1 7 8-11h-6l1-7Z"/>`,
	"clock":    `<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 2"/>`,
	"code":     `<path d="m8 7-5 5 5 5m8-10 5 5-5 5"/>`,
	"copy":     `<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15H4V5a1 1 0 0 1 1-1h10v1"/>`,
	"done":     `<circle cx="12" cy="12" r="9"/><path d="m8 12 3 3 5-6"/>`,
	"download": `<path d="M12 4v11m-5-5 5 5 5-5M4 20h16"/>`,
	"failed":   `<circle cx="12" cy="12" r="9"/><path d="m9 9 6 6m0-6-6 6"/>`,
	"hook":     `<path d="M8 8a4 4 0 1 1 7 2.600L18 16m0 0a3.500 3.500 0 1 1-3 3H9m1-8-3 5m0 0a3.500 3.500 0 1 0 2.500 4"/>`,
	"sun":      `<circle cx="12" cy="12" r="4"/><path d="M12 2v3m0 14v3M2 12h3m14 0h3M5 5l2 2m10 10 2 2m0-14-2 2M7 17l-2 2"/>`,
	"down":     `<path d="M12 5v14m-6-6 6 6 6-6"/>`,
	"up":       `<path d="M12 19V5m-6 6 6-6 6 6"/>`,
	"dots":     `<path d="M5 12v.1M12 12v.1M19 12v.1"/>`,
	"eye":      `<path d="M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12Z"/><circle cx="12" cy="12" r="3"/>`,
	"filter":   `<path d="M3 6h18M7 12h10m-7 6h4"/>`,
	"flag":     `<path d="M5 21V4h14l-3.500 4.500L19 13H5"/>`,
	"forward":  `<path d="m14 5 7 6-7 6m7-6h-9c-5 0-8 3-9 8"/>`,
	"globe":    `<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18"/>`,
	"help":     `<circle cx="12" cy="12" r="9"/><path d="M9.5 9a2.6 2.6 0 1 1 3.6 2.6c-.8.4-1.1.9-1.1 1.9m0 3v.1"/>`,
	"image":    `<rect x="3" y="4" width="18" height="16" rx="2"/><circle cx="9" cy="10" r="1.5"/><path d="m4 18 6-5 4 3 3-2.500 4 3.500"/>`,
	"inbox":    `<path d="M3 13 6 5h12l3 8v6H3v-6Zm0 0h5l1.500 3h5l1.500-3h5"/>`,
	"italic":   `<path d="M10 5h8M6 19h8M14 5l-4 14"/>`,
	"key":      `<circle cx="8" cy="15" r="4"/><path d="m11 12 9-9m-4 4 3 3"/>`,
	"link":     `<path d="M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-5.500l-1 1m2 3a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 5.500l1-1"/>`,
	"list":     `<path d="M9 6h12M9 12h12M9 18h12M4 6v.1M4 12v.1M4 18v.1"/>`,
	"lock":     `<rect x="5" y="11" width="14" height="9" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>`,
	"mail":     `<rect x="3" y="5" width="18" height="14" rx="2"/><path d="m4 7 8 6 8-6"/>`,
	"menu":     `<path d="M4 6h16M4 12h16M4 18h16"/>`,
	"merge":    `<path d="M7 4v5c0 3 5 4 5 8v4m5-17v5c0 3-5 4-5 8"/>`,
	"note":     `<path d="M5 4h14v10l-5 6H5V4Zm9 16v-6h5"/>`,
	"phone":    `<path d="M6 3h3l2 5-2.500 2a12 12 0 0 0 5.500 5.500l2-2.500 5 2v3a2 2 0 0 1-2 2A15 15 0 0 1 4 5a2 2 0 0 1 2-2Z"/>`,
	"pencil":   `<path d="m4 20 1-5L16 4l4 4L9 19l-5 1Z"/>`,
	"plus":     `<path d="M12 5v14M5 12h14"/>`,
	"quote":    `<path d="M5 6v12M10 8h10M10 12h10M10 16h6"/>`,
	"refresh":  `<path d="M20 11a8 8 0 1 0-2 6m2-11v5h-5"/>`,
	"reply":    `<path d="m10 5-7 6 7 6m-7-6h9c5 0 8 3 9 8"/>`,
	"search":   `<circle cx="11" cy="11" r="7"/><path d="m16 16 5 5"/>`,
	"send":     `<path d="m3 11 18-8-8 18-2-8-8-2Z"/>`,
	"settings": `<circle cx="12" cy="12" r="3"/><path d="M12 3v3m0 12v3M3 12h3m12 0h3M5.600 5.600l2.100 2.100m8.600 8.600 2.100 2.100m0-12.800-2.100 2.100m-8.600 8.600-2.100 2.100"/>`,
	"shield":   `<path d="M12 3 5 6v6c0 4 3 7 7 9 4-2 7-5 7-9V6l-7-3Z"/>`,
	"signout":  `<path d="M14 4H5v16h9m-4-8h11m-4-4 4 4-4 4"/>`,
	"snooze":   `<circle cx="12" cy="13" r="7"/><path d="M10 11h4l-4 4h4M4 5l3-2m13 2-3-2"/>`,
	"slash":    `<path d="M15 4 9 20"/>`,
	"star":     `<path d="m12 3 2.700 5.800 6.300.8-4.600 4.400 1.200 6.300L12 17.200l-5.600 3.100 1.200-6.300L3 9.600l6.300-.8L12 3Z"/>`,
	"tag":      `<path d="M4 4h8l8 8-8 8-8-8V4Zm4 4v.1"/>`,
	"trash":    `<path d="M4 7h16M10 7V4h4v3m-8 0 1 13h10l1-13"/>`,
	"user":     `<circle cx="12" cy="8" r="4"/><path d="M4 21c0-4 4-6 8-6s8 2 8 6"/>`,
	"group":    `<circle cx="12" cy="6" r="3"/><circle cx="5.500" cy="17" r="2.500"/><circle cx="18.500" cy="17" r="2.500"/><path d="M12 9v3M7 15l5-3 5 3"/>`,
	"users":    `<circle cx="9" cy="8" r="3.500"/><path d="M2.500 20c0-4 3-5.500 6.500-5.500s6.500 1.500 6.500 5.500M15.500 5a3.500 3.500 0 0 1 0 6.500m3 3c2 .7 3 2.500 3 5.500"/>`,
	"x":        `<path d="m6 6 12 12M18 6 6 18"/>`,
}

// icon draws an icon. It has no text alternative, as the text next to it names it.
func icon(name string, class ...string) (template.HTML, error) {
	paths, ok := icons[name]
	if !ok {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	more := ""
	for _, c := range class {
		more += " " + c
	}
	return template.HTML(`<svg class="icon` + more + `" viewBox="0 0 24 24" aria-hidden="true">` + paths + `</svg>`), nil // no text of others
}
