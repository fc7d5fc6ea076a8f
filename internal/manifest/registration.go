package manifest

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func renderRegistration(c Compute, k kind.Kind, workload map[string]any) map[string]any {
	labels, annotations := serviceLabels(c), workloadAnnotations(c)
	if c.InactivityTTL != "" {
		labels[kind.InactivityTTLAnnotation] = c.InactivityTTL
	}
	if logging := loggingAnnotation(c.Logging); logging != "" {
		annotations[kind.LoggingAnnotation] = logging
	}
	spec := map[string]any{
		"selector":      kind.Texts(podSelector(c)),
		"serviceConfig": serviceConfig(c, k, workload),
		"serverPort":    int64(serverPort(c, k, workload)),
		"workloadMetadata": map[string]any{
			"username":          c.Username,
			"deploymentMode":    k.Mode,
			"distributedConfig": distributedConfig(c, k),
			"runtimeConfig": map[string]any{
				"logLevel":             strings.ToUpper(cmp.Or(c.LogLevel, DefaultLogLevel)),
				"allowedSerialization": strings.Join(c.AllowedSerialization, ","),
			},
		},
		"autoTermination": map[string]any{"inactivityTtl": c.InactivityTTL},
	}
	if needsHeadless(c, k) {
		spec["createHeadlessService"] = true
	}
	if !k.Empty() {
		spec["resourceKind"], spec["resourceName"] = cmp.Or(k.ResourceKind, k.Kind), c.Name
	}
	return newObject(kind.KubetorchWorkload(), c.Namespace, c.Name, kind.Texts(labels), kind.Texts(annotations), spec)
}

// serviceConfig returns how calls reach the compute: through a URL, a selector of
// its pods, or the Service with its name.
func serviceConfig(c Compute, k kind.Kind, workload map[string]any) map[string]any {
	switch {
	case c.Endpoint != nil && c.Endpoint.URL != "":
		return map[string]any{"url": c.Endpoint.URL}
	case c.Endpoint != nil:
		return map[string]any{"selector": kind.Texts(c.Endpoint.Selector)}
	case k.OwnService:
		return map[string]any{"url": "http://" + kind.ServiceHost(c.Namespace, c.Name)}
	case k.Route != nil:
		return map[string]any{"selector": kind.Texts(serviceSelector(c, k, workload))}
	default:
		return map[string]any{"name": c.Name}
	}
}

// distributedConfig uses Kubetorch's names and defaults: all workers must be found
// within the launch timeout.
func distributedConfig(c Compute, k kind.Kind) map[string]any {
	d := distributionOf(c, k)
	if d == nil {
		return nil
	}
	workers, _ := requestedReplicas(c)
	timeout := cmp.Or(c.LaunchTimeout, DefaultLaunchTimeout)
	if given, err := ParseDuration(d.QuorumTimeout); err == nil {
		timeout = given
	}
	config := MergeTemplate(nil, d.Args)
	delete(config, kind.RayVersionArg)
	maps.Copy(config, map[string]any{
		"distribution_type": cmp.Or(d.Type, DefaultDistribution),
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

// loggingAnnotation returns the value of kind.LoggingAnnotation, or "" if no field is set.
func loggingAnnotation(l Logging) string {
	config := map[string]any{}
	for name, set := range map[string]*bool{
		"stream_logs": l.StreamLogs, "include_system_logs": l.IncludeSystemLogs, "include_events": l.IncludeEvents,
		"include_name": l.IncludeName,
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

// seconds64 returns a duration in seconds, as an int64 if it is an integer.
func seconds64(d time.Duration) any { return kind.Number(d.Seconds()) }
