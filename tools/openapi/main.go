// Command openapi checks the two OpenAPI documents of the operator's API with two validators that
// share no code: that of version 3.1 with libopenapi-validator, that of 3.0.3 with kin-openapi.
// `make openapi` runs it. It is a module of its own, so that the validators are in no build of
// campaignd.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "want two files: the document of version 3.1, and that of 3.0.3")
		os.Exit(2)
	}
	failed := false
	for i, check := range []func(string) error{check31, check30} {
		if err := check(os.Args[i+1]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[i+1], err)
			failed = true
			continue
		}
		fmt.Println(os.Args[i+1], "is valid")
	}
	if failed {
		os.Exit(1)
	}
}

// check31 checks a document with libopenapi-validator.
func check31(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		return err
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	valid, found := v.ValidateDocument()
	for _, f := range found {
		errs = append(errs, fmt.Errorf("%s: %s", f.Message, f.Reason))
		for _, s := range f.SchemaValidationErrors {
			errs = append(errs, fmt.Errorf("  %s: %s", s.FieldPath, s.Reason))
		}
	}
	if !valid && len(errs) == 0 {
		return errors.New("it is not valid")
	}
	return errors.Join(errs...)
}

// check30 checks a document, with its examples, with kin-openapi.
func check30(path string) error {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(path)
	if err != nil {
		return err
	}
	return doc.Validate(loader.Context, openapi3.EnableMultiError())
}
