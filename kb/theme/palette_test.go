package theme

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Text is legible with any accent: the lowest contrast over 140,608 accents, by WCAG 2.2, of the colours as written.
func TestContrast(t *testing.T) {
	t.Parallel()
	contrast := func(a, b string) float64 {
		x, y := parseColour(a).luminance(), parseColour(b).luminance()
		return (max(x, y) + .05) / (min(x, y) + .05)
	}
	pairs := []struct {
		name   string
		on     []string
		lowest float64
	}{
		{"on-accent", []string{"accent"}, 4.58},
		{"link", []string{"bg", "panel", "wash", "raise"}, 4.90},
		{"soft", []string{"bg", "panel", "wash", "raise", "pick"}, 5.82},
		{"text", []string{"bg", "panel", "wash", "raise", "pick", "mark"}, 7.67},
		{"control", []string{"bg"}, 3.18},
	}
	step := 5
	if testing.Short() {
		step = 51
	}
	lowest := map[string]float64{}
	for r := 0; r < 256; r += step {
		for g := 0; g < 256; g += step {
			for b := 0; b < 256; b += step {
				p := Colours(fmt.Sprintf("#%02x%02x%02x", r, g, b))
				for _, tokens := range [][]Token{p.Light, p.Dark} {
					by := map[string]string{}
					for _, token := range tokens {
						by[token.Name] = token.Colour
					}
					for _, pair := range pairs {
						for _, on := range pair.on {
							if got := contrast(by[pair.name], by[on]); lowest[pair.name] == 0 || got < lowest[pair.name] {
								lowest[pair.name] = got
							}
						}
					}
				}
			}
		}
	}
	for _, pair := range pairs {
		if got := lowest[pair.name]; math.Round(got*100)/100 < pair.lowest {
			t.Errorf("%s: contrast %.3f, want %.2f", pair.name, got, pair.lowest)
		}
	}
	t.Logf("lowest: %v", lowest)
}

func TestColours(t *testing.T) {
	t.Parallel()
	for accent, want := range map[string]string{
		"#0f6b5c": "--hw-accent:#0f6b5c;--hw-on-accent:#ffffff;--hw-link:#0f6b5c;--hw-bg:#ffffff;",
		"#ffd60a": "--hw-accent:#ffd60a;--hw-on-accent:#000000;--hw-link:#7c6702;",
		"#000000": "--hw-accent:#000000;--hw-on-accent:#ffffff;--hw-link:#000000;--hw-bg:#ffffff;--hw-panel:#f7f7f7;",
		"#808080": "--hw-panel:#f7f7f7;",
		"red":     "--hw-accent:#000000;",
		"#12345":  "--hw-accent:#000000;",
	} {
		if got := Colours(accent).CSS(); !strings.Contains(got, want) || strings.Contains(got, "NaN") {
			t.Errorf("%s: %s", accent, got)
		}
	}
}
