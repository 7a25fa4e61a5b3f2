/** A position in the write-ahead log. */
export type Lsn = bigint;

/** A row as `pgoutput` sends it: texts in the order of the relation's columns. */
export type Tuple = readonly TupleValue[];

/**
 * `undefined` is a value that is stored out of line and was not changed, so Postgres does not send it. In an old tuple of the kind
 * `key`, null of a column outside of the identity means nothing.
 */
export type TupleValue = string | null | undefined;

export interface Relation {
  readonly id: number;
  readonly schema: string;
  readonly name: string;
  readonly identity: 'default' | 'nothing' | 'full' | 'index';
  readonly columns: readonly RelationColumn[];
}

export interface RelationColumn {
  readonly name: string;
  readonly typeId: number;
  readonly typeModifier: number;
  readonly isInIdentity: boolean;
}

export interface OldTuple {
  readonly kind: 'key' | 'full';
  readonly values: Tuple;
}

/** The messages of `pgoutput`, protocol version 1, with logical decoding messages. */
export type Message =
  | { readonly type: 'begin'; readonly commitLsn: Lsn; readonly committedAtMs: number; readonly xid: number }
  | { readonly type: 'commit'; readonly lsn: Lsn; readonly endLsn: Lsn; readonly committedAtMs: number }
  | { readonly type: 'relation'; readonly relation: Relation }
  | { readonly type: 'type'; readonly id: number; readonly schema: string; readonly name: string }
  | { readonly type: 'origin'; readonly lsn: Lsn; readonly name: string }
  | { readonly type: 'insert'; readonly relationId: number; readonly row: Tuple }
  | { readonly type: 'update'; readonly relationId: number; readonly old: OldTuple | null; readonly row: Tuple }
  | { readonly type: 'delete'; readonly relationId: number; readonly old: OldTuple }
  | { readonly type: 'truncate'; readonly relationIds: readonly number[] }
  | {
      readonly type: 'message';
      readonly isTransactional: boolean;
      readonly lsn: Lsn;
      readonly prefix: string;
      readonly content: Uint8Array;
    };

/** What arrives on a replication connection. */
export type Arrival =
  | { readonly type: 'data'; readonly lsn: Lsn; readonly message: Message }
  /** The server has nothing to send up to `lsn`. */
  | { readonly type: 'keepalive'; readonly lsn: Lsn; readonly wantsReply: boolean };
