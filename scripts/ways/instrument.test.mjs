import { afterEach, expect, it } from 'vitest';
import { instrument } from './instrument.mjs';
import { countsOf, pairsOf, shortestRepeated } from './rooms.mjs';

const SAMPLE = `
export function withDefault(a, b = a + 1) { return a + b; }
export const short = (a) => ({ doubled: a * 2 });
export const curried = (a) => (b) => a + b;
export const strict = function () { return this; };
export const wrapped = [() => 'é😀'].map((call) => call())[0];
export async function* counting(end) { for (let n = 0; n < end; n++) yield n; }
class Base { constructor(name) { this.name = name; } }
export class Derived extends Base {
  #times = 2;
  callback = async () => this.name;
  static of = (name) => new Derived(name);
  constructor(name) { super(name + '!'); this.length = new.target.name.length; }
  get title() { return this.#repeated(); }
  set title(name) { this.name = name; }
  #repeated() { return [this.name].map((name) => name.repeat(this.#times))[0]; }
  [Symbol.iterator] = function* () { yield this.name; };
}
`;

afterEach(() => {
  delete globalThis.tidemarkEntered;
});

/** Does the same with a module, whether it is instrumented or not. */
async function use({ withDefault, short, curried, strict, wrapped, counting, Derived }) {
  const counted = [];
  for await (const number of counting(2)) counted.push(number);
  const derived = Derived.of('a');
  const { title, length } = derived;
  derived.title = 'b';
  const called = await derived.callback();
  return {
    ...{ sum: withDefault(1), given: withDefault(1, 5), arity: withDefault.length, name: withDefault.name },
    ...{ short: short(2), shortName: short.name, curried: curried(1)(2), strict: strict(), wrapped, counted },
    ...{ title, length, called, listed: [...derived] },
  };
}

const load = (text) => import(`data:text/javascript,${encodeURIComponent(text)}`);

it('[TEST-30] instrumented functions of every kind do what they did, and say in order that they are entered', async () => {
  const instrumented = await load(instrument(SAMPLE, 'core/sample.js'));
  const entered = [];
  globalThis.tidemarkEntered = (name) => entered.push(name);
  const done = await use(instrumented);
  expect(done).toEqual(await use(await load(SAMPLE)));
  const names = [
    ...['counting', 'of', 'constructor', 'constructor', 'title', '#repeated', '#repeated', 'title', 'callback'],
    ...['withDefault', 'withDefault', 'short', 'curried', 'curried', 'strict', '(module)'],
  ];
  expect(entered).toEqual(names.map((name) => `core/sample.js::${name}`));
});

it('[TEST-30] instrumented functions do what they did when nobody listens, as in other threads', async () => {
  const done = await use(await load(instrument(SAMPLE, 'core/unheard.js')));
  expect(done).toEqual(await use(await load(SAMPLE)));
});

it('[TEST-30] a change of room is counted whenever the next function is in another package or first folder', () => {
  const way = [
    'core/a/x.js::f',
    'core/a/deep/y.js::g',
    'core/b/z.js::h',
    'core/a/x.js::f',
    'core/a.js::i',
    'server/a/x.js::f',
  ];
  expect(countsOf(way)).toMatchObject({ functions: 6, files: 5, rooms: 4, changes: 4 });
  expect(countsOf([])).toEqual({ functions: 0, files: 0, rooms: 0, changes: 0, withoutLeaves: 0, packages: 0 });
  expect(pairsOf(way)).toEqual([
    { rooms: 'core/a and core/b', changes: 2 },
    { rooms: 'core and core/a', changes: 1 },
    { rooms: 'core and server/a', changes: 1 },
  ]);
});

it('[TEST-30] of several recordings, the shortest counts whose length occurs more than once', () => {
  const recordings = [['a', 'b', 'c'], ['a', 'b'], ['a'], ['a', 'b', 'd'], ['c', 'd'], ['a', 'b', 'e']];
  expect(shortestRepeated(recordings)).toEqual(['a', 'b']);
  expect(shortestRepeated([['a', 'b'], ['a']])).toEqual(['a']);
});

it('[TEST-30] a way counts as straight when only rooms that everybody asks lie between', () => {
  const way = [
    'server/a/x.js::f',
    'server/primitives/clock.js::nowMs',
    'server/a/x.js::g',
    'protocol/names.js::h',
    'core/b/z.js::h',
  ];
  expect(countsOf(way)).toMatchObject({ changes: 4, withoutLeaves: 1, packages: 1 });
});
