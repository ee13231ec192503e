package site

import (
	"fmt"
	"testing"
)

// TestRouteOf maps addresses to a few patterns, whatever is requested.
func TestRouteOf(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for path, want := range map[string]string{
		"/": "{site}/", "/robots.txt": "{site}/robots.txt", "/-/assets/a.css": "{site}/-/assets", "/-/secret": "{site}/{other}", "/sitemap-2.xml": "{site}/sitemap.xml",
		"/en": "{site}/{locale}/", "/en/search": "{site}/{locale}/search", "/en/articles/7-a": "{site}/{locale}/articles/{name}", "/de/anything/else": "{site}/{locale}/{other}",
		"/wp-login.php": "{site}/{other}",
	} {
		if got := routeOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for i := range 1000 {
		for _, path := range []string{"/%d", "/en/%d", "/en/articles/%d", "/-/%d", "/files/%d", "/sitemap-%d.xml", "/%d/articles/a"} {
			seen[routeOf(fmt.Sprintf(path, i))] = true
		}
	}
	if len(seen) > 10 {
		t.Errorf("%d patterns", len(seen))
	}
}
