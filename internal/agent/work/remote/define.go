package remote

import (
	"context"
	"fmt"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/berth-project/berth/config"
)

// recordDefinition is the file of the definition of records.
const recordDefinition = "work.open-cluster-management.io_appliedmanifestworks.yaml"

// Define applies the definition of records to the member.
func (m *Member) Define(ctx context.Context) error {
	text, err := fs.ReadFile(config.MemberCRDs(), recordDefinition)
	if err != nil {
		return fmt.Errorf("reading the definition of records: %w", err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		return fmt.Errorf("parsing the definition of records: %w", err)
	}
	definitions := m.own.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions",
	})
	if _, err := definitions.Apply(ctx, definition.GetName(), definition, metav1.ApplyOptions{FieldManager: "work-agent", Force: true}); err !=
		nil {
		return fmt.Errorf("installing the definition of records on the member: %w; apply config/crd/member there", err)
	}
	return nil
}
