import { Refusal } from '@tidemark/protocol';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { BytesAnswer, route } from '../http/route.ts';

const EXAMPLE = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Links that calls to the backend carry. Whoever has one may read the file, so they are valid for a short time. */
const download = route({
  method: 'GET',
  path: '/files/:sha256',
  operationId: 'linkedFile',
  scope: 'public',
  summary: 'Download a file by a link that a call to the backend has carried',
  description: 'The link is signed and expires. `Range` and `If-Range` ask for a part.',
  refusals: ['forbidden', 'file_not_found', 'range_not_satisfiable', 'rate_limited', 'store_unavailable'],
  params: Type.Object({ sha256: text('The SHA-256 of the file, as 64 lower-case hex digits.', EXAMPLE) }),
  query: Type.Object(
    {
      expires: Type.Optional(text('When the link ends, in seconds since 1970.', '1893456000')),
      signature: Type.Optional(
        text('What the server has signed the link with.', 'mCZ5kqbE3xkL0XrcWnWm7Jk0u1yCqOdkq5V9sKJr1xo'),
      ),
    },
    closed,
  ),
  answer: Type.String({ description: 'The bytes of the file.' }),
  streams: 'application/octet-stream',
  handle: async ({ context: { files }, params, query, request, address }) => {
    if (!(await files.links.isValid(params.sha256, query))) {
      throw new Refusal('forbidden', 'the link has expired, or was changed; read the file with a token instead');
    }
    const open = () => files.openAny(params.sha256, request);
    const { status, headers, chunks, onEnd } = await files.sendTo(`link ${address}`, open);
    return new BytesAnswer(status, headers, chunks, onEnd);
  },
});

export const linkedFileRoutes = [download];
