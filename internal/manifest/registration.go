package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// RegistrationKind is the KubetorchWorkload, by which Python users find a
// compute. Its fields are those of the CRD in Kubetorch's Helm chart.
func RegistrationKind() schema.GroupVersionKind {
	return kind.KubetorchWorkload().GroupVersionKind
}

func renderRegistration(c Compute, k kind.Kind, workload map[string]any) map[string]any {
	metadata := map[string]any{"name": c.Name, "namespace": c.Namespace, "labels": toAny(serviceLabels(c))}
	if logging := loggingAnnotation(c.Logging); logging != "" {
		metadata["annotations"] = map[string]any{kind.LoggingAnnotation: logging}
	}
	spec := map[string]any{
		"selector":      toAny(computePods(c)),
		"serviceConfig": serviceConfig(c, k, workload),
		"serverPort":    int64(serverPort(k, workload)),
		"workloadMetadata": map[string]any{
			"username":          c.Username,
			"deploymentMode":    k.Mode,
			"distributedConfig": distributedConfig(c),
			"runtimeConfig":     runtimeConfig(c),
		},
		"autoTermination": map[string]any{"inactivityTtl": c.InactivityTTL},
	}
	if isDistributed(c) {
		spec["createHeadlessService"] = true
	}
	if !k.Empty() {
		spec["resourceKind"], spec["resourceName"] = resourceKind(k), c.Name
	}
	return map[string]any{
		"apiVersion": RegistrationKind().GroupVersion().String(), "kind": RegistrationKind().Kind,
		"metadata": metadata, "spec": spec,
	}
}

// resourceKind is the kind as Kubetorch's controller knows it.
func resourceKind(k kind.Kind) string {
	return cmp.Or(k.ResourceKind, k.Kind)
}

// serviceConfig says how calls reach the compute: by a URL, by a selection of
// its pods, or by the Service of its name.
func serviceConfig(c Compute, k kind.Kind, workload map[string]any) map[string]any {
	switch {
	case c.Endpoint != nil && c.Endpoint.URL != "":
		return map[string]any{"url": c.Endpoint.URL}
	case c.Endpoint != nil:
		return map[string]any{"selector": toAny(c.Endpoint.Selector)}
	case k.OwnService:
		return map[string]any{"url": fmt.Sprintf("http://%s.%s.svc.cluster.local", c.Name, c.Namespace)}
	case k.Route != nil:
		return map[string]any{"selector": toAny(servicePods(c, k, workload))}
	default:
		return map[string]any{"name": c.Name}
	}
}

// distributedConfig has Kubetorch's names and defaults: all workers have to be
// there, within the launch timeout.
func distributedConfig(c Compute) map[string]any {
	d := c.Distribute
	if d == nil {
		return nil
	}
	workers := designedWorkers(c)
	timeout := cmp.Or(c.LaunchTimeout, DefaultLaunchTimeout)
	if given, err := ParseDuration(d.QuorumTimeout); err == nil {
		timeout = given
	}
	config := MergeTemplate(nil, d.Args)
	delete(config, kind.RayVersionArg)
	maps.Copy(config, map[string]any{
		"distribution_type": cmp.Or(d.Type, "spmd"),
		"quorum_workers":    workers,
		"quorum_timeout":    seconds64(timeout),
	})
	if d.QuorumWorkers != nil {
		config["quorum_workers"] = *d.QuorumWorkers
	}
	if d.MonitorMembers != nil {
		config["monitor_members"] = *d.MonitorMembers
	}
	return config
}

func runtimeConfig(c Compute) map[string]any {
	config := map[string]any{
		"logLevel":             strings.ToUpper(cmp.Or(c.LogLevel, DefaultLogLevel)),
		"allowedSerialization": strings.Join(c.AllowedSerialization, ","),
	}
	if c.Logging.StreamLogs != nil {
		config["logStreamingEnabled"] = *c.Logging.StreamLogs
	}
	return config
}

// loggingAnnotation is empty where nothing is set.
func loggingAnnotation(l Logging) string {
	config := map[string]any{}
	for name, set := range map[string]*bool{
		"include_system_logs": l.IncludeSystemLogs, "include_events": l.IncludeEvents, "include_name": l.IncludeName,
	} {
		if set != nil {
			config[name] = *set
		}
	}
	for name, d := range map[string]*time.Duration{
		"grace_period": l.GracePeriod, "poll_timeout": l.PollTimeout, "shutdown_grace_period": l.ShutdownGracePeriod,
	} {
		if d != nil {
			config[name] = seconds64(*d)
		}
	}
	if len(config) == 0 {
		return ""
	}
	text, _ := json.Marshal(config) //nolint:errchkjson // booleans and finite numbers
	return string(text)
}

// seconds64 is a duration in seconds, whole where it is a whole number.
func seconds64(d time.Duration) any { return kind.Number(d.Seconds()) }
