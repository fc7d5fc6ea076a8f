package kubelet

import (
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// LogHandler serves what the API server asks a kubelet for when a user wants the log of a container.
// The lookup returns nil for a pod that is not there.
func LogHandler(pod func(namespace, name string) *corev1.Pod) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		found := pod(r.PathValue("namespace"), r.PathValue("pod"))
		if found == nil {
			refuse(w, "pod does not exist", http.StatusNotFound)
			return
		}
		opts, err := parseLogOptions(r.URL.Query(), time.Now())
		if err != nil {
			refuse(w, err.Error(), http.StatusBadRequest)
			return
		}
		lines, err := containerLog(found, r.PathValue("container"), opts.previous)
		if err != nil {
			refuse(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		if _, err := w.Write(opts.render(lines)); err != nil {
			return
		}
		// Nothing more will be written, but a client that follows expects to wait for it.
		if opts.follow {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	return mux
}

// refuse writes a message as it is; the API server passes it on to the user.
func refuse(w http.ResponseWriter, message string, code int) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, message) // a client that has left needs no answer
}
