/** Keys in paths of JSON patches: `jsonpatch.escapeKey("a/b")` is `a~1b`. */
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
          call: (key: string) => key.replace(/~/g, '~0').replace(/\//g, '~1'),
        },
      ],
      ...walkCost(1, (size) => size),
    },
  ],
};
