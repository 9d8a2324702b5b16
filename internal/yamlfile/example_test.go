package yamlfile_test

import (
	"fmt"

	"campaignd/internal/yamlfile"
)

func ExampleFile_Parse() {
	f := &yamlfile.File{Name: "spring.yaml", Kind: yamlfile.Kind{Noun: "campaign file", Holds: "campaign"}}
	f.Parse([]byte("name: &a spring\n"))
	fmt.Println(f.Faults[0].Where, f.Faults[0].What)
	// Output: spring.yaml:1:7 anchors and aliases are not read in campaign files
}
