import type { TokenList } from '@tidemark/protocol';
import { isServiceToken, readTokenRecord } from '../accounts/token-record.ts';
import { tokenId } from '../accounts/token-text.ts';
import { readTokenCursor, type TokenView, tokenView } from '../accounts/tokens.ts';
import { readClientRecord } from '../devices/client-record.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Pace } from '../ports/pace.ts';
import type { Entry, Store } from '../ports/store.ts';
import { deviceTexts } from './client-list.ts';
import { admitListLimit, scanEntries, textFilter } from './scan-entries.ts';

export interface TokenListingParts {
  readonly store: Store;
  readonly pace: Pace;
}

/** `named`: tokens that programs use; `session`: those of people and devices who have signed in. */
export type TokenKind = 'named' | 'session';

export interface TokenListCall {
  /** The `next` of the previous page. */
  readonly after?: string;
  readonly limit?: number;
  readonly text?: string;
  readonly kind?: TokenKind;
}

/** Lists all tokens, by id. */
export class TokenListing {
  readonly #parts: TokenListingParts;

  constructor(parts: TokenListingParts) {
    this.#parts = parts;
  }

  async page(call: TokenListCall): Promise<TokenList> {
    const { store } = this.#parts;
    const { rows, examined, next } = await scanEntries<TokenView, TokenView>(store, {
      kind: 'token',
      prefix: [],
      limit: admitListLimit(call.limit),
      ...(call.after === undefined ? {} : { after: readTokenCursor(call.after) }),
      prepare: this.#preparation(call),
      finish: async (view) => view,
      isSpent: () => false,
    });
    const total = await store.countEntries('token');
    const tokens = rows.map((view) => ({ ...view, scopes: [...view.scopes] }));
    return { tokens, total, examined, next: next === null ? null : tokenId(lastOf(next)) };
  }

  #preparation({ text, kind }: TokenListCall): (entries: readonly Entry[]) => Promise<readonly (TokenView | null)[]> {
    const isNamed = textFilter(text);
    return async (entries) => {
      await this.#parts.pace.turn();
      return Promise.all(
        entries.map(async ({ key, value }) => {
          const record = readTokenRecord(value);
          if (kind !== undefined && isServiceToken(record) !== (kind === 'named')) return null;
          const view = tokenView(lastOf(key), record);
          return text === undefined || isNamed(await this.#textsOf(view)) ? view : null;
        }),
      );
    };
  }

  /** Everything about a token that can be searched for, with what is known of its device. */
  async #textsOf({ id, user, name, scopes, client }: TokenView): Promise<readonly (string | null)[]> {
    const texts = [id, user, name, ...scopes];
    if (client === null) return texts;
    const device = await this.#parts.store.readEntry(refs.client(client));
    return [...texts, client, ...(device === null ? [] : deviceTexts(readClientRecord(device.value)))];
  }
}
