package template_test

import (
	"fmt"

	"campaignd/campaign/template"
)

func ExampleParse() {
	_, err := template.Parse("templates/hello.en_US.yaml", []byte(`name: hello
language: en_US
category: UTILITY
components:
  - {type: BODY, text: "Your order is here"}
  - {type: FOOTER, text: "Bye {{1}}"}
`))
	fmt.Println(err)
	// Output:
	// templates/hello.en_US.yaml:6:20: components[1].text: a footer has no variable (2388073); write the text out
}
