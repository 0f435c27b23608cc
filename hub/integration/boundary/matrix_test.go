package boundary

// The permissions of every role. The users have the roles of the set team, which contains the cluster edge. The team works in
// the namespace shop, where the set admin, the binder and the viewer have Kubernetes' role edit. The set admin may also
// register clusters. The agent runs in edge, with permissions for its own cluster. `no role` is a user without a role. The
// set other, with the cluster vault, belongs to another team.
//
// Each row has the user, the code of the response, and the refusal or the stored or visible result. The page
// docs/operations/security.md has the same table without the messages.
var matrix = []row{
	{createCluster, "admin", 201, "fresh is in team"},
	{createCluster, "set admin", 201, "fresh is in team"},
	{createCluster, "binder", 403, noRole("create", "managedclusters", "")},
	{createCluster, "viewer", 403, noRole("create", "managedclusters", "")},
	{createCluster, "agent", 403, noRole("create", "managedclusters", "")},
	{createCluster, "no role", 403, noRole("create", "managedclusters", "")},

	{relabelCluster, "admin", 200, "edge is in other"},
	{relabelCluster, "set admin", 403, limited("edge", noReservedLabel)},
	{relabelCluster, "binder", 403, noRole("update", "managedclusters", "edge")},
	{relabelCluster, "viewer", 403, noRole("update", "managedclusters", "edge")},
	{relabelCluster, "agent", 403, limitedAgent("edge", noLabelOfAgent)},
	{relabelCluster, "no role", 403, noRole("update", "managedclusters", "edge")},

	{unlabelCluster, "admin", 200, "edge is in default"},
	{unlabelCluster, "set admin", 403, limited("edge", noReservedLabel)},
	{unlabelCluster, "binder", 403, noRole("update", "managedclusters", "edge")},
	{unlabelCluster, "viewer", 403, noRole("update", "managedclusters", "edge")},
	{unlabelCluster, "agent", 403, limitedAgent("edge", noLabelOfAgent)},
	{unlabelCluster, "no role", 403, noRole("update", "managedclusters", "edge")},

	{taintCluster, "admin", 200, "edge has maintenance:NoSelect since now"},
	{taintCluster, "set admin", 200, "edge has maintenance:NoSelect since now"},
	{taintCluster, "binder", 403, noRole("update", "managedclusters", "edge")},
	{taintCluster, "viewer", 403, noRole("update", "managedclusters", "edge")},
	{taintCluster, "agent", 403, limitedAgent("edge", noTaintOfAgent)},
	{taintCluster, "no role", 403, noRole("update", "managedclusters", "edge")},

	{labelCluster, "admin", 200, "edge is of tier gold"},
	{labelCluster, "set admin", 200, "edge is of tier gold"},
	{labelCluster, "binder", 403, noRole("update", "managedclusters", "edge")},
	{labelCluster, "viewer", 403, noRole("update", "managedclusters", "edge")},
	{labelCluster, "agent", 403, limitedAgent("edge", noLabelOfAgent)},
	{labelCluster, "no role", 403, noRole("update", "managedclusters", "edge")},

	{reportHealth, "admin", 200, "edge has " + unreachable + ":NoSelect since now"},
	{reportHealth, "set admin", 403, limited("edge", noReservedTaint)},
	{reportHealth, "binder", 403, noRole("update", "managedclusters", "edge")},
	{reportHealth, "viewer", 403, noRole("update", "managedclusters", "edge")},
	{reportHealth, "agent", 403, limitedAgent("edge", noTaintOfAgent)},
	{reportHealth, "no role", 403, noRole("update", "managedclusters", "edge")},

	{acceptCluster, "admin", 200, "edge is accepted"},
	{acceptCluster, "set admin", 403, limited("edge", noSpec)},
	{acceptCluster, "binder", 403, noRole("update", "managedclusters", "edge")},
	{acceptCluster, "viewer", 403, noRole("update", "managedclusters", "edge")},
	{acceptCluster, "agent", 403, limitedAgent("edge", noAcceptanceOfAgent)},
	{acceptCluster, "no role", 403, noRole("update", "managedclusters", "edge")},

	{deleteCluster, "admin", 200, "edge is gone"},
	{deleteCluster, "set admin", 200, "edge is gone"},
	{deleteCluster, "binder", 403, noRole("delete", "managedclusters", "edge")},
	{deleteCluster, "viewer", 403, noRole("delete", "managedclusters", "edge")},
	{deleteCluster, "agent", 403, noRole("delete", "managedclusters", "edge")},
	{deleteCluster, "no role", 403, noRole("delete", "managedclusters", "edge")},

	{createSet, "admin", 201, "mine is there"},
	{createSet, "set admin", 403, noRole("create", "managedclustersets", "")},
	{createSet, "binder", 403, noRole("create", "managedclustersets", "")},
	{createSet, "viewer", 403, noRole("create", "managedclustersets", "")},
	{createSet, "agent", 403, noRole("create", "managedclustersets", "")},
	{createSet, "no role", 403, noRole("create", "managedclustersets", "")},

	{bindSet, "admin", 201, "team is bound to shop"},
	{bindSet, "set admin", 201, "team is bound to shop"},
	{bindSet, "binder", 201, "team is bound to shop"},
	{bindSet, "viewer", 403, mayNotBind("team")},
	{bindSet, "agent", 403, noRoleIn("shop", "create", "managedclustersetbindings", "")},
	{bindSet, "no role", 403, noRoleIn("shop", "create", "managedclustersetbindings", "")},

	{viewSet, "admin", 200, "team is shown"},
	{viewSet, "set admin", 200, "team is shown"},
	{viewSet, "binder", 200, "team is shown"},
	{viewSet, "viewer", 200, "team is shown"},
	{viewSet, "agent", 403, noRole("get", "managedclustersets", "team")},
	{viewSet, "no role", 403, noRole("get", "managedclustersets", "team")},

	{createPlacement, "admin", 201, "web selects [edge]"},
	{createPlacement, "set admin", 201, "web selects [edge]"},
	{createPlacement, "binder", 201, "web selects [edge]"},
	{createPlacement, "viewer", 201, "web selects [edge]"},
	{createPlacement, "agent", 403, noRoleIn("shop", "create", "placements", "")},
	{createPlacement, "no role", 403, noRoleIn("shop", "create", "placements", "")},

	{listViews, "admin", 200, "sets [default global other team], clusters [edge vault]"},
	{listViews, "set admin", 200, "sets [team], clusters [edge]"},
	{listViews, "binder", 200, "sets [team], clusters [edge]"},
	{listViews, "viewer", 200, "sets [team], clusters [edge]"},
	{listViews, "agent", 200, "sets [], clusters [edge]"},
	{listViews, "no role", 200, "sets [], clusters []"},

	// The admin comes last, since the roles of a set go with it.
	{deleteSet, "set admin", 403, noRole("delete", "managedclustersets", "team")},
	{deleteSet, "binder", 403, noRole("delete", "managedclustersets", "team")},
	{deleteSet, "viewer", 403, noRole("delete", "managedclustersets", "team")},
	{deleteSet, "agent", 403, noRole("delete", "managedclustersets", "team")},
	{deleteSet, "no role", 403, noRole("delete", "managedclustersets", "team")},
	{deleteSet, "admin", 200, "team is gone, and so are its roles"},
}

// The same users, with an additional role to write every cluster of the hub and every binding. Such a role must not be enough
// to change which namespace reaches which cluster.
var writers = []row{
	{createCluster, "set admin", 201, "fresh is in team"},
	{createCluster, "binder", 403, mayNotPut("fresh", "team")},
	{createCluster, "viewer", 403, mayNotPut("fresh", "team")},
	{createCluster, "no role", 403, mayNotPut("fresh", "team")},

	{relabelCluster, "set admin", 403, mayNotPut("edge", "other")},
	{relabelCluster, "binder", 403, mayNotTake("edge", "team")},
	{relabelCluster, "viewer", 403, mayNotTake("edge", "team")},
	{relabelCluster, "no role", 403, mayNotTake("edge", "team")},

	{unlabelCluster, "set admin", 403, mayNotPut("edge", "default")},
	{unlabelCluster, "binder", 403, mayNotTake("edge", "team")},
	{unlabelCluster, "viewer", 403, mayNotTake("edge", "team")},
	{unlabelCluster, "no role", 403, mayNotTake("edge", "team")},

	{taintCluster, "set admin", 200, "edge has maintenance:NoSelect since now"},
	{taintCluster, "binder", 200, "edge has maintenance:NoSelect since now"},
	{taintCluster, "viewer", 200, "edge has maintenance:NoSelect since now"},
	{taintCluster, "no role", 200, "edge has maintenance:NoSelect since now"},

	{reportHealth, "set admin", 403, mayNotReport("edge", unreachable)},
	{reportHealth, "binder", 403, mayNotReport("edge", unreachable)},
	{reportHealth, "viewer", 403, mayNotReport("edge", unreachable)},
	{reportHealth, "no role", 403, mayNotReport("edge", unreachable)},

	{acceptCluster, "set admin", 403, mayNotAccept("edge")},
	{acceptCluster, "binder", 403, mayNotAccept("edge")},
	{acceptCluster, "viewer", 403, mayNotAccept("edge")},
	{acceptCluster, "no role", 403, mayNotAccept("edge")},

	{bindSet, "set admin", 201, "team is bound to shop"},
	{bindSet, "binder", 201, "team is bound to shop"},
	{bindSet, "viewer", 403, mayNotBind("team")},
	{bindSet, "no role", 403, mayNotBind("team")},
}
