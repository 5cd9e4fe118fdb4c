/** Who is asking, as authentication tells it to everything after it; `system:anonymous` when nobody could be recognised. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}
