// Package override renders the template of a set for one cluster: the overrides that select the cluster change manifests by JSON Patch.
//
// Compile reports what is wrong with overrides, and Render applies them. Rendering is a pure function of the template, the overrides and
// the ManagedCluster. It reads no clock, no scores and nothing of the hub.
//
// # The contract
//
//   - The identity of an object stays: apiVersion, kind, namespace and name. So no patch adds an object, makes two manifests describe one,
//     or escapes the validation of the template.
//   - A cluster for which an override cannot be applied gets no result at all, never a part of one.
//   - Messages have paths, names of objects and names of labels or claims. They have no values: manifests may be Secrets.
//   - Expressions cost at most ClusterCost on one cluster together. A rendered template is at most as large as the limit of the caller.
package override
