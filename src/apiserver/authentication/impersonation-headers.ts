/** Whom a request asks to be taken for: the headers that `kubectl --as` sends, as a user, before anything is allowed. */
import { quote } from '../../apimachinery/go-text.ts';
import { badRequest } from '../../apimachinery/status.ts';
import { EarlyRefusal } from '../authorization/forbidden.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { headerValues } from './header-values.ts';
import { unescapeKey } from './request-header.ts';

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';

/** As the headers tell it: no group is added, nothing is checked. */
export type WantedUser = UserInfo & { readonly extra: Readonly<Record<string, readonly string[]>> };

/** Whether the request may ask to be somebody else; most requests do not. */
export function asksImpersonation({ headers }: ApiRequest): boolean {
  for (const name in headers) if (name.startsWith(prefix)) return true;
  return false;
}

/** Undefined when nobody else is asked for. Throws 400 for groups, a uid or extra values without a name. */
export function wantedUser({ headers }: ApiRequest): WantedUser | undefined {
  const name = headers['impersonate-user'] ?? '';
  const uid = headers['impersonate-uid'] ?? '';
  const groupHeader = headers['impersonate-group'];
  const groups = groupHeader === '' ? [''] : headerValues(groupHeader);
  const extra = extraOf(headers);
  const wanted: WantedUser = { name, ...(uid === '' ? {} : { uid }), groups, extra };
  if (name !== '') return wanted;
  const asksMore = uid !== '' || groups.length > 0 || Object.keys(extra).length > 0;
  if (asksMore)
    throw new EarlyRefusal(badRequest(`requested ${goText(wanted)} without impersonating a user name`).status);
  return undefined;
}

/** What comes after must not know that anybody is impersonated, nor pass it on. */
export function withoutImpersonation(headers: ApiRequest['headers']): ApiRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(prefix)));
}

function extraOf(headers: ApiRequest['headers']): Readonly<Record<string, readonly string[]>> {
  const extra = new Map<string, readonly string[]>();
  for (const [header, text] of Object.entries(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescapeKey(header.slice(extraPrefix.length));
    const values = text === '' ? [''] : headerValues(text);
    extra.set(key, [...(extra.get(key) ?? []), ...values]);
  }
  return Object.fromEntries(extra);
}

/** As Go prints upstream's structure of it. */
function goText({ uid = '', groups, extra }: WantedUser): string {
  const list = (values: readonly string[]) => `[]string{${values.map(quote).join(', ')}}`;
  const keys = Object.keys(extra).sort();
  const entries = keys.map((key) => `${quote(key)}:${list(extra[key]!)}`);
  const groupText = groups.length === 0 ? '[]string(nil)' : list(groups);
  const extraText = keys.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries.join(', ')}}`;
  return `&user.DefaultInfo{Name:"", UID:${quote(uid)}, Groups:${groupText}, Extra:${extraText}}`;
}
