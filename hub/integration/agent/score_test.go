package agent

import (
	"fmt"
	"strings"
	"testing"
)

// TestScoresThatAnAgentMayReport are in one object of its namespace, and few.
func TestScoresThatAnAgentMayReport(t *testing.T) {
	acceptedCluster(t, "own")
	acceptedCluster(t, "owner")
	collection := inNamespace("/apis/"+clusterGroup+"/v1alpha1", "own", "addonplacementscores")
	who := newAgent(t, "own")
	const (
		noObject = ofOwn + "may not CREATE addonplacementscores." + clusterGroup
		noField  = ofOwn + "may not set labels, annotations, finalizers and ownerReferences of its scores"
		tooMany  = ofOwn + "may report at most 16 scores with names of at most 63 characters"
	)
	for sentence, test := range map[string]struct {
		metadata object
		want     string
	}{
		"its own":         {object{"name": "berth-usage"}, ""},
		"another":         {object{"name": "berth-scores"}, noObject + ` "berth-scores" in the namespace "own"`},
		"any name":        {object{"generateName": "berth-"}, noObject},
		"with a label":    {object{"name": "berth-usage", "labels": object{"a": "b"}}, noField},
		"with a note":     {object{"name": "berth-usage", "annotations": object{"a": "b"}}, noField},
		"that never goes": {object{"name": "berth-usage", "finalizers": []string{"example.com/mine"}}, noField},
	} {
		t.Run("an object, "+sentence, func(t *testing.T) {
			who.create(t, collection+"?dryRun=All", scoreObject(test.metadata)).expect(t, test.want)
		})
	}
	path := mustCreate(t, collection, scoreObject(object{"name": "berth-usage"}))
	for sentence, test := range map[string]struct{ status, want string }{
		"a score":             {scoreStatus(1, "s", 0, ""), ""},
		"sixteen":             {scoreStatus(16, "s", 4, "m"), ""},
		"seventeen":           {scoreStatus(17, "s", 0, ""), tooMany},
		"a long name":         {scoreStatus(1, strings.Repeat("n", 63), 0, ""), tooMany},
		"five conditions":     {scoreStatus(1, "s", 5, "m"), tooMany},
		"a message too long":  {scoreStatus(1, "s", 1, strings.Repeat("m", 1025)), tooMany},
		"a message that fits": {scoreStatus(1, "s", 1, strings.Repeat("m", 1024)), ""},
	} {
		t.Run("a status with "+sentence, func(t *testing.T) {
			who.merge(t, path+"/status?dryRun=All", test.status).expect(t, test.want)
		})
	}
	mustCreate(t, collection, scoreObject(object{"name": "berth-scores"}))
	mustCreate(t, strings.Replace(collection, "/own/", "/owner/", 1), scoreObject(object{"name": "berth-usage"}))
	other := withEveryRole(t, newRequester(t, who.Name()+"-of-scores", who.Groups()...))
	other.merge(t, path, `{"metadata":{"labels":{"a":"b"}}}`).expectRefusal(t,
		ofOwn+"may not UPDATE addonplacementscores."+clusterGroup+` "berth-usage"`)
	other.remove(t, path).expectRefusal(t, ofOwn+"may not DELETE addonplacementscores."+clusterGroup)
	const noStatus = ofOwn + "may not UPDATE addonplacementscores/status." + clusterGroup
	other.merge(t, collection+"/berth-scores/status", scoreStatus(1, "s", 0, "")).expectRefusal(t, noStatus+` "berth-scores"`)
	other.merge(t, strings.Replace(path, "/own/", "/owner/", 1)+"/status", scoreStatus(1, "s", 0, "")).expectRefusal(t,
		noStatus+` "berth-usage" in the namespace "owner"`)
}

func scoreObject(metadata object) object {
	return object{"apiVersion": clusterGroup + "/v1alpha1", "kind": "AddOnPlacementScore", "metadata": metadata}
}

// scoreStatus returns a merge patch with scores, whose names begin alike, and conditions with a message.
func scoreStatus(scores int, name string, conditions int, message string) string {
	listed, reported := make([]string, 0, scores), make([]string, 0, conditions)
	for i := range scores {
		listed = append(listed, fmt.Sprintf(`{"name":"%s%d","value":1}`, name, i))
	}
	for i := range conditions {
		reported = append(reported,
			fmt.Sprintf(`{"type":"T%d","status":"True","reason":"R","message":%q,"lastTransitionTime":"2026-01-01T00:00:00Z"}`, i, message))
	}
	return fmt.Sprintf(`{"status":{"scores":[%s],"conditions":[%s]}}`, strings.Join(listed, ","), strings.Join(reported, ","))
}
