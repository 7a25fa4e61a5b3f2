import { Link } from '@tanstack/react-router';

const PATHS = {
  source: (name: string) => ({ to: '/sources/$name', params: { name } }),
  user: (login: string) => ({ to: '/users/$login', params: { login } }),
  group: (group: string) => ({ to: '/groups/$group', params: { group } }),
  device: (id: string) => ({ to: '/devices/$id', params: { id } }),
  queue: (queue: string) => ({ to: '/jobs/$queue', params: { queue } }),
  connector: (name: string) => ({ to: '/connectors/$name', params: { name } }),
  file: (sha256: string) => ({ to: '/files/$sha256', params: { sha256 } }),
  ping: (id: string) => ({ to: '/pings/$id', params: { id } }),
} as const;

interface NameLinkProps {
  readonly kind: keyof typeof PATHS;
  readonly name: string;
  /** What is shown instead of the name. */
  readonly text?: string;
  /** What the hint says; absent: the name. */
  readonly hint?: string;
  /** True: only the beginning of a long id is shown. */
  readonly isShort?: boolean;
  /** True: the link is narrow, as a table with many columns needs it. */
  readonly isBrief?: boolean;
}

const SHORT_UNITS = 8;

/** A name that leads to the screen of what it names. */
export function NameLink({ kind, name, text = name, hint = name, isShort = false, isBrief = false }: NameLinkProps) {
  const isCut = isShort && text.length > SHORT_UNITS + 1;
  return (
    <Link className={isBrief ? 'name brief' : 'name'} {...PATHS[kind](name)} title={hint}>
      {isCut ? `${text.slice(0, SHORT_UNITS)}…` : text}
    </Link>
  );
}
