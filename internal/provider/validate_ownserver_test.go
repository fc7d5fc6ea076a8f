package provider_test

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
		{name: "image setup of a server of one's own", config: `{"args": ["--x"], "image_setup":
			{"config_map": "a", "digest": "sha256:` + digestOfNothing + `"}}`,
			at: "image_setup", text: "which command and args replace"},
		{name: "server of one's own on Ray", config: `{"command": ["serve"], "distribute": {"type": "ray"}}`,
			at: "command", text: "KubeRay starts"},
		{name: "variable that extends itself", config: `{"command": ["serve"], "env_vars": {"PATH": "$PATH:/x"}}`,
			at: `env_vars["PATH"]`, text: "set the complete value"},
	}
}

// digestOfNothing is the SHA-256 of no bytes.
const digestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
