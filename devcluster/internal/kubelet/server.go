package kubelet

import (
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// LogHandler serves the requests that the API server sends to a kubelet for the log of a container.
// The lookup must return nil for a missing pod.
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
		// The log is complete, but a client that follows it expects the connection to stay open.
		if opts.follow {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	return mux
}

// refuse writes an error message, which the API server forwards to the user.
func refuse(w http.ResponseWriter, message string, code int) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, message) // the client may have disconnected
}
