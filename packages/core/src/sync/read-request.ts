import type { AckRequest, PullRequest } from '@tidemark/protocol';
import type { Acknowledged } from '../uploads/uploads.ts';
import type { HeldTokens } from './acknowledgements.ts';
import type { Presented } from './presented.ts';

/** What a device presents to one source in the body of a pull. */
export function presentedIn(asked: PullRequest['sources'][string]): Presented {
  const { token = null, groups, set_token, only, uploads } = asked;
  if (groups === undefined && set_token === undefined) return token;
  return {
    groups: new Map(Object.entries(groups ?? {}).map(([group, held]) => [group, held.token ?? null])),
    ...(set_token === undefined ? {} : { set: set_token }),
    ...(only === undefined ? {} : { only }),
    ...(uploads === undefined ? {} : { uploads }),
  };
}

/** The acknowledged op ids of a pull or push, by source, or by source and group. */
export function acknowledgedIn(given: NonNullable<PullRequest['acknowledged']>): Acknowledged {
  return new Map(
    Object.entries(given).map(([source, ids]) => [source, Array.isArray(ids) ? ids : new Map(Object.entries(ids))]),
  );
}

/** The tokens in the body of an acknowledgement. */
export function heldIn(sources: AckRequest['sources']): HeldTokens {
  return new Map(
    Object.entries(sources).map(([source, held]) => [
      source,
      typeof held === 'string' ? held : new Map(Object.entries(held.groups)),
    ]),
  );
}
