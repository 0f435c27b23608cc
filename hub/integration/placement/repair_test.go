package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// ownedState is the part of a placement's objects that Berth owns, and restores after another client changed it.
type ownedState struct {
	Slices map[string]sliceState
	Status clusterv1beta1.PlacementStatus
}

type sliceState struct {
	Labels, Annotations map[string]string
	Controller          string
	Clusters            []clusterv1beta1.ClusterDecision
}

// readState reads the state that Berth owns: the placement's status, and every slice with its label or its name.
func (f *fleet) readState(ctx context.Context, placement string) (ownedState, error) {
	var list clusterv1beta1.PlacementDecisionList
	if err := f.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
		return ownedState{}, err
	}
	object := &clusterv1beta1.Placement{}
	if err := f.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: placement}, object); err != nil {
		return ownedState{}, err
	}
	out := ownedState{Slices: map[string]sliceState{}, Status: object.Status}
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].LastTransitionTime = metav1.Time{} // changes when another client changed the status
	}
	for _, slice := range list.Items {
		state := sliceState{Labels: slice.Labels, Annotations: slice.Annotations, Clusters: slice.Status.Decisions}
		if controller := metav1.GetControllerOf(&slice); controller != nil {
			state.Controller = string(controller.UID)
		}
		out.Slices[slice.Name] = state
	}
	return out, nil
}

// awaitRepaired makes a change and waits until it is reverted.
func (f *fleet) awaitRepaired(placement string, change func()) {
	f.t.Helper()
	want := kit.Must(f.readState(f.t.Context(), placement)).In(f.t)
	change()
	f.Await("it is reverted", func(ctx context.Context) error {
		got, err := f.readState(ctx, placement)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("not as before (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestExternalWritesAreRepaired(t *testing.T) {
	slice := func(f *fleet, n int) *clusterv1beta1.PlacementDecision {
		return &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("p-decision-%d", n)}}
	}
	// editOf is another client's change of the metadata of the second slice.
	editOf := func(apply func(*clusterv1beta1.PlacementDecision)) func(*fleet) {
		return func(f *fleet) { change(f, slice(f, 2), apply) }
	}
	externalWrites := map[string]func(*fleet){
		"a slice is deleted": func(f *fleet) { f.MustDelete(slice(f, 1)) },
		"all slices are deleted": func(f *fleet) {
			kit.NoError(f.t, f.DeleteAllOf(f.t.Context(), &clusterv1beta1.PlacementDecision{}, client.InNamespace(f.namespace)))
		},
		"the decisions of a slice are edited": func(f *fleet) {
			changeStatus(f, slice(f, 2), func(d *clusterv1beta1.PlacementDecision) {
				d.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "smuggled"}}
			})
		},
		"a cluster is put into a second slice": func(f *fleet) {
			changeStatus(f, slice(f, 2), func(d *clusterv1beta1.PlacementDecision) {
				d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: f.name(0)})
			})
		},
		"a slice is emptied": func(f *fleet) {
			changeStatus(f, slice(f, 1), func(d *clusterv1beta1.PlacementDecision) { d.Status.Decisions = nil })
		},
		"the placement label is removed": editOf(func(d *clusterv1beta1.PlacementDecision) { delete(d.Labels, clusterv1beta1.PlacementLabel) }),
		"the placement label is edited":  editOf(func(d *clusterv1beta1.PlacementDecision) { d.Labels[clusterv1beta1.PlacementLabel] = "other" }),
		"all labels are removed":         editOf(func(d *clusterv1beta1.PlacementDecision) { d.Labels = nil }),
		"the group labels are edited": editOf(func(d *clusterv1beta1.PlacementDecision) {
			d.Labels[clusterv1beta1.DecisionGroupIndexLabel], d.Labels[clusterv1beta1.DecisionGroupNameLabel] = "0", "smuggled"
		}),
		"the group index is unreadable": editOf(func(d *clusterv1beta1.PlacementDecision) {
			d.Labels[clusterv1beta1.DecisionGroupIndexLabel] = "x"
		}),
		"the annotations are removed": editOf(func(d *clusterv1beta1.PlacementDecision) { d.Annotations = nil }),
		"the annotation is edited": editOf(func(d *clusterv1beta1.PlacementDecision) {
			for key := range d.Annotations {
				d.Annotations[key] = "smuggled"
			}
		}),
		"the owner is removed": editOf(func(d *clusterv1beta1.PlacementDecision) { d.OwnerReferences = nil }),
		"the owner no longer controls": editOf(func(d *clusterv1beta1.PlacementDecision) {
			d.OwnerReferences[0].Controller = nil
		}),
		"the placement's status is edited": func(f *fleet) {
			p := kit.Placement(f.namespace, "p")
			changeStatus(f, p, func(p *clusterv1beta1.Placement) {
				p.Status.NumberOfSelectedClusters = 77
				p.Status.DecisionGroups = nil
				p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = metav1.ConditionFalse, "Smuggled"
			})
		},
		"the placement's status is emptied": func(f *fleet) {
			p := kit.Placement(f.namespace, "p")
			changeStatus(f, p, func(p *clusterv1beta1.Placement) { p.Status = clusterv1beta1.PlacementStatus{} })
		},
		"a slice with the placement label is created": func(f *fleet) {
			f.MustCreate(&clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
				Namespace: f.namespace, Name: "by-hand", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p"},
			}})
		},
		"a slice with the next number is created": func(f *fleet) {
			object := slice(f, 9)
			object.Labels = map[string]string{clusterv1beta1.PlacementLabel: "p"}
			f.MustCreate(object)
			object.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: "smuggled"}}
			_ = f.Status().Update(f.t.Context(), object) // the manager may have deleted it
		},
	}
	sharedManager(t)
	fleet := func(t *testing.T) *fleet {
		f := newFleet(t, 0)
		for i := range 6 {
			f.join(i, "stage", []string{"canary", "rest"}[i%2])
		}
		f.placement("p", func(spec *clusterv1beta1.PlacementSpec) {
			spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{{
				GroupName: "canary",
				ClusterSelector: clusterv1beta1.GroupClusterSelector{LabelSelector: metav1.LabelSelector{
					MatchLabels: map[string]string{"stage": "canary"},
				}},
			}}
		})
		f.awaitSelected("p", f.upTo(6)...)
		awaitFixedPoint(t)
		return f
	}
	for _, name := range slices.Sorted(maps.Keys(externalWrites)) {
		t.Run(name, func(t *testing.T) {
			f := fleet(t)
			f.awaitRepaired("p", func() { externalWrites[name](f) })
			awaitFixedPoint(t)
		})
	}
	// A new manager, which has not written the slices itself.
	t.Run("after a restart that wrote nothing", func(t *testing.T) {
		f := fleet(t)
		steady.Stop(t)
		m := sharedManager(t)
		m.idle(t, 1)
		for _, name := range slices.Sorted(maps.Keys(externalWrites)) {
			t.Run(name, func(t *testing.T) {
				inner := *f
				inner.t = t
				inner.awaitRepaired("p", func() { externalWrites[name](&inner) })
			})
		}
		awaitFixedPoint(t)
	})
}

// TestForeignMetadataIsKept checks that Berth keeps the metadata of a slice that belongs to other clients.
func TestForeignMetadataIsKept(t *testing.T) {
	sharedManager(t)
	f := newFleet(t, 2)
	f.placement("p")
	f.awaitSelected("p", f.upTo(2)...)
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "p-decision-1"}}
	change(f, slice, func(d *clusterv1beta1.PlacementDecision) {
		d.Labels["team"], d.Annotations["note"] = "blue", "mind the gap"
		delete(d.Labels, clusterv1beta1.PlacementLabel)
	})
	f.join(2)
	f.awaitSelected("p", f.upTo(3)...)
	awaitFixedPoint(t)
	f.MustRead(slice)
	if slice.Labels["team"] != "blue" || slice.Annotations["note"] != "mind the gap" {
		t.Errorf("labels %v, annotations %v, want the values of other clients kept", slice.Labels, slice.Annotations)
	}
}

// TestClustersOfDeletedSlicesStaySelected deletes slices while newcomers would rank before the clusters in them.
func TestClustersOfDeletedSlicesStaySelected(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 0)
	for i := 5; i < 8; i++ {
		f.join(i)
	}
	f.placement("p", kit.Number(3))
	f.awaitSelected("p", f.names(5, 6, 7)...)
	for i := range 3 { // they are first by name
		f.join(i)
	}
	before := m.idle(t, 0).Sum("berth_decisions_total", `change="restored"`)
	f.MustDelete(&clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "p-decision-1"}})
	kit.Await(t, "the clusters are restored", func(ctx context.Context) error {
		read, err := m.ReadMetrics(ctx)
		if err == nil && read.Sum("berth_decisions_total", `change="restored"`) < before+3 {
			err = fmt.Errorf("the clusters are not restored yet")
		}
		return err
	})
	f.awaitSelected("p", f.names(5, 6, 7)...)
	awaitFixedPoint(t)
}
