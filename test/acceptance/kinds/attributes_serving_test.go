package kinds_test

// servingAttributes are those of servers: how they are reached, checked, stopped and updated.
func servingAttributes() []attributes {
	return []attributes{
		{
			name: "further ports and a Service",
			created: `
			  args    = ["--verbose"]
			  port    = 8000
			  ports   = [{ name = "metrics", port = 9090 }, { name = "grpc", port = 9000, app_protocol = "grpc" }]
			  service = { type = "LoadBalancer", annotations = { "example.com/internal" = "true" },
			    load_balancer_source_ranges = ["10.0.0.0/8"], external_traffic_policy = "Local",
			    session_affinity = "ClientIP" }`,
			changed: `
			  args    = ["--verbose"]
			  port    = 8000
			  ports   = [{ name = "metrics", port = 9091, protocol = "TCP" },
			    { name = "quic", port = 8000, protocol = "UDP" }]
			  service = { type = "NodePort", annotations = { "example.com/internal" = "" } }`,
		},
		{
			name: "probes and a hook",
			created: `
			  command = ["serve"]
			  port    = 8000
			  probes  = {
			    startup   = { grpc = { service = "health" }, failure_threshold = 60, period = "5s" }
			    readiness = { http_get = { path = "/ready", scheme = "HTTPS" }, initial_delay = "0s", timeout = 2 }
			    liveness  = { exec = { command = ["check"] } }
			  }
			  pre_stop = { sleep = "10s" }`,
			changed: `
			  command  = ["serve"]
			  port     = 8000
			  probes   = { readiness = { tcp_socket = { port = 9000 }, success_threshold = 2 } }
			  pre_stop = { exec = { command = ["drain"] } }`,
		},
		{
			name:    "no probes",
			created: "probes = {}\n pre_stop = { http_get = { path = \"/drain\" } }",
			changed: "command = [\"serve\"]\n port = 8000\n probes = { liveness = { tcp_socket = {} } }",
		},
		{
			name:    "limits of a rolling update",
			created: "replicas = 2\n strategy = \"RollingUpdate\"\n max_surge = \"50%\"\n max_unavailable = 0",
			changed: "replicas = 2\n strategy = \"Recreate\"",
		},
		{
			name:    "a server on GPUs",
			created: "command = [\"serve\"]\n port = 8000\n gpus = 1",
			changed: "command = [\"serve\"]\n port = 8000\n gpus = 1\n max_surge = 1",
		},
	}
}
