package protocol_test

import (
	"encoding/json"
	"fmt"
)

func badImagesAndPaths() []badInput {
	return []badInput{
		{name: "empty image", config: `{"image": ""}`, at: "image",
			text: "image is empty: set an image, such as nvcr.io/nvidia/pytorch:23.12-py3"},
		{name: "blank image", config: `{"image": "  "}`, at: "image", text: "image is empty"},
		{name: "image with blank", config: `{"image": "nvidia/pytorch :23.12"}`, at: "image",
			text: `image is "nvidia/pytorch :23.12", which is not a valid image reference`},
		{name: "image in upper case", config: `{"image": "nvcr.io/nvidia/PyTorch"}`, at: "image",
			text: "must be lowercase"},
		{name: "image with two tags", config: `{"image": "pytorch:2.4:latest"}`, at: "image",
			text: "use registry/repository:tag"},
		{name: "image as URL", config: `{"image": "https://nvcr.io/nvidia/pytorch"}`, at: "image",
			text: "invalid reference format"},
		{name: "relative working directory", config: `{"working_dir": "app/src"}`, at: "working_dir",
			text: `a relative path: use an absolute path, such as "/app/src"`},
		{name: "working directory with dots", config: `{"working_dir": "/app/../src"}`, at: "working_dir",
			text: `not a normalized path: use "/src"`},
		{name: "relative path of a secret", config: `{"secrets": [{"name": "hf", "mount_path": "secrets"}]}`,
			at: "secrets[0].mount_path", text: `secrets[0].mount_path is "secrets", a relative path`},
		{name: "relative path of a volume", config: `{"volumes": [{"claim_name": "data", "mount_path": "./data"}]}`,
			at: "volumes[0].mount_path", text: `such as "/data"`},
		{name: "path with a doubled slash", config: `{"volumes": [{"claim_name": "data", "mount_path": "/data//x"}]}`,
			at: "volumes[0].mount_path", text: `use "/data/x"`},
		{name: "path with a blank at its end", config: `{"volumes": [{"claim_name": "data", "mount_path": "/data "}]}`,
			at: "volumes[0].mount_path", text: "remove the spaces around the path"},
		{name: "path with a colon", config: `{"volumes": [{"claim_name": "data", "mount_path": "/data:ro"}]}`,
			at: "volumes[0].mount_path", text: "does not allow colons in mount paths"},
		{name: "volume over the root directory", config: `{"volumes": [{"claim_name": "data", "mount_path": "/"}]}`,
			at: "volumes[0].mount_path", text: "would hide the image"},
		{name: "empty endpoint URL", config: `{"endpoint": {"url": ""}}`, at: "endpoint.url",
			text: "endpoint.url is empty: set an address"},
		{name: "endpoint URL without a host", config: `{"endpoint": {"url": "http://"}}`, at: "endpoint.url",
			text: "not a URL with a host"},
		{name: "endpoint URL with blank", config: `{"endpoint": {"url": "my svc"}}`, at: "endpoint.url",
			text: "not a URL with a host"},
		{name: "endpoint URL that is not HTTP", config: `{"endpoint": {"url": "ftp://svc"}}`, at: "endpoint.url",
			text: "start it with http:// or https://"},
	}
}

func badTolerations() []badInput {
	return []badInput{
		{name: "Exists with value", config: `{"tolerations": [{"key": "dedicated", "operator": "Exists",
			"value": "gpu"}]}`,
			at: "tolerations[0].value", text: "tolerations[0] has a value, but its operator Exists tolerates every " +
				"value of the taint: remove value, or use Equal."},
		{name: "seconds without effect", config: `{"tolerations": [{"key": "a", "operator": "Exists",
			"toleration_seconds": 60}]}`, at: "tolerations[0].toleration_seconds", text: `set effect = "NoExecute"`},
		{name: "unknown effect",
			config: `{"tolerations": [{"key": "a", "operator": "Exists", "effect": "noschedule"}]}`,
			at:     "tolerations[0].effect",
			text:   `must be one of: ["NoSchedule" "PreferNoSchedule" "NoExecute"], got: "noschedule"`},
		{name: "unknown operator", config: `{"tolerations": [{"key": "a", "operator": "In", "value": "b"}]}`,
			at: "tolerations[0].operator", text: `must be one of: ["Exists" "Equal"], got: "In"`},
		{name: "key that is none", config: `{"tolerations": [{"key": "a b", "operator": "Exists"}]}`,
			at: "tolerations[0].key", text: `tolerations[0].key is "a b"`},
		{name: "value that is none", config: `{"tolerations": [{"key": "a", "value": "b c"}]}`,
			at: "tolerations[0].value", text: `tolerations[0].value is "b c"`},
		{name: "null toleration", config: `{"tolerations": [null]}`, at: "tolerations[0]", text: "is null"},
	}
}

func badGPUTypes() []badInput {
	cases := []badInput{
		{name: "gpu_type against node_selector",
			config: `{"gpu_type": "L4", "node_selector": {"nvidia.com/gpu.product": "H100"}}`, at: "gpu_type",
			text: "but node_selector selects nvidia.com/gpu.product=H100: set only one of the two"},
	}
	for value, text := range map[string]string{
		"":             `gpu_type is empty: set a product such as "L4", or a node label as "key: value"`,
		"NVIDIA L4":    `did you mean "NVIDIA-L4"?`,
		"gpu:":         "contains the label gpu without a value",
		": L4":         `"" is not the key of a label`,
		"two words: x": `"two words" is not the key of a label`,
		"a:b:c":        `"b:c" is not the value of a label`,
		"L4!":          `"L4!" is not the value of a label`,
	} {
		cases = append(cases, badInput{name: fmt.Sprintf("gpu_type %q", value),
			config: fmt.Sprintf(`{"gpu_type": %q}`, value), at: "gpu_type", text: text})
	}
	return cases
}

func badTemplates() []badInput {
	cases := []badInput{}
	for template, text := range map[string]string{
		``:                    "not valid JSON",
		`{"spec"`:             "not valid JSON",
		`spec: {replicas: 2}`: "not valid JSON",
		`["spec"]`: "is a JSON value of the type list, but must be an object: set it as in " +
			"jsonencode({ spec = { … } })",
		`"spec"`:          "is a JSON value of the type string",
		`7`:               "is a JSON value of the type number",
		`true`:            "is a JSON value of the type boolean",
		`{"spec": 1e999}`: "contains JSON that cannot be decoded",
		`{"kind": "StatefulSet"}`: "service_template changes kind, which the provider requires unchanged: remove it " +
			"from the template",
		`{"apiVersion": "apps/v2"}`:       "changes apiVersion",
		`{"metadata": {"name": "other"}}`: "changes metadata.name",
		`{"status": {"replicas": 1}}`:     "sets status",
		`{"metadata": {"labels":
			{"app.kubernetes.io/managed-by": null}}}`: "changes metadata.labels.app.kubernetes.io/managed-by",
		`{"spec": {"selector": {"matchLabels": {"app": "x"}}}}`: "changes spec.selector",
		`{"spec": {"selector": null}}`:                          "changes spec.selector",
		`{"spec": {"template": {"metadata": {"labels":
			{"kubetorch.com/service": "x"}}}}}`: "changes spec.template.metadata.labels.kubetorch.com/service",
		`{"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}`: "therefore removes the container " +
			"kubetorch: add a name to each item",
		`{"spec": {"template": {"spec": {"containers": null}}}}`:        "removes the container kubetorch",
		`{"spec": {"template": {"spec": {"containers": "kubetorch"}}}}`: "removes the container kubetorch",
	} {
		encoded, err := json.Marshal(template)
		if err != nil {
			panic(err) // strings can always be encoded
		}
		cases = append(cases, badInput{name: "service_template " + template,
			config: fmt.Sprintf(`{"service_template": %s}`, encoded), at: "service_template", text: text})
	}
	return append(cases, badInput{
		name:   "template of another namespace",
		config: `{"namespace": "ml", "service_template": "{\"metadata\": {\"namespace\": \"other\"}}"}`,
		at:     "service_template", text: "changes metadata.namespace",
	})
}

func incomplete() []badInput {
	return []badInput{
		{name: "secret without a name", config: `{"secrets": [{"mount_path": "/x"}]}`, at: "secrets[0].name",
			text: "Must set a configuration value for the secrets[0].name attribute"},
		{name: "volume without a claim", config: `{"volumes": [{"mount_path": "/x"}]}`, at: "volumes[0]",
			text: "volumes[0] must have exactly one of claim_name"},
		{name: "volume without a path", config: `{"volumes": [{"claim_name": "x"}]}`, at: "volumes[0].mount_path",
			text: "Must set a configuration value"},
		{name: "null secret", config: `{"secrets": [null]}`, at: "secrets[0]", text: "is null"},
		{name: "null volume", config: `{"volumes": [null]}`, at: "volumes[0]", text: "is null"},
	}
}
