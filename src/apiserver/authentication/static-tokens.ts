/** Tokens from `--token-auth-file`: lines of `token,user,uid[,"group1,group2"]`. They hold until the server is restarted. */
import type { UserInfo } from '../request.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

/** `content` is the file's text. Throws when a line lacks a token or a user. */
export function staticTokens(content: string): TokenAuthenticator {
  const users = new Map<string, UserInfo>();
  content.split(/\r?\n/).forEach((line, i) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    const [token, name, uid, groups] = csvFields(line);
    if (!token || name === undefined || uid === undefined) {
      throw new Error(`token file line ${i + 1} must have at least 3 columns (token, user name, user uid)`);
    }
    if (users.has(token)) return;
    users.set(token, {
      name,
      uid,
      groups: (groups ?? '')
        .split(',')
        .map((group) => group.trim())
        .filter((group) => group !== ''),
    });
  });
  return {
    name: 'StaticToken',
    async authenticateToken(token) {
      const user = users.get(token);
      return user && { user };
    },
  };
}

/** One record of RFC 4180: fields in double quotes may hold commas, and two quotes stand for one. */
function csvFields(line: string): readonly string[] {
  const fields = line.match(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g) ?? [];
  return fields
    .map((field) => field.replace(/,$/, '').trim())
    .map((field) => (field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field))
    .slice(0, line.endsWith(',') ? fields.length : Math.max(1, fields.length - (fields.at(-1) === '' ? 1 : 0)));
}
