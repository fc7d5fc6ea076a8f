package manifest

import "strconv"

// find returns what is at a path of keys and, in lists, of indexes.
func find(value any, path []string) (any, bool) {
	for _, step := range path {
		switch in := value.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			value = in[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// mapAt returns the map at a path. It makes what is missing on the way there,
// but for items of lists. It is nil where something else is in the way.
func mapAt(root map[string]any, path []string) map[string]any {
	var at any = root
	for _, step := range path {
		next, ok := find(at, []string{step})
		if in, isMap := at.(map[string]any); isMap && (!ok || next == nil) {
			next = map[string]any{}
			in[step] = next
		}
		at = next
	}
	m, _ := at.(map[string]any)
	return m
}

// setAt sets what is at a path, or removes it where value is nil. It does
// nothing where something else than a map is in the way.
func setAt(root map[string]any, path []string, value any) {
	parent, key := path[:len(path)-1], path[len(path)-1]
	if value == nil {
		if in, _ := find(root, parent); in != nil {
			if in, ok := in.(map[string]any); ok {
				delete(in, key)
			}
		}
		return
	}
	if in := mapAt(root, parent); in != nil {
		in[key] = value
	}
}

func numberAt(root map[string]any, path []string) (int64, bool) {
	if path == nil {
		return 0, false
	}
	value, _ := find(root, path)
	n, ok := normalizeNumber(value).(int64)
	return n, ok
}

func textAt(root map[string]any, path ...string) string {
	value, _ := find(root, path)
	text, _ := value.(string)
	return text
}

// listAt are the maps in the list at a path; other items are nil.
func listAt(root map[string]any, path ...string) []map[string]any {
	value, _ := find(root, path)
	list, _ := value.([]any)
	maps := make([]map[string]any, len(list))
	for i, item := range list {
		maps[i], _ = item.(map[string]any)
	}
	return maps
}

// textsAt are the texts in the map at a path.
func textsAt(root map[string]any, path ...string) map[string]string {
	value, _ := find(root, path)
	m, _ := value.(map[string]any)
	texts := make(map[string]string, len(m))
	for key, value := range m {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}
