package theme

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Palette holds the colours of a page in light and dark mode.
type Palette struct{ Light, Dark []Token }

// Token is a named colour, such as "link", as #rrggbb.
type Token struct{ Name, Colour string }

// neutrals derive from the accent's hue. Each has a lightness, and a share of the accent's chroma, in OKLCH. A grey accent
// thus gives greys.
var neutrals = []struct {
	name        string
	light, dark tone
}{
	{"bg", tone{1, 0, 0}, tone{.175, .1, .014}},
	{"panel", tone{.977, .06, .007}, tone{.215, .12, .016}},
	{"wash", tone{.965, .14, .02}, tone{.225, .16, .028}},
	{"raise", tone{1, 0, 0}, tone{.235, .12, .018}},
	{"pick", tone{.965, .14, .02}, tone{.30, .2, .03}},
	{"mark", tone{.92, .5, .07}, tone{.38, .5, .08}},
	{"line", tone{.91, .1, .012}, tone{.30, .12, .018}},
	{"edge", tone{.83, .14, .018}, tone{.40, .14, .02}},
	{"control", tone{.65, .16, .022}, tone{.55, .12, .018}},
	{"soft", tone{.48, .2, .025}, tone{.74, .1, .016}},
	{"text", tone{.25, .2, .025}, tone{.93, .03, .006}},
}

// tone is a lightness, a share of the accent's chroma, and the cap on it.
type tone struct{ lightness, share, most float64 }

// Colours derives a palette from an accent, #rrggbb. Text is legible on all of them (a test checks this). An invalid accent
// counts as black.
func Colours(accent string) Palette {
	c := parseColour(accent)
	chroma, hue := c.chroma()
	on, light, dark := colour{}, c.luminance(), c
	if light < .1791 {
		on = colour{1, 1, 1}
	}
	p := Palette{}
	add := func(name string, light, dark colour) {
		p.Light = append(p.Light, Token{name, light.String()})
		p.Dark = append(p.Dark, Token{name, dark.String()})
	}
	add("accent", c, c)
	add("on-accent", on, on)
	dark = c.times(max(1, min(.26/light, 1/max(c.r, c.g, c.b)))) // not for black, which has nothing to brighten
	if light == 0 {
		dark = c
	}
	if y := dark.luminance(); y < .34 {
		dark = dark.mix((.34 - y) / (1 - y))
	}
	add("link", c.times(min(1, .14/max(light, 1e-9))), dark)
	for _, n := range neutrals {
		of := func(t tone) colour { return oklch(t.lightness, min(chroma*t.share, t.most), hue) }
		add(n.name, of(n.light), of(n.dark))
	}
	return p
}

// CSS declares the palette as custom properties whose names begin with "--hw-".
func (p Palette) CSS() string {
	declare := func(tokens []Token) string {
		var b strings.Builder
		for _, t := range tokens {
			fmt.Fprintf(&b, "--hw-%s:%s;", t.Name, t.Colour)
		}
		return ":root{" + b.String() + "}"
	}
	return declare(p.Light) + "@media (prefers-color-scheme:dark){" + declare(p.Dark) + "}"
}

// colour is a colour in linear light, each channel from 0 to 1.
type colour struct{ r, g, b float64 }

func parseColour(s string) colour {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 24)
	if err != nil || len(s) != 7 || s[0] != '#' {
		return colour{}
	}
	return colour{linear[n>>16], linear[n>>8&0xFF], linear[n&0xFF]}
}

// linear converts channel values to linear light.
var linear = func() (all [256]float64) {
	for i := range all {
		if s := float64(i) / 255; s <= .04045 {
			all[i] = s / 12.92
		} else {
			all[i] = math.Pow((s+.055)/1.055, 2.4)
		}
	}
	return all
}()

func (c colour) String() string {
	channel := func(v float64) int {
		v = min(max(v, 0), 1)
		if v <= .0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - .055
		}
		return int(math.Round(v * 255))
	}
	return fmt.Sprintf("#%02x%02x%02x", channel(c.r), channel(c.g), channel(c.b))
}

// luminance returns the relative luminance of WCAG 2.2.
func (c colour) luminance() float64 { return .2126*c.r + .7152*c.g + .0722*c.b }

func (c colour) times(f float64) colour { return colour{c.r * f, c.g * f, c.b * f} }

// mix blends in white.
func (c colour) mix(white float64) colour {
	add := func(v float64) float64 { return v + (1-v)*white }
	return colour{add(c.r), add(c.g), add(c.b)}
}

// chroma returns the chroma and the hue in OKLCH.
func (c colour) chroma() (chroma, hue float64) {
	l := math.Cbrt(.4122214708*c.r + .5363325363*c.g + .0514459929*c.b)
	m := math.Cbrt(.2119034982*c.r + .6806995451*c.g + .1073969566*c.b)
	s := math.Cbrt(.0883024619*c.r + .2817188376*c.g + .6299787005*c.b)
	a := 1.9779984951*l - 2.4285922050*m + .4505937099*s
	b := .0259040371*l + .7827717662*m - .8086757660*s
	return math.Hypot(a, b), math.Atan2(b, a)
}

// oklch returns a colour from its lightness, chroma and hue.
func oklch(lightness, chroma, hue float64) colour {
	a, b := chroma*math.Cos(hue), chroma*math.Sin(hue)
	cube := func(v float64) float64 { return v * v * v }
	l := cube(lightness + .3963377774*a + .2158037573*b)
	m := cube(lightness - .1055613458*a - .0638541728*b)
	s := cube(lightness - .0894841775*a - 1.2914855480*b)
	return colour{
		4.0767416621*l - 3.3077115913*m + .2309699292*s,
		-1.2684380046*l + 2.6097574011*m - .3413193965*s,
		-.0041960863*l - .7034186147*m + 1.7076147010*s,
	}
}
