/**
 * One cycle for every knot of a graph, each as the shortest way from its first node (by name) back to itself.
 *
 * @param {Map<string, Set<string>>} graph
 * @returns {string[][]}
 */
export function cyclesOf(graph) {
  const cycles = [];
  const told = new Set();
  for (const start of [...graph.keys()].sort()) {
    if (told.has(start)) continue;
    const cycle = shortestWayBack(graph, start);
    if (cycle === null) continue;
    for (const node of knotOf(graph, start)) told.add(node);
    cycles.push(cycle);
  }
  return cycles;
}

function shortestWayBack(graph, start) {
  const cameFrom = new Map();
  const queue = [start];
  for (const node of queue) {
    for (const next of [...(graph.get(node) ?? [])].sort()) {
      if (next === start) return wayTo(node, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      queue.push(next);
    }
  }
  return null;
}

function wayTo(end, cameFrom) {
  const way = [];
  for (let node = end; node !== undefined; node = cameFrom.get(node)) way.unshift(node);
  return way;
}

/** The nodes that can reach the start and are reached from it. */
function knotOf(graph, start) {
  const reverse = new Map();
  for (const [node, nexts] of graph) {
    for (const next of nexts) reverse.set(next, [...(reverse.get(next) ?? []), node]);
  }
  const forward = reachable(graph, start);
  return [...reachable(reverse, start)].filter((node) => forward.has(node));
}

function reachable(graph, start) {
  const seen = new Set([start]);
  for (const node of seen) for (const next of graph.get(node) ?? []) seen.add(next);
  return seen;
}
