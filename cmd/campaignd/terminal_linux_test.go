package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"campaignd/internal/command"
)

// terminal opens a pseudo terminal of Linux (pty(7)). screen is the terminal of the program, and
// keyboard the side of its user.
func terminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals to test with: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	var number, locked int32
	control(t, keyboard, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(t, keyboard, syscall.TIOCGPTN, unsafe.Pointer(&number))
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals to test with: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	return keyboard, screen
}

func control(t *testing.T, f *os.File, request uintptr, value unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); errno != 0 {
		t.Fatalf("ioctl %#x: %v", request, errno)
	}
}

// resize gives the terminal a size of columns and 24 lines.
func resize(t *testing.T, f *os.File, columns uint16) {
	t.Helper()
	control(t, f, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{24, columns, 0, 0}))
}

func TestBarsAreDrawnOnATerminalWithASizeOnly(t *testing.T) {
	_, screen := terminal(t)
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name    string
		out     io.Writer
		columns uint16
		term    string
		is      bool
		width   int
		draws   bool
	}{
		{"a buffer", &bytes.Buffer{}, 0, "xterm", false, 0, false},
		{"a file", file, 0, "xterm", false, 0, false},
		{"a terminal without a size", screen, 0, "xterm", true, 0, false},
		{"a terminal of one column", screen, 1, "xterm", true, 1, true},
		{"a terminal", screen, 80, "xterm", true, 80, true},
		{"a terminal of no known kind", screen, 80, "", true, 80, true},
		{"a terminal that moves no cursor", screen, 80, "dumb", true, 80, false},
	} {
		if tt.out == screen {
			resize(t, screen, tt.columns)
		}
		p := &program{Program: command.Program{Stderr: tt.out, Environment: map[string]string{"TERM": tt.term}}}
		is, wide, draws := command.IsTerminal(tt.out), command.Width(tt.out), p.columns() > 0
		if is != tt.is || wide != tt.width || draws != tt.draws {
			t.Errorf("%s: got a terminal %v, %d columns, bars %v, want %v, %d, %v", tt.name, is, wide, draws, tt.is, tt.width, tt.draws)
		}
	}
}

// On a terminal, check lists the first bad rows of each reason. In a pipe and as JSON it lists a
// thousand.
func TestCheckListsAScreenfulOnATerminal(t *testing.T) {
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3)+strings.Repeat("0803,X,A\n", 60))
	keyboard, screen := terminal(t)
	resize(t, screen, 200)
	lines := bufio.NewScanner(keyboard)
	check := func(stdout, stderr io.Writer) (code int, shown string) {
		read := make(chan string, 1)
		go func() {
			var text strings.Builder
			for lines.Scan() && lines.Text() != "end" {
				text.WriteString(lines.Text() + "\n")
			}
			read <- text.String()
		}()
		code = run(t.Context(), []string{"check", d.path("c.yaml")}, strings.NewReader(""), stdout, stderr, d.env)
		fmt.Fprintln(screen, "end")
		return code, <-read
	}
	var file bytes.Buffer
	code, shown := check(screen, &file)
	listed := strings.Count(shown, "invalid_phone  0803")
	more := fmt.Sprintf("and %d more: --rejects FILE writes those that a correction can help\n", 60-listed)
	if code != 0 || listed == 0 || listed > 24 || !strings.HasSuffix(shown, more) || file.Len() != 0 {
		t.Errorf("check on a terminal: got %d with %d rows and %q, want 0, 1 to 24 rows, and %q at the end of\n%s",
			code, listed, &file, more, shown)
	}
	d.write("list.csv", "phone,first_name,order\n0803,X,A\n")
	const counts, none = "1 row, 0 can be sent\n", "its only row cannot be sent"
	if code, shown := check(screen, screen); code != 2 || !strings.Contains(shown, counts) || strings.Contains(shown, "campaignd:") {
		t.Errorf("check on a terminal: got %d with\n%s\nwant 2 with %q, and no line of campaignd after it", code, shown, counts)
	}
	if code, shown := check(screen, &file); code != 2 || !strings.Contains(shown, counts) || !strings.Contains(file.String(), none) {
		t.Errorf("check with standard error in a file: got %d with %q, want 2 with %q", code, &file, none)
	}
	file.Reset()
	if code, shown := check(&file, screen); code != 2 || !strings.Contains(shown, none) || !strings.Contains(file.String(), counts) {
		t.Errorf("check with standard output in a file: got %d with %q, want 2 with %q", code, shown, none)
	}
}
