/** Node joins headers that are sent several times with a comma and a space; groups and extra values are sent that way. */
export function headerValues(value: string | undefined): readonly string[] {
  return value === undefined || value === '' ? [] : value.split(/, ?/);
}
