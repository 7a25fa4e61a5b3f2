// A way is a list of `package/folder/file.js::function`. A room is a package and the first folder below it, or the package
// for files that are in no folder.

function roomOf(name) {
  const [path] = name.split('::');
  return path.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** Returns the rooms that a way goes through, each once for every time that it is entered from another. */
function roomsOf(names) {
  return names.map(roomOf).filter((room, index, all) => room !== all[index - 1]);
}

/** Rooms that every other one asks short questions: the clock, names, JSON, owners, references of entries. */
const LEAVES = /^(?:protocol|protocol\/.*|core\/(?:primitives|ports|entries)|server\/primitives)$/;

/**
 * Counts what a way enters. `changes` are those from one room to another, `withoutLeaves` those that are left when nobody asks
 * the leaves, and `packages` those from one package to another, again without leaves.
 */
export function countsOf(names) {
  const files = new Set(names.map((name) => name.split('::')[0]));
  const rooms = roomsOf(names);
  const main = names.map(roomOf).filter((room) => !LEAVES.test(room));
  const packages = main.map((room) => room.split('/')[0]);
  return {
    functions: names.length,
    files: files.size,
    rooms: new Set(rooms).size,
    changes: changesIn(rooms),
    withoutLeaves: changesIn(main),
    packages: changesIn(packages),
  };
}

function changesIn(list) {
  return list.filter((item, index) => index > 0 && item !== list[index - 1]).length;
}

/** Returns how often a way goes from one of two rooms to the other, most often first. */
export function pairsOf(names) {
  const counts = new Map();
  const rooms = roomsOf(names);
  for (const [index, room] of rooms.slice(1).entries()) {
    const pair = [rooms[index], room].sort().join(' and ');
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return [...counts].map(([pair, changes]) => ({ rooms: pair, changes })).sort((a, b) => b.changes - a.changes);
}

/**
 * Returns the shortest recording whose length occurs more than once. Other work of the server only adds to a recording, and
 * one that has ended too early on a busy machine is alone with its length.
 */
export function shortestRepeated(recordings) {
  const sorted = recordings.toSorted((a, b) => a.length - b.length);
  return sorted.find((list, index) => list.length === sorted[index + 1]?.length) ?? sorted[0];
}
