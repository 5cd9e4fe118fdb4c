/** Keys in the paths of JSON patches: `jsonpatch.escapeKey("a/b")` is `a~1b`. Only mutations know it. */
import { type Library, stringType } from '../index.ts';
import { walkCost } from './call-costs.ts';

export const jsonPatchKeys: Library = {
  functions: [
    {
      name: 'jsonpatch.escapeKey',
      overloads: [
        {
          id: 'string_jsonpatch_escapeKey_string',
          parameters: [stringType],
          result: stringType,
          call: (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
        },
      ],
      ...walkCost(1, (size) => size),
    },
  ],
};
