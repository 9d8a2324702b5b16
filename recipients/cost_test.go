package recipients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// endless repeats a pattern for n bytes.
type endless struct {
	pattern []byte
	n       int64
	at      int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.n > 0 {
		c := copy(p[n:], e.pattern[e.at:])
		n, e.at, e.n = n+c, (e.at+c)%len(e.pattern), e.n-int64(c)
	}
	return n, nil
}

// allocated is how many bytes f allocated in total, freed or not: an upper bound of what it held at
// any time.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The memory limit of docs/protocol.md#untrusted-input. The bytes read and allocated do not
// depend on how busy the machine is.
func TestAGigabyteInOneLineFailsAtOnce(t *testing.T) {
	const gib = 1 << 30
	for name, tt := range map[string]struct{ head, pattern string }{
		"one line":       {"", "x"},
		"one row":        {"to\n", "5"},
		"open quote":     {"to\n\"", "+49,x\n"},
		"quoted newline": {"to\n\"", "\n"},
		"commas":         {"to\n", ","},
		"doubled quotes": {"to\n\"", `""`},
	} {
		t.Run(name, func(t *testing.T) {
			tail := &endless{pattern: []byte(tt.pattern), n: gib}
			var err error
			bytes := allocated(func() { _, _, err = all(io.MultiReader(strings.NewReader(tt.head), tail), Options{}) })
			read := gib - tail.n
			var file *FileError
			if !errors.As(err, &file) || !strings.Contains(err.Error(), "1024 KiB") {
				t.Errorf("got error %v, want a FileError that names 1024 KiB", err)
			}
			if read > 1<<20+4*block {
				t.Errorf("read %d KiB of it, want at most %d", read>>10, (1<<20+4*block)>>10)
			}
			most := uint64(32 << 20)
			if name == "commas" {
				most = 256 << 20 // encoding/csv makes a million cells of the one MiB
			}
			if bytes > most {
				t.Errorf("allocated %d MiB, want at most %d", bytes>>20, most>>20)
			}
			t.Logf("read %d KiB, allocated %d MiB: %v", read>>10, bytes>>20, err)
		})
	}
}

func TestBlankLinesCostNothing(t *testing.T) {
	in := io.MultiReader(strings.NewReader("to\n+12025550123\n"), &endless{pattern: []byte("\r\n"), n: 20 << 20},
		strings.NewReader("+12025550124\n"))
	rows, r, err := all(in, Options{})
	if err != nil || len(rows) != 2 || rows[1].Line != 3+10<<20 {
		t.Fatalf("%d rows, %v; want 2, the second on line %d", len(rows), err, 3+10<<20)
	}
	if len(r.guard.win) > 2*block {
		t.Errorf("%d bytes kept, want at most %d", len(r.guard.win), 2*block)
	}
}

// A compression bomb is stopped in its first MiB (docs/protocol.md#untrusted-input).
func TestBombsAreStoppedEarly(t *testing.T) {
	plain := func() io.Reader {
		return io.MultiReader(strings.NewReader("to\n"), &endless{pattern: []byte("+2348031234567\n"), n: 256 << 20})
	}
	var gz, zs bytes.Buffer
	zw := gzip.NewWriter(&gz)
	if _, err := io.Copy(zw, plain()); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(enc, plain()); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	for name, bomb := range map[string][]byte{Gzip: gz.Bytes(), Zstd: zs.Bytes()} {
		t.Run(name, func(t *testing.T) {
			var rows []*Row
			var err error
			start := time.Now()
			bytes := allocated(func() { rows, _, err = all(bytes.NewReader(bomb), Options{}) })
			if err == nil || !strings.Contains(err.Error(), "expands more than 100-fold") {
				t.Errorf("%d bytes gave %d rows and %v, want an error of the expansion", len(bomb), len(rows), err)
			}
			t.Logf("%d KiB stopped after %d rows, %v, %d MiB allocated", len(bomb)>>10, len(rows), time.Since(start), bytes>>20)
			if len(rows) > 200_000 || bytes > 160<<20 {
				t.Errorf("%d rows, %d MiB; want at most 200000 rows and 160 MiB", len(rows), bytes>>20)
			}
		})
	}
	t.Run("but not when the limit is lifted", func(t *testing.T) {
		rows, _, err := all(bytes.NewReader(gz.Bytes()), Options{Validate: ValidateNone, Limits: Limits{Ratio: 1e6, Size: 2 << 20}})
		if err == nil || !strings.Contains(err.Error(), "larger than 2 MiB") || len(rows) < 100_000 {
			t.Errorf("%d rows, %v; want 100000 or more, then the limit of 2 MiB", len(rows), err)
		}
	})
}

// list generates n good rows without ever holding them.
func list(n int) io.Reader {
	r, w := io.Pipe()
	go func() { // it ends with the reader, since a closed pipe fails the write
		var b bytes.Buffer
		b.WriteString("to,first_name,discount,city,slug\n")
		for i := range n {
			fmt.Fprintf(&b, "+23480%08d,Ada %d,%d%%,\"Lagos, Ikeja\",spring-%d\n", i, i, i%50, i)
			if b.Len() > block || i == n-1 {
				if _, err := w.Write(b.Bytes()); err != nil {
					return
				}
				b.Reset()
			}
		}
		_ = w.Close()
	}()
	return r
}

func TestMemoryStaysFlatInTheLengthOfTheList(t *testing.T) {
	r, err := NewReader(list(200_000), "list.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early, late uint64
	rows := 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rows++; rows {
		case 10_000:
			early = heap()
		case 199_999:
			late = heap()
		}
	}
	if rows != 200_000 {
		t.Fatalf("%d rows, want 200000", rows)
	}
	t.Logf("heap %d KiB after 10,000 rows, %d KiB after 200,000", early>>10, late>>10)
	if late > early+256<<10 {
		t.Errorf("the heap grew by %d KiB, want at most 256", (late-early)>>10)
	}
}
