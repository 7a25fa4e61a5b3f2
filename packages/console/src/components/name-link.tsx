import { Link } from '@tanstack/react-router';

const PATHS = {
  source: (name: string) => ({ to: '/sources/$name', params: { name } }),
  user: (login: string) => ({ to: '/users/$login', params: { login } }),
  group: (group: string) => ({ to: '/groups/$group', params: { group } }),
  device: (id: string) => ({ to: '/devices/$id', params: { id } }),
  queue: (queue: string) => ({ to: '/jobs/$queue', params: { queue } }),
  ping: (id: string) => ({ to: '/pings/$id', params: { id } }),
} as const;

/** A name that leads to the screen of what it names. */
export function NameLink({ kind, name }: { readonly kind: keyof typeof PATHS; readonly name: string }) {
  return (
    <Link className="name" {...PATHS[kind](name)} title={name}>
      {name}
    </Link>
  );
}
