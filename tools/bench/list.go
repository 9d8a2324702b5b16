//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// connections is the number of connections that send: conn_1 to conn_4.
const connections = 4

// campaignFile is the campaign that is sent, without its name: a greeting with two variables and a
// button. A request has about 230 bytes.
const campaignFile = `connections: [conn_1, conn_2, conn_3, conn_4]
template:
  name: spring_sale
  language: en_US
  body: ["{{ .first_name }}", "{{ .discount }}"]
  buttons: [{type: url, text: "{{ .slug }}"}]
`

// capped is what a campaign has in its file when limits are measured.
const capped = "policies: {frequency_cap: {messages: 2, per: 24h}}\n"

// row is one recipient.
type row struct{ to, name, discount, slug string }

// recipient returns the n-th recipient. Each has a number of its own.
func recipient(n int) row {
	names := [...]string{"Ada", "Grace", "Edsger", "Barbara", "Donald", "Leslie", "Margaret", "Niklaus"}
	return row{
		to: fmt.Sprintf("+49151%08d", 10_000_000+n), name: names[n%len(names)],
		discount: strconv.Itoa(5+n%4*5) + "%", slug: fmt.Sprintf("spring/%07d", n),
	}
}

// inputs writes a campaign with more lines than campaignFile, and a list of n rows unless it
// exists. It returns their paths.
func (b *bench) inputs(name, more string, n int) (file, list string, err error) {
	file, list = filepath.Join(b.dir, name+".yaml"), filepath.Join(b.dir, fmt.Sprintf("list-%d.csv", n))
	if err := os.WriteFile(file, []byte("name: "+name+"\n"+campaignFile+more), 0o600); err != nil {
		return "", "", err
	}
	if _, err := os.Stat(list); err == nil {
		return file, list, nil
	}
	f, err := os.Create(list)
	if err != nil {
		return "", "", err
	}
	w := bufio.NewWriter(f)
	_, _ = w.WriteString("to,first_name,discount,slug\n") // Flush returns the error
	for i := range n {
		r := recipient(i)
		_, _ = fmt.Fprintf(w, "%s,%s,%s,%s\n", r.to, r.name, r.discount, r.slug)
	}
	return file, list, errors.Join(w.Flush(), f.Close())
}
