// Package image is what a kt_image is made of: a Dockerfile and steps in, a
// script that sets up a container by them and the ConfigMap that carries it
// out. It is pure: what is copied comes in packed, and nothing reaches a cluster.
//
// # The contract between the script and the pod that runs it
//
// The ConfigMap is mounted read-only as one folder, whose path is exported as
// KT_IMAGE_DIR. The start-up script of the container is bash, and sources the
// set-up script before anything else that depends on it:
//
//	. "$KT_IMAGE_DIR/setup.sh" || exit
//
// Sourced, it exports what ENV and env steps say to whatever comes after it.
// It does not depend on the options of the shell that sources it, changes none,
// and leaves nothing but the exported variables. After the first step that
// fails it returns that step's exit code, and has said on standard error which
// step that was.
//
// Steps run once for each content: a file named image-<digest> marks that all
// of them have run. It is in $KT_STATE_DIR, else /var/lib/kubetorch; where that
// cannot be written to, in $HOME/.kubetorch, else /tmp/kubetorch-<uid>. That
// folder has to live and die with what the steps install, which is in the
// container's own file system. Variables are exported every time.
//
// The pod template carries Rendered.Digest as an annotation, so that pods are
// replaced when what sets them up changes. python_path and install_cmd are also
// for the start-up script: the interpreter to use, and the beginning of a
// command line that packages to install are appended to ("uv pip install --system").
package image
