package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestDeskScript checks the types in the comments of the desk's script.
func TestDeskScript(t *testing.T) {
	t.Parallel()
	tools := testenv.NPM(t, ".ci/web")
	out, err := exec.CommandContext(t.Context(), filepath.Join(tools, "node_modules", ".bin", "tsc"), "--allowJs", "--checkJs", "--strict", "--noEmit",
		"--target", "es2023", "--module", "esnext", "--lib", "es2023,dom,dom.iterable", "../../transport/desk/assets/desk.js", "../../transport/desk/assets/editor.js", "../../transport/desk/assets/bell.js",
		"../../transport/desk/assets/picker.js", "../../transport/desk/assets/dialog.js", "../../transport/desk/assets/passkey.js", "../../transport/desk/assets/recipients.js", "../../transport/desk/assets/paste.js", "../../transport/desk/assets/worker.js", "../../transport/desk/assets/push.js", "../../transport/desk/assets/upload.js").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
