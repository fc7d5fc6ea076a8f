package ecosystem_test

const rayCluster = `
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
spec:
  rayVersion: 2.40.0
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers: [{name: ray-head, image: rayproject/ray:2.40.0}]
  workerGroupSpecs:
  - groupName: workers
    replicas: 2
    minReplicas: 2
    maxReplicas: 2
    rayStartParams: {}
    template:
      spec:
        containers: [{name: ray-worker, image: rayproject/ray:2.40.0}]
`

const suspendedJobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: set
spec:
  suspend: true
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: worker, image: busybox}]
`

const leaderWorkerSet = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: groups
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    workerTemplate:
      spec:
        containers: [{name: worker, image: busybox}]
`

const pyTorchJob = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &pod
        spec:
          containers: [{name: pytorch, image: pytorch/pytorch, resources: {limits: {nvidia.com/gpu: 1}}}]
    Worker:
      replicas: 2
      template: *pod
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: gpus
spec:
  replicas: 6
  selector: {matchLabels: {app: gpus}}
  template:
    metadata: {labels: {app: gpus}}
    spec:
      containers: [{name: worker, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]
`

const job = `
apiVersion: batch/v1
kind: Job
metadata:
  name: gpus
spec:
  parallelism: 6
  completions: 6
  template:
    spec:
      restartPolicy: Never
      containers: [{name: worker, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]
`
