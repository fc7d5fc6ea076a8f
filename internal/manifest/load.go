package manifest

import (
	"cmp"
	"encoding/json"
	"time"
)

// Load is a function or class of the image that Kubetorch's server loads at its start, without a client.
type Load struct {
	ModuleName, ClsOrFnName string
	FilePath                string // directory or file of the module; empty: it can be imported
	CallableType            string // fn or cls
	InitArgs                map[string]any
}

// DefaultCallableType is the type of a callable without one.
const DefaultCallableType = "fn"

// variables returns the environment of the server. With these variables it does not ask its controller what to load,
// so it also needs the distribution, which the controller knows (ControllerWebSocket.start and load_callable_from_env
// in serving/http_server.py of Kubetorch 0.5.0).
func (l *Load) variables(c Compute) map[string]string {
	if l == nil {
		return nil
	}
	variables := map[string]string{
		"KT_MODULE_NAME":        l.ModuleName,
		"KT_CLS_OR_FN_NAME":     l.ClsOrFnName,
		"KT_CALLABLE_TYPE":      cmp.Or(l.CallableType, DefaultCallableType),
		"KT_INIT_ARGS":          jsonOrNull(l.InitArgs),
		"KT_DISTRIBUTED_CONFIG": jsonOrNull(distributedConfig(c, kindOf(c))),
	}
	if l.FilePath != "" {
		variables["KT_FILE_PATH"] = l.FilePath
	}
	return variables
}

func jsonOrNull(object map[string]any) string {
	if len(object) == 0 {
		return "null"
	}
	text, _ := json.Marshal(object) //nolint:errchkjson // decoded from JSON, or strings and numbers
	return string(text)
}

// WaitForCallable is the time for which Kubetorch's server waits at its start until a client registers a callable
// (metadata_timeout in serving/http_server.py of Kubetorch 0.5.0).
const WaitForCallable = 30 * time.Second

// WaitsForCallable reports whether the server of a compute does so.
func WaitsForCallable(c Compute) bool {
	return c.Load == nil && c.EnvVars["KT_MODULE_NAME"] == "" && !RunsTensorServer(c.Runtime) && !c.runsOwnServer() &&
		!runsManifestCommand(c)
}

func validateLoad(c Compute, errs *Errors) {
	for name := range c.Load.variables(c) {
		if _, set := c.EnvVars[name]; set {
			errs.report(At("env_vars", Entry(name)), conflict, "load sets %s too: remove it, or remove load.", name).
				Concerning(At("load"))
		}
	}
}
