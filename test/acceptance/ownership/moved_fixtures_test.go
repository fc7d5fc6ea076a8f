package ownership_test

import "fmt"

// peers are the providers whose states are in testdata/moved, with the way in which they write objects.
var peers = map[string]struct {
	resources map[string]string // addresses of the resources by the kind and name of their objects
	write     []string          // arguments of kubectl
}{
	"kubernetes": {
		resources: map[string]string{
			"Deployment/web": "kubernetes_deployment.web", "StatefulSet/queue": "kubernetes_stateful_set.queue",
			"DaemonSet/cache": "kubernetes_daemonset.cache", "Job/migrate": "kubernetes_job.migrate",
			"PersistentVolumeClaim/datasets": "kubernetes_persistent_volume_claim.datasets",
			"Secret/token":                   "kubernetes_secret.token",
		},
		write: []string{"create", "--field-manager=HashiCorp"},
	},
	"kubernetes-v1": {
		resources: map[string]string{
			"Deployment/web": "kubernetes_deployment_v1.web", "StatefulSet/queue": "kubernetes_stateful_set_v1.queue",
			"DaemonSet/cache": "kubernetes_daemon_set_v1.cache", "CronJob/nightly": "kubernetes_cron_job_v1.nightly",
			"PersistentVolumeClaim/datasets": "kubernetes_persistent_volume_claim_v1.datasets",
			"Secret/token":                   "kubernetes_secret_v1.token",
		},
		write: []string{"create", "--field-manager=HashiCorp"},
	},
	"gavinbunney": {resources: generic("kubectl_manifest"), write: []string{"apply", "--field-manager=HashiCorp"}},
	"alekc":       {resources: generic("kubectl_manifest"), write: []string{"apply", "--field-manager=HashiCorp"}},
	"manifest": {resources: generic("kubernetes_manifest"),
		write: []string{"apply", "--server-side", "--field-manager=Terraform"}},
	"k8sconnect": {resources: generic("k8sconnect_object"),
		write: []string{"apply", "--server-side", "--field-manager=k8sconnect"}},
}

// generic returns the addresses of resources of a type for objects of any kind.
func generic(resourceType string) map[string]string {
	return map[string]string{"Deployment/web": resourceType + ".web", "Secret/token": resourceType + ".token",
		"PersistentVolumeClaim/datasets": resourceType + ".datasets"}
}

// moveObjects are the objects of the peers by kind and name.
var moveObjects = map[string]string{
	"Deployment/web": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: kubetorch
        image: registry.example.com/shop/web:1.4.2
        command: [/app/serve, --port=8080]
        ports: [{name: http, containerPort: 8080}]
`,
	"StatefulSet/queue": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: queue}
spec:
  serviceName: queue
  replicas: 1
  selector: {matchLabels: {app: queue}}
  template:
    metadata: {labels: {app: queue}}
    spec: {containers: [{name: kubetorch, image: "registry.example.com/shop/queue:2.0.0", command: [/app/queue]}]}
`,
	"DaemonSet/cache": `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cache}
spec:
  selector: {matchLabels: {app: cache-pods}}
  template:
    metadata: {labels: {app: cache-pods}}
    spec: {containers: [{name: kubetorch, image: "registry.example.com/shop/cache:1.0.0", command: [/app/cache]}]}
`,
	"CronJob/nightly": `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: 0 3 * * *
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: kubetorch, image: "registry.example.com/shop/nightly:1.0.0", command: [/app/nightly]}]
`,
	"Job/migrate": `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: kubetorch, image: "registry.example.com/shop/migrate:1.0.0", command: [/app/migrate]}]
`,
	"PersistentVolumeClaim/datasets": `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: datasets, labels: {team: shop}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Gi}}
`,
	"Secret/token": `
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {TOKEN: not-a-real-token}
`,
}

// moveTargets are the addresses and the configuration of the resources of this provider.
var moveTargets = map[string]struct{ address, config string }{
	"Deployment/web": {"kt_compute.web", `
resource "kt_compute" "web" {
  name                 = "web"
  freeze               = true
  service_account_name = "default"
  manifest             = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    spec:
      replicas: 2
      strategy: {type: RollingUpdate}
      template:
        spec:
          containers:
          - name: kubetorch
            image: registry.example.com/shop/web:1.4.2
            command: [/app/serve, --port=8080]
            ports: [{name: http, containerPort: 8080}]
  YAML
}`},
	"StatefulSet/queue": moveTarget("queue", "apps/v1", "StatefulSet", `
    spec:
      serviceName: queue
      template:
        spec:
          containers:
          - {name: kubetorch, image: "registry.example.com/shop/queue:2.0.0", command: [/app/queue]}`),
	"DaemonSet/cache": moveTarget("cache", "apps/v1", "DaemonSet", `
    spec:
      template:
        spec:
          containers:
          - {name: kubetorch, image: "registry.example.com/shop/cache:1.0.0", command: [/app/cache]}`),
	"CronJob/nightly": moveTarget("nightly", "batch/v1", "CronJob", `
    spec:
      schedule: 0 3 * * *
      jobTemplate:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: kubetorch, image: "registry.example.com/shop/nightly:1.0.0", command: [/app/nightly]}`),
	"Job/migrate": moveTarget("migrate", "batch/v1", "Job", `
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: kubetorch, image: "registry.example.com/shop/migrate:1.0.0", command: [/app/migrate]}`),
	"PersistentVolumeClaim/datasets": {"kt_volume.datasets", moveVolume("10Gi", "ReadWriteOnce")},
	"Secret/token": {"kt_secret.token", `
resource "kt_secret" "token" {
  name     = "token"
  from_env = { TOKEN = "TOKEN" }
}`},
}

func moveVolume(size, accessMode string) string {
	return fmt.Sprintf(`
resource "kt_volume" "datasets" {
  name        = "datasets"
  size        = %q
  access_mode = %q
}`, size, accessMode)
}

func moveTarget(name, apiVersion, kind, spec string) struct{ address, config string } {
	return struct{ address, config string }{"kt_compute." + name, fmt.Sprintf(`
resource "kt_compute" %[1]q {
  name                 = %[1]q
  freeze               = true
  service_account_name = "default"
  manifest             = <<-YAML
    apiVersion: %[2]s
    kind: %[3]s%[4]s
  YAML
}`, name, apiVersion, kind, spec)}
}
