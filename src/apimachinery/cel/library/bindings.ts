/** `cel.bind(name, value, expression)`: a value under a name, computed once. A loop that never runs binds it. */
import { unusedVariableName } from '../ast.ts';
import { type Library, MacroError } from '../index.ts';

export const bindings: Library = {
  macros: [
    {
      name: 'bind',
      member: true,
      argumentCount: 3,
      expand(build, [variable, initial, result], target) {
        if (target.kind !== 'identifier' || target.name !== 'cel') return undefined;
        if (variable?.kind !== 'identifier') {
          return new MacroError(variable!, 'cel.bind() variable names must be simple identifiers');
        }
        return build.comprehension({
          range: build.list(),
          variable: unusedVariableName,
          accumulator: variable.name,
          initial: initial!,
          condition: build.literal(false),
          step: build.identifier(variable.name),
          result: result!,
        });
      },
    },
  ],
};
