package recipients

import (
	"bytes"
	"encoding/csv"
	"io"
	"testing"
	"time"
)

// BenchmarkRead reads 100,000 clean rows of five columns. x-csv is its time divided by that of
// encoding/csv alone.
func BenchmarkRead(b *testing.B) {
	const n = 100_000
	var buf bytes.Buffer
	if _, err := io.Copy(&buf, list(n)); err != nil {
		b.Fatal(err)
	}
	alone := func() time.Duration {
		start := time.Now()
		cr := csv.NewReader(bytes.NewReader(buf.Bytes()))
		cr.ReuseRecord = true
		for {
			if _, err := cr.Read(); err == io.EOF {
				return time.Since(start)
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, level := range []string{ValidateNone, ValidatePossible, ValidateValid} {
		b.Run(level, func(b *testing.B) {
			b.ReportAllocs()
			var csvTime time.Duration
			for b.Loop() {
				b.StopTimer()
				csvTime += alone()
				b.StartTimer()
				r, err := NewReader(bytes.NewReader(buf.Bytes()), "list.csv", Options{Validate: level})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(b.Elapsed().Seconds()/csvTime.Seconds(), "x-csv")
		})
	}
}
