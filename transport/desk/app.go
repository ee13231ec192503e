package desk

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// The desk can be installed as an app. Its service worker keeps one page, for when the server does not answer, with the
// files that this page shows. It keeps nothing of the pages of members.

func (h *Handler) routeApp() {
	h.mux.HandleFunc("GET /manifest.webmanifest", h.visitor((*visit).manifest))
	h.mux.HandleFunc("GET /worker.js", h.visitor((*visit).worker))
	h.mux.HandleFunc("GET /offline", h.visitor((*visit).offlinePage))
	h.routePush()
}

// manifestIcon is an icon of the web app manifest (W3C).
type manifestIcon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

func (v *visit) manifest() error {
	var icons []manifestIcon
	for _, icon := range []manifestIcon{
		{"mark.svg", "any", "image/svg+xml", "any"},
		{"icon-192.png", "192x192", "image/png", "any"},
		{"icon-512.png", "512x512", "image/png", "any"},
		{"icon-maskable-512.png", "512x512", "image/png", "maskable"},
	} {
		var err error
		if icon.Src, err = v.h.assetURL(icon.Src); err != nil {
			return err
		}
		icons = append(icons, icon)
	}
	v.w.Header().Set("Content-Type", "application/manifest+json")
	v.w.Header().Set("Cache-Control", "public, max-age=3600")
	v.w.Header().Set("Vary", "Accept-Language")
	return json.NewEncoder(v.w).Encode(map[string]any{
		"id": v.h.url("/"), "start_url": v.h.url("/"), "scope": v.h.url("/"), "name": v.words.T("Helpwright"), "short_name": v.words.T("Helpwright"),
		"lang": v.words.lang, "dir": "auto", "display": "standalone", "background_color": "#f7f5f2", "theme_color": "#016770", "icons": icons,
	})
}

// workerFiles are the files that the page shown without a connection needs.
func workerFiles() []string { return []string{"desk.css", "mark.svg"} }

// worker serves the service worker. Browsers compare it with the one that they have, so it changes with the files that it
// keeps.
func (v *visit) worker() error {
	files, err := v.h.files()
	if err != nil {
		return err
	}
	paths := []string{}
	for _, name := range workerFiles() {
		path, err := v.h.assetURL(name)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	icon, err := v.h.assetURL("icon-192.png")
	if err != nil {
		return err
	}
	given, err := json.Marshal(map[string]any{
		"page": v.h.url("/offline"), "files": paths, "version": files["worker.js"].name, "icon": icon,
		"words": map[string]string{"told": v.words.T("You have a new notification"), "test": v.words.T("Notifications work on this device")},
	})
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	v.w.Header().Set("Cache-Control", "no-cache")
	_, err = v.w.Write(bytes.Join([][]byte{[]byte("const given = "), given, []byte(";\n"), files["worker.js"].content}, nil))
	return err
}

// offlinePage is shown when the server does not answer. It is the same for everybody.
func (v *visit) offlinePage() error {
	return v.show(screen{template: "offline", title: v.words.T("Offline"), bare: true, status: http.StatusOK})
}
