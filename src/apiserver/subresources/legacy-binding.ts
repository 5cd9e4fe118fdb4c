/** `POST bindings`, the old place of `pods/NAME/binding`: the Pod's name stands in the Binding itself. */
import type { Binding } from '../../api/gen/core-v1.ts';
import { badRequest } from '../../apimachinery/status.ts';
import { decodeBody } from '../registry/body.ts';
import { parseWriteOptions } from '../registry/write-options.ts';
import type { Handler } from '../request.ts';

/** `dispatch` is where the request goes on as one for the Pod. */
export function legacyBindingHandler(dispatch: Handler): Handler {
  return async (request, info) => {
    const options = parseWriteOptions(request.query, 'CreateOptions');
    const kind = { group: '', version: 'v1', kind: 'Binding' };
    const binding = (await decodeBody(request, kind, { options, warnings: [] })) as Binding;
    const { name } = binding.metadata;
    if (!name) throw badRequest('name is required');
    const body = { kind: 'value', value: binding } as const;
    const { method, path, query, headers, remoteAddress, clientCertificates, user, signal } = request;
    const forPod = { method, path, query, headers, remoteAddress, clientCertificates, user, signal, body };
    return dispatch(forPod, { ...info, resource: 'pods', name, subresource: 'binding' });
  };
}
