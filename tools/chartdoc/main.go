// Command chartdoc prints the README of the Helm chart from its values.yaml: each value with its
// default and the comment above it. `make helm` compares the README with it. It is not shipped.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// A map with several values is a section of its own, except these, which are one value.
var whole = map[string]bool{"podSecurityContext": true, "securityContext": true, "resources": true, "autoscaling": true, "labels": true,
	"service": true}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chartdoc CHART/values.yaml")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "chartdoc:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var values yaml.MapSlice
	comments := yaml.CommentMap{}
	if err := yaml.UnmarshalWithOptions(text, &values, yaml.CommentToMap(comments), yaml.UseOrderedMap()); err != nil {
		return err
	}
	fmt.Print(head)
	table("", values, comments)
	return nil
}

const head = `# campaignd on Kubernetes

This page is made from values.yaml by ` + "`make helm`" + `; docs/operations.md of the project says how to use the chart.

    helm install try deploy/helm/campaignd -f deploy/helm/campaignd/values-try.yaml

starts campaignd beside the sandbox. For the service, name two secrets and its address:

    helm install prod deploy/helm/campaignd \
      --set config.service.base_url=https://api.example.com \
      --set secrets.apiKey.name=campaignd --set secrets.webhookSecrets.name=campaignd

For the platform's own Cloud API, name each account and the secret with its three words:

    kubectl create secret generic campaignd-cloud --from-file=token --from-file=app-secret --from-file=verify-token
    helm install prod deploy/helm/campaignd \
      --set-string 'config.cloud.accounts[0].id=102290129340398' \
      --set secrets.cloud.102290129340398.name=campaignd-cloud

Cluster mode needs two more, with the URLs of PostgreSQL and Redis. campaignd refuses connections without
TLS to another machine:

    kubectl create secret generic campaignd-urls \
      --from-literal=ledger-url='postgres://campaignd:PASSWORD@db.example.com/campaignd?sslmode=verify-full' \
      --from-literal=redis-url='rediss://:PASSWORD@redis.example.com:6379'
    helm install prod ... --set mode=cluster --set secrets.ledger.name=campaignd-urls --set secrets.redis.name=campaignd-urls

| value | default | meaning |
|---|---|---|
`

// table prints a line for each value below path.
func table(path string, values yaml.MapSlice, comments yaml.CommentMap) {
	for _, item := range values {
		name := fmt.Sprint(item.Key)
		at := strings.TrimPrefix(path+"."+name, ".")
		meaning := comment(comments, at)
		if inner, ok := item.Value.(yaml.MapSlice); ok && len(inner) > 0 && !whole[name] {
			if meaning != "" {
				fmt.Printf("| **%s** | | %s |\n", at, meaning)
			}
			table(at, inner, comments)
			continue
		}
		fmt.Printf("| `%s` | %s | %s |\n", at, literal(item.Value), meaning)
	}
}

// comment is the text above a value.
func comment(comments yaml.CommentMap, path string) string {
	var b strings.Builder
	for _, c := range comments["$."+path] {
		if c.Position != yaml.CommentHeadPosition {
			continue
		}
		for _, line := range c.Texts {
			b.WriteString(strings.TrimSpace(line) + " ")
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "|", `\|`)
}

// literal is a default in YAML.
func literal(v any) string {
	text, err := yaml.MarshalWithOptions(v, yaml.Flow(true), yaml.JSON())
	if err != nil {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.TrimSpace(string(text)), "|", `\|`) + "`"
}
