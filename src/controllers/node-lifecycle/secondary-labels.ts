/** Older names of a Node's labels, which selectors in the field still use: they follow the present names. Pure. */

const secondaryNames: Readonly<Record<string, string>> = {
  'kubernetes.io/os': 'beta.kubernetes.io/os',
  'kubernetes.io/arch': 'beta.kubernetes.io/arch',
};

/** Labels to set, or undefined when all are as they should be. */
export function planSecondaryLabels(
  labels: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  const missing = Object.entries(secondaryNames).flatMap(([primary, secondary]) => {
    const value = labels?.[primary];
    return value === undefined || labels?.[secondary] === value ? [] : [[secondary, value] as const];
  });
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}
