package area_test

import (
	"fmt"
	"time"

	"campaignd/internal/sandbox/area"
)

func Example() {
	areas, err := area.New(area.World{
		Began:       time.Now(),
		Companies:   []*area.Company{{ID: "co_1"}},
		Connections: []*area.Connection{{ID: "conn_1", Company: "co_1"}},
		Post:        func(area.Event) {},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	library := areas.Handlers()["template_library"]
	data, _ := library(&area.Call{Key: &area.Key{}, Now: time.Now()})
	fmt.Println(data.(area.List).Len, "templates in the library")
	// Output: 6 templates in the library
}
