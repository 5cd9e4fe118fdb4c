/** An object, a list or a Table as the audit log shows it where the policy omits managed fields. Copies only what it changes. */
export function withoutManagedFields(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const result: Record<string, unknown> = { ...value };
  if (isRecord(value.metadata) && 'managedFields' in value.metadata) {
    const { managedFields: _, ...metadata } = value.metadata;
    result.metadata = metadata;
  }
  if (Array.isArray(value.items)) result.items = value.items.map(withoutManagedFields);
  if (value.kind === 'Table' && Array.isArray(value.rows))
    result.rows = value.rows.map((row) => (isRecord(row) ? { ...row, object: withoutManagedFields(row.object) } : row));
  return result;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
