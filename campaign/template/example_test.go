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
  - {type: BODY, text: "Your order is here {{1}}", example: {body_text: [["A-1"]]}}
`))
	fmt.Println(err)
	// Output:
	// templates/hello.en_US.yaml:5:18: components[0].text: the text begins or ends with a variable (2388299); write words before the first and after the last variable
}
