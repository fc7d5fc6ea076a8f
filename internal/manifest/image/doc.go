// Package image renders a kt_image: from a Dockerfile and steps, it creates a
// script that sets up a container, and the ConfigMap that contains the script.
// It is pure: files to copy are passed in packed, and no cluster is accessed.
//
// # The contract between the script and the pod that runs it
//
// The ConfigMap is mounted read-only as one directory, whose path is exported as
// KT_IMAGE_DIR. The startup script of the container runs in bash, and sources
// the setup script before any command that depends on it:
//
//	. "$KT_IMAGE_DIR/setup.sh" || exit
//
// The sourced script exports the variables of ENV and set_env_vars steps to later
// commands. It does not depend on the options of the shell, does not change
// them, and defines nothing but the exported variables. If a step fails, the
// script reports the step on standard error and returns the exit code of the step.
//
// Steps run once for each content: the file image-<digest> records that all of
// them have run. It is in $KT_STATE_DIR, by default /var/lib/kubetorch. If that
// is not writable, it is in $HOME/.kubetorch, otherwise in /tmp/kubetorch-<uid>.
// The directory must have the same lifetime as the files that the steps install,
// which are in the file system of the container. Variables are always exported.
//
// The pod template has Rendered.Digest as an annotation, so that pods are
// replaced when their setup changes. The startup script also uses python_path,
// the interpreter, and install_cmd, a command to which the packages to install
// are appended ("uv pip install --system").
package image
