import type { RefusalCode } from '@tidemark/protocol';

/** The codes with which tokens of identity providers are refused. */
export const TOKEN_REFUSALS: readonly RefusalCode[] = [
  'id_token_invalid',
  'id_token_too_large',
  'id_token_algorithm',
  'id_token_issuer',
  'id_token_key_unknown',
  'id_token_signature',
  'id_token_audience',
  'id_token_expired',
  'id_token_not_yet_valid',
  'id_token_claims',
  'identity_unknown',
  'identity_conflict',
  'issuer_unavailable',
];
