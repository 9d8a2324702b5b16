package schedule_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"campaignd/internal/schedule"
)

// Read returns the campaigns of a folder that have a schedule.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "campaigns")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	const file = `name: spring
connections: [conn_1]
template: {name: spring_offer, language: en}
recipients: {file: list.csv}
schedule: {cron: "30 9 * * mon", timezone: Africa/Lagos}
`
	if err := os.WriteFile(filepath.Join(dir, "spring.yaml"), []byte(file), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	all, err := schedule.Read(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range all {
		next := s.Next(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
		fmt.Println(s.Definition.Name, next.At.Format(time.RFC3339))
	}
	// Output: spring 2026-03-09T08:30:00Z
}
