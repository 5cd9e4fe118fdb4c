/**
 * `$(NAME)` in commands, arguments, environment values and `subPathExpr`: replaced where the name is known, left as it is where
 * not; `$$` is a dollar sign. Pure.
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(/\$(\$|\(([^)]*)\))/g, (whole, kind: string, name: string | undefined) => {
    if (kind === '$') return '$';
    return lookUp(name!) ?? whole;
  });
}
