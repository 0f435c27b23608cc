// Package rollouts reads sets of works from a hub or from files and reports their rollouts, by the planner of the manager. It pauses,
// resumes and approves rollouts, and plans a rollout of a strategy over the clusters of a placement.
//
// In go sets, works, decisions and strategies; out come reports, plans and patches. It reads and writes with the permissions of the caller.
// It reports clusters one by one only to callers who may list works, or through the manager, which serves those that the caller may see.
package rollouts
