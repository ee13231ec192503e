package portrait_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/internal/portrait"
	"github.com/helpwright/helpwright/storage/fault"
)

// quarters is an image whose quarters are red, green, blue and transparent, by rows.
func quarters(width, height int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			right, low := x >= width/2, y >= height/2
			switch {
			case !right && !low:
				m.Set(x, y, color.NRGBA{R: 255, A: 255})
			case right && !low:
				m.Set(x, y, color.NRGBA{G: 255, A: 255})
			case !right:
				m.Set(x, y, color.NRGBA{B: 255, A: 255})
			}
		}
	}
	return m
}

// turned is a JPEG with an Exif orientation.
func turned(t *testing.T, m image.Image, turn uint16, order binary.AppendByteOrder) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := jpeg.Encode(&file, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	head := "MM"
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		head = "II"
	}
	tiff := order.AppendUint32(order.AppendUint16([]byte(head), 42), 8)
	tiff = order.AppendUint16(tiff, 1)
	tiff = order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x0112), 3), 1)
	tiff = order.AppendUint16(order.AppendUint16(tiff, turn), 0)
	exif := append([]byte("Exif\x00\x00"), tiff...)
	segment := append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2)), exif...)
	return append(append([]byte{0xff, 0xd8}, segment...), file.Bytes()[2:]...)
}

// A picture is a small upright square of the middle, on white.
func TestMake(t *testing.T) {
	t.Parallel()
	const red, green, blue, white = "red", "green", "blue", "white"
	file := func(encode func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	flat := image.NewRGBA(image.Rect(0, 0, 512, 512))
	for i := range flat.Pix {
		flat.Pix[i] = 255
	}
	for y := range 512 {
		for x := range 512 {
			if y < 256 && x < 256 {
				flat.SetRGBA(x, y, color.RGBA{R: 255, A: 255})
			} else if y < 256 {
				flat.SetRGBA(x, y, color.RGBA{G: 255, A: 255})
			} else if x < 256 {
				flat.SetRGBA(x, y, color.RGBA{B: 255, A: 255})
			}
		}
	}
	for name, tt := range map[string]struct {
		file []byte
		want [4]string // its quarters by rows
	}{
		"PNG":         {file(func(b *bytes.Buffer) error { return png.Encode(b, quarters(700, 700)) }), [4]string{red, green, blue, white}},
		"a small one": {file(func(b *bytes.Buffer) error { return png.Encode(b, quarters(16, 16)) }), [4]string{red, green, blue, white}},
		"a wide one":  {file(func(b *bytes.Buffer) error { return png.Encode(b, quarters(900, 300)) }), [4]string{red, green, blue, white}},
		"a GIF":       {file(func(b *bytes.Buffer) error { return gif.Encode(b, flat, nil) }), [4]string{red, green, blue, white}},
		"upright":     {turned(t, flat, 1, binary.BigEndian), [4]string{red, green, blue, white}},
		"mirrored":    {turned(t, flat, 2, binary.BigEndian), [4]string{green, red, white, blue}},
		"upside down": {turned(t, flat, 3, binary.LittleEndian), [4]string{white, blue, green, red}},
		"flipped":     {turned(t, flat, 4, binary.BigEndian), [4]string{blue, white, red, green}},
		"transposed":  {turned(t, flat, 5, binary.BigEndian), [4]string{red, blue, green, white}},
		"to the left": {turned(t, flat, 6, binary.LittleEndian), [4]string{blue, red, white, green}},
		"transversed": {turned(t, flat, 7, binary.BigEndian), [4]string{white, green, blue, red}},
		"the right":   {turned(t, flat, 8, binary.BigEndian), [4]string{green, white, red, blue}},
		"nonsense":    {turned(t, flat, 99, binary.BigEndian), [4]string{red, green, blue, white}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := portrait.Make(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(made) > 64<<10 || bytes.Contains(made, []byte("Exif")) {
				t.Errorf("the picture has %d bytes, or the data of the file", len(made))
			}
			m, err := jpeg.Decode(bytes.NewReader(made))
			if err != nil || m.Bounds().Dx() != portrait.Size || m.Bounds().Dy() != portrait.Size {
				t.Fatalf("it is %v (%v)", m.Bounds(), err)
			}
			const first, second = portrait.Size / 4, portrait.Size * 3 / 4
			got := [4]string{called(m.At(first, first)), called(m.At(second, first)), called(m.At(first, second)), called(m.At(second, second))}
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func called(c color.Color) string {
	r, g, b, _ := c.RGBA()
	const much = 0xa000
	switch {
	case r > much && g > much && b > much:
		return "white"
	case r > much:
		return "red"
	case g > much:
		return "green"
	case b > much:
		return "blue"
	}
	return "dark"
}

// What is no picture is refused, and no file makes it fail.
func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	if err := png.Encode(&bomb, image.NewGray(image.Rect(0, 0, 8000, 8000))); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"nothing":        nil,
		"text":           []byte("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
		"a page":         []byte("<!doctype html><script>alert(1)</script>"),
		"only a head":    []byte("\x89PNG\r\n\x1a\n"),
		"cut off":        bomb.Bytes()[:100],
		"many pixels":    bomb.Bytes(),
		"larger than it": make([]byte, portrait.MaxBytes+1),
	} {
		if _, err := portrait.Make(file); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzMake(f *testing.F) {
	f.Add([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 20, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, file []byte) {
		made, err := portrait.Make(file)
		if err == nil && len(made) == 0 {
			t.Error("it is empty")
		}
	})
}
