// Command kubeschemas writes JSON Schemas for kubeconform from the OpenAPI document of Kubernetes,
// one file for each kind that the chart makes. Unknown fields are refused.
//
//	kubeschemas SWAGGER.json FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kinds are the kinds of the chart, as FOLDER names their files.
var kinds = map[string]string{
	"io.k8s.api.apps.v1.Deployment":                     "deployment-apps-v1",
	"io.k8s.api.apps.v1.StatefulSet":                    "statefulset-apps-v1",
	"io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": "horizontalpodautoscaler-autoscaling-v2",
	"io.k8s.api.batch.v1.Job":                           "job-batch-v1",
	"io.k8s.api.core.v1.ConfigMap":                      "configmap-v1",
	"io.k8s.api.core.v1.Pod":                            "pod-v1",
	"io.k8s.api.core.v1.Service":                        "service-v1",
	"io.k8s.api.core.v1.ServiceAccount":                 "serviceaccount-v1",
	"io.k8s.api.networking.v1.Ingress":                  "ingress-networking-v1",
	"io.k8s.api.networking.v1.NetworkPolicy":            "networkpolicy-networking-v1",
	"io.k8s.api.policy.v1.PodDisruptionBudget":          "poddisruptionbudget-policy-v1",
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubeschemas SWAGGER.json FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "kubeschemas:", err)
		os.Exit(1)
	}
}

func write(swagger, folder string) error {
	text, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var document struct {
		Definitions map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("%s: %w", swagger, err)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for name, file := range kinds {
		if document.Definitions[name] == nil {
			return fmt.Errorf("%s defines no %s", swagger, name)
		}
		text, err := json.Marshal(inline(document.Definitions, document.Definitions[name]))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file+".json"), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inline replaces each reference by what it refers to. The kinds of the chart have no cycle.
func inline(definitions map[string]any, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = inline(definitions, v[i])
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			switch name := strings.TrimPrefix(ref, "#/definitions/"); {
			case strings.HasSuffix(name, ".IntOrString"), strings.HasSuffix(name, ".Quantity"):
				return map[string]any{"type": []string{"string", "number"}}
			default:
				return inline(definitions, definitions[name])
			}
		}
		out := map[string]any{}
		for key, value := range v {
			out[key] = inline(definitions, value)
		}
		if out["properties"] != nil && out["additionalProperties"] == nil {
			out["additionalProperties"] = false
		}
		return out
	}
	return v
}
