package protocol_test

func badOwnServers() []badInput {
	return []badInput{
		{name: "port without a command", config: `{"port": 8000}`, at: "port", text: "set command or args too"},
		{name: "health path without a command", config: `{"health_path": "/health"}`, at: "health_path",
			text: "set command or args too"},
		{name: "health path without a port", config: `{"command": ["serve"], "health_path": "/health"}`,
			at: "health_path", text: "set port too"},
		{name: "port zero", config: `{"command": ["serve"], "port": 0}`, at: "port", text: "between 1 and 65535"},
		{name: "port out of range", config: `{"command": ["serve"], "port": 65536}`, at: "port",
			text: "between 1 and 65535"},
		{name: "relative health path", config: `{"command": ["serve"], "port": 80, "health_path": "health"}`,
			at: "health_path", text: "starts with a slash, such as /health"},
		{name: "health path with a fragment", config: `{"command": ["serve"], "port": 80, "health_path": "/a#b"}`,
			at: "health_path", text: "remove the fragment"},
		{name: "frozen server of one's own", config: `{"command": ["serve"], "freeze": true}`, at: "freeze",
			text: "which command and args replace"},
		{name: "function of a server of one's own", config: `{"command": ["serve"], "load": {"module_name": "work",
			"cls_or_fn_name": "add"}}`, at: "load", text: "which command and args replace"},
		{name: "function and its variable", config: `{"load": {"module_name": "work", "cls_or_fn_name": "add"},
			"env_vars": {"KT_MODULE_NAME": "other"}}`, at: `env_vars["KT_MODULE_NAME"]`,
			text: "load sets KT_MODULE_NAME"},
		{name: "launch timeout in which no server starts", config: `{"launch_timeout": "30s"}`, at: "launch_timeout",
			text: "server waits 30s for a function", warns: true},
		{name: "image setup of a server of one's own", config: `{"args": ["--x"], "image_ref": {"image": "a",
			"setup": {"config_map": "a", "digest": "sha256:` + digestOfNothing + `"}}}`,
			at: "image_ref", text: "which command and args replace"},
		{name: "server of one's own on Ray", config: `{"command": ["serve"], "distribute": {"type": "ray"}}`,
			at: "command", text: "KubeRay starts"},
		{name: "variable that extends itself", config: `{"command": ["serve"], "env_vars": {"PATH": "$PATH:/x"}}`,
			at: `env_vars["PATH"]`, text: "set the complete value"},
		{name: "arguments of a command in a manifest", config: manifestWithCommand(`"args": ["--x"]`), at: "args",
			text: "set it in manifest too, and remove args"},
		{name: "port of a command in a manifest", config: manifestWithCommand(`"port": 80`), at: "port",
			text: "manifest sets the command of the container kubetorch"},
		{name: "image setup with a command in a manifest", config: manifestWithCommand(`"image_ref": {"image": "a",
			"setup": {"config_map": "a", "digest": "sha256:` + digestOfNothing + `"}}`), at: "image_ref",
			text: "which the command in manifest replaces"},
		{name: "variable that extends itself with a command in a manifest",
			config: manifestWithCommand(`"env_vars": {"PATH": "$PATH:/x"}`), at: `env_vars["PATH"]`,
			text: "set the complete value"},
	}
}

// manifestWithCommand returns a configuration with a manifest in which the main container has a command.
func manifestWithCommand(attributes string) string {
	return `{"manifest": "{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: ` +
		`[{name: kubetorch, command: [train]}]}}}}", ` + attributes + `}`
}

// digestOfNothing is the SHA-256 of no bytes.
const digestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
