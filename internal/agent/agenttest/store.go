package agenttest

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// store has the objects of all members by path. A member has ConfigMaps and records, and stores them as an API server does, as far as the
// agent depends on it. No other client changes an object, so there are no events.
type store struct {
	mu      sync.Mutex
	version int
	objects map[string]*unstructured.Unstructured
	// applies counts the applies of each object since its creation.
	applies map[string]int
}

func newStore() *store {
	return &store{objects: map[string]*unstructured.Unstructured{}, applies: map[string]int{}}
}

// get returns an object; nil where it does not exist. It is a copy.
func (s *store) get(path string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.objects[path]; found != nil {
		return found.DeepCopy()
	}
	return nil
}

// list returns the objects below a prefix that match.
func (s *store) list(matches func(path string) bool) []unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for path := range s.objects {
		if matches(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	out := make([]unstructured.Unstructured, 0, len(paths)) // an empty list, not null
	for _, path := range paths {
		out = append(out, *s.objects[path].DeepCopy())
	}
	return out
}

// create stores an object; false where there is one.
func (s *store) create(path string, object *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[path] != nil {
		return nil, false
	}
	return s.put(path, object), true
}

// apply stores what a field manager applies.
func (s *store) apply(path, manager string, object *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.objects[path]; found != nil {
		object.SetUID(found.GetUID())
		object.SetCreationTimestamp(found.GetCreationTimestamp())
	}
	now := metav1.Now()
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: object.GetAPIVersion(), Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`),
	}})
	s.applies[path]++
	return s.put(path, object)
}

// merge applies a JSON merge patch; nil where there is no object. An object that is being deleted goes with its last finalizer.
func (s *store) merge(path string, patch map[string]any) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.objects[path]
	if found == nil {
		return nil
	}
	changed, _ := merged(found.DeepCopy().Object, patch).(map[string]any)
	object := &unstructured.Unstructured{Object: changed}
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		delete(s.objects, path)
		return object
	}
	return s.put(path, object)
}

// remove deletes an object; false where it does not exist.
func (s *store) remove(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.objects[path]
	switch {
	case found == nil:
		return false
	case len(found.GetFinalizers()) > 0:
		now := metav1.Now()
		found.SetDeletionTimestamp(&now)
		s.put(path, found)
	default:
		delete(s.objects, path)
		delete(s.applies, path)
	}
	return true
}

// allApplies returns the sum of the applies of all objects.
func (s *store) allApplies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := 0
	for _, count := range s.applies {
		out += count
	}
	return out
}

// put stores an object with its next version, under mu, and returns a copy.
func (s *store) put(path string, object *unstructured.Unstructured) *unstructured.Unstructured {
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
		object.SetCreationTimestamp(metav1.NewTime(time.Unix(0, 0)))
	}
	s.objects[path] = object
	return object.DeepCopy()
}

// merged returns a value with a JSON merge patch (RFC 7386).
func merged(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, ok := value.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	for key, change := range changes {
		if change == nil {
			delete(out, key)
			continue
		}
		out[key] = merged(out[key], change)
	}
	return out
}

// header returns the metadata of an object.
func header(of *unstructured.Unstructured) (metav1.PartialObjectMetadata, error) {
	out := metav1.PartialObjectMetadata{}
	text, err := json.Marshal(map[string]any{"metadata": of.Object["metadata"]})
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}
