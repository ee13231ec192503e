package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseProgram gives back the memory of those parts of the program file that only the start needed. What is used again is
// read again, normally from the system's cache of the file.
func releaseProgram() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	for _, m := range unchanged(maps, path) {
		// Where the system keeps files in huge pages, a byte that is read would bring two megabytes back. An error means that
		// there are none.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.until-m.from, syscall.MADV_NOHUGEPAGE)
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.until-m.from, syscall.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return nil
}

// mapping is a part of a file in memory.
type mapping struct{ from, until uintptr }

// unchanged returns the read-only mappings of a file, in the format of proc_pid_smaps(5), of which no page differs from the
// file: the dynamic linker changes some of a position-independent program, and those would be lost.
func unchanged(maps []byte, path string) (found []mapping) {
	var of mapping
	reads := false
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		line := lines.Text()
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2:
		case !strings.HasSuffix(fields[0], ":"): // the first line of a mapping: addresses, permissions, offset, device, inode, path
			_, err := fmt.Sscanf(fields[0], "%x-%x", &of.from, &of.until)
			reads = err == nil && strings.HasSuffix(line, " "+path) && fields[1][0] == 'r' && fields[1][1:2] == "-"
		case reads && fields[0] == "Anonymous:" && fields[1] == "0":
			found = append(found, of)
		}
	}
	return found
}
