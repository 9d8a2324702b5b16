package recipients_test

import (
	"fmt"
	"io"
	"strings"

	"campaignd/recipients"
)

func Example() {
	list := "Phone;first_name\n" +
		"+234 803 123 4567;Ada\n" +
		"9.18E+11;Bob\n" +
		"+2348;Cy\n"
	r, err := recipients.NewReader(strings.NewReader(list), "spring.csv", recipients.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Dialect())
	var seen recipients.KeySet
	for {
		row, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err) // the list cannot be read further
			return
		}
		switch {
		case row.Fault != nil:
			fmt.Printf("%s: %s\n", row.Fault.Kind, strings.ReplaceAll(row.Fault.Message, "; ", "\n  "))
		case !seen.Add(row.Key):
			fmt.Println("duplicate", row.To)
		default:
			fmt.Println(row.To, row.Cells[1])
		}
	}
	// Output:
	// semicolon-separated utf-8
	// +2348031234567 Ada
	// invalid_phone: line 3, column "Phone": "9.18E+11" is a number that a spreadsheet rounded
	//   its last digits are lost
	//   format the column as text and export it again from the source
	// invalid_phone: line 4, column "Phone": "+2348" has 4 digits, fewer than any international number
	//   complete it
}
