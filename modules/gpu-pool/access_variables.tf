variable "namespace" {
  description = "Namespace of the pool. Defaults to the name of the team if create_namespace is true, and otherwise to the namespace of the provider kt."
  type        = string
  default     = null
}

variable "create_namespace" {
  description = "Whether to create the namespace."
  type        = bool
  default     = false
}

variable "namespace_labels" {
  description = "Labels of the namespace if it is created, such as those of Pod Security Admission."
  type        = map(string)
  default     = {}
}

variable "create_service_account" {
  description = "Whether to create the service account of the trainers, kubetorch-service-account. Defaults to create_namespace. Kubetorch's Helm chart creates it in the namespaces of its value deployment_namespaces."
  type        = bool
  default     = null

  validation {
    condition     = !coalesce(var.create_service_account, false) || var.create_namespace || var.namespace != null
    error_message = "A service account requires namespace or create_namespace."
  }
}

variable "resource_quota" {
  description = "Hard limits of a ResourceQuota in the namespace, such as { \"requests.nvidia.com/gpu\" = \"16\" }. Kubernetes rejects a pod beyond it, whereas a workload beyond the quota of the queue waits. A limit of CPUs or memory requires that every pod requests them."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(var.resource_quota) == 0 || var.create_namespace || var.namespace != null
    error_message = "A resource quota requires namespace or create_namespace."
  }
}

variable "members" {
  description = "Users, groups and service accounts that get the permissions in member_rules in the namespace. The kind is User (default), Group or ServiceAccount. The namespace of a service account defaults to that of the pool."
  type = list(object({
    kind      = optional(string, "User")
    name      = string
    namespace = optional(string)
  }))
  default = []

  validation {
    condition     = alltrue([for member in var.members : contains(["User", "Group", "ServiceAccount"], member.kind)])
    error_message = "The kind of a member must be User, Group or ServiceAccount."
  }

  validation {
    condition     = length(var.members) == 0 || var.create_namespace || var.namespace != null
    error_message = "Members require namespace or create_namespace."
  }
}

variable "member_rules" {
  description = "Permissions of the members in the namespace. By default, they can see the workloads of the pool and their place in the queue, read logs and forward ports. They can neither read Secrets nor change workloads. Commands in pods (create of pods/exec) also read the Secrets that the pods use."
  type = list(object({
    api_groups = list(string)
    resources  = list(string)
    verbs      = list(string)
  }))
  default = [
    {
      api_groups = [""]
      resources  = ["pods", "pods/log", "services", "persistentvolumeclaims", "resourcequotas", "events"]
      verbs      = ["get", "list", "watch"]
    },
    {
      api_groups = ["apps"]
      resources  = ["deployments", "replicasets"]
      verbs      = ["get", "list", "watch"]
    },
    {
      api_groups = ["batch"]
      resources  = ["jobs"]
      verbs      = ["get", "list", "watch"]
    },
    {
      api_groups = ["kueue.x-k8s.io"]
      resources  = ["localqueues", "workloads"]
      verbs      = ["get", "list", "watch"]
    },
    {
      api_groups = [""]
      resources  = ["pods/portforward"]
      verbs      = ["get", "create"]
    },
  ]
}
