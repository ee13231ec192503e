// Package portrait turns images that people upload into small pictures of them.
package portrait

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	_ "image/gif" // formats that people upload
	"image/jpeg"
	_ "image/png"

	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of an upload.
const (
	MaxBytes  = 8 << 20
	maxPixels = 30_000_000
)

// Size is the width and height of a picture.
const Size = 256

// ContentType is that of a picture.
const ContentType = "image/jpeg"

// samples is how many points of the image, across and down, make a point of the picture at most.
const samples = 6

// Make returns the middle of an image as a square JPEG, upright and without the file's other data, such as where it was
// taken. A file that is no image, or too large, is an Invalid fault on the field picture.
func Make(content []byte) ([]byte, error) {
	if len(content) > MaxBytes {
		return nil, fault.Field("picture", "is larger than 8 MB")
	}
	head, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || head.Width < 1 || head.Height < 1 {
		return nil, fault.Field("picture", "must be a JPEG, PNG or GIF image")
	}
	if head.Width > maxPixels/head.Height {
		return nil, fault.Field("picture", "has more than 30 megapixels")
	}
	full, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, fault.Field("picture", "must be a JPEG, PNG or GIF image")
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, shrink(full, orientation(content)), &jpeg.Options{Quality: 85}); err != nil {
		return nil, fault.Wrap(fault.Internal, "encoding a picture", err)
	}
	return out.Bytes(), nil
}

// shrink returns the square in the middle of an image, on white, turned as an Exif orientation says.
func shrink(full image.Image, turn int) *image.RGBA {
	b := full.Bounds()
	side := min(b.Dx(), b.Dy())
	left, top := b.Min.X+(b.Dx()-side)/2, b.Min.Y+(b.Dy()-side)/2
	small := image.NewRGBA(image.Rect(0, 0, Size, Size))
	for y := range Size {
		for x := range Size {
			u, v := source(x, y, turn)
			small.SetRGBA(x, y, average(full, left+u*side/Size, top+v*side/Size, max(1, side/Size)))
		}
	}
	return small
}

// average is the color of a square of an image whose sides are n points.
func average(full image.Image, left, top, n int) color.RGBA {
	step := max(1, n/samples)
	var r, g, b, count uint32
	for y := 0; y < n; y += step {
		for x := 0; x < n; x += step {
			cr, cg, cb, ca := full.At(left+x, top+y).RGBA()
			white := 0xffff - ca
			r, g, b, count = r+(cr+white)>>8, g+(cg+white)>>8, b+(cb+white)>>8, count+1
		}
	}
	return color.RGBA{R: uint8(r / count), G: uint8(g / count), B: uint8(b / count), A: 255}
}

// source is the point of the stored square that an Exif orientation shows at a point.
func source(x, y, turn int) (u, v int) {
	const last = Size - 1
	switch turn {
	case 2:
		return last - x, y
	case 3:
		return last - x, last - y
	case 4:
		return x, last - y
	case 5:
		return y, x
	case 6:
		return y, last - x
	case 7:
		return last - y, last - x
	case 8:
		return last - y, x
	}
	return x, y
}

// orientation returns how a JPEG is to be turned, by its Exif data (CIPA DC-008); 1 is upright.
func orientation(file []byte) int {
	if !bytes.HasPrefix(file, []byte{0xff, 0xd8}) {
		return 1
	}
	for rest := file[2:]; len(rest) >= 4 && rest[0] == 0xff; {
		size := int(binary.BigEndian.Uint16(rest[2:]))
		if size < 2 || len(rest) < 2+size || rest[1] == 0xda {
			return 1
		}
		if data, found := bytes.CutPrefix(rest[4:2+size], []byte("Exif\x00\x00")); found && rest[1] == 0xe1 {
			return inTIFF(data)
		}
		rest = rest[2+size:]
	}
	return 1
}

// inTIFF finds the orientation in the first directory of Exif data.
func inTIFF(data []byte) int {
	if len(data) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if data[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(data[4:]))
	if at+2 > int64(len(data)) {
		return 1
	}
	entries := data[at+2:]
	for range order.Uint16(data[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == 0x0112 {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return 1
}
