package desk

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rsc.io/qr"
)

// The picture has the modules of the code, and a quiet zone around them.
func TestPicture(t *testing.T) {
	t.Parallel()
	text := "otpauth://totp/Helpwright:ada@example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Helpwright" + strings.Repeat("x", 100)
	drawn, err := picture(text)
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		t.Fatal(err)
	}
	black := map[[2]int]bool{}
	for _, m := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(string(drawn), -1) {
		x, _ := strconv.Atoi(m[1])
		y, _ := strconv.Atoi(m[2])
		run, _ := strconv.Atoi(m[3])
		if m[3] != m[4] {
			t.Error(m[0])
		}
		for i := range run {
			black[[2]int{x + i, y}] = true
		}
	}
	for y := -4; y < code.Size+4; y++ {
		for x := -4; x < code.Size+4; x++ {
			if black[[2]int{x + 4, y + 4}] != (x >= 0 && y >= 0 && x < code.Size && y < code.Size && code.Black(x, y)) {
				t.Fatalf("%d, %d", x, y)
			}
		}
	}
	if _, err := picture(strings.Repeat("x", 5000)); err == nil {
		t.Error("a text that no code holds")
	}
}
