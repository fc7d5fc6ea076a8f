package compute

import (
	"fmt"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// servingAttributes returns how a server is reached, checked, stopped and updated.
func servingAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"ports":   portsAttribute(),
		"service": serviceAttribute(),
		"probes": tf.OptionalObject("Probes of the container. They replace all those of Kubetorch's server, or those "+
			"for `port` and `health_path`: a probe that is not set does not exist, and `{}` means none. Without a "+
			"startup probe, `launch_timeout` does not limit the start of the server. Conflicts with `health_path`.",
			map[string]schema.Attribute{
				"startup": probeAttribute("Probe until the server has started. The other probes wait for it, and the " +
					"container is restarted if it fails."),
				"readiness": probeAttribute("Probe that decides whether the Service sends requests to a pod."),
				"liveness":  probeAttribute("Probe after whose failures the container is restarted."),
			}),
		"pre_stop": tf.OptionalObject("Hook that runs in the container before it gets SIGTERM, such as a pause until "+
			"no more requests arrive. Exactly one attribute must be set. It takes part of `termination_grace_period`.",
			map[string]schema.Attribute{
				"exec":     execAttribute("Command in the container."),
				"http_get": httpGetAttribute("HTTP request."),
				"sleep": tf.OptionalDuration("Pause in whole seconds, such as `10s`. Requires Kubernetes 1.30 or " +
					"newer."),
			}),
		"max_surge": tf.OptionalText("Number or percentage of pods that a rolling update of a Deployment starts in "+
			"addition to `replicas`, such as `1` or `25%`. With GPUs, the plan warns of the number of GPUs that this "+
			"requires. Defaults to the default of Kubernetes, `25%`, and with GPUs for a server with `port` to `0`.",
			tf.PodCount()),
		"max_unavailable": tf.OptionalText("Number or percentage of pods that a rolling update of a Deployment stops "+
			"before new ones are ready. Defaults to the default of Kubernetes, `25%`, and with GPUs for a server with "+
			"`port` to `1`.", tf.PodCount()),
	}
}

func portsAttribute() schema.Attribute {
	return tf.OptionalObjects("Ports of the container in addition to that of the server, such as those of metrics or "+
		"gRPC. The Service has the same numbers.", map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the port in the container and in the Service, such as `metrics`.",
			tf.PortName()),
		"port": count(math.MaxUint16, "Number of the port."),
		"protocol": tf.OptionalText("Protocol, `TCP`, `UDP` or `SCTP`. Defaults to `TCP`.",
			stringvalidator.OneOf(string(corev1.ProtocolTCP), string(corev1.ProtocolUDP), string(corev1.ProtocolSCTP))),
		"app_protocol": tf.OptionalText("Application protocol (`appProtocol`) of the port of the Service, such as "+
			"`grpc` or `kubernetes.io/h2c`.", tf.AppProtocol()),
	}, listvalidator.SizeAtLeast(1))
}

func serviceAttribute() schema.Attribute {
	return tf.OptionalObject("Settings of the Service. `labels` of the compute are its labels too. The apply does not "+
		"wait for a load balancer, and `url` stays the address inside the cluster.", map[string]schema.Attribute{
		"type": tf.OptionalText("Type of the Service, `ClusterIP`, `NodePort` or `LoadBalancer`. Defaults to "+
			"`ClusterIP`.", stringvalidator.OneOf(string(corev1.ServiceTypeClusterIP),
			string(corev1.ServiceTypeNodePort), string(corev1.ServiceTypeLoadBalancer))),
		"annotations": tf.AnnotationMap("Annotations of the Service, such as those that configure a load balancer."),
		"load_balancer_class": tf.OptionalText("Class of the load balancer. Defaults to the default of the cluster. "+
			"Changing this replaces the compute.", tf.LabelKey()),
		"load_balancer_source_ranges": tf.OptionalTexts("Ranges of addresses of the clients to which the load "+
			"balancer is restricted, such as `10.0.0.0/8`.", listvalidator.SizeAtLeast(1), tf.NoNulls(),
			listvalidator.ValueStringsAre(tf.AddressRange())),
		"external_traffic_policy": tf.OptionalText("Nodes to which requests from outside of the cluster are routed: "+
			"`Cluster` for all, `Local` for the node that receives them, which preserves the address of the client. "+
			"Defaults to `Cluster`.", stringvalidator.OneOf(string(corev1.ServiceExternalTrafficPolicyCluster),
			string(corev1.ServiceExternalTrafficPolicyLocal))),
		"session_affinity": tf.OptionalText("Whether requests of a client go to the same pod, `None` or `ClientIP`. "+
			"Defaults to `None`.",
			stringvalidator.OneOf(string(corev1.ServiceAffinityNone), string(corev1.ServiceAffinityClientIP))),
	})
}

func probeAttribute(description string) schema.Attribute {
	threshold := func(what, unset string) schema.Attribute {
		return atLeast(1, fmt.Sprintf("Number of consecutive %s after which the probe has this result. Defaults to "+
			"`%s`.", what, unset))
	}
	return tf.OptionalObject(description+" Exactly one of `http_get`, `grpc`, `tcp_socket` and `exec` must be set.",
		map[string]schema.Attribute{
			"http_get": httpGetAttribute("HTTP request. Any status from 200 to 399 is a success."),
			"grpc": tf.OptionalObject("Call of the gRPC health checking protocol.", map[string]schema.Attribute{
				"port":    handlerPort(),
				"service": tf.OptionalText("Name of the service in the call."),
			}),
			"tcp_socket": tf.OptionalObject("Connection.", map[string]schema.Attribute{"port": handlerPort()}),
			"exec":       execAttribute("Command in the container. Exit code 0 is a success."),
			"initial_delay": tf.OptionalDuration("Time between the start of the container and the first probe, such " +
				"as `30s`. Defaults to `0s`."),
			"period": tf.OptionalDuration("Time between two probes. Defaults to the default of Kubernetes, `10s`."),
			"timeout": tf.OptionalDuration("Time after which a probe fails. Defaults to the default of Kubernetes, " +
				"`1s`."),
			"failure_threshold": threshold("failures", "3"),
			"success_threshold": threshold("successes", "1"),
		})
}

func handlerPort() schema.Attribute {
	return tf.OptionalInteger("Port in the container. Defaults to the port of the server.",
		int64validator.Between(1, math.MaxUint16))
}

func httpGetAttribute(description string) schema.Attribute {
	return tf.OptionalObject(description, map[string]schema.Attribute{
		"path": tf.RequiredText("Path, such as `/health`.", tf.URLPath()),
		"port": handlerPort(),
		"scheme": tf.OptionalText("Scheme, `HTTP` or `HTTPS`, whose certificate is not verified. Defaults to `HTTP`.",
			stringvalidator.OneOf(string(corev1.URISchemeHTTP), string(corev1.URISchemeHTTPS))),
	})
}

func execAttribute(description string) schema.Attribute {
	return tf.OptionalObject(description, map[string]schema.Attribute{
		"command": tf.RequiredTexts("Command and its arguments, without a shell."),
	})
}
