// Package kit is what the tests of hub/integration share: a client that fails the test where a request fails, waits that report what
// they wait for, builders of the usual objects, users with their permissions, plain HTTP requests, and a manager for all tests of a
// package.
//
// It starts no hub; package hubtest does. It decides nothing about the product: what a test expects is in the test. Every wait has a limit,
// and fails with what it waited for and with what it saw last.
//
// The fixture of a package embeds a Client for its methods:
//
//	type fleet struct {
//		*kit.Client
//		namespace string
//	}
//
//	func TestAPlacementFollowsItsSet(t *testing.T) {
//		f := fleet{kit.New(t, shared), shared.Namespace(t)}
//		f.MustCreate(kit.Set(f.namespace), kit.Binding(f.namespace, f.namespace), kit.Cluster("a", clusterv1beta2.ClusterSetLabel, f.namespace))
//		placement := kit.Placement(f.namespace, "web")
//		f.MustCreate(placement)
//		f.AwaitSelected(f.namespace, "web", "a")
//		f.MustDelete(kit.Cluster("a"))
//		f.AwaitCondition(placement, clusterv1beta1.PlacementConditionSatisfied, metav1.ConditionFalse, "")
//	}
//
// The methods whose names begin with Must fail the test at once. The methods of the embedded client return errors, for tests of refusals
// and for the checks of a wait. A method that reads into an object replaces it as a whole.
package kit
