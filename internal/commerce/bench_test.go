package commerce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"testing"
)

// BenchmarkAMillionCustomers reads 1,000,000 customers in pages of 100 at 100 requests per second,
// while a row is inserted in front after every second page (docs/commerce.md#lists):
//
//	go test ./internal/commerce -run '^$' -bench AMillionCustomers -benchtime 1x
func BenchmarkAMillionCustomers(b *testing.B) {
	const rows, size = 1_000_000, 100
	for range b.N {
		pages, made := 0, 0
		c := serving(b, func(w http.ResponseWriter, r *http.Request) {
			number, err := strconv.Atoi(r.URL.Query().Get("page[number]"))
			if err != nil {
				number = 1
			}
			pages++
			made = pages / 2
			total := rows + made
			data := make([]map[string]any, 0, size)
			for at := (number - 1) * size; at < min(number*size, total); at++ {
				data = append(data, map[string]any{"id": fmt.Sprintf("01J%023d", rows-at+made), "first_name": "Ama", "last_name": "Mensah",
					"phone": "+237650000001", "tags": []any{}, "metadata": map[string]string{"consent": "yes"}})
			}
			var next any
			if number*size < total {
				next = fmt.Sprintf("?page[number]=%d&page[size]=%d", number+1, size)
			}
			json.NewEncoder(w).Encode(map[string]any{"data": data, "links": map[string]any{"next": next}, "meta": map[string]any{"total": total}})
		}, Options{Rate: 100})
		n, most := 0, uint64(0)
		var memory runtime.MemStats
		for _, err := range c.Customers(b.Context(), "") {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n%50_000 == 0 {
				runtime.ReadMemStats(&memory)
				most = max(most, memory.Sys)
			}
		}
		if n < rows {
			b.Errorf("got %d customers, want all %d that were there", n, rows)
		}
		b.ReportMetric(float64(pages), "pages")
		b.ReportMetric(float64(most>>20), "MiB")
	}
}
