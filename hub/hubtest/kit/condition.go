package kit

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Conditions returns the conditions in the status of an object of any kind.
func Conditions(object client.Object) []metav1.Condition {
	var out struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("the conditions of %s: %v", describe(object), err)) // an object was decoded from JSON
	}
	return out.Status.Conditions
}

// Condition returns a condition of an object; the zero value where it is missing.
func Condition(object client.Object, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(Conditions(object), kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// AwaitCondition reads an object until a condition has a status and a reason, for whatever generation, and returns the condition. An empty
// status or reason is any.
func (c *Client) AwaitCondition(object client.Object, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	c.t.Helper()
	return c.awaitCondition(object, kind, status, reason, false)
}

// AwaitObservedCondition is AwaitCondition for a condition of the present generation.
func (c *Client) AwaitObservedCondition(object client.Object, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	c.t.Helper()
	return c.awaitCondition(object, kind, status, reason, true)
}

func (c *Client) awaitCondition(object client.Object, kind string, status metav1.ConditionStatus, reason string,
	observed bool,
) metav1.Condition {
	c.t.Helper()
	var out metav1.Condition
	c.AwaitObject(object, fmt.Sprintf("%s of %s is %s %s", kind, describe(object), status, reason), func() error {
		out = Condition(object, kind)
		switch {
		case status != "" && out.Status != status || out.Type == "" || reason != "" && out.Reason != reason:
			return fmt.Errorf("the conditions are %+v", Conditions(object))
		case observed && out.ObservedGeneration != object.GetGeneration():
			return fmt.Errorf("generation %d has %+v", object.GetGeneration(), out)
		}
		return nil
	})
	return out
}
