/** Returns the same object with some members replaced, to plant a bug in it. */
export function replaced<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(Object.hasOwn(changes, name) ? changes : target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
