//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// connections is the number of connections that send: conn_1 to conn_4.
const connections = 4

// campaignFile is the campaign that is sent: a greeting with two variables and a button. A request
// has about 230 bytes.
const campaignFile = `name: bench
connections: [conn_1, conn_2, conn_3, conn_4]
template:
  name: spring_sale
  language: en_US
  body: ["{{ .first_name }}", "{{ .discount }}"]
  buttons: [{type: url, text: "{{ .slug }}"}]
`

// capped writes the campaign with a frequency cap, and returns its path.
func (b *bench) capped() (file string, err error) {
	file = filepath.Join(b.dir, "campaign-capped.yaml")
	return file, os.WriteFile(file, []byte(campaignFile+"policies: {frequency_cap: {messages: 2, per: 24h}}\n"), 0o600)
}

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

// list writes the campaign and a list of n rows, if they do not exist yet, and returns their paths.
func (b *bench) list(n int) (file, list string, err error) {
	file, list = filepath.Join(b.dir, "campaign.yaml"), filepath.Join(b.dir, fmt.Sprintf("list-%d.csv", n))
	if _, err := os.Stat(list); err == nil {
		return file, list, nil
	}
	if err := os.WriteFile(file, []byte(campaignFile), 0o600); err != nil {
		return "", "", err
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
	if err := w.Flush(); err != nil {
		return "", "", err
	}
	return file, list, f.Close()
}
